/*
 * profile - the plugins of one schedulerName, in order, by extension point.
 *
 * This is the framework: it calls the plugins of an extension point in order, combines their
 * verdicts as upstream's runtime does, and records durations and counts in metrics.
 */
#ifndef SCHEDULER_FRAMEWORK_PROFILE_H
#define SCHEDULER_FRAMEWORK_PROFILE_H

#include "base/core/error.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/plugin.h"

struct config_profile;

/* Extension points with measured durations; labels are upstream's. */
enum profile_measure {
	MEASURE_PRE_ENQUEUE,
	MEASURE_PRE_FILTER,
	MEASURE_ADD_POD,
	MEASURE_REMOVE_POD,
	MEASURE_FILTER,
	MEASURE_POST_FILTER,
	MEASURE_PRE_SCORE,
	MEASURE_SCORE,
	MEASURE_NORMALIZE,
	MEASURE_RESERVE,
	MEASURE_UNRESERVE,
	MEASURE_PERMIT,
	MEASURE_PRE_BIND,
	MEASURE_BIND,
	MEASURE_POST_BIND,
	PROFILE_MEASURES
};

struct profile {
	struct str name; /* schedulerName */
	struct plugin *plugins; /* instances by number, each once */
	size_t n, ninitialised;
	/* By extension point: the numbers of its plugins, in order. */
	struct profile_point {
		uint8_t at[PLUGINS_MAX];
		uint8_t n;
	} pre_enqueue, pre_filter, filter, post_filter, pre_score, score, reserve, permit, pre_bind,
		bind, post_bind;
	const struct plugin *queue_sort;
	int32_t percentage_of_nodes; /* 0: adaptive */
	const struct services *services;
	struct profile_metrics *metrics; /* NULL: no metrics */
	struct profile_scratch *scratch;
	uint64_t cycles; /* cycles started so far */
};

/*
 * Creates the instances and calls all inits in configured order. If one fails, returns an error
 * whose message has the plugin's name.
 */
int profile_new(const struct config_profile *config, const struct plugin_kinds *kinds,
		const struct services *services, struct profile **ret_profile, struct error *err);
void profile_free(struct profile *p);

/* --- the points of the scheduling cycle: see plugin.h --------------------------------------- */

struct verdict profile_pre_enqueue(struct profile *p, const struct podinfo *pod, struct arena *a);
struct verdict profile_pre_filter(struct profile *p, struct cycle *c);
void profile_add_pod(struct profile *p, struct cycle *c, const struct podinfo *other,
		     const struct nodeinfo *n);
void profile_remove_pod(struct profile *p, struct cycle *c, const struct podinfo *other,
			const struct nodeinfo *n);
struct verdict profile_filter(struct profile *p, struct cycle *c, const struct nodeinfo *n);
struct verdict profile_post_filter(struct profile *p, struct cycle *c, struct str *ret_nominated,
				   bool *ret_nominating);
struct verdict profile_pre_score(struct profile *p, struct cycle *c);
/* Stores weighted sums in c->totals. */
struct verdict profile_score(struct profile *p, struct cycle *c);
/* On failure, unreserves in reverse order. */
struct verdict profile_reserve(struct profile *p, struct cycle *c, struct str node);
void profile_unreserve(struct profile *p, struct cycle *c, struct str node);
/*
 * If it returns WAIT, *ret_waiting has the bits of the waiting plugins, and ret_timeout_ms their
 * timeouts by number.
 */
struct verdict profile_permit(struct profile *p, struct cycle *c, struct str node,
			      uint64_t *ret_waiting, int64_t ret_timeout_ms[PLUGINS_MAX]);
void profile_post_bind(struct profile *p, struct cycle *c, struct str node);

/*
 * For asynchronous extension points (pre_bind, bind): get the start time with profile_now(), and
 * pass it to profile_took() at the end. `plugin` NULL records the duration of the whole extension
 * point.
 */
int64_t profile_now(const struct profile *p); /* 0: not measured */
void profile_took(struct profile *p, const struct cycle *c, const struct plugin *plugin,
		  enum profile_measure m, enum verdict_code code, int64_t since);

#endif
