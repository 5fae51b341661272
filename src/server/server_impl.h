/*
 * server_impl - the server's parts, for the files of src/server.
 */
#ifndef SERVER_SERVER_IMPL_H
#define SERVER_SERVER_IMPL_H

#include "server/server.h"
#include "server/state.h"

struct audit;
struct http_server;
struct metrics;
struct server_metrics;
struct tls;
struct tokens;

struct server {
	struct server_opts opts;
	struct gates gates;
	const struct clock *clock;
	struct store *store;
	struct state *state;
	struct http_server *http;
	struct tls *tls;
	struct tokens *tokens; /* or NULL */
	struct audit *audit; /* or NULL */
	struct metrics *metrics;
	struct server_metrics *counts; /* request counters and durations */
	struct discovery *discovery;
	struct openapi *openapi;
	struct addr at;
	char *kubeconfig;
	bool ready, stopping;
};

#endif
