/*
 * taint_book - which pods must leave their devices, and when.
 *
 * A pod must go when a device of a claim that is allocated, and reserved for it, has a taint
 * with effect NoExecute, of its slice or of a DeviceTaintRule, that the claim does not tolerate
 * for ever: as soon as the least tolerationSeconds have passed since the taint was added, or at
 * once where there is no toleration. Only times that objects have count, so whoever begins
 * anew comes to the same result.
 *
 * Whoever owns the book says what changed after the inventory has it, and settles. Work is
 * done for what a change concerns: a claim for its devices, a slice for its tainted ones, a
 * rule for those that it selects. Objects are asked for when a taint leads to them; the book itself
 * keeps only claims and pods that are concerned.
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
	bool evicted; /* done: it only has to be seen going */
};

enum taint_change {
	TAINT_POD_DUE, /* it must go, at another time or for other reasons than before */
	TAINT_POD_SPARED, /* it need not any more */
	TAINT_POD_LEFT, /* it is gone, or going */
};

struct taint_book_opts {
	/* Brought up to date by the owner before the book is told of a change. */
	struct inventory *inventory;
	/* The object, in the arena or outliving it; NULL: there is none. */
	const struct json *(*claim)(void *arg, struct str key, struct arena *a);
	const struct json *(*pod)(void *arg, struct str key, struct arena *a);
	/* From taint_book_settle(); the pod is borrowed. Must not change the book. */
	void (*told)(void *arg, const struct taint_pod *pod, enum taint_change change);
	void *arg;
};

struct taint_book *taint_book_new(const struct taint_book_opts *opts);
void taint_book_free(struct taint_book *b);

/* Something changed, came or went; slices also when another generation is the newest. */
void taint_book_slice(struct taint_book *b, struct str name);
void taint_book_rule(struct taint_book *b, struct str name);
void taint_book_claim(struct taint_book *b, struct str key); /* allocation, reservedFor */
void taint_book_pod(struct taint_book *b, struct str key);

/* Works out what all of that means. */
void taint_book_settle(struct taint_book *b);

/* NULL: it may stay. */
const struct taint_pod *taint_book_find(const struct taint_book *b, struct str key);

/* The pod with this uid has been deleted. */
void taint_book_evicted(struct taint_book *b, struct str key, struct str uid);

struct taint_counts {
	int64_t pods, namespaces; /* that must go, or would have to */
	int64_t published, allocated; /* devices that a rule selects */
};

/* Pods that have to go for a rule, among other reasons, and have not been deleted yet. */
void taint_book_pending(const struct taint_book *b, struct str rule, struct taint_counts *ret);

/* What would be, did the rule have the effect NoExecute. Costs what the rule selects. */
void taint_book_foresee(struct taint_book *b, struct str rule, struct taint_counts *ret);

#endif
