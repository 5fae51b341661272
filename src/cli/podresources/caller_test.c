/*
 * Errors of a PodResources socket as a command sees them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/podresources/caller.h"
#include "node/book/methods.h"

/* A kubelet has no code of its own for a missing pod, so only Get with UNKNOWN is read so. */
static void only_a_pod_that_get_does_not_find_is_not_found(void **state UNUSED)
{
	static const struct {
		const struct grpc_method *method;
		enum grpc_code code;
		const char *message;
		int error;
	} rows[] = {
		{ &podres_method_get, GRPC_UNKNOWN, "pod p in namespace ns not found",
		  -ERR_NOT_FOUND },
		{ &podres_method_get, GRPC_NOT_FOUND, "pod p", -ERR_NOT_FOUND },
		{ &podres_method_get, GRPC_UNKNOWN, "not found: the checkpoint", -ERR_INTERNAL },
		{ &podres_method_get, GRPC_INTERNAL, "checkpoint not found", -ERR_INTERNAL },
		{ &podres_method_get, GRPC_UNAVAILABLE, "host not found", -ERR_UNAVAILABLE },
		{ &podres_method_list, GRPC_UNKNOWN, "checkpoint not found", -ERR_INTERNAL },
	};
	struct podres_caller c = { .path = "/run/p.sock" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct grpc_status st = { rows[i].code, str_from(rows[i].message) };
		struct error err;

		assert_int_equal(podres_caller_explain(&c, rows[i].method, &st, &err),
				 rows[i].error);
		assert_int_equal(-(int)err.code, rows[i].error);
		assert_non_null(strstr(err.msg, "/run/p.sock: "));
		assert_non_null(strstr(err.msg, rows[i].message));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_pod_that_get_does_not_find_is_not_found),
	};

	return cmocka_run_group_tests_name("cli/podresources", tests, NULL, NULL);
}
