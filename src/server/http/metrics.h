/*
 * server_metrics - metrics of requests, with upstream's names and labels.
 */
#ifndef SERVER_HTTP_METRICS_H
#define SERVER_HTTP_METRICS_H

#include <stdint.h>

#include "base/core/error.h"

struct exchange;
struct server;
struct server_metrics;

/* Registers the metric families in s->metrics, and those whose values are read on each scrape. */
int server_metrics_new(struct server *s, struct server_metrics **ret_metrics, struct error *err);
void server_metrics_free(struct server_metrics *m);
DEFINE_CLEANUP(server_metrics_free, struct server_metrics *);

/*
 * An exchange has begun (its route is known); it has ended (x->status is set). An exchange that
 * was rejected early may end without having begun. Any loop.
 */
void server_metrics_begin(struct exchange *x);
void server_metrics_end(struct exchange *x);

/* Counts the steps of compiling an object's expressions. Any loop. */
void server_metrics_compiled(struct server_metrics *m, uint64_t steps);
/* Compiling continues in a later turn. Any loop. */
void server_metrics_paused(struct server_metrics *m);

/* Counts a draft by its result (verbs/draft.h). On any loop. */
enum draft_result { DRAFT_USED, DRAFT_AGAIN, DRAFT_DROPPED, DRAFT_RESULTS };
void server_metrics_drafted(struct server_metrics *m, enum draft_result result);

/* Counts a write about which policies decided, by the loop that evaluated them. On any loop. */
enum policies_loop { POLICIES_ON_CONNECTION, POLICIES_ON_STATE, POLICIES_LOOPS };
void server_metrics_policies(struct server_metrics *m, enum policies_loop loop);

#endif
