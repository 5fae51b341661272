/*
 * Finding a series by its labels costs a lock and a hash. So each lane caches the handles of the
 * combinations that it meets in a small table, and counting a request is one lookup. Entries are
 * keyed by the addresses of constant schema rows and a few small numbers.
 */
#include "server/http/metrics.h"

#include "api/schema/gates_metrics.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/report/metrics_process.h"
#include "base/system/version.h"
#include "net/http/server.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"

enum { CACHE_SIZE = 256 }; /* power of two */

struct cached {
	const struct schema_kind *kind;
	const struct schema_subresource *sub;
	int status;
	uint8_t verb, scope;
	bool dry_run;
	struct metrics_counter *total;
	struct metrics_histogram *duration;
};

struct server_metrics {
	struct metrics_family *total, *duration, *longrunning, *inflight;
	struct metrics_family *compile_steps, *compile_pauses, *drafts, *policies;
	struct metrics_counter *compiled, *paused, *drafted[DRAFT_RESULTS];
	struct metrics_counter *judged[POLICIES_LOOPS];
	struct metrics_gauge *reading, *writing; /* requests under way */
	struct cached *caches; /* CACHE_SIZE for each lane */
};

enum scope { SCOPE_NONE, SCOPE_RESOURCE, SCOPE_NAMESPACE, SCOPE_CLUSTER };

static struct str scope_name(enum scope scope)
{
	static const struct str names[] = {
		{ "", 0 }, { "resource", 8 }, { "namespace", 9 }, { "cluster", 7 }
	};

	return names[scope];
}

static enum scope scope_of(const struct request *r)
{
	if (r->verb == REQUEST_NONE)
		return SCOPE_NONE;
	if (r->name.n || r->verb == REQUEST_CREATE)
		return SCOPE_RESOURCE;
	return r->ns.n ? SCOPE_NAMESPACE : SCOPE_CLUSTER;
}

/* Upstream's label for a verb: the method, except where that is not specific enough. */
static struct str verb_label(const struct exchange *x)
{
	if (x->sub && x->sub->connect)
		return STR("CONNECT");
	switch (x->request.verb) {
	case REQUEST_LIST:
		return STR("LIST");
	case REQUEST_WATCH:
		return STR("WATCH");
	case REQUEST_DELETE_COLLECTION:
		return STR("DELETECOLLECTION");
	default:
		return x->stream->in.method;
	}
}

static bool is_long(const struct exchange *x)
{
	return x->request.verb == REQUEST_WATCH || (x->sub && x->sub->connect);
}

/* --- families ----------------------------------------------------------------------------- */

static const char *const request_labels[] = { "verb",    "dry_run",   "group",
					      "version", "resource",  "subresource",
					      "scope",   "component", "code" };
static const char *const long_labels[] = { "verb",        "group", "version",  "resource",
					   "subresource", "scope", "component" };
static const char *const inflight_labels[] = { "request_kind" };
static const char *const draft_labels[] = { "result" };
static const char *const policies_labels[] = { "loop" };
static const char *const build_labels[] = { "git_version", "git_commit", "platform" };

static const char *const draft_results[DRAFT_RESULTS] = {
	[DRAFT_USED] = "used",
	[DRAFT_AGAIN] = "again",
	[DRAFT_DROPPED] = "dropped",
};

static const char *const policies_loops[POLICIES_LOOPS] = {
	[POLICIES_ON_CONNECTION] = "connection",
	[POLICIES_ON_STATE] = "state",
};

static const double duration_bounds[] = { 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8,
					  1,     1.25,  1.5,  2,   3,   4,   5,   6,
					  8,     10,    15,   20,  30,  45,  60 };

static int add_families(struct metrics *m, struct server_metrics *sm, struct error *err)
{
	const struct {
		struct metrics_spec spec;
		struct metrics_family **family;
	} rows[] = {
		{ { .name = "apiserver_request_total",
		    .help = "Requests answered, by verb, resource and status code.",
		    .type = METRICS_COUNTER,
		    .labels = request_labels,
		    .labels_n = 9 },
		  &sm->total },
		{ { .name = "apiserver_request_duration_seconds",
		    .help = "Time from a request's header to the end of its reply.",
		    .type = METRICS_HISTOGRAM,
		    .labels = request_labels,
		    .labels_n = 8,
		    .bounds = duration_bounds,
		    .bounds_n = ARRAY_SIZE(duration_bounds) },
		  &sm->duration },
		{ { .name = "apiserver_longrunning_requests",
		    .help = "Open watches, and requests proxied to nodes and pods.",
		    .type = METRICS_GAUGE,
		    .labels = long_labels,
		    .labels_n = ARRAY_SIZE(long_labels) },
		  &sm->longrunning },
		{ { .name = "apiserver_current_inflight_requests",
		    .help = "Requests being executed, without watches.",
		    .type = METRICS_GAUGE,
		    .labels = inflight_labels,
		    .labels_n = 1 },
		  &sm->inflight },
		{ { .name = "devplane_cel_compile_steps_total",
		    .help = "Steps of compiling CEL expressions in written objects.",
		    .type = METRICS_COUNTER },
		  &sm->compile_steps },
		{ { .name = "devplane_cel_compile_pauses_total",
		    .help = "Pauses in compiling CEL expressions, to serve other requests.",
		    .type = METRICS_COUNTER },
		  &sm->compile_pauses },
		{ { .name = "devplane_write_drafts_total",
		    .help = "Writes decided on their connection's loop: used, made again because "
			    "the object had changed, or dropped and decided by the state.",
		    .type = METRICS_COUNTER,
		    .labels = draft_labels,
		    .labels_n = ARRAY_SIZE(draft_labels) },
		  &sm->drafts },
		{ { .name = "devplane_admission_policy_checks_total",
		    .help = "Decisions of ValidatingAdmissionPolicies about writes that they "
			    "match, by the loop that evaluated them.",
		    .type = METRICS_COUNTER,
		    .labels = policies_labels,
		    .labels_n = ARRAY_SIZE(policies_labels) },
		  &sm->policies },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && r == 0; i++)
		r = metrics_register(m, &rows[i].spec, rows[i].family, err);
	return r;
}

static int add_build(struct metrics *m, struct error *err)
{
	struct metrics_spec spec = { .name = "kubernetes_build_info",
				     .help = "Version of the build; always 1.",
				     .type = METRICS_GAUGE,
				     .labels = build_labels,
				     .labels_n = ARRAY_SIZE(build_labels) };
	const struct version *v = version_get();
	struct metrics_family *f;
	int r;

	r = metrics_register(m, &spec, &f, err);
	if (r == 0)
		metrics_gauge_set(metrics_gauge(f, str_from(v->version), str_from(v->commit),
						str_from(v->platform)),
				  1);
	return r;
}

static struct http_server_stats http_stats(const struct server *s)
{
	struct http_server_stats stats = { 0 };

	if (s->http)
		http_server_stats(s->http, &stats);
	return stats;
}

static double stalled_streams(void *server)
{
	return (double)http_stats(server).stalled;
}

static double refused_all(void *server)
{
	return (double)http_stats(server).refused_all;
}

static double refused_strangers(void *server)
{
	return (double)http_stats(server).refused_strangers;
}

static int add_refused(struct server *s, struct error *err)
{
	static const char *const labels[] = { "limit" };
	static const struct str all = { "all", 3 }, strangers = { "unauthenticated", 15 };
	struct metrics_spec spec = { .name = "devplane_http_connections_refused_total",
				     .help = "Connections closed immediately because of a limit.",
				     .type = METRICS_COUNTER,
				     .labels = labels,
				     .labels_n = 1 };
	struct metrics_family *f;
	int r = metrics_register(s->metrics, &spec, &f, err);

	if (r < 0)
		return r;
	metrics_callback_of(f, refused_all, s, &all, 1);
	metrics_callback_of(f, refused_strangers, s, &strangers, 1);
	return 0;
}

static int add_http(struct server *s, struct error *err)
{
	struct metrics_spec spec = { .name = "devplane_http_stalled_streams_total",
				     .help = "HTTP/2 streams reset because the client did not read "
					     "the reply.",
				     .type = METRICS_COUNTER };
	struct metrics_family *f;
	int r = metrics_register(s->metrics, &spec, &f, err);

	if (r == 0)
		metrics_callback_of(f, stalled_streams, s, NULL, 0);
	return r;
}

int server_metrics_new(struct server *s, struct server_metrics **ret_metrics, struct error *err)
{
	CLEANUP(server_metrics_free) struct server_metrics *sm = xcalloc(1, sizeof(*sm));
	int r;

	sm->caches = xcalloc(s->opts.nloops * CACHE_SIZE, sizeof(*sm->caches));
	r = add_families(s->metrics, sm, err);
	if (r == 0)
		r = gates_metrics_register(s->metrics, &s->gates, err);
	if (r == 0)
		r = add_build(s->metrics, err);
	if (r == 0)
		r = add_http(s, err);
	if (r == 0)
		r = add_refused(s, err);
	if (r == 0)
		r = metrics_process_register(s->metrics, err);
	if (r < 0)
		return r;
	sm->compiled = metrics_counter_of(sm->compile_steps, NULL, 0);
	sm->paused = metrics_counter_of(sm->compile_pauses, NULL, 0);
	for (int i = 0; i < DRAFT_RESULTS; i++)
		sm->drafted[i] = metrics_counter(sm->drafts, str_from(draft_results[i]));
	for (int i = 0; i < POLICIES_LOOPS; i++)
		sm->judged[i] = metrics_counter(sm->policies, str_from(policies_loops[i]));
	sm->reading = metrics_gauge(sm->inflight, STR("readOnly"));
	sm->writing = metrics_gauge(sm->inflight, STR("mutating"));
	*ret_metrics = TAKE(sm);
	return 0;
}

void server_metrics_free(struct server_metrics *m)
{
	if (!m)
		return;
	free(m->caches);
	free(m);
}

void server_metrics_compiled(struct server_metrics *m, uint64_t steps)
{
	if (steps)
		metrics_counter_add(m->compiled, steps);
}

void server_metrics_paused(struct server_metrics *m)
{
	metrics_counter_add(m->paused, 1);
}

void server_metrics_drafted(struct server_metrics *m, enum draft_result result)
{
	metrics_counter_add(m->drafted[result], 1);
}

void server_metrics_policies(struct server_metrics *m, enum policies_loop loop)
{
	metrics_counter_add(m->judged[loop], 1);
}

/* --- counting ------------------------------------------------------------------------------- */

static void metrics_resolve(struct server_metrics *m, const struct exchange *x, struct cached *c)
{
	const struct request *r = &x->request;
	char code[16];
	struct str values[] = {
		verb_label(x),
		x->request.dry_run ? STR("All") : STR(""),
		x->kind ? x->kind->group : STR(""),
		x->kind ? x->kind->version : STR(""),
		x->kind ? x->kind->resource : STR(""),
		x->sub ? x->sub->name : STR(""),
		scope_name(scope_of(r)),
		STR("apiserver"),
		str_of(code, (size_t)snprintf(code, sizeof(code), "%d", x->status)),
	};

	c->total = metrics_counter_of(m->total, values, 9);
	c->duration = is_long(x) ? NULL : metrics_histogram_of(m->duration, values, 8);
}

static struct cached *metrics_find(struct server_metrics *m, const struct exchange *x)
{
	struct cached key = { .kind = x->kind,
			      .sub = x->sub,
			      .status = x->status,
			      .verb = (uint8_t)x->request.verb,
			      .scope = (uint8_t)scope_of(&x->request),
			      .dry_run = x->request.dry_run };
	uintptr_t hash = ((uintptr_t)key.kind >> 4) * 31 + ((uintptr_t)key.sub >> 4) * 17 +
			 (uintptr_t)key.status * 7 + key.verb * 3 + key.scope;
	struct cached *c = &m->caches[x->lane * CACHE_SIZE + (hash & (CACHE_SIZE - 1))];

	/*
	 * Paths that are not resources have arbitrary methods, so they are not cached. Custom
	 * kinds are not cached because their memory may be reused.
	 */
	if (c->total && key.verb != REQUEST_NONE && !x->custom && c->kind == key.kind &&
	    c->sub == key.sub && c->status == key.status && c->verb == key.verb &&
	    c->scope == key.scope && c->dry_run == key.dry_run)
		return c;
	metrics_resolve(m, x, &key);
	*c = key;
	return c;
}

static struct metrics_gauge *inflight_of(struct server_metrics *m, const struct exchange *x)
{
	if (is_long(x))
		return metrics_gauge(m->longrunning, STR("WATCH"), x->kind->group, x->kind->version,
				     x->kind->resource, x->sub ? x->sub->name : STR(""),
				     scope_name(scope_of(&x->request)), STR("apiserver"));
	return str_eqz(x->stream->in.method, "GET") ? m->reading : m->writing;
}

void server_metrics_begin(struct exchange *x)
{
	x->inflight = inflight_of(x->server->counts, x);
	metrics_gauge_add(x->inflight, 1);
}

void server_metrics_end(struct exchange *x)
{
	struct server_metrics *m = x->server->counts;
	struct cached *c = metrics_find(m, x);
	int64_t took_ns = clock_monotonic(x->server->clock) - x->begun_ns;

	if (x->inflight)
		metrics_gauge_add(x->inflight, -1);
	metrics_counter_add(c->total, 1);
	if (c->duration)
		metrics_histogram_observe(c->duration, (double)took_ns / (double)CLOCK_SEC);
}
