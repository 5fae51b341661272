#include "net/tls/pki_impl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "net/tls/pki.h"

#define DAY  (INT64_C(24) * 3600)
#define YEAR (365 * DAY)
/* 2030-01-01 00:00:00 UTC: not the real time, so that a forgotten clock shows. */
#define NOW INT64_C(1893456000)

static struct clock_manual test_clock(void)
{
	struct clock_manual c;

	clock_manual_init(&c, 0, NOW * CLOCK_SEC);
	return c;
}

static struct pki_ca *make_ca(void)
{
	struct clock_manual c = test_clock();
	struct pki_ca *ca = NULL;
	struct error err;

	if (pki_ca_new(STR("test-ca"), YEAR, &c.clock, &ca, &err) < 0)
		fail_msg("%s", err.msg);
	return ca;
}

static X509 *first_cert(struct str pem)
{
	STACK_OF(X509) *certs = NULL;
	struct error err;
	X509 *cert;

	if (pki_parse_certs(pem, &certs, &err) < 0)
		fail_msg("%s", err.msg);
	cert = sk_X509_shift(certs);
	x509_stack_free(certs);
	return cert;
}

/* X509_V_OK or why `cert` does not descend from `ca` at time `at` for `purpose`. */
static int verify(const struct pki_ca *ca, X509 *cert, int purpose, int64_t at)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(16 * KIB);
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_STORE *store = X509_STORE_new();
	X509 *root;
	int result;

	assert_int_equal(pki_ca_cert(ca, &pem, NULL), 0);
	root = first_cert(buf_str(&pem));
	X509_STORE_add_cert(store, root);
	X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT);
	X509_STORE_CTX_init(ctx, store, cert, NULL);
	X509_STORE_CTX_set_purpose(ctx, purpose);
	X509_STORE_CTX_set_time(ctx, 0, (time_t)at);
	result = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(root);
	return result;
}

static X509 *issue(const struct pki_ca *ca, const struct pki_leaf *leaf)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	struct clock_manual c = test_clock();
	struct error err;

	if (pki_issue(ca, leaf, &c.clock, &cert, &key, &err) < 0)
		fail_msg("%s", err.msg);
	return first_cert(buf_str(&cert));
}

static void issued_certificates_verify_for_what_they_are(void **state)
{
	static const struct str hosts[] = {
		{ "localhost", 9 }, { "*.default.svc", 13 }, { "10.0.0.1", 8 }, { "::1", 3 }
	};
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca(), *other = make_ca();
	struct pki_leaf leaf = { .common_name = STR("server"),
				 .hosts = hosts,
				 .nhosts = ARRAY_SIZE(hosts),
				 .server = true,
				 .lifetime = DAY };
	CLEANUP(X509_free) X509 *server = issue(ca, &leaf), *client = NULL, *both = NULL;

	assert_int_equal(verify(ca, server, X509_PURPOSE_SSL_SERVER, NOW), X509_V_OK);
	assert_int_equal(verify(ca, server, X509_PURPOSE_SSL_CLIENT, NOW),
			 X509_V_ERR_INVALID_PURPOSE);
	assert_int_not_equal(verify(other, server, X509_PURPOSE_SSL_SERVER, NOW), X509_V_OK);

	leaf.server = false;
	leaf.client = true;
	client = issue(ca, &leaf);
	assert_int_equal(verify(ca, client, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_OK);
	assert_int_equal(verify(ca, client, X509_PURPOSE_SSL_SERVER, NOW),
			 X509_V_ERR_INVALID_PURPOSE);

	leaf.server = true;
	both = issue(ca, &leaf);
	assert_int_equal(verify(ca, both, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_OK);
	assert_int_equal(verify(ca, both, X509_PURPOSE_SSL_SERVER, NOW), X509_V_OK);
}

static void a_certificate_names_its_hosts(void **state)
{
	static const struct str hosts[] = {
		{ "localhost", 9 }, { "*.default.svc", 13 }, { "10.0.0.1", 8 }, { "fd00::1", 7 }
	};
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("not-a-host"),
				 .hosts = hosts,
				 .nhosts = ARRAY_SIZE(hosts),
				 .server = true,
				 .lifetime = DAY };
	CLEANUP(X509_free) X509 *cert = issue(ca, &leaf);

	assert_int_equal(X509_check_host(cert, "localhost", 0, 0, NULL), 1);
	assert_int_equal(X509_check_host(cert, "kubernetes.default.svc", 0, 0, NULL), 1);
	assert_int_equal(X509_check_host(cert, "a.b.default.svc", 0, 0, NULL), 0);
	assert_int_equal(X509_check_host(cert, "not-a-host", 0, 0, NULL), 0);
	assert_int_equal(X509_check_ip_asc(cert, "10.0.0.1", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "fd00::1", 0), 1);
	assert_int_equal(X509_check_ip_asc(cert, "10.0.0.2", 0), 0);
}

static void subject_is(X509 *cert, const char *expected)
{
	CLEANUP(BIO_free) BIO *bio = BIO_new(BIO_s_mem());
	char *p;
	long n;

	X509_NAME_print_ex(bio, X509_get_subject_name(cert), 0, XN_FLAG_RFC2253);
	n = BIO_get_mem_data(bio, &p);
	assert_int_equal(n, strlen(expected));
	assert_memory_equal(p, expected, (size_t)n);
}

static void user_and_groups_stand_in_the_subject(void **state)
{
	/* Commas and equal signs stay what they are; nothing becomes a second name. */
	static const struct str groups[] = { { "system:masters", 14 }, { "a,O=b", 5 } };
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("admin"),
				 .organizations = groups,
				 .norganizations = ARRAY_SIZE(groups),
				 .client = true,
				 .lifetime = DAY };
	CLEANUP(X509_free) X509 *cert = issue(ca, &leaf);

	subject_is(cert, "CN=admin,O=a\\,O=b,O=system:masters");
}

static void a_user_s_name_may_be_longer_than_64_bytes(void **state)
{
	char name[200], expected[300];
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	CLEANUP(X509_free) X509 *cert = NULL;
	struct pki_leaf leaf = { .client = true, .lifetime = DAY };

	memset(name, 'n', sizeof(name));
	leaf.common_name = str_of(name, sizeof(name));
	cert = issue(ca, &leaf);
	(void)snprintf(expected, sizeof(expected), "CN=%.*s", (int)sizeof(name), name);
	subject_is(cert, expected);
}

static void certificates_live_from_just_before_now_to_their_end(void **state)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("u"), .client = true, .lifetime = DAY };
	CLEANUP(X509_free) X509 *cert = issue(ca, &leaf);
	int purpose = X509_PURPOSE_SSL_CLIENT;

	assert_int_equal(verify(ca, cert, purpose, NOW - PKI_BACKDATE), X509_V_OK);
	assert_int_not_equal(verify(ca, cert, purpose, NOW - PKI_BACKDATE - 1), X509_V_OK);
	assert_int_equal(verify(ca, cert, purpose, NOW + DAY - 1), X509_V_OK);
	assert_int_equal(verify(ca, cert, purpose, NOW + DAY + 1), X509_V_ERR_CERT_HAS_EXPIRED);
}

static void a_leaf_does_not_outlive_its_ca(void **state)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("u"), .client = true, .lifetime = 9 * YEAR };
	struct clock_manual c = test_clock();
	struct error err;
	int64_t end = 0;

	assert_int_equal(pki_issue(ca, &leaf, &c.clock, &cert, &key, NULL), 0);
	assert_int_equal(pki_not_after(buf_str(&cert), &end, NULL), 0);
	assert_int_equal(end, NOW + YEAR);

	c.wall_ns += YEAR * CLOCK_SEC;
	assert_int_equal(pki_issue(ca, &leaf, &c.clock, &cert, &key, &err), -ERR_EXPIRED);
}

static void serials_are_positive_random_and_of_128_bits(void **state)
{
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("u"), .client = true, .lifetime = DAY };
	CLEANUP(X509_free) X509 *a = issue(ca, &leaf), *b = issue(ca, &leaf);
	const ASN1_INTEGER *sa = X509_get0_serialNumber(a), *sb = X509_get0_serialNumber(b);

	assert_int_equal(ASN1_STRING_length((const ASN1_STRING *)sa), 16);
	assert_int_equal(ASN1_STRING_type((const ASN1_STRING *)sa), V_ASN1_INTEGER);
	assert_int_not_equal(ASN1_INTEGER_cmp(sa, sb), 0);
}

static void a_ca_read_back_from_pem_issues_for_the_same_root(void **state)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca(), *again = NULL;
	struct pki_leaf leaf = { .common_name = STR("u"), .client = true, .lifetime = DAY };
	CLEANUP(X509_free) X509 *leaf_cert = NULL;

	assert_int_equal(pki_ca_cert(ca, &cert, NULL), 0);
	assert_int_equal(pki_ca_key(ca, &key, NULL), 0);
	assert_true(str_starts(buf_str(&key), STR("-----BEGIN PRIVATE KEY-----\n")));
	assert_int_equal(pki_ca_load(buf_str(&cert), buf_str(&key), &again, NULL), 0);
	leaf_cert = issue(again, &leaf);
	assert_int_equal(verify(ca, leaf_cert, X509_PURPOSE_SSL_CLIENT, NOW), X509_V_OK);
}

static void load_refuses_what_is_no_ca(void **state)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf leaf_cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf leaf_key = BUF_INIT(16 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("u"), .client = true, .lifetime = DAY };
	struct clock_manual c = test_clock();
	struct pki_ca *loaded = NULL;
	struct error err;

	assert_int_equal(pki_ca_cert(ca, &cert, NULL), 0);
	assert_int_equal(pki_ca_key(ca, &key, NULL), 0);
	assert_int_equal(pki_issue(ca, &leaf, &c.clock, &leaf_cert, &leaf_key, NULL), 0);

	assert_int_equal(pki_ca_load(buf_str(&leaf_cert), buf_str(&leaf_key), &loaded, &err),
			 -ERR_INVALID);
	assert_string_equal(err.msg, "the certificate is not a CA's");
	assert_int_equal(pki_ca_load(buf_str(&cert), buf_str(&leaf_key), &loaded, &err),
			 -ERR_INVALID);
	assert_non_null(strstr(err.msg, "certificate and key differ"));
	assert_int_equal(pki_ca_load(buf_str(&key), buf_str(&key), &loaded, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "CA certificate: no certificate in the PEM text");
	assert_int_equal(pki_ca_load(buf_str(&cert), buf_str(&cert), &loaded, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "CA key: no private key"));
	assert_int_equal(pki_ca_load(STR_NULL, buf_str(&key), &loaded, &err), -ERR_INVALID);
	assert_null(loaded);
	assert_int_equal(ERR_peek_error(), 0);
}

static void a_broken_certificate_in_a_bundle_is_an_error(void **state)
{
	CLEANUP(buf_release) struct buf bundle = BUF_INIT(64 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	STACK_OF(X509) *certs = NULL;
	struct error err;

	for (int i = 0; i < 3; i++)
		assert_int_equal(pki_ca_cert(ca, &bundle, NULL), 0);
	assert_int_equal(pki_parse_certs(buf_str(&bundle), &certs, &err), 0);
	assert_int_equal(sk_X509_num(certs), 3);
	x509_stack_free(certs);

	bundle.p[bundle.n - 60] = '!';
	assert_int_equal(pki_parse_certs(buf_str(&bundle), &certs, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "broken certificate"));
}

static void an_encrypted_key_is_refused_without_asking(void **state)
{
	static const char pass[] = "secret";
	CLEANUP(EVP_PKEY_free) EVP_PKEY *key = EVP_EC_gen("P-256");
	CLEANUP(BIO_free) BIO *bio = BIO_new(BIO_s_mem());
	EVP_PKEY *parsed = NULL;
	struct error err;
	char *p;
	long n;

	PEM_write_bio_PKCS8PrivateKey(bio, key, EVP_aes_128_cbc(), pass, sizeof(pass) - 1, NULL,
				      NULL);
	n = BIO_get_mem_data(bio, &p);
	assert_int_equal(pki_parse_key(str_of(p, (size_t)n), &parsed, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "the private key is encrypted");
}

struct refused_row {
	struct pki_leaf leaf;
	const char *why;
};

static const struct str bad_host = { "a,DNS:b", 7 };
static const struct str nul_host = { "a\0b", 3 };
static const struct str nul_ip = { "10.0.0.1\0x", 10 };
static const struct str empty_host = { "", 0 };
static const struct str star_host = { "a*.b", 4 };

static const struct refused_row refused[] = {
	{ { .common_name = { "u", 1 }, .lifetime = DAY }, "servers or clients" },
	{ { .common_name = { "u", 1 }, .lifetime = DAY, .server = true }, "needs a host" },
	{ { .common_name = { "u", 1 }, .client = true }, "0 seconds" },
	{ { .common_name = { "u", 1 }, .client = true, .lifetime = INT64_MAX }, "seconds" },
	{ { .lifetime = DAY, .client = true }, "\"\" cannot be used" },
	{ { .common_name = { "\xff", 1 }, .lifetime = DAY, .client = true }, "cannot be used" },
	{ { .common_name = { "a\0b", 3 }, .lifetime = DAY, .client = true }, "cannot be used" },
	{ { .common_name = { "u", 1 },
	    .lifetime = DAY,
	    .server = true,
	    .hosts = &bad_host,
	    .nhosts = 1 },
	  "\"a,DNS:b\" is neither" },
	{ { .common_name = { "u", 1 },
	    .lifetime = DAY,
	    .server = true,
	    .hosts = &nul_host,
	    .nhosts = 1 },
	  "is neither" },
	{ { .common_name = { "u", 1 },
	    .lifetime = DAY,
	    .server = true,
	    .hosts = &nul_ip,
	    .nhosts = 1 },
	  "is neither" },
	{ { .common_name = { "u", 1 },
	    .lifetime = DAY,
	    .server = true,
	    .hosts = &empty_host,
	    .nhosts = 1 },
	  "is neither" },
	{ { .common_name = { "u", 1 },
	    .lifetime = DAY,
	    .server = true,
	    .hosts = &star_host,
	    .nhosts = 1 },
	  "is neither" },
};

static void issue_refuses_and_says_why(void **state)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct clock_manual c = test_clock();

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct error err = { 0 };

		assert_int_equal(pki_issue(ca, &refused[i].leaf, &c.clock, &cert, &key, &err),
				 -ERR_INVALID);
		if (!strstr(err.msg, refused[i].why))
			fail_msg("\"%s\" lacks \"%s\"", err.msg, refused[i].why);
	}
	assert_int_equal(cert.n + key.n, 0);
}

static void issue_appends_both_or_neither(void **state)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(100);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct pki_leaf leaf = { .common_name = STR("u"), .client = true, .lifetime = DAY };
	struct clock_manual c = test_clock();

	assert_int_equal(buf_addz(&cert, "before"), 0);
	assert_int_equal(pki_issue(ca, &leaf, &c.clock, &cert, &key, NULL), -ERR_TOO_LARGE);
	assert_string_equal(cert.p, "before");
	assert_int_equal(key.n, 0);
}

static void new_keys_differ_and_can_be_read(void **state)
{
	CLEANUP(buf_release) struct buf a = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	CLEANUP(EVP_PKEY_free) EVP_PKEY *key = NULL;

	assert_int_equal(pki_key_new(&a, NULL), 0);
	assert_int_equal(pki_key_new(&b, NULL), 0);
	assert_false(str_eq(buf_str(&a), buf_str(&b)));
	assert_int_equal(pki_parse_key(buf_str(&a), &key, NULL), 0);
	assert_int_equal(EVP_PKEY_get_bits(key), 256);
}

static void expect_name(const struct str *hosts, size_t n, const char *host, const char *name)
{
	CLEANUP(buf_release) struct buf cert = BUF_INIT(16 * KIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(16 * KIB);
	CLEANUP(pki_ca_free) struct pki_ca *ca = make_ca();
	struct clock_manual c = test_clock();
	struct pki_leaf leaf = { .common_name = STR("server"),
				 .hosts = hosts,
				 .nhosts = n,
				 .server = true,
				 .lifetime = DAY };
	char found[PKI_NAME_SIZE];

	assert_int_equal(pki_issue(ca, &leaf, &c.clock, &cert, &key, NULL), 0);
	assert_int_equal(pki_server_name(buf_str(&cert), host, found, NULL),
			 name ? 0 : -ERR_NOT_FOUND);
	if (name)
		assert_string_equal(found, name);
}

static void a_server_is_verified_by_a_name_that_its_certificate_has(void **state UNUSED)
{
	const struct str ours[] = { STR("api.example.com"), STR("127.0.0.1"), STR("::1") };
	const struct str foreign[] = { STR("192.0.2.1"), STR("api.example.com"), STR("b.test") };
	const struct str wild[] = { STR("*.example.com") }, address[] = { STR("192.0.2.1") };

	expect_name(ours, ARRAY_SIZE(ours), "127.0.0.1", "");
	expect_name(ours, ARRAY_SIZE(ours), "::1", "");
	expect_name(ours, ARRAY_SIZE(ours), "api.example.com", "");
	expect_name(foreign, ARRAY_SIZE(foreign), "127.0.0.1", "api.example.com");
	expect_name(wild, ARRAY_SIZE(wild), "127.0.0.1", "any.example.com");
	expect_name(wild, ARRAY_SIZE(wild), "a.example.com", "");
	expect_name(address, ARRAY_SIZE(address), "127.0.0.1", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(issued_certificates_verify_for_what_they_are),
		cmocka_unit_test(a_certificate_names_its_hosts),
		cmocka_unit_test(user_and_groups_stand_in_the_subject),
		cmocka_unit_test(a_user_s_name_may_be_longer_than_64_bytes),
		cmocka_unit_test(certificates_live_from_just_before_now_to_their_end),
		cmocka_unit_test(a_leaf_does_not_outlive_its_ca),
		cmocka_unit_test(serials_are_positive_random_and_of_128_bits),
		cmocka_unit_test(a_ca_read_back_from_pem_issues_for_the_same_root),
		cmocka_unit_test(load_refuses_what_is_no_ca),
		cmocka_unit_test(a_broken_certificate_in_a_bundle_is_an_error),
		cmocka_unit_test(an_encrypted_key_is_refused_without_asking),
		cmocka_unit_test(issue_refuses_and_says_why),
		cmocka_unit_test(issue_appends_both_or_neither),
		cmocka_unit_test(new_keys_differ_and_can_be_read),
		cmocka_unit_test(a_server_is_verified_by_a_name_that_its_certificate_has),
	};

	return cmocka_run_group_tests_name("net/pki", tests, NULL, NULL);
}
