/*
 * Allocation wrappers. The error message is written by write(2), since stdio may allocate memory.
 */
#include "base/core/mem.h"

#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
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

/* Then code was changed by the loader, and the file has another one. */
static bool has_text_relocations(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *d = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_TEXTREL || (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
			return true;
	return false;
}

static int drop_segments(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
	const uintptr_t *page = arg;

	if (has_text_relocations(info))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(*page - 1);
		uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & ~(*page - 1);

		/*
		 * Writable pages, also before relocation, are private to the process and must stay.
		 */
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && from < to)
			(void)madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return 0;
}

void mem_tidy(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	mem_give_back();
	(void)dl_iterate_phdr(drop_segments, &page);
}
#else
void mem_give_back(void)
{
}

void mem_tidy(void)
{
}
#endif
