/* The book's file: it reads back what was written, and a damaged file is an error with advice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_prepare/book.h"

struct test {
	char dir[64], path[96];
	struct gpu_book book;
	struct error err;
};

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/gpu-book-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->path, sizeof(t->path), "%s/a/b/book.json", t->dir);
	assert_int_equal(gpu_book_open(&t->book, t->path, "boot-1", &t->err), 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	gpu_book_release(&t->book);
	folder_fixture_remove(t->dir);
	free(t);
	return 0;
}

static int reopen(struct test *t, const char *boot)
{
	gpu_book_release(&t->book);
	return gpu_book_open(&t->book, t->path, boot, &t->err);
}

static const struct gpu_use partition = { .claim_uid = "uid-1",
					  .claim_ns = "default",
					  .claim_name = "claim \"1\"",
					  .device = "gpu-0-mig-1g18gb-19-6",
					  .gpu = "GPU-a",
					  .kind = GPU_MIG,
					  .done = true,
					  .profile = 19,
					  .slices = 1,
					  .place = { 6, 1 },
					  .gi = 9,
					  .ci = 0,
					  .uuid = "MIG-x" };

static void save_some(struct test *t)
{
	struct gpu_use full = { .claim_uid = "uid-2",
				.claim_ns = "n",
				.claim_name = "c",
				.device = "gpu-1",
				.gpu = "GPU-b",
				.claim_pod = "p",
				.exclusive = true,
				.shared = true,
				.abandoned = true };

	assert_true(vec_push(&t->book.uses, partition));
	assert_true(vec_push(&t->book.uses, full));
	assert_true(gpu_book_set_switched(&t->book, STR("GPU-a"), GPU_MODE_MIG, true));
	assert_true(gpu_book_set_switched(&t->book, STR("GPU-b"), GPU_MODE_EXCLUSIVE, true));
	assert_int_equal(gpu_book_save(&t->book, &t->err), 0);
}

static void uses_are_read_as_they_were_written(void **state)
{
	struct test *t = *state;
	const struct gpu_use *u;

	save_some(t);
	assert_int_equal(reopen(t, "boot-1"), 0);
	assert_int_equal(t->book.uses.n, 2);
	u = gpu_book_find(&t->book, STR("uid-1"), "gpu-0-mig-1g18gb-19-6");
	assert_non_null(u);
	assert_memory_equal(u, &partition, sizeof(partition));
	u = gpu_book_find(&t->book, STR("uid-2"), "gpu-1");
	assert_true(u->shared && !u->done && u->abandoned && u->exclusive);
	assert_string_equal(u->claim_pod, "p");
	assert_int_equal(u->kind, GPU_FULL);
	assert_null(gpu_book_find(&t->book, STR("uid-2"), "gpu-0"));
	assert_true(gpu_book_switched(&t->book, STR("GPU-a"), GPU_MODE_MIG));
	assert_false(gpu_book_switched(&t->book, STR("GPU-a"), GPU_MODE_EXCLUSIVE));
	assert_false(gpu_book_switched(&t->book, STR("GPU-b"), GPU_MODE_MIG));
	assert_true(gpu_book_switched(&t->book, STR("GPU-b"), GPU_MODE_EXCLUSIVE));
}

static void an_earlier_boot_leaves_only_the_modes(void **state)
{
	struct test *t = *state;

	save_some(t);
	assert_int_equal(reopen(t, "boot-2"), 0);
	assert_int_equal(t->book.uses.n, 0);
	assert_true(gpu_book_switched(&t->book, STR("GPU-a"), GPU_MODE_MIG));
}

static void write_book(struct test *t, const char *text)
{
	assert_int_equal(gpu_book_save(&t->book, &t->err), 0);
	assert_int_equal(file_write_atomic(t->path, str_from(text), 0600, &t->err), 0);
}

#define USE(more)                                                                      \
	"{\"version\":1,\"bootID\":\"boot-1\",\"uses\":[{\"claimUID\":\"u\","          \
	"\"claimNamespace\":\"n\",\"claimName\":\"c\",\"device\":\"d\",\"gpu\":\"g\"," \
	"\"kind\":\"mig\",\"profile\":19,\"slices\":1,\"start\":0,\"size\":1" more "}]}"

static void members_of_a_newer_driver_are_ignored(void **state)
{
	struct test *t = *state;

	write_book(t, USE(",\"colour\":{\"red\":1}"));
	assert_int_equal(reopen(t, "boot-1"), 0);
	assert_int_equal(t->book.uses.n, 1);
	assert_false(t->book.uses.v[0].done);
}

static void a_damaged_file_is_an_error_with_advice(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "is damaged" },
		{ "{\"version\":1", "is damaged" },
		{ "[]", "its version is not 1" },
		{ "{\"version\":2,\"bootID\":\"boot-1\",\"uses\":[]}", "its version is not 1" },
		{ "{\"version\":1,\"bootID\":\"boot-1\"}", "uses is missing" },
		{ USE(",\"claimUID\":5"), "uses[0]: claimUID is missing" },
		{ USE(",\"kind\":\"x\""), "kind is missing or unknown" },
		{ USE(",\"start\":-1"), "start is missing or not a number" },
		{ USE(",\"done\":true"), "gi is missing" },
		{ USE(",\"device\":\"a\\u0000b\""), "device is missing or too long" },
	};
	struct test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP(buf_release) struct buf kept = BUF_INIT(64 * KIB);

		write_book(t, bad[i].text);
		assert_int_equal(reopen(t, "boot-1"), -ERR_INVALID);
		if (!strstr(t->err.msg, bad[i].says) || !strstr(t->err.msg, t->path))
			fail_msg("%s: %s", bad[i].text, t->err.msg);
		assert_non_null(strstr(t->err.msg, "Restore the file; or drain the node"));
		assert_non_null(strstr(t->err.msg, "delete the file"));
		assert_int_equal(file_read(t->path, &kept, &t->err), 0);
		assert_true(str_eqz(buf_str(&kept), bad[i].text));
		t->err = (struct error){ 0 };
		assert_int_equal(gpu_book_open(&t->book, "/nonexistent/x", "boot-1", &t->err), 0);
		assert_int_equal(t->err.code, ERR_OK);
		free(t->book.path);
		t->book.path = str_dup(str_from(t->path));
	}
}

static void a_full_book_still_fits_its_file(void **state)
{
	struct test *t = *state;
	struct gpu_use u = partition;

	memset(u.claim_name, 'n', 253);
	memset(u.claim_ns, 's', 63);
	memset(u.claim_uid, 'u', 36);
	memset(u.gpu, 'g', 40);
	memset(u.uuid, 'm', 60);
	while (t->book.uses.n < GPU_USES_MAX)
		assert_true(vec_push(&t->book.uses, u));
	assert_false(vec_push(&t->book.uses, u));
	assert_int_equal(gpu_book_save(&t->book, &t->err), 0);
	assert_int_equal(reopen(t, "boot-1"), 0);
	assert_int_equal(t->book.uses.n, GPU_USES_MAX);
}

#define BOOK_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOOK_TEST(uses_are_read_as_they_were_written),
		BOOK_TEST(an_earlier_boot_leaves_only_the_modes),
		BOOK_TEST(members_of_a_newer_driver_are_ignored),
		BOOK_TEST(a_damaged_file_is_an_error_with_advice),
		BOOK_TEST(a_full_book_still_fits_its_file),
	};

	return cmocka_run_group_tests_name("drivers/gpu_book", tests, NULL, NULL);
}
