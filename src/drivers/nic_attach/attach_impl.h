/*
 * nic_attach_impl - what nic_attach/attach.c and nic_attach/detach.c share, and the hook of their
 * test.
 *
 * Whatever changes the kernel or the disk goes through the functions here, which are the steps
 * between which a crash can be.
 */
#ifndef DRIVERS_NIC_ATTACH_ATTACH_IMPL_H
#define DRIVERS_NIC_ATTACH_ATTACH_IMPL_H

#include "drivers/nic_attach/attach.h"
#include "drivers/rtnl/rtnl.h"

struct nic_attach {
	struct nic_book *book;
	struct rtnl *here;
	int home; /* descriptor of this namespace */
	uint64_t home_id;

	/*
	 * For tests: called before each step. A negative number is the step's failure instead of
	 * it; not to return is a crash.
	 */
	int (*on_step)(void *arg, struct error *err);
	void *arg;
};

int nic_step_change(struct nic_attach *t, struct rtnl *r, int index, const struct rtnl_change *c,
		    struct error *err);
int nic_step_add(struct nic_attach *t, const struct rtnl_new_link *l, struct error *err);
int nic_step_delete(struct nic_attach *t, struct rtnl *r, int index, struct error *err);
int nic_step_address(struct nic_attach *t, struct rtnl *r, const struct rtnl_address *a,
		     struct error *err);
/* Another name for the link; or one that it has is taken from it. */
int nic_step_altname(struct nic_attach *t, struct rtnl *r, int index, const char *name, bool add,
		     struct error *err);
int nic_step_route(struct nic_attach *t, struct rtnl *r, const struct rtnl_route *to,
		   struct error *err);
/* The use has this state from now on, on the disk, too; after a failure the one that it had. */
int nic_step_save(struct nic_attach *t, struct nic_use *u, enum nic_state state, struct error *err);

/* 1 and the link; 0: there is none of that name; a failure. */
int nic_link_named(struct rtnl *r, const char *name, struct rtnl_link *ret_link, struct error *err);

/* A name for a link here that is this use's alone: PREFIX (three bytes) and a hash. */
void nic_own_name(const struct nic_use *u, const char *prefix, char out[static RTNL_NAME]);

/*
 * The kernel's part of taking back: whatever of the use is here or there is as it was before. `pod`
 * NULL: its namespace is gone.
 */
int nic_undo(struct nic_attach *t, struct nic_use *u, struct rtnl *pod, struct error *err);

/* What was known of the interface in the pod is forgotten. */
void nic_use_clear(struct nic_use *u);

/* PREPARED, and saved; what was known of the sandbox's interface is gone. */
int nic_undone(struct nic_attach *t, struct nic_use *u, struct error *err);

#endif
