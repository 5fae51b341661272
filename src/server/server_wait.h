/*
 * server_wait - a start that waits for the store.
 *
 * A server on etcd does not end because etcd does not answer: steps of its start
 * that fail for that reason are tried again until they succeed. The log says what
 * the server waits for: at once, then after 10 s, 20 s, 40 s and so on, every five
 * minutes at last.
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

/* The store does not answer: logs it, unless it did so recently. */
void server_wait_log(struct server *s, const struct error *err);

/* Whether the error will pass: then it is logged and `step` is done again in a second. */
bool server_wait_again(struct server *s, const struct error *err, void (*step)(struct server *s));

#endif
