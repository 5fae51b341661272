/*
 * buf - a growing byte buffer with a limit.
 *
 * Appending past the limit fails with -ERR_TOO_LARGE, adds nothing and sets `overflow`, which stays
 * set. So code may append many times and check once at the end. The content is always followed by a
 * NUL that is not counted.
 */
#ifndef BASE_CORE_BUF_H
#define BASE_CORE_BUF_H

#include <stdarg.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct buf {
	char *p; /* NULL until the first byte */
	size_t n;
	size_t cap; /* usable bytes at p, without the NUL */
	size_t max;
	bool overflow;
};

#define BUF_INIT(limit) ((struct buf){ .max = (limit) })

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);

/* Empties it, keeps the memory and the limit, clears `overflow`. */
void buf_clear(struct buf *b);

/* Makes room for `more` bytes; the caller may then write them at b->p + b->n. */
int buf_reserve(struct buf *b, size_t more);

int buf_add(struct buf *b, const void *p, size_t n);
int buf_add_str(struct buf *b, struct str s);
int buf_addz(struct buf *b, const char *z);
int buf_addc(struct buf *b, char c);
int buf_add_u64(struct buf *b, uint64_t v);
int buf_add_i64(struct buf *b, int64_t v);
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
int buf_vprintf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Drops n bytes from the front, moving the rest down. */
void buf_consume(struct buf *b, size_t n);

/* The content, valid until the next change. */
static inline struct str buf_str(const struct buf *b)
{
	return str_of(b->p, b->n);
}

/* Drops everything after the first `n` bytes. */
static inline void buf_cut(struct buf *b, size_t n)
{
	if (n < b->n) {
		b->n = n;
		b->p[n] = '\0';
	}
}

/* Returns the content as a heap string (never NULL), and empties the buffer. */
char *buf_take(struct buf *b);

static inline void buf_release_cleanup(struct buf *b)
{
	buf_release(b);
}

#endif
