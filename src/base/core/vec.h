/*
 * vec - a growing array of one type with a limit.
 *
 *	VEC(struct item) items;
 *	vec_init(&items, ITEMS_MAX);
 *	if (!vec_push(&items, item))
 *		return error_set(err, ERR_TOO_LARGE, ...);
 *
 * Elements move when it grows: keep indexes, not pointers.
 */
#ifndef BASE_CORE_VEC_H
#define BASE_CORE_VEC_H

#include <stdbool.h>

#include "base/core/compiler.h"

#define VEC(type)                   \
	struct {                    \
		type *v;            \
		size_t n, cap, max; \
	}

#define vec_init(vec, limit) \
	((void)((vec)->v = NULL, (vec)->n = 0, (vec)->cap = 0, (vec)->max = (limit)))
#define vec_release(vec) (free((vec)->v), vec_init((vec), (vec)->max))

/* Makes room for `more` elements; returns false if that would exceed the limit. */
#define vec_reserve(vec, more)                                                         \
	vec_reserve_raw((void **)&(vec)->v, &(vec)->cap, (vec)->n, (vec)->max, (more), \
			sizeof(*(vec)->v))

/* Appends; returns false if full. The value is evaluated once, and only if there is room. */
#define vec_push(vec, ...) \
	(vec_reserve((vec), 1) ? ((vec)->v[(vec)->n++] = (__VA_ARGS__), true) : false)

/* Removes by moving the last element into the hole: order is not kept. */
#define vec_remove_swap(vec, at) ((void)((vec)->v[(at)] = (vec)->v[--(vec)->n]))

/* Removes and keeps the order. */
#define vec_remove(vec, at)                                               \
	((void)(memmove(&(vec)->v[(at)], &(vec)->v[(at) + 1],             \
			((vec)->n - (size_t)(at)-1) * sizeof(*(vec)->v)), \
		(vec)->n--))

bool vec_reserve_raw(void **v, size_t *cap, size_t n, size_t max, size_t more, size_t size);

#endif
