/*
 * Any bytes as the end of a container's log, which the container decides, and as the name of an
 * image.
 */
#include "node/node_limits.h"
#include "node/runtime/cri_image.h"
#include "node/runtime/cri_log.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of(data, size), name, again;
	struct arena a;
	struct error err = { 0 };

	arena_init(&a, SIZE_MAX);
	require(cri_log_tail(text, &a).n <= TERMINATION_LOG_MAX);
	if (cri_image_full(text, &a, &name, &err) < 0) {
		require(err.code == ERR_INVALID && err.msg[0]);
	} else {
		/* A whole name stays as it is. */
		require(cri_image_full(name, &a, &again, &err) == 0 && str_eq(name, again));
		require(cri_image_name(name, &a, &again, &err) == 0 && str_eq(name, again));
	}
	arena_release(&a);
	return 0;
}
