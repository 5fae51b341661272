/*
 * saver - writes state files off the loop: a thread, atomic, durable, the latest wins.
 *
 * saver_save() hands over the whole new content of a file and returns at once. A thread writes a
 * temporary file, fsyncs, renames and fsyncs the folder (file_write_atomic); contents that were
 * replaced before their turn are never written. `done` comes on the loop when this content, or a
 * later one of the same file, is on the disk, or could not be written.
 *
 * A file is one line of header and a body: "devplane-state <kind> <version> <crc32 of body, hex>
 * <bytes of body>\n". saver_load() checks all of it. What is torn, foreign or of another kind is
 * renamed to FILE.broken (FILE.broken.1, ..) and reported, never fatal.
 */
#ifndef NODE_SAVER_H
#define NODE_SAVER_H

#include "base/buf.h"
#include "base/error.h"

struct loop;
struct saver;

typedef void saver_done(void *arg, const struct error *err);

int saver_new(struct loop *l, struct saver **ret_saver, struct error *err);

/* Writes what waits, then ends; `done`s that have not come are not called. NULL allowed. */
void saver_free(struct saver *s);

/* `body` is copied. `done` may be NULL. Never called from within. */
void saver_save(struct saver *s, const char *path, const char *kind, unsigned version,
		struct str body, saver_done *done, void *arg);

/* What waits or is being written. */
size_t saver_pending(const struct saver *s);

/*
 * Reads a file into `body`. 1: it is there; 0: there is none; -ERR_CONFLICT: it was set aside,
 * `err` says why and where it is now; -ERR_IO: it cannot be read.
 */
int saver_load(const char *path, const char *kind, unsigned version, struct buf *body,
	       struct error *err);

#endif
