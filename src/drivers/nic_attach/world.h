/*
 * attach_world - a node and a pod in network namespaces of their own, for tests of nic_attach.h.
 *
 * The node is the calling thread's namespace. It has br0, eth1 (up, MTU 1450, with wire1 at its
 * other end) to be moved, and eth2 to be a parent; the pod has eth0 and some more, so that indexes
 * clash. What counts is how the links of both are before and after. Needs root: attach_world_can()
 * is to be asked first by each test.
 */
#ifndef DRIVERS_NIC_ATTACH_WORLD_H
#define DRIVERS_NIC_ATTACH_WORLD_H

#include "drivers/nic_attach/attach_impl.h"

enum {
	ATTACH_WORLD_LINKS = 24,
	ATTACH_WORLD_CRASHED = 42, /* exit status of who died at a step */
};

/* What can be attached. */
enum {
	ATTACH_WORLD_HOST,
	ATTACH_WORLD_VETH,
	ATTACH_WORLD_VETH_BRIDGE,
	ATTACH_WORLD_MACVLAN,
	ATTACH_WORLD_VLAN,
	ATTACH_WORLD_OFFERS,
	/* Sets of them: MOST is without the veth that is in no bridge. */
	ATTACH_WORLD_ALL = (1 << ATTACH_WORLD_OFFERS) - 1,
	ATTACH_WORLD_MOST = ATTACH_WORLD_ALL & ~(1 << ATTACH_WORLD_VETH),
};

/* Links by name. */
struct attach_world_dump {
	struct rtnl_link links[ATTACH_WORLD_LINKS];
	size_t n;
};

struct attach_world {
	char dir[64]; /* the book's */
	struct nic_book *book;
	struct nic_attach *attach;
	struct nic_use *use; /* the first of the book */
	int pod_fd;
	struct rtnl *here, *pod;
	struct attach_world_dump home, inside; /* as all is at first */
	/* What happens at the step stop_at (0: nothing ever): a failure, or the process's end. */
	unsigned steps, stop_at;
	bool crash;
	bool for_good; /* each step from then on fails */
	struct error err;
	unsigned warnings; /* of the book */
	char warned[512];
};

int attach_world_setup(void **state);
int attach_world_teardown(void **state);
/* Whether there is such a world; prints why not. */
bool attach_world_can(const struct attach_world *w);

/* The test fails, with what is in w->err, when the call does. */
#define NIC_MUST(w, call) attach_world_must((w), (call), __FILE__, __LINE__)
void attach_world_must(const struct attach_world *w, int r, const char *file, int line);

/* From now on steps count from 1. */
void attach_world_stop_at(struct attach_world *w, unsigned step);
/* Forgets and reads again, as a process that ends and starts. */
void attach_world_close(struct attach_world *w);
void attach_world_open(struct attach_world *w);

/* A use that is prepared, with no configuration or with everything that one can say. */
struct nic_use *attach_world_add(struct attach_world *w, int which);
struct nic_use *attach_world_add_full(struct attach_world *w, int which);
/* Of each that is in the set (bits) and that the kernel can make, one after the other. */
void attach_world_for_each(struct attach_world *w, unsigned which,
			   void (*check)(struct attach_world *w, struct nic_use *u));

/* As the driver does for the pod. */
int attach_world_begin(struct attach_world *w, struct nic_use *u);
int attach_world_put(struct attach_world *w,
		     struct nic_use *u); /* attach_world_begin() is part of it */
int attach_world_detach(struct attach_world *w, struct nic_use *u);
struct nic_seen attach_world_look(struct attach_world *w, const struct nic_use *u);

/* What others do. */
struct rtnl_link attach_world_link(struct attach_world *w, struct rtnl *r, const char *name);
void attach_world_change(struct attach_world *w, struct rtnl *r, const char *name,
			 struct rtnl_change c);
void attach_world_rename(struct attach_world *w, struct rtnl *r, const char *name,
			 const char *new_name);
void attach_world_make_veth(struct attach_world *w, struct rtnl *r, const char *name,
			    const char *peer);
void attach_world_make_macvlan(struct attach_world *w, const char *name, const char *parent,
			       int ns_fd);
void attach_world_end_pod(struct attach_world *w);

struct rtnl_ip attach_world_ip(const char *text);

void attach_world_dump(struct attach_world *w, struct rtnl *r, struct attach_world_dump *d);
/* But for indexes, which the kernel does not promise to keep, and carriers, which come later. */
void attach_world_assert_same(const struct attach_world_dump *was,
			      const struct attach_world_dump *is, const char *when);
/* The use is PREPARED, and node and pod are as at first. */
void attach_world_assert_prepared(struct attach_world *w, const struct nic_use *u,
				  const char *when);
enum nic_state attach_world_state_in_file(struct attach_world *w);

#endif
