/*
 * ring - the recent events of one resource, in the order of revisions.
 *
 * Events lie in chunks: immutable once sealed, counted, shared by the state and
 * all lanes. A chunk holds what one commit changed, or a bounded piece of that. Chunks
 * are numbered without gaps (seq), so a position is a number and an index.
 * The ring's bound is in bytes that only it keeps alive; the oldest chunks go. Of
 * what is older than RING_FRESH_MS only RING_SMALL is kept, so that a resource
 * that changes a little all day does not fill its ring.
 * Threads: a ring and a span belong to one; chunks to nobody.
 */
#ifndef SERVER_CACHE_RING_H
#define SERVER_CACHE_RING_H

#include <stdatomic.h>

#include "api/object/object.h"
#include "base/core/vec.h"

enum {
	RING_FRESH_MS = 5 * 60 * 1000, /* as long as the store keeps the past */
	RING_SMALL = 1024 * 1024,
};

enum ring_type { RING_ADDED, RING_MODIFIED, RING_DELETED };

struct ring_event {
	int64_t revision;
	enum ring_type type;
	struct object *object; /* the new state; the last one at the deletion's revision */
	struct object *prev; /* what it replaced or deleted; NULL: nothing */
};

struct ring_chunk {
	atomic_uint refs;
	uint32_t n;
	uint64_t seq;
	int64_t last; /* revision of its last event */
	int64_t sealed; /* ms: the ring's `now` then */
	size_t weight; /* bytes that only the ring keeps alive, about */
	bool one_space; /* its events are all of one namespace */
	struct ring_event events[]; /* each holds a reference to its objects */
};

struct ring_chunk *ring_chunk_ref(struct ring_chunk *c);
void ring_chunk_unref(struct ring_chunk *c);

/* --- a run of chunks -------------------------------------------------------------- */

/* The chunks with numbers from `first` to before `end`; a reference to each. */
struct ring_span {
	struct ring_chunk **slots; /* a chunk's place is its number modulo cap */
	size_t cap; /* a power of two, or 0 */
	uint64_t first, end;
};

static inline struct ring_chunk *ring_span_at(const struct ring_span *s, uint64_t seq)
{
	return s->slots[seq & (s->cap - 1)];
}

/* Adds at the end or, with the number before `first`, at the front. Takes the reference over.
 * The first chunk of an empty span may have any number. */
void ring_span_add(struct ring_span *s, struct ring_chunk *c);

/* Drops the chunks before `seq`. */
void ring_span_trim(struct ring_span *s, uint64_t seq);

/* The number of the first chunk with an event after `revision`; `end` when there is none. */
uint64_t ring_span_find(const struct ring_span *s, int64_t revision);

/* Drops all; it goes on at `end`. */
void ring_span_clear(struct ring_span *s);
void ring_span_release(struct ring_span *s);

/* --- the ring --------------------------------------------------------------------- */

struct ring {
	struct ring_span span;
	int64_t oldest; /* every event after this revision is there */
	size_t weight, max;
	int64_t now; /* ms; its owner sets it before it adds, seals or trims */
	VEC(struct ring_event) open; /* not yet in a chunk */
	size_t open_text; /* bytes of their texts */
};

void ring_init(struct ring *r, size_t max);
void ring_release(struct ring *r);

/* Appends; takes both references over. May seal a chunk that is large enough. */
void ring_add(struct ring *r, const struct ring_event *event);

/* Puts what is open into a chunk. */
void ring_seal(struct ring *r);

/* Whether the oldest chunk is too much: the ring weighs too much, or the chunk is old. */
bool ring_has_surplus(const struct ring *r);

/* Drops such chunks, but none from `keep` on. */
void ring_trim(struct ring *r, uint64_t keep);

/* Forgets all: nothing before or at `revision` is known any more. */
void ring_restart(struct ring *r, int64_t revision);

#endif
