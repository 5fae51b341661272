/*
 * session - loading the library, its symbols and its error codes.
 *
 * The binding needs only the symbols that open and close a session. All others are optional: an old
 * library lacks some, and the calls that need them then fail with -ERR_UNIMPLEMENTED.
 */
#include "drivers/nvml/nvml.h"

#include <dlfcn.h>

#include "base/core/mem.h"
#include "drivers/nvml/nvml_impl.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

static const struct session_code {
	int nvml;
	enum error_code code;
} session_codes[] = {
	{ NVML_CODE_NOT_SUPPORTED, ERR_UNIMPLEMENTED },
	{ NVML_CODE_FUNCTION_NOT_FOUND, ERR_UNIMPLEMENTED },
	{ NVML_CODE_VERSION_MISMATCH, ERR_UNIMPLEMENTED },
	{ NVML_CODE_NO_PERMISSION, ERR_FORBIDDEN },
	{ NVML_CODE_NOT_FOUND, ERR_NOT_FOUND },
	{ NVML_CODE_GPU_NOT_FOUND, ERR_NOT_FOUND },
	{ NVML_CODE_IN_USE, ERR_CONFLICT },
	{ NVML_CODE_INSUFFICIENT_RESOURCES, ERR_TOO_LARGE },
	{ NVML_CODE_GPU_IS_LOST, ERR_GONE },
	{ NVML_CODE_RESET_REQUIRED, ERR_GONE },
	{ NVML_CODE_UNINITIALIZED, ERR_UNAVAILABLE },
	{ NVML_CODE_DRIVER_NOT_LOADED, ERR_UNAVAILABLE },
	{ NVML_CODE_LIBRARY_NOT_FOUND, ERR_UNAVAILABLE },
	{ NVML_CODE_LIBRARY_MISMATCH, ERR_UNAVAILABLE },
};

int nvml_missing(const char *symbol, struct error *err)
{
	return error_set(err, ERR_UNIMPLEMENTED,
			 "the NVML library has no %s(); install a newer NVIDIA driver", symbol);
}

int nvml_result(const struct nvml *n, int code, const char *symbol, struct error *err)
{
	const char *text = NULL;
	enum error_code as = ERR_IO;

	if (code == NVML_CODE_SUCCESS)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(session_codes); i++) {
		if (session_codes[i].nvml == code)
			as = session_codes[i].code;
	}
	if (n->call.nvmlErrorString)
		text = n->call.nvmlErrorString(code);
	return error_set(err, as, "%s: %s (NVML code %d)", symbol, text ? text : "no text", code);
}

static void session_find_symbols(struct nvml *n)
{
#define NVML_CALL_FIND(symbol, parameters) *(void **)&n->call.symbol = dlsym(n->library, #symbol);
	NVML_CALLS(NVML_CALL_FIND)
#undef NVML_CALL_FIND
	*(void **)&n->call.nvmlErrorString = dlsym(n->library, "nvmlErrorString");
}

int64_t nvml_time(const struct nvml *n)
{
	return atomic_load(n->ns);
}

static const char *session_advice(int code)
{
	switch (code) {
	case NVML_CODE_DRIVER_NOT_LOADED:
		return "load the NVIDIA kernel module (modprobe nvidia)";
	case NVML_CODE_LIBRARY_MISMATCH:
		return "the library does not match the loaded kernel module: reboot the node, or "
		       "name the library of the module's version";
	case NVML_CODE_NO_PERMISSION:
		return "run as root, and let the process open /dev/nvidiactl";
	default:
		return NULL;
	}
}

static int session_begin(struct nvml *n, struct error *err)
{
	const char *advice;
	int code, r;

	if (!n->call.nvmlInitWithFlags || !n->call.nvmlShutdown)
		return error_set(err, ERR_UNAVAILABLE,
				 "the file is not an NVML library: it has no nvmlInitWithFlags(); "
				 "name libnvidia-ml.so.1");
	code = n->call.nvmlInitWithFlags(NVML_ABI_INIT_NO_GPUS);
	r = nvml_result(n, code, "nvmlInitWithFlags", err);
	advice = session_advice(code);
	return r < 0 && advice ? error_wrap(err, r, "%s", advice) : r;
}

static struct nvml *session_new(void)
{
	struct nvml *n = XNEW(struct nvml);

	n->ns = xcalloc(1, sizeof(*n->ns));
	return n;
}

static void session_free(struct nvml *n)
{
	free(n->ns);
	free(n);
}

int nvml_open(const char *path, struct nvml **ret, struct error *err)
{
	struct nvml *n = session_new();
	int r;

	n->library = dlopen(path ? path : NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!n->library) {
		const char *why = dlerror();

		session_free(n);
		return error_set(err, ERR_UNAVAILABLE,
				 "cannot load NVML: %s; install the NVIDIA driver, or name its "
				 "libnvidia-ml.so.1",
				 why ? why : "unknown");
	}
	session_find_symbols(n);
	r = session_begin(n, err);
	if (r < 0) {
		(void)dlclose(n->library);
		session_free(n);
		return error_wrap(err, r, "open NVML");
	}
	*ret = n;
	return 0;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	(void)n->call.nvmlShutdown();
	(void)dlclose(n->library);
	session_free(n);
}

int nvml_versions(struct nvml *n, struct arena *a, struct str *driver, int *cuda, struct error *err)
{
	char version[NVML_ABI_VERSION_SIZE] = "";
	int number = 0, r;

	r = NVML_CALL(n, err, nvmlSystemGetDriverVersion, version, sizeof(version));
	if (r == 0)
		r = NVML_CALL(n, err, nvmlSystemGetCudaDriverVersion_v2, &number);
	if (r < 0)
		return r;
	*driver = arena_str(a, str_from(version));
	*cuda = number;
	return 0;
}
