/*
 * announce - says in the Lease kube-system/devplane-controllers which controllers run here.
 *
 * The server warns users who create objects that no controller acts on. Election leases do not
 * say which controllers a process runs, and a single process has none. So each process with a
 * controller of workloads keeps an annotation "controllers.devplane.dev/LEASE-NAME", which is a
 * time and the controllers' names. It is renewed every 20 seconds. If the server does not
 * allow it, nothing is announced: users see a warning too many.
 */
#ifndef CONTROLLER_RUN_ANNOUNCE_H
#define CONTROLLER_RUN_ANNOUNCE_H

#include <stdbool.h>

struct announce;
struct context;
struct controller_opts;

/* Begins at once. `opts` must outlive it. */
struct announce *announce_new(const struct context *ctx, const struct controller_opts *opts);

/* Whether the first attempt has ended. */
bool announce_tried(const struct announce *a);

void announce_free(struct announce *a);

#endif
