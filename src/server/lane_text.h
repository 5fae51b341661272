/*
 * lane_text - chunks as text, ready to be sent to everybody who takes all events.
 *
 * The events of a chunk, each a line of JSON, joined into few pieces: a watch that
 * takes all is sent a piece or two per commit, whatever the number of events. Texts
 * are kept while slower watches may want them, up to a bound, and can be made
 * again at any time.
 */
#ifndef SERVER_LANE_TEXT_H
#define SERVER_LANE_TEXT_H

#include "base/bytes.h"
#include "base/list.h"
#include "server/ring.h"

struct lane_feed;

struct lane_piece {
	struct bytes *text;
	uint32_t from, to; /* the events that it has: from, and before to */
};

struct lane_text {
	struct list link;
	const struct lane_feed *feed;
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
				 const struct ring_chunk *c);

/* What stands around an object's JSON on a line. */
struct str lane_text_head(enum ring_type type);
#define LANE_TEXT_TAIL STR("}\n")

#endif
