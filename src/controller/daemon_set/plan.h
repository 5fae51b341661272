/*
 * daemon_plan - which pods of a DaemonSet to create and to delete, and its status.
 *
 * The rules are upstream's. First each node gets its pod (daemon_plan_manage): nodes that lack one
 * get one; pods that failed, that are on the wrong node, or are too many are deleted. When nothing
 * of that is under way, pods of older revisions are replaced (daemon_plan_roll), within
 * maxUnavailable, or maxSurge.
 *
 * Nodes are considered in the order given, so the same state gives the same decisions: a deletion
 * that is repeated because its reply was lost hits the same pod. Pure.
 */
#ifndef CONTROLLER_DAEMON_SET_PLAN_H
#define CONTROLLER_DAEMON_SET_PLAN_H

#include "base/json/json.h"
#include "controller/daemon_set/rules.h"

struct daemon_backoff;

/* The members of a pod that count; borrowed. */
struct daemon_pod {
	struct str name, uid, node, revision;
	int64_t created_ns, ready_ns; /* wall clock; ready_ns 0: unknown */
	bool bound, ready, deleting, failed, succeeded;
};

/* A node, or the name of a node that does not exist, and the DaemonSet's pods there. */
struct daemon_place {
	struct str node;
	bool exists;
	enum daemon_fit fit; /* DAEMON_UNFIT if it does not exist */
	/* Without finished ones that are being deleted; see daemon_pods_sort(). */
	const struct daemon_pod **pods;
	size_t n;
};

/* Bound ones first, then older ones, then by name. */
void daemon_pods_sort(const struct daemon_pod **pods, size_t n);

/* A DaemonSet's spec. Values that make no sense count as absent. */
struct daemon_spec {
	bool rolling;
	const struct json *max_unavailable, *max_surge; /* integer or "10%"; or NULL */
	int64_t min_ready_s;
};
void daemon_spec_read(const struct json *spec, struct daemon_spec *ret);

/* Of 5 or "10%"; percents are rounded up. 0 if absent or malformed; at most INT32_MAX. */
int64_t daemon_scaled(const struct json *value, size_t of);

enum daemon_reason { DAEMON_REPLACED, DAEMON_FAILED, DAEMON_SUCCEEDED };

struct daemon_deletion {
	const struct daemon_pod *pod;
	enum daemon_reason reason;
};

struct daemon_plan {
	/* Set before. */
	struct arena *arena;
	const struct daemon_spec *spec;
	struct str revision; /* the current one: the value of its label */
	int64_t now_ns; /* wall clock */
	const struct daemon_place *places;
	size_t nplaces;

	/* The result; add to it with the functions below. */
	const struct daemon_place **creations;
	size_t ncreations;
	struct daemon_deletion *deletions;
	size_t ndeletions;
	int64_t wait_ms; /* when a failed pod may be deleted; 0: none waits */
};

/* Deletes failed pods at a growing interval per node, which `backoff` keeps. */
void daemon_plan_manage(struct daemon_plan *p, struct daemon_backoff *backoff, int64_t now_ms);
void daemon_plan_roll(struct daemon_plan *p);

struct daemon_status {
	int64_t desired, current, misscheduled, ready, updated, available, unavailable;
	int64_t wait_ns; /* until the next ready pod becomes available; 0: none */
};
void daemon_plan_status(const struct daemon_plan *p, struct daemon_status *ret);

#endif
