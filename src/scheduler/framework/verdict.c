/*
 * Reasons are an array in the arena, so that a verdict of several is one pointer and one number.
 * Most have one reason.
 */
#include "scheduler/framework/verdict.h"

static const char *const names[] = {
	[VERDICT_SUCCESS] = "Success",
	[VERDICT_ERROR] = "Error",
	[VERDICT_UNSCHEDULABLE] = "Unschedulable",
	[VERDICT_UNRESOLVABLE] = "UnschedulableAndUnresolvable",
	[VERDICT_WAIT] = "Wait",
	[VERDICT_SKIP] = "Skip",
	[VERDICT_PENDING] = "Pending",
};

struct verdict verdict_of(struct arena *a, enum verdict_code code, struct str reason)
{
	struct str *reasons = arena_alloc(a, sizeof(*reasons));

	reasons[0] = reason;
	return (struct verdict){ .code = code, .reasons = reasons, .n = 1 };
}

struct verdict verdict_print(struct arena *a, enum verdict_code code, const char *format, ...)
{
	struct str reason;
	char *text;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	text = arena_alloc(a, (size_t)n + 1);
	va_start(ap, format);
	(void)vsnprintf(text, (size_t)n + 1, format, ap);
	va_end(ap);
	reason = str_of(text, (size_t)n);
	return verdict_of(a, code, reason);
}

void verdict_add(struct arena *a, struct verdict *v, struct str reason)
{
	struct str *reasons = arena_alloc(a, (v->n + 1) * sizeof(*reasons));

	if (v->n)
		memcpy(reasons, v->reasons, v->n * sizeof(*reasons));
	reasons[v->n++] = reason;
	v->reasons = reasons;
}

struct verdict verdict_copy(struct arena *a, const struct verdict *v)
{
	struct verdict copy = *v;

	copy.reasons = v->n ? arena_strs(a, v->reasons, v->n) : NULL;
	return copy;
}

const char *verdict_name(enum verdict_code code)
{
	return names[code];
}

struct str verdict_message(const struct verdict *v, struct arena *a)
{
	size_t n = 0, at = 0;
	char *text;

	if (v->n == 0)
		return STR("");
	if (v->n == 1)
		return v->reasons[0];
	for (size_t i = 0; i < v->n; i++)
		n += v->reasons[i].n + 2;
	text = arena_alloc(a, n);
	for (size_t i = 0; i < v->n; i++) {
		memcpy(text + at, i ? ", " : "", i ? 2 : 0);
		at += i ? 2 : 0;
		str_put(text + at, v->reasons[i]);
		at += v->reasons[i].n;
	}
	return str_of(text, at);
}
