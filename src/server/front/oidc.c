/*
 * Printed for each request: clients fetch them about once an hour, as max-age says.
 */
#include "server/front/oidc.h"

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "server/authn/service_accounts.h"
#include "server/core/parts.h"
#include "server/http/reply.h"

static void print_list(struct json_writer *w, const char *key, const char *only)
{
	json_writer_keyz(w, key);
	json_writer_begin_array(w);
	json_writer_strz(w, only);
	json_writer_end_array(w);
}

/* This server's own URL, unless a flag sets the URL of the keys. */
static struct str jwks_uri(struct exchange *x)
{
	const struct server *s = x->server;
	const struct addr *at = &s->at;
	const char *host = at->host;

	if (s->opts.service_account_jwks_uri)
		return str_from(s->opts.service_account_jwks_uri);
	if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
		host = "127.0.0.1";
	return str_from(arena_printf(x->arena,
				     strchr(host, ':') ? "https://[%s]:%u/openid/v1/jwks"
						       : "https://%s:%u/openid/v1/jwks",
				     host, at->port));
}

void oidc_configuration(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);
	const struct service_accounts *accounts = x->server->accounts;
	struct json_writer w;

	if (!accounts) {
		reply_no_page(x);
		return;
	}
	json_writer_init(&w, &out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "issuer");
	json_writer_str(&w, service_accounts_issuer(accounts));
	json_writer_keyz(&w, "jwks_uri");
	json_writer_str(&w, jwks_uri(x));
	print_list(&w, "response_types_supported", "id_token");
	print_list(&w, "subject_types_supported", "public");
	json_writer_keyz(&w, "id_token_signing_alg_values_supported");
	service_accounts_print_algorithms(accounts, &w);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	x->cache_control = "public, max-age=3600";
	reply_text(x, 200, STR("application/json"), buf_str(&out));
}

void oidc_keys(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct json_writer w;

	if (!x->server->accounts) {
		reply_no_page(x);
		return;
	}
	json_writer_init(&w, &out, NULL);
	service_accounts_print_keys(x->server->accounts, &w);
	(void)json_writer_finish(&w);
	x->cache_control = "public, max-age=3600";
	reply_text(x, 200, STR("application/jwk-set+json"), buf_str(&out));
}
