/*
 * taint_eviction_impl - between its files: who is concerned, and what is done for a pod or a rule.
 */
#ifndef CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_IMPL_H
#define CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_IMPL_H

#include "base/core/map.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/devices/devices_touch.h"
#include "controller/shared/context.h"
#include "controller/taint_eviction/book.h"
#include "controller/taint_eviction/taint_eviction.h"
#include "net/loop/loop.h"

struct metrics_counter;
struct metrics_histogram;
struct workqueue;

enum { TAINT_STATUS_MS = 10 * 1000 }; /* between two writes of a rule's status */

/* A DeviceTaintRule, as long as it is there. */
struct taint_rule {
	struct str name, uid;
	int64_t generation; /* 0: its server does not count */
	int64_t evicted; /* pods, since we began */
	int64_t next_write_at; /* loop time, ms: of what changes nothing but numbers */
	int64_t written_generation;
	char text[];
};

struct taint_eviction {
	struct context ctx;
	struct devices *devices;
	struct devices_watcher watcher;
	struct resource pods_resource;
	struct informer *pods, *claims, *rules; /* rules: NULL when they are not served */
	struct informer_handler pod_handler, claim_handler, rule_handler;
	struct taint_book *book;
	struct map rule_states; /* name -> struct taint_rule */
	struct loop_task task; /* the end of a turn in which something came */
	struct devices_names changed_rules; /* of this turn: those to be told at once */
	struct devices_names due; /* pods */
	struct workqueue *queue; /* "pod:NAMESPACE/NAME", "rule:NAME" */
	struct list jobs;
	struct metrics_counter *deletions; /* or NULL, both */
	struct metrics_histogram *latency;
	bool working;
};

#define TAINT_POD_KEY  "pod:"
#define TAINT_RULE_KEY "rule:"

/* The name that upstream's has: of work, and of whoever sets fields. */
#define TAINT_CONTROLLER "device-taint-eviction-controller"

/* One key's work: one request after the other. */
struct taint_job {
	struct list link;
	struct taint_eviction *owner;
	struct str key; /* the queue's until it is done */
	struct str name; /* without the prefix */
	struct arena arena;
	struct client_request request;
	void (*on_answer)(struct taint_job *j, const struct client_answer *a,
			  const struct error *err);
	/* Of a pod's, as it was when the job began. */
	struct str ns, pod, uid;
	struct eviction *eviction;
	/* Of a rule's. */
	int64_t generation;
};

void taint_job_end(struct taint_job *j, bool again);

/* To be handled again after a while. */
void taint_job_wait(struct taint_job *j, int64_t ms);

/* Says what failed, unless it is a matter of course, and tries again. */
void taint_job_fail(struct taint_job *j, const char *what, const struct error *err);

void taint_pod_begin(struct taint_job *j); /* taint_eviction/pod.c */
void taint_rule_begin(struct taint_job *j); /* taint_eviction/rule.c */

void taint_eviction_event(struct taint_eviction *t, struct str key, struct str uid,
			  const char *message);

/* The rules among what wants an eviction are told in a while; with `evicted` it counts for them. */
void taint_rules_concerned(struct taint_eviction *t, const struct eviction *e, bool evicted);

#endif
