/*
 * memory - how much a client can make the server hold at once.
 *
 * Each request has a bill: its head, its body, an estimate of the trees made of the body, and its
 * answer until the stream ends. The sums per connection and per user have limits, and the server
 * refuses requests beyond them. Small parts are free: the number of streams bounds them.
 * Open watches have such limits, too, as every event of their resource costs work for them.
 *
 * A user is the one who holds the connection: a user who acts as others pays for them. Pods that
 * share a service account are users of their own if their tokens name them, so that an agent on
 * each of thousands of nodes is not one user.
 *
 * Threads: a bill and its connection's account belong to the loop of its stream; users' accounts
 * are shared by all loops.
 */
#ifndef SERVER_HTTP_MEMORY_H
#define SERVER_HTTP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/error.h"
#include "base/core/limits.h"

struct exchange;
struct memory;
struct memory_account;
struct server;

#define MEMORY_SMALL        (4UL * KIB) /* a part of a request that is not counted */
#define MEMORY_STRANGER_MAX (1UL * MIB) /* of a connection, by requests without a known user */
#define MEMORY_CONN_MAX     (256UL * MIB) /* of a connection */
#define MEMORY_USER_MAX     (512UL * MIB) /* of a user */
#define MEMORY_WORK_FACTOR  16 /* bytes that a byte of a body becomes as a tree, at worst */

/* Watches that are open at once. */
#define MEMORY_CONN_WATCHES_MAX 1000
#define MEMORY_USER_WATCHES_MAX 10000 /* unless --max-watches-per-user says otherwise */
#define MEMORY_WATCH_TERMS      16 /* of selectors, with values: so many count as one more */

/* The memory that one request is charged with; all zero at the beginning. */
struct memory_bill {
	struct memory_account *conn, *user; /* NULL while nothing is taken on */
	size_t request; /* body and work: given back when the answer is encoded */
	size_t rest; /* head and answer: given back at the end */
	unsigned watches; /* that the request counts as; given back at the end */
	bool known; /* who asks was found out */
};

int memory_new(struct server *s, struct memory **ret_memory, struct error *err);
void memory_free(struct memory *m); /* NULL allowed */

/*
 * Takes on so many bytes more, for body and work or for the rest. False: a limit is reached; then
 * nothing was taken on, and it was counted. Always true where x->server->memory is NULL.
 */
bool memory_take_request(struct exchange *x, size_t bytes);
bool memory_take_rest(struct exchange *x, size_t bytes);

/*
 * Counts the request, which is about to start a watch, as one watch, or as several if its selectors
 * are long. -ERR_TOO_MANY_REQUESTS: a limit is reached; then nothing was counted but the refusal.
 * Members of system:masters have no limit of the user.
 */
int memory_take_watch(struct exchange *x, struct error *err);

/* x->user is known: from now on the request counts as that user's. */
void memory_identified(struct exchange *x);

/* Gives back what body and work took; everything. */
void memory_give_request(struct exchange *x);
void memory_end(struct exchange *x);

#endif
