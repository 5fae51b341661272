/*
 * attach_hooks - additions to the states that enter the book, such as the health of devices. Pure.
 *
 * A hook gets a copy. The kubelet's own state, with which later replies are compared, stays as it
 * is.
 */
#ifndef NODE_ATTACH_HOOKS_H
#define NODE_ATTACH_HOOKS_H

#include "base/core/arena.h"
#include "node/book/podres.h"

/* Each function may be NULL. */
struct attach_hooks {
	/* The pod's new state, to be changed; additions may be in `a`. NULL: the pod has left. */
	void (*on_pod)(void *arg, struct str uid, Podresources__PodResources *state,
		       struct arena *a);
	void (*on_allocatable)(void *arg, Podresources__AllocatableResponse *state,
			       struct arena *a);
	void *arg;
};

/* Returns the entries with the additions, in `a`; `v` itself if there is no hook. */
const struct podres_entry *attach_hooks_pods(const struct attach_hooks *h,
					     const struct podres_entry *v, size_t n,
					     struct arena *a);
/* The same for allocatable. */
const Podresources__AllocatableResponse *attach_hooks_allocatable(
	const struct attach_hooks *h, const Podresources__AllocatableResponse *state,
	struct arena *a);
/* The pod has left the book. */
void attach_hooks_gone(const struct attach_hooks *h, struct str uid);

#endif
