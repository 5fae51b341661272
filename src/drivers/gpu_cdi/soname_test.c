#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/gpu_cdi/soname.h"

#include "drivers/gpu_cdi/elf_fixture.h"

static bool read_bytes(void *arg, uint64_t at, void *to, size_t n)
{
	const struct str *s = arg;

	if (at > s->n || n > s->n - at)
		return false;
	memcpy(to, s->p + at, n);
	return true;
}

static int parse(const struct elf_fixture *f, size_t size, struct soname *ret, struct error *err)
{
	struct str bytes = str_of(f, size);
	struct soname_source s = { .read = read_bytes, .arg = &bytes };

	return soname_parse(&s, ret, err);
}

static void a_library_has_its_name_and_machine(void **state)
{
	struct elf_fixture f = elf_fixture_make("libcuda.so.1", EM_AARCH64);
	struct soname s;

	(void)state;
	assert_int_equal(parse(&f, sizeof(f), &s, NULL), 0);
	assert_string_equal(s.name, "libcuda.so.1");
	assert_int_equal(s.machine, EM_AARCH64);
}

static void a_cut_file_is_an_error_at_every_length(void **state)
{
	struct elf_fixture f = elf_fixture_make("libcuda.so.1", EM_X86_64);
	size_t end = offsetof(struct elf_fixture, names) + 1 + sizeof("libcuda.so.1");

	(void)state;
	for (size_t n = 0; n <= sizeof(f); n++) {
		struct error err = { .msg = "" };
		struct soname s;
		int r = parse(&f, n, &s, &err);

		assert_int_equal(r, n < end ? -ERR_INVALID : 0);
		assert_true(r == 0 || err.msg[0]);
	}
}

static void expect_fault(const struct elf_fixture *f, const char *want)
{
	struct error err = { .msg = "" };
	struct soname s;

	assert_int_equal(parse(f, sizeof(*f), &s, &err), -ERR_INVALID);
	if (!strstr(err.msg, want))
		fail_msg("\"%s\" lacks \"%s\"", err.msg, want);
}

static void unusable_names_are_errors(void **state)
{
	static const char *const names[] = {
		"", "a/b", "..", ".hidden", "a b", "a\nb", "\xc3\xa4"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct elf_fixture f = elf_fixture_make(names[i], EM_X86_64);

		expect_fault(&f, "its SONAME is not a file name");
	}
}

static void wrong_offsets_are_errors(void **state)
{
	const struct elf_fixture good = elf_fixture_make("libcuda.so.1", EM_X86_64);
	struct elf_fixture f = good;

	(void)state;
	f.head.e_phoff = UINT64_MAX - 8;
	expect_fault(&f, "program headers");
	f = good;
	f.head.e_phnum = 65535;
	expect_fault(&f, "program headers");
	f = good;
	f.segments[1].p_offset = UINT64_MAX - 16;
	expect_fault(&f, "dynamic section cannot be read");
	f = good;
	f.segments[1].p_type = PT_NULL;
	expect_fault(&f, "no dynamic section");
	f = good;
	f.dynamic[1].d_un.d_ptr = UINT64_MAX;
	expect_fault(&f, "outside the file");
	f = good;
	f.dynamic[0].d_un.d_val = UINT64_MAX;
	expect_fault(&f, "outside the file");
	f = good;
	f.segments[0].p_offset = INT64_MAX;
	expect_fault(&f, "no end");
	f = good;
	f.dynamic[0].d_tag = DT_NEEDED;
	expect_fault(&f, "no SONAME");
	f = good;
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	expect_fault(&f, "not a 64-bit shared object");
	f = good;
	memset(f.names + 1, 'a', sizeof(f.names) - 1);
	expect_fault(&f, "no end");
}

static void files_that_are_not_libraries_are_named(void **state)
{
	struct error err = { .msg = "" };
	struct soname s;

	(void)state;
	assert_int_equal(soname_read("/nonexistent/libcuda.so", &s, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "/nonexistent/libcuda.so"));
	assert_int_equal(soname_read("/dev/null", &s, &err), -ERR_INVALID);
	assert_int_equal(soname_read("/", &s, &err), -ERR_INVALID);
	assert_int_equal(soname_read("/proc/self/cmdline", &s, &err), -ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_has_its_name_and_machine),
		cmocka_unit_test(a_cut_file_is_an_error_at_every_length),
		cmocka_unit_test(unusable_names_are_errors),
		cmocka_unit_test(wrong_offsets_are_errors),
		cmocka_unit_test(files_that_are_not_libraries_are_named),
	};

	return cmocka_run_group_tests_name("soname", tests, NULL, NULL);
}
