/*
 * nic_driver_impl - the inside of the net driver, shared by its files:
 *
 *	nic/driver.c   start, stop and wiring
 *	nic/host.c     the node's own interfaces, which are the devices
 *	nic/prepare.c  prepares and unprepares claims
 *	nic/sandbox.c  requests of the CNI plugin: moves interfaces into pods and back
 *	nic/second.c   a second pod that uses a claim prepared for another pod
 *	nic/job.c      runs one operation at a time per pod
 *	nic/follow.c   watches interfaces in pods
 *	nic/status.c   the device status in claims (KEP-4817)
 */
#ifndef DRIVERS_NIC_DRIVER_IMPL_H
#define DRIVERS_NIC_DRIVER_IMPL_H

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "drivers/cni/nic_socket.h"
#include "drivers/nic/driver.h"
#include "drivers/nic_attach/attach.h"
#include "drivers/sdk/driver.h"
#include "net/loop/loop.h"

struct cni_exec;
struct metrics_counter;
struct metrics_gauge;
struct metrics_histogram;
struct rtnl_watch;

enum {
	/* Interval of checks for changes without events: routes, namespaces, second pods. */
	NIC_LOOK_MS = 10000,
};

struct nic_driver {
	struct nic_driver_opts opts;
	char name[128];
	struct dp_driver *driver;
	struct nic_spec spec; /* opts.spec without the kinds that the kernel lacks */
	struct nic_create *creates; /* heap; of `spec` */
	struct nic_inventory *inventory;
	struct rtnl *host;
	struct rtnl_watch *watch;
	struct nic_book *book;
	struct nic_attach *attach;
	struct nic_socket *socket;
	struct list jobs; /* of struct nic_job, in order of arrival */
	struct loop_task turn; /* starts jobs that waited */
	struct loop_task tell; /* publishes changed devices */
	struct loop_timer look;
	struct resource claims, pods;
	bool known; /* the node's interfaces were listed */
	bool stopping;
	void (*on_stopped)(void *arg);
	void *stopped_arg;
	struct metrics_gauge *attachments; /* these may be NULL */
	struct metrics_histogram *durations;
	struct metrics_counter *failures;
};

/* The state of one use while it is watched; nic_use.arg. */
struct nic_view {
	struct nic_driver *driver;
	struct nic_use *use;
	/* In the pod's namespace, while the interface is there; else -1 and NULL. */
	int ns_fd;
	struct rtnl *pod;
	struct rtnl_watch *watch;
	struct nic_seen seen;
	bool blind; /* the last check failed, and was logged */
	bool ended; /* the runtime has ended the sandbox, but the interface is not back yet */
	bool abandoned; /* it could not be moved back: only the end of the namespace does it */
	int64_t missing; /* monotonic ns: since when it is neither here nor in the pod; or 0 */
	struct loop_task look;
	struct loop_timer later; /* a check delayed by the rate limit */
	int64_t paid_ms; /* on the loop's clock; see nic/follow.c */
	struct loop_timer keep; /* retries saving the interface's new name */
	bool untold; /* the last entry was rejected, and was sent without the pod's data */
	uint32_t health; /* last reported health, while it is in a pod */
	/* Why it is not in a pod: a reason of nic/driver.h. NULL: no status to report. */
	const char *reason;
	char message[512];
	char several[512]; /* error message if a second pod uses the claim, or "" */
	struct client_request get; /* reads the claim, to check whether that is still so */
};

static inline struct nic_view *nic_view_of(const struct nic_use *u)
{
	return u->arg;
}

/* --- nic/host.c ------------------------------------------------------------------------------ */

/* Fills in d->spec, without the devices that the kernel cannot create; reports those. */
void nic_host_probe(struct nic_driver *d);
/* Opens the socket and the watch, and lists the links. */
int nic_host_start(struct nic_driver *d, struct error *err);
/* Lists the links again. */
int nic_host_list(struct nic_driver *d, struct error *err);
/* Call these after a device was moved into a pod, or back. */
void nic_host_gone(struct nic_driver *d, const struct nic_use *u);
void nic_host_back(struct nic_driver *d, const struct nic_use *u);
/*
 * Returns 0 if the interface may leave the node: the kernel has no default route through it now
 * (nic_inventory_is_routed()). If that cannot be determined, it fails.
 */
int nic_host_check(struct nic_driver *d, const char *interface, struct error *err);
/* Passes all devices to the SDK. */
void nic_host_tell(struct loop_task *t);

/* --- nic/follow.c ---------------------------------------------------------------------------- */

void nic_view_new(struct nic_driver *d, struct nic_use *u);
void nic_view_free(struct nic_use *u);
/* The interface is in the namespace `ns_fd`. Takes ownership of the descriptor, also on failure. */
int nic_view_open(struct nic_view *v, int ns_fd, struct error *err);
void nic_view_close(struct nic_view *v);
/* Reads the interface's state from the kernel, and reports it. */
void nic_view_look(struct nic_view *v);

/*
 * Opens the namespace that has the use's interface; the caller closes the descriptor. Returns -1 if
 * it is gone, its path leads to a different one, or it was abandoned.
 */
int nic_view_namespace(const struct nic_use *u);
/* Whether the runtime still has the namespace, as far as known. */
bool nic_view_is_led_to(const struct nic_use *u);

/* --- nic/status.c ---------------------------------------------------------------------------- */

/* Judges the state of an interface in its pod. Returns the reason, and writes a message. */
const char *nic_status_judge(const struct nic_use *u, const struct nic_seen *s,
			     char message[static 512]);
/* Writes the claim's entry, and reports the device's health. */
void nic_status_tell(struct nic_view *v);
/* Records why the device is not in a pod, and reports it. `reason` must be a constant. */
void nic_status_set(struct nic_view *v, const char *reason, const char *message);
/* Writes the entry of a device that could not be prepared: Ready is False. */
void nic_status_refuse(struct nic_driver *d, const struct dp_claim *c, const struct dp_result *r,
		       const char *reason, const char *message);
/* Writes {"name", "mac", "ips"} for the CNI plugin. */
void nic_status_interface(const struct nic_use *u, const struct nic_seen *s,
			  struct json_writer *out);

/* --- nic/prepare.c --------------------------------------------------------------------------- */

/* Reports that the use is prepared. */
void nic_prepare_tell(struct nic_use *u);
/* The claim's first use, or NULL. */
struct nic_use *nic_prepare_first(const struct nic_driver *d, const char *claim_uid);

int nic_prepare(void *arg, struct dp_claim *c);
int nic_unprepare(void *arg, struct dp_claim *c);

/* --- nic/job.c ------------------------------------------------------------------------------- */

/*
 * An operation on the interfaces of one pod, which may take several turns of the loop. Jobs of the
 * same pod run one after the other; those of different pods run in parallel. Embed it.
 */
struct nic_job {
	struct list link;
	struct nic_driver *driver;
	struct arena arena;
	const char *pod_uid;
	bool running;
	bool owed; /* the SDK waits for it: it must not be dropped */
	void (*run)(struct nic_job *j); /* called when it may start */
	/* Cancels whatever it waits for, at the driver's end. May be NULL. */
	void (*cancel)(struct nic_job *j);
	struct nic_ask *ask; /* the request that waits for it, or NULL */
	bool gone; /* the client has disconnected; the request must still be completed */

	/* The uses to work on, one after the other. */
	struct nic_use **uses; /* in the arena */
	size_t nuses, at;
	int ns_fd; /* attach: the pod's namespace; closed at the end; or -1 */
	int64_t began; /* attach: start of the current use; monotonic ns */
	const char *message; /* detach: for the status */
	bool ended; /* detach: the sandboxes have ended; the sweep handles what is not back */
	char interface[RTNL_NAME]; /* detach: its name, which the book drops */
	struct loop_timer retry; /* detach: waits for the interface to come back */
	unsigned tries;
	struct cni_exec *exec;
	struct error failure; /* the first failure; code ERR_OK: none */
	void (*then)(struct nic_job *j);
};

/* `size` is that of the struct that embeds it as its first member. */
void *nic_job_new(struct nic_driver *d, size_t size, const char *pod_uid,
		  void (*run)(struct nic_job *j));
/* Starts the job, immediately if no other job of the pod is running. */
void nic_job_queue(struct nic_job *j);
/*
 * Moves the job to a different pod's queue, because its claim was handed over; it starts again from
 * the beginning. Must be the last call in `run`.
 */
void nic_job_move(struct nic_job *j, const char *pod_uid);
/* Whether a job of the pod is running or waiting. */
bool nic_job_is_busy(const struct nic_driver *d, const char *pod_uid);
/* Frees the job; the next ones may start. */
void nic_job_end(struct nic_job *j);
/* nic_driver.turn */
void nic_job_turn(struct loop_task *t);
/*
 * At the driver's end: drops all jobs that the SDK does not wait for, and rejects their requests.
 */
void nic_job_drop_all(struct nic_driver *d);

/* Updates the metric of attached interfaces. */
void nic_job_count(struct nic_driver *d);

/* Selects the uses of the job by `pick`. */
void nic_job_pick(struct nic_job *j,
		  bool (*pick)(const struct nic_job *j, const struct nic_use *u));

/*
 * Moves the interfaces of the job's uses back, from any state. Continues after a failure. Then
 * calls `then`, with the first failure in j->failure. The status is Detached with this message.
 */
void nic_job_detach(struct nic_job *j, const char *message, void (*then)(struct nic_job *j));

/*
 * Moves the interfaces of the job's uses into j->ns_fd. The uses must be PREPARED, with their
 * sandbox set. Stops at the first failure, which belongs to uses[at].
 */
void nic_job_attach(struct nic_job *j, void (*then)(struct nic_job *j));

/* --- nic/sandbox.c --------------------------------------------------------------------------- */

void nic_sandbox_question(void *arg, struct nic_ask *ask, const struct nic_question *q);
void nic_sandbox_gone(void *arg, struct nic_ask *ask);
/*
 * Cleans up: watches interfaces in pods that are not watched, and moves back those that are half
 * done, or in a namespace that its path no longer leads to.
 */
void nic_sandbox_sweep(struct nic_driver *d);

/* --- nic/second.c ---------------------------------------------------------------------------- */

struct nic_second;

/* "claim NS/NAME is reserved for several pods (a, b): .."; `names` is the list of pods. */
void nic_second_sentence(char out[static 512], const char *ns, const char *claim,
			 const char *names);
/* Whether a claim of that namespace is prepared for a different pod. */
bool nic_second_possible(const struct nic_driver *d, const char *ns, const char *pod_uid);
/*
 * Asks the API server whether the pod uses a claim that is prepared for a different one. Calls
 * `done` once, later. err is NULL if it does not, or if the claim now belongs to this pod alone and
 * was handed over. ERR_CONFLICT: it does, and the claim's status says so.
 */
struct nic_second *nic_second_new(struct nic_driver *d, const char *ns, const char *pod_name,
				  const char *pod_uid,
				  void (*done)(void *arg, const struct error *err), void *arg);
/* `done` is not called any more. NULL allowed. */
void nic_second_free(struct nic_second *s);
/* Checks whether claims that several pods used now have a single pod. */
void nic_second_look(struct nic_driver *d);
/* Sets this message in the claim's status. "": restores the normal status. */
void nic_second_mark(struct nic_driver *d, const char *claim_uid, const char *sentence);
/*
 * Hands the claim over to that pod, and moves interfaces back from the earlier one. Calls `done`
 * once, possibly from within, unless the job is dropped. `owed`: see struct nic_job.
 */
void nic_second_hand_over(struct nic_use *u, const char *pod_name, const char *pod_uid, bool owed,
			  void (*done)(void *arg, const struct error *err), void *arg);

#endif
