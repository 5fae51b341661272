#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "net/http/http.h"
#include "net/net_limits.h"
#include "server/authn/authn.h"
#include "server/authn/cache.h"
#include "server/authn/service_accounts.h"
#include "server/authn/token_claims.h"
#include "server/authn/tokens.h"
#include "server/authz/authz.h"
#include "server/core/options.h"
#include "server/server_limits.h"

#define NOW INT64_C(1893456000) /* 2030-01-01 */

static const struct str own_audience = STR("https://kubernetes.default.svc.cluster.local");

/* Keys in a folder, a token file, one lane, a clock that stands still. */
struct world {
	char dir[64];
	struct arena arena; /* the request's */
	struct clock_manual clock;
	struct tokens *tokens;
	struct service_accounts *accounts;
	struct authn *authn;
	struct http_stream stream;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct server_opts opts = { .data_dir = w->dir };
	struct authn_opts ao;

	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/authn_test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	arena_init(&w->arena, SIZE_MAX);
	assert_int_equal(mkdir(arena_printf(&w->arena, "%s/pki", w->dir), 0700), 0);
	clock_manual_init(&w->clock, CLOCK_SEC, NOW * CLOCK_SEC);
	assert_int_equal(tokens_parse(STR("static,alice,7,\"dev\"\n"), &w->tokens, NULL), 0);
	assert_int_equal(service_accounts_load(&opts, &w->accounts, NULL), 0);
	ao = (struct authn_opts){
		.tokens = w->tokens, .accounts = w->accounts, .nlanes = 1, .clock = &w->clock.clock
	};
	w->authn = authn_new(&ao);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	(void)unlink(arena_printf(&w->arena, "%s/pki/sa.key", w->dir));
	assert_int_equal(rmdir(arena_printf(&w->arena, "%s/pki", w->dir)), 0);
	assert_int_equal(rmdir(w->dir), 0);
	arena_release(&w->arena);
	authn_free(w->authn);
	service_accounts_free(w->accounts);
	tokens_free(w->tokens);
	free(w);
	return 0;
}

static struct str make_token(struct world *w, struct str audience, int64_t age_s)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(JWT_MAX);
	struct token_claims c = {
		.binding = { .ns = STR("ns"), .account = STR("sa"), .account_uid = STR("uid") },
		.jti = STR("jti"),
		.audiences = &audience,
		.naudiences = 1,
		.issued_s = NOW,
		.not_before_s = NOW,
		.expires_s = NOW + age_s,
	};

	assert_int_equal(service_accounts_issue(w->accounts, &c, &out, NULL), 0);
	return arena_str(&w->arena, buf_str(&out));
}

/* Replaces the stream's header fields. */
static void set_fields(struct world *w, const char *const *pairs)
{
	w->stream.in.fields = (struct http_fields){ 0 };
	for (; pairs[0]; pairs += 2)
		assert_int_equal(http_fields_add(&w->stream.in.fields, &w->arena,
						 str_from(pairs[0]), str_from(pairs[1])),
				 0);
}

static int ask(struct world *w, const char *authorization, struct user *ret_user)
{
	const char *const pairs[] = { "authorization", authorization, NULL };
	const char *const none[] = { NULL };
	struct error err = { 0 };
	int r;

	set_fields(w, authorization ? pairs : none);
	r = authn_user(w->authn, 0, &w->stream, &w->arena, ret_user, &err);
	if (r < 0)
		assert_string_equal(err.msg, "Unauthorized");
	return r;
}

static const char *bearer(struct world *w, struct str token)
{
	return arena_printf(&w->arena, "Bearer %.*s", STR_ARG(token));
}

static void a_caller_without_credentials_is_anonymous(void **state)
{
	static const char *const rows[] = { NULL,     "",        "Basic YTpi",
					    "Bearer", "Bearer ", "Bearer  static" };
	struct user u;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ask(*state, rows[i], &u), 0);
		assert_true(str_eq(u.name, USER_ANONYMOUS));
		assert_true(user_in_group(&u, USER_UNAUTHENTICATED));
		assert_false(u.authenticated);
	}
}

static void anonymous_can_be_switched_off(void **state)
{
	struct world *w = *state;
	struct authn_opts opts = { .nlanes = 1, .clock = &w->clock.clock, .no_anonymous = true };
	struct user u;

	authn_free(w->authn);
	w->authn = authn_new(&opts);
	assert_int_equal(ask(w, NULL, &u), -ERR_UNAUTHORIZED);
}

static void a_token_of_the_file_is_its_users(void **state)
{
	static const char *const rows[] = { "Bearer static", "bearer static", "BEARER static x" };
	struct user u;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ask(*state, rows[i], &u), 0);
		assert_true(str_eqz(u.name, "alice"));
		assert_true(user_in_group(&u, STR("dev")));
		assert_true(user_in_group(&u, USER_AUTHENTICATED));
	}
	assert_int_equal(ask(*state, "Bearer statix", &u), -ERR_UNAUTHORIZED);
}

/* A request with subprotocols of a WebSocket. */
static int ask_socket(struct world *w, const char *upgrade, const char *protocols,
		      struct user *ret_user)
{
	const char *const pairs[] = {
		"connection", "Upgrade", "upgrade", upgrade, "sec-websocket-protocol",
		protocols,    NULL
	};

	set_fields(w, pairs);
	w->stream.in.version = HTTP_1_1;
	return authn_user(w->authn, 0, &w->stream, &w->arena, ret_user, NULL);
}

static void a_token_may_be_a_subprotocol(void **state)
{
#define TOKEN AUTHN_TOKEN_PROTOCOL "c3RhdGlj" /* static */
	static const struct {
		const char *protocols, *user; /* NULL: rejected */
	} rows[] = {
		{ TOKEN ", v5.channel.k8s.io", "alice" },
		{ "v5.channel.k8s.io," TOKEN, "alice" },
		{ "v5.channel.k8s.io", "system:anonymous" },
		{ AUTHN_TOKEN_PROTOCOL ", v5.channel.k8s.io", "system:anonymous" },
		{ AUTHN_TOKEN_PROTOCOL "c3RhdGl4, v5.channel.k8s.io", NULL }, /* unknown token */
		{ TOKEN, NULL },
		{ TOKEN ", v5.channel.k8s.io, " TOKEN, NULL },
		{ AUTHN_TOKEN_PROTOCOL "c3RhdGlj=, v5.channel.k8s.io", NULL },
		{ AUTHN_TOKEN_PROTOCOL "_w, v5.channel.k8s.io", NULL }, /* not UTF-8 */
	};
	struct user u;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = ask_socket(*state, "WebSocket", rows[i].protocols, &u);

		assert_int_equal(r, rows[i].user ? 0 : -ERR_UNAUTHORIZED);
		if (rows[i].user)
			assert_true(str_eqz(u.name, rows[i].user));
	}
	/* Only for a WebSocket. */
	assert_int_equal(ask_socket(*state, "SPDY/3.1", TOKEN ", x", &u), 0);
	assert_true(str_eq(u.name, USER_ANONYMOUS));
#undef TOKEN
}

static void a_service_accounts_token_is_its_users_until_it_ends(void **state)
{
	struct world *w = *state;
	const char *header = bearer(w, make_token(w, own_audience, 600));
	struct user u;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(ask(w, header, &u), 0);
		assert_true(str_eqz(u.name, "system:serviceaccount:ns:sa"));
		assert_true(u.authenticated);
	}
	/* Also while it is cached. */
	w->clock.wall_ns = (NOW + 600 + TOKEN_CLAIMS_LEEWAY_S) * CLOCK_SEC;
	assert_int_equal(ask(w, header, &u), 0);
	w->clock.wall_ns += CLOCK_SEC;
	assert_int_equal(ask(w, header, &u), -ERR_UNAUTHORIZED);
}

static void a_token_for_others_is_refused(void **state)
{
	struct world *w = *state;
	struct user u;

	assert_int_equal(ask(w, bearer(w, make_token(w, STR("vault"), 600)), &u),
			 -ERR_UNAUTHORIZED);
}

static void no_other_token_is_taken_for_a_remembered_one(void **state)
{
	struct world *w = *state;
	struct str token = make_token(w, own_audience, 600);
	char *changed = arena_strdup(&w->arena, token);
	struct user u;

	assert_int_equal(ask(w, bearer(w, token), &u), 0);
	for (size_t i = 0; i < token.n; i++) {
		changed[i] = changed[i] == 'A' ? 'B' : 'A';
		assert_int_equal(ask(w, bearer(w, str_of(changed, token.n)), &u),
				 -ERR_UNAUTHORIZED);
		changed[i] = token.p[i];
	}
	assert_int_equal(ask(w, bearer(w, token), &u), 0);
}

static void a_review_tells_the_common_audiences(void **state)
{
	struct world *w = *state;
	const struct str wanted[] = { STR("a"), STR("vault") };
	struct authn_audiences both = { wanted, 2 }, none = { NULL, 0 }, common;
	struct str token = make_token(w, STR("vault"), 600);
	struct error err;
	struct user u;

	assert_int_equal(authn_token(w->authn, token, both, &w->arena, &u, &common, NULL), 0);
	assert_int_equal(common.n, 1);
	assert_true(str_eqz(common.v[0], "vault"));
	assert_int_equal(authn_token(w->authn, token, none, &w->arena, &u, &common, &err),
			 -ERR_UNAUTHORIZED);
	assert_string_equal(err.msg,
			    "token audiences [\"vault\"] is invalid for the target "
			    "audiences [\"https://kubernetes.default.svc.cluster.local\"]");
	assert_int_equal(authn_token(w->authn, STR("static"), both, &w->arena, &u, &common, NULL),
			 -ERR_UNAUTHORIZED);
	assert_int_equal(authn_token(w->authn, STR("static"), none, &w->arena, &u, &common, NULL),
			 0);
	assert_true(str_eq(common.v[0], own_audience));
}

/* --- cached tokens --------------------------------------------------------------------------- */

static void entries_end_by_either_clock(void **state UNUSED)
{
	struct authn_cache c = { 0 };
	uint8_t hash[PKI_SHA256_SIZE] = { 1, 2, 3 };
	struct authn_entry *e = authn_entry_new(hash);

	assert_null(authn_cache_find(&c, hash, 0, 0));
	e->until_ns = 10;
	e->expires_s = 100;
	authn_cache_add(&c, e);
	assert_ptr_equal(authn_cache_find(&c, hash, 9, 100), e);
	assert_null(authn_cache_find(&c, hash, 10, 0));
	assert_null(authn_cache_find(&c, hash, 0, 0));
	e = authn_entry_new(hash);
	e->until_ns = 10;
	e->expires_s = 100;
	authn_cache_add(&c, e);
	assert_null(authn_cache_find(&c, hash, 0, 101));
	authn_cache_release(&c);
}

static void the_number_of_entries_is_bounded_and_the_used_stay(void **state UNUSED)
{
	struct authn_cache c = { 0 };
	uint8_t mine[PKI_SHA256_SIZE] = { 0 }, other[PKI_SHA256_SIZE] = { 0 };
	struct authn_entry *kept = authn_entry_new(mine), *e;

	kept->until_ns = kept->expires_s = INT64_MAX;
	authn_cache_add(&c, authn_entry_ref(kept));
	for (unsigned i = 1; i < 4 * AUTHN_TOKENS_MAX; i++) {
		other[2] = (uint8_t)i; /* all in one set: the worst case */
		other[3] = (uint8_t)(i >> 8);
		e = authn_entry_new(other);
		e->until_ns = e->expires_s = INT64_MAX;
		authn_cache_add(&c, e);
		assert_ptr_equal(authn_cache_find(&c, mine, 0, 0), kept);
	}
	for (unsigned i = 0; i < 4; i++) {
		other[4] = (uint8_t)(i + 1);
		authn_cache_add(&c, authn_entry_new(other));
	}
	assert_null(authn_cache_find(&c, mine, 0, 0));
	assert_int_equal(kept->refs, 1); /* ours: a holder may still use it */
	authn_entry_unref(kept);
	authn_cache_release(&c);
}

/* --- impersonation ---------------------------------------------------------------------------- */

/* "verb group/resource/subresource ns/name" of each check, one per line. */
static const char *checks_of(struct world *w, const struct user *u)
{
	struct authz_query *q = NULL;
	size_t n = authn_impersonation_checks(u, &w->arena, &q);
	const char *text = "";

	for (size_t i = 0; i < n; i++)
		text = arena_printf(&w->arena, "%s%.*s %.*s/%.*s/%.*s %.*s/%.*s\n", text,
				    STR_ARG(q[i].verb), STR_ARG(q[i].group), STR_ARG(q[i].resource),
				    STR_ARG(q[i].subresource), STR_ARG(q[i].ns),
				    STR_ARG(q[i].name));
	return text;
}

static const char *groups_of(struct world *w, const struct user *u)
{
	const char *text = "";

	for (size_t i = 0; i < u->ngroups; i++)
		text = arena_printf(&w->arena, "%s%s%.*s", text, i ? " " : "",
				    STR_ARG(u->groups[i]));
	return text;
}

static void impersonation_names_each_part(void **state)
{
	static const struct {
		const char *fields[16], *name, *groups, *checks;
	} rows[] = {
		{ { "accept", "x", NULL }, NULL, "", "" },
		{ { "impersonate-user", "bob", NULL },
		  "bob",
		  "system:authenticated",
		  "impersonate /users/ /bob\n" },
		{ { "impersonate-user", "bob", "impersonate-group", "a", "impersonate-group", "b",
		    "impersonate-uid", "7", NULL },
		  "bob",
		  "a b system:authenticated",
		  "impersonate /users/ /bob\nimpersonate /groups/ /a\nimpersonate /groups/ /b\n"
		  "impersonate authentication.k8s.io/uids/ /7\n" },
		{ { "impersonate-user", "bob", "impersonate-group", "system:authenticated", NULL },
		  "bob",
		  "system:authenticated",
		  "impersonate /users/ /bob\nimpersonate /groups/ /system:authenticated\n" },
		{ { "impersonate-user", "bob", "impersonate-group", "system:unauthenticated",
		    NULL },
		  "bob",
		  "system:unauthenticated",
		  "impersonate /users/ /bob\nimpersonate /groups/ /system:unauthenticated\n" },
		{ { "impersonate-user", "system:anonymous", NULL },
		  "system:anonymous",
		  "system:unauthenticated",
		  "impersonate /users/ /system:anonymous\n" },
		{ { "impersonate-user", "system:serviceaccount:ns:sa", NULL },
		  "system:serviceaccount:ns:sa",
		  "system:serviceaccounts system:serviceaccounts:ns system:authenticated",
		  "impersonate /serviceaccounts/ ns/sa\n" },
		{ { "impersonate-user", "system:serviceaccount:ns:sa", "impersonate-group", "g",
		    NULL },
		  "system:serviceaccount:ns:sa",
		  "g system:authenticated",
		  "impersonate /serviceaccounts/ ns/sa\nimpersonate /groups/ /g\n" },
		{ { "impersonate-user", "bob", "impersonate-extra-acme.com%2fscope", "x",
		    "impersonate-extra-acme.com%2fscope", "y", "impersonate-extra-%zz", "q", NULL },
		  "bob",
		  "system:authenticated",
		  "impersonate /users/ /bob\n"
		  "impersonate authentication.k8s.io/userextras/acme.com/scope /x\n"
		  "impersonate authentication.k8s.io/userextras/acme.com/scope /y\n"
		  "impersonate authentication.k8s.io/userextras/%zz /q\n" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct user u;

		set_fields(w, rows[i].fields);
		assert_int_equal(authn_impersonated(&w->stream.in.fields, &w->arena, &u, NULL), 0);
		if (!rows[i].name) {
			assert_null(u.name.p);
			continue;
		}
		assert_true(str_eqz(u.name, rows[i].name));
		assert_string_equal(groups_of(w, &u), rows[i].groups);
		assert_string_equal(checks_of(w, &u), rows[i].checks);
	}
}

static void impersonation_needs_a_user(void **state)
{
	static const struct {
		const char *fields[8], *why;
	} rows[] = {
		{ { "impersonate-group", "g", "impersonate-group", "h", NULL },
		  "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\", \"h\"}, "
		  "Extra:map[string][]string(nil)} without impersonating a user name" },
		{ { "impersonate-uid", "7", NULL },
		  "requested &user.DefaultInfo{Name:\"\", UID:\"7\", Groups:[]string(nil), "
		  "Extra:map[string][]string(nil)} without impersonating a user name" },
		{ { "impersonate-extra-k", "v", NULL },
		  "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string(nil), "
		  "Extra:map[string][]string{\"k\":[]string{\"v\"}}} without impersonating a user "
		  "name" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = { 0 };
		struct user u;

		set_fields(w, rows[i].fields);
		assert_int_equal(authn_impersonated(&w->stream.in.fields, &w->arena, &u, &err),
				 -ERR_BAD_REQUEST);
		assert_string_equal(err.msg, rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(a_caller_without_credentials_is_anonymous),
		CASE(anonymous_can_be_switched_off),
		CASE(a_token_of_the_file_is_its_users),
		CASE(a_token_may_be_a_subprotocol),
		CASE(a_service_accounts_token_is_its_users_until_it_ends),
		CASE(a_token_for_others_is_refused),
		CASE(no_other_token_is_taken_for_a_remembered_one),
		CASE(a_review_tells_the_common_audiences),
		cmocka_unit_test(entries_end_by_either_clock),
		cmocka_unit_test(the_number_of_entries_is_bounded_and_the_used_stay),
		CASE(impersonation_names_each_part),
		CASE(impersonation_needs_a_user),
	};

	return cmocka_run_group_tests_name("server/authn", tests, NULL, NULL);
}
