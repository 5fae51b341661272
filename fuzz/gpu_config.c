/*
 * Any text as parameters of a GPU: a class's, and behind a NUL a claim's. Accepted parameters are
 * within their limits; every error has a message.
 */
#include "base/core/limits.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_config/config.h"
#include "target.h"

static void check_config(const struct gpu_config *c, enum gpu_config_kind kind)
{
	static const char *const uuids[] = { "GPU-a", "GPU-b" };
	struct error err = { .msg = "" };
	int64_t mib[2];

	require(c->kind == kind && c->interval <= GPU_INTERVAL_LAST);
	require(c->threads >= GPU_THREADS_UNSET && c->threads <= 100);
	require(c->nlimits <= GPU_CONFIG_LIMITS_MAX && c->memory_mib >= 0);
	if (gpu_config_limits(c, uuids, 2, mib, &err) < 0)
		require(c->nlimits > 0 && err.msg[0] != 0);
	else
		require(mib[0] >= 0 && mib[1] >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_of(data, size);
	struct gpu_config_source v[2] = { { .named = size % 2, .from_class = true },
					  { .named = false } };
	struct gpu_config c;
	struct arena a;
	size_t n = 0;

	while (n < 2 && str_split(&rest, '\0', &v[n].parameters))
		n++;
	arena_init(&a, 16 * MIB);
	for (int kind = GPU_CONFIG_GPU; kind <= GPU_CONFIG_MIG; kind++) {
		struct error err = { .msg = "" };

		if (gpu_config_choose(&a, v, n, (enum gpu_config_kind)kind, &c, &err) == 0)
			check_config(&c, (enum gpu_config_kind)kind);
		else
			require(err.code == ERR_INVALID && err.msg[0] != 0);
	}
	arena_release(&a);
	return 0;
}
