/*
 * Paths of sockets, with the kernel's limit in mind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/prepare/socket_path.h"

#include "base/core/limits.h"

static const char *const uid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

static void names_are_upstreams(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * KIB);

	assert_int_equal(socket_path_registry("/r", "gpu.example.com", NULL, &b, NULL), 0);
	assert_string_equal(b.p, "/r/plugins_registry/gpu.example.com-reg.sock");
	buf_clear(&b);
	assert_int_equal(socket_path_dra("/r", "gpu.example.com", NULL, &b, NULL), 0);
	assert_string_equal(b.p, "/r/plugins/gpu.example.com/dra.sock");
	buf_clear(&b);
	assert_int_equal(socket_path_dra("/r", "gpu.example.com", "u", &b, NULL), 0);
	assert_string_equal(b.p, "/r/plugins/gpu.example.com/dra-u.sock");
	buf_clear(&b);
	assert_int_equal(socket_path_plugin("/r", "gpu", &b, NULL), 0);
	assert_string_equal(b.p, "/r/device-plugins/gpu.sock");
}

/* Hashes as printf '%s' UID | sha256sum | head -c N | base64url says. */
static void the_first_form_that_fits_is_taken(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * KIB);
	char root[128] = "/";
	size_t lengths[3];
	struct error err;

	assert_int_equal(socket_path_registry("/r", "d", uid, &b, NULL), 0);
	assert_string_equal(b.p,
			    "/r/plugins_registry/d-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0-reg.sock");
	memset(root + 1, 'x', sizeof(root) - 2);
	for (int form = 0; form < 3; form++) {
		/* The longest folder with which this form still fits. */
		static const size_t tails[] = { 36, 11, 0 };
		size_t name = form == 2 ? 4 + 22 : 40 + 1 + tails[form];

		lengths[form] = SOCKET_PATH_MAX - strlen("/plugins_registry/-reg.sock") - name;
	}
	for (int form = 0; form < 3; form++) {
		char driver[41] = { 0 };

		memset(driver, 'd', 40);
		root[lengths[form]] = 0;
		assert_int_equal(socket_path_registry(root, driver, uid, &b, NULL), 0);
		assert_int_equal(b.n, SOCKET_PATH_MAX);
		root[lengths[form]] = 'x';
		root[lengths[form] + 1] = 0;
		if (form < 2) {
			assert_int_equal(socket_path_registry(root, driver, uid, &b, NULL), 0);
			assert_true(b.n < SOCKET_PATH_MAX);
		} else {
			assert_int_equal(socket_path_registry(root, driver, uid, &b, &err),
					 -ERR_INVALID);
			assert_non_null(strstr(err.msg, "shorter"));
		}
		root[lengths[form] + 1] = 'x';
	}
}

static void hashes_are_upstreams(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * KIB);
	char root[80] = "/";

	memset(root + 1, 'x', 44);
	assert_int_equal(socket_path_registry(root, "gpu.example.com", uid, &b, NULL), 0);
	assert_non_null(strstr(b.p, "/gpu.example.com-QO1xzFD7RMY-reg.sock"));
	memset(root + 1, 'x', 53);
	assert_int_equal(socket_path_registry(root, "gpu.example.com", uid, &b, NULL), 0);
	assert_non_null(strstr(b.p, "/dra-9xG0YBdH_4OyFzGB74_isQ-reg.sock"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_upstreams),
		cmocka_unit_test(the_first_form_that_fits_is_taken),
		cmocka_unit_test(hashes_are_upstreams),
	};

	return cmocka_run_group_tests_name("drivers/socket_path", tests, NULL, NULL);
}
