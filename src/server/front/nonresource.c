/*
 * A table of paths. Documents that are made once (discovery, OpenAPI) are sent by reference, with
 * an ETag so that clients need not fetch them again.
 */
#include "server/front/nonresource.h"

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/report/metrics.h"
#include "base/system/version.h"
#include "server/core/parts.h"
#include "server/front/oidc.h"
#include "server/gate/health.h"
#include "server/gate/slis.h"
#include "server/http/exchange.h"
#include "server/http/reply.h"
#include "server/publish/catalogue.h"
#include "server/publish/discovery.h"
#include "server/publish/document.h"
#include "server/publish/openapi.h"

/* The version of the Kubernetes API that is served. */
#define API_MAJOR "1"
#define API_MINOR "37"

static void handle_version(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * KIB);
	const struct version *v = version_get();
	char git_version[128];
	const struct {
		const char *key, *value;
	} rows[] = {
		{ "major", API_MAJOR },
		{ "minor", API_MINOR },
		{ "emulationMajor", API_MAJOR },
		{ "emulationMinor", API_MINOR },
		{ "gitVersion", git_version },
		{ "gitCommit", v->commit },
		{ "gitTreeState", strstr(v->commit, "-dirty") ? "dirty" : "clean" },
		{ "buildDate", "1970-01-01T00:00:00Z" }, /* builds are reproducible */
		{ "goVersion", "none" },
		{ "compiler", v->compiler },
		{ "platform", v->platform },
	};
	struct json_writer w;

	(void)snprintf(git_version, sizeof(git_version),
		       "v" API_MAJOR "." API_MINOR ".0+devplane.%s", v->version);
	json_writer_init(&w, &out, &(struct json_style){ .indent = 2 });
	json_writer_begin_object(&w);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_writer_keyz(&w, rows[i].key);
		json_writer_strz(&w, rows[i].value);
	}
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	reply_text(x, 200, STR("application/json"), buf_str(&out));
}

static void reply_metrics(struct exchange *x, int printed, const struct buf *out)
{
	struct error err;

	if (printed < 0) {
		(void)error_set(&err, ERR_TOO_LARGE, "metrics take more than %lu bytes",
				METRICS_TEXT_MAX);
		reply_error(x, &err, NULL);
		return;
	}
	reply_text(x, 200, STR("text/plain; version=0.0.4; charset=utf-8"), buf_str(out));
}

static void handle_metrics(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(METRICS_TEXT_MAX);

	reply_metrics(x, metrics_print(x->server->metrics, &out), &out);
}

static void handle_slis(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(METRICS_TEXT_MAX);

	reply_metrics(x, slis_print(x->server->slis, &out), &out);
}

/* The list of paths at the root, for a browser or a person with curl. */
static void handle_root(struct exchange *x)
{
	const char *text = arena_printf(
		x->arena,
		"{\"paths\":[\"/.well-known/openid-configuration\",\"/api\",\"/apis\",\"/healthz\","
		"\"/livez\",\"/metrics\",\"/metrics/slis\",\"/openapi/v2\",\"/openapi/v3\",\"/"
		"openid/v1/jwks\","
		"\"/readyz\",%s\"/version\"]}\n",
		x->server->sessions ? "\"/ui/\"," : "");

	reply_text(x, 200, STR("application/json"), str_from(text));
}

static const struct {
	struct str path;
	void (*handle)(struct exchange *x);
} routes[] = {
	{ { "/version", 8 }, handle_version },
	{ { "/metrics", 8 }, handle_metrics },
	{ { "/metrics/slis", 13 }, handle_slis },
	{ { "/.well-known/openid-configuration", 33 }, oidc_configuration },
	{ { "/openid/v1/jwks", 15 }, oidc_keys },
	{ { "/", 1 }, handle_root },
};

static bool route(struct exchange *x, struct str path)
{
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (str_eq(path, routes[i].path)) {
			routes[i].handle(x);
			return true;
		}
	}
	return false;
}

/* --- documents ------------------------------------------------------------------------------ */

static void send_zipped(struct exchange *x, const struct document *d)
{
	if (!reply_head(x, 200, str_from(d->content_type), STR("gzip"), (int64_t)d->zipped->n))
		return;
	(void)http_stream_send(x->stream, slice_of(d->zipped));
	(void)http_stream_end(x->stream, NULL, 0);
}

static void send_document(struct exchange *x, const struct document *d)
{
	const struct http_fields *in = &x->stream->in.fields;
	struct str known = http_fields_get(in, STR("if-none-match"));

	x->etag = d->etag;
	if (known.n && document_matches(d, known))
		reply_body(x, 304, str_from(d->content_type), (struct slice){ 0 });
	else if (d->zipped && http_fields_has_token(in, STR("accept-encoding"), STR("gzip")))
		send_zipped(x, d);
	else
		reply_body(x, 200, str_from(d->content_type), slice_of(d->bytes));
}

static bool send_discovery(struct exchange *x, struct str path)
{
	const struct document *d;

	if (!x->catalogue || discovery_get(x->catalogue->discovery, path, &x->accept, &d, NULL) < 0)
		return false;
	send_document(x, d);
	return true;
}

/* The `hash` parameter of a query; p NULL if absent. */
static struct str asked_hash(struct exchange *x)
{
	struct str rest = x->stream->in.query, name, value;

	while (request_param(&rest, x->arena, &name, &value)) {
		if (str_eqz(name, "hash"))
			return value;
	}
	return STR_NULL;
}

static bool send_openapi(struct exchange *x, struct str path)
{
	struct str accept = http_fields_get(&x->stream->in.fields, STR("accept"));
	const struct document *d;
	struct str asked;
	struct error err;
	int r;

	if (!x->catalogue)
		return false;
	r = openapi_get(x->catalogue->openapi, path, accept, &d, &err);
	if (r == -ERR_NOT_FOUND)
		return false;
	if (r < 0) {
		reply_error(x, &err, NULL);
		return true;
	}
	asked = asked_hash(x);
	if (asked.n && !str_eq(asked, document_hash(d))) {
		x->location = str_from(arena_printf(x->arena, "%.*s?hash=%.*s", STR_ARG(path),
						    STR_ARG(document_hash(d))));
		reply_text(x, 301, STR("text/plain; charset=utf-8"), STR("moved\n"));
	} else {
		/* The URL identifies the content. */
		if (asked.n)
			x->cache_control = "public, immutable, max-age=31536000";
		send_document(x, d);
	}
	return true;
}

bool nonresource_handle(struct exchange *x)
{
	struct str path = x->stream->in.path;

	if (!str_eqz(x->stream->in.method, "GET"))
		return false;
	if (health_is_path(path)) {
		health_handle(x);
		return true;
	}
	return route(x, path) || send_discovery(x, path) ||
	       (str_starts(path, STR("/openapi/")) && send_openapi(x, path));
}
