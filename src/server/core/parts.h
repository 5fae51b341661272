/*
 * server_impl - the server's parts, for the files of src/server.
 */
#ifndef SERVER_CORE_PARTS_H
#define SERVER_CORE_PARTS_H

#include <stdatomic.h>

#include "base/system/resident.h"
#include "net/loop/loop.h"
#include "net/loop/addr.h"
#include "server/core/options.h"
#include "server/engine/state.h"

struct admission;
struct admission_policies;
struct audit;
struct authn;
struct authz;
struct custom;
struct device_holds;
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
struct server_metrics;
struct server_wait;
struct service_accounts;
struct services;
struct tls;
struct tokens;
struct ui_sessions;
struct webhooks;

struct server {
	struct server_opts opts;
	struct gates gates;
	struct admission *admission; /* which plugins are on */
	const struct clock *clock;
	struct store *store;
	struct state *state;
	struct state_observer *observers; /* that the state was made with */
	struct http_server *http;
	struct tls *tls;
	struct pki_ca *ca;
	struct loop_timer renew; /* of the serving certificate */
	struct loop_timer tidy; /* of memory */
	struct resident resident;
	struct server_wait *wait; /* for the store, at the start */
	struct ready *unready; /* requests that came too early */
	struct kubelets *kubelets; /* the way to the nodes' agents */
	struct reach *reach; /* where requests may be led on to */
	struct identity *identity; /* which of the servers on its store it is */
	struct tokens *tokens; /* or NULL */
	struct service_accounts *accounts; /* who issues tokens */
	struct authn *authn;
	struct authz *authz;
	struct audit *audit; /* or NULL */
	struct metrics *metrics;
	struct server_metrics *counts; /* request counters and durations */
	struct known_selectors *selectors; /* of the first loop, where writes are judged */
	struct admission_policies *policies; /* that writes must meet */
	struct quotas *quotas; /* who charges them */
	struct device_holds *holds; /* which claims hold which device */
	struct services *services; /* their addresses and ports; NULL: none are given out */
	struct kubernetes_service *kubernetes; /* the cluster's own API, as services find it */
	struct custom *custom; /* definitions, and what is served because of them */
	struct flow *flow; /* whose request is next */
	struct memory *memory; /* that clients make it hold; or NULL: no limits */
	struct webhooks *webhooks; /* that are asked about writes; or NULL */
	struct ui_sessions *sessions; /* of the device page: the state's loop's; NULL: no page */
	struct addr at;
	void (*on_stopped)(void *arg);
	void *stop_arg;
	char *kubeconfig;
	atomic_bool ready, stopping; /* set on the first loop, read on all */
};

#endif
