/*
 * Colours are marked in the text by bytes that never occur in UTF-8, and so in no value. At the
 * end they become the terminal's sequences, or are removed.
 */
#include "cli/describe/describe.h"

#include <stdlib.h>
#include <time.h>

#include "api/api_limits.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"
#include "cli/cli_limits.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"

enum { ANNOTATION_MAX = 140 };

enum mark { MARK_RED = 0xf8, MARK_GREEN, MARK_YELLOW, MARK_END, MARKS_END };

/* --- lines ----------------------------------------------------------------------------------- */

void describe_line(struct describe *d, int level, const char *fmt, ...)
{
	va_list ap;

	for (int i = 0; i < level; i++)
		(void)buf_addz(&d->text, "  ");
	va_start(ap, fmt);
	(void)buf_vprintf(&d->text, fmt, ap);
	va_end(ap);
	(void)buf_addc(&d->text, '\n');
}

void describe_field(struct describe *d, int level, const char *name, struct str value)
{
	if (value.n > 0)
		describe_line(d, level, "%s:\t%.*s", name, STR_ARG(value));
}

void describe_field_or_none(struct describe *d, int level, const char *name, struct str value)
{
	describe_field(d, level, name, value.n > 0 ? value : STR("<none>"));
}

void describe_head_at(struct describe *d, int level, const char *columns)
{
	char *rule = arena_strdup(d->arena, str_from(columns));

	for (char *c = rule; *c; c++)
		*c = *c == '\t' ? '\t' : '-';
	describe_line(d, level, "%s", columns);
	describe_line(d, level, "%s", rule);
}

void describe_head(struct describe *d, const char *columns)
{
	describe_head_at(d, 1, columns);
}

/* --- values ---------------------------------------------------------------------------------- */

struct str describe_time(struct describe *d, struct str timestamp)
{
	static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	struct tm tm;
	time_t at;
	int64_t ns;

	if (timestamp_parse(timestamp, &ns, NULL) < 0)
		return timestamp;
	at = (time_t)(ns / CLOCK_SEC);
	if (!localtime_r(&at, &tm))
		return timestamp;
	return str_from(arena_printf(d->arena, "%s, %02d %s %d %02d:%02d:%02d %c%02ld%02ld",
				     days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon],
				     tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec,
				     tm.tm_gmtoff < 0 ? '-' : '+', labs(tm.tm_gmtoff) / 3600,
				     labs(tm.tm_gmtoff) / 60 % 60));
}

struct str describe_age(struct describe *d, struct str timestamp)
{
	char text[DURATION_SIZE];
	int64_t ns;

	if (timestamp_parse(timestamp, &ns, NULL) < 0)
		return STR("<unknown>");
	return arena_str(d->arena, duration_print_age(d->wall_ns - ns, text));
}

struct str describe_value(struct describe *d, const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);

	if (json_is(v, JSON_STRING))
		return json_str(v);
	if (!v || v->type == JSON_NULL)
		return STR("");
	(void)json_print(&text, v, NULL);
	return arena_str(d->arena, buf_str(&text));
}

struct str describe_health(struct describe *d, struct str health)
{
	enum mark colour = str_eqz(health, "Healthy")     ? MARK_GREEN
			   : str_eqz(health, "Unhealthy") ? MARK_RED
							  : MARK_YELLOW;

	return str_from(arena_printf(d->arena, "%c%.*s%c", colour, STR_ARG(health), MARK_END));
}

const struct json **describe_sorted(struct describe *d, const struct json *object, size_t *ret_n)
{
	const struct json **v = ARENA_ARRAY(d->arena, const struct json *, json_count(object) + 1);
	size_t n = 0;

	JSON_FOREACH (it, object)
		v[n++] = it;
	qsort(v, n, sizeof(*v), json_key_order);
	*ret_n = n;
	return v;
}

/* --- parts ----------------------------------------------------------------------------------- */

void describe_labels(struct describe *d, const char *title, const struct json *labels)
{
	size_t n;
	const struct json **v = describe_sorted(d, labels, &n);

	if (n == 0)
		describe_line(d, 0, "%s:\t<none>", title);
	for (size_t i = 0; i < n; i++)
		describe_line(d, 0, "%s%s\t%.*s=%.*s", i == 0 ? title : "", i == 0 ? ":" : "",
			      STR_ARG(json_key(v[i])), STR_ARG(json_str(v[i])));
}

/* A long value gets its own line, and is cut. */
static void long_annotation(struct describe *d, const char *lead, struct str key, struct str value)
{
	struct str line;

	describe_line(d, 0, "%s\t%.*s:", lead, STR_ARG(key));
	while (value.n > 0 && str_split(&value, '\n', &line)) {
		bool cut = line.n > ANNOTATION_MAX - 2;

		line.n = cut ? ANNOTATION_MAX - 5 : line.n;
		describe_line(d, 0, "\t  %.*s%s", STR_ARG(line), cut ? "..." : "");
	}
}

void describe_annotations(struct describe *d)
{
	size_t n, shown = 0;
	const struct json **v = describe_sorted(d, json_getz(d->metadata, "annotations"), &n);

	for (size_t i = 0; i < n; i++) {
		struct str key = json_key(v[i]), value = json_str(v[i]);
		const char *lead = shown == 0 ? "Annotations:" : "";

		/* Kept by kubectl apply for its own use. */
		if (str_eqz(key, "kubectl.kubernetes.io/last-applied-configuration"))
			continue;
		shown++;
		if (key.n + value.n + 2 > ANNOTATION_MAX || str_chr(value, '\n') >= 0)
			long_annotation(d, lead, key, value);
		else
			describe_line(d, 0, "%s\t%.*s: %.*s", lead, STR_ARG(key), STR_ARG(value));
	}
	if (shown == 0)
		describe_line(d, 0, "Annotations:\t<none>");
}

void describe_map(struct describe *d, int level, const struct json *object)
{
	size_t n;
	const struct json **v = describe_sorted(d, object, &n);

	for (size_t i = 0; i < n; i++)
		describe_line(d, level, "%.*s:\t%.*s", STR_ARG(json_key(v[i])),
			      STR_ARG(describe_value(d, v[i])));
}

struct json *describe_list(struct describe *d, const struct resource *r, struct str ns,
			   struct str field_selector)
{
	struct kube_query q = { .resource = r, .ns = ns, .field_selector = field_selector };
	struct json *list = NULL;
	struct error err;

	if (kube_read(d->kube, &q, &list, &err) < 0)
		return NULL;
	return json_getz(list, "items");
}

/* --- events ---------------------------------------------------------------------------------- */

static struct str first_of(struct str a, struct str b)
{
	return a.n > 0 ? a : b;
}

static struct str last_seen(const struct json *e)
{
	struct str series = json_text_at(json_getz(e, "series"), "lastObservedTime");

	return first_of(series,
			first_of(json_text_at(e, "lastTimestamp"), json_text_at(e, "eventTime")));
}

/* RFC 3339 in UTC sorts as text, except for the digits of the fraction. */
static int by_time(const void *a, const void *b)
{
	int64_t x = 0, y = 0;

	(void)timestamp_parse(last_seen(*(const struct json *const *)a), &x, NULL);
	(void)timestamp_parse(last_seen(*(const struct json *const *)b), &y, NULL);
	return x < y ? -1 : x > y;
}

static struct str event_age(struct describe *d, const struct json *e)
{
	const struct json *series = json_getz(e, "series");
	int64_t count = json_i64_at(series ? series : e, "count", 1);
	struct str first = describe_age(
		d, first_of(json_text_at(e, "eventTime"), json_text_at(e, "firstTimestamp")));

	if (!series && count <= 1)
		return first;
	return str_from(arena_printf(d->arena, "%.*s (x%lld over %.*s)",
				     STR_ARG(describe_age(d, last_seen(e))), (long long)count,
				     STR_ARG(first)));
}

static void event_line(struct describe *d, const struct json *e)
{
	struct str from = first_of(json_text_at(json_getz(e, "source"), "component"),
				   json_text_at(e, "reportingComponent"));

	describe_line(d, 1, "%.*s\t%.*s\t%.*s\t%.*s\t%.*s", STR_ARG(json_text_at(e, "type")),
		      STR_ARG(json_text_at(e, "reason")), STR_ARG(event_age(d, e)), STR_ARG(from),
		      STR_ARG(str_trim(json_text_at(e, "message"))));
}

void describe_events(struct describe *d)
{
	struct resource events = resource_builtin("", "v1", "events");
	struct str uid = json_text_at(d->metadata, "uid"),
		   ns = json_text_at(d->metadata, "namespace");
	const struct json *list, **v;
	size_t n = 0;

	if (!d->events)
		return;
	list = describe_list(
		d, &events, ns,
		str_from(arena_printf(d->arena, "involvedObject.uid=%.*s", STR_ARG(uid))));
	if (json_count(list) == 0) {
		describe_line(d, 0, "Events:\t%s", list ? "<none>" : "<cannot be read>");
		return;
	}
	v = ARENA_ARRAY(d->arena, const struct json *, json_count(list));
	JSON_FOREACH (it, list)
		v[n++] = it;
	qsort(v, n, sizeof(*v), by_time);
	describe_line(d, 0, "Events:");
	describe_line(d, 1, "Type\tReason\tAge\tFrom\tMessage");
	describe_line(d, 1, "----\t------\t----\t----\t-------");
	for (size_t i = 0; i < n; i++)
		event_line(d, v[i]);
}

/* --- the end --------------------------------------------------------------------------------- */

static bool is_mark(char c)
{
	return (unsigned char)c >= MARK_RED && (unsigned char)c < MARKS_END;
}

/* Everything between the marks is foreign text. */
void describe_finish(const struct describe *d, bool colour, struct buf *out)
{
	static const char *const colours[] = { "\033[31m", "\033[32m", "\033[33m", "\033[0m" };
	CLEANUP(buf_release) struct buf clean = BUF_INIT(CODEC_MAX);
	struct str rest = buf_str(&d->text);

	while (rest.n > 0) {
		size_t n = 0;

		while (n < rest.n && !is_mark(rest.p[n]))
			n++;
		output_clean_text(&clean, str_of(rest.p, n), "\t\n");
		if (n < rest.n && colour)
			(void)buf_addz(&clean, colours[(unsigned char)rest.p[n] - MARK_RED]);
		rest = str_skip(rest, MIN(n + 1, rest.n));
	}
	tabs_align(out, buf_str(&clean), TABS_DESCRIBE);
}
