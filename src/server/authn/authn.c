/*
 * Upstream's order: a certificate, then the Authorization header, then a WebSocket's subprotocol.
 * A token is looked up in the token file and then parsed as a service account's. The first method
 * that recognizes the caller decides. If none does but credentials were presented, authentication
 * fails; the request is not anonymous. Only users of service accounts' tokens are cached: the
 * token file is already a map, and a certificate was verified with its connection.
 */
#include "server/authn/authn.h"

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/base64.h"
#include "net/http/http.h"
#include "net/net_limits.h"
#include "net/relay/websocket.h"
#include "net/tls/tls.h"
#include "server/authn/cache.h"
#include "server/authn/service_accounts.h"
#include "server/authn/token_claims.h"
#include "server/authn/tokens.h"

#define REMEMBERED_NS (10 * CLOCK_SEC)
#define X509_ID       "X509SHA256="

struct authn {
	struct authn_opts opts;
	/* Allocated separately, so that no two threads share a cache line. */
	struct authn_cache **lanes;
};

struct authn *authn_new(const struct authn_opts *opts)
{
	struct authn *n = XNEW(struct authn);

	n->opts = *opts;
	n->lanes = xcalloc(opts->nlanes, sizeof(struct authn_cache *));
	for (size_t i = 0; i < opts->nlanes; i++)
		n->lanes[i] = XNEW(struct authn_cache);
	return n;
}

void authn_free(struct authn *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->opts.nlanes; i++) {
		authn_cache_release(n->lanes[i]);
		free(n->lanes[i]);
	}
	free(n->lanes);
	free(n);
}

/* --- certificates -------------------------------------------------------------------------- */

static bool has_group(const struct str *groups, size_t n, struct str group)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(groups[i], group))
			return true;
	return false;
}

/* The user's certificate, as an extra field. */
struct credential_id {
	struct user_extra extra;
	struct str value;
	char text[sizeof(X509_ID) - 1 + sizeof(((struct tls_peer *)NULL)->fingerprint)];
};

static void user_of_peer(const struct tls_peer *peer, struct arena *a, struct user *ret_user)
{
	struct str *groups = ARENA_ARRAY(a, struct str, peer->norganizations + 1);
	struct credential_id *id = arena_alloc(a, sizeof(*id));
	size_t n = peer->norganizations;

	memcpy(id->text, X509_ID, sizeof(X509_ID) - 1);
	memcpy(id->text + sizeof(X509_ID) - 1, peer->fingerprint, sizeof(peer->fingerprint));
	id->value = str_of(id->text, sizeof(id->text) - 1);
	id->extra = (struct user_extra){ USER_EXTRA_CREDENTIAL_ID, &id->value, 1 };
	if (n)
		memcpy(groups, peer->organizations, n * sizeof(*groups));
	if (!str_eq(peer->common_name, USER_ANONYMOUS) &&
	    !has_group(groups, n, USER_AUTHENTICATED) &&
	    !has_group(groups, n, USER_UNAUTHENTICATED))
		groups[n++] = USER_AUTHENTICATED;
	*ret_user = (struct user){ .name = peer->common_name,
				   .groups = groups,
				   .ngroups = n,
				   .extras = &id->extra,
				   .nextras = 1,
				   .ends_s = peer->not_after,
				   .authenticated = true };
}

/*
 * Returns 1 if the certificate is valid, 0 without a certificate, or -ERR_UNAUTHORIZED if it is
 * invalid.
 */
static int from_certificate(const struct authn *n, struct http_stream *stream, struct arena *a,
			    struct user *ret_user)
{
	struct conn *c = http_stream_conn(stream);
	struct tls_peer peer;
	int r = c ? tls_peer(c, a, &peer, NULL) : -ERR_NOT_FOUND;

	if (r == -ERR_NOT_FOUND)
		return 0;
	/* It was valid when the connection began, but may have expired since. */
	if (r < 0 || clock_wall(n->opts.clock) / CLOCK_SEC > peer.not_after)
		return -ERR_UNAUTHORIZED;
	if (!peer.common_name.n)
		return 0;
	/*
	 * The server presents this certificate to kubelets, and a false kubelet could relay it to
	 * us.
	 */
	if (str_eq(peer.common_name, USER_KUBELET_CLIENT))
		return -ERR_UNAUTHORIZED;
	user_of_peer(&peer, a, ret_user);
	return 1;
}

/* --- tokens ---------------------------------------------------------------------------------- */

/* The text after "Bearer " in the header, up to a space; empty if absent. */
static struct str bearer_token(const struct http_stream *stream)
{
	struct str rest = str_trim(http_fields_get(&stream->in.fields, STR("authorization")));
	struct str scheme, token;

	if (!str_split(&rest, ' ', &scheme) || !str_ieq(scheme, STR("bearer")) ||
	    !str_split(&rest, ' ', &token))
		return STR_NULL;
	return token;
}

/* The subprotocols of a WebSocket, with the token apart. */
struct protocols {
	struct str token; /* encoded; p NULL: absent */
	size_t tokens, others;
};

static void authn_read_list(struct str list, struct protocols *p)
{
	struct str one;

	while (str_split(&list, ',', &one)) {
		one = str_trim(one);
		if (str_starts(one, STR(AUTHN_TOKEN_PROTOCOL))) {
			p->token = str_skip(one, sizeof(AUTHN_TOKEN_PROTOCOL) - 1);
			p->tokens++;
		} else {
			p->others++;
		}
	}
}

static struct protocols read_protocols(const struct http_fields *fields)
{
	struct protocols p = { 0 };

	for (size_t i = 0; i < fields->n; i++)
		if (str_eqz(fields->v[i].name, "sec-websocket-protocol"))
			authn_read_list(fields->v[i].value, &p);
	return p;
}

/*
 * As upstream, there must be one token and another subprotocol for the reply. Returns 0 and an
 * empty token if no subprotocol has one.
 */
static int protocol_token(const struct http_stream *stream, struct arena *a, struct str *ret_token)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(HTTP_HEADERS_MAX);
	struct protocols p;

	*ret_token = STR_NULL;
	if (!websocket_is_asked(stream))
		return 0;
	p = read_protocols(&stream->in.fields);
	if (!p.tokens)
		return 0;
	if (p.tokens > 1 || base64_decode(&out, p.token, BASE64_URL_RAW, NULL) < 0 ||
	    !str_is_utf8(buf_str(&out)) || (out.n && !p.others))
		return -ERR_UNAUTHORIZED;
	*ret_token = arena_str(a, buf_str(&out));
	return 0;
}

static int64_t now_s(const struct authn *n)
{
	return clock_wall(n->opts.clock) / CLOCK_SEC;
}

/* The elements of the second list that are in the first one too, in the order of the first. */
static struct authn_audiences intersect(struct authn_audiences x, struct authn_audiences y,
					struct arena *a)
{
	struct str *both = ARENA_ARRAY(a, struct str, x.n);
	size_t n = 0;

	for (size_t i = 0; i < x.n; i++)
		if (has_group(y.v, y.n, x.v[i]))
			both[n++] = x.v[i];
	return (struct authn_audiences){ both, n };
}

static struct authn_audiences api_audiences(const struct authn *n)
{
	struct authn_audiences all = { NULL, 0 };

	if (n->opts.accounts)
		all.v = service_accounts_audiences(n->opts.accounts, &all.n);
	return all;
}

/* `["a" "b"]`, as Go prints them; cut if it is too long for a message. */
static void quote(struct buf *out, struct authn_audiences list)
{
	(void)buf_addc(out, '[');
	for (size_t i = 0; i < list.n; i++)
		(void)buf_printf(out, "%s\"%.*s\"", i ? " " : "", STR_ARG(list.v[i]));
	(void)buf_addc(out, ']');
}

/* A token from before audiences existed is for the API only. */
static int check_audiences(const struct authn *n, const struct token_claims *c,
			   struct authn_audiences wanted, struct arena *a,
			   struct authn_audiences *ret_common, struct error *err)
{
	CLEANUP(buf_release)
	struct buf has_text = BUF_INIT(JWT_MAX), wanted_text = BUF_INIT(JWT_MAX);
	struct authn_audiences has = { c->audiences, c->naudiences };

	if (!has.n)
		has = api_audiences(n);
	*ret_common = intersect(has, wanted, a);
	if (ret_common->n)
		return 0;
	quote(&has_text, has);
	quote(&wanted_text, wanted);
	return error_set(err, ERR_UNAUTHORIZED,
			 "token audiences %.*s is invalid for the target audiences %.*s",
			 STR_ARG(buf_str(&has_text)), STR_ARG(buf_str(&wanted_text)));
}

static const struct user *find_in_file(const struct authn *n, struct str token)
{
	return n->opts.tokens ? tokens_find(n->opts.tokens, token) : NULL;
}

static int verify(const struct authn *n, struct str token, struct arena *a,
		  struct token_claims *ret_claims, struct error *err)
{
	if (!n->opts.accounts)
		return error_set(err, ERR_UNAUTHORIZED, AUTHN_NO_TOKEN);
	return service_accounts_verify(n->opts.accounts, token, now_s(n), a, ret_claims, err);
}

int authn_token(const struct authn *n, struct str token, struct authn_audiences audiences,
		struct arena *a, struct user *ret_user, struct authn_audiences *ret_audiences,
		struct error *err)
{
	struct authn_audiences wanted = audiences.n ? audiences : api_audiences(n), common;
	const struct user *known = find_in_file(n, token);
	struct token_claims c;
	int r;

	/* Tokens of the file have no audiences: they are for the API. */
	if (known) {
		common = intersect(wanted, api_audiences(n), a);
		if (audiences.n && !common.n)
			return error_set(err, ERR_UNAUTHORIZED, AUTHN_NO_TOKEN);
		*ret_user = *known;
		*ret_audiences = common;
		return 0;
	}
	r = verify(n, token, a, &c, err);
	if (r == 0)
		r = check_audiences(n, &c, wanted, a, &common, err);
	if (r < 0)
		return r;
	token_claims_user(&c, a, ret_user);
	*ret_audiences = common;
	return 0;
}

static struct authn_entry *make_entry(const struct authn *n, struct str token, const uint8_t *hash)
{
	CLEANUP(authn_entry_unref) struct authn_entry *e = authn_entry_new(hash);
	struct authn_audiences common;
	struct token_claims c;

	token = arena_str(&e->arena, token);
	if (verify(n, token, &e->arena, &c, NULL) < 0 ||
	    check_audiences(n, &c, api_audiences(n), &e->arena, &common, NULL) < 0)
		return NULL;
	token_claims_user(&c, &e->arena, &e->user);
	e->until_ns = clock_monotonic(n->opts.clock) + REMEMBERED_NS;
	e->expires_s = c.expires_s + TOKEN_CLAIMS_LEEWAY_S;
	return TAKE(e);
}

static void drop_entry(void *entry)
{
	authn_entry_unref(entry);
}

static int from_token(struct authn *n, size_t lane, struct str token, struct arena *a,
		      struct user *ret_user)
{
	const struct user *known = find_in_file(n, token);
	uint8_t hash[PKI_SHA256_SIZE];
	struct authn_entry *e;

	if (known) {
		*ret_user = *known;
		return 1;
	}
	pki_sha256(token, hash);
	e = authn_cache_find(n->lanes[lane], hash, clock_monotonic(n->opts.clock), now_s(n));
	if (!e) {
		e = make_entry(n, token, hash);
		if (!e)
			return -ERR_UNAUTHORIZED;
		authn_cache_add(n->lanes[lane], e);
	}
	arena_hold(a, drop_entry, authn_entry_ref(e));
	*ret_user = e->user;
	return 1;
}

int authn_user(struct authn *n, size_t lane, struct http_stream *stream, struct arena *a,
	       struct user *ret_user, struct error *err)
{
	int r = from_certificate(n, stream, a, ret_user);
	struct str token = r > 0 ? STR_NULL : bearer_token(stream);

	if (r == 0 && !token.n)
		r = protocol_token(stream, a, &token);
	if (token.n)
		r = from_token(n, lane, token, a, ret_user);
	if (r > 0)
		return 0;
	if (r < 0 || n->opts.no_anonymous)
		return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
	*ret_user = user_anonymous();
	return 0;
}
