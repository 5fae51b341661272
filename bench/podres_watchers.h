/*
 * podres_watchers - many watches of PodResources at once.
 *
 * Works on HTTP streams and cuts them into messages, which it does not look into: a thousand of
 * them in one process would otherwise measure themselves.
 */
#ifndef BENCH_PODRES_WATCHERS_H
#define BENCH_PODRES_WATCHERS_H

#include "grpc/grpc.h"
#include "net/loop/addr.h"

struct loop;
struct podres_watchers;

struct podres_watchers_opts {
	struct loop *loop;
	struct addr to;
	const struct grpc_method *method;
	size_t count, connections;
	void (*on_open)(void *arg); /* all have been answered */
	/* Borrowed until return; `now_ns` is when it was read. */
	void (*on_message)(void *arg, size_t watcher, struct str message, int64_t now_ns);
	void *arg;
};

/* A failure ends the program, and so does a watch that ends. */
struct podres_watchers *podres_watchers_new(const struct podres_watchers_opts *opts);

/* Cuts the connections. */
void podres_watchers_free(struct podres_watchers *w);

#endif
