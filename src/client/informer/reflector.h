/*
 * reflector - lists and watches one collection, for ever. The engine of an informer.
 *
 * It first gets the state: by WatchList, or by a list in pages if the server rejects that. Then it
 * gets changes from a watch, which it resumes from the last resourceVersion whenever it ends. If
 * that version is too old (410), it gets the state again. After a failure it backs off (0.8 s,
 * doubled up to 30 s, with jitter); the back-off resets after two minutes without a failure.
 * Threads: the client's loop.
 */
#ifndef CLIENT_INFORMER_REFLECTOR_H
#define CLIENT_INFORMER_REFLECTOR_H

#include "base/time/backoff.h"
#include "client/api/client.h"
#include "client/informer/cache.h"
#include "client/informer/watch_event.h"

enum { REFLECTOR_RV_MAX = 64 }; /* a resourceVersion is opaque; those of upstream have 20 digits */

struct reflector_ops {
	/*
	 * The whole state. The callee may take objects out of `state` or reference them; it is
	 * emptied afterwards.
	 */
	void (*on_state)(void *arg, struct cache *state);
	/* ADDED, MODIFIED or DELETED. The callee owns one reference. */
	void (*on_change)(void *arg, enum watch_event_type type, struct cached *o);
	/* A list, or a watch, was started. */
	void (*on_list)(void *arg);
	void (*on_watch)(void *arg);
};

enum reflector_state {
	REFLECTOR_STOPPED,
	REFLECTOR_LISTING,
	REFLECTOR_STREAMING, /* a watch that begins with the state, which is still incomplete */
	REFLECTOR_WATCHING,
	REFLECTOR_RESTING,
};

/* Fill the first part and leave the rest zero. */
struct reflector {
	struct client *client;
	struct resource resource;
	struct str ns, label_selector, field_selector;
	bool metadata_only;
	struct cached_defaults defaults; /* what its objects leave out; no kind */
	const struct reflector_ops *ops;
	void *arg;

	enum reflector_state state;
	struct client_request request;
	struct loop_timer timer; /* ends a rest */
	struct backoff backoff;
	int64_t failed_at; /* ms: the last failure; 0: none */
	int64_t asked_at; /* ms: when the current request was sent */
	struct event_lines lines;
	struct cache partial; /* the state received so far, until it is complete */
	char *next_page; /* continue token, or NULL */
	char rv[REFLECTOR_RV_MAX]; /* the newest version seen; "": none */
	struct error failure; /* code ERR_OK: no failure */
	unsigned misses; /* consecutive watches that failed before any event */
	uint64_t events; /* received in total */
	uint64_t events_before; /* `events` when the current watch began */
	bool no_watch_list; /* the server does not support it */
	bool list_once; /* WatchList was forbidden: list this time */
	bool rv_unavailable; /* the last version is gone or unknown: request the newest */
	bool paged; /* the server answered in pages unasked: keep requesting pages */
	bool restate; /* get the state next, not changes */
	bool whole; /* a page token expired: request everything at once */
	bool too_large; /* the last ERROR event was ResourceVersionTooLarge */
};

void reflector_init(struct reflector *r);
void reflector_release(struct reflector *r);

/* Resumes from the last version, if any. */
void reflector_start(struct reflector *r);
void reflector_stop(struct reflector *r);

#endif
