/*
 * followed - the kinds that a controller copies, and the moment when it has all of them.
 *
 * Before that, objects would seem to be missing. So the controller's queues are held until each
 * kind has its initial state; their keys are kept. Threads: the client's loop.
 */
#ifndef CONTROLLER_SHARED_FOLLOWED_H
#define CONTROLLER_SHARED_FOLLOWED_H

#include "client/informer/informer.h"

struct workqueue;

enum { FOLLOWING_QUEUES_MAX = 2 };

/* All kinds of a controller. Embed it. */
struct following {
	/* All kinds have their state. Called once, just before the queues are released; or NULL. */
	void (*on_synced)(struct following *f);

	/* Private. */
	struct informers *informers;
	struct workqueue *queues[FOLLOWING_QUEUES_MAX];
	struct list kinds;
};

/* One kind. Embed it, fill it, follow it. */
struct followed {
	/* Set before. */
	struct resource resource;
	struct str ns, label_selector; /* empty: all objects; needed until follow() returns */
	const struct cache_index *indexes; /* the last row has no name; NULL: no index */
	struct informer_handler handler; /* all but on_synced */

	/* Set by follow(). */
	struct informer *informer;

	/* Private. */
	struct following *of;
	struct list link;
};

void following_init(struct following *f, struct informers *informers);

/* Holds the queue until all kinds have their state. */
void following_hold(struct following *f, struct workqueue *queue);

/* Follows one more kind. All calls are in one turn of the loop. */
void follow(struct following *f, struct followed *k);

/* Whether all kinds have their state. */
bool following_synced(const struct following *f);

/* Ends it: no handler is called any more. */
void following_end(struct following *f);

/* For a kind's handler: each adds the object's key to the first queue. */
void followed_on_add(struct informer_handler *h, struct cached *o, bool initial);
void followed_on_update(struct informer_handler *h, struct cached *old, struct cached *o);
void followed_on_delete(struct informer_handler *h, struct cached *last, bool unknown);

#endif
