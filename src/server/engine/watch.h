/*
 * watch - watches: cursors into the events of a resource.
 *
 * Each resource has one ring of events in the order of revisions, references
 * to the object and to what it replaced. A watcher is a position, a matcher and a
 * stream; being slow costs nothing but its position, and only the ring's bound in
 * bytes decides that it is too old (410 Expired as an ERROR event). Watchers are
 * found by what their selectors require (watch_index.h), not tested one by one. A
 * watcher is written once per commit batch; an event's text is made once per
 * form (JSON, version, Table) and shared by all watchers.
 *
 * With a selector, what starts to match is ADDED, what stops is DELETED.
 *
 * A lane is one I/O loop's part: it holds the loop's watchers and its view of
 * the rings, fed by messages from the state.
 */
#ifndef SERVER_ENGINE_WATCH_H
#define SERVER_ENGINE_WATCH_H

#include <stdatomic.h>

#include "api/object/object.h"
#include "api/schema/schema.h"
#include "api/selector/selector.h"
#include "api/table/table.h"

struct http_field;
struct http_stream;
struct lane;
struct state;

/* How events are shown. */
struct watch_form {
	enum { WATCH_JSON, WATCH_YAML, WATCH_TABLE, WATCH_PARTIAL } as;
	struct str table_version; /* of Table and PartialObjectMetadata: "v1" or "v1beta1" */
	enum table_include include;
	const struct schema_kind *kind; /* the version asked for */
	bool protobuf; /* frames instead of lines; of objects and partial ones */
	bool protobuf_failure; /* a Status that refuses the watch is protobuf */
};

struct watch_opts {
	const struct schema_kind *kind; /* of the path */
	struct str ns; /* empty: all */
	struct selector labels, fields;
	struct watch_form form;
	int64_t revision; /* begin after this; 0 with `initial`: any */
	bool initial; /* send the current state first, as ADDED */
	bool initial_end; /* sendInitialEvents: mark its end by a bookmark */
	bool bookmarks;
	/* Set when who watches may not go on; alive as long as the stream. NULL: never. */
	const atomic_bool *revoked;
	int64_t timeout_ms; /* > 0 */
	/* More fields of the response's head; alive as long as the stream. */
	const struct http_field *head;
	size_t nhead;
	/* The stream is over: for audit and metrics. Last callback; the stream may go. */
	void (*on_over)(void *arg);
	void *arg;
};

/*
 * Starts a watch on a stream whose request is complete and not yet answered;
 * answers it: 200 and events, or a Status (410 when the revision is too old, 504
 * when it lies in the future). Takes the stream's ops and data over. Selectors
 * are copied. On the stream's loop.
 */
void watch_start(struct state *st, size_t lane, struct http_stream *s,
		 const struct watch_opts *opts);

/* The server leaves: ends all watches in order and starts no more. On the state's loop. */
void watch_stop(struct state *st);

/* Ends the watches whose `revoked` is set by now. On the state's loop. */
void watch_end_revoked(struct state *st);

/* Ends the watch of a stream: its user may not go on. On the stream's loop. */
void watch_revoke(struct http_stream *s);

/* Open watches of all lanes. */
size_t watch_count(const struct state *st);

#endif
