/*
 * server_metrics - what /metrics tells of requests, with upstream's names and labels.
 */
#ifndef SERVER_HTTP_METRICS_H
#define SERVER_HTTP_METRICS_H

#include <stdint.h>

#include "base/core/error.h"

struct exchange;
struct server;
struct server_metrics;

/* Registers the families in s->metrics, and what is read when it is printed. */
int server_metrics_new(struct server *s, struct server_metrics **ret_metrics, struct error *err);
void server_metrics_free(struct server_metrics *m);
DEFINE_CLEANUP(server_metrics_free, struct server_metrics *);

/*
 * An exchange has begun (its route is found), and is over (x->status is set).
 * One that was refused before may end without having begun. Any loop.
 */
void server_metrics_begin(struct exchange *x);
void server_metrics_end(struct exchange *x);

/* Compiling expressions of an object took so many steps. The loop that decides writes. */
void server_metrics_compiled(struct server_metrics *m, uint64_t steps);
/* It goes on in another turn. The same loop. */
void server_metrics_paused(struct server_metrics *m);

#endif
