/*
 * volume_dir - creates, mounts and empties folders of volumes.
 *
 * Below a folder that containers may write to, links are never followed.
 */
#ifndef NODE_VOLUMES_DIR_H
#define NODE_VOLUMES_DIR_H

#include "base/core/error.h"
#include "base/core/str.h"

/*
 * Creates the folder and missing parents, all with this mode (regardless of umask). An existing
 * folder is left as it is.
 */
int volume_dir_make(const char *path, unsigned mode, struct error *err);

/*
 * Removes the path and everything below it, at any depth. A mount there is an error. A missing path
 * is fine.
 */
int volume_dir_remove(const char *path, struct error *err);
/* The same for an entry of an open folder. */
int volume_dir_remove_at(int dir, const char *name, struct error *err);
/* Removes about `budget` entries at most. Returns 1 if there is more, 0 if it is gone. */
int volume_dir_remove_some(int dir, const char *name, unsigned budget, struct error *err);

/* Whether something is mounted on this path. */
bool volume_dir_is_mount(const char *path);

/*
 * Mounts a tmpfs on the folder, unless something is mounted there already. `size` in bytes; 0: the
 * kernel's default. It is never swapped out if the kernel supports that. sys_errno is EPERM or
 * EACCES if this process lacks the permission.
 */
int volume_dir_mount_tmpfs(const char *path, int64_t size, struct error *err);

/* Mounts the file or folder behind the descriptor (O_PATH) at `target`, which must exist. */
int volume_dir_bind(int fd, const char *target, struct error *err);

/* Unmounts everything at or below the path, which must not contain links. */
int volume_dir_unmount_below(const char *path, struct error *err);

/* Group and group bits that a pod's fsGroup gives to a file. -1: unchanged. */
struct volume_owner {
	int64_t group;
	bool readonly; /* g+r, else g+rw */
};
void volume_dir_own(int dir, const char *name, const struct volume_owner *o);

#endif
