/*
 * podres - the book of pod resources: what PodResources lists and watches, and every reader's place
 * in it. Pure: no I/O, no clock.
 *
 * The book has the present state of each pod and of what the node could hand out, as packed
 * messages, and numbers every change with a revision. Its maker feeds it: the agent from the
 * assignment log, attach mode from a kubelet's answers. Readers pull; a reader is a cursor, not a
 * queue, so a slow one costs its cursor and delays nobody.
 *
 * Revisions. All of a book's changes, of pods and of allocatable, share one sequence of even
 * numbers that begins above what any earlier process of the same node used: so a revision of an
 * earlier one is known as such. An odd revision is a point within a catch-up, from which nothing
 * can be resumed but by the full state; compared with another it is right all the same (whoever
 * merges a List with events takes the events above the List's revision).
 *
 * What a reader gets. While it keeps up: one message per change, the same bytes for all, out of a
 * short ring. When it has fallen out of the ring, or resumes from before it: a catch-up. Each thing
 * that a pod holds (a device, a CPU, a block of memory, a device of a claim) remembers since when it
 * is held. With R the reader's revision and T the book's at the beginning of the catch-up,
 *	round one sends each pod of before R that has changed with what it holds since R or longer,
 *		and DELETED for those that are gone (tombstones);
 *	round two sends each changed pod with what it holds since T or longer.
 * Whatever a reader then believes of a pod is a part of that pod's state at T (or at R and at T),
 * and one state never has a thing twice, so its sums never exceed the node's, after any message
 * and whatever changes meanwhile; what changed after T comes next. Nothing is kept per reader.
 *
 * A full state (send_initial, or a revision that cannot be resumed) is the second round alone,
 * with ADDED, ended by a message without a pod that has initial_end. A reader that believes
 * something already is first told to forget it: DELETED without a uid and without a pod.
 *
 * Of allocatable there is one state, so a catch-up is its present value.
 * Threads: one at a time.
 */
#ifndef NODE_PODRES_H
#define NODE_PODRES_H

#include "base/bytes.h"
#include "base/str.h"
#include "podresources.pb-c.h"

struct podres;

/* `epoch`: where revisions begin, above all that earlier processes used; made even. */
struct podres *podres_new(int64_t epoch);
void podres_free(struct podres *b); /* NULL allowed; readers must be gone */

/* Told after each change; may read the book but not change it. One at most; NULL: nobody. */
void podres_listen(struct podres *b, void (*on_change)(void *arg), void *arg);

int64_t podres_revision(const struct podres *b);

/* --- changes ------------------------------------------------------------------------- */

/*
 * The pod's whole state. False, and nothing is told, when it is what the book has. A pod that
 * gives something back and gets something at once is told in two changes, the first without what
 * it gives back and what it gets.
 */
bool podres_set_pod(struct podres *b, struct str uid, const Podresources__PodResources *state);

/* It is gone, with all that it held. False when the book did not have it. */
bool podres_drop_pod(struct podres *b, struct str uid);

/* The same for several at once: all that is given back, and all that are gone, come first. */
struct podres_entry {
	struct str uid;
	const Podresources__PodResources *state; /* NULL: it is gone */
};
void podres_set_pods(struct podres *b, const struct podres_entry *v, size_t n);

/* `state->revision` is not looked at. Told as ADDED or DELETED when it only grew or shrank. */
bool podres_set_allocatable(struct podres *b, const Podresources__AllocatableResponse *state);

/* --- the present --------------------------------------------------------------------- */

/*
 * Answers, packed for gRPC, each with a reference of the caller's: List of v1 and of v1alpha1 (no
 * init containers that the alpha did not know, no topology), allocatable, and one pod by name (the
 * one that came last, should two have that name), NULL when there is none. Lists are packed once
 * per revision.
 */
struct bytes *podres_list(struct podres *b);
struct bytes *podres_list_alpha(struct podres *b);
struct bytes *podres_allocatable(struct podres *b);
struct bytes *podres_get(struct podres *b, struct str ns, struct str name);

/* Walks the pods, by uid; *at begins with empty. The packed PodResources, borrowed until a change. */
bool podres_next_pod(const struct podres *b, struct str *at_uid, struct str *ret_packed);

/* --- readers ------------------------------------------------------------------------- */

enum podres_kind { PODRES_PODS, PODRES_ALLOCATABLE };

/* Where a reader is; plain memory, owned by the reader. Its fields are podres.c's. */
struct podres_cursor {
	enum podres_kind kind;
	uint8_t phase;
	bool resumable; /* it asked for one of our fields: it understands a reset */
	bool lost; /* see podres_read() */
	int64_t at; /* it has everything up to here; -1: it knows nothing */
	int64_t target; /* of a catch-up */
	uint64_t pos; /* pods, or tombstones, up to this one are done in this round */
};

/*
 * Without initial and after_revision (0: none): from now on, as the KEP says. A revision that
 * this book never gave, that lies within a catch-up, or that the tombstones do not reach: the full
 * state.
 */
void podres_begin(const struct podres *b, struct podres_cursor *c, enum podres_kind kind,
		  bool send_initial, int64_t after_revision);

/*
 * The next message for this reader, packed for gRPC, with a reference of the caller's; NULL: it
 * has everything. When c->lost is set, it never will: it has missed what cannot be told to a
 * client that knows only the KEP's fields; end it so that it begins again.
 */
struct bytes *podres_read(struct podres *b, struct podres_cursor *c);

/* Changes that it has not been sent yet, at most; 0: it has everything. */
uint64_t podres_backlog(const struct podres *b, const struct podres_cursor *c);

#endif
