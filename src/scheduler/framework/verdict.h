/*
 * verdict - what a plugin says about a pod, or about a pod on a node.
 *
 * Small and made without memory when all is well. Reasons are upstream's texts: they are counted
 * by text for "0/5 nodes are available: 2 Insufficient cpu, ..".
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
	const struct plugin *plugin; /* whose it is; the framework fills it in */
	const struct str *reasons; /* static, or in the cycle's arena */
	size_t n;
};

#define VERDICT_OK ((struct verdict){ VERDICT_SUCCESS })

/* One reason that lives long enough: a constant. */
struct verdict verdict_of(struct arena *a, enum verdict_code code, struct str reason);
/* One reason, printed into the arena. */
struct verdict verdict_print(struct arena *a, enum verdict_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds a reason. */
void verdict_add(struct arena *a, struct verdict *v, struct str reason);
/* The same, with its text in another arena. */
struct verdict verdict_copy(struct arena *a, const struct verdict *v);

static inline bool verdict_rejects(const struct verdict *v)
{
	return v->code == VERDICT_UNSCHEDULABLE || v->code == VERDICT_UNRESOLVABLE ||
	       v->code == VERDICT_PENDING;
}

/* "Unschedulable", "UnschedulableAndUnresolvable", "Error" .., as upstream prints them. */
const char *verdict_name(enum verdict_code code);
/* All reasons joined by ", ", in the arena. */
struct str verdict_message(const struct verdict *v, struct arena *a);

#endif
