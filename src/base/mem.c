/*
 * Allocation wrappers. The message goes out by write(2), since stdio may want
 * memory itself.
 */
#include "base/mem.h"

#include <malloc.h>
#include <unistd.h>

static NORETURN void out_of_memory(void)
{
	static const char msg[] = "devplane: out of memory\n";

	if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0)
		abort();
	abort();
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (UNLIKELY(!p))
		out_of_memory();
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (UNLIKELY(!p))
		out_of_memory();
	return p;
}

void *xrealloc(void *old, size_t n)
{
	void *p = realloc(old, n ? n : 1);

	if (UNLIKELY(!p))
		out_of_memory();
	return p;
}

char *xstrndup(const char *s, size_t n)
{
	char *p = xmalloc(n + 1);

	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

#ifdef __GLIBC__
void mem_give_back(void)
{
	(void)malloc_trim(0);
}
#else
void mem_give_back(void)
{
}
#endif
