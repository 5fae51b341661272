/*
 * lifecycle - the life of one pod: what is to be done next, and what its status says. Pure.
 *
 * Takes what the pod wants, what the runtime has and the time; returns actions and a time to
 * ask again. Hollow and CRI pods run the same code. As upstream's kubelet decides: init
 * containers one after the other, sidecars that stay, restart policies of pod and container
 * with their rules, crash-loop back-off (10 s, doubled, up to 300 s, forgotten when a container
 * has run for ten minutes), a sandbox that died is replaced, termination in the reverse order
 * of sidecars with the pod's grace.
 *
 * What it remembers between calls is what neither the pod nor the runtime can tell: back-offs,
 * failures to start, results of probes, that the pod was told to end, and the status it gave last,
 * which the server may not have yet. After a restart of the agent it is made anew: restart counts
 * and last states come from the runtime's containers and the status that was written last;
 * what runs is left running.
 *
 * Nothing here waits: whoever carries the actions out reports failures by lifecycle_failed(),
 * and asks again when the runtime's state has changed.
 *
 * What differs from upstream on purpose: a container that the runtime has lost and whose policy
 * forbids a restart is not started again; a jump of the wall clock changes no back-off; what
 * the server would refuse (that a container which has ended for good runs again, as init
 * containers do in a new sandbox) is not told. A sidecar's preStop hook runs when its turn comes.
 * Threads: one at a time.
 */
#ifndef NODE_LIFECYCLE_LIFECYCLE_H
#define NODE_LIFECYCLE_LIFECYCLE_H

#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct lifecycle;

struct lifecycle *lifecycle_new(void);
void lifecycle_free(struct lifecycle *l); /* NULL allowed */

/* What is known now. Borrowed for the call. */
struct lifecycle_input {
	const struct pod *pod;
	/* NULL: the runtime has nothing of it. Do not ask before the runtime was asked. */
	const struct runtime_pod *seen;
	int64_t wall_ns, mono_ms;
	/*
	 * Refused by admission: it fails with these, nothing of it is started. Empty: it is not.
	 * The status says "Pod was rejected: " before the message.
	 */
	struct str reject_reason, reject_message;
	/* Devices allocated, claims prepared, volumes there: containers may start. */
	bool prepared;
	/* It is to end although nobody deleted it (evicted); "" : it is not. */
	struct str stop_reason, stop_message;
	/*
	 * Its claims are unprepared, volumes gone: nothing is left to be done outside. Only
	 * then the status shows a terminal phase.
	 */
	bool cleaned;
	struct str host_ip; /* of the node */
	struct str id_prefix; /* "containerd" */
};

enum lifecycle_action_type {
	LIFECYCLE_RUN_SANDBOX, /* attempt */
	LIFECYCLE_STOP_SANDBOX, /* id; its containers have ended or end with it */
	LIFECYCLE_REMOVE_SANDBOX, /* id; no container is in it */
	LIFECYCLE_START_CONTAINER, /* container, attempt, id of the sandbox: image, create, start */
	LIFECYCLE_STOP_CONTAINER, /* container, id, grace_s (preStop hook included), message */
	LIFECYCLE_REMOVE_CONTAINER, /* id: an old one that no status needs any more */
};

struct lifecycle_action {
	enum lifecycle_action_type type;
	struct str container, id;
	unsigned attempt;
	int64_t grace_s; /* at least 2, as upstream has it */
	struct str reason, message; /* why, for the event: "Killing", "Stopping container x" */
};

/* Something to tell that is no action: once per occurrence, as an event of the pod. */
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
	int64_t wake_ms; /* monotonic: ask again then; INT64_MAX: only after a change */
	/*
	 * No container runs nor will: clean up outside, then ask again. Counts only when no start
	 * is under way.
	 */
	bool over;
	bool done; /* over, cleaned, and the runtime has nothing to stop any more */
};

/*
 * What is to be done now. Asking twice without a change gives the same actions: one that is
 * under way is the caller's to remember (by container or sandbox) and not to begin again.
 */
void lifecycle_plan(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_plan *ret_plan);

/*
 * An action failed. For START_CONTAINER `reason` is what the waiting state shows: ErrImagePull,
 * ErrImageNeverPull, InvalidImageName, CreateContainerConfigError, CreateContainerError,
 * RunContainerError, PostStartHookError. Failed pulls back off as ImagePullBackOff (10 s, doubled,
 * up to 300 s); the others are tried again after 10 s, as upstream's are. An empty container
 * means the sandbox.
 */
void lifecycle_failed(struct lifecycle *l, struct str container, struct str reason,
		      struct str message, int64_t mono_ms);

enum lifecycle_probe { LIFECYCLE_STARTUP, LIFECYCLE_LIVENESS, LIFECYCLE_READINESS };
enum { LIFECYCLE_PROBES = 3 };

/*
 * The outcome of a probe (thresholds applied) of the container with that id. A bad STARTUP of a
 * container that has no startup probe means that its postStart hook failed: it is killed.
 */
void lifecycle_probed(struct lifecycle *l, struct str id, enum lifecycle_probe probe, bool good,
		      struct str message);

/* The container with that id uses a broken device: it is killed, as for a failed liveness probe. */
void lifecycle_device_failed(struct lifecycle *l, struct str id);

/*
 * Whether probes of this kind are to run now: it runs, and has started for the last two. *ret_id is
 * set to its newest container, if there is one, either way.
 */
bool lifecycle_wants_probe(const struct lifecycle *l, const struct lifecycle_input *in,
			   struct str container, enum lifecycle_probe probe, struct str *ret_id);

/*
 * The status as upstream writes it: phase, reason, message, conditions (PodScheduled as it was,
 * PodReadyToStartContainers, Initialized, ContainersReady, Ready with readiness gates), hostIP(s),
 * podIP(s), startTime, qosClass, initContainerStatuses, containerStatuses,
 * ephemeralContainerStatuses (state, lastState, ready, started, restartCount, image, imageID,
 * containerID, allocatedResources, resources, volumeMounts), observedGeneration. Transition
 * times are kept from the status that the pod has. Without allocatedResourcesStatus: that is
 * device_status.h's. In `a`.
 */
struct json *lifecycle_status(struct lifecycle *l, const struct lifecycle_input *in,
			      struct arena *a);

/*
 * What a running container must have been made of, else it is restarted: name and image. Equal to
 * kubelet's, so that an agent that takes over a node restarts nothing. The annotation
 * io.kubernetes.container.hash has it as lower-case hexadecimal digits.
 */
uint32_t lifecycle_container_hash(const struct json *container);

DEFINE_CLEANUP(lifecycle_free, struct lifecycle *);

#endif
