/*
 * device_feed - a live model of a cluster's devices, for commands that show it continuously.
 *
 * If the user may list all claims, the model is computed here from slices, claims, taint rules and
 * health reports (pods, nodes), on any cluster. Otherwise it is the published availability
 * (KEP-5677): the status of slices, or objects of kind ResourceSliceStatus of group devplane.dev.
 * If that does not exist or may not be read, the state of devices is unknown. A user who may list
 * claims, but not pods and nodes, gets the published health. device_feed_source() says which
 * source is used.
 *
 * Informers follow the server from the loop. Only device_feed_update() changes the model. Threads:
 * the loop's.
 */
#ifndef CLI_LIVE_DEVICE_FEED_H
#define CLI_LIVE_DEVICE_FEED_H

#include "cli/connect/kube.h"
#include "cli/live/model.h"

struct device_feed;

/* Everything but the functions may be empty. Borrowed. */
struct device_feed_opts {
	/*
	 * Only slices of these. For a pool with a slice on the node, the pool's own status is
	 * included.
	 */
	struct str driver, pool, node;
	/* Called from the loop after a change, at most once until device_feed_update(). */
	void (*on_change)(void *arg);
	void *arg;
};

/* Reads what the server serves and what the user is allowed to do, then starts the informers. */
int device_feed_open(struct kube *k, const struct device_feed_opts *opts,
		     struct device_feed **ret_feed, struct error *err);
void device_feed_close(struct device_feed *f); /* NULL allowed */

/* Whether the whole initial state has arrived. */
bool device_feed_synced(const struct device_feed *f);

/* The error that keeps it from progressing; code ERR_OK: no error. */
const struct error *device_feed_failure(const struct device_feed *f);

/* A sentence that says where the data come from. */
struct str device_feed_source(const struct device_feed *f);

/*
 * Whether a state was computed without knowing the set of nodes: device_view_say_nodes_unknown().
 */
bool device_feed_lacks_nodes(const struct device_feed *f);

/* Updates the model and reports each difference to `tell`, which may be NULL. */
void device_feed_update(struct device_feed *f, struct top_model *m,
			void (*tell)(void *arg, const struct top_change *c), void *arg);

#endif
