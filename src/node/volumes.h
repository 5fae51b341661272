/*
 * volumes - a pod's volumes on this machine: made, kept fresh, removed.
 *
 * emptyDir (also in memory), hostPath with its types, configMap, secret, downwardAPI, projected with
 * service-account tokens. Below ROOT/pods/UID/volumes, laid out as kubelet does
 * (kubernetes.io~empty-dir/NAME, ..); files of the API are swapped at once behind a "..data" link.
 * Anything else is -ERR_UNIMPLEMENTED with a message that names volume and type.
 * Disk work is bounded by what the API allows and done on the loop; fsGroup and defaultMode are honoured.
 * Threads: the loop's.
 */
#ifndef NODE_VOLUMES_H
#define NODE_VOLUMES_H

#include "base/arena.h"
#include "base/error.h"
#include "node/pod.h"
#include "node/runtime.h"

struct log;
struct loop;
struct sources;
struct volumes;

struct volumes_opts {
	struct loop *loop;
	const char *root_dir;
	struct sources *sources;
	struct str node_name, host_ip;
	const struct log *log;
};

struct volumes *volumes_new(const struct volumes_opts *opts);
void volumes_free(struct volumes *v); /* NULL allowed */

typedef void volumes_done(void *arg, const struct error *err);

/* All of the pod's; again to refresh them. Failures may be tried again (a ConfigMap not there yet). */
void volumes_mount(struct volumes *v, struct pod *pod, volumes_done *done, void *arg);
/* Unmounts and removes ROOT/pods/UID. */
int volumes_unmount(struct volumes *v, struct str pod_uid, struct error *err);
/* Uids that have a folder: what an earlier agent may have left. */
size_t volumes_left(const struct volumes *v, struct arena *a, const struct str **ret_uids);

/*
 * The mounts of one container (volumeMounts with subPath, subPathExpr, readOnly, propagation), with the
 * termination message file and, without the host's network or with it, /etc/hosts as kubelet writes it. In `a`.
 */
struct volumes_paths {
	struct str hostname;
	const struct str *pod_ips;
	size_t npod_ips;
	const struct runtime_pairs *env; /* for subPathExpr */
	unsigned attempt;
};
int volumes_container(struct volumes *v, struct pod *pod, const struct json *container,
		      const struct volumes_paths *paths, struct arena *a,
		      struct runtime_mount **ret_mounts, size_t *ret_n, struct error *err);

#endif
