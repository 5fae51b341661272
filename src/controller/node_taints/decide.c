/*
 * A pod that came to the node after the taint is tolerated from then on: its binding is a condition
 * in its status, so that start survives a restart, too.
 */
#include "controller/node_taints/decide.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"

#define NOT_READY   "node.kubernetes.io/not-ready"
#define UNREACHABLE "node.kubernetes.io/unreachable"

static bool is_no_execute(const struct json *taint)
{
	return str_eqz(json_text_at(taint, "effect"), "NoExecute");
}

/* --- starts ---------------------------------------------------------------------------------- */

/* The time at `key`, or `absent`; now if it is in the future. */
static int64_t past_time(const struct json *object, const char *key, int64_t absent, int64_t now_ns)
{
	struct str text = json_text_at(object, key);
	int64_t ns;

	if (text.n == 0 || timestamp_parse(text, &ns, NULL) < 0)
		return absent;
	return MIN(ns, now_ns);
}

static bool is_node_state(struct str key)
{
	return str_eqz(key, NOT_READY) || str_eqz(key, UNREACHABLE);
}

static int64_t taint_since(const struct json *taint, const struct node_taint_set *old,
			   int64_t now_ns)
{
	struct str key = json_text_at(taint, "key"), value = json_text_at(taint, "value");
	int64_t since = past_time(taint, "timeAdded", now_ns, now_ns);

	for (size_t i = 0; old && i < old->n; i++) {
		const struct node_taint *t = &old->v[i];

		if ((str_eq(t->key, key) && str_eq(t->value, value)) ||
		    (is_node_state(t->key) && is_node_state(key)))
			since = MIN(since, t->since);
	}
	return since;
}

/* --- the set --------------------------------------------------------------------------------- */

static struct str put_text(char **at, struct str text)
{
	struct str copy = str_of(*at, text.n);

	*at = str_put(*at, text);
	return copy;
}

struct node_taint_set *node_taint_set_new(struct str node, const struct json *taints,
					  const struct node_taint_set *old, int64_t now_ns)
{
	size_t n = 0, bytes = node.n;
	struct node_taint_set *s;
	char *at;

	JSON_FOREACH (it, taints) {
		if (!is_no_execute(it))
			continue;
		n++;
		bytes += json_text_at(it, "key").n + json_text_at(it, "value").n;
	}
	if (n == 0)
		return NULL;
	s = xcalloc(1, sizeof(*s) + n * sizeof(*s->v) + bytes);
	s->v = (struct node_taint *)(s + 1);
	at = (char *)(s->v + n);
	s->node = put_text(&at, node);
	JSON_FOREACH (it, taints) {
		if (!is_no_execute(it))
			continue;
		s->v[s->n++] = (struct node_taint){
			.key = put_text(&at, json_text_at(it, "key")),
			.value = put_text(&at, json_text_at(it, "value")),
			.since = taint_since(it, old, now_ns),
		};
	}
	return s;
}

/* --- pods ------------------------------------------------------------------------------------ */

static bool toleration_matches(const struct json *toleration, const struct node_taint *t)
{
	struct str effect = json_text_at(toleration, "effect");
	struct str key = json_text_at(toleration, "key");
	struct str how = json_text_at(toleration, "operator");

	if (effect.n > 0 && !str_eqz(effect, "NoExecute"))
		return false;
	if (key.n > 0 && !str_eq(key, t->key))
		return false;
	if (str_eqz(how, "Exists"))
		return true;
	return key.n > 0 && (how.n == 0 || str_eqz(how, "Equal")) &&
	       str_eq(json_text_at(toleration, "value"), t->value);
}

static const struct json *find_toleration(const struct json *pod, const struct node_taint *t)
{
	JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), "tolerations"))
		if (toleration_matches(it, t))
			return it;
	return NULL;
}

/* When the node got the pod; 0: unknown. */
static int64_t bound_since(const struct json *pod, int64_t now_ns)
{
	const struct json *c = json_find(json_getz(json_getz(pod, "status"), "conditions"), "type",
					 STR("PodScheduled"));

	if (str_eqz(json_text_at(c, "status"), "True"))
		return past_time(c, "lastTransitionTime", 0, now_ns);
	return past_time(json_getz(pod, "metadata"), "creationTimestamp", 0, now_ns);
}

static int64_t tolerated_until(const struct json *toleration, int64_t since, int64_t now_ns)
{
	const struct json *seconds = json_getz(toleration, "tolerationSeconds");
	int64_t s;

	if (!json_i64(seconds, &s))
		return NODE_TAINTS_NEVER;
	if (s <= 0)
		return now_ns;
	if (s > (INT64_MAX - now_ns) / CLOCK_SEC)
		return NODE_TAINTS_NEVER;
	return MAX(since + s * CLOCK_SEC, now_ns);
}

int64_t node_taint_set_due(const struct node_taint_set *s, const struct json *pod, int64_t now_ns)
{
	int64_t due = NODE_TAINTS_NEVER, bound;

	if (!s)
		return due;
	bound = bound_since(pod, now_ns);
	for (size_t i = 0; i < s->n; i++) {
		const struct json *toleration = find_toleration(pod, &s->v[i]);
		int64_t until;

		if (!toleration)
			return now_ns;
		until = tolerated_until(toleration, MAX(bound, s->v[i].since), now_ns);
		due = MIN(due, until);
	}
	return due;
}
