/*
 * Errors are Status objects, as those of an API server, because the page shows their messages.
 */
#include "api/object/status.h"
#include "base/core/limits.h"
#include "cli/ui/site_impl.h"
#include "web/session/page.h"
#include "web/web.h"

enum { MORE_MAX = 4, FIELDS_MAX = UI_FIELDS + 2 + MORE_MAX, STATUS_MAX = 8 * KIB };

static void quiet_on_body(struct http_stream *h, struct str piece)
{
	http_stream_consume(h, piece.n);
}

static void quiet_on_close(struct http_stream *h UNUSED, const struct error *err UNUSED)
{
}

const struct http_stream_ops site_quiet_ops = { .on_body = quiet_on_body,
						.on_close = quiet_on_close };

/* Starts a reply with these fields: the policies, the type, whether to cache. */
static size_t first_fields(struct http_field *v, struct str type, struct str cache)
{
	size_t n = UI_FIELDS;

	memcpy(v, ui_fields, sizeof(ui_fields));
	if (type.n)
		v[n++] = HTTP_FIELD("content-type", type);
	v[n++] = HTTP_FIELD("cache-control", cache);
	return n;
}

void site_reply(struct http_stream *h, int status, struct str type, struct str body,
		const struct http_field *more, size_t nmore)
{
	struct http_field v[FIELDS_MAX];
	size_t n = first_fields(v, type, STR("no-store"));

	for (size_t i = 0; i < MIN(nmore, (size_t)MORE_MAX); i++)
		v[n++] = more[i];
	if (http_stream_respond(h, status, v, n, (int64_t)body.n) < 0)
		return;
	(void)http_stream_send_copy(h, body);
	(void)http_stream_end(h, NULL, 0);
}

static void send_status(struct http_stream *h, const struct error *err,
			const struct http_field *more, size_t nmore)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(STATUS_MAX);

	(void)status_print(err, NULL, &out);
	site_reply(h, error_http_status(err->code), STR("application/json"), buf_str(&out), more,
		   nmore);
}

void site_fail(struct http_stream *h, const struct error *err)
{
	struct http_field retry = HTTP_FIELD("retry-after", STR("1"));

	send_status(h, err, &retry, err->code == ERR_TOO_MANY_REQUESTS ? 1 : 0);
}

void site_refuse_login(const struct site *s, struct http_stream *h, const char *why)
{
	struct http_field ways = HTTP_FIELD("x-devplane-login",
					    s->opts.oidc ? STR("ui oidc") : STR("ui"));
	struct error err;

	(void)error_set(&err, ERR_UNAUTHORIZED, "%s", why);
	send_status(h, &err, &ways, 1);
}

void site_refuse(struct http_stream *h, enum error_code code, const char *why)
{
	struct error err;

	(void)error_set(&err, code, "%s", why);
	site_fail(h, &err);
}

void site_redirect(struct http_stream *h, struct str to)
{
	struct http_field location = HTTP_FIELD("location", to);

	site_reply(h, 308, STR("text/plain; charset=utf-8"), STR("the page is at /ui/\n"),
		   &location, 1);
}

/* The name is used literally: nothing is decoded, and no file system is read. */
void site_send_file(struct http_stream *h, struct str name)
{
	const struct web_file *f = web_find(name.n ? name : STR("index.html"));
	const struct http_fields *in = &h->in.fields;
	struct http_field v[FIELDS_MAX];
	struct str body;
	bool known, zipped;
	size_t n;

	if (!f) {
		site_refuse(h, ERR_NOT_FOUND, "the page has no file of that name");
		return;
	}
	if (!str_eqz(h->in.method, "GET") && !str_eqz(h->in.method, "HEAD")) {
		site_refuse(h, ERR_METHOD_NOT_ALLOWED, "a file of the page can only be read");
		return;
	}
	known = str_find(http_fields_get(in, STR("if-none-match")), str_from(f->etag)) >= 0;
	zipped = f->zipped.n && http_fields_has_token(in, STR("accept-encoding"), STR("gzip"));
	n = first_fields(v, str_from(f->content_type), STR("no-cache"));
	v[n++] = HTTP_FIELD("etag", str_from(f->etag));
	if (zipped && !known)
		v[n++] = HTTP_FIELD("content-encoding", STR("gzip"));
	body = known ? STR_NULL : zipped ? f->zipped : f->bytes;
	if (http_stream_respond(h, known ? 304 : 200, v, n, (int64_t)body.n) < 0)
		return;
	(void)http_stream_send(h, slice_static(body));
	(void)http_stream_end(h, NULL, 0);
}
