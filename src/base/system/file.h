/* file - reads whole files with a limit, and replaces them atomically. */
#ifndef BASE_SYSTEM_FILE_H
#define BASE_SYSTEM_FILE_H

#include "base/core/buf.h"

/*
 * Appends the file's content, up to the buffer's limit (-ERR_TOO_LARGE). Returns -ERR_NOT_FOUND if
 * the file does not exist, else -ERR_IO. "-" is standard input.
 */
int file_read(const char *path, struct buf *content, struct error *err);

/*
 * Writes a file so that it always has either its old or its whole new content, even after a crash.
 * Its permissions never exceed `mode`. It is synced to disk when this returns.
 */
int file_write_atomic(const char *path, struct str content, unsigned mode, struct error *err);

/* The same for a file owned by another user and group; it never appears with the wrong owner. */
int file_write_atomic_for(const char *path, struct str content, unsigned mode, unsigned uid,
			  unsigned gid, struct error *err);

/*
 * Removes temporary files that were left in a folder by processes that died while they wrote files
 * with names "PREFIX*.json". Nobody else may be writing such files.
 */
void file_sweep(const char *folder, const char *prefix);

#endif
