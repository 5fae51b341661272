/*
 * informer_impl - private to informer*.c.
 */
#ifndef CLIENT_INFORMER_INFORMER_IMPL_H
#define CLIENT_INFORMER_INFORMER_IMPL_H

#include "base/report/metrics.h"
#include "client/informer/informer.h"
#include "client/informer/reflector.h"

/* The metrics of one informer; all NULL without a registry. */
struct informer_metrics {
	struct metrics_counter *lists, *watches, *events;
	struct metrics_gauge *rv, *objects, *bytes;
};

struct informer {
	struct list link; /* of its set */
	struct informers *set;
	struct arena arena; /* text of the spec */
	struct resource resource;
	struct reflector reflector;
	struct cache cache;
	struct list handlers;
	struct list *next_handler; /* the next handler to call in this round */
	struct loop_task task; /* delivers the state to new handlers */
	struct loop_timer resync;
	uint64_t revision; /* of the last event or state; 0: not a number */
	struct informer_stats stats;
	struct informer_metrics metrics;
	uint64_t counted; /* events already added to the metrics */
	bool synced;
};

struct informers {
	struct client *client;
	struct metrics *metrics; /* or NULL */
	struct list all;
	struct resource trimmed; /* slim copies of it leave `trim` out */
	const struct cached_trim *trim; /* or NULL */
	bool started;
};

struct informer *informer_new(struct informers *s, const struct informer_spec *spec);
void informer_free(struct informer *i);
bool informer_is(const struct informer *i, const struct informer_spec *spec);

/* Creates its series, labelled by resource, namespace and selectors. */
void informer_metrics_init(struct informer *i);
/* Call it after every change. */
void informer_metrics_update(struct informer *i);

#endif
