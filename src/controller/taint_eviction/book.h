/*
 * taint_book - which pods must leave their devices, and when.
 *
 * A pod must go if a claim that is allocated and reserved for it has a device with a taint of
 * effect NoExecute, and the claim does not tolerate the taint for ever. The taint may come from
 * the slice or from a DeviceTaintRule. Without a toleration the pod must go at once, otherwise
 * when the shortest tolerationSeconds have passed since the taint was added. Only times stored in
 * objects count, so a restarted controller gets the same result.
 *
 * The owner first updates the inventory, then reports the changes to the book, then settles. The
 * work depends on the change: the devices of a claim, the tainted devices of a slice, or the
 * devices that a rule selects. The book looks up objects when a taint affects them, and keeps only
 * affected claims and pods.
 *
 * No I/O, no clock.
 */
#ifndef CONTROLLER_TAINT_EVICTION_BOOK_H
#define CONTROLLER_TAINT_EVICTION_BOOK_H

#include "base/json/json.h"
#include "controller/taint_eviction/eviction.h"

struct inventory;
struct taint_book;

/* A pod that must go. */
struct taint_pod {
	struct str key; /* "namespace/name" */
	struct str uid;
	struct eviction *eviction;
	bool evicted; /* deleted: only its removal is still to be observed */
};

enum taint_change {
	TAINT_POD_DUE, /* it must go, at another time or for other reasons than before */
	TAINT_POD_SPARED, /* it may stay now */
	TAINT_POD_LEFT, /* it is deleted, or being deleted */
};

struct taint_book_opts {
	/* The owner updates it before it reports a change to the book. */
	struct inventory *inventory;
	/* Return the object, in the arena or outliving it; NULL: not found. */
	const struct json *(*claim)(void *arg, struct str key, struct arena *a);
	const struct json *(*pod)(void *arg, struct str key, struct arena *a);
	/* Called from taint_book_settle(); the pod is borrowed. Must not change the book. */
	void (*told)(void *arg, const struct taint_pod *pod, enum taint_change change);
	void *arg;
};

struct taint_book *taint_book_new(const struct taint_book_opts *opts);
void taint_book_free(struct taint_book *b);

/*
 * Report that an object was created, changed or deleted. Report slices also if their pool's newest
 * generation changed.
 */
void taint_book_slice(struct taint_book *b, struct str name);
void taint_book_rule(struct taint_book *b, struct str name);
void taint_book_claim(struct taint_book *b, struct str key); /* allocation, reservedFor */
void taint_book_pod(struct taint_book *b, struct str key);

/* Computes the effects of all reported changes. */
void taint_book_settle(struct taint_book *b);

/* NULL: it may stay. */
const struct taint_pod *taint_book_find(const struct taint_book *b, struct str key);

/* The pod with this uid has been deleted. */
void taint_book_evicted(struct taint_book *b, struct str key, struct str uid);

struct taint_counts {
	int64_t pods, namespaces; /* pods that must go, or would have to */
	int64_t published, allocated; /* devices that the rule selects */
};

/* Pods that must go because of a rule (possibly among other reasons) and are not deleted yet. */
void taint_book_pending(const struct taint_book *b, struct str rule, struct taint_counts *ret);

/* Counts as if the rule had the effect NoExecute. Costs what the rule selects. */
void taint_book_foresee(struct taint_book *b, struct str rule, struct taint_counts *ret);

#endif
