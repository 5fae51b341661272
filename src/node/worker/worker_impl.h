/*
 * worker_impl - the worker from inside; for the files of src/node/worker only.
 */
#ifndef NODE_WORKER_WORKER_IMPL_H
#define NODE_WORKER_WORKER_IMPL_H

#include "base/core/list.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "net/loop/loop.h"
#include "node/pod/fit.h"
#include "node/worker/worker.h"

enum worker_step {
	WORKER_ADMIT, /* not decided yet */
	WORKER_HOLD, /* devices are chosen; saved to disk before plugins are called */
	WORKER_ALLOCATE, /* plugins are called, one request after the other */
	WORKER_CLAIMS,
	WORKER_SOURCES,
	WORKER_VOLUMES,
	WORKER_RUN, /* the life cycle decides */
	WORKER_CLEAN, /* no container runs: claims are unprepared */
	WORKER_RELEASE, /* devices and volumes are released */
	WORKER_ENDED, /* only its status is kept up to date */
	WORKER_REMOVE, /* the pod object is deleted: the runtime removes the pod */
};

/* One action of the life cycle in flight. */
struct worker_op {
	struct list link;
	struct worker *worker;
	enum lifecycle_action_type type;
	struct arena arena;
	struct str container, id; /* id: of the container or sandbox */
	unsigned attempt;
	int64_t grace_s, began_ms;
	struct json *spec; /* the container in `pod` */
	struct pod *pod; /* the pod at the start of the action */
	/* For a start. */
	struct str sandbox_id, image_ref, image_user_name, created_id, next_resource;
	struct str cpus; /* the container's CPUs; empty: any */
	struct str log_path; /* log of a container that is being removed; or empty */
	int64_t image_user;
	bool pulled;
	bool endless; /* it waits for something that may never end: a pull, a hook */
	bool dropped; /* nothing waits for its end */
	struct loop_timer pause; /* delay before a retry */
};

/* The CPUs that a running container is bound to. */
struct worker_bound {
	struct list link;
	struct worker *worker;
	char *id;
	char *cpus; /* as last sent to the runtime; NULL: unknown */
	char *asked; /* an update to these is in flight; or NULL */
};

struct worker {
	struct worker_host *host;
	char *uid;
	struct pod *pod;
	struct pod *mirror; /* of a static pod; or NULL */
	struct fit_sum asks; /* the pod's requests */
	struct lifecycle *life;
	enum worker_step step;
	bool busy; /* a step's call is in flight */
	bool admitted; /* an earlier agent admitted it: failures are retried, not final */
	bool prepared, cleaned, ended, gone;
	bool refreshing, refresh_again; /* of volumes, while it runs */
	bool want_again; /* the API objects that it uses may have changed */
	uint64_t seen_at,
		/* numbers of listings of the runtime: the last one, and the one to wait for */
		seen_need;
	unsigned failures; /* consecutive failures of this step */
	uint64_t told; /* hash of the failure reported last; 0: none */
	bool marked; /* worker_health_changed() must be called */
	char *reject_reason, *reject_message;
	char *stop_reason, *stop_message;
	int64_t stop_grace_s; /* 0: the pod's own */
	bool evicted;
	struct arena *seen_arena;
	struct runtime_pod *seen; /* NULL: nothing */
	struct list ops; /* struct worker_op, in flight */
	struct list dropped; /* ops that nothing waits for; the worker stays until they end */
	struct backoff op_backoff; /* for failed stops and removals */
	unsigned calls; /* calls in flight that must return */
	struct loop_timer timer; /* retry of a step, or the life cycle's wake time */
	struct loop_task task; /* runs the worker at the end of this turn */
	struct backoff backoff;
	int64_t retry_at; /* ms; 0: no retry pending */
	int64_t failed_at; /* ms; time of the last failure */
	struct list bound; /* struct worker_bound; only with static CPUs */
	struct loop_timer cpus_timer; /* delay before the next try after a failure */
	struct backoff cpus_backoff;
	/* Unhealthy plugin devices. */
	struct device_policy_book sick;
	struct loop_timer policy_timer;
	struct client_request eviction;
	char *evicting_for; /* id of the container; or NULL */
	bool policy_told; /* its invalid annotations were reported */
};

/* --- worker.c --------------------------------------------------------------------- */

/* Whether the runtime was listed since we last changed something there. */
bool worker_sees(const struct worker *w);
/* We changed something: no decision before the runtime is listed again. */
void worker_relist(struct worker *w);
/* Runs the worker again at the end of this turn. */
void worker_look(struct worker *w);
/*
 * The step failed: retries later, and reports the failure as an event with `reason`, unless it is
 * the same as the last one.
 */
void worker_step_failed(struct worker *w, const char *reason, const char *prefix,
			const struct error *err);
/* Moves on to the next step. */
void worker_step_done(struct worker *w, enum worker_step next);
void worker_event(struct worker *w, struct str container, enum recorder_type type,
		  const char *reason, const char *fmt, ...) PRINTF_LIKE(5, 6);
struct lifecycle_input worker_input(const struct worker *w);
/* The pod of the API that shows the status; NULL: a static pod has no mirror pod now. */
const struct pod *worker_api_pod(const struct worker *w);
void worker_reject(struct worker *w, const char *reason, const char *message);

/* --- worker/prepare.c: the steps before the first container and after the last one ---- */

void worker_step_admit(struct worker *w);
void worker_step_hold(struct worker *w);
void worker_step_allocate(struct worker *w);
void worker_step_claims(struct worker *w);
void worker_step_sources(struct worker *w);
void worker_step_volumes(struct worker *w);
void worker_step_clean(struct worker *w);
void worker_step_release(struct worker *w);
void worker_step_remove(struct worker *w);
void worker_refresh_volumes(struct worker *w);

/* --- worker/act.c, worker/start.c: actions of the life cycle ---------------------- */

void worker_act(struct worker *w, const struct lifecycle_action *a);
void worker_start(struct worker_op *op);
/* Ends the op; with `reason` it failed. Frees the op. */
void worker_op_end(struct worker_op *op, const char *reason, struct str message);
void worker_ops_free(struct worker *w);
/* The pod is over: stops waiting for ops that may never end. */
void worker_ops_drop(struct worker *w);
/*
 * Returns true if nothing waits for the op any more; it is freed then. To be called when the op's
 * wait ends.
 */
bool worker_op_dropped(struct worker_op *op);
/* The pod's ready sandbox in the last listing, or NULL. */
const struct runtime_sandbox *worker_sandbox(const struct worker *w);
/* The pod's address; empty if it has none yet. */
struct str worker_ip(const struct worker *w);

/* --- worker/cpus.c ---------------------------------------------------------------- */

void worker_cpus_init(struct worker *w);
void worker_cpus_release(struct worker *w);
/* A container was started with these CPUs; empty: any. */
void worker_cpus_started(struct worker *w, struct str id, struct str cpus);

/* --- worker/policy.c -------------------------------------------------------------- */

void worker_policy_init(struct worker *w);
void worker_policy_release(struct worker *w);
/* Applies the policy for its unhealthy devices, if it is due. */
void worker_policy(struct worker *w);

/* --- worker/status.c -------------------------------------------------------------- */

void worker_write_status(struct worker *w);

#endif
