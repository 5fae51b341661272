/*
 * server_wait - keeps a starting server waiting for its store.
 *
 * A server on etcd does not exit if etcd does not answer: it retries steps of its start that fail
 * for that reason until they succeed. It logs what it waits for: immediately, then after 10 s, 20
 * s, 40 s and so on, finally every five minutes.
 *
 * Threads: the first loop.
 */
#ifndef SERVER_SERVER_WAIT_H
#define SERVER_SERVER_WAIT_H

#include <stdbool.h>

#include "base/core/error.h"

struct server;
struct server_wait;

struct server_wait *server_wait_new(struct server *s);
void server_wait_free(struct server_wait *w); /* NULL allowed */
void server_wait_stop(struct server *s);

/* The store does not answer: logs that, unless it was logged recently. */
void server_wait_log(struct server *s, const struct error *err);

/* Whether the error is temporary. If so, logs it and calls `step` again in a second. */
bool server_wait_again(struct server *s, const struct error *err, void (*step)(struct server *s));

#endif
