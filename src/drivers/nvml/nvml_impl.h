/*
 * nvml_impl - the session's insides, shared by the files that call NVML.
 */
#ifndef DRIVERS_NVML_NVML_IMPL_H
#define DRIVERS_NVML_NVML_IMPL_H

#include <stdatomic.h>

#include "base/core/clock.h"
#include "drivers/nvml/abi.h"
#include "drivers/nvml/nvml.h"

/* One function pointer per symbol, under the symbol's name; NULL: the library does not have it. */
#define NVML_CALL_POINTER(symbol, parameters) int(*symbol) parameters;
struct nvml_calls {
	NVML_CALLS(NVML_CALL_POINTER)
	const char *(*nvmlErrorString)(int code);
};
#undef NVML_CALL_POINTER

struct nvml {
	void *library;
	struct nvml_calls call;
	atomic_int_least64_t *ns; /* spent in calls; behind a pointer, as all else is const */
};

/* 0 for NVML_CODE_SUCCESS; else sets an error that names the call and NVML's text. */
int nvml_result(const struct nvml *n, int code, const char *symbol, struct error *err);
int nvml_missing(const char *symbol, struct error *err);

/* The call's code; its time is counted. */
#define NVML_TIMED(n, ...)                                                               \
	__extension__({                                                                  \
		int64_t nvml_begun = clock_monotonic(clock_system());                    \
		int nvml_code = (__VA_ARGS__);                                           \
		atomic_fetch_add((n)->ns, clock_monotonic(clock_system()) - nvml_begun); \
		nvml_code;                                                               \
	})

/* Calls a symbol, and returns 0 or an error as nvml.h lists them. */
#define NVML_CALL(n, err, symbol, ...)                                                       \
	((n)->call.symbol ? nvml_result((n), NVML_TIMED((n), (n)->call.symbol(__VA_ARGS__)), \
					#symbol, (err))                                      \
			  : nvml_missing(#symbol, (err)))

#endif
