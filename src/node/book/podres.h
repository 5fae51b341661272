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
 * that a pod holds (a device, a CPU, a block of memory, a device of a claim) remembers since when
 * it is held. With R the reader's revision and T the book's at the beginning of the catch-up,
 *	round one sends each pod that has given something back after R with what it holds since R
 *		or longer, and DELETED for those that are gone (tombstones);
 *	round two sends each pod that has changed after R with what it holds since T or longer,
 *		unless round one has said that already.
 * Whatever a reader then believes of a pod is a part of that pod's state at T (or at R and at T),
 * and one state never has a thing twice, so its sums never exceed the node's, after any message
 * and whatever changes meanwhile; what changed after T comes next. Nothing is kept per reader.
 * ADDED is said of pods that came after R, UPDATED of others. Pods that came after R are in round
 * one too, and may be told as DELETED though never as ADDED: the reader may know them from a List.
 *
 * A full state (send_initial, or a revision that cannot be resumed) is the second round alone,
 * with ADDED, ended by a message without a pod that has initial_end. A reader that believes
 * something already is first told to forget it: DELETED without a uid and without a pod.
 * Messages of a catch-up carry T-1, the last of them T.
 *
 * Of allocatable there is one state, so a catch-up is its present value and nothing needs to be
 * forgotten; the full state is that, too, then initial_end.
 *
 * Ring and tombstones are kept from the first reader or List on: a book that nobody asks costs
 * what its pods cost.
 * Threads: one at a time.
 */
#ifndef NODE_BOOK_PODRES_H
#define NODE_BOOK_PODRES_H

#include "base/core/bytes.h"
#include "base/core/str.h"
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
 * The pod's whole state; text is UTF-8, the uid not empty. False, and nothing is told, when it is
 * what the book has. A pod that gives something back and gets something at once is told in two
 * changes, the first without what it gives back and what it gets. A thing that moves from one of
 * its containers to another is neither. `first_main`: how many containers (init, sidecars) stand
 * before the main ones, which alone are in v1alpha1's List; 0: not known.
 */
bool podres_set_pod(struct podres *b, struct str uid, const Podresources__PodResources *state,
		    size_t first_main);

/* It is gone, with all that it held. False when the book did not have it. */
bool podres_drop_pod(struct podres *b, struct str uid);

/* The same for several at once: all that is given back, and all that are gone, come first. */
struct podres_entry {
	struct str uid;
	const Podresources__PodResources *state; /* NULL: it is gone */
	size_t first_main;
};
void podres_set_pods(struct podres *b, const struct podres_entry *v, size_t n);

/* `state->revision` is not looked at. Told as ADDED or DELETED when it only grew or shrank. */
bool podres_set_allocatable(struct podres *b, const Podresources__AllocatableResponse *state);

/* --- the present --------------------------------------------------------------------- */

/*
 * Answers, packed for gRPC, each with a reference of the caller's: List of v1 (pods as they came)
 * and of v1alpha1 (main containers and their plugins' devices, no topology), allocatable with the
 * revision of its last change, and one pod by name (the one that came last, should two have that
 * name), NULL when there is none. Lists are packed once per revision.
 */
struct bytes *podres_list(struct podres *b);
struct bytes *podres_list_alpha(struct podres *b);
struct bytes *podres_allocatable(struct podres *b);
struct bytes *podres_get(struct podres *b, struct str ns, struct str name);

/* Walks the pods, by uid; *at begins with empty. All is borrowed until a change. */
bool podres_next_pod(const struct podres *b, struct str *at_uid, struct str *ret_packed);

/* --- readers ------------------------------------------------------------------------- */

enum podres_kind { PODRES_PODS, PODRES_ALLOCATABLE };

/* Where a reader is; plain memory, owned by the reader. Its fields are book/cursor.c's. */
struct podres_cursor {
	enum podres_kind kind;
	uint8_t phase;
	bool resumable; /* it asked for one of our fields: it understands a reset */
	bool lost; /* see podres_read() */
	int64_t at; /* it has everything up to here; -1: it knows nothing */
	int64_t target; /* of a catch-up */
	uint64_t pos; /* pods up to this one, or tombstones up to this revision, are done */
};

/*
 * Without initial and after_revision (0: none): from now on, as the KEP says. A revision that
 * this book never gave, that lies within a catch-up, or that the tombstones do not reach: the full
 * state. After any other, send_initial adds nothing.
 */
void podres_begin(struct podres *b, struct podres_cursor *c, enum podres_kind kind,
		  bool send_initial, int64_t after_revision);

/*
 * The next message for this reader, packed for gRPC, with a reference of the caller's; NULL: it
 * has everything. When c->lost is set, it never will: it has missed what cannot be told to a
 * client that knows only the KEP's fields; end it so that it begins again.
 */
struct bytes *podres_read(struct podres *b, struct podres_cursor *c);

/* About how many messages are still to come; 0: it has everything. */
uint64_t podres_backlog(const struct podres *b, const struct podres_cursor *c);

DEFINE_CLEANUP(podres_free, struct podres *);

#endif
