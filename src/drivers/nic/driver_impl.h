/*
 * nic_driver_impl - the net driver from the inside, between its files:
 *
 *	nic/driver.c   life and wiring
 *	nic/host.c     the node's own interfaces: which devices there are
 *	nic/prepare.c  claims: reserved and given back
 *	nic/sandbox.c  what the CNI plugin asks: into the pod and out again
 *	nic/second.c   a second pod that wants a claim which is another's
 *	nic/job.c      one thing at a time for each pod
 *	nic/follow.c   interfaces in pods, as the kernel tells of them
 *	nic/status.c   what the claim's status says
 */
#ifndef DRIVERS_NIC_DRIVER_IMPL_H
#define DRIVERS_NIC_DRIVER_IMPL_H

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "drivers/cni/nic_socket.h"
#include "drivers/nic/driver.h"
#include "drivers/nic_attach/attach.h"
#include "drivers/sdk/driver_impl.h"
#include "net/loop/loop.h"

struct cni_exec;
struct metrics_counter;
struct metrics_gauge;
struct metrics_histogram;
struct rtnl_watch;

enum {
	/* Between two looks at what nobody tells of: routes, namespaces, second pods. */
	NIC_LOOK_MS = 10000,
};

struct nic_driver {
	struct nic_driver_opts opts;
	char name[128];
	struct dp_driver *driver;
	struct nic_spec spec; /* opts.spec without what the kernel lacks */
	struct nic_create *creates; /* heap; spec's */
	struct nic_inventory *inventory;
	struct rtnl *host;
	struct rtnl_watch *watch;
	struct nic_book *book;
	struct nic_attach *attach;
	struct nic_socket *socket;
	struct list jobs; /* of struct nic_job, in the order in which they came */
	struct loop_task turn; /* of jobs that waited */
	struct loop_task tell; /* devices have changed */
	struct loop_timer look;
	struct resource claims, pods;
	bool known; /* the node's interfaces are */
	bool stopping;
	void (*on_stopped)(void *arg);
	void *stopped_arg;
	struct metrics_gauge *attachments; /* these may be NULL */
	struct metrics_histogram *durations;
	struct metrics_counter *failures;
};

/* One use as it is followed; nic_use.arg. */
struct nic_view {
	struct nic_driver *driver;
	struct nic_use *use;
	/* In the pod's namespace, while the interface is there; -1 and NULL: it is not. */
	int ns_fd;
	struct rtnl *pod;
	struct rtnl_watch *watch;
	struct nic_seen seen;
	bool blind; /* the last look failed, and was told of */
	bool ended; /* the runtime has ended the sandbox, which is still to be taken back from */
	bool abandoned; /* it could not be: only the namespace's end brings it back */
	int64_t missing; /* monotonic ns since when it is neither here nor there; 0: it is not */
	struct loop_task look;
	struct loop_timer later; /* a look that was one too many */
	int64_t paid_ms; /* on the loop's clock; see nic/follow.c */
	struct loop_timer keep; /* the book does not have the interface's new name yet */
	bool untold; /* the last entry was refused, and went without what is of the pod */
	uint32_t health; /* as last told, while it is in a pod */
	/* Why it is not in a pod: a reason of nic/driver.h; NULL: nothing is to be told. */
	const char *reason;
	char message[512];
	char several[512]; /* a second pod wants it: the sentence; "": none does */
	struct client_request get; /* of the claim, to see whether that is still so */
};

static inline struct nic_view *nic_view_of(const struct nic_use *u)
{
	return u->arg;
}

/* --- nic/host.c ------------------------------------------------------------------------------ */

/* Fills d->spec; what the kernel cannot make is left out, and told. */
void nic_host_probe(struct nic_driver *d);
/* Opens the socket and the watch, and lists. */
int nic_host_start(struct nic_driver *d, struct error *err);
/* Lists again. */
int nic_host_list(struct nic_driver *d, struct error *err);
/* A device has gone into a pod, or is back. */
void nic_host_gone(struct nic_driver *d, const struct nic_use *u);
void nic_host_back(struct nic_driver *d, const struct nic_use *u);
/*
 * The interface may leave the node: no default route leads through it (nic_inventory_is_routed()),
 * as the kernel says now; what cannot be found out is a failure.
 */
int nic_host_check(struct nic_driver *d, const char *interface, struct error *err);
/* Tells the SDK all devices. */
void nic_host_tell(struct loop_task *t);

/* --- nic/follow.c ---------------------------------------------------------------------------- */

void nic_view_new(struct nic_driver *d, struct nic_use *u);
void nic_view_free(struct nic_use *u);
/* The interface is in the namespace `ns_fd`, which the view takes over also when it fails. */
int nic_view_open(struct nic_view *v, int ns_fd, struct error *err);
void nic_view_close(struct nic_view *v);
/* What the kernel says now, told. */
void nic_view_look(struct nic_view *v);

/*
 * A descriptor of the namespace that the use's interface is in, to be closed; -1: it is gone, its
 * path leads to another by now, or it was abandoned.
 */
int nic_view_namespace(const struct nic_use *u);
/* The runtime still has the namespace, as far as can be told. */
bool nic_view_is_led_to(const struct nic_use *u);

/* --- nic/status.c ---------------------------------------------------------------------------- */

/* What the kernel says of an interface in its pod: a reason, and a sentence. */
const char *nic_status_judge(const struct nic_use *u, const struct nic_seen *s,
			     char message[static 512]);
/* Tells the claim's entry and the device's health. */
void nic_status_tell(struct nic_view *v);
/* It is not in a pod, for this reason (a constant); told. */
void nic_status_set(struct nic_view *v, const char *reason, const char *message);
/* The entry of a device that is not prepared: Ready is False. */
void nic_status_refuse(struct nic_driver *d, const struct dp_claim *c, const struct dp_result *r,
		       const char *reason, const char *message);
/* {"name", "mac", "ips"} as the CNI plugin gets it. */
void nic_status_interface(const struct nic_use *u, const struct nic_seen *s,
			  struct json_writer *out);

/* --- nic/prepare.c --------------------------------------------------------------------------- */

/* Prepared, and told so. */
void nic_prepare_tell(struct nic_use *u);
/* The claim's first use; NULL: none. */
struct nic_use *nic_prepare_first(const struct nic_driver *d, const char *claim_uid);

int nic_prepare(void *arg, struct dp_claim *c);
int nic_unprepare(void *arg, struct dp_claim *c);

/* --- nic/job.c ------------------------------------------------------------------------------- */

/*
 * What is done about the interfaces of one pod, which may take several turns. Jobs of the same pod
 * follow each other; those of different pods go side by side. Embed it.
 */
struct nic_job {
	struct list link;
	struct nic_driver *driver;
	struct arena arena;
	const char *pod_uid;
	bool running;
	bool owed; /* the SDK waits for it: it is not dropped */
	void (*run)(struct nic_job *j); /* its turn has come */
	/* Gives up what it waits for, at the driver's end. Or NULL. */
	void (*cancel)(struct nic_job *j);
	struct nic_ask *ask; /* who waits for it; or NULL */
	bool gone; /* he does not wait any more; he is still to be answered */

	/* What is done about uses, one after the other. */
	struct nic_use **uses; /* in the arena */
	size_t nuses, at;
	int ns_fd; /* attach: the pod's namespace; closed at the end; -1: none */
	int64_t began; /* attach: the use at hand; monotonic ns */
	const char *message; /* detach: of the status */
	bool ended; /* detach: sandboxes are at their end; what is not back is left to the sweep */
	char interface[RTNL_NAME]; /* detach: its name, which the book forgets */
	struct loop_timer retry; /* detach: the interface is not back yet */
	unsigned tries;
	struct cni_exec *exec;
	struct error failure; /* the first; code ERR_OK: none */
	void (*then)(struct nic_job *j);
};

/* `size` is that of the struct that it is the first member of. */
void *nic_job_new(struct nic_driver *d, size_t size, const char *pod_uid,
		  void (*run)(struct nic_job *j));
/* Runs it, at once when nothing else is under way for the pod. */
void nic_job_queue(struct nic_job *j);
/*
 * What it is about has become another pod's meanwhile: it waits for its turn there, from the
 * beginning. To be the last that `run` does.
 */
void nic_job_move(struct nic_job *j, const char *pod_uid);
/* Something is under way or waits for the pod. */
bool nic_job_is_busy(const struct nic_driver *d, const char *pod_uid);
/* Frees it; others may have their turn. */
void nic_job_end(struct nic_job *j);
/* nic_driver.turn */
void nic_job_turn(struct loop_task *t);
/* Ends all that the SDK does not wait for; askers are refused. At the driver's end. */
void nic_job_drop_all(struct nic_driver *d);

/* Counts what is attached, for the metric. */
void nic_job_count(struct nic_driver *d);

/* The uses that `pick` wants become the job's. */
void nic_job_pick(struct nic_job *j,
		  bool (*pick)(const struct nic_job *j, const struct nic_use *u));

/*
 * Takes the interfaces of the job's uses back, whatever state they are in, all of them also when
 * one fails; then calls `then` with the first failure in j->failure. Told as Detached with this
 * message.
 */
void nic_job_detach(struct nic_job *j, const char *message, void (*then)(struct nic_job *j));

/*
 * Puts the interfaces of the job's uses, which are PREPARED and have their sandbox set, into
 * j->ns_fd. Stops at the first failure, which is then that of uses[at].
 */
void nic_job_attach(struct nic_job *j, void (*then)(struct nic_job *j));

/* --- nic/sandbox.c --------------------------------------------------------------------------- */

void nic_sandbox_question(void *arg, struct nic_ask *ask, const struct nic_question *q);
void nic_sandbox_gone(void *arg, struct nic_ask *ask);
/*
 * Looks after what nobody does anything about: follows what is in pods and is not followed, takes
 * back what is half-way, or in a namespace that its path does not lead to any more.
 */
void nic_sandbox_sweep(struct nic_driver *d);

/* --- nic/second.c ---------------------------------------------------------------------------- */

struct nic_second;

/* "claim NS/NAME is reserved for several pods (a, b): .."; `names` is their list. */
void nic_second_sentence(char out[static 512], const char *ns, const char *claim,
			 const char *names);
/* Whether a claim of that namespace is prepared for another pod. */
bool nic_second_possible(const struct nic_driver *d, const char *ns, const char *pod_uid);
/*
 * Asks the API server whether the pod wants a claim that is prepared for another one. `done` comes
 * once, later: err NULL: it does not, or the claim is the pod's alone by now and has been handed
 * over; ERR_CONFLICT: it does, and the claim's status says so.
 */
struct nic_second *nic_second_new(struct nic_driver *d, const char *ns, const char *pod_name,
				  const char *pod_uid,
				  void (*done)(void *arg, const struct error *err), void *arg);
/* `done` does not come any more. NULL allowed. */
void nic_second_free(struct nic_second *s);
/* Whether claims that several pods wanted are one's alone again. */
void nic_second_look(struct nic_driver *d);
/* The claim's status says this from now on; "": what else there is to say. */
void nic_second_mark(struct nic_driver *d, const char *claim_uid, const char *sentence);
/*
 * From now on the claim is that pod's; takes interfaces back from the one before. `done` comes
 * once, also from within, unless the job is dropped. `owed`: see struct nic_job.
 */
void nic_second_hand_over(struct nic_use *u, const char *pod_name, const char *pod_uid, bool owed,
			  void (*done)(void *arg, const struct error *err), void *arg);

#endif
