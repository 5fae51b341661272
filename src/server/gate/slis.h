/*
 * slis - upstream's counts of health checks, for /metrics/slis: what a service level is judged by.
 *
 * kubernetes_healthcheck is 1 if a check succeeded the last time that a probe asked for it, and 0
 * if it failed; kubernetes_healthchecks_total counts both.
 *
 * Threads: any.
 */
#ifndef SERVER_GATE_SLIS_H
#define SERVER_GATE_SLIS_H

#include <stdbool.h>

#include "base/core/buf.h"

struct slis;

int slis_new(struct slis **ret_slis, struct error *err);
void slis_free(struct slis *s); /* NULL allowed */

/* Counts one check of an endpoint: "etcd" of "readyz". `s` may be NULL. */
void slis_count(struct slis *s, const char *check, const char *endpoint, bool succeeded);

/* Appends all, as Prometheus' text. -ERR_TOO_LARGE. */
int slis_print(struct slis *s, struct buf *out);

#endif
