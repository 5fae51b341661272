/*
 * file - whole files: read with a limit, replaced at once.
 */
#ifndef BASE_SYSTEM_FILE_H
#define BASE_SYSTEM_FILE_H

#include "base/core/buf.h"

/*
 * Appends the file's content; the buffer's limit bounds it (-ERR_TOO_LARGE).
 * -ERR_NOT_FOUND when there is no such file, else -ERR_IO. "-" is standard input.
 */
int file_read(const char *path, struct buf *content, struct error *err);

/*
 * Writes a file so that it has either its old or its whole new content,
 * whatever happens, and never wider permissions than `mode`. It is on the disk
 * when this returns.
 */
int file_write_atomic(const char *path, struct str content, unsigned mode, struct error *err);

/* The same for a file of another user and group: nobody else ever sees it in its place. */
int file_write_atomic_for(const char *path, struct str content, unsigned mode, unsigned uid,
			  unsigned gid, struct error *err);

#endif
