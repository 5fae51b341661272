/*
 * informer - a local, live copy of one collection, and the changes to it.
 *
 * An informer lists and then watches, for ever. It uses WatchList (a watch that begins with the
 * state) if the server supports it, otherwise a list in pages and a watch. After any disruption
 * (lost connections, restarts, 410, timeouts) the copy converges to the server's state, and
 * handlers get exactly the differences, each once. Events are delivered in the server's order.
 * Differences found by a new list are delivered by key, deletions last. Handlers do not see an
 * object that was created and deleted while the watch was down. An object that was replaced by
 * another of the same name (another uid) meanwhile is delivered as an update.
 *
 * Informers are shared: requests for the same resource with the same selectors get the same
 * informer of the set. The copy holds bytes (cached.h) and has indexes (cache.h). Threads: all on
 * the client's loop.
 */
#ifndef CLIENT_INFORMER_INFORMER_H
#define CLIENT_INFORMER_INFORMER_H

#include "base/core/list.h"
#include "client/api/client.h"
#include "client/api/resource.h"
#include "client/informer/cache.h"

struct informer;
struct informers;
struct metrics;

/*
 * The collection to copy. Equal specs share one informer. A spec for metadata gets the informer of
 * the whole objects if the set has one, so that no object is watched and kept twice.
 */
struct informer_spec {
	const struct resource *resource;
	struct str ns; /* empty: all */
	struct str label_selector, field_selector; /* in API syntax; or empty */
	bool metadata_only; /* spec and status are not needed: PartialObjectMetadata */
	bool slim; /* remove managedFields, and what informers_trim() says */
};

/*
 * A subscriber. Embed it, fill it, add it; each function may be NULL. Objects are borrowed until
 * return. Functions are called from the loop, after the cache has changed, and never from within
 * informer_add_handler(). A handler may add and remove handlers, including itself, and may stop
 * the set. It may not free the set, and its own memory must outlive the turn.
 */
struct informer_handler {
	/* `initial`: the object is part of the state at the time the handler was added. */
	void (*on_add)(struct informer_handler *h, struct cached *o, bool initial);
	/* Also called for each object at every resync: then old == o. */
	void (*on_update)(struct informer_handler *h, struct cached *old, struct cached *o);
	/*
	 * `last` is the object's final state. If `unknown`, it is only the last state that we saw,
	 * because a new list showed the deletion.
	 */
	void (*on_delete)(struct informer_handler *h, struct cached *last, bool unknown);
	/* Called once, when the handler has been given the whole initial state. */
	void (*on_synced)(struct informer_handler *h);
	int64_t resync_ms; /* 0: never */

	/* Private to the informer. */
	struct list link;
	struct informer *informer; /* NULL: not added */
	int64_t resync_at;
	bool live; /* has been given the state; gets changes */
	bool synced; /* on_synced was called */
};

/* --- the set ------------------------------------------------------------------------ */

/* `metrics` may be NULL. The client must outlive it. */
struct informers *informers_new(struct client *c, struct metrics *metrics);

/* Stops and frees all informers. Handlers are not called. NULL allowed. */
void informers_free(struct informers *s);

/*
 * Slim copies of this resource leave these members out, too. Call it before informers_get(), once.
 * Borrowed.
 */
void informers_trim(struct informers *s, const struct resource *what,
		    const struct cached_trim *trim);

/* Returns the informer of this spec, creating it if needed. It runs once the set is started. */
struct informer *informers_get(struct informers *s, const struct informer_spec *spec);

/* Starts all informers, and those that are added later. */
void informers_start(struct informers *s);
/* Ends the watches and keeps the copies. informers_start() resumes from there. */
void informers_stop(struct informers *s);

/* Whether all informers have their initial state. */
bool informers_synced(const struct informers *s);

/*
 * Removes an informer from the set and frees it, for resources that are no longer served. If it
 * has handlers, others share it: then it stays.
 */
void informers_drop(struct informers *s, struct informer *i);

/* --- one informer ------------------------------------------------------------------ */

/*
 * Adds a handler. In the next turn it gets all objects that are in the copy, then changes.
 * Handlers are called in the order in which they were added.
 */
void informer_add_handler(struct informer *i, struct informer_handler *h);
void informer_remove_handler(struct informer_handler *h); /* a no-op if not added */

/* Does nothing if an index of that name exists. Allowed at any time. */
void informer_add_index(struct informer *i, const struct cache_index *index);

/* Whether the initial state has arrived and has been delivered to the handlers. */
bool informer_synced(const struct informer *i);

/* For reading with cache_get(), cache_next() and the like. */
const struct cache *informer_cache(const struct informer *i);
const struct resource *informer_resource(const struct informer *i);

/* The newest resourceVersion seen; empty before the initial state. Borrowed until the next turn. */
struct str informer_resource_version(const struct informer *i);

/* The error that keeps it from progressing; code ERR_OK: no error. */
const struct error *informer_failure(const struct informer *i);

struct informer_stats {
	/*
	 * Lists and watches started (a list in pages counts once), and states replaced by a new
	 * list.
	 */
	uint64_t lists, watches, relists;
	uint64_t events; /* of watches, including bookmarks and repetitions */
	uint64_t added, updated, deleted; /* delivered to handlers */
};
void informer_stats(const struct informer *i, struct informer_stats *ret_stats);

#endif
