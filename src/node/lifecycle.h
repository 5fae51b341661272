/*
 * lifecycle - the life of one pod: what is to be done next, and what its status says. Pure.
 *
 * Takes what the pod wants, what the runtime has and the time; returns actions and a time to
 * ask again. Hollow and CRI pods run the same code. As upstream's kubelet decides: init
 * containers one after the other, sidecars that stay, restart policy, crash-loop back-off (10 s,
 * doubled, up to 300 s, forgotten after ten minutes of running), a sandbox that died is replaced,
 * termination in the reverse order of sidecars with the pod's grace.
 *
 * What it remembers between calls is what neither the pod nor the runtime can tell: back-offs,
 * failures to start, results of probes, that the pod was told to end. After a restart of the
 * agent it is made anew: restart counts and last states come from the runtime's containers and
 * the status that was written last.
 *
 * Nothing here waits: whoever carries the actions out reports failures by lifecycle_failed(),
 * and asks again when the runtime's state has changed.
 * Threads: one at a time.
 */
#ifndef NODE_LIFECYCLE_H
#define NODE_LIFECYCLE_H

#include "node/pod.h"
#include "node/runtime.h"

struct lifecycle;

struct lifecycle *lifecycle_new(void);
void lifecycle_free(struct lifecycle *l); /* NULL allowed */

/* What is known now. Borrowed for the call. */
struct lifecycle_input {
	const struct pod *pod;
	const struct runtime_pod *seen; /* NULL: the runtime has nothing of it */
	int64_t wall_ns, mono_ms;
	/* Refused by admission: it fails with these, nothing of it is started. Empty: it is not. */
	struct str reject_reason, reject_message;
	/* Devices allocated, claims prepared, volumes there: containers may start. */
	bool prepared;
	/* It is to end although nobody deleted it (evicted, past its deadline); "" : it is not. */
	struct str stop_reason, stop_message;
	/* Its claims are unprepared, volumes gone: nothing is left to be done outside. */
	bool cleaned;
	struct str host_ip; /* of the node */
	struct str id_prefix; /* "containerd" */
};

enum lifecycle_action_type {
	LIFECYCLE_RUN_SANDBOX, /* attempt */
	LIFECYCLE_STOP_SANDBOX, /* id; its containers have ended or end with it */
	LIFECYCLE_REMOVE_SANDBOX, /* id */
	LIFECYCLE_START_CONTAINER, /* container, attempt, id of the sandbox: image, create, start */
	LIFECYCLE_STOP_CONTAINER, /* container, id, grace_s (preStop hook included), message */
	LIFECYCLE_REMOVE_CONTAINER, /* id: an old one that no status needs any more */
};

struct lifecycle_action {
	enum lifecycle_action_type type;
	struct str container, id;
	unsigned attempt;
	int64_t grace_s;
	struct str reason, message; /* why, for the event: "Killing", "Stopping container x" */
};

struct lifecycle_plan {
	struct lifecycle_action *actions; /* in the arena; independent of each other */
	size_t n;
	int64_t wake_ms; /* monotonic: ask again then; INT64_MAX: only after a change */
	bool over; /* no container runs nor will: clean up outside, then ask again */
	bool done; /* over, cleaned, and the runtime has nothing to stop any more */
};

/*
 * What is to be done now. Asking twice without a change gives the same: an action under way is the
 * caller's to remember (by container or sandbox) and not to begin again.
 */
void lifecycle_plan(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_plan *ret_plan);

/*
 * An action failed. For START_CONTAINER `reason` is what the waiting state shows: ErrImagePull,
 * ErrImageNeverPull, InvalidImageName, CreateContainerConfigError, CreateContainerError,
 * RunContainerError, PostStartHookError; image failures back off as ImagePullBackOff, the others as
 * CrashLoopBackOff does. An empty container means the sandbox.
 */
void lifecycle_failed(struct lifecycle *l, struct str container, struct str reason,
		      struct str message, int64_t mono_ms);

enum lifecycle_probe { LIFECYCLE_STARTUP, LIFECYCLE_LIVENESS, LIFECYCLE_READINESS };

/* The outcome of a probe (thresholds applied) of the container with that id. */
void lifecycle_probed(struct lifecycle *l, struct str id, enum lifecycle_probe probe, bool good,
		      struct str message);

/* Whether probes of this kind are to run now: it runs, and has started for the last two. */
bool lifecycle_wants_probe(const struct lifecycle *l, const struct lifecycle_input *in,
			   struct str container, enum lifecycle_probe probe, struct str *ret_id);

/*
 * The status as upstream writes it: phase, reason, message, conditions (PodScheduled as it was,
 * PodReadyToStartContainers, Initialized, ContainersReady, Ready with readiness gates), hostIP(s),
 * podIP(s), startTime, qosClass, initContainerStatuses, containerStatuses,
 * ephemeralContainerStatuses (state, lastState, ready, started, restartCount, image, imageID,
 * containerID, allocatedResources, resources, user, volumeMounts), observedGeneration. Transition
 * times are kept from the status that the pod has. Without allocatedResourcesStatus: that is
 * device_status.h's. In `a`.
 */
struct json *lifecycle_status(struct lifecycle *l, const struct lifecycle_input *in,
			      struct arena *a);

DEFINE_CLEANUP(lifecycle_free, struct lifecycle *);

#endif
