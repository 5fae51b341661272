/*
 * memory - limits the memory that a client can make the server hold.
 *
 * Each request has a bill: its head, its body, an estimate of the trees made from the body, and
 * its reply until the stream ends. The sums per connection and per user are limited, and the
 * server rejects requests beyond the limits. Small parts are free: the number of streams limits
 * them. Open watches are limited in the same way, because every event of their resource costs
 * work for them.
 *
 * The user is the one who owns the connection: a user who impersonates others pays for them. Pods
 * that share a service account count as separate users if their tokens name them. So an agent on
 * each of thousands of nodes does not count as one user.
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

#define MEMORY_SMALL        (4UL * KIB) /* smaller parts of a request are not counted */
#define MEMORY_STRANGER_MAX (1UL * MIB) /* per connection, for requests without a known user */
#define MEMORY_CONN_MAX     (256UL * MIB) /* per connection */
#define MEMORY_USER_MAX     (512UL * MIB) /* per user */
#define MEMORY_WORK_FACTOR  16 /* bytes of tree per byte of body, at worst */

/* Open watches. */
#define MEMORY_CONN_WATCHES_MAX 1000
#define MEMORY_USER_WATCHES_MAX 10000 /* default of --max-watches-per-user */
#define MEMORY_WATCH_TERMS      16 /* selector terms and values that count as one watch more */

/* The memory that is charged to one request; zero it first. */
struct memory_bill {
	struct memory_account *conn, *user; /* NULL until something is charged */
	size_t request; /* body and work: released when the reply is encoded */
	size_t rest; /* head and reply: released at the end */
	unsigned watches; /* number of watches that it counts as; released at the end */
	bool known; /* the user is known */
};

int memory_new(struct server *s, struct memory **ret_memory, struct error *err);
void memory_free(struct memory *m); /* NULL allowed */

/*
 * Charges that many bytes, for body and work or for the rest. Returns false if that would exceed
 * a limit: then nothing is charged, and the rejection is counted in the metrics. Always true if
 * x->server->memory is NULL.
 */
bool memory_take_request(struct exchange *x, size_t bytes);
bool memory_take_rest(struct exchange *x, size_t bytes);

/*
 * Counts the request, which is about to start a watch, as one watch, or as several if its
 * selectors are long. -ERR_TOO_MANY_REQUESTS if that would exceed a limit: then only the
 * rejection is counted. The limit per user does not apply to members of system:masters.
 */
int memory_take_watch(struct exchange *x, struct error *err);

/* x->user is known: from now on the request is charged to that user. */
void memory_identified(struct exchange *x);

/* Releases the charge for body and work; releases everything. */
void memory_give_request(struct exchange *x);
void memory_end(struct exchange *x);

#endif
