/*
 * audit_worker - a thread with a loop of its own, for work that must not hold up requests: files
 * and webhooks.
 *
 * Everything on its loop is set up before audit_worker_start() or from messages to it
 * (loop_post()), which it handles in their order.
 */
#ifndef SERVER_AUDIT_WORKER_H
#define SERVER_AUDIT_WORKER_H

#include "base/core/error.h"

struct audit_worker;
struct loop;

int audit_worker_new(struct audit_worker **ret_worker, struct error *err);
int audit_worker_start(struct audit_worker *w, const char *name, struct error *err);
struct loop *audit_worker_loop(struct audit_worker *w);

/* On the worker: ends its thread after this turn and the messages before it. */
void audit_worker_end(struct audit_worker *w);

/*
 * Waits until the thread has ended, which something must have caused, and frees the loop. A worker
 * that was not started is only freed. NULL allowed.
 */
void audit_worker_free(struct audit_worker *w);

#endif
