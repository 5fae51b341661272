/*
 * watch_event - splits the byte stream of a watch into events.
 *
 * Each line is one JSON document: {"type":"ADDED","object":{..}}. The caller feeds pieces of any
 * size; a line that lies entirely within one piece is not copied. Does no I/O.
 */
#ifndef CLIENT_INFORMER_WATCH_EVENT_H
#define CLIENT_INFORMER_WATCH_EVENT_H

#include "base/core/buf.h"

enum watch_event_type {
	WATCH_EVENT_ADDED,
	WATCH_EVENT_MODIFIED,
	WATCH_EVENT_DELETED,
	WATCH_EVENT_BOOKMARK,
	WATCH_EVENT_ERROR, /* the object is a Status */
	WATCH_EVENT_UNKNOWN, /* from a later version of the protocol */
};

struct watch_event {
	enum watch_event_type type;
	struct str object; /* JSON text */
};

/*
 * Parses one line without its newline; borrows from it. Returns -ERR_PROTOCOL if it is not an
 * event.
 */
int watch_event_parse(struct str line, struct watch_event *ret_event, struct error *err);

/*
 * The same for cached_new(), which finds the end of an object: that of a change is not looked for
 * if the type comes first, as servers send it. `object` then is the rest of the line.
 */
int watch_event_begin(struct str line, struct watch_event *ret_event, struct error *err);

/* Reads a bookmark's object: its resourceVersion, and whether the initial state ends here. */
int watch_event_bookmark(struct str object, struct str *ret_rv, bool *ret_initial_end,
			 struct error *err);

struct event_lines {
	struct buf rest; /* the beginning of a line */
};

void event_lines_init(struct event_lines *l);
void event_lines_release(struct event_lines *l);

/* Drops an incomplete line, before another stream begins. */
void event_lines_clear(struct event_lines *l);

/*
 * Returns the next whole line of *piece and advances *piece; skips empty lines. Returns 1, or 0 if
 * the piece is used up (its incomplete end is kept), or -ERR_TOO_LARGE if a line exceeds
 * CLIENT_EVENT_MAX. The line is borrowed until the next call.
 */
int event_lines_next(struct event_lines *l, struct str *piece, struct str *ret_line,
		     struct error *err);

#endif
