/*
 * probes - runs startup, liveness and readiness probes of containers: exec, httpGet, tcpSocket,
 * grpc.
 *
 * Delays, periods, time-outs and thresholds as upstream has them; initialDelaySeconds counts from
 * probes_start(). In the agent's first moments (one period) a probe begins at a random time, so
 * that those of all pods do not come together. The outcome (thresholds applied) is told when it
 * changes, and the first time. A startup probe ends with its first outcome, a liveness probe when
 * it has failed. An attempt that could not be made is repeated twice at once and then tells
 * nothing but an event. Also runs hooks (postStart, preStop: exec, httpGet, sleep; tcpSocket
 * fails, as upstream's does).
 * Threads: the loop's.
 */
#ifndef NODE_PROBES_PROBES_H
#define NODE_PROBES_PROBES_H

#include "node/lifecycle/lifecycle.h"
#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

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
	/* The same for "ProbeWarning": "Readiness probe warning: ..". NULL allowed. */
	void (*on_warning)(void *arg, struct str pod_uid, struct str container,
			   enum lifecycle_probe probe, struct str message);
	void *arg;
};

struct probes *probes_new(const struct probes_opts *opts);
/* Nothing is called any more, hooks' `done` neither. NULL allowed. */
void probes_free(struct probes *p);

/*
 * Runs this probe of the container until it is stopped; when it runs already the address and the
 * newer version of the pod are taken. A container without such a probe is left alone. Callbacks
 * are not called from within.
 */
void probes_start(struct probes *p, struct pod *pod, struct str container, struct str container_id,
		  enum lifecycle_probe probe, struct str pod_ip);
void probes_stop(struct probes *p, struct str container_id, enum lifecycle_probe probe);
void probes_stop_pod(struct probes *p, struct str pod_uid); /* not its hooks */

/*
 * A lifecycle handler, once; `done` comes once and not from within. `timeout_ms` 0: none. The
 * message of a failure is upstream's: Exec lifecycle hook ([..]) for Container "c" in Pod
 * "p_ns(uid)" failed - ..
 */
struct probes_hook {
	const struct json *container, *handler; /* of the pod */
	struct str container_id, pod_ip; /* the host's address for pods on its network */
	int64_t timeout_ms;
};
typedef void probes_hook_done(void *arg, const struct error *err);
void probes_hook(struct probes *p, struct pod *pod, const struct probes_hook *hook,
		 probes_hook_done *done, void *arg);

DEFINE_CLEANUP(probes_free, struct probes *);

#endif
