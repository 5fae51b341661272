/*
 * deployment_plan - decides what a Deployment needs next: which ReplicaSets to create, change or
 * delete, its status, and events.
 *
 * The rules are upstream's. Pure: trees in, writes out. One plan does one step of a rollout; the
 * changes that it causes lead to the next plan.
 */
#ifndef CONTROLLER_DEPLOYMENT_PLAN_H
#define CONTROLLER_DEPLOYMENT_PLAN_H

#include "controller/deployment/status.h"

struct owner;

enum deployment_verb {
	DEPLOYMENT_CREATE_SET,
	DEPLOYMENT_UPDATE_SET,
	DEPLOYMENT_DELETE_SET,
	DEPLOYMENT_UPDATE, /* the Deployment itself, for a rollback */
	DEPLOYMENT_UPDATE_STATUS, /* and its annotations */
};

/* One request. Trees have the resourceVersion that they are based on. */
struct deployment_write {
	struct deployment_write *next;
	enum deployment_verb verb;
	struct json *tree;
	/* The event after its success; message empty: none. */
	const char *reason;
	struct str message;
	int64_t from; /* replicas before it, for the message of a second change in one plan */
};

/* An event that needs no write. */
struct deployment_event {
	struct deployment_event *next;
	const char *reason;
	struct str message;
};

struct deployment_plan {
	/* Set before. */
	struct arena *arena;
	struct json *tree; /* the Deployment; changed in place */
	const struct owner *owner; /* the Deployment, as owner */
	struct deployment_set **sets; /* its ReplicaSets; changed in place */
	size_t n;
	int64_t now_ns;

	/* The result. Do the writes in this order; if one fails, skip the rest and plan again. */
	struct deployment_write *writes;
	struct deployment_event *warnings;
	int64_t check_after_ns; /* -1: only after changes */

	/* Private. */
	struct deployment_limits limits;
	struct deployment_set *now; /* the new ReplicaSet, or NULL */
	struct deployment_set **old; /* the others */
	size_t nold;
	struct json *status_before, *annotations_before;
	struct deployment_write **last;
};

void deployment_plan(struct deployment_plan *p);

/*
 * The status that reports that a ReplicaSet could not be created, or that the hash of the template
 * collides with another ReplicaSet's name. `tree` is the Deployment as it is on the server; it is
 * changed in place. Returns false if nothing changes.
 */
bool deployment_report_failure(struct arena *a, struct json *tree, struct str message,
			       int64_t now_ns);
void deployment_report_collision(struct arena *a, struct json *tree);

#endif
