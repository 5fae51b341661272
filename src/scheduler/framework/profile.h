/*
 * profile - the plugins that serve one schedulerName, by extension point, in order.
 *
 * The framework: asks each plugin of a point in order and puts the answers together as upstream's
 * runtime does, with durations and counts in metrics.
 */
#ifndef SCHEDULER_FRAMEWORK_PROFILE_H
#define SCHEDULER_FRAMEWORK_PROFILE_H

#include "base/core/error.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/plugin.h"

struct config_profile;

/* What durations are measured of; labels are upstream's. */
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
	struct plugin *plugins; /* instances; each once, by number */
	size_t n, ninitialised;
	/* Numbers in order, per extension point; ended by n of each. */
	struct profile_point {
		uint8_t at[PLUGINS_MAX];
		uint8_t n;
	} pre_enqueue, pre_filter, filter, post_filter, pre_score, score, reserve, permit, pre_bind,
		bind, post_bind;
	const struct plugin *queue_sort;
	int32_t percentage_of_nodes; /* 0: adaptive */
	const struct services *services;
	struct profile_metrics *metrics; /* NULL: nothing is counted */
	struct profile_scratch *scratch;
	uint64_t cycles; /* begun so far */
};

/*
 * Makes the instances: all inits, in configured order. Fails as a whole, with the plugin's name in
 * the message.
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
/* Weighted sums into c->totals. */
struct verdict profile_score(struct profile *p, struct cycle *c);
/* On failure what was reserved is taken back, in reverse order. */
struct verdict profile_reserve(struct profile *p, struct cycle *c, struct str node);
void profile_unreserve(struct profile *p, struct cycle *c, struct str node);
/* WAIT: *ret_waiting are the plugins (bits) and *ret_timeout_ms the earliest time-out each has. */
struct verdict profile_permit(struct profile *p, struct cycle *c, struct str node,
			      uint64_t *ret_waiting, int64_t ret_timeout_ms[PLUGINS_MAX]);
void profile_post_bind(struct profile *p, struct cycle *c, struct str node);

/*
 * For points that take their time (pre_bind, bind): the time that they begin, and what is to be
 * said when they have ended. With `plugin` NULL it is the whole point's duration.
 */
int64_t profile_now(const struct profile *p); /* 0: nothing is measured */
void profile_took(struct profile *p, const struct cycle *c, const struct plugin *plugin,
		  enum profile_measure m, enum verdict_code code, int64_t since);

#endif
