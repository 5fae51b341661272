/*
 * worker_impl - what a worker is inside. For worker*.c only.
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
	WORKER_ADMIT, /* nothing is decided */
	WORKER_HOLD, /* devices are chosen: on the disk before plugins hear of it */
	WORKER_ALLOCATE, /* plugins are asked, one request after the other */
	WORKER_CLAIMS,
	WORKER_SOURCES,
	WORKER_VOLUMES,
	WORKER_RUN, /* the life cycle decides */
	WORKER_CLEAN, /* no container runs: claims are unprepared */
	WORKER_RELEASE, /* devices and volumes go */
	WORKER_ENDED, /* only its status is kept true */
	WORKER_REMOVE, /* the object is gone: the runtime forgets it */
};

/* One action of the life cycle under way. */
struct worker_op {
	struct list link;
	struct worker *worker;
	enum lifecycle_action_type type;
	struct arena arena;
	struct str container, id; /* id: of the container or sandbox that it is about */
	unsigned attempt;
	int64_t grace_s, began_ms;
	struct json *spec; /* the container in `pod` */
	struct pod *pod; /* as it was when it began */
	/* Of a start. */
	struct str sandbox_id, image_ref, image_user_name, created_id, next_resource;
	struct str cpus; /* that it is made with; empty: any */
	struct str log_path; /* of a container that is removed; or empty */
	int64_t image_user;
	bool pulled;
	bool endless; /* what it waits for may never come: a pull, a hook */
	bool dropped; /* nobody waits for its end */
	struct loop_timer pause; /* before what failed may be tried again */
};

/* CPUs that a container which runs is bound to. */
struct worker_bound {
	struct list link;
	struct worker *worker;
	char *id;
	char *cpus; /* as the runtime was last told; NULL: not known */
	char *asked; /* an update to these is under way; or NULL */
};

struct worker {
	struct worker_host *host;
	char *uid;
	struct pod *pod;
	struct fit_sum asks; /* of the pod */
	struct lifecycle *life;
	enum worker_step step;
	bool busy; /* a step's call is under way */
	bool admitted; /* by an earlier agent: failures are tried again, not final */
	bool prepared, cleaned, ended, gone;
	bool refreshing, refresh_again; /* of volumes, while it runs */
	bool want_again; /* what it uses of the API may be more now */
	uint64_t seen_at,
		seen_need; /* looks of the runtime: the last one, and the one to wait for */
	unsigned failures; /* of this step in a row */
	uint64_t told; /* hash of what was told of them last; 0: nothing */
	bool marked; /* worker_health_changed() is owed */
	char *reject_reason, *reject_message;
	char *stop_reason, *stop_message;
	struct arena *seen_arena;
	struct runtime_pod *seen; /* NULL: nothing */
	struct list ops; /* struct worker_op, under way */
	struct list dropped; /* those that end for nobody; the worker stays until they have */
	struct backoff op_backoff; /* of ends that fail */
	unsigned calls; /* that will come back */
	struct loop_timer timer; /* retry of a step, or the life cycle's wake */
	struct loop_task task; /* another look at the end of this turn */
	struct backoff backoff;
	int64_t retry_at; /* ms; 0: no retry is awaited */
	int64_t failed_at; /* ms; the last time */
	struct list bound; /* struct worker_bound; only with static CPUs */
	struct loop_timer cpus_timer; /* until the next try after a failure */
	struct backoff cpus_backoff;
	/* Unhealthy devices of plugins. */
	struct device_policy_book sick;
	struct loop_timer policy_timer;
	struct client_request eviction;
	char *evicting_for; /* id of the container; or NULL */
	bool policy_told; /* that its annotations are wrong */
};

/* --- worker.c --------------------------------------------------------------------- */

/* The runtime was asked since we last changed something there. */
bool worker_sees(const struct worker *w);
/* We have changed something: no decision before the runtime was asked again. */
void worker_relist(struct worker *w);
/* Another look, at the end of this turn. */
void worker_look(struct worker *w);
/* The step could not be done: again later; told as an event with `reason`, once in a row. */
void worker_step_failed(struct worker *w, const char *reason, const char *prefix,
			const struct error *err);
/* On to the next step. */
void worker_step_done(struct worker *w, enum worker_step next);
void worker_event(struct worker *w, struct str container, enum recorder_type type,
		  const char *reason, const char *fmt, ...) PRINTF_LIKE(5, 6);
struct lifecycle_input worker_input(const struct worker *w);
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

/* --- worker/act.c, worker/start.c: what the life cycle wants done ----------------- */

void worker_act(struct worker *w, const struct lifecycle_action *a);
void worker_start(struct worker_op *op);
/* It is over; with `reason` it failed. The op is gone afterwards. */
void worker_op_end(struct worker_op *op, const char *reason, struct str message);
void worker_ops_free(struct worker *w);
/* The pod is over: what may take for ever is waited for no more. */
void worker_ops_drop(struct worker *w);
/* True when nobody waits for the op any more; it is gone then. To be asked by what it waited
 * for. */
bool worker_op_dropped(struct worker_op *op);
/* The pod's sandbox in what was seen; NULL: none is ready. */
const struct runtime_sandbox *worker_sandbox(const struct worker *w);
/* The pod's address; empty: it has none yet. */
struct str worker_ip(const struct worker *w);

/* --- worker/cpus.c ---------------------------------------------------------------- */

void worker_cpus_init(struct worker *w);
void worker_cpus_release(struct worker *w);
/* A container was started that was made with these CPUs; empty: any. */
void worker_cpus_started(struct worker *w, struct str id, struct str cpus);

/* --- worker/policy.c -------------------------------------------------------------- */

void worker_policy_init(struct worker *w);
void worker_policy_release(struct worker *w);
/* What its unhealthy devices call for, if their time has come. */
void worker_policy(struct worker *w);

/* --- worker/status.c -------------------------------------------------------------- */

void worker_write_status(struct worker *w);

#endif
