/*
 * attach_world - a node and a pod in their own network namespaces, for tests of nic_attach.
 *
 * The node is the calling thread's namespace. It has br0, eth1 (up, MTU 1450, with wire1 at its
 * other end) to be moved, and eth2 to be a parent. The pod has eth0 and some more, so that indexes
 * clash. Tests compare the links of both before and after. Needs root: each test must check
 * attach_world_can() first.
 */
#ifndef DRIVERS_NIC_ATTACH_WORLD_H
#define DRIVERS_NIC_ATTACH_WORLD_H

#include "drivers/nic_attach/attach_impl.h"

enum {
	ATTACH_WORLD_LINKS = 24,
	ATTACH_WORLD_CRASHED = 42, /* exit status of a process that crashed at a step */
};

/* Devices that can be attached. */
enum {
	ATTACH_WORLD_HOST,
	ATTACH_WORLD_VETH,
	ATTACH_WORLD_VETH_BRIDGE,
	ATTACH_WORLD_MACVLAN,
	ATTACH_WORLD_VLAN,
	ATTACH_WORLD_OFFERS,
	/* Sets of them. MOST is all except the veth without a bridge. */
	ATTACH_WORLD_ALL = (1 << ATTACH_WORLD_OFFERS) - 1,
	ATTACH_WORLD_MOST = ATTACH_WORLD_ALL & ~(1 << ATTACH_WORLD_VETH),
};

/* Links by name. */
struct attach_world_dump {
	struct rtnl_link links[ATTACH_WORLD_LINKS];
	size_t n;
};

struct attach_world {
	char dir[64]; /* of the book */
	struct nic_book *book;
	struct nic_attach *attach;
	struct nic_use *use; /* the first use of the book */
	int pod_fd;
	struct rtnl *here, *pod;
	struct attach_world_dump home, inside; /* the initial state of both */
	/* Step `stop_at` (0: none) fails, or ends the process. */
	unsigned steps, stop_at;
	bool crash;
	bool for_good; /* all later steps fail, too */
	struct error err;
	unsigned warnings; /* of the book */
	char warned[512];
};

int attach_world_setup(void **state);
int attach_world_teardown(void **state);
/* Whether namespaces work here; prints why not. */
bool attach_world_can(const struct attach_world *w);

/* Fails the test, with w->err, if the call fails. */
#define NIC_MUST(w, call) attach_world_must((w), (call), __FILE__, __LINE__)
void attach_world_must(const struct attach_world *w, int r, const char *file, int line);

/* Counts steps from 1 again. */
void attach_world_stop_at(struct attach_world *w, unsigned step);
/* Closes and reopens the book, like a process that ends and starts again. */
void attach_world_close(struct attach_world *w);
void attach_world_open(struct attach_world *w);

/* Adds a prepared use, with no configuration or a full one. */
struct nic_use *attach_world_add(struct attach_world *w, int which);
struct nic_use *attach_world_add_full(struct attach_world *w, int which);
/* Calls `check` for each device of the set (bits) that the kernel supports. */
void attach_world_for_each(struct attach_world *w, unsigned which,
			   void (*check)(struct attach_world *w, struct nic_use *u));

/* The driver's operations for the pod. */
int attach_world_begin(struct attach_world *w, struct nic_use *u);
int attach_world_put(struct attach_world *w,
		     struct nic_use *u); /* attach_world_begin() is part of it */
int attach_world_detach(struct attach_world *w, struct nic_use *u);
struct nic_seen attach_world_look(struct attach_world *w, const struct nic_use *u);

/* Changes made by others. */
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
/* Compares all but indexes, which the kernel may change, and carriers, which come later. */
void attach_world_assert_same(const struct attach_world_dump *was,
			      const struct attach_world_dump *is, const char *when);
/* The use is PREPARED, and node and pod are in their initial state. */
void attach_world_assert_prepared(struct attach_world *w, const struct nic_use *u,
				  const char *when);
enum nic_state attach_world_state_in_file(struct attach_world *w);

#endif
