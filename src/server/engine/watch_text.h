/*
 * watch_text - encodes events in the form that a watch requested.
 *
 * The plain forms, JSON and protobuf in the storage version, are the object's own bytes and a few
 * bytes around them (lane_text.h). Every other form is made from the tree, once for all watches
 * of that form that get the event (struct watch_lines).
 */
#ifndef SERVER_ENGINE_WATCH_TEXT_H
#define SERVER_ENGINE_WATCH_TEXT_H

#include "base/core/bytes.h"
#include "server/cache/ring.h"
#include "server/engine/lane_text.h"
#include "server/engine/watch.h"

struct status_about;

/* The matching lane form; LANE_NONE if the form is not made of the object's own bytes. */
enum lane_form watch_form_lane(const struct watch_form *f);
bool watch_form_is_plain(const struct watch_form *f);

/*
 * The text of one event. `columns`: include the Table's column definitions, which only the first
 * event of a watch has. `now_ns`: wall clock, for ages.
 */
struct bytes *watch_text_event(const struct watch_form *f, enum ring_type type,
			       const struct object *o, bool columns, int64_t now_ns);

/* A bookmark; `initial_end` marks the end of the initial events. */
struct bytes *watch_text_bookmark(const struct watch_form *f, int64_t revision, bool initial_end,
				  bool columns, int64_t now_ns);

/* An ERROR event with a Status. */
struct bytes *watch_text_error(const struct watch_form *f, const struct error *err);

/* The content type of the stream; content type and body of a reply that rejects the watch. */
struct str watch_text_content_type(const struct watch_form *f);
struct str watch_text_failure_type(const struct watch_form *f);
struct bytes *watch_text_failure(const struct watch_form *f, const struct error *err,
				 const struct status_about *about);

/* --- shared lines ----------------------------------------------------------------- */

enum { WATCH_LINES = 8 };

/* Texts already made for one event, shared with later watches. Zero it first; release it. */
struct watch_lines {
	const struct ring_event *event;
	int64_t now_ns;
	/* The object that no longer matches, at the event's revision; or NULL. */
	struct object *gone;
	size_t n;
	struct {
		const struct watch_form *form;
		enum ring_type type;
		struct bytes *line;
	} v[WATCH_LINES];
};

/*
 * The object to show for this type: the event's object, or for one that no longer matches its
 * previous state.
 */
struct object *watch_lines_object(struct watch_lines *l, enum ring_type type);

/* A new reference to the line. */
struct bytes *watch_lines_get(struct watch_lines *l, const struct watch_form *f,
			      enum ring_type type);

void watch_lines_release(struct watch_lines *l);

#endif
