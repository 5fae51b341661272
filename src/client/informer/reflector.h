/*
 * reflector - list and watch one collection, for ever. The engine of an informer.
 *
 * First the state: by WatchList, or, when the server refuses that, by a list in
 * pages. Then changes: by the same watch, resumed from the last resourceVersion when it
 * ends. When that version is too old (410), the state anew. Failures are followed
 * by a back-off (0.8 s, doubled up to 30 s, jittered) that begins anew after two quiet
 * minutes.
 * Threads: the client's loop.
 */
#ifndef CLIENT_INFORMER_REFLECTOR_H
#define CLIENT_INFORMER_REFLECTOR_H

#include "base/time/backoff.h"
#include "client/api/client.h"
#include "client/informer/cache.h"
#include "client/informer/watch_event.h"

enum { REFLECTOR_RV_MAX = 64 }; /* a resourceVersion is opaque; upstream's have 20 digits */

struct reflector_ops {
	/*
	 * This is the whole state. The objects in `state` may be taken out or referenced; it is
	 * emptied afterwards.
	 */
	void (*on_state)(void *arg, struct cache *state);
	/* ADDED, MODIFIED or DELETED; a reference is the callee's. */
	void (*on_change)(void *arg, enum watch_event_type type, struct cached *o);
	/* It lists, or watches, now. */
	void (*on_list)(void *arg);
	void (*on_watch)(void *arg);
};

enum reflector_state {
	REFLECTOR_STOPPED,
	REFLECTOR_LISTING,
	REFLECTOR_STREAMING, /* a watch that begins with the state, which is not complete */
	REFLECTOR_WATCHING,
	REFLECTOR_RESTING,
};

/* Fill the first part, leave the rest zero. */
struct reflector {
	struct client *client;
	struct resource resource;
	struct str ns, label_selector, field_selector;
	bool metadata_only, slim;
	const struct reflector_ops *ops;
	void *arg;

	enum reflector_state state;
	struct client_request request;
	struct loop_timer timer; /* ends a rest */
	struct backoff backoff;
	int64_t failed_at; /* ms: the last failure; 0: none */
	int64_t asked_at; /* ms: the present request */
	struct event_lines lines;
	struct cache partial; /* the state as far as it is known; while it is gathered */
	char *next_page; /* continue token, or NULL */
	struct cached_defaults defaults; /* of objects that come without a kind */
	char rv[REFLECTOR_RV_MAX]; /* up to where it has seen; "": nothing */
	struct error failure; /* code ERR_OK when it gets on */
	unsigned misses; /* watches in a row that failed before any event */
	uint64_t events; /* received, all told */
	uint64_t events_before; /* of the present watch */
	bool no_watch_list; /* the server refuses it */
	bool list_once; /* not WatchList, this time */
	bool rv_unavailable; /* the last version is gone, or unknown: ask for the newest */
	bool paged; /* a list was answered in pages although it need not: keep asking so */
	bool restate; /* what comes next is the state, not changes */
	bool whole; /* pages expired meanwhile: ask for all at once */
	bool too_large; /* of the last ERROR event */
};

void reflector_init(struct reflector *r);
void reflector_release(struct reflector *r);

/* Goes on from the last version, if any. */
void reflector_start(struct reflector *r);
void reflector_stop(struct reflector *r);

#endif
