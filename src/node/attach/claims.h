/*
 * attach_claims - which claims have which devices, among pods that a kubelet has listed. Pure.
 *
 * A device belongs to one claim at a time, and may be used by many pods of that claim. But claims
 * with adminAccess use devices of other claims, and replies do not mark them. So if a device first
 * appears with two claims, that is doubtful; if it stays so, it is accepted.
 */
#ifndef NODE_ATTACH_CLAIMS_H
#define NODE_ATTACH_CLAIMS_H

#include "base/core/arena.h"
#include "base/ordered/omap.h"
#include "podresources.pb-c.h"

struct attach_claims {
	struct omap uses; /* pairs of a device and a claim */
	struct arena arena;
};

void attach_claims_init(struct attach_claims *c);
void attach_claims_release(struct attach_claims *c);
void attach_claims_clear(struct attach_claims *c);

/* Adds all claim devices of the pod. */
void attach_claims_add(struct attach_claims *c, const Podresources__PodResources *pod);

/*
 * Returns the name, borrowed from `pod`, of its first device that has several claims in `c` but did
 * not have all of them in `seen` or in `book`. Returns NULL if there is no such device.
 */
const char *attach_claims_doubt(const struct attach_claims *c,
				const Podresources__PodResources *pod,
				const struct attach_claims *seen, const struct attach_claims *book);

/* Removes from `pod` devices that have other claims in `c` and were not in `book`. */
void attach_claims_strip(const struct attach_claims *c, Podresources__PodResources *pod,
			 const struct attach_claims *book);

static inline void attach_claims_release_cleanup(struct attach_claims *c)
{
	attach_claims_release(c);
}

#endif
