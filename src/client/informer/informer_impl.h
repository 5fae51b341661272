/*
 * informer_impl - private to informer*.c.
 */
#ifndef CLIENT_INFORMER_INFORMER_IMPL_H
#define CLIENT_INFORMER_INFORMER_IMPL_H

#include "base/report/metrics.h"
#include "client/informer/informer.h"
#include "client/informer/reflector.h"

/* Series of one informer; all NULL without a registry. */
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
	struct list *next_handler; /* whom a round of calls comes to next */
	struct loop_task task; /* tells new handlers */
	struct loop_timer resync;
	uint64_t revision; /* of the last event or state, as a number; 0: it is none */
	struct informer_stats stats;
	struct informer_metrics metrics;
	uint64_t counted; /* events that the metrics know */
	bool synced;
};

struct informers {
	struct client *client;
	struct metrics *metrics; /* or NULL */
	struct list all;
	bool started;
};

struct informer *informer_new(struct informers *s, const struct informer_spec *spec);
void informer_free(struct informer *i);
bool informer_is(const struct informer *i, const struct informer_spec *spec);

/* Resolves its series; named by resource, namespace and selectors. */
void informer_metrics_init(struct informer *i);
/* After a change. */
void informer_metrics_update(struct informer *i);

#endif
