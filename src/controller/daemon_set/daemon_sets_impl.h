/*
 * daemon_sets_impl - shared by the files of the controller: what it knows of each DaemonSet, and
 * the job that reconciles one.
 */
#ifndef CONTROLLER_DAEMON_SET_DAEMON_SETS_IMPL_H
#define CONTROLLER_DAEMON_SET_DAEMON_SETS_IMPL_H

#include "controller/daemon_set/backoff.h"
#include "controller/daemon_set/book.h"
#include "controller/daemon_set/history.h"
#include "controller/pods/batch.h"
#include "controller/pods/expectations.h"
#include "controller/pods/owned.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"

struct workqueue;

struct daemon_sets {
	struct context ctx;
	struct following following;
	struct followed sets, nodes;
	struct followed pods, revisions; /* owned_indexes */
	struct daemon_book book;
	struct omap entries; /* key of a DaemonSet to struct daemon_entry */
	struct expectations expectations;
	struct workqueue *queue; /* keys of DaemonSets */
	struct works jobs;
	struct arena scratch; /* for one event */
};

/* The controller's knowledge of one DaemonSet. */
struct daemon_entry {
	struct str key, uid;
	struct arena arena; /* for the members below; read anew after each change */
	int64_t generation;
	struct selector selector;
	struct daemon_rules rules;
	struct daemon_backoff backoff;
	/* Pods may have to be adopted or released: the next sync looks at each. */
	bool claim;
};

/* NULL: it does not exist, or was replaced by another one of that name. */
struct daemon_entry *daemon_entry_of(const struct daemon_sets *d, struct str key, struct str uid);

/* --- one sync -------------------------------------------------------------------------------- */

struct daemon_job {
	struct work work;
	struct daemon_sets *d;
	struct json *set; /* the DaemonSet as it was when the job began */
	struct owner owner;
	struct selector selector;
	struct daemon_spec spec;
	struct daemon_rules rules;
	struct owned_claim claim; /* of pods, then of revisions */
	struct batch batch; /* of creations, deletions or patches of pods */
	struct daemon_history history;
	struct str revision; /* the label of current pods; empty: not known yet */
	struct batch_item *deletions; /* after the creations */
	void (*next)(struct daemon_job *j); /* after the pods are written, or a revision is */
	const struct daemon_revision **excess; /* to delete, one after the other */
	size_t nexcess, excess_at;
	bool observed; /* this generation was acted upon */
	struct error first; /* the first failure; code ERR_OK: none */
};

/* --- job.c ----------------------------------------------------------------------------------- */

/* The queue's handler: reconciles one DaemonSet. */
void daemon_sets_handle(void *arg, struct str key);

/* The `release` of the jobs. */
void daemon_job_release(struct work *w);

/* Ends the job with a failure: reports it, and retries. */
void daemon_job_fail(struct daemon_job *j, const struct error *err, const char *what);

/* The history is right, and j->revision is known. */
void daemon_job_act(struct daemon_job *j);

/* The name of this object of ours in events. */
struct recorder_object daemon_job_about(const struct daemon_job *j);

/* --- job_history.c --------------------------------------------------------------------------- */

/* Finds or makes the current revision, then calls daemon_job_act() or ends the job. */
void daemon_job_history(struct daemon_job *j);

/* Deletes the revisions beyond the limit, then calls j->next. */
void daemon_job_cleanup(struct daemon_job *j);

#endif
