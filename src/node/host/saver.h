/*
 * saver - writes state files in a thread: atomic, durable, the latest wins.
 *
 * saver_save() takes the whole new content of a file and returns at once. A thread writes a
 * temporary file, fsyncs, renames and fsyncs the folder (file_write_atomic). Content that was
 * replaced before its turn is never written. `done` is called on the loop when this content, or a
 * later one of the same file, is on disk or could not be written. A failure does not affect the
 * next save: if the disk was full and no longer is, the next save succeeds.
 *
 * A file is one header line and a body (saver_header.h). saver_load() checks all of it. A file that
 * is torn, foreign or of another kind is renamed to FILE.broken (FILE.broken.1, ..) and reported;
 * it is never fatal.
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
 * Replaces a file's content, atomically and durably. Called on the saver's thread. The default is
 * file_write_atomic() with mode 0600.
 */
typedef int saver_write(void *arg, const char *path, struct str content, struct error *err);

/* Zero means the default. */
struct saver_opts {
	/* No thread: writes on the loop, at the end of the turn. For simulated loops. */
	bool inline_write;
	/* For tests: a disk that fails. */
	saver_write *write;
	void *arg;
};

int saver_new(struct loop *l, struct saver **ret_saver, struct error *err);
int saver_new_with(struct loop *l, const struct saver_opts *opts, struct saver **ret_saver,
		   struct error *err);

/*
 * Writes pending content, then ends. `done`s that are still pending are not called. The loop must
 * run one more turn, or be freed. NULL allowed.
 */
void saver_free(struct saver *s);

/* `path`, `kind` and `body` are copied. `done` may be NULL. It is never called from within. */
void saver_save(struct saver *s, const char *path, const char *kind, unsigned version,
		struct str body, saver_done *done, void *arg);

/* Pending `done`s with this argument will not be called. For owners that are freed. */
void saver_forget(struct saver *s, const void *arg);

/* Number of files that wait or are being written. */
size_t saver_pending(const struct saver *s);

/*
 * Reads a file into `body`. Returns 1 if it exists, 0 if not. -ERR_CONFLICT: it was set aside, and
 * `err` says why and where it is now. -ERR_IO: it cannot be read. Removes temporary files that a
 * crash left beside it. Call it before the first save of that file.
 */
int saver_load(const char *path, const char *kind, unsigned version, struct buf *body,
	       struct error *err);

DEFINE_CLEANUP(saver_free, struct saver *);

#endif
