/*
 * probes - runs startup, liveness and readiness probes: exec, httpGet, tcpSocket, grpc.
 *
 * Delays, periods, time-outs and thresholds are upstream's; initialDelaySeconds counts from
 * probes_start(). In the agent's first moments (one period) a probe begins at a random time, so
 * that the probes of all pods do not run at once. The result (thresholds applied) is reported the
 * first time and when it changes. A startup probe ends with its first result, a liveness probe when
 * it has failed. An attempt that could not be made is repeated twice at once; if that fails, too,
 * only an event is reported. Also runs hooks (postStart, preStop: exec, httpGet, sleep; tcpSocket
 * fails, as in upstream).
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
/* No callback is called after this, not even a hook's `done`. NULL allowed. */
void probes_free(struct probes *p);

/*
 * Runs this probe of the container until it is stopped. If it runs already, it gets the address and
 * the newer version of the pod. Does nothing for a container without such a probe. Callbacks are
 * not called from within.
 */
void probes_start(struct probes *p, struct pod *pod, struct str container, struct str container_id,
		  enum lifecycle_probe probe, struct str pod_ip);
void probes_stop(struct probes *p, struct str container_id, enum lifecycle_probe probe);
void probes_stop_pod(struct probes *p, struct str pod_uid); /* not its hooks */

/*
 * Runs a lifecycle handler once; `done` is called once and not from within. `timeout_ms` 0: none.
 * Error messages are upstream's: Exec lifecycle hook ([..]) for Container "c" in Pod "p_ns(uid)"
 * failed - ..
 */
struct probes_hook {
	const struct json *container, *handler; /* from the pod */
	struct str container_id, pod_ip; /* pod_ip: the host's address for pods on its network */
	int64_t timeout_ms;
};
typedef void probes_hook_done(void *arg, const struct error *err);
void probes_hook(struct probes *p, struct pod *pod, const struct probes_hook *hook,
		 probes_hook_done *done, void *arg);

DEFINE_CLEANUP(probes_free, struct probes *);

#endif
