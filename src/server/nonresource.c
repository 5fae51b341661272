/*
 * A table of paths. Documents that are made once (discovery, OpenAPI) are
 * sent by reference, with an ETag so that clients need not fetch them again.
 */
#include "server/nonresource.h"

#include "base/json_writer.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/version.h"
#include "server/discovery.h"
#include "server/exchange.h"
#include "server/health.h"
#include "server/openapi.h"
#include "server/server_impl.h"

/* The Kubernetes version whose API this is. */
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

	(void)snprintf(git_version, sizeof(git_version), "v" API_MAJOR "." API_MINOR
		       ".0+devplane.%s", v->version);
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

static void handle_metrics(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(METRICS_TEXT_MAX);
	struct error err;

	if (metrics_print(x->server->metrics, &out) < 0) {
		(void)error_set(&err, ERR_TOO_LARGE, "metrics take more than %lu bytes",
				METRICS_TEXT_MAX);
		reply_error(x, &err, NULL);
		return;
	}
	reply_text(x, 200, STR("text/plain; version=0.0.4; charset=utf-8"), buf_str(&out));
}

/* What a browser or a person with curl sees at the root. */
static void handle_root(struct exchange *x)
{
	reply_text(x, 200, STR("application/json"),
		   STR("{\"paths\":[\"/api\",\"/apis\",\"/healthz\",\"/livez\",\"/metrics\","
		       "\"/openapi/v2\",\"/openapi/v3\",\"/readyz\",\"/version\"]}\n"));
}

static const struct {
	struct str path;
	void (*handle)(struct exchange *x);
} routes[] = {
	{ { "/version", 8 }, handle_version },
	{ { "/metrics", 8 }, handle_metrics },
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
