/*
 * pod_claims_gone - the uids of the last few hundred deleted objects.
 *
 * It saves a request to the server for most of them. It has a fixed size and forgets the oldest.
 */
#ifndef CONTROLLER_POD_CLAIMS_GONE_H
#define CONTROLLER_POD_CLAIMS_GONE_H

#include "base/core/list.h"
#include "base/core/map.h"

enum { POD_CLAIMS_GONE_MAX = 500 /* as upstream */ };

struct pod_claims_gone {
	struct map entries; /* by uid */
	struct list oldest_first;
};

void pod_claims_gone_init(struct pod_claims_gone *g);
void pod_claims_gone_release(struct pod_claims_gone *g);

void pod_claims_gone_add(struct pod_claims_gone *g, struct str uid); /* copied; empty: ignored */

/* Looking a uid up makes it the newest. */
bool pod_claims_gone_has(struct pod_claims_gone *g, struct str uid);

#endif
