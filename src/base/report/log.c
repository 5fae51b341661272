/*
 * A line is built in a buffer whose limit is LOG_LINE_MAX less a reserve. If something does not
 * fit, the text is cut at the limit. The limit is then raised by the reserve, the open quote is
 * closed after a marker, and later fields are omitted. So a cut line is still valid.
 *
 * The lock around write(2) is for pipes: beyond PIPE_BUF the kernel may interleave two writers.
 */
#include "base/report/log.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "base/text/print.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"

#define LOG_CUT "...(truncated)\""

enum { LOG_RESERVE = 64 }; /* for LOG_CUT, the closing brace, colours and the newline */

struct log_sink {
	struct lock lock;
	int fd;
};

struct line {
	struct buf buf;
	bool json, colour;
	bool cut; /* nothing more fits */
};

struct level_row {
	const char *name; /* in JSON */
	const char *label, *colour; /* in text */
};

static const struct level_row levels[] = {
	[LOG_LEVEL_ERROR] = { "error", "ERROR", "\033[31m" },
	[LOG_LEVEL_WARN] = { "warn", "WARN ", "\033[33m" },
	[LOG_LEVEL_INFO] = { "info", "INFO ", "\033[32m" },
	[LOG_LEVEL_DEBUG] = { "debug", "DEBUG", "\033[36m" },
	[LOG_LEVEL_TRACE] = { "trace", "TRACE", "\033[90m" },
};

static bool key_is_secret(struct str key)
{
	static const char *const secret[] = { "authorization", "token",           "password",
					      "secret",        "client-key-data", "cookie" };

	for (size_t i = 0; i < ARRAY_SIZE(secret); i++) {
		struct str s = str_from(secret[i]);

		if (key.n >= s.n && str_ieq(str_skip(key, key.n - s.n), s))
			return true;
	}
	return false;
}

/* Quotes `s` in the line's form; if it does not fit, as much of it as possible. */
static void add_quoted(struct line *l, struct str s)
{
	size_t before = l->buf.n;
	int r = l->json ? print_json(&l->buf, s) : print_quoted(&l->buf, s);

	if (r == 0)
		return;
	l->cut = true;
	l->buf.max += LOG_RESERVE;
	if (l->buf.n == before)
		(void)buf_addc(&l->buf, '"');
	(void)buf_addz(&l->buf, LOG_CUT);
}

/* Text without quotes if nothing in it could be misread. */
static void log_add_text(struct line *l, struct str s)
{
	bool bare = !l->json && s.n > 0 && print_is_clean(s);

	for (size_t i = 0; bare && i < s.n; i++)
		bare = s.p[i] != ' ' && s.p[i] != '=' && s.p[i] != '"';
	/* Text that does not fit bare is cut like any other, in quotes. */
	if (bare && s.n < l->buf.max - l->buf.n)
		(void)buf_add_str(&l->buf, s);
	else
		add_quoted(l, s);
}

static void add_f64(struct line *l, double v)
{
	struct buf number = BUF_INIT(64);

	(void)print_f64(&number, v);
	if (isfinite(v))
		(void)buf_add_str(&l->buf, buf_str(&number));
	else /* JSON has no such numbers */
		log_add_text(l, buf_str(&number));
	buf_release(&number);
}

static void log_add_value(struct line *l, const struct log_field *f)
{
	char duration[DURATION_SIZE];

	if (f->kind == LOG_KIND_SECRET || key_is_secret(str_from(f->key))) {
		log_add_text(l, STR("(redacted)"));
		return;
	}
	switch (f->kind) {
	case LOG_KIND_STR:
		log_add_text(l, f->str);
		break;
	case LOG_KIND_I64:
		(void)buf_add_i64(&l->buf, f->i64);
		break;
	case LOG_KIND_U64:
	case LOG_KIND_SUPPRESSED:
		(void)buf_add_u64(&l->buf, f->u64);
		break;
	case LOG_KIND_F64:
		add_f64(l, f->f64);
		break;
	case LOG_KIND_BOOL:
		(void)buf_addz(&l->buf, f->boolean ? "true" : "false");
		break;
	case LOG_KIND_DURATION:
		log_add_text(l, duration_print(f->i64, duration));
		break;
	case LOG_KIND_SECRET:
		break;
	}
}

static void log_add_key(struct line *l, const char *key)
{
	if (l->json) {
		(void)buf_addc(&l->buf, ',');
		(void)print_json(&l->buf, str_from(key));
		(void)buf_addc(&l->buf, ':');
	} else {
		(void)buf_printf(&l->buf, " %s=", key);
	}
}

static void add_field(struct line *l, const struct log_field *f)
{
	size_t before = l->buf.n;

	if (l->cut || (f->kind == LOG_KIND_SUPPRESSED && f->u64 == 0))
		return;
	log_add_key(l, f->key);
	if (!l->buf.overflow)
		log_add_value(l, f);
	/* A key or a number that does not fit is dropped, and the line marked. */
	if (l->buf.overflow && !l->cut) {
		l->buf.n = before;
		l->cut = true;
		l->buf.max += LOG_RESERVE;
		(void)buf_addz(&l->buf, l->json ? ",\"truncated\":true" : " truncated=true");
	}
}

/* The outermost parent's fields come first. */
static void add_bound(struct line *l, const struct log *lg)
{
	if (lg->parent)
		add_bound(l, lg->parent);
	for (size_t i = 0; i < lg->bound_n; i++)
		add_field(l, &lg->bound[i]);
}

static void begin_json(struct line *l, const struct level_row *level, struct str time,
		       const char *msg)
{
	(void)buf_printf(&l->buf, "{\"ts\":\"%.*s\",\"level\":\"%s\",\"msg\":", STR_ARG(time),
			 level->name);
	add_quoted(l, str_from(msg));
}

static void begin_text(struct line *l, const struct level_row *level, struct str time,
		       const char *msg)
{
	struct str text = str_from(msg);

	(void)buf_printf(&l->buf, "%.*s %s%s%s ", STR_ARG(time), l->colour ? level->colour : "",
			 level->label, l->colour ? "\033[0m" : "");
	if (print_is_clean(text) && text.n < l->buf.max - l->buf.n)
		(void)buf_add_str(&l->buf, text);
	else
		add_quoted(l, text);
}

/* Usually one write; the rest of a short one must follow it. */
static void sink_write(struct log_sink *sink, struct str s)
{
	ssize_t n;

	lock_acquire(&sink->lock);
	while (s.n > 0) {
		n = write(sink->fd, s.p, s.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		s = str_skip(s, (size_t)n);
	}
	lock_release(&sink->lock);
}

void log_write(const struct log *lg, enum log_level level, const char *msg,
	       const struct log_field *fields, size_t n)
{
	struct line l = { .buf = BUF_INIT(LOG_LINE_MAX - LOG_RESERVE),
			  .json = lg->json,
			  .colour = lg->colour };
	char time[TIMESTAMP_SIZE];
	int saved_errno = errno;
	struct str ts;

	if (level < LOG_LEVEL_ERROR || !lg->sink)
		return;
	ts = timestamp_print(clock_wall(lg->clock), TIMESTAMP_MICRO, time);
	(l.json ? begin_json : begin_text)(&l, &levels[level], ts, msg);
	add_bound(&l, lg);
	for (size_t i = 0; i < n; i++)
		add_field(&l, &fields[i]);
	if (!l.cut)
		l.buf.max += LOG_RESERVE;
	(void)buf_addz(&l.buf, l.json ? "}\n" : "\n");
	sink_write(lg->sink, buf_str(&l.buf));
	buf_release(&l.buf);
	errno = saved_errno;
}

void log_init(struct log *lg, const struct log_options *options)
{
	const char *no_colour = getenv("NO_COLOR");
	bool terminal = isatty(options->fd) == 1;

	*lg = (struct log){
		.level = options->level,
		.json = options->format == LOG_FORMAT_JSON ||
			(options->format == LOG_FORMAT_AUTO && !terminal),
		.clock = options->clock ? options->clock : clock_system(),
		.sink = XNEW(struct log_sink),
	};
	lg->colour = terminal && !lg->json && !(no_colour && *no_colour);
	lock_init(&lg->sink->lock);
	lg->sink->fd = options->fd;
}

void log_release(struct log *lg)
{
	if (lg->sink) {
		lock_destroy(&lg->sink->lock);
		free(lg->sink);
	}
	*lg = *log_null();
}

const struct log *log_null(void)
{
	static const struct log none = { .level = LOG_LEVEL_NONE };

	return &none;
}

void log_child(struct log *child, const struct log *parent, const struct log_field *fields,
	       size_t n)
{
	*child = *parent;
	child->parent = parent;
	child->bound = fields;
	child->bound_n = n;
}

enum log_level log_level_from_v(int v)
{
	if (v < 0)
		return LOG_LEVEL_WARN;
	if (v < 2)
		return LOG_LEVEL_INFO;
	return v < 5 ? LOG_LEVEL_DEBUG : LOG_LEVEL_TRACE;
}

bool log_format_parse(struct str text, enum log_format *ret_format)
{
	if (!str_eqz(text, "text") && !str_eqz(text, "json"))
		return false;
	*ret_format = str_eqz(text, "text") ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON;
	return true;
}

bool log_limit_allow(struct log_limit *l, int64_t now_ns, uint64_t *ret_suppressed)
{
	if (l->since == 0 || now_ns - l->since >= CLOCK_SEC) {
		l->since = now_ns;
		l->n = 0;
	}
	if (l->n >= l->per_s) {
		l->suppressed++;
		return false;
	}
	l->n++;
	*ret_suppressed = l->suppressed;
	l->suppressed = 0;
	return true;
}
