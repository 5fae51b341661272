/*
 * probes - runs startup, liveness and readiness probes of containers: exec, httpGet, tcpSocket, grpc.
 *
 * Delays, periods, time-outs and thresholds as upstream has them. The outcome (thresholds applied) is
 * told when it changes, and the first time. Also runs hooks (postStart, preStop: exec, httpGet, tcpSocket, sleep).
 * Threads: the loop's.
 */
#ifndef NODE_PROBES_H
#define NODE_PROBES_H

#include "node/lifecycle.h"
#include "node/pod.h"
#include "node/runtime.h"

struct loop;
struct probes;

struct probes_opts {
	struct loop *loop;
	struct runtime *runtime;
	void (*on_outcome)(void *arg, struct str pod_uid, struct str container_id,
			   enum lifecycle_probe probe, bool good, struct str message);
	/* Each failed attempt, for an event "Unhealthy": "Readiness probe failed: ..". */
	void (*on_failure)(void *arg, struct str pod_uid, struct str container,
			   enum lifecycle_probe probe, struct str message);
	void *arg;
};

struct probes *probes_new(const struct probes_opts *opts);
void probes_free(struct probes *p); /* NULL allowed */

/* Runs this probe of the container until it is stopped; harmless when it runs already. */
void probes_start(struct probes *p, struct pod *pod, struct str container, struct str container_id,
		  enum lifecycle_probe probe, struct str pod_ip);
void probes_stop(struct probes *p, struct str container_id, enum lifecycle_probe probe);
void probes_stop_pod(struct probes *p, struct str pod_uid);

/* A lifecycle handler, once. */
typedef void probes_hook_done(void *arg, const struct error *err);
void probes_hook(struct probes *p, struct pod *pod, const struct json *container,
		 struct str container_id, const struct json *handler, struct str pod_ip,
		 int64_t timeout_ms, probes_hook_done *done, void *arg);

#endif
