/*
 * attach_claims - which claims have which devices, among pods that a kubelet has listed. Pure.
 *
 * A device is with one claim at a time, and may be with many pods of that claim. But claims with
 * adminAccess have devices that are others', and answers do not mark them. So two claims with one
 * device are doubtful when they are shown for the first time, and believed when they stay.
 */
#ifndef NODE_ATTACH_CLAIMS_H
#define NODE_ATTACH_CLAIMS_H

#include "base/core/arena.h"
#include "base/core/omap.h"
#include "podresources.pb-c.h"

struct attach_claims {
	struct omap uses; /* a device and a claim */
	struct arena arena;
};

void attach_claims_init(struct attach_claims *c);
void attach_claims_release(struct attach_claims *c);
void attach_claims_clear(struct attach_claims *c);

/* Notes all devices of claims that the pod has. */
void attach_claims_add(struct attach_claims *c, const Podresources__PodResources *pod);

/*
 * The first device of `pod` that is with several claims in `c`, and was with all of them neither
 * in `seen` nor in `book`. Returns its name, borrowed from `pod`, or NULL.
 */
const char *attach_claims_doubt(const struct attach_claims *c,
				const Podresources__PodResources *pod,
				const struct attach_claims *seen, const struct attach_claims *book);

/* Takes devices out of `pod` that are with other claims in `c` and were not in `book`. */
void attach_claims_strip(const struct attach_claims *c, Podresources__PodResources *pod,
			 const struct attach_claims *book);

static inline void attach_claims_release_cleanup(struct attach_claims *c)
{
	attach_claims_release(c);
}

#endif
