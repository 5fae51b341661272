/*
 * plugin_common - helpers of several built-in plugins for pods, nodes and plugin arguments.
 */
#ifndef SCHEDULER_FRAMEWORK_COMMON_H
#define SCHEDULER_FRAMEWORK_COMMON_H

#include "base/core/error.h"
#include "base/json/json.h"
#include "scheduler/cache/labels.h"
#include "scheduler/cache/nodeobject.h"
#include "scheduler/framework/verdict.h"

struct recorder_object;

/* A verdict whose reasons are a static array. */
#define VERDICT_STATIC(verdict_code, reason_array)    \
	((struct verdict){ .code = (verdict_code),    \
			   .reasons = (reason_array), \
			   .n = sizeof(reason_array) / sizeof((reason_array)[0]) })
/* An element of such an array. */
#define REASON(text)                     \
	{                                \
		(text), sizeof(text) - 1 \
	}

/* Returns the pod as the subject of an Event. */
struct recorder_object pod_about(const struct podinfo *p);

/* Whether nodeSelector and required node affinity of the pod match the node. */
bool pod_wants_node(const struct podinfo *p, const struct nodeobject *n);

/* Whether the pod tolerates all taints of the node with effect NoSchedule or NoExecute. */
bool pod_tolerates_node(const struct podinfo *p, const struct nodeobject *n);

/* Whether one of the pod's tolerations tolerates the taint. */
bool pod_tolerates(const struct podinfo *p, struct str key, struct str value,
		   enum taint_effect effect);

/*
 * Whether the pod is neither bound nor nominated, so that adding or deleting it does not affect
 * others.
 */
static inline bool pod_is_nowhere(const struct podinfo *p)
{
	return p->node.n == 0 && p->nominated.n == 0;
}

/* Scales scores from 0..highest to 0..100; `reverse`: the highest becomes 0. */
void scores_normalize(int64_t *scores, size_t n, bool reverse);

/*
 * Checks that a plugin's arguments have only these fields (list ended by NULL), besides apiVersion,
 * and the right kind if they have one. NULL counts as an empty object. Returns 0 or -ERR_INVALID.
 */
int plugin_args_check(const struct json *args, const char *kind, const char *const *fields,
		      struct error *err);

/* Checks that a nested object has only these fields. `path` is for the message. */
int plugin_args_fields(const struct json *object, const char *path, const char *const *fields,
		       struct error *err);

/* Returns 0, or -ERR_INVALID with all faults, as upstream prints them. */
struct field_errors;
int plugin_args_verdict(const struct field_errors *faults, struct error *err);

#endif
