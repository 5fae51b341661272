/*
 * cluster_history - all that kubelets of a simulated cluster have ever given to a pod, to check
 * that nobody lists a pod with something that it never had.
 *
 * It hears of each change of the agents' own books by the linker's --wrap (meson.build), because
 * things come and go between two steps of a test.
 */
#ifndef SIM_CLUSTER_HISTORY_H
#define SIM_CLUSTER_HISTORY_H

#include "base/core/arena.h"
#include "podresources.pb-c.h"

void cluster_history_begin(void);
void cluster_history_release(void);

/*
 * The first thing that `pod` has there and no pod with this uid ever had, or, if the uid is empty,
 * no pod of that name. Returns its name, in `a`, or NULL.
 */
const char *cluster_history_contradicts(struct str uid, const Podresources__PodResources *pod,
					struct arena *a);

/* Calls `fn` for each card, CPU and device of a claim that the pod has; names live in `a`. */
void cluster_history_each(const Podresources__PodResources *pod, struct arena *a,
			  void (*fn)(void *arg, const char *thing, const char *claim), void *arg);

#endif
