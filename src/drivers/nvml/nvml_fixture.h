/*
 * nvml_fixture - a session on the fake NVML library with its own state file, for tests.
 */
#ifndef DRIVERS_NVML_NVML_FIXTURE_H
#define DRIVERS_NVML_NVML_FIXTURE_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/system/folder_fixture.h"
#include "drivers/nvml/nvml.h"

struct nvml_fixture {
	char folder[64];
	void *library;
	int (*command)(int argc, const char *const *argv, const char **why);
	struct arena arena;
	struct nvml *nvml;
	struct nvml_gpu *gpus;
	size_t ngpus;
};

/* Runs a command of tests/fake_nvml/control.h: words, separated by one space. */
PRINTF_LIKE(2, 3) static inline void fake_do(struct nvml_fixture *f, const char *fmt, ...)
{
	const char *argv[8], *why = NULL;
	char line[256], *rest = line, *word;
	int argc = 0;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	while (argc < 8 && (word = strsep(&rest, " ")))
		argv[argc++] = word;
	if (f->command(argc, argv, &why) < 0)
		fail_msg("%s: %s", line, why);
}

/* Reads the GPUs again. */
static inline void fixture_read_gpus(struct nvml_fixture *f)
{
	struct error err = { 0 };

	if (nvml_gpus(f->nvml, &f->arena, &f->gpus, &f->ngpus, NULL, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void fixture_open_session(struct nvml_fixture *f)
{
	struct error err = { 0 };

	if (nvml_open(FAKE_NVML_LIBRARY, &f->nvml, &err) < 0)
		fail_msg("%s", err.msg);
	fixture_read_gpus(f);
}

/* Two GPUs; the library and its commands, but no session. */
static inline int fixture_begin(void **state)
{
	struct nvml_fixture *f = XNEW(struct nvml_fixture);
	char path[512];

	(void)snprintf(f->folder, sizeof(f->folder), "/tmp/devplane-nvml.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	(void)snprintf(path, sizeof(path), "%s/state", f->folder);
	(void)setenv("FAKE_NVML_STATE", path, 1);
	(void)snprintf(path, sizeof(path), "%s/root", f->folder);
	(void)setenv("FAKE_NVML_ROOT", path, 1);
	f->library = dlopen(FAKE_NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!f->library)
		fail_msg("%s", dlerror());
	*(void **)&f->command = dlsym(f->library, "fake_nvml_command");
	arena_init(&f->arena, 1 << 20);
	*state = f;
	return 0;
}

/* The same with a session. */
static inline int fixture_begin_session(void **state)
{
	(void)fixture_begin(state);
	fixture_open_session(*state);
	return 0;
}

static inline int fixture_end(void **state)
{
	struct nvml_fixture *f = *state;

	nvml_close(f->nvml);
	fake_do(f, "forget");
	(void)dlclose(f->library);
	arena_release(&f->arena);
	folder_fixture_remove(f->folder);
	free(f);
	return 0;
}

#endif
