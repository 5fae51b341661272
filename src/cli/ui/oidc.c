/*
 * As RFC 6749, RFC 7636 (PKCE with S256) and OpenID Connect Core 1.0.
 */
#include "cli/ui/oidc.h"

#include "base/core/random.h"
#include "base/json/json.h"
#include "base/text/base64.h"
#include "client/api/client.h"
#include "net/net_limits.h"
#include "net/tls/pki_sign.h"

enum { SECRET_BYTES = 32 };

static void make_secret(char secret[static OIDC_SECRET_SIZE])
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OIDC_SECRET_SIZE);
	uint8_t bytes[SECRET_BYTES];

	random_bytes(bytes, sizeof(bytes));
	(void)base64_encode(&text, str_of(bytes, sizeof(bytes)), BASE64_URL_RAW);
	*str_put(secret, buf_str(&text)) = '\0';
}

void oidc_flow_init(struct oidc_flow *f)
{
	make_secret(f->state);
	make_secret(f->nonce);
	make_secret(f->verifier);
}

int oidc_check_url(struct str url, struct error *err)
{
	if (!str_starts(url, STR("https://")) || url.n == STR("https://").n ||
	    str_chr(url, '#') >= 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not an https URL", STR_ARG(url));
	return 0;
}

/* --- metadata -------------------------------------------------------------------------- */

static int read_endpoint(struct arena *a, const struct json *tree, const char *name,
			 struct str *ret_url, struct error *err)
{
	int r;

	*ret_url = arena_str(a, json_text_at(tree, name));
	r = oidc_check_url(*ret_url, err);
	return r < 0 ? error_wrap(err, r, "the provider's %s", name) : 0;
}

int oidc_read_metadata(struct arena *a, struct str text, const struct oidc_provider *p,
		       struct oidc_metadata *ret_metadata, struct error *err)
{
	const struct json *methods;
	struct json *tree;
	int r = json_parse(a, arena_str(a, text), NULL, &tree, err);

	if (r < 0)
		return error_wrap(err, r, "the provider's metadata");
	if (!str_eqz(json_text_at(tree, "issuer"), p->issuer))
		return error_set(err, ERR_INVALID,
				 "the provider calls itself \"%.*s\", which differs from "
				 "--oidc-issuer-url",
				 STR_ARG(json_text_at(tree, "issuer")));
	r = read_endpoint(a, tree, "authorization_endpoint", &ret_metadata->authorization_endpoint,
			  err);
	if (r == 0)
		r = read_endpoint(a, tree, "token_endpoint", &ret_metadata->token_endpoint, err);
	methods = json_getz(tree, "token_endpoint_auth_methods_supported");
	ret_metadata->post = methods && !json_has_text(methods, STR("client_secret_basic"));
	return r;
}

/* --- requests -------------------------------------------------------------------------- */

static void add_scopes(struct arena *a, const struct oidc_provider *p, struct buf *query)
{
	const char *scopes = "openid";

	for (size_t i = 0; i < p->nscopes; i++)
		scopes = arena_printf(a, "%s %s", scopes, p->scopes[i]);
	client_query_add(query, "scope", str_from(scopes));
}

static void add_challenge(const struct oidc_flow *f, struct buf *query)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OIDC_SECRET_SIZE);
	uint8_t hash[PKI_SHA256_SIZE];

	pki_sha256(str_from(f->verifier), hash);
	(void)base64_encode(&text, str_of(hash, sizeof(hash)), BASE64_URL_RAW);
	client_query_add(query, "code_challenge", buf_str(&text));
	client_query_add(query, "code_challenge_method", STR("S256"));
}

struct str oidc_authorize_url(struct arena *a, const struct oidc_provider *p,
			      const struct oidc_metadata *m, const struct oidc_flow *f)
{
	CLEANUP(buf_release) struct buf query = BUF_INIT(HTTP_TARGET_MAX);
	struct str to = m->authorization_endpoint;

	client_query_add(&query, "response_type", STR("code"));
	client_query_add(&query, "client_id", str_from(p->client_id));
	client_query_add(&query, "redirect_uri", str_from(p->redirect_url));
	add_scopes(a, p, &query);
	client_query_add(&query, "state", str_from(f->state));
	client_query_add(&query, "nonce", str_from(f->nonce));
	add_challenge(f, &query);
	return str_from(arena_printf(a, "%.*s%s%.*s", STR_ARG(to), str_chr(to, '?') < 0 ? "?" : "&",
				     STR_ARG(buf_str(&query))));
}

struct str oidc_token_form(struct arena *a, const struct oidc_provider *p,
			   const struct oidc_metadata *m, const struct oidc_flow *f,
			   struct str code)
{
	CLEANUP(buf_release) struct buf form = BUF_INIT(HTTP_TARGET_MAX);

	client_query_add(&form, "grant_type", STR("authorization_code"));
	client_query_add(&form, "code", code);
	client_query_add(&form, "redirect_uri", str_from(p->redirect_url));
	client_query_add(&form, "client_id", str_from(p->client_id));
	client_query_add(&form, "code_verifier", str_from(f->verifier));
	if (p->client_secret.n && m->post)
		client_query_add(&form, "client_secret", p->client_secret);
	return arena_str(a, buf_str(&form));
}

/* --- the token ------------------------------------------------------------------------- */

static int read_payload(struct arena *a, struct str token, struct json **ret_tree,
			struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(JWT_MAX);
	struct str rest = token, head, payload;

	if (token.n > JWT_MAX || !str_split(&rest, '.', &head) ||
	    !str_split(&rest, '.', &payload) || !rest.n ||
	    base64_decode(&text, payload, BASE64_URL_RAW, NULL) < 0 ||
	    json_parse(a, arena_str(a, buf_str(&text)), NULL, ret_tree, NULL) < 0)
		return error_set(err, ERR_UNAUTHORIZED, "the provider's reply has no ID token");
	return 0;
}

static bool is_audience(const struct json *aud, struct str client_id)
{
	return str_eq(json_str(aud), client_id) || json_has_text(aud, client_id);
}

/* A token for several clients must say by `azp` which of them asked for it. */
static bool is_for_us(const struct json *payload, const struct oidc_provider *p)
{
	const struct json *aud = json_getz(payload, "aud");
	struct str id = str_from(p->client_id), azp = json_text_at(payload, "azp");

	return is_audience(aud, id) && (azp.p ? str_eq(azp, id) : json_count(aud) <= 1);
}

int oidc_read_token(struct arena *a, struct str text, const struct oidc_provider *p,
		    const struct oidc_flow *f, int64_t now_s, struct str *ret_token,
		    struct error *err)
{
	struct json *reply, *payload;
	struct str nonce;
	int r = json_parse(a, arena_str(a, text), NULL, &reply, err);

	if (r < 0)
		return error_wrap(err, r, "the provider's reply");
	r = read_payload(a, json_text_at(reply, "id_token"), &payload, err);
	if (r < 0)
		return r;
	nonce = json_text_at(payload, "nonce");
	if (!str_eqz(json_text_at(payload, "iss"), p->issuer))
		return error_set(err, ERR_UNAUTHORIZED, "the ID token is of another issuer");
	if (!is_for_us(payload, p))
		return error_set(err, ERR_UNAUTHORIZED, "the ID token is for another client");
	if (nonce.n != strlen(f->nonce) || !pki_equal(nonce.p, f->nonce, nonce.n))
		return error_set(err, ERR_UNAUTHORIZED, "the ID token is of another login");
	if (json_i64_at(payload, "exp", 0) <= now_s)
		return error_set(err, ERR_UNAUTHORIZED, "the ID token has expired");
	*ret_token = json_text_at(reply, "id_token");
	return 0;
}
