/*
 * daemon_sets - the controller of DaemonSets: one pod on each node that a DaemonSet wants.
 *
 * The behaviour is upstream's: which nodes (rules.h), what is created and deleted (plan.h),
 * ControllerRevisions (history.h). There are two differences. A pod's name is made from its
 * owner, node and revision (rules.h), so no crash and no lost reply makes two pods for a node. Pods
 * are compared with the template by the label controller-revision-hash only.
 *
 * Costs: a change of a pod costs its own DaemonSet one sync, a change of a node's labels or taints
 * one check per DaemonSet, and a sync of those that it concerns. Other changes of a node, such as
 * heartbeats, cost a comparison. Events within 20 ms share a sync. A sync walks the nodes and the
 * DaemonSet's pods once for each of its three decisions and parses none of them (book.h).
 */
#ifndef CONTROLLER_DAEMON_SET_DAEMON_SETS_H
#define CONTROLLER_DAEMON_SET_DAEMON_SETS_H

#include <stdbool.h>

struct context;
struct daemon_sets;

struct daemon_sets *daemon_sets_new(const struct context *ctx);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void daemon_sets_free(struct daemon_sets *d);

#endif
