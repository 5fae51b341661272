/*
 * volumes - a pod's volumes on this machine: creates, refreshes and removes them.
 *
 * Supports emptyDir (also in memory), hostPath with its types, configMap, secret, downwardAPI, and
 * projected with service account tokens. They are below ROOT/pods/UID/volumes, in kubelet's layout
 * (kubernetes.io~empty-dir/NAME, ..). Files from the API are replaced atomically behind a "..data"
 * link. Any other type is -ERR_UNIMPLEMENTED with a message that names volume and type.
 *
 * Secrets, fields, projected files and emptyDir in memory are on a tmpfs, which needs the
 * permission to mount. Without it, the agent puts files from the API into plain folders that only
 * its user can enter (the pod's folder is 0750), and rejects emptyDir in memory. A subPath is
 * bind-mounted as it was found before the container starts, so that nobody can replace it by a link
 * meanwhile; without the permission the container gets the path that was found.
 *
 * Disk work is done on the loop and bounded by the API's limits. fsGroup and defaultMode are
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
	const char *etc_dir; /* pods on the host's network get its hosts file; NULL: /etc */
	const struct log *log; /* or NULL */
};

struct volumes *volumes_new(const struct volumes_opts *opts);
/* Mounts stay; pending `done`s are not called. NULL allowed. */
void volumes_free(struct volumes *v);

/* The node's allocatable, for resourceFieldRef and the size of memory volumes; 0: unknown. */
void volumes_set_allocatable(struct volumes *v, int64_t cpu_milli, int64_t memory);

typedef void volumes_done(void *arg, const struct error *err);

/*
 * Sets up all volumes of the pod; call it again to refresh them. `done` is called once, not from
 * within. Failures may be retried (a ConfigMap that does not exist yet) and leave existing volumes
 * as they were. The message is upstream's: MountVolume.SetUp failed for volume "NAME" : .. .
 */
void volumes_mount(struct volumes *v, struct pod *pod, volumes_done *done, void *arg);
/*
 * Unmounts and removes ROOT/pods/UID. Its content is removed in small steps in later turns. A
 * missing folder is fine.
 */
int volumes_unmount(struct volumes *v, struct str pod_uid, struct error *err);
/* Uids that have a folder; an earlier agent may have left them. */
size_t volumes_left(const struct volumes *v, struct arena *a, const struct str **ret_uids);

/*
 * The mounts of one container: volumeMounts with subPath, subPathExpr, readOnly, propagation;
 * /etc/hosts as kubelet writes it (if the pod has an address, or the host's network); and the
 * termination message file (ROOT/pods/UID/containers/NAME/ATTEMPT, created empty). In `a`.
 */
struct volumes_paths {
	struct str hostname; /* if the pod sets none; empty: the pod's name */
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
