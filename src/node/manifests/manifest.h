/*
 * manifest - turns the text of a manifest file into a static pod. Pure.
 *
 * The API layer decodes the text (YAML or JSON, one Pod), sets the defaults and validates the pod,
 * exactly as the API server does for a new pod. As with kubelet, the pod is then named
 * NAME-NODENAME, is bound to the node, gets a toleration of every NoExecute taint, and has the
 * annotations kubernetes.io/config.source, config.hash and config.seen. A pod that refers to API
 * objects is rejected.
 *
 * The uid is a hash of the decoded manifest, the node's name and the file's path. So it changes
 * with the content, but not with comments or the order of members, and is the same after a restart
 * of the agent. A uid in the manifest is ignored.
 */
#ifndef NODE_MANIFESTS_MANIFEST_H
#define NODE_MANIFESTS_MANIFEST_H

#include "api/schema/gates.h"
#include "base/core/random.h"
#include "node/pod/pod.h"

#define MANIFEST_SOURCE "kubernetes.io/config.source"
#define MANIFEST_HASH   "kubernetes.io/config.hash"
#define MANIFEST_SEEN   "kubernetes.io/config.seen"
#define MANIFEST_MIRROR "kubernetes.io/config.mirror"

struct manifest_input {
	struct str text, path, node_name;
	const struct gates *gates;
	int64_t now_ns; /* wall clock */
};

/*
 * Returns the pod, with pod->is_static set. Warnings (unknown or repeated fields, deprecated ones)
 * are appended to `warnings`, separated by "; ". -ERR_BAD_REQUEST, -ERR_INVALID or -ERR_FORBIDDEN.
 */
int pod_manifest_read(const struct manifest_input *in, struct pod **ret_pod, struct buf *warnings,
		      struct error *err);

/*
 * The object to create in the API for a static pod: its copy with the annotation of a mirror pod,
 * owned by the Node. In `a`.
 */
struct json *pod_manifest_mirror(struct arena *a, const struct pod *pod, struct str node_name,
				 struct str node_uid);

/* The value of the annotation that marks a mirror pod; p is NULL for other pods. */
struct str pod_manifest_mirror_hash(const struct pod *pod);

#endif
