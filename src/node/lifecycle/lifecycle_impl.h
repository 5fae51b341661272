/*
 * lifecycle_impl - shared by the files of src/node/lifecycle.
 *
 *	lifecycle.c                                 the remembered state
 *	restart.c                                   whether and when a container starts again
 *	init.c, plan.c                              the next actions
 *	container.c, phase.c, condition.c, status.c the status
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
	LIFECYCLE_RETRY_MS = 10 * 1000, /* after a failure without a back-off of its own */
	/* a failed pull shows its error for this long, then the back-off */
	LIFECYCLE_ERROR_SHOWN_MS = 2 * 1000,
	LIFECYCLE_GRACE_MIN_S = 2,
	LIFECYCLE_LOST_CODE = 137, /* exit code of a container whose end is unknown */
};

/* --- remembered state --------------------------------------------------------------- */

/* The state of one container of the spec, by name. All text is on the heap. */
struct lifecycle_item {
	char *name;
	uint32_t hash; /* of the container described below; a new image resets the item */

	/* The crash-loop back-off; 0: none yet. */
	int64_t crash_ms, crash_updated_ns;
	char *crash_id; /* the dead container to which crash_until_ms applies */
	int64_t crash_until_ms;
	char *granted; /* the dead container after which a start was allowed */

	/* The back-off of pulls, and the last pull error; 0: none. */
	int64_t pull_ms, pull_failed_ms;
	char *pull_error;

	/* Shown in the waiting state; `bound` is the newest container at that time (or ""). */
	char *reason, *message;
	char *bound; /* NULL: unknown until the next plan */
	int64_t retry_ms; /* no start before this time */

	char *restart_id; /* the container that was stopped in order to restart it */

	/* The grace period of its stop, fixed when the stop began. */
	char *stop_id;
	int64_t stop_grace_s;
};

/* Probe results of one container, by id: 0 unknown, 1 good, -1 bad. */
struct lifecycle_outcome {
	char *id;
	signed char result[LIFECYCLE_PROBES];
	bool bad_device;
	bool seen; /* the runtime has listed it; forgotten when the runtime no longer does */
};

struct lifecycle {
	VEC(struct lifecycle_item) items;
	VEC(struct lifecycle_outcome) outcomes;
	struct buf last; /* the status returned last, as text */
	int64_t sandbox_retry_ms;
	int64_t stopping_ms; /* when stopping everything began; 0: not stopping */
	char *stop_reason, *stop_message; /* why the pod fails, once decided */
	bool rejected; /* stop_reason comes from admission */
	bool ended; /* its containers have all ended by themselves */
	/*
	 * A rule restarts all containers: set until they are removed and the status has shown it.
	 */
	bool restarting, restart_removed;
	char *noted_sandbox; /* the sandbox whose change was reported */
};

/* created if missing */
struct lifecycle_item *lifecycle_item(struct lifecycle *l, struct str name);
const struct lifecycle_item *lifecycle_find_item(const struct lifecycle *l, struct str name);
/* Replaces heap text; does nothing if it is equal. */
void lifecycle_set_text(char **text, struct str s);
struct str lifecycle_text(const char *z); /* empty for NULL */
/* 0 unknown, 1 good, -1 bad. */
int lifecycle_outcome(const struct lifecycle *l, struct str id, enum lifecycle_probe probe);
bool lifecycle_bad_device(const struct lifecycle *l, struct str id);

/* --- present state ------------------------------------------------------------------ */

/* A pod at one moment: the input and values derived from it. */
struct lifecycle_view {
	struct lifecycle *l;
	const struct lifecycle_input *in;
	struct arena *arena;
	const struct json *old; /* the previous status: the one returned last, else the pod's */
	/* The newest sandbox, if it is ready; and whether a new one is needed. */
	const struct runtime_sandbox *sandbox;
	bool sandbox_changed;
	unsigned sandbox_attempt; /* attempt of the next sandbox, if sandbox_changed */
	const char *sandbox_message; /* why a new one is needed */
	bool initialized; /* a main container was created in this sandbox */
	bool ending; /* nothing is started any more */
	bool idle; /* nothing runs */
};

/* Also records final decisions: the pod was rejected, must end, or is past its deadline. */
void lifecycle_look(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_view *ret_view);

/* Returns the nth newest container of that name, or NULL. */
const struct runtime_container *lifecycle_seen(const struct lifecycle_input *in, struct str name,
					       size_t nth);
/*
 * Returns the newest container that counts. One that never started does not count if the status
 * shows a later one that the runtime has lost.
 */
const struct runtime_container *lifecycle_newest(const struct lifecycle_view *v, struct str name,
						 enum pod_container_kind kind);
/* Returns the newest container that has exited. */
const struct runtime_container *lifecycle_seen_dead(const struct lifecycle_input *in,
						    struct str name);
/* Returns the newest container in the view's sandbox. */
const struct runtime_container *lifecycle_seen_active(const struct lifecycle_view *v,
						      struct str name);
bool lifecycle_main_created(const struct lifecycle_input *in);

/* The field of Pod status that lists containers of this kind. */
const char *lifecycle_list_of(enum pod_container_kind kind);
/* Returns a container's previous status, or NULL. */
const struct json *lifecycle_old_status(const struct lifecycle_view *v, struct str name,
					enum pod_container_kind kind);
/* Returns state.terminated, lastState.terminated, .., or NULL if it is not set. */
const struct json *lifecycle_state(const struct json *status, const char *state);
const struct json *lifecycle_last_ended(const struct json *status);

/* Wall-clock time at which activeDeadlineSeconds end; INT64_MAX: never. */
int64_t lifecycle_deadline_ns(const struct lifecycle_view *v);

/* --- restarts ----------------------------------------------------------------------- */

/* Whether the container restarts after this exit code, by policies and rules. */
bool lifecycle_restarts(const struct pod *pod, const struct json *container, int64_t exit_code);
/* The same without an exit code: a probe failed, or the container's state is unknown. */
bool lifecycle_restarts_unknown(const struct pod *pod, const struct json *container);
/* Returns the action of the matching rule, or "". */
struct str lifecycle_rule(const struct json *container, int64_t exit_code);
/* Whether a rule of any container can restart all containers. */
bool lifecycle_could_restart_all(const struct pod *pod);
/* Detects that all containers must be restarted, and that they have all been removed for it. */
void lifecycle_look_restart(struct lifecycle_view *v);

/* Whether its newest container was stopped in order to restart it. */
bool lifecycle_comes_back(const struct lifecycle_view *v, struct str name);
/* Whether a container that does not run should be started, given how it ended. */
bool lifecycle_should_start(const struct lifecycle_view *v, const struct json *container,
			    struct str name, enum pod_container_kind kind);

/* Resets the item if the image has changed, and binds the reason to the present container. */
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
 * Whether the back-off lets a container start after `dead` (or NULL); `after` is the id that the
 * grant is for. If not, records the reason and sets the plan's wake time to the end of the
 * back-off.
 */
bool lifecycle_crash_allows(struct lifecycle_planner *p, struct lifecycle_item *item,
			    const struct runtime_container *dead, struct str after);
/* Starts the container unless something delays it; returns false if delayed. */
bool lifecycle_try_start(struct lifecycle_planner *p, const struct json *container, struct str name,
			 enum pod_container_kind kind);
/* Stops one container. Empty `message`: "Stopping container NAME". */
void lifecycle_stop(struct lifecycle_planner *p, const struct runtime_container *c, int64_t grace_s,
		    struct str message);
/* Returns why a running container must be killed, or "". *ret_changed: because its spec changed. */
struct str lifecycle_why_kill(const struct lifecycle_view *v, const struct json *container,
			      const struct runtime_container *c, const char *what,
			      int64_t *ret_grace_s, bool *ret_changed);

/* Returns true if initialization is complete; *ret_kill: it failed for good. */
bool lifecycle_plan_init(struct lifecycle_planner *p, bool *ret_kill);
/* Stops everything in order; used when a pod ends and when a sandbox is replaced. */
void lifecycle_plan_stop(struct lifecycle_planner *p);
/* Removes old containers and sandboxes. */
void lifecycle_plan_clean(struct lifecycle_planner *p);
/* Stops and removes all containers, to start them again. */
void lifecycle_plan_restart_all(struct lifecycle_planner *p);

/* --- the status --------------------------------------------------------------------- */

/* Returns one container's status: state, lastState, restartCount, ids, resources, volumeMounts. */
struct json *lifecycle_container_status(struct lifecycle_view *v, struct json *container,
					struct str name, enum pod_container_kind kind);

/*
 * Fills initContainerStatuses, containerStatuses and ephemeralContainerStatuses, with ready and
 * started.
 */
void lifecycle_put_containers(struct lifecycle_view *v, struct json *status);
/* Derives the phase from the container statuses; `final`: nothing is restarted any more. */
const char *lifecycle_phase(const struct lifecycle_view *v, const struct json *status, bool final);
bool lifecycle_phase_terminal(struct str phase);
/* Ends the pod if its containers have all ended. */
void lifecycle_look_end(struct lifecycle_view *v, const struct json *status);

/* Appends the conditions; `phase` is the phase that will be reported. */
void lifecycle_put_conditions(struct lifecycle_view *v, struct json *status, struct str phase);

void lifecycle_put_time(struct arena *a, struct json *object, const char *key, int64_t ns);
/* A deep copy without key and sibling. */
struct json *lifecycle_copy(struct arena *a, const struct json *v);

#endif
