/*
 * ready - requests that arrive before the server is ready.
 *
 * The socket is open while objects are loaded, so that probes are answered. Other requests wait
 * until the server is ready, but not beyond their own time limit; then they get 503. At most
 * READY_WAITING_MAX requests wait.
 *
 * Threads: requests on their loops; the list belongs to the first loop.
 */
#ifndef SERVER_HTTP_READY_H
#define SERVER_HTTP_READY_H

struct exchange;
struct ready;
struct server;

enum { READY_WAITING_MAX = 400 };

struct ready *ready_new(struct server *s);
void ready_free(struct ready *r); /* NULL allowed; after ready_release() */

/* Calls `then` when the server is ready, or replies with an error. */
void ready_wait(struct exchange *x, void (*then)(struct exchange *x));

/* The server is ready, or stops. On the first loop. */
void ready_release(struct server *s);

#endif
