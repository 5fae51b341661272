/*
 * The dynamic section has addresses, not offsets. The load segments map them back to the file. A
 * table that is longer than any real one is not searched to its end.
 */
#include "drivers/gpu_cdi/soname.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENTS_MOST = 64, ENTRIES_MOST = 1024 };

struct soname_file {
	const struct soname_source *source;
	Elf64_Ehdr head;
	Elf64_Phdr segments[SEGMENTS_MOST];
};

static int soname_fault(struct error *err, const char *what)
{
	return error_set(err, ERR_INVALID, "not a usable library: %s", what);
}

static bool soname_get(const struct soname_file *f, uint64_t at, void *to, size_t n)
{
	return at <= INT64_MAX && f->source->read(f->source->arg, at, to, n);
}

static int soname_read_head(struct soname_file *f, struct error *err)
{
	const Elf64_Ehdr *h = &f->head;

	if (!soname_get(f, 0, &f->head, sizeof(f->head)) ||
	    memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_type != ET_DYN)
		return soname_fault(err, "it is not a 64-bit shared object");
	if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 || h->e_phnum > SEGMENTS_MOST ||
	    !soname_get(f, h->e_phoff, f->segments, h->e_phnum * sizeof(Elf64_Phdr)))
		return soname_fault(err, "its program headers cannot be read");
	return 0;
}

static const Elf64_Phdr *soname_segment(const struct soname_file *f, uint32_t type)
{
	for (size_t i = 0; i < f->head.e_phnum; i++)
		if (f->segments[i].p_type == type)
			return &f->segments[i];
	return NULL;
}

/* The offset in the file of an address. */
static bool soname_offset(const struct soname_file *f, uint64_t address, uint64_t *ret_at)
{
	for (size_t i = 0; i < f->head.e_phnum; i++) {
		const Elf64_Phdr *s = &f->segments[i];

		if (s->p_type != PT_LOAD || address < s->p_vaddr ||
		    address - s->p_vaddr >= s->p_filesz)
			continue;
		return !__builtin_add_overflow(s->p_offset, address - s->p_vaddr, ret_at);
	}
	return false;
}

static int soname_find(const struct soname_file *f, uint64_t *ret_at, struct error *err)
{
	const Elf64_Phdr *dynamic = soname_segment(f, PT_DYNAMIC);
	uint64_t table = 0, name = 0, at, count;
	bool has_table = false, has_name = false;
	Elf64_Dyn entry;

	if (!dynamic)
		return soname_fault(err, "it has no dynamic section");
	count = MIN(dynamic->p_filesz / sizeof(entry), (uint64_t)ENTRIES_MOST);
	for (uint64_t i = 0; i < count; i++) {
		if (__builtin_add_overflow(dynamic->p_offset, i * sizeof(entry), &at) ||
		    !soname_get(f, at, &entry, sizeof(entry)))
			return soname_fault(err, "its dynamic section cannot be read");
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB) {
			has_table = true;
			table = entry.d_un.d_ptr;
		} else if (entry.d_tag == DT_SONAME) {
			has_name = true;
			name = entry.d_un.d_val;
		}
	}
	if (!has_table || !has_name)
		return soname_fault(err, "it has no SONAME");
	if (!soname_offset(f, table, &at) || __builtin_add_overflow(at, name, ret_at))
		return soname_fault(err, "its names are outside the file");
	return 0;
}

/* The file may end behind the name, so it is read byte by byte. */
static int soname_copy(const struct soname_file *f, uint64_t at, struct soname *out,
		       struct error *err)
{
	size_t n = 0;
	uint64_t place;

	for (;; n++) {
		if (n == SONAME_SIZE || __builtin_add_overflow(at, n, &place) ||
		    !soname_get(f, place, &out->name[n], 1))
			return soname_fault(err, "its SONAME has no end");
		if (out->name[n] == '\0')
			break;
		if (out->name[n] == '/' || (unsigned char)out->name[n] <= ' ' ||
		    (unsigned char)out->name[n] >= 0x7f)
			return soname_fault(err, "its SONAME is not a file name");
	}
	if (n == 0 || out->name[0] == '.')
		return soname_fault(err, "its SONAME is not a file name");
	return 0;
}

int soname_parse(const struct soname_source *s, struct soname *ret_soname, struct error *err)
{
	struct soname_file f = { .source = s };
	struct soname out = { 0 };
	uint64_t at = 0;
	int r = soname_read_head(&f, err);

	if (r == 0)
		r = soname_find(&f, &at, err);
	if (r == 0)
		r = soname_copy(&f, at, &out, err);
	if (r < 0)
		return r;
	out.machine = f.head.e_machine;
	*ret_soname = out;
	return 0;
}

static bool soname_read_fd(void *arg, uint64_t at, void *to, size_t n)
{
	const int *fd = arg;

	return pread(*fd, to, n, (off_t)at) == (ssize_t)n;
}

int soname_read(const char *path, struct soname *ret_soname, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;
	struct soname_source s = { .read = soname_read_fd, .arg = &fd };
	struct stat st;

	if (fd < 0)
		return error_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
				       "cannot open %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		r = soname_fault(err, "it is not a regular file");
	else
		r = soname_parse(&s, ret_soname, err);
	(void)close(fd);
	return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}
