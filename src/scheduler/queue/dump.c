/*
 * Writes the waiting pods with place and reason as JSON, for people. Each place is sorted in the
 * order in which its pods would leave, as far as it is known.
 */
#include <stdlib.h>

#include "base/json/writer.h"
#include "scheduler/queue/podqueue_impl.h"

static const char *const names[] = {
	[QUEUE_ACTIVE] = "active",
	[QUEUE_BACKOFF] = "backoff",
	[QUEUE_UNSCHEDULABLE] = "unschedulable",
	[QUEUE_GATED] = "gated",
	[QUEUE_IN_FLIGHT] = "inFlight",
};

static void dump_plugins(const struct queued_pod *p, struct json_writer *w)
{
	json_writer_keyz(w, "rejectedBy");
	json_writer_begin_array(w);
	for (uint64_t r = p->rejectors; r; r &= r - 1)
		json_writer_strz(w, p->profile->plugins[__builtin_ctzll(r)].name);
	json_writer_end_array(w);
	if (p->gated_by) {
		json_writer_keyz(w, "gatedBy");
		json_writer_strz(w, p->gated_by->name);
	}
}

static void dump_pod(const struct queued_pod *p, int64_t now_ms, struct json_writer *w)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "pod");
	json_writer_str(w, p->pod->key);
	json_writer_keyz(w, "uid");
	json_writer_str(w, p->pod->uid);
	json_writer_keyz(w, "profile");
	json_writer_str(w, p->profile->name);
	json_writer_keyz(w, "priority");
	json_writer_i64(w, p->pod->priority);
	json_writer_keyz(w, "attempts");
	json_writer_i64(w, p->attempts);
	json_writer_keyz(w, "waitedMs");
	json_writer_i64(w, now_ms - p->since_ms);
	if (p->place == QUEUE_BACKOFF) {
		json_writer_keyz(w, "backoffMs");
		json_writer_i64(w, MAX(p->backoff_until_ms + BACKOFF_WINDOW_MS - now_ms, 0));
	}
	if (p->error_count) {
		json_writer_keyz(w, "errors");
		json_writer_i64(w, p->error_count);
	}
	if (p->nominated.n) {
		json_writer_keyz(w, "nominatedNode");
		json_writer_str(w, p->nominated);
	}
	if (p->rejectors)
		dump_plugins(p, w);
	json_writer_end_object(w);
}

static int by_leaving(const void *a, const void *b)
{
	const struct queued_pod *x = *(const struct queued_pod *const *)a;
	const struct queued_pod *y = *(const struct queued_pod *const *)b;
	heap_less *less = x->place == QUEUE_ACTIVE    ? queue_less_active
			  : x->place == QUEUE_BACKOFF ? queue_less_backoff
						      : queue_less_flush;

	return less(x, y) ? -1 : less(y, x);
}

typedef VEC(struct queued_pod *) pod_list;

static void dump_collect(const struct podqueue *q, enum queue_place place, pod_list *out)
{
	struct str key;
	void *value;
	size_t at = 0;

	out->n = 0;
	while (map_next(&q->pods, &at, &key, &value)) {
		struct queued_pod *p = value;

		if (p->place == place)
			(void)vec_push(out, p);
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_leaving);
}

void podqueue_dump(const struct podqueue *q, int64_t now_ms, struct json_writer *w)
{
	pod_list pods;

	vec_init(&pods, SIZE_MAX / sizeof(void *));
	json_writer_begin_object(w);
	for (enum queue_place place = QUEUE_ACTIVE; place <= QUEUE_IN_FLIGHT; place++) {
		dump_collect(q, place, &pods);
		json_writer_keyz(w, names[place]);
		json_writer_begin_array(w);
		for (size_t i = 0; i < pods.n; i++)
			dump_pod(pods.v[i], now_ms, w);
		json_writer_end_array(w);
	}
	json_writer_keyz(w, "inFlightEvents");
	json_writer_u64(w, q->nevents);
	json_writer_end_object(w);
	vec_release(&pods);
}
