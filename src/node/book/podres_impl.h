/*
 * podres_impl - the book from inside, for podres_*.c.
 */
#ifndef NODE_BOOK_PODRES_IMPL_H
#define NODE_BOOK_PODRES_IMPL_H

#include "base/core/omap.h"
#include "base/core/vec.h"
#include "node/book/podres.h"

enum {
	PODRES_KINDS = 2, /* of readers */
	PODRES_SCRATCH = 4096, /* on the stack: most pods' things find room */
};

/* A pod of the present. The revision of its birth is also its place among the others. */
struct podres_pod {
	struct str uid, ns, name; /* in `text` */
	int64_t born, changed;
	int64_t shrunk; /* it last gave something back; 0: never */
	int64_t newest; /* the highest of `since`; 0: it has nothing */
	int64_t *since; /* since when each thing is held, in the order of book/leaf.h */
	struct bytes *event; /* its last */
	struct str state; /* the packed PodResources within it */
	size_t first_main;
	char text[];
};

/* Something of the past: an event, or a pod that is gone, with the event that said so. */
struct podres_past {
	int64_t revision;
	struct bytes *event;
	/* Only of pods that are gone. */
	int64_t born, shrunk;
	struct str uid, names; /* within the event; the latter a packed PodResources */
};

/* The last ones, in order. No memory is taken before the first. */
struct podres_ring {
	struct podres_past *v;
	uint32_t first, n, cap;
	uint32_t max; /* of n */
	size_t bytes; /* of the events; at most PODRES_EVENT_BYTES, or n is 1 */
	int64_t floor; /* it has everything that came after this revision */
};

void podres_ring_init(struct podres_ring *r, uint32_t max, int64_t floor);
void podres_ring_release(struct podres_ring *r);

/* Takes over the reference to the event. The oldest make room. */
void podres_ring_push(struct podres_ring *r, const struct podres_past *past);

/* The first that came after the revision, or NULL; borrowed until the next push. */
const struct podres_past *podres_ring_after(const struct podres_ring *r, int64_t revision);

struct podres {
	int64_t epoch, revision;
	int64_t changed[PODRES_KINDS]; /* last, by kind of reader */
	bool asked; /* somebody reads, or has a List: the past is kept */
	struct omap by_uid;
	VEC(struct podres_pod *) pods; /* as they were born */
	struct podres_ring events[PODRES_KINDS]; /* by kind of reader */
	struct podres_ring gone;
	struct bytes *list, *list_alpha; /* of this revision, or NULL */
	struct bytes *allocatable; /* the answer; NULL: nothing was set yet */
	struct bytes *allocatable_fields; /* what its events have in common; NULL likewise */
	void (*on_change)(void *arg);
	void *arg;
};

/* The first pod that was born after the revision: its index, or pods.n. */
size_t podres_pod_after(const struct podres *b, int64_t born);

/* A change begins: the next revision, and what was packed of the last is forgotten. */
int64_t podres_change(struct podres *b, enum podres_kind kind);

/* It is made: readers find the event, and who listens hears. Takes a reference if it is kept. */
void podres_tell(struct podres *b, enum podres_kind kind, struct bytes *event);

/* The present state of allocatable as an event. */
struct bytes *podres_allocatable_event(const struct podres *b, Podresources__Action action,
				       int64_t revision);

/* An event that only says that the full state has been told. */
struct bytes *podres_allocatable_end(int64_t revision);

#endif
