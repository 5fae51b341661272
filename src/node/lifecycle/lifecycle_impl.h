/*
 * lifecycle_impl - what the files of lifecycle share.
 *
 * lifecycle.c keeps what is remembered, lifecycle/restart.c decides whether and when a
 * container starts again, lifecycle/init.c and lifecycle/plan.c what is to be done,
 * lifecycle/container.c, lifecycle/phase.c, lifecycle/condition.c and lifecycle/status.c write
 * the status.
 */
#ifndef NODE_LIFECYCLE_LIFECYCLE_IMPL_H
#define NODE_LIFECYCLE_LIFECYCLE_IMPL_H

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/vec.h"
#include "node/lifecycle/lifecycle.h"

enum {
	LIFECYCLE_BACKOFF_MS = 10 * 1000,
	LIFECYCLE_BACKOFF_MAX_MS = 300 * 1000,
	LIFECYCLE_RETRY_MS = 10 * 1000, /* after a failure that has no back-off of its own */
	LIFECYCLE_ERROR_SHOWN_MS = 2 * 1000, /* a failed pull shows as such, then as back-off */
	LIFECYCLE_GRACE_MIN_S = 2,
	LIFECYCLE_LOST_CODE = 137, /* exit code of a container that nobody can tell about */
};

/* --- what is remembered ------------------------------------------------------------- */

/* Of one container of the spec, by name. All text is on the heap. */
struct lifecycle_item {
	char *name;
	uint32_t hash; /* of the container that the rest is about; another image begins anew */

	/* The crash-loop back-off; 0: none yet. */
	int64_t crash_ms, crash_updated_ns;
	char *crash_id; /* the dead container that crash_until_ms is about */
	int64_t crash_until_ms;
	char *granted; /* the dead container after which a start was allowed */

	/* The back-off of pulls, and why the last failed; 0: none. */
	int64_t pull_ms, pull_failed_ms;
	char *pull_error;

	/* What the waiting state shows, and the container (or "") that was the newest then. */
	char *reason, *message;
	char *bound; /* NULL: not known before the next plan */
	int64_t retry_ms; /* no start before */

	char *restart_id; /* the container that was stopped to be started again */

	/* The grace of its stop, settled when its turn came. */
	char *stop_id;
	int64_t stop_grace_s;
};

/* Outcomes of probes of one container, by id: 0 unknown, 1 good, -1 bad. */
struct lifecycle_outcome {
	char *id;
	signed char result[LIFECYCLE_PROBES];
	bool bad_device;
	bool seen; /* the runtime has had it: forgotten when it has it no more */
};

struct lifecycle {
	VEC(struct lifecycle_item) items;
	VEC(struct lifecycle_outcome) outcomes;
	struct buf last; /* the status given last, as text */
	int64_t sandbox_retry_ms;
	int64_t stopping_ms; /* since when everything is being stopped; 0: it is not */
	char *stop_reason, *stop_message; /* why it fails, once that is settled */
	bool rejected; /* stop_reason is admission's */
	bool ended; /* its containers have come to an end by themselves */
	/* A rule restarts all containers: until they are removed, and the status has said so. */
	bool restarting, restart_removed;
	char *noted_sandbox; /* the sandbox whose change was told */
};

struct lifecycle_item *lifecycle_item(struct lifecycle *l, struct str name); /* made if need be */
const struct lifecycle_item *lifecycle_find_item(const struct lifecycle *l, struct str name);
/* Replaces heap text; equal text is left alone. */
void lifecycle_set_text(char **text, struct str s);
struct str lifecycle_text(const char *z); /* empty for NULL */
/* 0 unknown, 1 good, -1 bad. */
int lifecycle_outcome(const struct lifecycle *l, struct str id, enum lifecycle_probe probe);
bool lifecycle_bad_device(const struct lifecycle *l, struct str id);

/* --- what is there ------------------------------------------------------------------ */

/* One look at a pod: the input and what follows from it. */
struct lifecycle_view {
	struct lifecycle *l;
	const struct lifecycle_input *in;
	struct arena *arena;
	const struct json *old; /* the status before: the one given last, else the pod's */
	/* The newest sandbox, if it is ready; and whether another is needed. */
	const struct runtime_sandbox *sandbox;
	bool sandbox_changed;
	unsigned sandbox_attempt; /* of the next, where it changed */
	const char *sandbox_message; /* why */
	bool initialized; /* a main container was made in this sandbox */
	bool ending; /* nothing is started any more */
	bool idle; /* nothing runs */
};

/* Settles, too, what is final: that it was rejected, told to end or is past its deadline. */
void lifecycle_look(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_view *ret_view);

/* The nth newest container of that name; NULL when there is none. */
const struct runtime_container *lifecycle_seen(const struct lifecycle_input *in, struct str name,
					       size_t nth);
/*
 * The newest that counts: one that never started does not, when the status tells of a later one
 * that the runtime has lost.
 */
const struct runtime_container *lifecycle_newest(const struct lifecycle_view *v, struct str name,
						 enum pod_container_kind kind);
/* The newest that has exited. */
const struct runtime_container *lifecycle_seen_dead(const struct lifecycle_input *in,
						    struct str name);
/* The newest in the view's sandbox. */
const struct runtime_container *lifecycle_seen_active(const struct lifecycle_view *v,
						      struct str name);
bool lifecycle_main_created(const struct lifecycle_input *in);

/* The list of the status that statuses of this kind are in. */
const char *lifecycle_list_of(enum pod_container_kind kind);
/* The status before, of a container; NULL when there is none. */
const struct json *lifecycle_old_status(const struct lifecycle_view *v, struct str name,
					enum pod_container_kind kind);
/* state.terminated or lastState.terminated, ..; NULL when it is not so. */
const struct json *lifecycle_state(const struct json *status, const char *state);
const struct json *lifecycle_last_ended(const struct json *status);

/* When activeDeadlineSeconds are over; INT64_MAX: never. Wall clock. */
int64_t lifecycle_deadline_ns(const struct lifecycle_view *v);

/* --- restarts ----------------------------------------------------------------------- */

/* By policies and rules, after an end with this code. */
bool lifecycle_restarts(const struct pod *pod, const struct json *container, int64_t exit_code);
/* The same when no code is known: a probe failed, or its state is unknown. */
bool lifecycle_restarts_unknown(const struct pod *pod, const struct json *container);
/* What rule fits; "" for none. */
struct str lifecycle_rule(const struct json *container, int64_t exit_code);
/* A rule of some container restarts all of them. */
bool lifecycle_could_restart_all(const struct pod *pod);
/* Notices that all containers are to be restarted, and that they have all been removed for it. */
void lifecycle_look_restart(struct lifecycle_view *v);

/* Its newest container was stopped to be started again. */
bool lifecycle_comes_back(const struct lifecycle_view *v, struct str name);
/* A container that does not run should, by what became of it. */
bool lifecycle_should_start(const struct lifecycle_view *v, const struct json *container,
			    struct str name, enum pod_container_kind kind);

/* Forgets what was about another image, binds the reason to what is there. */
struct lifecycle_item *lifecycle_item_now(struct lifecycle_view *v, const struct json *container,
					  struct str name);

/* --- planning ----------------------------------------------------------------------- */

struct lifecycle_planner {
	struct lifecycle_view v;
	struct lifecycle_plan *plan;
	size_t actions_max, notes_max;
};

struct lifecycle_action *lifecycle_add(struct lifecycle_planner *p,
				       enum lifecycle_action_type type);
void lifecycle_tell(struct lifecycle_planner *p, struct str container, const char *reason,
		    struct str message, bool warning);
void lifecycle_wake(struct lifecycle_planner *p, int64_t mono_ms);

/*
 * Whether the back-off lets a container start after `dead` (or NULL); `after` is the id that
 * the grant is for. Else the reason is noted and the plan wakes when it is over.
 */
bool lifecycle_crash_allows(struct lifecycle_planner *p, struct lifecycle_item *item,
			    const struct runtime_container *dead, struct str after);
/* Starts it unless something holds it back; false: held back. */
bool lifecycle_try_start(struct lifecycle_planner *p, const struct json *container, struct str name,
			 enum pod_container_kind kind);
/* Stops one container. `message` empty: "Stopping container NAME". */
void lifecycle_stop(struct lifecycle_planner *p, const struct runtime_container *c, int64_t grace_s,
		    struct str message);
/* Why a running container is to be killed; "" when it is not. *ret_changed: its spec did. */
struct str lifecycle_why_kill(const struct lifecycle_view *v, const struct json *container,
			      const struct runtime_container *c, const char *what,
			      int64_t *ret_grace_s, bool *ret_changed);

/* True when initialization is through; *ret_kill: it failed for good. */
bool lifecycle_plan_init(struct lifecycle_planner *p, bool *ret_kill);
/* Stops everything in order; for pods that end and for sandboxes that are replaced. */
void lifecycle_plan_stop(struct lifecycle_planner *p);
/* Old containers and sandboxes. */
void lifecycle_plan_clean(struct lifecycle_planner *p);
/* Stops and removes all containers, to start again. */
void lifecycle_plan_restart_all(struct lifecycle_planner *p);

/* --- the status --------------------------------------------------------------------- */

/* The status of one container: state, lastState, restartCount, ids, resources, volumeMounts. */
struct json *lifecycle_container_status(struct lifecycle_view *v, struct json *container,
					struct str name, enum pod_container_kind kind);

/*
 * Fills initContainerStatuses, containerStatuses, ephemeralContainerStatuses with ready and
 * started.
 */
void lifecycle_put_containers(struct lifecycle_view *v, struct json *status);
/* By the statuses of containers; `final`: nothing is restarted any more. */
const char *lifecycle_phase(const struct lifecycle_view *v, const struct json *status, bool final);
bool lifecycle_phase_terminal(struct str phase);
/* A pod whose containers have come to an end ends. */
void lifecycle_look_end(struct lifecycle_view *v, const struct json *status);

/* Appends the conditions; `phase` is the one that will be told. */
void lifecycle_put_conditions(struct lifecycle_view *v, struct json *status, struct str phase);

void lifecycle_put_time(struct arena *a, struct json *object, const char *key, int64_t ns);
/* A deep copy without key and sibling. */
struct json *lifecycle_copy(struct arena *a, const struct json *v);

#endif
