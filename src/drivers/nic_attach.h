/*
 * nic_attach - puts one network device into a pod's namespace and takes it back.
 *
 * Each step is a request to the kernel that is answered at once; the book is saved before the first one,
 * so after a crash at any point nic_detach() finds what was done and undoes it: an interface that was
 * moved comes back with the name, address, MTU and switch that it had, one that was made is deleted, and
 * so is a veth's other end. Doing either twice is doing it once. What fails half-way is undone before the
 * failure is returned, which has the kernel's own words.
 *
 * With `cni` in the configuration the plugin makes the interface (cni_exec.h); here is then only what
 * reads it back.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_ATTACH_H
#define DRIVERS_NIC_ATTACH_H

#include "drivers/nic_book.h"

struct nic_attach;

enum { NIC_IPS_MAX = 16 };

/* How an interface is in its pod. */
struct nic_seen {
	bool there;
	struct rtnl_link link;
	struct rtnl_ip
		ips[NIC_IPS_MAX]; /* without link-local and tentative ones; in a fixed order */
	size_t nips;
};

/* Works from the namespace of the calling thread. `book` is borrowed. */
int nic_attach_new(struct nic_book *book, struct nic_attach **ret_attach, struct error *err);
void nic_attach_free(struct nic_attach *t); /* NULL allowed */

/*
 * Picks the name in the pod when the configuration has none (the first of net1, net2, .. that is
 * free), sets state, container, namespace (u->netns must be set) and saves.
 */
int nic_attach_begin(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/* Then: moves or makes it, sets all that the configuration says, saves it as ATTACHED. */
int nic_attach_put(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/* For `cni`: the plugin is done and has named the interface; saves it as ATTACHED. */
int nic_attach_adopt(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);

/*
 * The opposite, from any state; to PREPARED again, and saved. `ns_fd` -1: the namespace is gone; hardware
 * that the kernel has brought back by itself is found by what `before` knows of it.
 */
int nic_detach(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);

/* Reads back. `pod` is a socket in the pod's namespace. */
struct rtnl;
int nic_attach_look(struct rtnl *pod, const struct nic_use *u, struct nic_seen *ret_seen,
		    struct error *err);

#endif
