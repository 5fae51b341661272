/*
 * The status is compared with the old one member by member, so that a status that is right already
 * costs no write.
 */
#include "controller/replica_set/decide.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"

/* --- numbers --------------------------------------------------------------------------------- */

static int64_t bounded(const struct json *object, const char *key, int64_t absent)
{
	int64_t v = json_i64_at(object, key, absent);

	return v < 0 ? 0 : MIN(v, (int64_t)INT32_MAX);
}

struct replica_set_spec replica_set_spec(const struct json *set)
{
	const struct json *spec = json_getz(set, "spec");

	return (struct replica_set_spec){ .replicas = bounded(spec, "replicas", 1),
					  .min_ready_s = bounded(spec, "minReadySeconds", 0) };
}

int64_t replica_set_difference(const struct replica_set_spec *spec, size_t active)
{
	int64_t diff = spec->replicas - (int64_t)active;

	return diff > 0 ? MIN(diff, (int64_t)REPLICA_SET_BURST)
			: MAX(diff, -(int64_t)REPLICA_SET_BURST);
}

/* --- pods ------------------------------------------------------------------------------------ */

struct replica_pod replica_pod_of(const struct json *pod)
{
	return (struct replica_pod){ .active = pod_state_active(pod),
				     .terminating = pod_state_terminating(pod),
				     .ready = pod_state_ready(pod),
				     .ready_since_ns = pod_state_ready_since_ns(pod) };
}

void replica_counts_add(struct replica_counts *c, const struct replica_pod *pod,
			const struct replica_set_spec *spec, int64_t now_ns)
{
	int64_t wait = pod->ready_since_ns + spec->min_ready_s * 1000000000 - now_ns;

	c->terminating += pod->terminating;
	if (!pod->active)
		return;
	c->replicas++;
	c->labeled += pod->labeled;
	c->ready += pod->ready;
	if (!pod->ready)
		return;
	if (spec->min_ready_s == 0 || (pod->ready_since_ns && wait <= 0))
		c->available++;
	else if (pod->ready_since_ns && (c->next_ns == 0 || wait < c->next_ns))
		c->next_ns = wait;
}

void replica_pods_sort(struct pod_rank *ranks, size_t n)
{
	if (n > 1)
		qsort(ranks, n, sizeof(*ranks), pod_rank_compare);
}

struct node_count {
	size_t n;
};

static struct str replica_node_of(const struct json *pod)
{
	return json_text_at(json_getz(pod, "spec"), "nodeName");
}

void replica_pods_rank(struct pod_rank *ranks, size_t n, const struct json *const *related,
		       size_t nrelated)
{
	struct node_count *counts = xcalloc(nrelated + 1, sizeof(*counts)), *c;
	struct map by_node;

	map_init(&by_node);
	for (size_t i = 0; i < nrelated; i++) {
		struct str node = replica_node_of(related[i]);

		if (!pod_state_active(related[i]))
			continue;
		c = map_get(&by_node, node);
		if (!c) {
			c = &counts[i];
			(void)map_put(&by_node, node, c);
		}
		c->n++;
	}
	for (size_t i = 0; i < n; i++) {
		c = map_get(&by_node, replica_node_of(ranks[i].pod));
		ranks[i].beside = c ? c->n : 0;
	}
	map_release(&by_node);
	free(counts);
}

/* --- status ---------------------------------------------------------------------------------- */

#define FAILURE "ReplicaFailure"

static struct json *failure_condition(struct arena *a, const struct replica_counts *counts,
				      int64_t wanted, struct str message, int64_t now_ns)
{
	struct json *c = json_make_object(a);
	char text[TIMESTAMP_SIZE];

	json_put_str(a, c, "type", STR(FAILURE));
	json_put_str(a, c, "status", STR("True"));
	json_put_str(a, c, "lastTransitionTime",
		     arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, text)));
	if (counts->replicas < wanted)
		json_put_str(a, c, "reason", STR("FailedCreate"));
	else if (counts->replicas > wanted)
		json_put_str(a, c, "reason", STR("FailedDelete"));
	json_put_str(a, c, "message", arena_str(a, message));
	return c;
}

/* A condition stays as it is while the failure lasts. */
static void set_failure(struct arena *a, struct json *status, const struct json *set,
			const struct replica_counts *counts, struct str failure, int64_t now_ns)
{
	struct json *list = json_getz(status, "conditions");
	struct json *old = json_find(list, "type", STR(FAILURE));

	if (failure.p && !old) {
		json_append(json_need_array(a, status, "conditions"),
			    failure_condition(a, counts, replica_set_spec(set).replicas, failure,
					      now_ns));
	} else if (!failure.p && old) {
		(void)json_unlink(list, old);
		if (json_count(list) == 0)
			(void)json_remove(status, STR("conditions"));
	}
}

/* Zero is left out, as the server leaves it out. */
static void set_count(struct arena *a, struct json *status, const char *name, int64_t n)
{
	if (n > 0)
		json_put_i64(a, status, name, n);
	else
		(void)json_remove(status, str_from(name));
}

struct json *replica_set_status(struct arena *a, const struct json *set,
				const struct replica_counts *counts, struct str failure,
				bool observed, int64_t now_ns)
{
	const struct json *old = json_getz(set, "status");
	struct json *status;

	if (!json_is(old, JSON_OBJECT) || json_copy(a, old, &status, NULL) < 0)
		status = json_make_object(a);
	set_failure(a, status, set, counts, failure, now_ns);
	json_put_i64(a, status, "replicas", counts->replicas);
	set_count(a, status, "fullyLabeledReplicas", counts->labeled);
	set_count(a, status, "readyReplicas", counts->ready);
	set_count(a, status, "availableReplicas", counts->available);
	json_put_i64(a, status, "terminatingReplicas", counts->terminating);
	if (observed)
		set_count(a, status, "observedGeneration",
			  json_i64_at(json_getz(set, "metadata"), "generation", 0));
	return old && json_equal(old, status) ? NULL : status;
}
