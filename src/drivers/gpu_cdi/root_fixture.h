/*
 * root_fixture - for tests: a folder that stands for a machine's root. Include cmocka first.
 */
#ifndef DRIVERS_GPU_CDI_ROOT_FIXTURE_H
#define DRIVERS_GPU_CDI_ROOT_FIXTURE_H

#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/gpu_cdi/elf_fixture.h"

static inline int root_fixture_setup(void **state)
{
	static char root[] = "/tmp/gpu-root-XXXXXX";

	(void)snprintf(root, sizeof(root), "/tmp/gpu-root-XXXXXX");
	*state = mkdtemp(root);
	return *state ? 0 : -1;
}

static inline int root_fixture_teardown(void **state)
{
	folder_fixture_remove(*state);
	return 0;
}

static inline void root_fixture_write(const char *root, const char *name, struct str text,
				      unsigned mode)
{
	char path[512], folder[512];

	(void)snprintf(path, sizeof(path), "%s%s", root, name);
	(void)snprintf(folder, sizeof(folder), "%s", path);
	assert_int_equal(folder_make(dirname(folder), 0755, NULL), 0);
	assert_int_equal(file_write_atomic(path, text, mode, NULL), 0);
}

static inline void root_fixture_text(const char *root, const char *name, const char *text)
{
	root_fixture_write(root, name, str_from(text), 0644);
}

static inline void root_fixture_library(const char *root, const char *name, const char *soname,
					uint16_t machine)
{
	struct elf_fixture f = elf_fixture_make(soname, machine);

	root_fixture_write(root, name, str_of(&f, sizeof(f)), 0644);
}

#endif
