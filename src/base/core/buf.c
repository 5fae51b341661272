/*
 * Growth doubles from 256 bytes, so appending is linear overall. Numbers are
 * printed by hand: they are on the path of every JSON document.
 */
#include "base/core/buf.h"

#include "base/core/mem.h"

enum { BUF_FIRST = 256 };

void buf_init(struct buf *b, size_t max)
{
	*b = BUF_INIT(max);
}

void buf_release(struct buf *b)
{
	free(b->p);
	*b = BUF_INIT(b->max);
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	b->overflow = false;
	if (b->p)
		b->p[0] = '\0';
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t need, cap;

	if (LIKELY(more <= b->cap - b->n && b->p))
		return 0;
	if (more > b->max || b->n > b->max - more) {
		b->overflow = true;
		return -ERR_TOO_LARGE;
	}
	need = b->n + more;
	cap = b->cap ? b->cap * 2 : BUF_FIRST;
	cap = MIN(MAX(cap, need), b->max);
	b->p = xrealloc(b->p, cap + 1);
	b->cap = cap;
	b->p[b->n] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	int r;

	if (n == 0)
		return 0;
	r = buf_reserve(b, n);
	if (r < 0)
		return r;
	memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
	return 0;
}

int buf_add_str(struct buf *b, struct str s)
{
	return buf_add(b, s.p, s.n);
}

int buf_addz(struct buf *b, const char *z)
{
	return buf_add(b, z, strlen(z));
}

int buf_addc(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_add_u64(struct buf *b, uint64_t v)
{
	char room[STR_DIGITS];

	return buf_add_str(b, str_print_u64(room, v));
}

int buf_add_i64(struct buf *b, int64_t v)
{
	char room[STR_DIGITS];

	return buf_add_str(b, str_print_i64(room, v));
}

int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n, r;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return -ERR_INTERNAL;
	r = buf_reserve(b, (size_t)n);
	if (r < 0)
		return r;
	(void)vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

void buf_consume(struct buf *b, size_t n)
{
	n = MIN(n, b->n);
	if (n == 0)
		return;
	b->n -= n;
	memmove(b->p, b->p + n, b->n + 1);
}

char *buf_take(struct buf *b)
{
	char *p = b->p ? b->p : xstrdup("");

	/* The result may live long, so memory left from growing is returned. */
	if (b->p && b->cap - b->n > b->cap / 8)
		p = xrealloc(p, b->n + 1);
	*b = BUF_INIT(b->max);
	return p;
}
