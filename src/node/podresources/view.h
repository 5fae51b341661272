/*
 * podres_view - PodResources messages for a pod and for the node, from the assignment log. Pure.
 *
 * As in kubelet, a device is listed once per NUMA node that it is near; without nodes, once without
 * a topology. Resources of a plain init container are listed for it only if no other container of
 * the pod, later init containers included, has taken them over. So a device that containers use one
 * after another is listed once per pod, and clients can add up. An init container that has nothing
 * of its own is left out; all other containers are listed, even if they have nothing.
 *
 * A claim device is listed for every container that names the claim or one of the device's
 * requests. If no container does, it is listed for the pod itself. A claim without devices, as
 * before its drivers have replied, is not listed.
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
 * In `a`, text included. Returns NULL if the pod is unknown, has ended, or is not admitted. `pod`
 * shows which containers use which claims. If it is NULL (not known yet, after a restart), every
 * container may use every claim, so that clients do not count the pod's devices as free.
 */
Podresources__PodResources *podres_view_pod(const struct assign *s, struct str pod_uid,
					    const struct pod *pod, struct arena *a);

/* Index of its first main container; those before it are sidecars and init containers. */
size_t podres_view_first_main(const struct assign *s, struct str pod_uid,
			      const Podresources__PodResources *state);

/* Healthy plugin devices, held or not, and CPUs and memory that can be assigned exclusively. */
Podresources__AllocatableResponse *podres_view_allocatable(const struct assign *s, struct arena *a);

/*
 * Adds known device health (KEP-4680): to a pod, and to allocatable. Allocatable gets the devices
 * of drivers that report health and are not Unhealthy. Entries about other devices stay.
 */
void podres_view_health(Podresources__PodResources *pod, const struct assign *s,
			const struct health *health, struct arena *a);
void podres_view_offers(Podresources__AllocatableResponse *m, const struct assign *s,
			const struct health *health, struct arena *a);

#endif
