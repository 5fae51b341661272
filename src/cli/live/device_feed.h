/*
 * device_feed - a live model of a cluster's devices, for commands that go on showing it.
 *
 * If the user may list all claims, the model is computed here from slices, claims, taint rules and
 * reports of health (pods, nodes), on any cluster. Otherwise it is what somebody has published: the
 * status of slices, or objects of kind ResourceSliceStatus of group devplane.dev. If nobody has, or
 * the user may not read it, the state of devices is unknown. A user who may list claims, but not
 * pods and nodes, gets the published health. device_feed_source() says which.
 *
 * Informers follow the server from the loop; the model is changed by device_feed_update() only.
 * Threads: the loop's.
 */
#ifndef CLI_LIVE_DEVICE_FEED_H
#define CLI_LIVE_DEVICE_FEED_H

#include "cli/connect/kube.h"
#include "cli/live/model.h"

struct device_feed;

/* All but the functions may be empty. Borrowed. */
struct device_feed_opts {
	/* Only slices of these; of a pool with a slice of the node, also what it says of itself. */
	struct str driver, pool, node;
	/* Something has changed, from the loop; once until device_feed_update(). */
	void (*on_change)(void *arg);
	void *arg;
};

/* Asks the server what it serves and what the user may do, then begins to follow. */
int device_feed_open(struct kube *k, const struct device_feed_opts *opts,
		     struct device_feed **ret_feed, struct error *err);
void device_feed_close(struct device_feed *f); /* NULL allowed */

/* The whole first state has come. */
bool device_feed_synced(const struct device_feed *f);

/* Why it does not get on; code ERR_OK when it does. */
const struct error *device_feed_failure(const struct device_feed *f);

/* Where the data come from: a sentence. */
struct str device_feed_source(const struct device_feed *f);

/* Some state was computed without knowing which nodes exist: device_view_say_nodes_unknown(). */
bool device_feed_lacks_nodes(const struct device_feed *f);

/*
 * Brings the model up to date and tells what is different; `tell` may be NULL.
 */
void device_feed_update(struct device_feed *f, struct top_model *m,
			void (*tell)(void *arg, const struct top_change *c), void *arg);

#endif
