/*
 * Several servers on one store may trust different CAs, so nothing is removed here: each adds its
 * own. There are no keys about request headers, because the server trusts no proxy in front of
 * it.
 */
#include "server/startup/auth_config.h"

#include "base/core/buf.h"
#include "net/net_limits.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/startup/bootstrap.h"

#define NAMESPACE STR("kube-system")
#define NAME      STR("extension-apiserver-authentication")
#define KEY       "client-ca-file"
#define PEM_BEGIN STR("-----BEGIN CERTIFICATE-----")
#define PEM_END   STR("-----END CERTIFICATE-----")

/* The next certificate of *rest, from its first line to its last; empty at the end. */
static struct str next_cert(struct str *rest)
{
	ptrdiff_t begin = str_find(*rest, PEM_BEGIN), end;
	struct str cert;

	if (begin < 0)
		return STR("");
	cert = str_skip(*rest, (size_t)begin);
	end = str_find(cert, PEM_END);
	if (end < 0)
		return STR("");
	cert = str_of(cert.p, (size_t)end + PEM_END.n);
	*rest = str_skip(*rest, (size_t)begin + cert.n);
	return cert;
}

struct str auth_config_join(struct arena *a, struct str there, struct str ours)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(SIZE_MAX);
	struct str cert;

	(void)buf_add_str(&out, there);
	while ((cert = next_cert(&ours)).n) {
		if (str_find(buf_str(&out), cert) >= 0)
			continue;
		if (out.n && !str_ends(buf_str(&out), STR("\n")))
			(void)buf_addc(&out, '\n');
		(void)buf_add_str(&out, cert);
		(void)buf_addc(&out, '\n');
	}
	return arena_str(a, buf_str(&out));
}

static struct json *body_of(struct arena *a)
{
	struct json *body = json_make_object(a), *meta;

	json_put_str(a, body, "apiVersion", STR("v1"));
	json_put_str(a, body, "kind", STR("ConfigMap"));
	meta = json_need_object(a, body, "metadata");
	json_put_str(a, meta, "name", NAME);
	json_put_str(a, meta, "namespace", NAMESPACE);
	return body;
}

void auth_config_ensure(struct server *s, struct ensure *e)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("configmaps"));
	CLEANUP(buf_release) struct buf trust = BUF_INIT(2 * PEM_FILE_MAX);
	struct arena *a = ensure_arena(e);
	struct json *old, *wanted;
	struct str there, joined;
	struct error err;

	/* The file was readable when the server started: someone is changing it now. */
	if (bootstrap_trust(&s->opts, s->ca, &trust, &err) < 0)
		return;
	old = ensure_tree(e, kind, NAMESPACE, NAME);
	there = json_text_at(json_getz(old, "data"), KEY);
	joined = auth_config_join(a, there, buf_str(&trust));
	wanted = old ? json_make_object(a) : body_of(a);
	json_put_str(a, json_need_object(a, wanted, "data"), KEY, joined);
	if (!old)
		ensure_create(e, kind, wanted, ENSURE_MANAGER);
	else if (!str_eq(there, joined))
		ensure_patch(e, kind, old, wanted, ENSURE_MANAGER);
}
