/*
 * cpu_set - a set of CPU ids, and its text as the kernel writes it: "0-3,8".
 *
 * A plain value of fixed size: copy and compare it freely. Ids from CPU_SET_MAX on are ignored.
 */
#ifndef BASE_TEXT_CPU_SET_H
#define BASE_TEXT_CPU_SET_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/error.h"

enum { CPU_SET_MAX = 2048, CPU_SET_WORDS = CPU_SET_MAX / 64 };

struct cpu_set {
	uint64_t w[CPU_SET_WORDS];
};

/* Returns false for ids out of range. */
bool cpu_set_has(const struct cpu_set *s, int id);
/* Ids out of range are ignored. */
void cpu_set_add(struct cpu_set *s, int id);
void cpu_set_remove(struct cpu_set *s, int id);

/* *s becomes the intersection, the union, or the difference. */
void cpu_set_and(struct cpu_set *s, const struct cpu_set *other);
void cpu_set_or(struct cpu_set *s, const struct cpu_set *other);
void cpu_set_minus(struct cpu_set *s, const struct cpu_set *other);

bool cpu_set_empty(const struct cpu_set *s);
int cpu_set_count(const struct cpu_set *s);
bool cpu_set_equal(const struct cpu_set *a, const struct cpu_set *b);

/* Returns the first id after `after`; start with -1. Returns -1 at the end. */
int cpu_set_next(const struct cpu_set *s, int after);

/*
 * Parses "0-3,8", as sysfs and cgroups write it. A newline at the end is allowed; empty text is the
 * empty set. -ERR_INVALID for anything else, for ranges that run backwards and for ids out of
 * range.
 */
int cpu_set_parse(struct str text, struct cpu_set *ret_set, struct error *err);

/* Ascending, ranges joined; in the arena. */
struct str cpu_set_print(const struct cpu_set *s, struct arena *a);

#endif
