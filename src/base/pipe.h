/*
 * pipe - what a program prints, kept in the kernel until it has ended.
 *
 * A pipe that holds all that a child may print need not be followed meanwhile, and its memory has
 * a bound; a child that prints more blocks.
 */
#ifndef BASE_PIPE_H
#define BASE_PIPE_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Ends to read and to write, not inherited; the former does not block. A smaller pipe than wished
 * for, where the system allows no more, is one that holds less.
 */
int pipe_make(int ret_ends[2], size_t bytes, struct error *err);

/* Appends what is in it now, as far as the buffer takes it. */
void pipe_read(int fd, struct buf *text);

/* Closes *fd unless it is -1, which it is then. */
void pipe_close(int *fd);

/* The last line that is not empty: what came before are mostly logs. */
struct str pipe_last_line(struct str text);

#endif
