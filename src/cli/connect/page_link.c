/*
 * An API server that is not ours answers 403 or 404, as for any unknown path. Here both mean that
 * it has no page.
 */
#include "cli/connect/page_link.h"

#include "base/json/json.h"
#include "client/client_limits.h"
#include "net/tls/tls.h"

static void page_link_explain(struct error *failure)
{
	if (failure->code == ERR_NOT_FOUND || failure->code == ERR_METHOD_NOT_ALLOWED ||
	    (failure->code == ERR_FORBIDDEN && strstr(failure->msg, "cannot post path")))
		(void)error_set(failure, ERR_NOT_FOUND,
				"the server has no device page: it was started with --ui=false, or "
				"it is not \"devplane server\"");
}

static void page_link_on_done(struct client_request *r, const struct client_answer *answer,
			      const struct error *err)
{
	struct page_link *p = CONTAINER_OF(r, struct page_link, request);
	CLEANUP(arena_release) struct arena a;
	struct str code = STR_NULL, expires = STR_NULL;
	struct error why = { 0 };
	struct json *tree;

	arena_init(&a, CLIENT_ANSWER_MAX);
	if (err) {
		why = *err;
		page_link_explain(&why);
	} else if (client_answer_tree(answer, &a, &tree, &why) == 0) {
		code = json_text_at(tree, "code");
		expires = json_text_at(tree, "expires");
		if (!code.n)
			(void)error_set(&why, ERR_PROTOCOL, "the server's answer has no code");
	}
	p->on_done(p, code, expires, why.code ? &why : NULL);
}

void page_link_ask(struct client *c, struct page_link *p, int64_t seconds)
{
	char query[32];

	(void)snprintf(query, sizeof(query), "seconds=%lld", (long long)seconds);
	p->request = (struct client_request){ .method = STR("POST"),
					      .path = STR("/ui/link"),
					      .query = str_from(query),
					      .on_done = page_link_on_done };
	client_send(c, &p->request);
}

const char *page_link_url(struct arena *a, struct str server, struct str code)
{
	while (str_ends(server, STR("/")))
		server.n--;
	return arena_printf(a, "%.*s/ui/#code=%.*s", STR_ARG(server), STR_ARG(code));
}

const char *page_link_fingerprint(struct arena *a, struct str pem)
{
	struct tls_peer ca;
	char *text, *to;

	if (!pem.n || tls_peer_read(pem, a, &ca, NULL) < 0)
		return "";
	text = to = arena_alloc(a, sizeof(ca.fingerprint) * 3 / 2);
	for (size_t i = 0; ca.fingerprint[i]; i++) {
		char c = ca.fingerprint[i];

		if (i > 0 && i % 2 == 0)
			*to++ = ':';
		*to++ = (char)(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
	}
	*to = '\0';
	return text;
}
