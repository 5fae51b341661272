/*
 * cost_impl - ranges and cost nodes of an expression; private to cost*.c.
 *
 * A range is the minimum and maximum of a size or a cost. All arithmetic saturates. A range times a
 * factor is rounded up in floating point, as in cel-go.
 */
#ifndef CEL_CHECK_COST_IMPL_H
#define CEL_CHECK_COST_IMPL_H

#include "cel/check/cost.h"

struct cost_range {
	uint64_t min, max;
};

#define COST_FIXED(n) ((struct cost_range){ (n), (n) })
#define COST_UNKNOWN  ((struct cost_range){ 0, UINT64_MAX })

#define COST_PER_CHARACTER 0.1 /* of reading text */
#define COST_PER_PATTERN   0.25 /* of matching one character, by the pattern's length */

/* Sizes of the elements of a list or the entries of a map. */
struct cost_entry {
	enum cel_type_kind container; /* CEL_TYPE_LIST or CEL_TYPE_MAP */
	struct cost_range key, value;
};

/* Estimated facts about an expression. */
struct cost_node {
	const struct cel_expr *e;
	/* The declaration that the expression is a part of, which has sizes; or NULL. */
	const struct cel_type *declared;
	struct cost_range cost;
	struct cost_range size;
	struct cost_entry entry;
	bool has_size, has_entry;
	bool path; /* it is a variable or a part of a value, declared or not */
};

/* A call that is being estimated. */
struct cost_call {
	const struct cel_expr *e;
	const char *function, *id; /* of one overload */
	const struct cost_node *target; /* the receiver, or NULL */
	const struct cost_node *args; /* without the receiver */
	size_t nargs;
	unsigned flags; /* of the environment */
	struct cost_range arguments; /* cost of all arguments */

	/* --- the answer --- */
	struct cost_range cost; /* arguments included */
	struct cost_range size; /* of the result */
	struct cost_entry entry;
	bool has_size, has_entry;
};

/*
 * Each estimates the call, or returns false if it does not know it: by overload for cel-go's
 * libraries, by function for Kubernetes'. The last one handles all calls.
 */
bool cost_estimate_extension(struct cost_call *call);
bool cost_estimate_kubernetes(struct cost_call *call);
void cost_estimate_standard(struct cost_call *call);

/* Returns the size of a part of a declaration; false if it is not declared. */
bool cost_declared_size(unsigned flags, const struct cel_type *declared,
			struct cost_range *ret_size);

static inline uint64_t cost_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t cost_multiply(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static inline uint64_t cost_factor(uint64_t n, double factor)
{
	double v = (double)n * factor;
	uint64_t whole;

	if (v >= 0x1p64)
		return UINT64_MAX;
	whole = (uint64_t)v;
	return whole + ((double)whole < v);
}

static inline struct cost_range range_add(struct cost_range a, struct cost_range b)
{
	return (struct cost_range){ cost_add(a.min, b.min), cost_add(a.max, b.max) };
}

static inline struct cost_range range_multiply(struct cost_range a, struct cost_range b)
{
	return (struct cost_range){ cost_multiply(a.min, b.min), cost_multiply(a.max, b.max) };
}

static inline struct cost_range range_factor(struct cost_range a, double factor)
{
	return (struct cost_range){ cost_factor(a.min, factor), cost_factor(a.max, factor) };
}

static inline struct cost_range range_union(struct cost_range a, struct cost_range b)
{
	return (struct cost_range){ MIN(a.min, b.min), MAX(a.max, b.max) };
}

static inline struct cost_range node_size(const struct cost_node *node)
{
	return node->has_size ? node->size : COST_UNKNOWN;
}

/* Sets the cost of the call, in addition to its arguments. */
static inline bool cost_answer(struct cost_call *call, struct cost_range cost)
{
	call->cost = range_add(cost, call->arguments);
	return true;
}

static inline bool cost_answer_sized(struct cost_call *call, struct cost_range cost,
				     struct cost_range size)
{
	call->size = size;
	call->has_size = true;
	return cost_answer(call, cost);
}

#endif
