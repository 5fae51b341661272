/*
 * probe_run - one attempt of a probe or of a lifecycle handler: exec, httpGet, tcpSocket, grpc.
 *
 * Requests, their interpretation and messages are upstream's. An attempt ends when `done` is called
 * (exactly once, not from within probe_run_new()), or when it is freed.
 * Threads: the loop's.
 */
#ifndef NODE_PROBES_RUN_H
#define NODE_PROBES_RUN_H

#include "base/core/error.h"
#include "base/json/json.h"
#include "node/runtime/runtime.h"

struct loop;
struct probe_run;
struct tls;

enum probe_result {
	PROBE_SUCCESS,
	PROBE_WARNING, /* a success with a message */
	PROBE_FAILURE,
	PROBE_ERROR, /* it could not be tried: no result for the container */
};

/* Borrowed for probe_run_new(), except loop, runtime and tls. */
struct probe_target {
	struct loop *loop;
	struct runtime *runtime;
	struct tls *tls; /* accepts any certificate; for https and gRPC with TLS */
	const struct json *container; /* for the names of ports, and its static variables */
	struct str container_id, pod_ip;
	const char *purpose; /* for the user agent: "probe", "lifecycle" */
	bool any_status; /* any reply of a server is a success */
};

/* `message` is borrowed until return. */
typedef void probe_run_done(void *arg, enum probe_result result, struct str message);

/* `action`: an object with exec, httpGet, tcpSocket or grpc. `timeout_ms` 0: none. */
struct probe_run *probe_run_new(const struct probe_target *t, const struct json *action,
				int64_t timeout_ms, probe_run_done *done, void *arg);

/* Cancels the attempt; `done` is not called. NULL allowed. */
void probe_run_free(struct probe_run *r);

#endif
