/*
 * podres - the book of pod resources: the state that PodResources lists and watches. Pure.
 *
 * Implements the PodResources watches of the KEP "Enabling Watch support in Kubelet endpoint for
 * pod resource assignment". The book stores, as packed messages, the present state of each pod and
 * of the node's allocatable resources. Each change gets a revision. The agent fills the book from
 * the assignment log; attach mode fills it from a kubelet's replies. Readers pull. A reader is a
 * cursor, not a queue: a slow reader costs its cursor and delays nobody.
 *
 * Revisions. Changes of pods and of allocatable share one sequence of even numbers. It begins above
 * the revisions of all earlier processes of the node, so the book recognizes an older process's
 * revision. An odd revision is a point within a catch-up. A reader cannot resume from it; it gets
 * the full state instead. But odd revisions still compare correctly with others: a client that
 * merges a List with events applies the events above the List's revision.
 *
 * Messages. A reader that keeps up gets one message per change from a short ring, the same bytes
 * for all readers. A reader that fell out of the ring, or resumes from before it, gets a catch-up.
 * The book knows for each thing that a pod holds (a device, a CPU, a memory block, a claim device)
 * since which revision it is held. Let R be the reader's revision and T the book's at the start of
 * the catch-up:
 *
 *	Round one sends each pod that released something after R, with the things that it holds
 *	since R or longer, and DELETED for pods that are gone (tombstones).
 *	Round two sends each pod that changed after R, with the things that it holds since T or
 *	longer, unless round one sent the same.
 *
 * So the state that a reader has for a pod is always part of that pod's state at T (or at R and at
 * T). No thing occurs twice in one state, so the reader's sums never exceed the node's, after any
 * message and whatever changes meanwhile. Changes after T come next. Nothing is stored per reader.
 * Pods that came after R are sent as ADDED, others as UPDATED. Round one also has pods that came
 * after R. They may be sent as DELETED without an ADDED before, because the reader may know them
 * from a List.
 *
 * The full state (for send_initial, or a revision that cannot be resumed) is round two alone, with
 * ADDED, followed by a message without a pod that has initial_end. If the reader has a state
 * already, it first gets a reset: DELETED without a uid and without a pod. Messages of a catch-up
 * carry revision T-1, the last one T.
 *
 * Allocatable is a single state, so a catch-up is its present value and no reset is needed. The
 * full state is the same value, then initial_end.
 *
 * Ring and tombstones are kept only after the first reader or List, so an unused book needs memory
 * only for its pods.
 * Threads: one at a time. No I/O, no clock.
 */
#ifndef NODE_BOOK_PODRES_H
#define NODE_BOOK_PODRES_H

#include "base/core/bytes.h"
#include "base/core/str.h"
#include "podresources.pb-c.h"

struct podres;

/* `epoch`: the first revision, above all that earlier processes used; made even. */
struct podres *podres_new(int64_t epoch);
void podres_free(struct podres *b); /* NULL allowed; readers must be gone */

/* Sets the callback for changes. It may read the book but not change it. NULL: no callback. */
void podres_listen(struct podres *b, void (*on_change)(void *arg), void *arg);

int64_t podres_revision(const struct podres *b);

/* --- changes ------------------------------------------------------------------------- */

/*
 * Sets the pod's whole state; text is UTF-8, the uid not empty. Returns false, without an event, if
 * nothing changed. If a pod releases and gains things at once, there are two changes: the first
 * without the released and the gained things. A thing that moves between the pod's containers is
 * neither released nor gained. `first_main`: number of containers (init, sidecars) before the main
 * ones; v1alpha1's List has only the main ones. 0: not known.
 */
bool podres_set_pod(struct podres *b, struct str uid, const Podresources__PodResources *state,
		    size_t first_main);

/* The pod is gone, with everything it held. Returns false if the book did not have it. */
bool podres_drop_pod(struct podres *b, struct str uid);

/* The same for several pods: everything released, and all deletions, come first. */
struct podres_entry {
	struct str uid;
	const Podresources__PodResources *state; /* NULL: the pod is gone */
	size_t first_main;
};
void podres_set_pods(struct podres *b, const struct podres_entry *v, size_t n);

/* Ignores `state->revision`. The event is ADDED or DELETED if the state only grew or shrank. */
bool podres_set_allocatable(struct podres *b, const Podresources__AllocatableResponse *state);

/*
 * Allocatable is large, and may be set some time after it changed. `fn` sets it at once if a change
 * waits; a server calls podres_refresh() before a reader asks for it.
 */
void podres_on_refresh(struct podres *b, void (*fn)(void *arg), void *arg);
void podres_refresh(struct podres *b);

/* --- the present state --------------------------------------------------------------- */

/*
 * Replies, packed for gRPC; the caller gets a reference to each.
 * - podres_list(): List of v1, pods in the order of arrival. Packed once per revision.
 * - podres_list_alpha(): List of v1alpha1: main containers with plugin devices, without topology.
 *   Packed once per revision.
 * - podres_allocatable(): with the revision of its last change.
 * - podres_get(): one pod by name, or NULL. If two pods have the name, the one that came last.
 */
struct bytes *podres_list(struct podres *b);
struct bytes *podres_list_alpha(struct podres *b);
struct bytes *podres_allocatable(struct podres *b);
struct bytes *podres_get(struct podres *b, struct str ns, struct str name);

/* Walks the pods by uid; start with an empty *at_uid. Everything is borrowed until a change. */
bool podres_next_pod(const struct podres *b, struct str *at_uid, struct str *ret_packed);

/* --- readers ------------------------------------------------------------------------- */

enum podres_kind { PODRES_PODS, PODRES_ALLOCATABLE };

/* A reader's position; plain memory, owned by the reader. Only book/cursor.c uses its fields. */
struct podres_cursor {
	enum podres_kind kind;
	uint8_t phase;
	bool resumable; /* the client set one of our fields, so it understands a reset */
	bool lost; /* see podres_read() */
	int64_t at; /* it has everything up to this revision; -1: it has nothing */
	int64_t target; /* revision T of a catch-up */
	uint64_t pos; /* pods up to this one, or tombstones up to this revision, are sent */
};

/*
 * Without send_initial and after_revision (0), the reader gets changes from now on, as the KEP
 * specifies. It gets the full state for a revision that this book never issued, that lies within a
 * catch-up, or that is older than the tombstones. For any other revision, send_initial adds
 * nothing.
 */
void podres_begin(struct podres *b, struct podres_cursor *c, enum podres_kind kind,
		  bool send_initial, int64_t after_revision);

/*
 * Returns the reader's next message, packed for gRPC; the caller gets a reference. Returns NULL if
 * the reader is up to date. If c->lost is set, the reader can never catch up: it missed changes
 * that cannot be expressed in the KEP's fields alone. End the stream, so that the client starts
 * again.
 */
struct bytes *podres_read(struct podres *b, struct podres_cursor *c);

/* Approximate number of messages still to come; 0: up to date. */
uint64_t podres_backlog(const struct podres *b, const struct podres_cursor *c);

DEFINE_CLEANUP(podres_free, struct podres *);

#endif
