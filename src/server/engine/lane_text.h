/*
 * lane_text - chunks of events as text, shared by all watches that get every event.
 *
 * The events of a chunk, each a JSON line or a protobuf frame, are joined into a few pieces. So a
 * watch of everything is sent one or two pieces per commit, whatever the number of events. Texts
 * are kept for slower watches, up to a limit in bytes, and can be made again at any time.
 */
#ifndef SERVER_ENGINE_LANE_TEXT_H
#define SERVER_ENGINE_LANE_TEXT_H

#include "api/codec/protobuf_frame.h"
#include "base/core/bytes.h"
#include "base/core/list.h"
#include "server/cache/ring.h"

struct lane_feed;

/* Forms that consist of the object's own bytes and a few bytes around them. */
enum lane_form {
	LANE_JSON,
	LANE_PROTOBUF,
	LANE_PARTIAL, /* PartialObjectMetadata v1 in protobuf */
	LANE_FORMS,
	LANE_NONE = LANE_FORMS,
};

struct lane_piece {
	struct bytes *text;
	uint32_t from, to; /* its events: from `from` up to, but not including, `to` */
};

struct lane_text {
	struct list link;
	const struct lane_feed *feed;
	enum lane_form form;
	uint64_t seq; /* of its chunk */
	size_t bytes;
	uint32_t n;
	struct lane_piece pieces[];
};

/* The texts that a lane keeps, newest first. */
struct lane_texts {
	struct list list;
	size_t bytes;
};

void lane_texts_init(struct lane_texts *t);
/* Drops the texts of a feed; NULL: of all feeds. */
void lane_texts_drop(struct lane_texts *t, const struct lane_feed *f);

/* The text of a chunk, made if it is not cached. Valid until the next call. */
struct lane_text *lane_texts_get(struct lane_texts *t, const struct lane_feed *f,
				 const struct ring_chunk *c, enum lane_form form);

/* --- one event -------------------------------------------------------------------- */

/* An event as it is sent: a head, the object's bytes, a tail. */
struct lane_line {
	struct str head; /* JSON: literal. Protobuf: empty, see `frame` */
	struct protobuf_frame frame;
	struct str body;
	struct bytes *owner; /* of the body, borrowed from the object; NULL: the body is literal */
	struct str tail; /* literal */
};

/* `kind` is the object's kind in the storage version, or any other version. */
struct lane_line lane_line_of(enum lane_form form, const struct schema_kind *kind,
			      enum ring_type type, const struct object *o);

/* The line's length in bytes; and the line written to `to`. Returns the end of the written text. */
size_t lane_line_size(const struct lane_line *l);
char *lane_line_put(const struct lane_line *l, char *to);

/* The event's type as text, such as ADDED. */
struct str lane_text_type(enum ring_type type);

/* The text before and after an object's JSON on a line. */
struct str lane_text_head(enum ring_type type);
#define LANE_TEXT_TAIL STR("}\n")

#endif
