/* Upstream: tryReconcileMirrorPods() and the clean-up of orphaned mirror pods. */
#include "node/manifests/mirror.h"

#include "node/manifests/manifest.h"

enum mirror_action mirror_decide(const struct mirror_view *v)
{
	if (v->ending)
		return MIRROR_KEEP;
	if (v->mirror) {
		if (v->wanted && !v->mirror->deleting &&
		    str_eq(pod_manifest_mirror_hash(v->mirror), v->wanted->uid))
			return MIRROR_KEEP;
		return MIRROR_DELETE;
	}
	return v->wanted && v->synced && v->node_exists ? MIRROR_CREATE : MIRROR_KEEP;
}
