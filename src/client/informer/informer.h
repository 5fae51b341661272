/*
 * informer - a local, live copy of one collection, and what changes in it.
 *
 * Lists, then watches, for ever: WatchList (a watch that begins with the state)
 * where the server can, pages and a watch where not. Whatever happens on the way
 * (cuts, restarts, 410, time-outs), the copy comes to equal the server's
 * state, and handlers are told exactly the differences, each once. Events come in
 * the server's order; the differences that a new list shows, by key, deletions last.
 * An object that came and went unseen is not told; one that was replaced by another of
 * the same name (another uid) while we did not look is told as an update.
 *
 * Informers are shared: whoever asks the set for the same resource with the same
 * selectors gets the same one. The copy is bytes (cached.h), indexed (cache.h).
 * Threads: all on the client's loop.
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

/* What to copy; two with the same content are the same informer. */
struct informer_spec {
	const struct resource *resource;
	struct str ns; /* empty: all */
	struct str label_selector, field_selector; /* as clients write them; or empty */
	bool metadata_only; /* PartialObjectMetadata: no spec, no status */
	bool slim; /* without managedFields */
};

/*
 * Who is told. Embed it, fill it, add it; each function may be NULL. Objects are
 * borrowed until return. Called from the loop, after the cache has changed; never from
 * within informer_add_handler(). A handler may add and remove handlers, also itself, and
 * stop the set; it may not free it, and its own memory must outlive the turn.
 */
struct informer_handler {
	/* `initial`: it is part of the state at the handler's beginning. */
	void (*on_add)(struct informer_handler *h, struct cached *o, bool initial);
	/* Also each object, with itself, at every resync: then old == o. */
	void (*on_update)(struct informer_handler *h, struct cached *old, struct cached *o);
	/*
	 * `last`: the state in which it went; with `unknown` only the last that we saw
	 * (its end was noticed by a new list).
	 */
	void (*on_delete)(struct informer_handler *h, struct cached *last, bool unknown);
	/* The handler has been told the whole first state. Once. */
	void (*on_synced)(struct informer_handler *h);
	int64_t resync_ms; /* 0: never */

	/* The informer's. */
	struct list link;
	struct informer *informer; /* NULL when in none */
	int64_t resync_at;
	bool live; /* has been told the state; is told changes */
	bool synced; /* on_synced was called */
};

/* --- the set ------------------------------------------------------------------------ */

/* `metrics` may be NULL. The client must outlive it. */
struct informers *informers_new(struct client *c, struct metrics *metrics);

/* Stops and frees all of them. Handlers are left alone and told nothing. NULL allowed. */
void informers_free(struct informers *s);

/* The informer of this spec, made when it is new; it runs when the set has been started. */
struct informer *informers_get(struct informers *s, const struct informer_spec *spec);

/* Starts what there is and whatever is added later. */
void informers_start(struct informers *s);
/* Ends the watches; the copies stay as they are. informers_start() goes on from there. */
void informers_stop(struct informers *s);

/* All of them have their first state. */
bool informers_synced(const struct informers *s);

/* Takes one out of the set and frees it, with its handlers removed: a resource has gone. */
void informers_drop(struct informers *s, struct informer *i);

/* --- one informer ------------------------------------------------------------------ */

/*
 * Adds a handler: in the next turn it is told of all that is there, then it is
 * told changes. Several are told in the order in which they were added.
 */
void informer_add_handler(struct informer *i, struct informer_handler *h);
void informer_remove_handler(struct informer_handler *h); /* harmless when in none */

/* Unless there is one of that name. May be done at any time. */
void informer_add_index(struct informer *i, const struct cache_index *index);

/* It has had its first state, and its handlers have been told. */
bool informer_synced(const struct informer *i);

/* To read: cache_get(), cache_next() and the like. */
const struct cache *informer_cache(const struct informer *i);
const struct resource *informer_resource(const struct informer *i);

/* Up to where it has seen; empty before the first state. Borrowed until the next turn. */
struct str informer_resource_version(const struct informer *i);

/* Why it does not get on; code ERR_OK when it does. */
const struct error *informer_failure(const struct informer *i);

struct informer_stats {
	uint64_t lists, watches, relists; /* begun: lists in pages count once; states replaced */
	uint64_t events; /* of watches, bookmarks and repetitions too */
	uint64_t added, updated, deleted; /* told */
};
void informer_stats(const struct informer *i, struct informer_stats *ret_stats);

#endif
