/*
 * io_threads - several loops in one process, each on its own thread.
 *
 * The first loop is the caller's: it runs on the thread that calls io_threads_run(). The others run
 * until that returns. Pass the loops to an http_server as its lanes.
 */
#ifndef NET_LOOP_IO_THREADS_H
#define NET_LOOP_IO_THREADS_H

#include "base/core/error.h"

struct io_threads;
struct loop;

int io_threads_new(size_t n, struct io_threads **ret_threads, struct error *err);

struct loop *const *io_threads_loops(const struct io_threads *t);
size_t io_threads_count(const struct io_threads *t);

/* Runs until the first loop is stopped; then stops and joins the others. */
int io_threads_run(struct io_threads *t, struct error *err);

/* Frees the loops. Everything opened on them must be closed. NULL allowed. */
void io_threads_free(struct io_threads *t);

DEFINE_CLEANUP(io_threads_free, struct io_threads *);

#endif
