/*
 * cri_state - the state of a CRI runtime as last read, and the status calls that a new read needs.
 * Pure.
 *
 * A read: cri_state_listed() takes both lists. cri_state_next_question() returns each sandbox and
 * container that is new or has changed state; the caller requests its status and passes it to
 * cri_state_sandbox() or cri_state_container(). cri_state_end() ends the read. Unchanged objects
 * need no call: the status of an exited container is requested once.
 *
 * Pods are identified by kubelet's labels. Objects without them are not ours and are ignored.
 * Threads: one at a time.
 */
#ifndef NODE_RUNTIME_CRI_STATE_H
#define NODE_RUNTIME_CRI_STATE_H

#include "cri.pb-c.h"
#include "node/runtime/runtime.h"

struct cri_state;

struct cri_state *cri_state_new(void);
void cri_state_free(struct cri_state *s); /* NULL allowed */

void cri_state_listed(struct cri_state *s, const Cri__ListPodSandboxResponse *sandboxes,
		      const Cri__ListContainersResponse *containers);

/* Each is returned once per read. `id` is borrowed until the reply is passed. */
struct cri_question {
	bool container; /* false: a sandbox */
	struct str id;
};
bool cri_state_next_question(struct cri_state *s, struct cri_question *ret_question);

/*
 * Pass the replies. NULL: the object is gone meanwhile. `message` is the termination message, if
 * any. Without a reply an object stays as it was, or unknown if it is new, and its status is
 * requested in the next read.
 */
void cri_state_sandbox(struct cri_state *s, struct str id, const Cri__PodSandboxStatus *st);
void cri_state_container(struct cri_state *s, struct str id, const Cri__ContainerStatus *st,
			 struct str message);

/* Ends the read, and calls `changed` for each pod that differs from the end of the last read. */
void cri_state_end(struct cri_state *s, void (*changed)(void *arg, struct str pod_uid), void *arg);

/*
 * The whole state after the last reply, sorted by uid. Borrowed until the next call of any other
 * function.
 */
const struct runtime_pods *cri_state_pods(struct cri_state *s);

DEFINE_CLEANUP(cri_state_free, struct cri_state *);

#endif
