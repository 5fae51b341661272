/*
 * volumes - a pod's volumes on this machine: made, kept fresh, removed.
 *
 * emptyDir (also in memory), hostPath with its types, configMap, secret, downwardAPI, projected
 * with service-account tokens. Below ROOT/pods/UID/volumes, laid out as kubelet does
 * (kubernetes.io~empty-dir/NAME, ..); files of the API are swapped at once behind a "..data"
 * link. Anything else is -ERR_UNIMPLEMENTED with a message that names volume and type.
 *
 * Secrets, fields, projected files and emptyDir in memory lie on a tmpfs, which takes the right
 * to mount. An agent without it puts files of the API into plain folders that only its user can
 * enter (the pod's folder is 0750), and refuses emptyDir in memory. A subPath is bound to where
 * it was found before the container starts, so that nobody can put a link there meanwhile;
 * without that right the container gets the path that was found.
 *
 * Disk work is bounded by what the API allows and done on the loop; fsGroup and defaultMode are
 * honoured.
 * Threads: the loop's.
 */
#ifndef NODE_VOLUMES_VOLUMES_H
#define NODE_VOLUMES_VOLUMES_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct log;
struct loop;
struct sources;
struct volumes;

/* Text is copied. */
struct volumes_opts {
	struct loop *loop;
	const char *root_dir;
	struct sources *sources;
	struct str node_name, host_ip;
	/* For /etc/hosts of pods with a subdomain; empty: cluster.local. */
	struct str cluster_domain;
	const char *etc_dir; /* whose hosts pods on the host's network get; NULL: /etc */
	const struct log *log; /* or NULL */
};

struct volumes *volumes_new(const struct volumes_opts *opts);
/* What is mounted stays so; `done`s that have not come are not called. NULL allowed. */
void volumes_free(struct volumes *v);

/* What the node has to give, for resourceFieldRef and the size of memory volumes; 0: not known. */
void volumes_set_allocatable(struct volumes *v, int64_t cpu_milli, int64_t memory);

typedef void volumes_done(void *arg, const struct error *err);

/*
 * All of the pod's; again to refresh them. Failures may be tried again (a ConfigMap not there
 * yet); the message is upstream's: MountVolume.SetUp failed for volume "NAME" : .. . What was
 * there stays. Not from within; once.
 */
void volumes_mount(struct volumes *v, struct pod *pod, volumes_done *done, void *arg);
/*
 * Unmounts and removes ROOT/pods/UID; what is in it goes bit by bit in later turns. Not there is
 * fine.
 */
int volumes_unmount(struct volumes *v, struct str pod_uid, struct error *err);
/* Uids that have a folder: what an earlier agent may have left. */
size_t volumes_left(const struct volumes *v, struct arena *a, const struct str **ret_uids);

/*
 * The mounts of one container (volumeMounts with subPath, subPathExpr, readOnly, propagation),
 * with /etc/hosts as kubelet writes it (when the pod has an address, or the host's network) and
 * the termination message file (ROOT/pods/UID/containers/NAME/ATTEMPT, made empty). In `a`.
 */
struct volumes_paths {
	struct str hostname; /* when the pod does not say; empty: the pod's name */
	const struct str *pod_ips;
	size_t npod_ips;
	const struct runtime_pairs *env; /* for subPathExpr */
	unsigned attempt;
};
int volumes_container(struct volumes *v, struct pod *pod, const struct json *container,
		      const struct volumes_paths *paths, struct arena *a,
		      struct runtime_mount **ret_mounts, size_t *ret_n, struct error *err);

DEFINE_CLEANUP(volumes_free, struct volumes *);

#endif
