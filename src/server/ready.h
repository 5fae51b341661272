/*
 * ready - requests that arrive before the server can answer them.
 *
 * The socket is open while objects are loaded, so that probes are answered. Other
 * requests wait until the server is ready, as long as their own time limit
 * permits; then the answer is 503. At most READY_WAITING_MAX wait.
 * Threads: requests on their loops; the list belongs to the first loop.
 */
#ifndef SERVER_READY_H
#define SERVER_READY_H

#include <stdatomic.h>

#include "base/list.h"
#include "net/loop.h"

struct exchange;
struct server;

enum { READY_WAITING_MAX = 400 };

struct ready {
	struct list waiting; /* jobs */
	struct loop_timer sweep; /* ends those whose time is up */
	atomic_uint count; /* of those that wait, or are on their way to the list */
};

void ready_init(struct server *s);

/* Calls `then` when the server is ready, or answers the request. */
void ready_wait(struct exchange *x, void (*then)(struct exchange *x));

/* The server is ready, or stops: on the first loop. */
void ready_release(struct server *s);

#endif
