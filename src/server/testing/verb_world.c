/*
 * The server is assembled by hand from its parts: the tests cover exchange, route, verb, state
 * and reply. Authentication and non-resource paths are replaced here.
 */
#include "server/testing/verb_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "net/http/server.h"
#include "net/sim/sim.h"
#include "server/core/user.h"
#include "server/custom/custom.h"
#include "server/front/begin.h"
#include "server/front/nonresource.h"
#include "server/gate/access.h"
#include "server/http/metrics.h"
#include "server/security/security.h"
#include "server/fence/device_holds.h"
#include "server/plugins/quotas.h"
#include "server/policies/policy.h"
#include "server/reach/kubelets.h"
#include "server/services/services.h"
#include "server/startup/namespaces.h"
#include "server/testing/state_fake.h"
#include "server/webhooks/webhooks.h"

enum { HANG_MS = 200 * 1000 };

static const struct str masters[] = { { "system:masters", 14 } };

static const struct verb_world *world_of(const struct exchange *x)
{
	return CONTAINER_OF(x->server, struct verb_world, server);
}

bool access_identify(struct exchange *x)
{
	x->user = (struct user){ .name = STR("admin"),
				 .groups = masters,
				 .ngroups = 1,
				 .ends_s = world_of(x)->user_ends_s,
				 .authenticated = true };
	return true;
}

bool access_still_granted(const struct exchange *x, struct state *st UNUSED)
{
	return !world_of(x)->right_lost;
}

/* All loops run in one thread here, so the state may be used from any of them. */
void access_ask(struct exchange *x, void (*then)(struct exchange *x))
{
	struct custom_view view;

	(void)custom_look(x->server->custom, x, &view);
	custom_show(x, &view);
	then(x);
}

bool nonresource_handle(struct exchange *x)
{
	if (!str_eqz(x->stream->in.path, "/version"))
		return false;
	reply_text(x, 200, STR("text/plain"), STR("1.37"));
	return true;
}

/* --- lifecycle -------------------------------------------------------------------- */

static void verb_world_handle(void *arg, struct http_stream *stream, size_t lane)
{
	struct verb_world *w = arg;

	w->served[lane]++;
	w->last = stream;
	exchange_begin(&w->server, stream, lane);
}

static void on_namespaces(void *arg, const struct error *err)
{
	struct verb_world *w = arg;

	assert_null(err);
	atomic_store(&w->server.ready, true);
	custom_start(w->server.custom);
	services_start(w->server.services);
}

static void verb_world_on_state(void *arg, const struct error *err)
{
	struct verb_world *w = arg;

	assert_null(err);
	namespaces_ensure(&w->server, on_namespaces, w);
}

static bool verb_world_is_ready(void *arg)
{
	return atomic_load(&((struct verb_world *)arg)->server.ready);
}

static void gather_observers(struct verb_world *w, struct state_opts *opts)
{
	struct server *s = &w->server;
	const struct admission_policies *policies = s->policies, *mutating = s->mutating_policies;
	size_t n, nhooks;
	const struct state_observer *custom = custom_observers(s->custom, &n), *hooks;
	struct state_observer *at;
	struct error err;

	assert_int_equal(services_new(s, &s->opts, &s->services, &err), 0);
	assert_int_equal(webhooks_new(s, &s->webhooks, &err), 0);
	hooks = webhooks_observers(s->webhooks, &nhooks);
	s->holds = device_holds_new();
	opts->nobservers = n + nhooks + 2UL * ADMISSION_POLICY_OBSERVERS + SERVICES_OBSERVERS +
			   DEVICE_HOLDS_OBSERVERS;
	at = s->observers = xcalloc(opts->nobservers, sizeof(*s->observers));
	memcpy(at, custom, n * sizeof(*custom));
	at += n;
	memcpy(at, hooks, nhooks * sizeof(*hooks));
	at += nhooks;
	memcpy(at, policies->observers, sizeof(policies->observers));
	at += ADMISSION_POLICY_OBSERVERS;
	memcpy(at, mutating->observers, sizeof(mutating->observers));
	at += ADMISSION_POLICY_OBSERVERS;
	services_observe(s->services, at);
	device_holds_observe(s->holds, at + SERVICES_OBSERVERS);
	opts->observers = s->observers;
}

static void start_state(struct verb_world *w, uint64_t seed)
{
	struct fake_opts fake = { .local = w->local, .seed = seed, .delay_ms = 3 };
	struct state_opts opts = {
		.loop = w->lanes[0],
		.gates = &w->server.gates,
		.lanes = w->lanes,
		.nlanes = 2,
		.on_ready = verb_world_on_state,
		.arg = w,
	};

	log_child(&w->log, log_null(), NULL, 0);
	w->server.opts.log = &w->log;
	w->server.selectors = w->selectors; /* none are known */
	w->data = fake_data_new();
	w->server.custom = custom_new(&w->server);
	w->server.policies = XNEW(struct admission_policies);
	admission_policies_init(w->server.policies, ADMISSION_VALIDATING, 2, w->server.opts.log);
	w->server.mutating_policies = XNEW(struct admission_policies);
	admission_policies_init(w->server.mutating_policies, ADMISSION_MUTATING, 2,
				w->server.opts.log);
	gather_observers(w, &opts);
	w->server.quotas = quotas_new(&w->server);
	opts.store = w->server.store = fake_store_open(w->lanes[0], w->data, &fake);
	w->server.state = state_new(&opts);
	custom_attach(w->server.custom, w->server.state);
	assert_true(sim_run_until(w->sim, verb_world_is_ready, w, HANG_MS));
}

static void connect_client(struct verb_world *w, unsigned client)
{
	struct http_client_opts opts = { .to = w->at, .protocol = w->protocol };
	struct error err;

	http_client_free(w->clients[client]);
	assert_int_equal(http_client_new(w->guest, &opts, &w->clients[client], &err), 0);
}

static void start_http(struct verb_world *w)
{
	struct http_server_opts opts = {
		.loops = w->lanes, .nloops = 2, .handler = verb_world_handle, .arg = w
	};
	struct addr at;
	struct error err;

	assert_int_equal(addr_parse(&at, STR("127.0.0.1:6443"), 0, &err), 0);
	w->server.http = http_server_new(&opts);
	assert_int_equal(http_server_listen(w->server.http, &at, NULL, 0, &w->at, &err), 0);
	connect_client(w, 0);
	connect_client(w, 1);
}

void verb_world_init(struct verb_world *w, uint64_t seed, enum http_protocol protocol, bool local)
{
	struct sim_opts opts = { .seed = seed };
	struct server *s = &w->server;
	struct error err;

	memset(w, 0, sizeof(*w));
	w->local = local;
	w->protocol = protocol;
	w->sim = sim_new(&opts);
	w->lanes[0] = sim_loop_new(w->sim, "server");
	w->lanes[1] = sim_loop_new(w->sim, "server");
	w->guest = sim_loop_new(w->sim, "guest");
	arena_init(&w->arena, SIZE_MAX);
	gates_init(&s->gates);
	s->opts = (struct server_opts){ .loops = w->lanes, .nloops = 2, .simulated = true };
	s->clock = loop_clock(w->lanes[0]);
	s->metrics = metrics_new();
	assert_int_equal(server_metrics_new(s, &s->counts, &err), 0);
	assert_int_equal(memory_new(s, &s->memory, &err), 0);
	assert_int_equal(kubelets_new(&s->opts, NULL, s->clock, &s->kubelets, &err), 0);
	s->admission = &w->admission;
	assert_int_equal(security_new(NULL, s->metrics, &s->security, &err), 0);
	s->reach = &w->reach;
	assert_int_equal(reach_init(s->reach, s->opts.node_address_ranges,
				    s->opts.nnode_address_ranges, &err),
			 0);
	start_state(w, seed);
	start_http(w);
}

static void set_flag(void *arg)
{
	*(bool *)arg = true;
}

static bool verb_world_is_set(void *arg)
{
	return *(bool *)arg;
}

void verb_world_release(struct verb_world *w)
{
	bool drained = false, stopped = false, called = false;

	http_client_free(w->clients[0]);
	http_client_free(w->clients[1]);
	http_server_drain(w->server.http, 1000, set_flag, &drained);
	assert_true(sim_run_until(w->sim, verb_world_is_set, &drained, HANG_MS));
	http_server_free(w->server.http);
	custom_stop(w->server.custom);
	services_stop(w->server.services);
	webhooks_stop(w->server.webhooks, set_flag, &called);
	assert_true(sim_run_until(w->sim, verb_world_is_set, &called, HANG_MS));
	state_stop(w->server.state, set_flag, &stopped);
	assert_true(sim_run_until(w->sim, verb_world_is_set, &stopped, HANG_MS));
	custom_free(w->server.custom);
	admission_policies_release(w->server.policies);
	free(w->server.policies);
	admission_policies_release(w->server.mutating_policies);
	free(w->server.mutating_policies);
	quotas_free(w->server.quotas);
	state_free(w->server.state);
	webhooks_free(w->server.webhooks);
	services_free(w->server.services);
	device_holds_free(w->server.holds);
	free(w->server.observers);
	fake_data_free(w->data);
	kubelets_free(w->server.kubelets);
	reach_release(&w->reach);
	memory_free(w->server.memory);
	server_metrics_free(w->server.counts);
	security_free(w->server.security);
	metrics_free(w->server.metrics);
	arena_release(&w->arena);
	sim_run_for(w->sim, 10);
	loop_free(w->guest);
	loop_free(w->lanes[1]);
	loop_free(w->lanes[0]);
	sim_free(w->sim);
}

/* --- requests --------------------------------------------------------------------- */

static void copy_field(const struct http_stream *s, struct str name, char *to, size_t size)
{
	struct str v = http_fields_get(&s->in.fields, name);

	(void)snprintf(to, size, "%.*s", STR_ARG(v));
}

static void verb_world_on_head(struct http_stream *s)
{
	struct verb_ask *a = s->data;
	size_t n = 0;

	a->status = s->in.status;
	a->length = s->in.length;
	copy_field(s, STR("content-type"), a->content, sizeof(a->content));
	copy_field(s, STR("content-encoding"), a->content_encoding, sizeof(a->content_encoding));
	copy_field(s, STR("audit-id"), a->audit_id, sizeof(a->audit_id));
	copy_field(s, STR("cache-control"), a->cache_control, sizeof(a->cache_control));
	copy_field(s, STR("retry-after"), a->retry_after, sizeof(a->retry_after));
	for (size_t i = 0; i < s->in.fields.n; i++)
		if (str_eqz(s->in.fields.v[i].name, "warning"))
			n += (size_t)snprintf(a->warnings + n, sizeof(a->warnings) - n, "%.*s\n",
					      STR_ARG(s->in.fields.v[i].value));
}

static void verb_world_on_body(struct http_stream *s, struct str piece)
{
	struct verb_ask *a = s->data;

	assert_int_equal(buf_add_str(&a->got, piece), 0);
	if (!a->hold)
		http_stream_consume(s, piece.n);
}

static void verb_world_on_close(struct http_stream *s, const struct error *err)
{
	struct verb_ask *a = s->data;

	if (err)
		a->err = *err;
	a->over = true;
	a->stream = NULL;
}

static const struct http_stream_ops ask_ops = { .on_head = verb_world_on_head,
						.on_body = verb_world_on_body,
						.on_close = verb_world_on_close };

static size_t verb_world_put(struct http_field *f, size_t n, const char *name, const char *value)
{
	if (!value)
		return n;
	f[n] = (struct http_field){ str_from(name), str_from(value) };
	return n + 1;
}

void verb_world_begin(struct verb_world *w, struct verb_ask *ask)
{
	struct http_field f[8];
	struct http_request r = { .method = str_from(ask->method),
				  .scheme = STR("http"),
				  .authority = STR("server"),
				  .target = str_from(ask->target),
				  .fields = f,
				  .end = !ask->body,
				  .ops = &ask_ops,
				  .data = ask };
	struct error err;
	unsigned client;

	if (ask->body && !ask->body_n)
		ask->body_n = strlen(ask->body);
	r.length = ask->body ? (int64_t)ask->body_n : 0;
	r.nfields = verb_world_put(f, 0, "accept", ask->accept);
	r.nfields = verb_world_put(f, r.nfields, "content-type", ask->content_type);
	r.nfields = verb_world_put(f, r.nfields, "user-agent", ask->user_agent);
	r.nfields = verb_world_put(f, r.nfields, "accept-encoding", ask->encoding);
	buf_init(&ask->got, 256 * MIB);
	client = w->asked++ % 2;
	/* The server closes connections that are idle for long. */
	if (http_client_request(w->clients[client], &r, &ask->stream, &err) < 0) {
		connect_client(w, client);
		assert_int_equal(http_client_request(w->clients[client], &r, &ask->stream, &err),
				 0);
	}
	if (ask->body) {
		(void)http_stream_send_copy(ask->stream, str_of(ask->body, ask->body_n));
		(void)http_stream_end(ask->stream, NULL, 0);
	}
}

static bool is_over(void *arg)
{
	return ((struct verb_ask *)arg)->over;
}

void verb_world_finish(struct verb_world *w, struct verb_ask *ask)
{
	assert_true(sim_run_until(w->sim, is_over, ask, HANG_MS));
}

void verb_ask_release(struct verb_ask *ask)
{
	buf_release(&ask->got);
}

struct json *verb_world_ask(struct verb_world *w, struct verb_ask *ask)
{
	struct json *tree = NULL;

	verb_world_begin(w, ask);
	verb_world_finish(w, ask);
	if (json_parse(&w->arena, arena_str(&w->arena, buf_str(&ask->got)), NULL, &tree, NULL) < 0)
		return NULL;
	return tree;
}

static struct json *ask_for(struct verb_world *w, struct verb_ask ask, int status)
{
	struct json *tree = verb_world_ask(w, &ask);

	if (ask.status != status)
		print_error("%s %s: %s %s\n", ask.method, ask.target, ask.got.p ? ask.got.p : "",
			    ask.err.msg);
	assert_int_equal(ask.status, status);
	verb_ask_release(&ask);
	return tree;
}

struct json *verb_world_call(struct verb_world *w, const char *method, const char *target,
			     const char *body, int status)
{
	return ask_for(w, (struct verb_ask){ .method = method, .target = target, .body = body },
		       status);
}

struct json *verb_world_patch(struct verb_world *w, const char *target, const char *type,
			      const char *body, int status)
{
	struct verb_ask ask = {
		.method = "PATCH", .target = target, .content_type = type, .body = body
	};

	return ask_for(w, ask, status);
}

void verb_world_choose(struct verb_world *w, unsigned lane)
{
	unsigned before = w->served[lane];

	do {
		before = w->served[lane];
		(void)verb_world_call(w, "GET", "/api/v1/namespaces/default", NULL, 200);
	} while (w->served[lane] == before);
	w->asked++; /* the client after next is the same again */
}

long verb_world_metric(struct verb_world *w, const char *series)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024UL * 1024);
	const char *line = arena_printf(&w->arena, "\n%s ", series), *at;

	assert_int_equal(metrics_print(w->server.metrics, &text), 0);
	at = strstr(text.p, line);
	assert_non_null(at);
	return strtol(at + strlen(line), NULL, 10);
}

void verb_world_make_maps(struct verb_world *w, int n, int size)
{
	char *data = xmalloc((size_t)size + 1), *body = xmalloc((size_t)size + 256);

	memset(data, 'x', (size_t)size);
	data[size] = '\0';
	for (int i = 0; i < n; i++) {
		(void)snprintf(body, (size_t)size + 256,
			       "{\"metadata\":{\"name\":\"m%03d\"%s},\"data\":{\"k\":\"%s\"}}", i,
			       i % 2 ? ",\"labels\":{\"odd\":\"yes\"}" : "", data);
		(void)verb_world_call(w, "POST", "/api/v1/namespaces/default/configmaps", body,
				      201);
	}
	free(data);
	free(body);
}

const char *verb_world_text(struct verb_world *w, const struct json *tree, const char *pointer)
{
	return arena_strdup(&w->arena, json_str(json_pointer(tree, str_from(pointer))));
}

/* --- for cmocka ------------------------------------------------------------------- */

int verb_world_set_up(void **state)
{
	*state = XNEW(struct verb_world);
	verb_world_init(*state, 7, HTTP_PROTOCOL_2, true);
	return 0;
}

int verb_world_set_up_http1(void **state)
{
	*state = XNEW(struct verb_world);
	verb_world_init(*state, 8, HTTP_PROTOCOL_1, false);
	return 0;
}

int verb_world_tear_down(void **state)
{
	verb_world_release(*state);
	free(*state);
	return 0;
}
