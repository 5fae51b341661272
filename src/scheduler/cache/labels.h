/*
 * labels - labels of pods and nodes, and the selectors of the API on them.
 */
#ifndef SCHEDULER_CACHE_LABELS_H
#define SCHEDULER_CACHE_LABELS_H

#include "api/selector/selector.h"
#include "base/json/json.h"

#define LABEL_HOSTNAME STR("kubernetes.io/hostname")
#define LABEL_ZONE     STR("topology.kubernetes.io/zone")

/* The value of a label; p NULL when absent. `labels` may be NULL. */
static inline struct str labels_get(const struct json *labels, struct str key)
{
	return json_str(json_get(labels, key));
}

bool labels_match(const struct selector *s, const struct json *labels);

/* A LabelSelector of the API: everything when it is empty; `selector` is an object. */
bool labels_selected(const struct json *labels, const struct json *selector);
/* The operator of an expression in one: In, NotIn, Exists, DoesNotExist. */
bool labels_operator(struct str name, enum selector_op *ret_op);

#endif
