/*
 * taint_eviction_impl - shared by its files: the controller's state, and the job for one pod or
 * rule.
 */
#ifndef CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_IMPL_H
#define CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_IMPL_H

#include "base/core/map.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/devices/devices_touch.h"
#include "controller/pods/removal.h"
#include "controller/shared/context.h"
#include "controller/shared/work.h"
#include "controller/taint_eviction/book.h"
#include "controller/taint_eviction/taint_eviction.h"
#include "net/loop/loop.h"

struct metrics_counter;
struct metrics_histogram;
struct workqueue;

enum { TAINT_STATUS_MS = 10 * 1000 }; /* between two writes of a rule's status */

/* A DeviceTaintRule, for as long as it exists. */
struct taint_rule {
	struct str name, uid;
	int64_t generation; /* 0: the server does not set it */
	int64_t evicted; /* pods evicted since we started */
	int64_t next_write_at; /* loop time, ms: earliest write if only numbers changed */
	int64_t written_generation;
	char text[];
};

struct taint_eviction {
	struct context ctx;
	struct devices *devices;
	struct devices_watcher watcher;
	struct resource pods_resource;
	struct informer *pods, *claims, *rules; /* rules: NULL if not served */
	struct informer_handler pod_handler, claim_handler, rule_handler;
	struct taint_book *book;
	struct map rule_states; /* name -> struct taint_rule */
	struct loop_task task; /* runs at the end of a turn with events */
	struct devices_names changed_rules; /* of this turn: their status is written at once */
	struct devices_names due; /* pods */
	struct workqueue *queue; /* "pod:NAMESPACE/NAME", "rule:NAME" */
	struct works jobs;
	struct metrics_counter *deletions; /* or NULL, both */
	struct metrics_histogram *latency;
	bool working;
};

#define TAINT_POD_KEY  "pod:"
#define TAINT_RULE_KEY "rule:"

/* Upstream's name of the controller, for its metrics and as field manager. */
#define TAINT_CONTROLLER "device-taint-eviction-controller"

/* The work for one key: one request after the other. */
struct taint_job {
	struct work work;
	struct taint_eviction *owner;
	struct str name; /* the key without the prefix */
	/* For a pod, as it was when the job began: */
	struct str ns, pod, uid;
	struct eviction *eviction;
	struct pod_removal removal;
	/* For a rule: */
	int64_t generation;
};

/* Ends the job and queues the key again after `ms`. */
void taint_job_wait(struct taint_job *j, int64_t ms);

void taint_pod_begin(struct taint_job *j); /* taint_eviction/pod.c */
void taint_rule_begin(struct taint_job *j); /* taint_eviction/rule.c */

void taint_eviction_event(struct taint_eviction *t, struct str key, struct str uid,
			  const char *message);

/*
 * Schedules a status write for each rule among the sources. With `evicted`, counts the pod for
 * them.
 */
void taint_rules_concerned(struct taint_eviction *t, const struct eviction *e, bool evicted);

#endif
