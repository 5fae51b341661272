/*
 * verdict - a plugin's result for a pod, or for a pod on a node.
 *
 * Success needs no allocation. Reasons are upstream's texts, and are counted by text for "0/5 nodes
 * are available: 2 Insufficient cpu, ..".
 */
#ifndef SCHEDULER_FRAMEWORK_VERDICT_H
#define SCHEDULER_FRAMEWORK_VERDICT_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct plugin;

enum verdict_code {
	VERDICT_SUCCESS,
	VERDICT_ERROR,
	VERDICT_UNSCHEDULABLE,
	VERDICT_UNRESOLVABLE, /* removing pods would not help */
	VERDICT_WAIT,
	VERDICT_SKIP,
	VERDICT_PENDING,
};

struct verdict {
	enum verdict_code code;
	const struct plugin *plugin; /* the plugin that returned it; set by the framework */
	const struct str *reasons; /* static, or in the cycle's arena */
	size_t n;
};

#define VERDICT_OK ((struct verdict){ VERDICT_SUCCESS })

/* Returns a verdict with one reason, whose text must be a constant or live as long. */
struct verdict verdict_of(struct arena *a, enum verdict_code code, struct str reason);
/* Returns a verdict with one reason, printed into the arena. */
struct verdict verdict_print(struct arena *a, enum verdict_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a reason. */
void verdict_add(struct arena *a, struct verdict *v, struct str reason);
/* Copies a verdict, and its text, to another arena. */
struct verdict verdict_copy(struct arena *a, const struct verdict *v);

static inline bool verdict_rejects(const struct verdict *v)
{
	return v->code == VERDICT_UNSCHEDULABLE || v->code == VERDICT_UNRESOLVABLE ||
	       v->code == VERDICT_PENDING;
}

/*
 * Returns the code as upstream prints it: "Unschedulable", "UnschedulableAndUnresolvable", "Error"
 * ..
 */
const char *verdict_name(enum verdict_code code);
/* Returns all reasons joined by ", ", in the arena. */
struct str verdict_message(const struct verdict *v, struct arena *a);

#endif
