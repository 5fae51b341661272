/*
 * runtime_cri_impl - the CRI runtime from inside; for the files of src/node/runtime/cri*.c only.
 */
#ifndef NODE_RUNTIME_CRI_IMPL_H
#define NODE_RUNTIME_CRI_IMPL_H

#include "base/core/list.h"
#include "base/core/vec.h"
#include "cri.pb-c.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"
#include "node/runtime/cri.h"
#include "node/runtime/cri_methods.h"
#include "node/runtime/cri_state.h"

enum {
	CRI_TIMEOUT_MS = 120 * 1000,
	/* for one status call, so that one cannot block the rest */
	CRI_STATUS_TIMEOUT_MS = 30 * 1000,
	CRI_QUESTIONS_MAX = 16, /* status calls in flight at a time */
	CRI_RELIST_MS = 1000,
};

struct cri_waiter {
	runtime_pods_done *done;
	void *arg;
};

struct runtime_cri {
	struct runtime runtime;
	struct loop *loop;
	struct grpc_channel *channel;
	const struct log *log;
	int64_t relist_ms;
	bool freed; /* replies of calls that end with it are dropped */
	struct metrics_family *operations, *errors; /* or NULL */

	/* Known after the first Version and Status. */
	char *name, *version;
	const char *cgroup_driver; /* a literal, or NULL */
	bool does_cdi;
	char *sandbox_image; /* full name, from the runtime's configuration; or NULL */

	/* Reading the state. */
	struct cri_state *state;
	struct loop_timer timer; /* starts the next read */
	struct loop_task answer; /* answers waiting list() calls from the known state */
	bool looking;
	bool dirty; /* one of our calls has ended since the last read began */
	bool look_failed; /* the last read failed: the state is uncertain */
	int64_t looked_at; /* when the last successful read began; INT64_MIN: never */
	struct grpc_call *sandboxes_call, *containers_call; /* kept for their replies */
	const Cri__ListPodSandboxResponse *sandboxes;
	const Cri__ListContainersResponse *containers;
	unsigned pending; /* status calls of this read in flight */
	struct error failure;
	/* list() calls that wait for this read, and for the next one */
	VEC(struct cri_waiter) now, next;
};

/*
 * One call; freed after its callback. `fn` gets the reply, or NULL and the error. It is not called
 * if the runtime was freed meanwhile.
 */
struct cri_op {
	struct runtime_cri *r;
	enum cri_method method;
	void (*fn)(struct cri_op *op, const void *reply, const struct error *err);
	bool changes; /* it changes the runtime's state: the next list() must read again */
	/* The caller's. */
	union {
		runtime_done *done;
		runtime_id_done *id_done;
		runtime_exec_done *exec_done;
		runtime_image_done *image_done;
		runtime_condition_done *condition_done;
		runtime_images_done *images_done;
		runtime_stats_done *stats_done;
	};
	void *arg;
	struct grpc_call *call; /* while `fn` runs */
	char *id; /* freed with it; or NULL */
};

/* `timeout_ms` 0: none. Copies *op; the request is borrowed for the call. */
void cri_call(const struct cri_op *op, const ProtobufCMessage *request, int64_t timeout_ms);

/* --- runtime/cri_list.c --------------------------------------------------------------------- */

void cri_list_init(struct runtime_cri *r);
void cri_list_release(struct runtime_cri *r);
void cri_list(struct runtime *rt, runtime_pods_done *done, void *arg);

/* --- runtime/cri_condition.c ---------------------------------------------------------------- */

void cri_condition(struct runtime *rt, runtime_condition_done *done, void *arg);

/* Whether that runtime supports CDI names; `config` is from its verbose status. */
bool cri_does_cdi(struct str name, struct str version, struct str config);

/* "systemd" or "cgroupfs" by containerd's configuration (JSON); NULL: it does not say. */
const char *cri_cgroup_driver(struct str config);

/* --- runtime/cri_space.c -------------------------------------------------------------------- */

void cri_images(struct runtime *rt, runtime_images_done *done, void *arg);
void cri_remove_image(struct runtime *rt, struct str id, runtime_done *done, void *arg);
void cri_image_fs(struct runtime *rt, runtime_id_done *done, void *arg);
void cri_stats(struct runtime *rt, runtime_stats_done *done, void *arg);

/* --- runtime/cri_stream.c ------------------------------------------------------------------- */

void cri_stream(struct runtime *rt, const struct runtime_stream *stream, runtime_id_done *done,
		void *arg);

#endif
