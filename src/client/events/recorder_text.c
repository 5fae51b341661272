/*
 * The two API groups differ in the names of most fields, and in how they represent repetition:
 * core/v1 has a count, events.k8s.io/v1 has a series from the second occurrence on.
 */
#include "client/events/recorder_text.h"

#include "base/json/writer.h"
#include "base/text/print.h"
#include "base/time/timestamp.h"

static void recorder_text_add_key(struct buf *out, const char *name)
{
	(void)buf_printf(out, "\"%s\":", name);
}

static void recorder_text_add_text(struct buf *out, const char *name, struct str text)
{
	if (text.n == 0)
		return;
	recorder_text_add_key(out, name);
	(void)print_json(out, text);
	(void)buf_addc(out, ',');
}

static void add_time(struct buf *out, const char *name, int64_t ns, enum timestamp_digits digits)
{
	char text[TIMESTAMP_SIZE];

	recorder_text_add_text(out, name, timestamp_print(ns, digits, text));
}

static void close_object(struct buf *out)
{
	if (out->n > 0 && out->p[out->n - 1] == ',')
		out->p[--out->n] = '\0';
	(void)buf_addc(out, '}');
}

static void recorder_text_add_object(struct buf *out, const char *name,
				     const struct recorder_object *o)
{
	recorder_text_add_key(out, name);
	(void)buf_addc(out, '{');
	recorder_text_add_text(out, "apiVersion", o->api_version);
	recorder_text_add_text(out, "kind", o->kind);
	recorder_text_add_text(out, "namespace", o->ns);
	recorder_text_add_text(out, "name", o->name);
	recorder_text_add_text(out, "uid", o->uid);
	recorder_text_add_text(out, "resourceVersion", o->resource_version);
	recorder_text_add_text(out, "fieldPath", o->field_path);
	close_object(out);
	(void)buf_addc(out, ',');
}

void recorder_text_fixed(struct buf *out, const struct recorder_fixed *f)
{
	struct str component = str_from(f->component);
	struct str instance = str_from(f->instance ? f->instance : "");

	recorder_text_add_object(out, f->series ? "regarding" : "involvedObject", f->about);
	if (f->detail && f->detail->related)
		recorder_text_add_object(out, "related", f->detail->related);
	if (f->detail && f->detail->action)
		recorder_text_add_text(out, "action", str_from(f->detail->action));
	recorder_text_add_text(out, "reason", str_from(f->reason));
	recorder_text_add_text(out, "type",
			       f->type == RECORDER_WARNING ? STR("Warning") : STR("Normal"));
	if (f->series) {
		recorder_text_add_text(out, "reportingController", component);
		/* Required in this group; a component without instances uses its own name. */
		recorder_text_add_text(out, "reportingInstance", instance.n ? instance : component);
		return;
	}
	recorder_text_add_text(out, "reportingComponent", component);
	recorder_text_add_text(out, "reportingInstance", instance);
	recorder_text_add_key(out, "source");
	(void)buf_addc(out, '{');
	recorder_text_add_text(out, "component", component);
	recorder_text_add_text(out, "host", instance);
	close_object(out);
	(void)buf_addc(out, ',');
}

static void add_message(struct buf *out, const struct recorder_varying *v, bool series)
{
	struct buf text = BUF_INIT(SIZE_MAX);

	if (v->combined)
		(void)buf_addz(&text, "(combined from similar events): ");
	(void)buf_add_str(&text, v->message);
	recorder_text_add_text(out, series ? "note" : "message", buf_str(&text));
	buf_release(&text);
}

static void add_series(struct buf *out, const struct recorder_varying *v)
{
	if (v->count < 2)
		return;
	(void)buf_printf(out, "\"series\":{\"count\":%llu,", (unsigned long long)v->count);
	add_time(out, "lastObservedTime", v->last_ns, TIMESTAMP_MICRO);
	close_object(out);
	(void)buf_addc(out, ',');
}

void recorder_text_event(struct buf *out, struct str fixed, const struct recorder_varying *v,
			 bool series)
{
	(void)buf_addc(out, '{');
	recorder_text_add_text(out, "apiVersion", series ? STR("events.k8s.io/v1") : STR("v1"));
	recorder_text_add_text(out, "kind", STR("Event"));
	recorder_text_add_key(out, "metadata");
	(void)buf_addc(out, '{');
	recorder_text_add_text(out, "name", v->name);
	recorder_text_add_text(out, "namespace", v->ns);
	close_object(out);
	(void)buf_addc(out, ',');
	(void)buf_add_str(out, fixed);
	add_message(out, v, series);
	if (series) {
		add_time(out, "eventTime", v->first_ns, TIMESTAMP_MICRO);
		add_series(out, v);
	} else {
		add_time(out, "firstTimestamp", v->first_ns, TIMESTAMP_SECONDS);
		add_time(out, "lastTimestamp", v->last_ns, TIMESTAMP_SECONDS);
		(void)buf_printf(out, "\"count\":%llu,\"eventTime\":null",
				 (unsigned long long)v->count);
	}
	close_object(out);
}

void recorder_text_patch(struct buf *out, const struct recorder_varying *v, bool series)
{
	(void)buf_addc(out, '{');
	if (series) {
		add_series(out, v);
	} else {
		add_message(out, v, false);
		add_time(out, "lastTimestamp", v->last_ns, TIMESTAMP_SECONDS);
		(void)buf_printf(out, "\"count\":%llu", (unsigned long long)v->count);
	}
	close_object(out);
}

struct str recorder_text_name(struct str object, int64_t now_ns, char out[RECORDER_NAME_SIZE])
{
	/*
	 * Room for a dot and sixteen digits; a truncated name must not end with a dot before them.
	 */
	size_t n = MIN(object.n, (size_t)RECORDER_NAME_SIZE - 18);
	int len;

	while (n > 0 && n < object.n && (object.p[n - 1] == '.' || object.p[n - 1] == '-'))
		n--;
	len = snprintf(out, RECORDER_NAME_SIZE, "%.*s.%llx", (int)n, object.p ? object.p : "",
		       (unsigned long long)now_ns);
	return str_of(out, (size_t)len);
}
