/*
 * plugin_common - what several built-in plugins ask of pods, nodes and their arguments.
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

/* Whom an event is about. */
struct recorder_object pod_about(const struct podinfo *p);

/* nodeSelector and required node affinity of the pod. */
bool pod_wants_node(const struct podinfo *p, const struct nodeobject *n);

/* All taints of the node that keep pods away (NoSchedule, NoExecute) are tolerated. */
bool pod_tolerates_node(const struct podinfo *p, const struct nodeobject *n);

/* One of the pod's tolerations tolerates it. */
bool pod_tolerates(const struct podinfo *p, struct str key, struct str value,
		   enum taint_effect effect);

/* Neither on a node nor with one nominated: its coming and going changes nothing for others. */
static inline bool pod_is_nowhere(const struct podinfo *p)
{
	return p->node.n == 0 && p->nominated.n == 0;
}

/* Scales scores from 0..highest to 0..100; `reverse`: the highest becomes 0. */
void scores_normalize(int64_t *scores, size_t n, bool reverse);

/*
 * Arguments of a plugin: only these fields (ended by NULL), beside apiVersion, and the kind when it
 * is said. NULL is an empty object. -ERR_INVALID.
 */
int plugin_args_check(const struct json *args, const char *kind, const char *const *fields,
		      struct error *err);

/* An object in there has only these fields. `path` is for the message. */
int plugin_args_fields(const struct json *object, const char *path, const char *const *fields,
		       struct error *err);

/* 0, or -ERR_INVALID with all that was found, as upstream prints it. */
struct field_errors;
int plugin_args_verdict(const struct field_errors *faults, struct error *err);

#endif
