/*
 * session - opening and closing, faults, handles, versions and texts.
 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A handle is the address of a byte in this table, so that it can be read back. */
static char handles[FAKE_HANDLES][FAKE_GPUS][FAKE_GI_IDS][FAKE_CIS];
static _Atomic int sessions;

void *fake_handle_of(struct fake_ref r)
{
	return &handles[r.kind][r.gpu][r.gi][r.ci];
}

bool fake_handle_read(const void *handle, struct fake_ref *r)
{
	uintptr_t first = (uintptr_t)&handles[0][0][0][0], at = (uintptr_t)handle - first;

	if ((uintptr_t)handle < first || at >= sizeof(handles))
		return false;
	r->ci = at % FAKE_CIS;
	r->gi = at / FAKE_CIS % FAKE_GI_IDS;
	r->gpu = at / FAKE_CIS / FAKE_GI_IDS % FAKE_GPUS;
	r->kind = (enum fake_handle)(at / FAKE_CIS / FAKE_GI_IDS / FAKE_GPUS);
	return true;
}

/* --- faults ---------------------------------------------------------------------------------- */

static struct fake_fault *find_fault(struct fake_state *s, const char *symbol, enum fake_kind kind)
{
	for (size_t i = 0; i < FAKE_FAULTS; i++) {
		struct fake_fault *f = &s->faults[i];

		if (f->kind == kind &&
		    (strcmp(f->call, symbol) == 0 || strcmp(f->call, "all") == 0))
			return f;
	}
	return NULL;
}

static void count_fault(struct fake_fault *f)
{
	if (f->count > 0 && --f->count == 0)
		f->kind = FAKE_NO_FAULT;
}

static void wait_while_hanging(struct fake_state *s, const char *symbol)
{
	s->hanging++;
	fake_changed(s);
	while (find_fault(s, symbol, FAKE_HANG))
		fake_wait(s, atomic_load(&s->changes), -1);
	s->hanging--;
	fake_changed(s);
}

static void wait_slowly(struct fake_state *s, struct fake_fault *f)
{
	struct timespec t = { .tv_sec = f->code / 1000, .tv_nsec = f->code % 1000 * 1000000 };

	count_fault(f);
	fake_unlock();
	(void)nanosleep(&t, NULL);
	(void)fake_lock();
}

/* Under the lock. Returns the code that the call should return instead, or 0. */
static int apply_faults(struct fake_state *s, const char *symbol)
{
	struct fake_fault *f;
	int code;

	if (find_fault(s, symbol, FAKE_HANG))
		wait_while_hanging(s, symbol);
	f = find_fault(s, symbol, FAKE_SLOW);
	if (f)
		wait_slowly(s, f);
	f = find_fault(s, symbol, FAKE_CRASH_BEFORE);
	if (f) {
		count_fault(f);
		_exit(1);
	}
	f = find_fault(s, symbol, FAKE_FAIL);
	if (!f)
		return NVML_CODE_SUCCESS;
	code = (int)f->code;
	count_fault(f);
	return code;
}

int fake_begin(const char *symbol, struct fake_state **s)
{
	int code;

	if (atomic_load(&sessions) == 0)
		return NVML_CODE_UNINITIALIZED;
	*s = fake_lock();
	code = apply_faults(*s, symbol);
	if (code != NVML_CODE_SUCCESS)
		fake_unlock();
	return code;
}

int fake_end(const char *symbol, int code)
{
	struct fake_state *s = fake_lock_held();
	struct fake_fault *f = find_fault(s, symbol, FAKE_CRASH_AFTER);

	if (f) {
		count_fault(f);
		_exit(1);
	}
	fake_unlock();
	return code;
}

int fake_begin_gpu(const char *symbol, void *device, struct fake_state **s, struct fake_gpu **g)
{
	struct fake_ref r;
	int code = fake_begin(symbol, s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!fake_handle_read(device, &r) || r.kind != FAKE_GPU || r.gpu >= (*s)->gpus_n)
		return fake_end(symbol, NVML_CODE_INVALID_ARGUMENT);
	*g = &(*s)->gpus[r.gpu];
	return (*g)->lost ? fake_end(symbol, (int)(*g)->lost) : NVML_CODE_SUCCESS;
}

/* --- calls ----------------------------------------------------------------------------------- */

int nvmlInitWithFlags(unsigned int flags)
{
	struct fake_state *s;
	int code;

	if (!fake_open())
		return NVML_CODE_DRIVER_NOT_LOADED;
	s = fake_lock();
	code = apply_faults(s, __func__);
	if (code == NVML_CODE_SUCCESS && s->gpus_n == 0 && !(flags & NVML_ABI_INIT_NO_GPUS))
		code = NVML_CODE_GPU_NOT_FOUND;
	if (code == NVML_CODE_SUCCESS) {
		atomic_fetch_add(&sessions, 1);
		fake_files_init(s);
	}
	return fake_end(__func__, code);
}

int nvmlShutdown(void)
{
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	atomic_fetch_sub(&sessions, 1);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

const char *nvmlErrorString(int code)
{
	static const struct {
		int code;
		const char *text;
	} texts[] = {
		{ NVML_CODE_UNINITIALIZED, "Uninitialized" },
		{ NVML_CODE_INVALID_ARGUMENT, "Invalid Argument" },
		{ NVML_CODE_NOT_SUPPORTED, "Not Supported" },
		{ NVML_CODE_NO_PERMISSION, "Insufficient Permissions" },
		{ NVML_CODE_NOT_FOUND, "Not Found" },
		{ NVML_CODE_INSUFFICIENT_SIZE, "Insufficient Size" },
		{ NVML_CODE_DRIVER_NOT_LOADED, "Driver Not Loaded" },
		{ NVML_CODE_TIMEOUT, "Timeout" },
		{ NVML_CODE_GPU_IS_LOST, "GPU is lost" },
		{ NVML_CODE_RESET_REQUIRED, "GPU requires reset" },
		{ NVML_CODE_LIBRARY_MISMATCH, "Driver/library version mismatch" },
		{ NVML_CODE_IN_USE, "In use by another client" },
		{ NVML_CODE_INSUFFICIENT_RESOURCES, "Insufficient Resources" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].code == code)
			return texts[i].text;
	}
	return "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *version, unsigned int size)
{
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	(void)snprintf(version, size, "580.159.04");
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	*version = 13000;
	return fake_end(__func__, NVML_CODE_SUCCESS);
}
