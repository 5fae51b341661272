/*
 * mem - allocation that cannot fail.
 *
 * Running out of memory aborts the process: no caller can do better. What may
 * not happen is that input decides how much we ask for, so everything that
 * grows with input does so through a type that carries a limit (buf, vec,
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

/* Gives freed memory back to the system. Costs milliseconds: after a phase that used much. */
void mem_give_back(void);

/*
 * The same, and pages of code and constants leave the process. They are the files', so what is
 * needed again comes from the page cache, at some hundred minor faults; what only the start or a
 * rare event needed stays away. A millisecond: for the timer of a process that is to be small.
 */
void mem_tidy(void);

#define XNEW(type) ((type *)xcalloc(1, sizeof(type)))

DEFINE_CLEANUP(free, char *);

#endif
