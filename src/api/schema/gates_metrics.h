/*
 * gates_metrics - kubernetes_feature_enabled: which gates are on, as upstream's programs say it.
 */
#ifndef API_SCHEMA_GATES_METRICS_H
#define API_SCHEMA_GATES_METRICS_H

#include "api/schema/gates.h"

struct metrics;

/* Registers the metric with the values that the gates have now. */
int gates_metrics_register(struct metrics *m, const struct gates *gates, struct error *err);

#endif
