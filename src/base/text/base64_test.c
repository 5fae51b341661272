/*
 * The vectors of RFC 4648 section 10, then what a strict reader must refuse.
 */
#include "base/text/base64.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/random.h"

static const struct {
	const char *plain, *text;
} vectors[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

static void the_rfc_vectors_hold_in_both_directions(void **state)
{
	struct buf b = BUF_INIT(100);

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		buf_clear(&b);
		assert_int_equal(base64_encode(&b, str_from(vectors[i].plain), BASE64_STD), 0);
		assert_true(str_eqz(buf_str(&b), vectors[i].text));
		buf_clear(&b);
		assert_int_equal(base64_decode(&b, str_from(vectors[i].text), BASE64_STD, NULL), 0);
		assert_true(str_eqz(buf_str(&b), vectors[i].plain));
	}
	buf_release(&b);
}

static void the_alphabets_differ_in_two_characters(void **state)
{
	struct buf b = BUF_INIT(100);

	assert_int_equal(base64_encode(&b, STR("\xfb\xef\xff\xff"), BASE64_STD), 0);
	assert_string_equal(b.p, "++///w==");
	buf_clear(&b);
	assert_int_equal(base64_encode(&b, STR("\xfb\xef\xff\xff"), BASE64_URL_RAW), 0);
	assert_string_equal(b.p, "--___w");
	assert_int_equal(base64_decode(&b, STR("++//"), BASE64_URL, NULL), -ERR_BAD_REQUEST);
	assert_int_equal(base64_decode(&b, STR("--__"), BASE64_STD, NULL), -ERR_BAD_REQUEST);
	buf_release(&b);
}

static void encoded_bytes_decode_to_the_same_bytes(void **state)
{
	struct buf text = BUF_INIT(1000), back = BUF_INIT(1000);
	char bytes[100];
	struct prng g;

	prng_init(&g, 1);
	for (size_t n = 0; n < sizeof(bytes); n++) {
		prng_bytes(&g, bytes, n);
		for (int form = BASE64_STD; form <= BASE64_URL_RAW; form++) {
			buf_clear(&text);
			buf_clear(&back);
			assert_int_equal(base64_encode(&text, str_of(bytes, n), form), 0);
			assert_int_equal(base64_decode(&back, buf_str(&text), form, NULL), 0);
			assert_true(str_eq(buf_str(&back), str_of(bytes, n)));
		}
	}
	buf_release(&text);
	buf_release(&back);
}

static void bad_text_is_refused_and_leaves_the_buffer_alone(void **state)
{
	static const struct {
		const char *text;
		enum base64_form form;
	} bad[] = {
		{ "Zg", BASE64_STD }, /* padding missing */
		{ "Zg=", BASE64_STD },        { "Zg===", BASE64_STD },
		{ "Zg==", BASE64_STD_RAW }, /* padding not wanted */
		{ "A", BASE64_STD_RAW },      { "AAAAA", BASE64_URL_RAW },
		{ "Z", BASE64_STD_RAW },      { "Z===", BASE64_STD },
		{ "====", BASE64_STD },       { "Zm9v====", BASE64_STD },
		{ "Zg==Zg==", BASE64_STD }, /* padding inside */
		{ "Zh==", BASE64_STD }, /* trailing bits not zero */
		{ "Zm9=", BASE64_STD },       { "Zm9vZh", BASE64_URL_RAW },
		{ "Zm 9", BASE64_STD },       { "Zm9v\n", BASE64_STD_RAW },
		{ "Zm\xff\x80", BASE64_STD },
	};
	struct buf b = BUF_INIT(100);

	assert_int_equal(buf_addz(&b, "kept"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err;

		assert_int_equal(base64_decode(&b, str_from(bad[i].text), bad[i].form, &err),
				 -ERR_BAD_REQUEST);
		assert_string_equal(b.p, "kept");
		assert_int_equal(b.n, 4);
	}
	buf_release(&b);
}

static void the_error_names_the_byte(void **state)
{
	struct buf b = BUF_INIT(100);
	struct error err;

	assert_int_equal(base64_decode(&b, STR("Zm9vZ!9v"), BASE64_STD, &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, "illegal base64 data at byte 5");
	buf_release(&b);
}

static void the_limit_counts_exactly_what_is_needed(void **state)
{
	struct buf b = BUF_INIT(6);

	assert_int_equal(base64_encode(&b, STR("foob"), BASE64_STD), -ERR_TOO_LARGE);
	assert_int_equal(b.n, 0);
	assert_int_equal(base64_encode(&b, STR("foob"), BASE64_STD_RAW), 0);
	buf_clear(&b);
	assert_int_equal(base64_decode(&b, STR("Zm9vYmFyZg=="), BASE64_STD, NULL), -ERR_TOO_LARGE);
	assert_int_equal(base64_decode(&b, STR("Zm9vYmFy"), BASE64_STD, NULL), 0);
	assert_string_equal(b.p, "foobar");
	buf_clear(&b);
	assert_int_equal(base64_decode(&b, STR("Zm9vYmE="), BASE64_STD, NULL), 0);
	assert_string_equal(b.p, "fooba");
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rfc_vectors_hold_in_both_directions),
		cmocka_unit_test(the_alphabets_differ_in_two_characters),
		cmocka_unit_test(encoded_bytes_decode_to_the_same_bytes),
		cmocka_unit_test(bad_text_is_refused_and_leaves_the_buffer_alone),
		cmocka_unit_test(the_error_names_the_byte),
		cmocka_unit_test(the_limit_counts_exactly_what_is_needed),
	};

	return cmocka_run_group_tests_name("base/base64", tests, NULL, NULL);
}
