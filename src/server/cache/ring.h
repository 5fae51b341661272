/*
 * ring - the recent events of one resource, in revision order.
 *
 * Events are in chunks, which are immutable once sealed, reference-counted, and shared by the
 * state and all lanes. A chunk holds the changes of one commit, or a limited part of them. Chunks
 * are numbered without gaps (seq), so a position is a chunk number and an index. The ring is
 * limited in bytes that it alone keeps alive; beyond that it drops the oldest chunks. Of chunks
 * older than RING_FRESH_MS it keeps only RING_SMALL bytes, so that a resource with a few changes
 * all day does not fill its ring.
 *
 * Threads: a ring and a span belong to one thread; chunks may be shared.
 */
#ifndef SERVER_CACHE_RING_H
#define SERVER_CACHE_RING_H

#include <stdatomic.h>

#include "api/object/object.h"
#include "base/core/vec.h"

enum {
	RING_FRESH_MS = 5 * 60 * 1000, /* as long as the store keeps history */
	RING_SMALL = 1024 * 1024,
};

enum ring_type { RING_ADDED, RING_MODIFIED, RING_DELETED };

struct ring_event {
	int64_t revision;
	enum ring_type type;
	/* The new state; for a deletion the last state, at the deletion's revision. */
	struct object *object;
	struct object *prev; /* the object that it replaced or deleted; NULL: none */
};

struct ring_chunk {
	atomic_uint refs;
	uint32_t n;
	uint64_t seq;
	int64_t last; /* revision of its last event */
	int64_t sealed; /* ms: the ring's `now` at that time */
	size_t weight; /* approximate bytes that only the ring keeps alive */
	bool one_space; /* all its events are in one namespace */
	struct ring_event events[]; /* each holds a reference to its objects */
};

struct ring_chunk *ring_chunk_ref(struct ring_chunk *c);

/* --- a run of chunks -------------------------------------------------------------- */

/* The chunks from number `first` up to, but not including, `end`; a reference to each. */
struct ring_span {
	struct ring_chunk **slots; /* a chunk's index is its number modulo cap */
	size_t cap; /* a power of two, or 0 */
	uint64_t first, end;
};

static inline struct ring_chunk *ring_span_at(const struct ring_span *s, uint64_t seq)
{
	return s->slots[seq & (s->cap - 1)];
}

/*
 * Adds a chunk at the end or, if it has the number before `first`, at the front. Takes over the
 * reference. The first chunk of an empty span may have any number.
 */
void ring_span_add(struct ring_span *s, struct ring_chunk *c);

/* Drops the chunks before `seq`. */
void ring_span_trim(struct ring_span *s, uint64_t seq);

/* The number of the first chunk with an event after `revision`; `end` if not found. */
uint64_t ring_span_find(const struct ring_span *s, int64_t revision);

/* Drops all chunks; the next one has the number `end`. */
void ring_span_clear(struct ring_span *s);
void ring_span_release(struct ring_span *s);

/* --- the ring --------------------------------------------------------------------- */

struct ring {
	struct ring_span span;
	int64_t oldest; /* every event after this revision is in the ring */
	size_t weight, max;
	int64_t now; /* ms; the owner sets it before it adds, seals or trims */
	VEC(struct ring_event) open; /* events that are not yet in a chunk */
	size_t open_text; /* bytes of their texts */
};

void ring_init(struct ring *r, size_t max);
void ring_release(struct ring *r);

/* Appends an event; takes over both references. May seal the chunk if it is large enough. */
void ring_add(struct ring *r, const struct ring_event *event);

/* Moves the open events into a chunk. */
void ring_seal(struct ring *r);

/* Whether the oldest chunk should go: the ring exceeds its limit, or the chunk is old. */
bool ring_has_surplus(const struct ring *r);

/* Drops such chunks, but not from `keep` on. */
void ring_trim(struct ring *r, uint64_t keep);

/* Drops everything: the ring has no events up to `revision`. */
void ring_restart(struct ring *r, int64_t revision);

#endif
