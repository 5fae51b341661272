/*
 * Sealed values: published vectors of each primitive, and what must not open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/tls/seal.c" /* NOLINT(bugprone-suspicious-include): statics */

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)(str_hex_digit(hex[2 * i]) * 16 + str_hex_digit(hex[2 * i + 1]));
	return n;
}

/* RFC 5869, appendix A.3. */
static void hkdf_gives_the_rfcs_result(void **state UNUSED)
{
	uint8_t secret[22], root[HASH], want[HASH], got[HASH];
	static const uint8_t salt[HASH];

	memset(secret, 0x0b, sizeof(secret));
	seal_hmac(salt, sizeof(salt), str_of(secret, sizeof(secret)), root);
	seal_expand(root, STR(""), got);
	(void)from_hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d", want);
	assert_memory_equal(got, want, HASH);
}

/* McGrew and Viega, "The Galois/Counter Mode of Operation", test case 16. */
static void gcm_gives_the_papers_result(void **state UNUSED)
{
	uint8_t key[32], nonce[12], context[20], clear[60], want[76], got[76], back[60];
	struct str at;

	(void)from_hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", key);
	(void)from_hex("cafebabefacedbaddecaf888", nonce);
	(void)from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2", context);
	(void)from_hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
		       "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
		       clear);
	(void)from_hex("522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
		       "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
		       "76fc6ece0f4e1768cddf8853bb2d551b",
		       want);
	at = str_of(context, sizeof(context));
	gcm_seal(key, nonce, at, str_of(clear, sizeof(clear)), got);
	assert_memory_equal(got, want, sizeof(want));
	assert_true(gcm_open(key, nonce, at, str_of(got, 60), got + 60, back));
	assert_memory_equal(back, clear, sizeof(clear));
}

/* NaCl's tests/secretbox.c and secretbox2.c. */
static void secretbox_gives_nacls_result(void **state UNUSED)
{
	uint8_t key[32], nonce[24], text[131], clear[131], want[147], tag[TAG], back[131];

	(void)from_hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389", key);
	(void)from_hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37", nonce);
	(void)from_hex("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc"
		       "e5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31"
		       "0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde"
		       "048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f93776384864"
		       "5e0705",
		       clear);
	(void)from_hex("f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce"
		       "48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972"
		       "71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae"
		       "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b3"
		       "7973f622a43d14a6599b1f654cb45a74e355a5",
		       want);
	memcpy(text, clear, sizeof(text));
	box_seal(key, nonce, tag, text, sizeof(text));
	assert_memory_equal(tag, want, TAG);
	assert_memory_equal(text, want + TAG, sizeof(text));
	assert_true(box_open(key, nonce, tag, str_of(text, sizeof(text)), back));
	assert_memory_equal(back, clear, sizeof(clear));
}

struct form {
	void (*seal)(const struct seal_key *, struct str, struct str, char *);
	bool (*open)(const struct seal_key *, struct str, struct str, char *);
	size_t more;
};

static const struct form forms[] = {
	{ seal_gcm, seal_gcm_open, SEAL_GCM_MORE },
	{ seal_box, seal_box_open, SEAL_BOX_MORE },
};

enum { LARGEST = 300 };

static void every_length_opens_again(void **state UNUSED)
{
	CLEANUP(seal_key_free) struct seal_key *k = seal_key_random();
	char sealed[LARGEST + SEAL_BOX_MORE], clear[LARGEST], back[LARGEST];

	for (size_t i = 0; i < LARGEST; i++)
		clear[i] = (char)i;
	for (size_t f = 0; f < ARRAY_SIZE(forms); f++)
		for (size_t n = 0; n <= LARGEST; n++) {
			struct str box = str_of(sealed, n + forms[f].more);

			forms[f].seal(k, STR("here"), str_of(clear, n), sealed);
			assert_true(forms[f].open(k, STR("here"), box, back));
			assert_memory_equal(back, clear, n);
		}
}

static void changed_values_do_not_open(void **state UNUSED)
{
	CLEANUP(seal_key_free) struct seal_key *k = seal_key_random(), *other = seal_key_random();
	char sealed[5 + SEAL_BOX_MORE], back[5];

	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		struct str box = str_of(sealed, 5 + forms[f].more);

		forms[f].seal(k, STR("here"), STR("value"), sealed);
		assert_false(forms[f].open(other, STR("here"), box, back));
		assert_false(forms[f].open(k, STR("there"), box, back));
		for (size_t i = 0; i < box.n; i++) {
			sealed[i] ^= 1;
			assert_false(forms[f].open(k, STR("here"), box, back));
			sealed[i] ^= 1;
			assert_false(forms[f].open(k, STR("here"), str_of(sealed, i), back));
		}
		assert_true(forms[f].open(k, STR("here"), box, back));
	}
}

static void the_same_value_is_sealed_differently_each_time(void **state UNUSED)
{
	CLEANUP(seal_key_free) struct seal_key *k = seal_key_random();
	char one[5 + SEAL_BOX_MORE], two[5 + SEAL_BOX_MORE];

	for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
		forms[f].seal(k, STR("here"), STR("value"), one);
		forms[f].seal(k, STR("here"), STR("value"), two);
		assert_memory_not_equal(one, two, 24);
		assert_memory_not_equal(one + forms[f].more, two + forms[f].more, 5);
	}
}

static void ids_tell_keys_apart(void **state UNUSED)
{
	CLEANUP(seal_key_free) struct seal_key *a = seal_key_new(STR("0123456789abcdef"));
	CLEANUP(seal_key_free) struct seal_key *b = seal_key_new(STR("0123456789abcdef"));
	CLEANUP(seal_key_free) struct seal_key *c = seal_key_new(STR("0123456789abcdeg"));

	assert_true(str_eq(seal_key_id(a), seal_key_id(b)));
	assert_false(str_eq(seal_key_id(a), seal_key_id(c)));
	assert_true(str_eq(seal_key_secret(a), STR("0123456789abcdef")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hkdf_gives_the_rfcs_result),
		cmocka_unit_test(gcm_gives_the_papers_result),
		cmocka_unit_test(secretbox_gives_nacls_result),
		cmocka_unit_test(every_length_opens_again),
		cmocka_unit_test(changed_values_do_not_open),
		cmocka_unit_test(the_same_value_is_sealed_differently_each_time),
		cmocka_unit_test(ids_tell_keys_apart),
	};

	return cmocka_run_group_tests_name("net/tls/seal", tests, NULL, NULL);
}
