/*
 * elf_fixture - for tests: writes the smallest shared library that has a SONAME.
 */
#ifndef DRIVERS_GPU_CDI_ELF_FIXTURE_H
#define DRIVERS_GPU_CDI_ELF_FIXTURE_H

#include <elf.h>

#include "base/core/str.h"

/* The parts are in this order, without gaps. Addresses are offsets plus ELF_FIXTURE_BASE. */
enum { ELF_FIXTURE_BASE = 0x10000, ELF_FIXTURE_NAMES = 64 };

struct elf_fixture {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	Elf64_Dyn dynamic[3];
	char names[ELF_FIXTURE_NAMES]; /* a NUL, then the SONAME */
};

static inline struct elf_fixture elf_fixture_make(const char *soname, uint16_t machine)
{
	struct elf_fixture f = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = machine,
			  .e_phoff = offsetof(struct elf_fixture, segments),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 2 },
		.segments = { { .p_type = PT_LOAD,
				.p_vaddr = ELF_FIXTURE_BASE,
				.p_filesz = sizeof(struct elf_fixture) },
			      { .p_type = PT_DYNAMIC,
				.p_offset = offsetof(struct elf_fixture, dynamic),
				.p_filesz = sizeof(Elf64_Dyn) * 3 } },
		.dynamic = { { .d_tag = DT_SONAME, .d_un.d_val = 1 },
			     { .d_tag = DT_STRTAB,
			       .d_un.d_ptr = ELF_FIXTURE_BASE +
					     offsetof(struct elf_fixture, names) },
			     { .d_tag = DT_NULL } },
	};

	str_put(f.names + 1, str_cut(str_from(soname), ELF_FIXTURE_NAMES - 2));
	return f;
}

#endif
