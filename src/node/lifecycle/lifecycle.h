/*
 * lifecycle - the life cycle of one pod: the next actions, and the pod's status. Pure.
 *
 * Input: the pod object, the runtime's state and the time. Output: actions, and a time to call
 * again. Hollow and CRI pods run the same code. Decisions are those of upstream's kubelet:
 *
 * - init containers run one after the other; sidecars keep running
 * - restart policies of pod and container, with their rules
 * - crash-loop back-off: 10 s, doubled up to 300 s, reset when a container has run for ten minutes
 * - a sandbox that died is replaced
 * - termination stops sidecars in reverse order, within the pod's grace period
 *
 * Between calls it remembers only facts that are neither in the pod nor in the runtime: back-offs,
 * failures to start, probe results, that the pod must end, and the status returned last, which the
 * server may not have yet. After a restart of the agent a new one is created: restart counts and
 * last states come from the runtime's containers and the status written last. Running containers
 * are left running.
 *
 * Nothing here waits. The caller carries out the actions, reports failures with lifecycle_failed(),
 * and calls again when the runtime's state has changed.
 *
 * Intended differences from upstream:
 *
 * - A container that the runtime has lost is not started again if its policy forbids a restart.
 * - A jump of the wall clock does not change a back-off.
 * - Transitions that the server would reject are not reported: a container that has ended for good
 *   and runs again, as init containers do in a new sandbox.
 * - A sidecar's preStop hook runs when the sidecar is stopped, not earlier.
 *
 * Threads: one at a time.
 */
#ifndef NODE_LIFECYCLE_LIFECYCLE_H
#define NODE_LIFECYCLE_LIFECYCLE_H

#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct lifecycle;

struct lifecycle *lifecycle_new(void);
void lifecycle_free(struct lifecycle *l); /* NULL allowed */

/* The present facts. Borrowed for the call. */
struct lifecycle_input {
	const struct pod *pod;
	/* NULL: the runtime has nothing of the pod. Do not call before the first runtime_list(). */
	const struct runtime_pod *seen;
	int64_t wall_ns, mono_ms;
	/*
	 * Set if admission rejected the pod: the pod fails with these, and nothing is started.
	 * Otherwise empty. The status shows "Pod was rejected: " before the message.
	 */
	struct str reject_reason, reject_message;
	/* Devices are allocated, claims prepared, volumes set up: containers may start. */
	bool prepared;
	/* Set if the pod must end without a deletion (eviction); otherwise empty. */
	struct str stop_reason, stop_message;
	int64_t stop_grace_s; /* with stop_reason: its containers get at most this; 0: no limit */
	/* With stop_reason: the condition DisruptionTarget says that the kubelet ends the pod. */
	bool stop_disrupts;
	/*
	 * Claims are unprepared and volumes removed: there is nothing left to clean up. The status
	 * shows a terminal phase only after this.
	 */
	bool cleaned;
	struct str host_ip; /* of the node */
	struct str id_prefix; /* "containerd" */
};

enum lifecycle_action_type {
	LIFECYCLE_RUN_SANDBOX, /* attempt */
	LIFECYCLE_STOP_SANDBOX, /* id; its containers have ended, or are stopped with it */
	LIFECYCLE_REMOVE_SANDBOX, /* id; it has no containers */
	/* container, attempt, id of the sandbox: pull the image, create, start */
	LIFECYCLE_START_CONTAINER,
	LIFECYCLE_STOP_CONTAINER, /* container, id, grace_s (preStop hook included), message */
	LIFECYCLE_REMOVE_CONTAINER, /* id: an old container that no status needs */
};

struct lifecycle_action {
	enum lifecycle_action_type type;
	struct str container, id;
	unsigned attempt;
	int64_t grace_s; /* at least 2, as upstream */
	/* reason and message of the event: "Killing", "Stopping container x" */
	struct str reason, message;
};

/* Something to report as an event of the pod, once per occurrence, that is not an action. */
struct lifecycle_note {
	struct str container; /* or empty */
	const char *reason; /* "BackOff", "SandboxChanged", "DeadlineExceeded" */
	struct str message;
	bool warning;
};

struct lifecycle_plan {
	struct lifecycle_action *actions; /* in the arena; independent of each other */
	size_t n;
	struct lifecycle_note *notes; /* in the arena */
	size_t nnotes;
	int64_t wake_ms; /* monotonic: call again then; INT64_MAX: only after a change */
	/*
	 * No container runs or will run: clean up, then call again. Valid only if no start is in
	 * flight.
	 */
	bool over;
	bool done; /* over and cleaned, and the runtime has nothing left to stop */
};

/*
 * Returns the actions to take now. Calling twice without a change returns the same actions: the
 * caller must remember actions in flight (by container or sandbox) and not begin them again.
 */
void lifecycle_plan(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_plan *ret_plan);

/*
 * An action failed. For START_CONTAINER `reason` is shown in the waiting state: ErrImagePull,
 * ErrImageNeverPull, InvalidImageName, CreateContainerConfigError, CreateContainerError,
 * RunContainerError, PostStartHookError. Failed pulls back off as ImagePullBackOff (10 s, doubled,
 * up to 300 s). Other failures are retried after 10 s, as upstream. An empty container means the
 * sandbox.
 */
void lifecycle_failed(struct lifecycle *l, struct str container, struct str reason,
		      struct str message, int64_t mono_ms);

enum lifecycle_probe { LIFECYCLE_STARTUP, LIFECYCLE_LIVENESS, LIFECYCLE_READINESS };
enum { LIFECYCLE_PROBES = 3 };

/*
 * The result of a probe (thresholds applied) of the container with that id. A bad STARTUP result
 * for a container without a startup probe means that its postStart hook failed: the container is
 * killed.
 */
void lifecycle_probed(struct lifecycle *l, struct str id, enum lifecycle_probe probe, bool good,
		      struct str message);

/* The container with that id uses a broken device: kill it, as for a failed liveness probe. */
void lifecycle_device_failed(struct lifecycle *l, struct str id);

/*
 * Whether this kind of probe must run now: the container runs and, for the last two kinds, has
 * started. In both cases *ret_id is set to its newest container, if there is one.
 */
bool lifecycle_wants_probe(const struct lifecycle *l, const struct lifecycle_input *in,
			   struct str container, enum lifecycle_probe probe, struct str *ret_id);

/*
 * Returns the status as upstream writes it, in `a`: phase, reason, message, conditions
 * (PodScheduled as it was, PodReadyToStartContainers, Initialized, ContainersReady, Ready with
 * readiness gates), hostIP(s), podIP(s), startTime, qosClass, initContainerStatuses,
 * containerStatuses, ephemeralContainerStatuses, observedGeneration. Container statuses have state,
 * lastState, ready, started, restartCount, image, imageID, containerID, allocatedResources,
 * resources, volumeMounts. Transition times are kept from the pod's present status. It does not set
 * allocatedResourcesStatus: device_status.h does.
 */
struct json *lifecycle_status(struct lifecycle *l, const struct lifecycle_input *in,
			      struct arena *a);

/*
 * Hash of a container's name and image. A running container with another hash is restarted. The
 * value equals kubelet's, so an agent that takes over a node restarts nothing. The annotation
 * io.kubernetes.container.hash has it as lower-case hexadecimal digits.
 */
uint32_t lifecycle_container_hash(const struct json *container);

DEFINE_CLEANUP(lifecycle_free, struct lifecycle *);

#endif
