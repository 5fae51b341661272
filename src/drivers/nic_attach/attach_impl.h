/*
 * nic_attach_impl - shared by nic_attach/attach.c and nic_attach/detach.c, with a hook for tests.
 *
 * Every change of the kernel or the disk goes through the functions here. They are the steps
 * between which a crash can happen.
 */
#ifndef DRIVERS_NIC_ATTACH_ATTACH_IMPL_H
#define DRIVERS_NIC_ATTACH_ATTACH_IMPL_H

#include "drivers/nic_attach/attach.h"
#include "drivers/rtnl/rtnl.h"

struct nic_attach {
	struct nic_book *book;
	struct rtnl *here;
	int home; /* file descriptor of our namespace */
	uint64_t home_id;

	/*
	 * For tests: called before each step. If it returns a negative number, the step fails with
	 * that. If it does not return, that is a crash.
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
/* Adds or removes an alternative name of the link. */
int nic_step_altname(struct nic_attach *t, struct rtnl *r, int index, const char *name, bool add,
		     struct error *err);
int nic_step_route(struct nic_attach *t, struct rtnl *r, const struct rtnl_route *to,
		   struct error *err);
/* Saves the use with this state. On failure it keeps its earlier state. */
int nic_step_save(struct nic_attach *t, struct nic_use *u, enum nic_state state, struct error *err);

/* Returns 1 with the link, 0 if there is no such name, or a negative error. */
int nic_link_named(struct rtnl *r, const char *name, struct rtnl_link *ret_link, struct error *err);

/* A link name that is unique to this use: PREFIX (three bytes) and a hash. */
void nic_own_name(const struct nic_use *u, const char *prefix, char out[static RTNL_NAME]);

/*
 * The kernel's part of detaching: restores everything of the use, here and in the pod. `pod` is
 * NULL if its namespace is gone.
 */
int nic_undo(struct nic_attach *t, struct nic_use *u, struct rtnl *pod, struct error *err);

/* Clears the use's data about the interface in the pod. */
void nic_use_clear(struct nic_use *u);

/* Makes the use PREPARED, and saves it without the data about the interface in the sandbox. */
int nic_undone(struct nic_attach *t, struct nic_use *u, struct error *err);

#endif
