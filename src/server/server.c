/*
 * Start: CA and certificate, the store and the state, then the socket. The socket is open while
 * objects are loaded, so that probes are answered; other requests wait (ready.h). Stop, in this
 * order: no new connections and no readiness, watches end, open requests are answered, the store
 * is closed.
 */
#include "server/server.h"

#include <errno.h>
#include <sys/stat.h>

#include "api/devices/known_selectors.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "net/http/server.h"
#include "net/net_limits.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"
#include "server/audit/audit.h"
#include "server/authn/authn.h"
#include "server/authn/service_accounts.h"
#include "server/authn/tokens.h"
#include "server/authz/authz.h"
#include "server/authz/policy.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/custom/custom.h"
#include "server/engine/watch.h"
#include "server/flow/flow.h"
#include "server/front/begin.h"
#include "server/gate/slis.h"
#include "server/http/memory.h"
#include "server/http/metrics.h"
#include "server/http/ready.h"
#include "server/fence/device_holds.h"
#include "server/plugins/event_limits.h"
#include "server/plugins/quotas.h"
#include "server/plugins/table.h"
#include "server/policies/policy.h"
#include "server/reach/kubelets.h"
#include "server/reach/reach.h"
#include "server/server_wait.h"
#include "server/services/kubernetes_service.h"
#include "server/services/services.h"
#include "server/security/security.h"
#include "server/startup/auth_config.h"
#include "server/startup/bootstrap.h"
#include "server/startup/identity.h"
#include "server/startup/namespaces.h"
#include "server/startup/priority_classes.h"
#include "server/startup/storage_versions.h"
#include "server/startup/storage_watch.h"
#include "server/ui/session_user.h"
#include "server/ui/ui.h"
#include "server/webhooks/webhooks.h"
#include "store/etcd/store.h"
#include "store/lmdb/store.h"
#include "store/sealed/store.h"
#include "web/session/passes.h"

#define RENEW_MS (INT64_C(180) * 86400 * 1000) /* half the lifetime of our certificates */

/* How often freed memory is returned to the system, and how much there must be. */
enum { TIDY_MS = 10 * 1000, TIDY_BYTES = 16 * 1024 * 1024 };

enum { STALL_MS = 60 * 1000 }; /* longest time that a client may read nothing of a reply */

static void server_handle(void *arg, struct http_stream *stream, size_t lane)
{
	exchange_begin(arg, stream, lane);
}

/* --- the socket ----------------------------------------------------------------------------- */

static void on_renew(struct loop_timer *t)
{
	struct server *s = CONTAINER_OF(t, struct server, renew);
	struct tls *tls = NULL;
	struct error err;

	if (bootstrap_tls(&s->opts, s->ca, s->clock, &tls, &err) == 0) {
		http_server_set_tls(s->http, tls);
		tls_unref(s->tls);
		s->tls = tls;
	} else {
		log_warn(s->opts.log, "cannot renew the serving certificate", LOG_ERR(&err));
	}
	if (kubelets_renew(s->kubelets, &err) < 0)
		log_warn(s->opts.log, "cannot renew the client certificate for kubelets",
			 LOG_ERR(&err));
	loop_timer_start(t, RENEW_MS);
}

/* Returns memory to the system that requests have used and freed. */
static void on_tidy(struct loop_timer *t)
{
	struct server *s = CONTAINER_OF(t, struct server, tidy);

	(void)resident_trim(&s->resident, TIDY_BYTES);
	loop_timer_start(t, TIDY_MS);
}

static int listen_on(struct server *s, struct error *err)
{
	struct http_server_opts opts = {
		.loops = s->opts.loops,
		.nloops = s->opts.nloops,
		.spare_first = s->opts.spare_first,
		.handler = server_handle,
		.arg = s,
		.max_conns = (size_t)s->opts.max_conns,
		.max_strangers = (size_t)s->opts.max_strangers,
		.config.stall_timeout_ms = MIN(s->opts.request_timeout_ms, (int64_t)STALL_MS),
	};
	struct addr at;
	char text[NET_ADDRESS_MAX];
	const char *host = s->opts.bind_address;
	int r;

	(void)snprintf(text, sizeof(text), strchr(host, ':') ? "[%s]:%d" : "%s:%d", host,
		       s->opts.secure_port);
	r = addr_parse(&at, str_from(text), 0, err);
	if (r < 0)
		return error_wrap(err, r, "--bind-address");
	s->http = http_server_new(&opts);
	r = http_server_listen(s->http, &at, s->tls, 0, &s->at, err);
	atomic_store(&s->reach->port, r == 0 ? s->at.port : 0);
	if (r == 0 && s->tls)
		loop_timer_start(&s->renew, RENEW_MS);
	if (r == 0 && !s->opts.simulated)
		loop_timer_start(&s->tidy, TIDY_MS);
	return r;
}

/* --- the state ------------------------------------------------------------------------------ */

static int open_lmdb(struct server *s, struct error *err)
{
	char dir[4096];
	struct store_lmdb_opts opts = { .dir = dir,
					.history_ms = s->opts.history_ms,
					.history_bytes = s->opts.history_bytes,
					.quota_bytes = s->opts.store_quota_bytes,
					.journal = s->opts.store_journal,
					.inline_commit = s->opts.simulated,
					.metrics = s->metrics };

	if (snprintf(dir, sizeof(dir), "%s/store", s->opts.data_dir) >= (int)sizeof(dir))
		return error_set(err, ERR_INVALID, "the data folder's path is too long");
	return store_lmdb_open(s->opts.loops[0], &opts, &s->store, err);
}

static int open_etcd(struct server *s, struct error *err)
{
	const struct server_opts *o = &s->opts;
	struct store_etcd_opts opts = { .endpoints = o->etcd_servers,
					.nendpoints = o->netcd_servers,
					.ca_file = o->etcd_ca_file,
					.cert_file = o->etcd_cert_file,
					.key_file = o->etcd_key_file,
					.prefix = o->etcd_prefix,
					.history_ms = o->history_ms,
					.metrics = s->metrics };

	return store_etcd_open(o->loops[0], &opts, &s->store, err);
}

/* A callback of the store, for people. */
static void on_sealed(void *arg, const char *what, const struct error *err)
{
	const struct server *s = arg;

	if (err)
		log_warn(s->opts.log, what, LOG_ERR(err));
	else
		log_info(s->opts.log, what);
}

/* Opens the store, with encryption if there is a configuration. Its keys are read first. */
static int open_store(struct server *s, struct error *err)
{
	const struct server_opts *o = &s->opts;
	struct store_sealed_opts opts = { .file = o->encryption_config_file,
					  .reload = o->encryption_reload,
					  .metrics = s->metrics,
					  .report = on_sealed,
					  .arg = s };
	struct sealed_store *sealed = NULL;
	int r = 0;

	if (opts.file)
		r = store_sealed_new(o->loops[0], &opts, &sealed, err);
	if (r == 0)
		r = o->netcd_servers ? open_etcd(s, err) : open_lmdb(s, err);
	if (r < 0)
		store_sealed_free(sealed);
	else if (sealed)
		s->store = store_sealed_around(sealed, s->store);
	return r;
}

static void report_ready(struct server *s, const struct error *err)
{
	if (atomic_load(&s->stopping))
		return; /* could not listen, or was stopped before it was ready */
	if (!err)
		atomic_store(&s->ready, true);
	s->opts.on_ready(s->opts.arg, err);
	if (!err)
		ready_release(s);
}

static void on_versions(void *arg, const struct error *err)
{
	struct server *s = arg;

	if (err && !atomic_load(&s->stopping))
		log_warn(s->opts.log, "cannot update the StorageVersion objects", LOG_ERR(err));
	/* Returns the memory that these writes, the policy at startup and the startup code used. */
	mem_tidy();
}

/* These objects are only informative: a server with a full disk still serves. */
static void on_first_versions(void *arg, const struct error *err)
{
	report_ready(arg, NULL);
	on_versions(arg, err);
}

/* Also for objects that others have left behind, or deleted, since. */
static void on_renewed(struct server *s)
{
	storage_versions_ensure(s, on_versions, s);
}

static void on_kubernetes(void *arg, const struct error *err)
{
	struct server *s = arg;

	if (atomic_load(&s->stopping))
		return;
	/* A server with a full disk still serves. */
	if (err)
		log_warn(s->opts.log, "cannot create service kubernetes", LOG_ERR(err));
	services_start(s->services);
	storage_versions_ensure(s, on_first_versions, s);
}

static void on_classes(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct server *s = arg;

	if (atomic_load(&s->stopping))
		return;
	if (err)
		log_warn(s->opts.log,
			 "cannot write the system's PriorityClasses or ConfigMap "
			 "extension-apiserver-authentication",
			 LOG_ERR(err));
	s->kubernetes = kubernetes_service_new(s, on_kubernetes, s);
}

static void ensure_policy(struct server *s);

static void on_policy(void *arg, const struct error *err)
{
	struct server *s = arg;
	struct ensure *e;

	if (err && server_wait_again(s, err, ensure_policy))
		return;
	if (err) {
		report_ready(arg, err);
		return;
	}
	e = ensure_new(s, on_classes, s);
	priority_classes_ensure(e);
	if (!s->opts.simulated)
		auth_config_ensure(s, e);
	ensure_end(e);
}

static void ensure_policy(struct server *s)
{
	policy_ensure(s, on_policy, s);
}

static void ensure_namespaces(struct server *s);

static void on_namespaces(void *arg, const struct error *err)
{
	struct server *s = arg;

	if (atomic_load(&s->stopping))
		return;
	if (err && server_wait_again(s, err, ensure_namespaces))
		return;
	if (err) {
		report_ready(s, err);
		return;
	}
	identity_keep(s->identity, on_renewed);
	flow_start(s->flow);
	ensure_policy(s);
}

static void ensure_namespaces(struct server *s)
{
	namespaces_ensure(s, on_namespaces, s);
}

static void on_state_ready(void *arg, const struct error *err)
{
	struct server *s = arg;

	if (err)
		report_ready(s, err);
	else
		ensure_namespaces(s);
	if (!err)
		custom_start(s->custom);
}

static void on_state_waiting(void *arg, const struct error *err)
{
	server_wait_log(arg, err);
}

static void add_observers(struct server *s, size_t *n, const struct state_observer *v, size_t more)
{
	s->observers = xrealloc(s->observers, (*n + more) * sizeof(*v));
	memcpy(s->observers + *n, v, more * sizeof(*v));
	*n += more;
}

static struct admission_policies *policies_of(const struct server *s,
					      enum admission_policy_type type)
{
	struct admission_policies *p = XNEW(struct admission_policies);

	admission_policies_init(p, type, s->opts.nloops, s->opts.log);
	return p;
}

static void policies_drop(struct admission_policies *p)
{
	if (p)
		admission_policies_release(p);
	free(p);
}

/* All observers of the state, in one array. */
static void gather_observers(struct server *s, struct state_opts *opts)
{
	struct state_observer ui[UI_OBSERVERS], flow[FLOW_OBSERVERS], services[SERVICES_OBSERVERS];
	struct state_observer holds[DEVICE_HOLDS_OBSERVERS];
	struct state_observer watch = storage_watch_observer(s->storage_watch);
	const struct state_observer *v;
	size_t n, *all = &opts->nobservers;

	v = authz_observers(s->authz, &n);
	add_observers(s, all, v, n);
	v = custom_observers(s->custom, &n);
	add_observers(s, all, v, n);
	add_observers(s, all, s->policies->observers, ADMISSION_POLICY_OBSERVERS);
	add_observers(s, all, s->mutating_policies->observers, ADMISSION_POLICY_OBSERVERS);
	v = webhooks_observers(s->webhooks, &n);
	add_observers(s, all, v, n);
	ui_observe(s, ui);
	add_observers(s, all, ui, UI_OBSERVERS);
	flow_observe(s->flow, flow);
	add_observers(s, all, flow, FLOW_OBSERVERS);
	services_observe(s->services, services);
	add_observers(s, all, services, SERVICES_OBSERVERS);
	add_observers(s, all, &watch, 1);
	device_holds_observe(s->holds, holds);
	add_observers(s, all, holds, DEVICE_HOLDS_OBSERVERS);
	opts->observers = s->observers;
}

static int start_state(struct server *s, struct error *err)
{
	struct state_opts opts = {
		.loop = s->opts.loops[0],
		.gates = &s->gates,
		.lanes = s->opts.loops,
		.nlanes = s->opts.nloops,
		.ring_bytes = s->opts.watch_cache_bytes,
		.event_ttl_ms = s->opts.event_ttl_ms,
		.metrics = s->metrics,
		.on_ready = on_state_ready,
		.on_waiting = on_state_waiting,
		.arg = s,
	};
	int r;

	r = open_store(s, err);
	if (r < 0)
		return r;
	gather_observers(s, &opts);
	opts.store = s->store;
	s->state = state_new(&opts);
	custom_attach(s->custom, s->state);
	authz_attach(s->authz, s->state);
	return 0;
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void start_access(struct server *s)
{
	struct authn_opts opts = { .tokens = s->tokens,
				   .accounts = s->accounts,
				   .nlanes = s->opts.nloops,
				   .clock = s->clock,
				   .no_anonymous = s->opts.no_anonymous };

	s->identity = identity_new(s);
	s->authn = authn_new(&opts);
	s->authz = authz_new(s->opts.nloops);
	if (s->opts.no_ui)
		return;
	s->sessions = ui_sessions_new(&session_user_ops);
	s->passes = ui_passes_new();
}

static int open_audit(struct server *s, struct error *err)
{
	struct audit_opts opts = *s->opts.audit;

	opts.loop = s->opts.loops[0];
	opts.nlanes = s->opts.nloops;
	opts.metrics = s->metrics;
	opts.log = s->opts.log;
	return audit_open(&opts, &s->audit, err);
}

static int server_start(struct server *s, struct error *err)
{
	const struct server_opts *o = &s->opts;
	int r;

	s->metrics = metrics_new();
	r = server_metrics_new(s, &s->counts, err);
	if (r == 0)
		r = slis_new(&s->slis, err);
	if (r == 0)
		r = memory_new(s, &s->memory, err);
	if (r == 0)
		r = admission_configure(s->admission, o, err);
	if (r == 0)
		r = security_new(o->admission_config_file, s->metrics, &s->security, err);
	if (r == 0)
		r = event_limits_new(o->admission_config_file,
				     admission_is_on(s->admission, "EventRateLimit"), s->clock,
				     &s->event_limits, err);
	if (r == 0)
		r = bootstrap_ca(o->data_dir, s->clock, &s->ca, err);
	if (r == 0 && o->token_auth_file)
		r = tokens_load(o->token_auth_file, &s->tokens, err);
	if (r == 0)
		r = service_accounts_load(o, &s->accounts, err);
	if (r == 0 && o->audit)
		r = open_audit(s, err);
	if (r == 0 && (!o->simulated || o->cert_file))
		r = bootstrap_tls(o, s->ca, s->clock, &s->tls, err);
	if (r == 0)
		r = kubelets_new(o, s->ca, s->clock, &s->kubelets, err);
	if (r == 0)
		r = reach_init(s->reach, o->node_address_ranges, o->nnode_address_ranges, err);
	if (r < 0)
		return r;
	start_access(s);
	s->custom = custom_new(s);
	s->policies = policies_of(s, ADMISSION_VALIDATING);
	s->mutating_policies = policies_of(s, ADMISSION_MUTATING);
	s->storage_watch = storage_watch_new(s);
	s->quotas = quotas_new(s);
	s->holds = device_holds_new();
	s->flow = flow_new(s);
	r = flow_metrics_add(s->flow, err);
	if (r == 0)
		r = webhooks_new(s, &s->webhooks, err);
	if (r == 0)
		r = services_new(s, o, &s->services, err);
	if (r < 0)
		return r;
	/*
	 * The store comes before the socket: a second server on the same folder must not serve at
	 * all.
	 */
	r = start_state(s, err);
	if (r == 0)
		r = listen_on(s, err);
	if (r == 0 && !o->no_kubeconfig)
		r = bootstrap_kubeconfig(o, s->ca, &s->at, s->clock, &s->kubeconfig, err);
	return r;
}

int server_new(const struct server_opts *opts, struct server **ret_server, struct error *err)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->opts = *opts;
	s->gates = opts->gates;
	s->clock = loop_clock(opts->loops[0]);
	s->selectors = xcalloc(opts->nloops, sizeof(*s->selectors));
	for (size_t i = 0; i < opts->nloops; i++)
		s->selectors[i] = known_selectors_new();
	loop_timer_init(&s->renew, opts->loops[0], on_renew);
	loop_timer_init(&s->tidy, opts->loops[0], on_tidy);
	s->wait = server_wait_new(s);
	s->unready = ready_new(s);
	s->admission = XNEW(struct admission);
	s->reach = XNEW(struct reach);
	*ret_server = s;
	return server_start(s, err);
}

const struct addr *server_address(const struct server *s)
{
	return &s->at;
}

const char *server_kubeconfig(const struct server *s)
{
	return s->kubeconfig;
}

static void on_state_stopped(void *arg)
{
	struct server *s = arg;

	s->on_stopped(s->stop_arg);
}

static void on_calls_over(void *arg)
{
	struct server *s = arg;

	if (s->state)
		state_stop(s->state, on_state_stopped, s);
	else
		on_state_stopped(s);
}

static void server_on_drained(void *arg)
{
	struct server *s = arg;

	webhooks_stop(s->webhooks, on_calls_over, s);
}

void server_stop(struct server *s, int64_t grace_ms, void (*done)(void *arg), void *arg)
{
	atomic_store(&s->stopping, true);
	s->on_stopped = done;
	s->stop_arg = arg;
	loop_timer_stop(&s->renew);
	loop_timer_stop(&s->tidy);
	if (s->storage_watch)
		storage_watch_stop(s->storage_watch);
	server_wait_stop(s);
	ready_release(s);
	identity_stop(s->identity);
	if (s->flow)
		flow_stop(s->flow);
	kubernetes_service_stop(s->kubernetes);
	services_stop(s->services);
	if (s->custom)
		custom_stop(s->custom);
	if (!s->http) {
		server_on_drained(s);
		return;
	}
	if (s->state)
		watch_stop(s->state);
	http_server_drain(s->http, grace_ms, server_on_drained, s);
}

void server_free(struct server *s)
{
	if (!s)
		return;
	http_server_free(s->http);
	custom_free(s->custom);
	event_limits_free(s->event_limits);
	storage_watch_free(s->storage_watch);
	slis_free(s->slis);
	policies_drop(s->policies);
	policies_drop(s->mutating_policies);
	quotas_free(s->quotas);
	state_free(s->state);
	webhooks_free(s->webhooks);
	services_free(s->services);
	device_holds_free(s->holds);
	kubernetes_service_free(s->kubernetes);
	free(s->observers);
	for (size_t i = 0; i < s->opts.nloops; i++)
		known_selectors_free(s->selectors[i]);
	free(s->selectors);
	audit_close(s->audit);
	ui_passes_free(s->passes);
	ui_sessions_free(s->sessions);
	authz_free(s->authz);
	authn_free(s->authn);
	service_accounts_free(s->accounts);
	tokens_free(s->tokens);
	tls_unref(s->tls);
	kubelets_free(s->kubelets);
	reach_release(s->reach);
	free(s->reach);
	free(s->admission);
	security_free(s->security);
	ready_free(s->unready);
	server_wait_free(s->wait);
	pki_ca_free(s->ca);
	memory_free(s->memory);
	server_metrics_free(s->counts);
	metrics_free(s->metrics);
	flow_free(s->flow);
	identity_free(s->identity);
	free(s->kubeconfig);
	free(s);
}
