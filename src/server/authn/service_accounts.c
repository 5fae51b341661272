/*
 * The signing key is the first of the keys. A token names its key, so that only one signature is
 * verified, whatever the number of keys. A token without a key name is tried with all keys, as
 * upstream does.
 */
#include "server/authn/service_accounts.h"

#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/system/file.h"
#include "net/net_limits.h"
#include "net/tls/jwt.h"
#include "net/tls/pki.h"
#include "server/authn/token_claims.h"
#include "server/core/options.h"
#include "server/server_limits.h"

#define DEFAULT_ISSUER "https://kubernetes.default.svc.cluster.local"

struct texts {
	struct str *v;
	size_t n;
};

struct service_accounts {
	struct arena arena;
	struct texts issuers, audiences;
	struct pki_key *keys[TOKEN_KEYS_MAX]; /* the first one signs */
	size_t nkeys;
};

static bool service_accounts_has(const struct texts *t, struct str text)
{
	for (size_t i = 0; i < t->n; i++)
		if (str_eq(t->v[i], text))
			return true;
	return false;
}

/* --- loading --------------------------------------------------------------------------- */

static int read_file(const char *path, struct buf *pem, const char *flag, struct error *err)
{
	int r = file_read(path, pem, err);

	return r < 0 ? error_wrap(err, r, "%s", flag) : 0;
}

/* An existing key is kept, so that issued tokens stay valid. */
static int load_own_key(struct service_accounts *s, const char *data_dir, struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(PEM_FILE_MAX);
	char path[4096];
	int r;

	if (snprintf(path, sizeof(path), "%s/pki/sa.key", data_dir) >= (int)sizeof(path))
		return error_set(err, ERR_INVALID, "path %s is too long", data_dir);
	if (access(path, F_OK) == 0) {
		r = file_read(path, &pem, err);
	} else {
		r = pki_key_new(&pem, err);
		if (r == 0)
			r = file_write_atomic(path, buf_str(&pem), 0600, err);
	}
	if (r == 0)
		r = pki_key_load_private(buf_str(&pem), &s->keys[0], err);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	s->nkeys = 1;
	return 0;
}

static int load_signing_key(struct service_accounts *s, const char *path, struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(PEM_FILE_MAX);
	int r = read_file(path, &pem, "--service-account-signing-key-file", err);

	if (r < 0)
		return r;
	r = pki_key_load_private(buf_str(&pem), &s->keys[0], err);
	if (r < 0)
		return error_wrap(err, r, "--service-account-signing-key-file %s", path);
	s->nkeys = 1;
	return 0;
}

static const struct pki_key *find_key(const struct service_accounts *s, struct str id)
{
	for (size_t i = 0; i < s->nkeys; i++)
		if (str_eq(pki_key_id(s->keys[i]), id))
			return s->keys[i];
	return NULL;
}

static int add_key_file(struct service_accounts *s, const char *path, struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(PEM_FILE_MAX);
	struct pki_key *more[TOKEN_KEYS_MAX];
	size_t n = 0;
	int r = read_file(path, &pem, "--service-account-key-file", err);

	if (r < 0)
		return r;
	r = pki_keys_load(buf_str(&pem), more, TOKEN_KEYS_MAX - s->nkeys, &n, err);
	if (r < 0)
		return error_wrap(err, r, "--service-account-key-file %s", path);
	for (size_t i = 0; i < n; i++) {
		if (find_key(s, pki_key_id(more[i])))
			pki_key_free(more[i]);
		else
			s->keys[s->nkeys++] = more[i];
	}
	return 0;
}

static int load_keys(struct service_accounts *s, const struct server_opts *o, struct error *err)
{
	int r;

	if (o->service_account_signing_key_file)
		r = load_signing_key(s, o->service_account_signing_key_file, err);
	else
		r = load_own_key(s, o->data_dir, err);
	for (size_t i = 0; i < o->nservice_account_key_files && r == 0; i++)
		r = add_key_file(s, o->service_account_key_files[i], err);
	return r;
}

static int copy_texts(struct arena *a, struct texts *t, const char *const *v, size_t n,
		      const char *flag, struct error *err)
{
	t->v = ARENA_ARRAY(a, struct str, n);
	for (size_t i = 0; i < n; i++) {
		if (!*v[i] || !str_is_utf8(str_from(v[i])))
			return error_set(err, ERR_INVALID, "%s: \"%s\" is not a valid name", flag,
					 v[i]);
		if (!service_accounts_has(t, str_from(v[i])))
			t->v[t->n++] = arena_str(a, str_from(v[i]));
	}
	return 0;
}

static int load_names(struct service_accounts *s, const struct server_opts *o, struct error *err)
{
	static const char *const issuer[] = { DEFAULT_ISSUER };
	const char *const *issuers = o->service_account_issuers;
	size_t nissuers = o->nservice_account_issuers;
	int r;

	if (!nissuers) {
		issuers = issuer;
		nissuers = 1;
	}
	r = copy_texts(&s->arena, &s->issuers, issuers, nissuers, "--service-account-issuer", err);
	if (r == 0)
		r = copy_texts(&s->arena, &s->audiences, o->api_audiences, o->napi_audiences,
			       "--api-audiences", err);
	if (r == 0 && !s->audiences.n)
		s->audiences = s->issuers;
	return r;
}

int service_accounts_load(const struct server_opts *o, struct service_accounts **ret_accounts,
			  struct error *err)
{
	CLEANUP(service_accounts_free)
	struct service_accounts *s = XNEW(struct service_accounts);
	int r;

	arena_init(&s->arena, SIZE_MAX);
	r = load_names(s, o, err);
	if (r == 0)
		r = load_keys(s, o, err);
	if (r == 0)
		*ret_accounts = TAKE(s);
	return r;
}

void service_accounts_free(struct service_accounts *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nkeys; i++)
		pki_key_free(s->keys[i]);
	arena_release(&s->arena);
	free(s);
}

struct str service_accounts_issuer(const struct service_accounts *s)
{
	return s->issuers.v[0];
}

const struct str *service_accounts_audiences(const struct service_accounts *s, size_t *ret_n)
{
	*ret_n = s->audiences.n;
	return s->audiences.v;
}

bool service_accounts_is_audience(const struct service_accounts *s, struct str audience)
{
	return service_accounts_has(&s->audiences, audience);
}

/* --- tokens ------------------------------------------------------------------------------ */

int service_accounts_issue(const struct service_accounts *s, struct token_claims *c,
			   struct buf *out, struct error *err)
{
	CLEANUP(buf_release) struct buf payload = BUF_INIT(JWT_MAX);

	c->issuer = service_accounts_issuer(s);
	if (token_claims_print(c, &payload) < 0)
		return error_set(err, ERR_TOO_LARGE, "the token is larger than %lu bytes", JWT_MAX);
	return jwt_print(s->keys[0], buf_str(&payload), out, err);
}

static int verify_signature(const struct service_accounts *s, const struct jwt *t,
			    struct error *err)
{
	const struct pki_key *key = find_key(s, t->kid);

	if (t->kid.n && !key)
		return error_set(err, ERR_UNAUTHORIZED, "invalid signature, no keys found");
	if (key && jwt_verify(t, key))
		return 0;
	for (size_t i = 0; i < s->nkeys && !t->kid.n; i++)
		if (jwt_verify(t, s->keys[i]))
			return 0;
	return error_set(err, ERR_UNAUTHORIZED, "invalid signature");
}

int service_accounts_verify(const struct service_accounts *s, struct str token, int64_t now_s,
			    struct arena *a, struct token_claims *ret_claims, struct error *err)
{
	struct token_claims c;
	struct jwt t;
	int r;

	/* Tokens of other issuers, and texts that are not tokens, are not examined further. */
	if (jwt_parse(token, a, &t, NULL) < 0 ||
	    !service_accounts_has(&s->issuers, json_text_at(t.payload, "iss")))
		return error_set(err, ERR_UNAUTHORIZED, "invalid bearer token");
	r = verify_signature(s, &t, err);
	if (r == 0)
		r = token_claims_read(&t, a, &c, err);
	if (r == 0)
		r = token_claims_check_time(&c, now_s, err);
	if (r == 0)
		*ret_claims = c;
	return r;
}

/* --- published keys ---------------------------------------------------------------------- */

void service_accounts_print_keys(const struct service_accounts *s, struct json_writer *w)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "keys");
	json_writer_begin_array(w);
	for (size_t i = 0; i < s->nkeys; i++)
		pki_key_print_jwk(s->keys[i], w);
	json_writer_end_array(w);
	json_writer_end_object(w);
}

void service_accounts_print_algorithms(const struct service_accounts *s, struct json_writer *w)
{
	bool used[2] = { false, false };

	for (size_t i = 0; i < s->nkeys; i++)
		used[pki_key_alg(s->keys[i])] = true;
	json_writer_begin_array(w);
	for (size_t i = 0; i < ARRAY_SIZE(used); i++)
		if (used[i])
			json_writer_str(w, pki_alg_name((enum pki_alg)i));
	json_writer_end_array(w);
}
