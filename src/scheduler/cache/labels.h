/*
 * labels - labels of pods and nodes, and the selectors of the API on them.
 */
#ifndef SCHEDULER_CACHE_LABELS_H
#define SCHEDULER_CACHE_LABELS_H

#include "api/selector/selector.h"
#include "base/json/json.h"

#define LABEL_HOSTNAME STR("kubernetes.io/hostname")
#define LABEL_ZONE     STR("topology.kubernetes.io/zone")

/* Returns the value of a label, with p NULL if absent. `labels` may be NULL. */
static inline struct str labels_get(const struct json *labels, struct str key)
{
	return json_str(json_get(labels, key));
}

bool labels_match(const struct selector *s, const struct json *labels);

/* Whether a LabelSelector object of the API matches. An empty selector matches everything. */
bool labels_selected(const struct json *labels, const struct json *selector);
/* Parses the operator of a selector's expression: In, NotIn, Exists, DoesNotExist. */
bool labels_operator(struct str name, enum selector_op *ret_op);

#endif
