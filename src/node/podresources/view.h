/*
 * podres_view - what the assignment log says of a pod and of the node, as messages of PodResources.
 * Pure.
 *
 * A device is told once per NUMA node that it is near, as kubelet does; one without nodes, once
 * without a topology. What a plain init container has is told of it only as far as no other
 * container of the pod, a later init container included, has taken it over: what one container at a
 * time can have is told once per pod, so clients can add up. An init container that has nothing of
 * its own is left out; all other containers are told, whether or not they have anything.
 *
 * A device of a claim is told of every container that names the claim, or one of the device's
 * requests; if no container does, of the pod itself. A claim without devices, as before its
 * drivers have answered, is not told.
 *
 * The order is the log's: containers as in the pod, devices by resource and id, claims by their
 * name in the pod, their devices by driver, pool, device. So equal states are equal bytes.
 */
#ifndef NODE_PODRESOURCES_VIEW_H
#define NODE_PODRESOURCES_VIEW_H

#include "base/core/arena.h"
#include "node/assign/assign.h"
#include "podresources.pb-c.h"

struct health;

/*
 * In `a`, text included. NULL: the log has no such pod, or it has ended or is not admitted.
 * `pod` says which containers use which claims; NULL: not known yet, as after a restart, and any of
 * them may, so that nobody takes for free what the pod has.
 */
Podresources__PodResources *podres_view_pod(const struct assign *s, struct str pod_uid,
					    const struct pod *pod, struct arena *a);

/* Where its main containers begin: those before it are sidecars and init containers. */
size_t podres_view_first_main(const struct assign *s, struct str pod_uid,
			      const Podresources__PodResources *state);

/* Healthy devices of plugins, held or not; CPUs and memory that containers can have alone. */
Podresources__AllocatableResponse *podres_view_allocatable(const struct assign *s, struct arena *a);

/*
 * Adds the health of devices, as far as it is known: to a pod, and to allocatable, which gets the
 * devices of drivers that report health and are not Unhealthy, too.
 */
void podres_view_health(Podresources__PodResources *pod, const struct assign *s,
			const struct health *health, struct arena *a);
void podres_view_offers(Podresources__AllocatableResponse *m, const struct assign *s,
			const struct health *health, struct arena *a);

#endif
