/*
 * manifest_folder - follows a folder of manifests, or a single file.
 *
 * Every regular file counts, also one behind a symbolic link; names that begin with a dot, folders,
 * and special files do not. A notification causes a look a moment later, and there is a look every
 * `period_ms`, so a lost notification only delays a report. A file is read again when its inode,
 * size or times have changed.
 *
 * A file counts as removed only when two looks, a second apart, miss it: editors replace files. If
 * the folder or a file cannot be read, the last content stays. A missing folder has no files.
 * Threads: the loop's.
 */
#ifndef NODE_MANIFESTS_FOLDER_H
#define NODE_MANIFESTS_FOLDER_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct manifest_folder;

struct manifest_folder_opts {
	struct loop *loop;
	const char *path; /* a folder or a file */
	int64_t period_ms; /* between two looks; 0: 20 s, upstream's default */
	/* A file is new or has changed. Files that a look finds are reported in byte order. */
	void (*on_file)(void *arg, struct str path, struct str text);
	void (*on_gone)(void *arg, struct str path);
	/* The folder or a file cannot be read. Called once until it can be read, or is gone. */
	void (*on_problem)(void *arg, struct str path, const struct error *err);
	void *arg;
};

/* Starts with manifest_folder_start(). */
struct manifest_folder *manifest_folder_new(const struct manifest_folder_opts *opts);
void manifest_folder_free(struct manifest_folder *f); /* NULL allowed */

/* Looks for the first time, before it returns, and goes on by itself. */
void manifest_folder_start(struct manifest_folder *f);

/* Looks now. */
void manifest_folder_look(struct manifest_folder *f);

/* Whether the files are known: a look could read the folder, or the folder is missing. */
bool manifest_folder_known(const struct manifest_folder *f);

#endif
