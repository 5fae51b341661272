/*
 * A pod may belong to anybody. It must not learn the credentials of its clients, and its replies
 * come from our origin, where browsers keep the session of our page.
 */
#include "server/connect/fields.h"

#include "base/core/buf.h"
#include "net/http/http.h"
#include "net/net_limits.h"
#include "server/authn/authn.h"
#include "web/session/cookie.h"

static bool is_secret(struct str name)
{
	return str_eqz(name, "authorization") || str_eqz(name, "cookie") ||
	       str_starts(name, STR("impersonate-"));
}

/* A list of subprotocols without those that are tokens. */
static struct str without_tokens(struct str list, struct arena *a)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(HTTP_HEADERS_MAX);
	struct str piece;

	if (str_find(list, STR(AUTHN_TOKEN_PROTOCOL)) < 0)
		return list;
	while (str_split(&list, ',', &piece)) {
		piece = str_trim(piece);
		if (!str_starts(piece, STR(AUTHN_TOKEN_PROTOCOL)))
			(void)buf_printf(&out, "%s%.*s", out.n ? ", " : "", STR_ARG(piece));
	}
	return arena_str(a, buf_str(&out));
}

size_t connect_fields_request(const struct http_fields *in, struct arena *a, size_t more,
			      struct http_field **ret_fields)
{
	struct http_field *v = ARENA_ARRAY(a, struct http_field, in->n + more);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++) {
		struct http_field f = in->v[i];

		if (http_fields_is_of_hop(in, f.name) || is_secret(f.name) ||
		    str_starts(f.name, STR("x-forwarded-")))
			continue;
		if (str_eqz(f.name, "sec-websocket-protocol")) {
			f.value = without_tokens(f.value, a);
			if (!f.value.n)
				continue;
		}
		v[n++] = f;
	}
	*ret_fields = v;
	return n;
}

/* Browsers treat "=a=b" as a cookie without a name, and send it as "a=b". */
static bool sets_our_cookie(struct str value)
{
	struct str name;

	value = str_trim(value);
	while (str_starts(value, STR("=")))
		value = str_trim(str_skip(value, 1));
	return str_split(&value, ';', &name) && str_split(&name, '=', &value) &&
	       str_ieq(str_trim(value), STR(UI_COOKIE_NAME));
}

static bool fields_is_ours(const struct http_field *f)
{
	return str_eqz(f->name, "audit-id") || str_starts(f->name, STR("x-kubernetes-pf-")) ||
	       str_starts(f->name, STR("access-control-allow-")) ||
	       (str_eqz(f->name, "set-cookie") && sets_our_cookie(f->value));
}

size_t connect_fields_answer(const struct http_fields *in, struct arena *a, size_t more,
			     struct http_field **ret_fields)
{
	struct http_field *v = ARENA_ARRAY(a, struct http_field, in->n + more);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		if (!fields_is_ours(&in->v[i]))
			v[n++] = in->v[i];
	*ret_fields = v;
	return n;
}
