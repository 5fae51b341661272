/*
 * watch_event - a watch's stream of bytes, cut into events.
 *
 * One JSON document per line: {"type":"ADDED","object":{..}}. Feeding takes pieces of
 * any size; a line that lies whole in one is not copied. Does no I/O.
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
	WATCH_EVENT_UNKNOWN, /* of a later version of the protocol */
};

struct watch_event {
	enum watch_event_type type;
	struct str object; /* JSON text */
};

/* Of one line, without its newline; pieces of it. -ERR_PROTOCOL when it is no event. */
int watch_event_parse(struct str line, struct watch_event *ret_event, struct error *err);

/* Of a bookmark's object: its resourceVersion, and whether the initial state ends here. */
int watch_event_bookmark(struct str object, struct str *ret_rv, bool *ret_initial_end,
			 struct error *err);

struct event_lines {
	struct buf rest; /* the beginning of a line */
};

void event_lines_init(struct event_lines *l);
void event_lines_release(struct event_lines *l);

/* Forgets what is incomplete: another stream begins. */
void event_lines_clear(struct event_lines *l);

/*
 * The next whole line of *piece, which moves on; empty lines are passed over. 1, or 0
 * when the piece is used up, its incomplete end kept. The line is borrowed until the next call.
 * -ERR_TOO_LARGE beyond CLIENT_EVENT_MAX.
 */
int event_lines_next(struct event_lines *l, struct str *piece, struct str *ret_line,
		     struct error *err);

#endif
