/*
 * volumes_impl - shared by the files of volumes.
 */
#ifndef NODE_VOLUMES_VOLUMES_IMPL_H
#define NODE_VOLUMES_VOLUMES_IMPL_H

#include "base/core/list.h"
#include "net/loop/loop.h"
#include "node/volumes/payload.h"
#include "node/volumes/volumes.h"

struct volumes {
	struct loop *loop;
	struct sources *sources;
	const struct log *log;
	char *root; /* real path of ROOT/pods */
	char *node_name, *host_ip, *cluster_domain, *hosts_file;
	int64_t cpu_milli, memory;
	struct list jobs;
	struct loop_timer trash; /* empties removed folders */
	bool plain_told; /* it was reported that API volumes are not in memory */
};

/* The kind of an entry of spec.volumes. */
enum volume_kind {
	VOLUME_EMPTY_DIR,
	VOLUME_HOST_PATH,
	VOLUME_CONFIG_MAP,
	VOLUME_SECRET,
	VOLUME_DOWNWARD,
	VOLUME_PROJECTED,
	VOLUME_OTHER,
};

enum volume_kind volume_kind(const struct json *volume);

/* Returns the entry of that name, or NULL. */
struct json *volume_named(const struct pod *pod, struct str name);

/* Its path on this machine: its folder, or the host's path. In `a`. */
const char *volume_path(const struct volumes *v, const struct pod *pod, const struct json *volume,
			struct arena *a);
const char *volume_pod_dir(const struct volumes *v, struct str uid, struct arena *a);

/* Whether this is a valid name for a single folder: of pods, volumes, containers. */
bool volume_is_plain(struct str name);

/* Sets up one volume with its files. */
int volume_set_up(struct volumes *v, const struct volume_context *c, const struct json *volume,
		  struct error *err);

/* Moves a folder of ROOT/pods away at once, and empties it in small steps. */
int volume_trash(struct volumes *v, const char *path, struct error *err);
/* Continues to empty folders that an earlier agent moved away. */
void volume_trash_begin(struct volumes *v);

/* Writes the pod's /etc/hosts; -ERR_IO. */
int volume_write_hosts(const struct volumes *v, const struct pod *pod,
		       const struct volumes_paths *paths, const char *path, struct error *err);

#endif
