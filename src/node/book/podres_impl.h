/*
 * podres_impl - the book from inside; for the files of src/node/book only.
 */
#ifndef NODE_BOOK_PODRES_IMPL_H
#define NODE_BOOK_PODRES_IMPL_H

#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "node/book/podres.h"

enum {
	PODRES_KINDS = 2, /* number of reader kinds */
	PODRES_SCRATCH = 4096, /* bytes on the stack; enough for most pods */
};

/* A present pod. Pods are ordered by the revision at which they appeared (`born`). */
struct podres_pod {
	struct str uid, ns, name; /* in `text` */
	int64_t born, changed;
	int64_t shrunk; /* revision of its last release; 0: never */
	int64_t newest; /* the highest of `since`; 0: the pod holds nothing */
	int64_t *since; /* revision since which each thing is held, numbered as in book/leaf.h */
	struct bytes *event; /* its last event */
	struct str state; /* the packed PodResources within it */
	size_t first_main;
	char text[];
};

/* A past event, or a pod that is gone with its DELETED event. */
struct podres_past {
	int64_t revision;
	struct bytes *event;
	/* Only for pods that are gone. */
	int64_t born, shrunk;
	struct str uid, names; /* within the event; `names` is a packed PodResources */
};

/* The most recent ones, in order. Allocates nothing before the first push. */
struct podres_ring {
	struct podres_past *v;
	uint32_t first, n, cap;
	uint32_t max; /* limit of n */
	size_t bytes; /* total size of events; at most PODRES_EVENT_BYTES, unless n is 1 */
	int64_t floor; /* the ring has everything after this revision */
};

void podres_ring_init(struct podres_ring *r, uint32_t max, int64_t floor);
void podres_ring_release(struct podres_ring *r);

/* Takes over the reference to the event. The oldest entries are dropped to make room. */
void podres_ring_push(struct podres_ring *r, const struct podres_past *past);

/* Returns the first entry after the revision, or NULL; borrowed until the next push. */
const struct podres_past *podres_ring_after(const struct podres_ring *r, int64_t revision);

struct podres {
	int64_t epoch, revision;
	int64_t changed[PODRES_KINDS]; /* revision of the last change, by kind of reader */
	bool asked; /* there was a reader or List: keep past events */
	struct omap by_uid;
	VEC(struct podres_pod *) pods; /* by `born` */
	struct podres_ring events[PODRES_KINDS]; /* by kind of reader */
	struct podres_ring gone;
	struct bytes *list, *list_alpha; /* for this revision, or NULL */
	struct bytes *allocatable; /* the reply; NULL: nothing was set yet */
	/* the part shared by all its events; NULL: nothing was set yet */
	struct bytes *allocatable_fields;
	void (*on_change)(void *arg);
	void *arg;
	void (*on_refresh)(void *arg);
	void *refresh_arg;
};

/* Returns the index of the first pod born after the revision, or pods.n. */
size_t podres_pod_after(const struct podres *b, int64_t born);

/* Begins a change: returns the next revision, and drops packed lists of the last one. */
int64_t podres_change(struct podres *b, enum podres_kind kind);

/*
 * Publishes a change: stores the event for readers and calls the listener. Takes a reference if
 * stored.
 */
void podres_tell(struct podres *b, enum podres_kind kind, struct bytes *event);

/* The present state of allocatable as an event. */
struct bytes *podres_allocatable_event(const struct podres *b, Podresources__Action action,
				       int64_t revision);

/* An event that marks the end of the full state. */
struct bytes *podres_allocatable_end(int64_t revision);

#endif
