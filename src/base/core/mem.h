/*
 * mem - allocation that cannot fail.
 *
 * Running out of memory aborts the process, because no caller can do better. Input must not decide
 * how much we allocate, so everything that grows with input uses a type with a limit (buf, vec,
 * arena). Free with free().
 */
#ifndef BASE_CORE_MEM_H
#define BASE_CORE_MEM_H

#include <stddef.h>

#include "base/core/compiler.h"

void *xmalloc(size_t n) __attribute__((malloc, alloc_size(1), returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2), returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((alloc_size(2), returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));

/*
 * Returns freed memory to the system. It takes milliseconds: call it after a phase with high use.
 */
void mem_give_back(void);

/*
 * The same, and also drops pages of code and constants from the process. They are backed by files,
 * so pages that are needed again come from the page cache, at a few hundred minor faults; pages
 * needed only at the start or for rare events stay away. It takes a millisecond: for a timer in a
 * process that must stay small.
 */
void mem_tidy(void);

#define XNEW(type) ((type *)xcalloc(1, sizeof(type)))

DEFINE_CLEANUP(free, char *);

#endif
