/*
 * cri_state - what a CRI runtime has, as last seen; and whom a new look is to ask about. Pure.
 *
 * A look: cri_state_listed() takes both lists; cri_state_next_question() names each sandbox and
 * container that is new or has changed its state, whose status is then asked for and given by
 * cri_state_sandbox() or cri_state_container(); cri_state_end() closes the look. What has not
 * changed costs no question: a container that has exited is asked about once.
 *
 * Pods are told by the labels of kubelet; what bears none is not ours and left out.
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

/* Each comes once per look. `id` is borrowed until the answer. */
struct cri_question {
	bool container; /* else a sandbox */
	struct str id;
};
bool cri_state_next_question(struct cri_state *s, struct cri_question *ret_question);

/*
 * The answers. NULL: it is gone meanwhile. `message` is the termination message, if any. What gets
 * no answer stays as it was, or unknown when it is new, and is asked about at the next look.
 */
void cri_state_sandbox(struct cri_state *s, struct str id, const Cri__PodSandboxStatus *st);
void cri_state_container(struct cri_state *s, struct str id, const Cri__ContainerStatus *st,
			 struct str message);

/* Ends the look, and tells of each pod that is not as it was at the end of the last one. */
void cri_state_end(struct cri_state *s, void (*changed)(void *arg, struct str pod_uid), void *arg);

/* Everything as of the last answer, ordered by uid. Borrowed until the next call of another. */
const struct runtime_pods *cri_state_pods(struct cri_state *s);

DEFINE_CLEANUP(cri_state_free, struct cri_state *);

#endif
