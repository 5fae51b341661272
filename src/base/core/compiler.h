/*
 * compiler - the language extensions that we use.
 *
 * CLEANUP(fn) frees a pointer variable when it leaves scope; initialise it to NULL. TAKE(p) yields
 * p and sets it to NULL, which moves ownership out of such a variable.
 */
#ifndef BASE_CORE_COMPILER_H
#define BASE_CORE_COMPILER_H

#include <stddef.h>
#include <sys/param.h> /* MIN, MAX: libraries include it too, so they are its */

#include "base/core/banned.h"

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK             __attribute__((warn_unused_result))
#define NORETURN               __attribute__((noreturn))
#define UNUSED                 __attribute__((unused))
#define LIKELY(x)              __builtin_expect(!!(x), 1)
#define UNLIKELY(x)            __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE          inline __attribute__((always_inline))

/*
 * The build zeroes all uninitialised variables (-ftrivial-auto-var-init=zero in meson.build).
 * UNZEROED exempts a large variable on the path of every request, if zeroing it costs more than the
 * work on it:
 *
 *	char record[TLS_RECORD] UNZEROED;
 *
 * Only for memory that is written before it is read: the target of a read, the block of an arena,
 * an error that is read only after a failure. Check that before you add one.
 */
#if __has_attribute(uninitialized)
#define UNZEROED __attribute__((uninitialized))
#else
#define UNZEROED
#endif

/* True with a sanitizer, which has its own allocator and distorts the process's memory figures. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Calls a function of the C library whose failure can be ignored, because nothing can be done. */
#define BEST_EFFORT(call)   \
	do {                \
		if (call) { \
		}           \
	} while (0)

#define ARRAY_SIZE(a)                 (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(n, to)               (((n) + ((to)-1)) & ~((size_t)(to)-1))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))

/*
 * DEFINE_CLEANUP(thing_free, struct thing *) once beside the prototype of
 * thing_free makes CLEANUP(thing_free) usable on `struct thing *` variables.
 */
#define DEFINE_CLEANUP(fn, type)                 \
	static inline void fn##_cleanup(type *p) \
	{                                        \
		fn(*p);                          \
	}                                        \
	struct compiler_swallow_semicolon
#define CLEANUP(fn) __attribute__((cleanup(fn##_cleanup)))

#define TAKE(p)                                \
	__extension__({                        \
		__typeof__(p) take_tmp_ = (p); \
		(p) = NULL;                    \
		take_tmp_;                     \
	})

#endif
