/*
 * volume_dir - folders that volumes are made of: made, mounted, emptied. No link is ever followed
 * below a folder that containers may write to.
 */
#ifndef NODE_VOLUMES_DIR_H
#define NODE_VOLUMES_DIR_H

#include "base/core/error.h"
#include "base/core/str.h"

/*
 * The folder with all above it, those with this mode too (umask or not). One that is there is
 * left.
 */
int volume_dir_make(const char *path, unsigned mode, struct error *err);

/*
 * Removes whatever the path names, with all below it. What is mounted there is an error. Trees
 * may be as deep as they like. Not there is fine.
 */
int volume_dir_remove(const char *path, struct error *err);
/* The same of an entry of an open folder. */
int volume_dir_remove_at(int dir, const char *name, struct error *err);
/* Some of it, about `budget` entries at most: 1: there is more; 0: it is gone. */
int volume_dir_remove_some(int dir, const char *name, unsigned budget, struct error *err);

/* It is where something is mounted. */
bool volume_dir_is_mount(const char *path);

/*
 * Puts a tmpfs on the folder, unless something is mounted there already; `size` in bytes, 0: the
 * kernel's default. Never swapped out where the kernel can do that. sys_errno is EPERM or EACCES
 * when this process may not.
 */
int volume_dir_mount_tmpfs(const char *path, int64_t size, struct error *err);

/* Mounts what the descriptor (O_PATH) stands for at `target`, a folder or file made before. */
int volume_dir_bind(int fd, const char *target, struct error *err);

/* Unmounts all that is mounted at or below the path, which has no links in it. */
int volume_dir_unmount_below(const char *path, struct error *err);

/* What a pod's fsGroup makes of a file: its group, and group bits. No group (-1): nothing. */
struct volume_owner {
	int64_t group;
	bool readonly; /* g+r, else g+rw */
};
void volume_dir_own(int dir, const char *name, const struct volume_owner *o);

#endif
