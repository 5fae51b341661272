/*
 * watch - watches: cursors into the events of a resource.
 *
 * Each resource has one ring of events in revision order. An event refers to the object and to
 * the object that it replaced. A watcher is a position, a filter and a stream. A slow watcher
 * costs only its position; it expires (410 Expired as an ERROR event) when the ring, which is
 * limited in bytes, has dropped its position. Watchers are found by what their selectors require
 * (watch_index.h), not tested one by one. A watcher is written to once per commit batch. The text
 * of an event is made once per form (JSON, version, Table) and shared by all watchers of that
 * form.
 *
 * With a selector, an object that begins to match is ADDED, and one that no longer matches is
 * DELETED.
 *
 * A lane is one I/O loop's part: it holds the loop's watchers and its view of the rings, and gets
 * messages from the state.
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

/* How events are encoded. */
struct watch_form {
	enum { WATCH_JSON, WATCH_YAML, WATCH_TABLE, WATCH_PARTIAL } as;
	struct str table_version; /* for Table and PartialObjectMetadata: "v1" or "v1beta1" */
	enum table_include include;
	const struct schema_kind *kind; /* in the requested version */
	bool protobuf; /* frames instead of lines; for objects and PartialObjectMetadata */
	bool protobuf_failure; /* a Status that rejects the watch is sent as protobuf */
};

struct watch_opts {
	const struct schema_kind *kind; /* of the path */
	struct str ns; /* empty: all */
	struct selector labels, fields;
	struct watch_form form;
	int64_t revision; /* begin after this revision; 0 with `initial`: any */
	bool initial; /* send the current state first, as ADDED */
	bool initial_end; /* sendInitialEvents: mark the end of the initial events by a bookmark */
	bool bookmarks;
	/*
	 * Set when the user has lost the right to watch; alive as long as the stream. NULL:
	 * never.
	 */
	const atomic_bool *revoked;
	int64_t timeout_ms; /* > 0 */
	/*
	 * Additional header fields of the response, also of one that rejects the watch; alive as
	 * long as the stream.
	 */
	const struct http_field *head;
	size_t nhead;
	/* The response has begun, with this status. Not called if the stream ends before that. */
	void (*on_started)(void *arg, int status);
	/*
	 * The stream has ended: for audit and metrics. This is the last callback; the stream may
	 * be freed.
	 */
	void (*on_over)(void *arg);
	void *arg;
};

/*
 * Starts a watch on a stream whose request is complete and not yet answered. Replies with 200 and
 * events, or with a Status: 410 if the revision is too old, 504 if it is in the future. Takes
 * over the stream's ops and data. Selectors are copied. Call it on the stream's loop.
 */
void watch_start(struct state *st, size_t lane, struct http_stream *s,
		 const struct watch_opts *opts);

/* The server shuts down: ends all watches in order and starts no new ones. On the state's loop. */
void watch_stop(struct state *st);

/* Ends the watches whose `revoked` is set. On the state's loop. */
void watch_end_revoked(struct state *st);

/* Ends the watch of a stream, because its user lost the right to watch. On the stream's loop. */
void watch_revoke(struct http_stream *s);

/* Number of open watches in all lanes. */
size_t watch_count(const struct state *st);

#endif
