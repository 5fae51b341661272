/*
 * A status starts as a copy of the old one, so that equal ones are not written.
 */
#include "controller/deployment/status.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"

/* --- conditions ------------------------------------------------------------------------------ */

const struct json *deployment_find_condition(const struct json *status, const char *type)
{
	return json_find(json_getz(status, "conditions"), "type", str_from(type));
}

static bool has_reason(const struct json *condition, const char *reason)
{
	return str_eqz(json_text_at(condition, "reason"), reason);
}

static void remove_condition(struct json *status, const char *type)
{
	struct json *list = json_getz(status, "conditions");
	struct json *c = json_find(list, "type", str_from(type));

	if (c)
		(void)json_unlink(list, c);
	if (c && list->n == 0)
		(void)json_remove(status, STR("conditions"));
}

static struct str seconds_text(struct arena *a, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	return arena_str(a, timestamp_print(ns, TIMESTAMP_SECONDS, text));
}

static void add_condition(struct arena *a, struct json *status,
			  const struct deployment_condition *c, struct str updated,
			  struct str changed)
{
	struct json *v = json_make_object(a);

	remove_condition(status, c->type);
	json_put_str(a, v, "type", str_from(c->type));
	json_put_str(a, v, "status", str_from(c->status));
	json_put_str(a, v, "lastUpdateTime", updated);
	json_put_str(a, v, "lastTransitionTime", changed);
	json_put_str(a, v, "reason", str_from(c->reason));
	json_put_str(a, v, "message", c->message);
	json_append(json_need_array(a, status, "conditions"), v);
}

void deployment_set_condition(struct arena *a, struct json *status,
			      const struct deployment_condition *c, int64_t now_ns)
{
	const struct json *old = deployment_find_condition(status, c->type);
	struct str now = seconds_text(a, now_ns), changed = now;

	if (old && str_eqz(json_text_at(old, "status"), c->status)) {
		if (has_reason(old, c->reason))
			return;
		if (json_text_at(old, "lastTransitionTime").n > 0)
			changed = json_text_at(old, "lastTransitionTime");
	}
	add_condition(a, status, c, now, changed);
}

int64_t deployment_deadline_s(const struct json *deployment)
{
	int64_t v = json_i64_at(json_getz(deployment, "spec"), "progressDeadlineSeconds", -1);

	return v < 0 || v >= INT32_MAX ? -1 : v;
}

/* --- counts ---------------------------------------------------------------------------------- */

static int64_t sum_status(const struct deployment_world *w, const char *key)
{
	int64_t sum = 0;

	for (size_t i = 0; i < w->n; i++)
		sum += deployment_set_status(w->sets[i], key);
	return MIN(sum, (int64_t)INT32_MAX);
}

/* -1: a ReplicaSet does not report it. Those that no controller has seen count as 0. */
static int64_t sum_terminating(const struct deployment_world *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct json *status = json_getz(w->sets[i]->tree, "status");

		if (!json_getz(status, "terminatingReplicas") &&
		    deployment_set_status(w->sets[i], "observedGeneration") > 0)
			return -1;
	}
	return sum_status(w, "terminatingReplicas");
}

/* Zero is left out, as the server leaves it out. */
static void put_count(struct arena *a, struct json *status, const char *key, int64_t n)
{
	if (n > 0)
		json_put_i64(a, status, key, n);
	else
		(void)json_remove(status, str_from(key));
}

static struct json *status_copy(struct arena *a, const struct json *deployment)
{
	const struct json *old = json_getz(deployment, "status");
	struct json *status;

	if (!json_is(old, JSON_OBJECT) || json_copy(a, old, &status, NULL) < 0)
		return json_make_object(a);
	return status;
}

static void set_available(struct arena *a, struct json *status, const struct deployment_world *w,
			  int64_t available)
{
	bool enough = available >= w->limits->replicas - w->limits->unavailable;
	struct deployment_condition c = {
		.type = DEPLOYMENT_AVAILABLE,
		.status = enough ? "True" : "False",
		.reason = enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
		.message = enough ? STR("Deployment has minimum availability.")
				  : STR("Deployment does not have minimum availability."),
	};

	deployment_set_condition(a, status, &c, w->now_ns);
}

struct json *deployment_counts(struct arena *a, const struct deployment_world *w)
{
	struct json *status = status_copy(a, w->tree);
	int64_t available = sum_status(w, "availableReplicas"), wanted = 0;
	int64_t terminating = sum_terminating(w);

	for (size_t i = 0; i < w->n; i++)
		wanted += w->sets[i]->size.replicas;
	put_count(a, status, "observedGeneration",
		  json_i64_at(json_getz(w->tree, "metadata"), "generation", 0));
	put_count(a, status, "replicas", sum_status(w, "replicas"));
	put_count(a, status, "updatedReplicas",
		  w->now ? deployment_set_status(w->now, "replicas") : 0);
	put_count(a, status, "readyReplicas", sum_status(w, "readyReplicas"));
	put_count(a, status, "availableReplicas", available);
	put_count(a, status, "unavailableReplicas", MIN(wanted - available, (int64_t)INT32_MAX));
	if (terminating >= 0)
		json_put_i64(a, status, "terminatingReplicas", terminating);
	else
		(void)json_remove(status, STR("terminatingReplicas"));
	set_available(a, status, w, available);
	return status;
}

/* --- progress -------------------------------------------------------------------------------- */

static int64_t count_of(const struct json *status, const char *key)
{
	return deployment_bounded(status, key, 0);
}

bool deployment_complete(const struct deployment_world *w, const struct json *status)
{
	int64_t wanted = w->limits->replicas;

	return count_of(status, "updatedReplicas") == wanted &&
	       count_of(status, "replicas") == wanted &&
	       count_of(status, "availableReplicas") == wanted &&
	       json_i64_at(status, "observedGeneration", 0) >=
		       json_i64_at(json_getz(w->tree, "metadata"), "generation", 0);
}

/* More are updated, ready or available, or fewer old ones are left. */
static bool has_progressed(const struct json *old, const struct json *status)
{
	int64_t updated = count_of(status, "updatedReplicas");
	int64_t was_updated = count_of(old, "updatedReplicas");

	return updated > was_updated ||
	       count_of(status, "replicas") - updated < count_of(old, "replicas") - was_updated ||
	       count_of(status, "readyReplicas") > count_of(old, "readyReplicas") ||
	       count_of(status, "availableReplicas") > count_of(old, "availableReplicas");
}

static int64_t updated_ns(const struct json *condition)
{
	struct str text = json_text_at(condition, "lastUpdateTime");
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static bool has_timed_out(const struct deployment_world *w, const struct json *status)
{
	const struct json *c = deployment_find_condition(status, DEPLOYMENT_PROGRESSING);

	if (!c || has_reason(c, DEPLOYMENT_SET_AVAILABLE))
		return false;
	return has_reason(c, DEPLOYMENT_TIMED_OUT) ||
	       updated_ns(c) + deployment_deadline_s(w->tree) * CLOCK_SEC < w->now_ns;
}

static struct str progress_message(struct arena *a, const struct deployment_world *w,
				   const char *what)
{
	struct str name = w->now ? w->now->name
				 : json_text_at(json_getz(w->tree, "metadata"), "name");

	return str_from(arena_printf(a, "%s \"%.*s\" %s", w->now ? "ReplicaSet" : "Deployment",
				     STR_ARG(name), what));
}

/* Progress renews lastUpdateTime, from which the deadline counts, even for the same reason. */
static void note_progress(struct arena *a, struct json *status, const struct deployment_world *w)
{
	const struct json *old = deployment_find_condition(status, DEPLOYMENT_PROGRESSING);
	struct str now = seconds_text(a, w->now_ns), changed = now;
	struct deployment_condition c = { DEPLOYMENT_PROGRESSING, "True", DEPLOYMENT_SET_UPDATED,
					  progress_message(a, w, "is progressing.") };

	if (old && str_eqz(json_text_at(old, "status"), "True") &&
	    json_text_at(old, "lastTransitionTime").n > 0)
		changed = json_text_at(old, "lastTransitionTime");
	add_condition(a, status, &c, now, changed);
}

static void set_progressing(struct arena *a, struct json *status, const struct deployment_world *w)
{
	const struct json *old = json_getz(w->tree, "status");
	struct deployment_condition c = { .type = DEPLOYMENT_PROGRESSING };

	if (deployment_complete(w, status)) {
		c.status = "True";
		c.reason = DEPLOYMENT_SET_AVAILABLE;
		c.message = progress_message(a, w, "has successfully progressed.");
		deployment_set_condition(a, status, &c, w->now_ns);
	} else if (has_progressed(old, status)) {
		note_progress(a, status, w);
	} else if (has_timed_out(w, status)) {
		c.status = "False";
		c.reason = DEPLOYMENT_TIMED_OUT;
		c.message = progress_message(a, w, "has timed out progressing.");
		deployment_set_condition(a, status, &c, w->now_ns);
	}
}

/* --- failures -------------------------------------------------------------------------------- */

static const struct json *failure_of(const struct deployment_set *s)
{
	return s ? deployment_find_condition(json_getz(s->tree, "status"), DEPLOYMENT_FAILURE)
		 : NULL;
}

/* That of the new ReplicaSet comes first. */
static const struct json *failure_among(const struct deployment_world *w)
{
	const struct json *c = failure_of(w->now);

	for (size_t i = 0; i < w->n && !c; i++)
		c = failure_of(w->sets[i]);
	return c;
}

static const char *status_word(const struct json *condition)
{
	struct str s = json_text_at(condition, "status");

	return str_eqz(s, "True") ? "True" : str_eqz(s, "False") ? "False" : "Unknown";
}

static void set_replica_failure(struct arena *a, struct json *status,
				const struct deployment_world *w)
{
	const struct json *from = failure_among(w), *old;
	struct str since = json_text_at(from, "lastTransitionTime");
	struct deployment_condition c = { .type = DEPLOYMENT_FAILURE,
					  .status = status_word(from),
					  .message = json_text_at(from, "message") };

	if (!from) {
		remove_condition(status, DEPLOYMENT_FAILURE);
		return;
	}
	c.reason = arena_strdup(a, json_text_at(from, "reason"));
	old = deployment_find_condition(status, DEPLOYMENT_FAILURE);
	if (old && str_eqz(json_text_at(old, "status"), c.status) && has_reason(old, c.reason))
		return;
	if (since.n == 0)
		since = seconds_text(a, w->now_ns);
	add_condition(a, status, &c, since, since);
}

struct json *deployment_rollout_status(struct arena *a, const struct deployment_world *w)
{
	const struct json *was = deployment_find_condition(json_getz(w->tree, "status"),
							   DEPLOYMENT_PROGRESSING);
	struct json *status = deployment_counts(a, w);
	bool over = has_reason(was, DEPLOYMENT_SET_AVAILABLE) &&
		    count_of(status, "replicas") == count_of(status, "updatedReplicas");

	if (deployment_deadline_s(w->tree) < 0)
		remove_condition(status, DEPLOYMENT_PROGRESSING);
	else if (!over)
		set_progressing(a, status, w);
	set_replica_failure(a, status, w);
	return status;
}

int64_t deployment_check_after(const struct deployment_world *w, const struct json *status)
{
	const struct json *c = deployment_find_condition(status, DEPLOYMENT_PROGRESSING);
	int64_t deadline = deployment_deadline_s(w->tree), after;

	if (deadline < 0 || !c || deployment_complete(w, status) ||
	    has_reason(c, DEPLOYMENT_TIMED_OUT) || has_reason(c, DEPLOYMENT_SET_AVAILABLE))
		return -1;
	after = updated_ns(c) + deadline * CLOCK_SEC - w->now_ns;
	return MAX(after, (int64_t)0) + CLOCK_SEC;
}
