/*
 * The status may hold anything that a user wrote: counters that are negative count as zero.
 */
#include "controller/job/status.h"

#include "base/time/timestamp.h"

static struct json *condition_find(const struct json *status, const char *type)
{
	return json_find(json_getz(status, "conditions"), "type", str_from(type));
}

bool job_status_has(const struct json *job, const char *type)
{
	return str_eqz(json_text_at(condition_find(json_getz(job, "status"), type), "status"),
		       "True");
}

bool job_status_finished(const struct json *job)
{
	return job_status_has(job, "Complete") || job_status_has(job, "Failed");
}

struct job_condition job_status_condition(const struct json *job, const char *type)
{
	const struct json *c = condition_find(json_getz(job, "status"), type);

	if (!job_status_has(job, type))
		return (struct job_condition){ 0 };
	return (struct job_condition){ .type = type,
				       .reason = json_text_at(c, "reason"),
				       .message = json_text_at(c, "message") };
}

static bool condition_is(const struct json *c, const struct job_condition *want, const char *value)
{
	return str_eqz(json_text_at(c, "status"), value) &&
	       str_eq(json_text_at(c, "reason"), want->reason) &&
	       str_eq(json_text_at(c, "message"), want->message);
}

bool job_status_set(struct arena *a, struct json *status, const struct job_condition *c, bool value,
		    int64_t now_ns)
{
	struct json *there = condition_find(status, c->type);
	const char *text = value ? "True" : "False";

	if (there ? condition_is(there, c, text) : !value)
		return false;
	if (!there) {
		there = json_make_object(a);
		json_put_str(a, there, "type", str_from(c->type));
		json_append(json_need_array(a, status, "conditions"), there);
	}
	json_put_str(a, there, "status", str_from(text));
	job_status_time(a, there, "lastProbeTime", now_ns);
	job_status_time(a, there, "lastTransitionTime", now_ns);
	json_put_str(a, there, "reason", c->reason);
	json_put_str(a, there, "message", c->message);
	return true;
}

bool job_status_count(struct arena *a, struct json *status, const char *name, int64_t n, bool keep)
{
	int64_t was = json_i64_at(status, name, keep ? -1 : 0);

	n = MAX(n, (int64_t)0);
	if (was == n)
		return false;
	if (n > 0 || keep)
		json_put_i64(a, status, name, n);
	else
		(void)json_remove(status, str_from(name));
	return true;
}

void job_status_time(struct arena *a, struct json *status, const char *name, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	if (ns)
		json_put_str(a, status, name,
			     arena_str(a, timestamp_print(ns, TIMESTAMP_SECONDS, text)));
	else
		(void)json_remove(status, str_from(name));
}

bool job_status_text(struct arena *a, struct json *status, const char *name, struct str text)
{
	if (str_eq(json_text_at(status, name), text))
		return false;
	if (text.n > 0)
		json_put_str(a, status, name, arena_str(a, text));
	else
		(void)json_remove(status, str_from(name));
	return true;
}
