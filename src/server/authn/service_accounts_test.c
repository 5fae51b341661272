#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "net/net_limits.h"
#include "net/tls/jwt.h"
#include "net/tls/jwt_fixture.h"
#include "net/tls/pki.h"
#include "server/authn/service_accounts.h"
#include "server/authn/token_claims.h"
#include "server/core/options.h"

#define NOW INT64_C(1893456000) /* 2030-01-01 */

/* A data folder with a pki folder, as bootstrap_ca() leaves it. */
struct folder {
	char dir[64];
	struct server_opts opts;
	struct arena arena;
};

static const char *path_in(struct folder *f, const char *name)
{
	return arena_printf(&f->arena, "%s/%s", f->dir, name);
}

static int set_up(void **state)
{
	struct folder *f = calloc(1, sizeof(*f));

	(void)snprintf(f->dir, sizeof(f->dir), "/tmp/service_accounts_test.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	arena_init(&f->arena, SIZE_MAX);
	assert_int_equal(mkdir(path_in(f, "pki"), 0700), 0);
	f->opts = (struct server_opts){ .data_dir = f->dir };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "pki/sa.key", "old.pem", "new.pem" };
	struct folder *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlink(path_in(f, files[i]));
	assert_int_equal(rmdir(path_in(f, "pki")), 0);
	assert_int_equal(rmdir(f->dir), 0);
	arena_release(&f->arena);
	free(f);
	return 0;
}

static struct service_accounts *load(struct folder *f)
{
	struct service_accounts *s = NULL;
	struct error err;

	if (service_accounts_load(&f->opts, &s, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static const struct str audience[] = { { "https://api", 11 } };

static struct token_claims some_claims(void)
{
	return (struct token_claims){
		.binding = { .ns = STR("ns"),
			     .account = STR("sa"),
			     .account_uid = STR("sa-uid"),
			     .pod = STR("pod"),
			     .pod_uid = STR("pod-uid"),
			     .node = STR("node"),
			     .node_uid = STR("node-uid") },
		.jti = STR("jti"),
		.audiences = audience,
		.naudiences = 1,
		.issued_s = NOW,
		.not_before_s = NOW,
		.expires_s = NOW + 3600,
	};
}

static struct str issue(struct folder *f, const struct service_accounts *s, struct token_claims c)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(JWT_MAX);

	assert_int_equal(service_accounts_issue(s, &c, &out, NULL), 0);
	return arena_str(&f->arena, buf_str(&out));
}

static void assert_verifies(struct folder *f, const struct service_accounts *s, struct str token)
{
	struct token_claims c;
	struct error err = { 0 };

	if (service_accounts_verify(s, token, NOW, &f->arena, &c, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_refused(struct folder *f, const struct service_accounts *s, struct str token,
			   int64_t now, const char *why)
{
	struct token_claims c;
	struct error err = { 0 };

	assert_int_equal(service_accounts_verify(s, token, now, &f->arena, &c, &err),
			 -ERR_UNAUTHORIZED);
	assert_string_equal(err.msg, why);
}

/* A token with any payload, signed by the folder's key; `header` NULL: a correct one. */
static struct str forge(struct folder *f, const char *payload)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(JWT_MAX);
	CLEANUP(pki_key_free) struct pki_key *key = NULL;

	assert_int_equal(file_read(path_in(f, "pki/sa.key"), &pem, NULL), 0);
	assert_int_equal(pki_key_load_private(buf_str(&pem), &key, NULL), 0);
	assert_int_equal(jwt_print(key, str_from(payload), &out, NULL), 0);
	return arena_str(&f->arena, buf_str(&out));
}

static void the_key_is_made_once_and_for_its_owner_alone(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *first = load(f);
	CLEANUP(service_accounts_free) struct service_accounts *second = load(f);
	struct stat st;

	assert_int_equal(stat(path_in(f, "pki/sa.key"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_verifies(f, second, issue(f, first, some_claims()));
}

static void a_token_says_what_upstreams_say(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = load(f);
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * KIB);
	struct token_claims c = some_claims();

	c.warn_after_s = NOW + 60;
	c.issuer = service_accounts_issuer(s);
	assert_int_equal(token_claims_print(&c, &out), 0);
	assert_string_equal(
		out.p, "{\"aud\":[\"https://api\"],\"exp\":1893459600,\"iat\":1893456000,"
		       "\"iss\":\"https://kubernetes.default.svc.cluster.local\",\"jti\":\"jti\","
		       "\"kubernetes.io\":{\"namespace\":\"ns\","
		       "\"node\":{\"name\":\"node\",\"uid\":\"node-uid\"},"
		       "\"pod\":{\"name\":\"pod\",\"uid\":\"pod-uid\"},"
		       "\"serviceaccount\":{\"name\":\"sa\",\"uid\":\"sa-uid\"},"
		       "\"warnafter\":1893456060},"
		       "\"nbf\":1893456000,\"sub\":\"system:serviceaccount:ns:sa\"}");
}

static void a_token_makes_a_user_with_groups_and_extras(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = load(f);
	struct token_claims c;
	struct user u;

	assert_int_equal(
		service_accounts_verify(s, issue(f, s, some_claims()), NOW, &f->arena, &c, NULL),
		0);
	token_claims_user(&c, &f->arena, &u);
	assert_true(str_eqz(u.name, "system:serviceaccount:ns:sa"));
	assert_true(str_eqz(u.uid, "sa-uid"));
	assert_int_equal(u.ngroups, 3);
	assert_true(str_eqz(u.groups[0], "system:serviceaccounts"));
	assert_true(str_eqz(u.groups[1], "system:serviceaccounts:ns"));
	assert_true(str_eqz(u.groups[2], "system:authenticated"));
	assert_int_equal(u.nextras, 5);
	assert_true(str_eqz(user_extra(&u, USER_EXTRA_CREDENTIAL_ID), "JTI=jti"));
	assert_true(str_eqz(user_extra(&u, USER_EXTRA_NODE_NAME), "node"));
	assert_true(str_eqz(user_extra(&u, USER_EXTRA_NODE_UID), "node-uid"));
	assert_true(str_eqz(user_extra(&u, USER_EXTRA_POD_NAME), "pod"));
	assert_true(str_eqz(user_extra(&u, USER_EXTRA_POD_UID), "pod-uid"));
	assert_true(str_eqz(u.binding->pod_uid, "pod-uid"));
}

static void a_token_is_good_in_its_time_give_or_take_a_minute(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = load(f);
	struct str token = issue(f, s, some_claims());
	struct token_claims c;

	assert_refused(f, s, token, NOW - 61, "service account token is not valid yet");
	assert_int_equal(service_accounts_verify(s, token, NOW - 60, &f->arena, &c, NULL), 0);
	assert_int_equal(service_accounts_verify(s, token, NOW + 3660, &f->arena, &c, NULL), 0);
	assert_refused(f, s, token, NOW + 3661, "service account token has expired");
	c = some_claims();
	c.issued_s = NOW + 100;
	assert_refused(f, s, issue(f, s, c), NOW, "service account token is issued in the future");
}

static void a_token_that_the_server_did_not_sign_is_rejected(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = load(f);
	struct str token = issue(f, s, some_claims());
	char *changed = arena_strdup(&f->arena, token);

	changed[token.n - 5] = changed[token.n - 5] == 'A' ? 'B' : 'A';
	assert_refused(f, s, str_of(changed, token.n), NOW, "invalid signature");
	assert_refused(f, s, STR(RFC7515_EC_TOKEN), NOW, "invalid bearer token");
	assert_refused(f, s, STR("abc"), NOW, "invalid bearer token");
	assert_refused(f, s, STR(""), NOW, "invalid bearer token");
}

static void a_foreign_issuer_is_not_looked_at(void **state)
{
	static const char *const others[] = { "https://other" };
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = load(f);
	CLEANUP(service_accounts_free) struct service_accounts *other = NULL;

	f->opts.service_account_issuers = others;
	f->opts.nservice_account_issuers = 1;
	other = load(f);
	assert_refused(f, s, issue(f, other, some_claims()), NOW, "invalid bearer token");
	assert_verifies(f, other, issue(f, other, some_claims()));
}

static void the_first_issuer_issues_and_all_are_accepted(void **state)
{
	static const char *const issuers[] = { "https://new",
					       "https://kubernetes.default.svc.cluster.local" };
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *before = load(f);
	CLEANUP(service_accounts_free) struct service_accounts *s = NULL;
	struct str token = issue(f, before, some_claims());
	size_t n;

	f->opts.service_account_issuers = issuers;
	f->opts.nservice_account_issuers = 2;
	s = load(f);
	assert_true(str_eqz(service_accounts_issuer(s), "https://new"));
	(void)service_accounts_audiences(s, &n);
	assert_int_equal(n, 2);
	assert_verifies(f, s, token);
	assert_verifies(f, s, issue(f, s, some_claims()));
	assert_refused(f, before, issue(f, s, some_claims()), NOW, "invalid bearer token");
}

/* The old key moves to old.pem; a new one is made. */
static void rotate(struct folder *f)
{
	assert_int_equal(rename(path_in(f, "pki/sa.key"), path_in(f, "old.pem")), 0);
}

static void a_rotated_key_is_believed_while_it_is_listed(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *before = load(f);
	CLEANUP(service_accounts_free) struct service_accounts *during = NULL;
	CLEANUP(service_accounts_free) struct service_accounts *after = NULL;
	struct str token = issue(f, before, some_claims());
	const char *files[1];

	rotate(f);
	files[0] = path_in(f, "old.pem");
	f->opts.service_account_key_files = files;
	f->opts.nservice_account_key_files = 1;
	during = load(f);
	assert_verifies(f, during, token);
	assert_verifies(f, during, issue(f, during, some_claims()));
	f->opts.nservice_account_key_files = 0;
	after = load(f);
	assert_refused(f, after, token, NOW, "invalid signature, no keys found");
	assert_verifies(f, after, issue(f, during, some_claims()));
	assert_refused(f, before, issue(f, after, some_claims()), NOW,
		       "invalid signature, no keys found");
}

static void a_given_key_signs_instead_of_ours(void **state)
{
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = NULL;
	CLEANUP(buf_release) struct buf keys = BUF_INIT(16 * KIB);
	struct json_writer w;

	assert_int_equal(
		file_write_atomic(path_in(f, "new.pem"), STR(RFC7515_EC_PRIVATE), 0600, NULL), 0);
	f->opts.service_account_signing_key_file = path_in(f, "new.pem");
	s = load(f);
	assert_int_not_equal(access(path_in(f, "pki/sa.key"), F_OK), 0);
	assert_verifies(f, s, issue(f, s, some_claims()));
	json_writer_init(&w, &keys, NULL);
	service_accounts_print_keys(s, &w);
	assert_int_equal(json_writer_finish(&w), 0);
	assert_non_null(strstr(keys.p, "K9G7DESol8MKeqCZHN442AYv5EHeUNoPRoJTRPYC6Cc"));
	assert_null(strstr(keys.p, "jpsQnnGQmL")); /* the private half */
}

static void a_bad_file_is_named_with_its_flag(void **state)
{
	struct folder *f = *state;
	struct service_accounts *s = NULL;
	struct error err;
	const char *files[1];

	files[0] = path_in(f, "old.pem");
	f->opts.service_account_key_files = files;
	f->opts.nservice_account_key_files = 1;
	assert_int_equal(service_accounts_load(&f->opts, &s, &err), -ERR_NOT_FOUND);
	assert_memory_equal(err.msg, "--service-account-key-file", 26);
	assert_int_equal(file_write_atomic(files[0], STR("x"), 0600, NULL), 0);
	assert_int_equal(service_accounts_load(&f->opts, &s, &err), -ERR_INVALID);
	assert_memory_equal(err.msg, "--service-account-key-file", 26);
	assert_null(s);
}

static void claims_that_lack_something_are_refused(void **state)
{
#define ISS "\"iss\":\"https://kubernetes.default.svc.cluster.local\""
#define SUB "\"sub\":\"system:serviceaccount:ns:sa\""
#define EXP "\"exp\":1893459600"
#define KUBE                                                                                   \
	"\"kubernetes.io\":{\"namespace\":\"ns\",\"serviceaccount\":{\"name\":\"sa\",\"uid\":" \
	"\"u\"}"
	static const char *const rows[] = {
		"{" ISS "," SUB "," KUBE "}}", /* no expiry */
		"{" ISS "," EXP "," KUBE "}}", /* no subject */
		"{" ISS ",\"sub\":\"system:serviceaccount:ns:other\"," EXP "," KUBE "}}",
		"{" ISS "," SUB "," EXP "}",
		"{" ISS "," SUB "," EXP ",\"kubernetes.io\":{}}",
		"{" ISS "," SUB "," EXP ",\"kubernetes.io\":7}",
		"{" ISS "," SUB "," EXP ",\"kubernetes.io\":{\"namespace\":\"ns\","
		"\"serviceaccount\":{\"name\":\"sa\"}}}",
		"{" ISS "," SUB "," EXP "," KUBE ",\"pod\":{}}}",
		"{" ISS "," SUB "," EXP "," KUBE ",\"pod\":\"p\"}}",
		"{" ISS "," SUB "," EXP ",\"aud\":7," KUBE "}}",
		"{" ISS "," SUB "," EXP ",\"aud\":[7]," KUBE "}}",
		"{" ISS "," SUB "," EXP ",\"nbf\":\"x\"," KUBE "}}",
		"{" ISS "," SUB ",\"exp\":1e300," KUBE "}}",
	};
	struct folder *f = *state;
	CLEANUP(service_accounts_free) struct service_accounts *s = load(f);

	assert_verifies(f, s, forge(f, "{" ISS "," SUB "," EXP "," KUBE "}}"));
	assert_verifies(f, s, forge(f, "{" ISS "," SUB "," EXP ",\"aud\":\"x\"," KUBE "}}"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_refused(f, s, forge(f, rows[i]), NOW,
			       "service account token claims could not be read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(the_key_is_made_once_and_for_its_owner_alone),
		CASE(a_token_says_what_upstreams_say),
		CASE(a_token_makes_a_user_with_groups_and_extras),
		CASE(a_token_is_good_in_its_time_give_or_take_a_minute),
		CASE(a_token_that_the_server_did_not_sign_is_rejected),
		CASE(a_foreign_issuer_is_not_looked_at),
		CASE(the_first_issuer_issues_and_all_are_accepted),
		CASE(a_rotated_key_is_believed_while_it_is_listed),
		CASE(a_given_key_signs_instead_of_ours),
		CASE(a_bad_file_is_named_with_its_flag),
		CASE(claims_that_lack_something_are_refused),
	};

	return cmocka_run_group_tests_name("server/service_accounts", tests, NULL, NULL);
}
