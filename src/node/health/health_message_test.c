/*
 * Messages of plugins and drivers: length, encoding and control characters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "node/health/health_message.h"

static void messages_are_cut_between_characters(void **state UNUSED)
{
	static const struct {
		size_t ascii; /* before euro signs of three bytes each */
		size_t euros;
		size_t kept; /* bytes, dots included */
	} cases[] = {
		{ 1024, 0, 1024 }, { 1025, 0, 1024 },   { 1, 341, 1024 },
		{ 2, 341, 1022 },  { 0, 342, 1023 },    { 1, 342, 1024 },
		{ 0, 1000, 1023 }, { 0, 100000, 1023 }, { 5000, 0, 1024 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
		CLEANUP(arena_release) struct arena a;
		struct str clean;

		arena_init(&a, MIB);
		for (size_t k = 0; k < cases[i].ascii; k++)
			(void)buf_addc(&b, 'x');
		for (size_t k = 0; k < cases[i].euros; k++)
			(void)buf_addz(&b, "\xe2\x82\xac");
		clean = health_message_clean(buf_str(&b), &a);
		assert_true(str_is_utf8(clean));
		assert_true(clean.n <= RESOURCE_HEALTH_MESSAGE_MAX);
		if (clean.n < b.n)
			assert_true(str_ends(clean, STR("...")));
		if (clean.n != cases[i].kept)
			fail_msg("case %zu: %zu bytes", i, clean.n);
	}
}

static void text_is_utf8_without_control_characters(void **state UNUSED)
{
	static const struct {
		struct str in;
		const char *out;
	} cases[] = {
		{ { "too hot", 7 }, "too hot" },
		{ { "", 0 }, "" },
		{ { "a\xff\x62", 3 }, "a\xef\xbf\xbd\x62" },
		{ { "Xid 79\r\n", 8 }, "Xid 79" },
		{ { "a\tb\nc\0d\x7f", 8 }, "a b c d" },
		{ { "red \x1b[31m", 9 }, "red  [31m" },
		{ { "a\xc2\x85z", 4 }, "a z" }, /* NEL, a control character of two bytes */
		{ { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5", 9 },
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5" },
		{ { "\n\n", 2 }, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_release) struct arena a;
		struct str clean;

		arena_init(&a, MIB);
		clean = health_message_clean(cases[i].in, &a);
		if (!str_eqz(clean, cases[i].out))
			fail_msg("case %zu: \"%.*s\"", i, STR_ARG(clean));
		assert_true(str_eq(health_message_clean(clean, &a), clean));
	}
}

static void clean_messages_are_borrowed(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct str message = STR("fallen off the bus");

	arena_init(&a, MIB);
	assert_ptr_equal(health_message_clean(message, &a).p, message.p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_cut_between_characters),
		cmocka_unit_test(text_is_utf8_without_control_characters),
		cmocka_unit_test(clean_messages_are_borrowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
