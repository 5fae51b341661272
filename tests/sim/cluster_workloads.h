/*
 * cluster_workloads - Jobs, Deployments, DaemonSets and Services in a simulated cluster, and a
 * model that counts their pods by the history of all committed versions, as the observer sees it.
 *
 * The load creates, changes, suspends, pauses and deletes them while faults happen; the hollow
 * runtime ends their pods or runs them. Nodes fail for longer than the grace period, so that pods
 * are evicted; some are deleted meanwhile, so that their pods are garbage.
 *
 * When all has settled, each workload is as its spec and the history of its pods say, and the ready
 * pods of a Service are its endpoints. After that comes a calm time in which some are created and
 * changed again. Without faults, no controller may make a pod too many even for a moment, beyond
 * the limits of a Deployment's update.
 */
#ifndef SIM_CLUSTER_WORKLOADS_H
#define SIM_CLUSTER_WORKLOADS_H

#include <stdint.h>

#include "base/core/list.h"
#include "base/core/str.h"
#include "base/core/vec.h"

struct cluster;
struct json;

enum {
	WORKLOADS_REPLICAS_MAX = 3,
	WORKLOADS_SURGE = 1,
	WORKLOADS_UNAVAILABLE = 1,
	WORKLOADS_COMPLETIONS = 3,
	WORKLOADS_PARALLELISM = 2,
};

/* A pod of a workload: what its history says. */
struct workload_pod {
	char uid[40], owner[40]; /* the uid of its controller */
	char kind[16]; /* .. and its kind */
	char app[24]; /* its label, or its Job's name */
	char version[12]; /* of its template: its label */
	char node[16]; /* where it runs, or has to */
	int index; /* of an Indexed Job, or -1 */
	bool active; /* it is there, has not ended, and is not being deleted */
	bool ended; /* it has ended, or its deletion has begun */
	bool succeeded, failed; /* it had this phase when `ended` became true */
	bool late; /* it succeeded after its deletion had begun */
	bool surplus; /* at some time its Job had it and too many others */
	bool spared; /* its finalizer went before it ended: its Job does not count it */
	bool late_failed; /* it failed then */
	bool disrupted; /* it had the condition DisruptionTarget when it failed .. */
	bool late_disrupted; /* .. or in a later version */
	bool ready; /* by its condition */
	bool here; /* it is there and its programs may run */
};

struct workloads {
	struct cluster *w;
	struct list asks;
	VEC(struct workload_pod *) pods;
	unsigned names;
	/*
	 * The observer had to list anew, so the history of those with a smaller number in their
	 * name may lack versions.
	 */
	unsigned exact_from;
	bool calm; /* there are no faults any more */
	unsigned rounds; /* of the calm time */
	bool held; /* Jobs stay suspended, and Deployments paused */
	bool replacing; /* pods of OnDelete DaemonSets are being deleted */
	bool deleting; /* everything */
	VEC(int64_t) suspended; /* numbers of Jobs that were suspended at some time */
	uint64_t made, ends; /* pods of which the observer saw this */
};

/* --- load: cluster_workloads.c -------------------------------------------------------------- */

void workloads_begin(struct cluster *w);
void workloads_step(struct cluster *w);
/* A fault: a node is away for longer than it may be silent, or its Node is deleted, too. */
void workloads_lose_node(struct cluster *w);
/*
 * A fault: the leading controller dies, or is cut off, in the moments after some pod was made or
 * has ended. A Job was created just before, or a Deployment or DaemonSet was created or changed.
 */
void workloads_strike(struct cluster *w);
/* One more round of the calm time: creates some or changes some. False: that was the last. */
bool workloads_calm_round(struct cluster *w);
/* Resumes Jobs and Deployments; false: none is suspended or paused that should not be. */
bool workloads_resume_all(struct cluster *w);
/* Sends deletions of all that is there; false: nothing is left. */
bool workloads_delete_all(struct cluster *w);
bool workloads_idle(const struct cluster *w);
void workloads_release(struct cluster *w);

/* --- model: cluster_workloads_history.c, cluster_workloads_check.c --------------------------- */

/* The observer sees a version of a pod; `gone`: its last. */
void workloads_see(struct cluster *w, const struct json *pod, bool gone);
/* The observer lists anew: what it does not see again is gone, and versions may be missing. */
void workloads_forget(struct cluster *w);
/* Whether all workloads are as they should be; else the first that is not. */
bool workloads_settled(struct cluster *w, char *why, size_t size);
/* Whether nothing is left of any workload. */
bool workloads_gone(struct cluster *w, char *why, size_t size);

#endif
