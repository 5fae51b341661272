/*
 * saver - writes state files off the loop: a thread, atomic, durable, the latest wins.
 *
 * saver_save() hands over the whole new content of a file and returns at once. A thread writes a
 * temporary file, fsyncs, renames and fsyncs the folder (file_write_atomic); contents that were
 * replaced before their turn are never written. `done` comes on the loop when this content, or a
 * later one of the same file, is on the disk, or could not be written. A failure says nothing
 * about the next save: a disk that was full and is not any more is written again.
 *
 * A file is one line of header and a body (saver_header.h). saver_load() checks all of it. What
 * is torn, foreign or of another kind is renamed to FILE.broken (FILE.broken.1, ..) and reported,
 * never fatal.
 * Threads: the loop's; saver_load() may be called on any.
 */
#ifndef NODE_HOST_SAVER_H
#define NODE_HOST_SAVER_H

#include "base/core/buf.h"
#include "base/core/error.h"

struct loop;
struct saver;

typedef void saver_done(void *arg, const struct error *err);

/*
 * Puts a content where the file is, at once and durably. On the saver's thread. The default is
 * file_write_atomic() with mode 0600.
 */
typedef int saver_write(void *arg, const char *path, struct str content, struct error *err);

/* Zero means the default. */
struct saver_opts {
	/* No thread: written on the loop, at the end of the turn. For simulated loops. */
	bool inline_write;
	/* For tests: a disk that fails. */
	saver_write *write;
	void *arg;
};

int saver_new(struct loop *l, struct saver **ret_saver, struct error *err);
int saver_new_with(struct loop *l, const struct saver_opts *opts, struct saver **ret_saver,
		   struct error *err);

/*
 * Writes what waits, then ends; `done`s that have not come are not called. The loop must run one
 * more turn, or be freed. NULL allowed.
 */
void saver_free(struct saver *s);

/* `path`, `kind` and `body` are copied. `done` may be NULL. Never called from within. */
void saver_save(struct saver *s, const char *path, const char *kind, unsigned version,
		struct str body, saver_done *done, void *arg);

/* `done`s of this argument that have not come will not be called: their owner goes. */
void saver_forget(struct saver *s, const void *arg);

/* Files that wait or are being written. */
size_t saver_pending(const struct saver *s);

/*
 * Reads a file into `body`. 1: it is there; 0: there is none; -ERR_CONFLICT: it was set aside,
 * `err` says why and where it is now; -ERR_IO: it cannot be read. Temporary files that a crash
 * left beside it are removed. Before the first save of that file.
 */
int saver_load(const char *path, const char *kind, unsigned version, struct buf *body,
	       struct error *err);

DEFINE_CLEANUP(saver_free, struct saver *);

#endif
