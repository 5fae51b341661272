/*
 * parts - struct server: all parts of the server, for the files of src/server.
 */
#ifndef SERVER_CORE_PARTS_H
#define SERVER_CORE_PARTS_H

#include <stdatomic.h>

#include "base/system/resident.h"
#include "net/loop/addr.h"
#include "net/loop/loop.h"
#include "server/core/options.h"
#include "server/engine/state.h"

struct admission;
struct admission_policies;
struct audit;
struct authn;
struct authz;
struct custom;
struct device_holds;
struct event_limits;
struct flow;
struct http_server;
struct identity;
struct known_selectors;
struct kubelets;
struct kubernetes_service;
struct metrics;
struct memory;
struct pki_ca;
struct quotas;
struct reach;
struct ready;
struct security;
struct server_metrics;
struct server_wait;
struct service_accounts;
struct services;
struct slis;
struct storage_watch;
struct tls;
struct tokens;
struct ui_sessions;
struct webhooks;

struct server {
	struct server_opts opts;
	struct gates gates;
	struct admission *admission; /* which plugins are enabled */
	const struct clock *clock;
	struct store *store;
	struct state *state;
	struct state_observer *observers; /* passed to the state */
	struct http_server *http;
	struct tls *tls;
	struct pki_ca *ca;
	struct loop_timer renew; /* renews the serving certificate */
	struct loop_timer tidy; /* releases unused memory */
	struct resident resident;
	struct server_wait *wait; /* for the store, at startup */
	struct ready *unready; /* requests that arrived before the server was ready */
	struct kubelets *kubelets; /* connections to kubelets */
	struct reach *reach; /* addresses that requests may be proxied to */
	struct identity *identity; /* which of the servers on its store it is */
	struct tokens *tokens; /* or NULL */
	struct service_accounts *accounts; /* issues service account tokens */
	struct authn *authn;
	struct authz *authz;
	struct audit *audit; /* or NULL */
	struct metrics *metrics;
	struct server_metrics *counts; /* request counters and durations */
	struct known_selectors **selectors; /* one for each loop, which alone uses it */
	struct admission_policies *policies; /* that writes must satisfy */
	struct admission_policies *mutating_policies; /* that change them */
	struct security *security; /* PodSecurity: its configuration and metrics */
	struct event_limits *event_limits; /* of EventRateLimit; NULL: no limits */
	struct slis *slis; /* counts health checks, for /metrics/slis */
	struct storage_watch *storage_watch; /* tidies StorageVersions soon after they change */
	struct quotas *quotas; /* charges ResourceQuotas */
	struct device_holds *holds; /* which claims hold which device */
	struct services *services; /* addresses and ports of services; NULL: none are allocated */
	/* The Service "kubernetes", by which pods find the API. */
	struct kubernetes_service *kubernetes;
	struct custom *custom; /* custom resource definitions and their kinds */
	struct flow *flow; /* flow control: whose request is next */
	struct memory *memory; /* limits the memory that clients use; NULL: no limits */
	struct webhooks *webhooks; /* called for writes; or NULL */
	struct ui_sessions *sessions; /* of the device page, on the state's loop; NULL: no page */
	struct ui_passes *passes; /* of processes that explain, on the state's loop */
	struct addr at;
	void (*on_stopped)(void *arg);
	void *stop_arg;
	char *kubeconfig;
	atomic_bool ready, stopping; /* set on the first loop, read on all */
};

#endif
