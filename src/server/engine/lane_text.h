/*
 * lane_text - chunks as text, ready to be sent to everybody who takes all events.
 *
 * The events of a chunk, each a line of JSON or a frame of protobuf, joined into few
 * pieces: a watch that takes all is sent a piece or two per commit, whatever the number
 * of events. Texts are kept while slower watches may want them, up to a bound, and can
 * be made again at any time.
 */
#ifndef SERVER_ENGINE_LANE_TEXT_H
#define SERVER_ENGINE_LANE_TEXT_H

#include "api/codec/protobuf_frame.h"
#include "base/core/bytes.h"
#include "base/core/list.h"
#include "server/cache/ring.h"

struct lane_feed;

/* The forms that are an object's own bytes with something around them. */
enum lane_form {
	LANE_JSON,
	LANE_PROTOBUF,
	LANE_PARTIAL, /* PartialObjectMetadata v1 in protobuf */
	LANE_FORMS,
	LANE_NONE = LANE_FORMS,
};

struct lane_piece {
	struct bytes *text;
	uint32_t from, to; /* the events that it has: from, and before to */
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
/* Drops what is kept of a feed; NULL: of all. */
void lane_texts_drop(struct lane_texts *t, const struct lane_feed *f);

/* The text of a chunk, made when it is not there; valid until the next call. */
struct lane_text *lane_texts_get(struct lane_texts *t, const struct lane_feed *f,
				 const struct ring_chunk *c, enum lane_form form);

/* --- one event -------------------------------------------------------------------- */

/* An event as it is sent: a head, the object's bytes, a tail. */
struct lane_line {
	struct str head; /* of JSON: literal; of protobuf empty: see `frame` */
	struct protobuf_frame frame;
	struct str body;
	struct bytes *owner; /* of the body, borrowed from the object; or NULL: it is literal */
	struct str tail; /* literal */
};

/* `kind` is the object's in the storage version, or any other. */
struct lane_line lane_line_of(enum lane_form form, const struct schema_kind *kind,
			      enum ring_type type, const struct object *o);

/* Its length, and all of it written; returns where it ends. */
size_t lane_line_size(const struct lane_line *l);
char *lane_line_put(const struct lane_line *l, char *to);

/* The name of an event. */
struct str lane_text_type(enum ring_type type);

/* What stands around an object's JSON on a line. */
struct str lane_text_head(enum ring_type type);
#define LANE_TEXT_TAIL STR("}\n")

#endif
