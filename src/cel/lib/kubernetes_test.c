/*
 * Tests what the cases of quantity, semver, network, url and format do not reach: their parsers,
 * printing, limits, and the order of all libraries' tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cel/cel_limits.h"
#include "cel/check/cost.h"
#include "cel/core/env.h"
#include "cel/core/ip.h"
#include "cel/core/semver.h"
#include "cel/core/url.h"
#include "cel/lib/format.h"
#include "cel/lib/libraries.h"

static void overloads_are_in_byte_order(void **state)
{
	(void)state;
	for (size_t i = 0; cel_libraries_all[i]; i++) {
		const struct cel_library *lib = cel_libraries_all[i];

		for (size_t k = 1; k < lib->n; k++)
			if (strcmp(lib->overloads[k - 1].function, lib->overloads[k].function) > 0)
				fail_msg("%s: %s is behind %s", lib->name,
					 lib->overloads[k].function,
					 lib->overloads[k - 1].function);
	}
}

/* Binary search needs the tables of costs sorted: each of these is found. */
static void calls_that_cost_more_than_one_are_known(void **state)
{
	static const struct cel_overload calls[] = {
		{ .function = "sort", .id = "list_bool_sort" },
		{ .function = "lists.range", .id = "lists_range" },
		{ .function = "sets.equivalent", .id = "list_sets_equivalent_list" },
		{ .function = "_==_", .id = "equals" },
		{ .function = "cidr", .id = "string_to_cidr" },
		{ .function = "ip", .id = "string_to_ip" },
		{ .function = "indexOf", .id = "list_a_index_of_int" },
		{ .function = "validate", .id = "format-validate" },
		{ .function = "_+_", .id = "add_bytes" },
		{ .function = "_!=_", .id = "not_equals" },
		{ .function = "strings.quote", .id = "strings_quote" },
		{ .function = "@in", .id = "in_list" },
	};
	static const struct cel_overload cheap[] = {
		{ .function = "ip", .id = "cidr_ip" },
		{ .function = "_+_", .id = "add_int64" },
		{ .function = "@in", .id = "in_map" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (!cel_call_cost_find(&calls[i]))
			fail_msg("%s", calls[i].id);
	for (size_t i = 0; i < ARRAY_SIZE(cheap); i++)
		if (cel_call_cost_find(&cheap[i]))
			fail_msg("%s", cheap[i].id);
	assert_non_null(cel_call_cost_dynamic("_!=_"));
	assert_null(cel_call_cost_dynamic("_+_"));
}

static void versions_print_as_they_were_read(void **state)
{
	static const char *const texts[] = { "1.2.3", "0.0.0-rc.1", "1.2.3+b.01",
					     "18446744073709551615.0.1-a-b+c-d" };
	struct buf out = BUF_INIT(1024);
	struct cel_semver v;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		buf_clear(&out);
		assert_return_code(cel_semver_parse(str_from(texts[i]), false, &v, &err), 0);
		cel_semver_print(&v, &out);
		assert_string_equal(out.p, texts[i]);
	}
	buf_release(&out);
}

static int compare_versions(const char *a, const char *b)
{
	struct cel_semver x, y;

	assert_return_code(cel_semver_parse(str_from(a), false, &x, NULL), 0);
	assert_return_code(cel_semver_parse(str_from(b), false, &y, NULL), 0);
	return cel_semver_cmp(&x, &y);
}

/* Each is less than all behind it. */
static void versions_have_a_total_order(void **state)
{
	static const char *const sorted[] = {
		"0.9.9",   "1.0.0-0",     "1.0.0-2",       "1.0.0-11",         "1.0.0-11.0",
		"1.0.0--", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
		"1.0.0",   "1.0.1",       "1.2.0",         "1.10.0",           "2.0.0-a",
		"10.0.0",
	};
	size_t n = ARRAY_SIZE(sorted);

	(void)state;
	for (size_t at = 0; at < n * n; at++) {
		size_t i = at / n, k = at % n;

		if (compare_versions(sorted[i], sorted[k]) != (i > k) - (i < k))
			fail_msg("%s and %s", sorted[i], sorted[k]);
	}
}

static void prefixes_know_what_they_cover(void **state)
{
	struct cel_address cidr, ip;

	(void)state;
	for (unsigned bits = 0; bits <= 32; bits++) {
		char text[32];

		(void)snprintf(text, sizeof(text), "255.255.255.255/%u", bits);
		assert_return_code(cel_cidr_parse(str_from(text), &cidr, NULL), 0);
		assert_int_equal(cidr.bits, bits);
		assert_int_equal(cidr.masked, bits == 32);
		assert_int_equal(cel_cidr_size(&cidr), (bits + 7) / 8);
		assert_return_code(cel_ip_parse(STR("255.255.255.254"), false, &ip, NULL), 0);
		assert_int_equal(cel_address_matches(&cidr, &ip, bits), bits < 32);
		assert_return_code(cel_ip_parse(STR("127.255.255.255"), false, &ip, NULL), 0);
		assert_int_equal(cel_address_matches(&cidr, &ip, bits), bits == 0);
	}
	assert_return_code(cel_ip_parse(STR("::"), false, &ip, NULL), 0);
	assert_false(cel_address_matches(&cidr, &ip, 0));
	assert_int_equal(cel_ip_size(&ip), 16);
}

static void urls_have_one_text(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "HTTP://Host:1/a", "http://Host:1/a" },
		{ "http://u:p%40@h/ b", "http://u:p%40@h/%20b" },
		{ "http://us%20er@h", "http://us%20er@h" },
		{ "http://h?", "http://h?" },
		{ "http://h?a=b#c d", "http://h?a=b#c%20d" },
		{ "http://h/#", "http://h/" },
		{ "http:/a", "http:/a" },
		{ "http:///a", "http:///a" },
		{ "mailto:a@b", "mailto:a@b" },
		{ "/a%2Fb?c", "/a%2Fb?c" },
		{ "//h/a", "//h/a" },
		{ "*", "*" },
		{ "http://[::1%25a]:1/", "http://[::1%25a]:1/" },
	};
	struct cel_url url;
	struct arena a;
	struct error err;

	(void)state;
	arena_init(&a, CEL_SCRATCH_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (cel_url_parse(&a, str_from(rows[i].in), &url, &err) < 0)
			fail_msg("%s: %s", rows[i].in, err.msg);
		if (!str_eqz(url.text, rows[i].out))
			fail_msg("%s: %.*s", rows[i].in, STR_ARG(url.text));
	}
	arena_release(&a);
}

/* Every byte is escaped, in every part: the block that parts are written to holds it. */
static void a_url_of_escapes_alone_has_room(void **state)
{
	char text[3 * 400 + 16], *at = text;
	struct cel_url url;
	struct arena a;

	(void)state;
	at += snprintf(at, 16, "x://");
	for (int i = 0; i < 100; i++)
		at = stpcpy(at, "%3A");
	*at++ = '@';
	for (int i = 0; i < 100; i++)
		at = stpcpy(at, "\xc3\xa4");
	*at++ = '/';
	for (int i = 0; i < 100; i++)
		at = stpcpy(at, "\xc3 ");
	*at++ = '#';
	for (int i = 0; i < 100; i++)
		at = stpcpy(at, "\xc3\"");
	arena_init(&a, CEL_SCRATCH_MAX);
	assert_return_code(cel_url_parse(&a, str_from(text), &url, NULL), 0);
	assert_int_equal(url.path.n, 1 + 100 * 6);
	assert_int_equal(url.text.n, 4 + 300 + 1 + 600 + 601 + 1 + 600);
	arena_release(&a);
	arena_init(&a, 1000);
	assert_int_equal(cel_url_parse(&a, str_from(text), &url, NULL), -ERR_TOO_LARGE);
	arena_release(&a);
}

static void formats_are_found_by_name(void **state)
{
	struct names_faults faults = { .n = 0 };
	const struct cel_named_format *format = cel_named_format_find(STR("dns1123LabelPrefix"));
	char name[400];
	struct error err;

	(void)state;
	assert_non_null(format);
	assert_string_equal(format->name, "DNS1123LabelPrefix");
	assert_null(cel_named_format_find(STR("DNS1123Label")));
	/* Too long to be masked: still only too long. */
	memset(name, 'a', sizeof(name));
	format->find_faults(str_of(name, sizeof(name)), &faults, &err);
	assert_int_equal(faults.n, 1);
	assert_string_equal(faults.text[0], "must be no more than 63 characters");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overloads_are_in_byte_order),
		cmocka_unit_test(calls_that_cost_more_than_one_are_known),
		cmocka_unit_test(versions_print_as_they_were_read),
		cmocka_unit_test(versions_have_a_total_order),
		cmocka_unit_test(prefixes_know_what_they_cover),
		cmocka_unit_test(urls_have_one_text),
		cmocka_unit_test(a_url_of_escapes_alone_has_room),
		cmocka_unit_test(formats_are_found_by_name),
	};

	return cmocka_run_group_tests_name("cel/lib_kubernetes", tests, NULL, NULL);
}
