/*
 * watch_text - events as lines of text, in the form that a watch asked for.
 *
 * The plain forms, JSON and protobuf of the storage version, are an object's own bytes
 * with something around them (lane_text.h). Every other form is made from the tree, once
 * for all watches of that form that are told of an event (struct watch_lines).
 */
#ifndef SERVER_ENGINE_WATCH_TEXT_H
#define SERVER_ENGINE_WATCH_TEXT_H

#include "base/core/bytes.h"
#include "server/cache/ring.h"
#include "server/engine/lane_text.h"
#include "server/engine/watch.h"

struct status_about;

/* The form as an object's own bytes; LANE_NONE when it is not. */
enum lane_form watch_form_lane(const struct watch_form *f);
bool watch_form_is_plain(const struct watch_form *f);
bool watch_form_equal(const struct watch_form *a, const struct watch_form *b);

/*
 * The line of one event. `columns`: a Table's column definitions, which are only in the
 * first of a watch. `now_ns`: wall clock, for ages.
 */
struct bytes *watch_text_event(const struct watch_form *f, enum ring_type type,
			       const struct object *o, bool columns, int64_t now_ns);

/* A bookmark; `initial_end` marks the end of the initial events. */
struct bytes *watch_text_bookmark(const struct watch_form *f, int64_t revision, bool initial_end,
				  bool columns, int64_t now_ns);

/* An ERROR event with a Status. */
struct bytes *watch_text_error(const struct watch_form *f, const struct error *err);

/* Content types of the stream, and of the answer that refuses to open it; and its body. */
struct str watch_text_content_type(const struct watch_form *f);
struct str watch_text_failure_type(const struct watch_form *f);
struct bytes *watch_text_failure(const struct watch_form *f, const struct error *err,
				 const struct status_about *about);

/* --- shared lines ----------------------------------------------------------------- */

enum { WATCH_LINES = 8 };

/* What was made for one event, for the watches that come after. Zero it; release it. */
struct watch_lines {
	const struct ring_event *event;
	int64_t now_ns;
	struct object *gone; /* what stopped to match, at the event's revision; or NULL */
	size_t n;
	struct {
		const struct watch_form *form;
		enum ring_type type;
		struct bytes *line;
	} v[WATCH_LINES];
};

/* The object that an event of this type shows: of the event, or as it was before. */
struct object *watch_lines_object(struct watch_lines *l, enum ring_type type);

/* A new reference to the line. */
struct bytes *watch_lines_get(struct watch_lines *l, const struct watch_form *f,
			      enum ring_type type);

void watch_lines_release(struct watch_lines *l);

#endif
