/*
 * mirror - decides what happens to the mirror pod of a static pod. Pure.
 *
 * As with kubelet, the mirror pod is created when the Node exists, is deleted when it differs from
 * the static pod or someone deletes it (and is then created again), and goes after the static pod
 * has ended. Nothing changes while an older version of the static pod still ends.
 */
#ifndef NODE_MANIFESTS_MIRROR_H
#define NODE_MANIFESTS_MIRROR_H

#include "node/pod/pod.h"

enum mirror_action { MIRROR_KEEP, MIRROR_CREATE, MIRROR_DELETE };

struct mirror_view {
	const struct pod *wanted; /* NULL: the file is gone */
	bool ending; /* a pod of that name, which is not the wanted one, still runs */
	const struct pod *mirror; /* as the API shows it, or NULL */
	bool synced; /* the node's pods of the API are known */
	/* The Node exists and is not being deleted. */
	bool node_exists;
};

enum mirror_action mirror_decide(const struct mirror_view *v);

#endif
