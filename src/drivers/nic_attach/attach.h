/*
 * nic_attach - puts one network device into a pod's namespace and takes it back.
 *
 * Each step is a request to the kernel that is answered at once; the book is saved before the first
 * one, so after a crash at any point nic_detach() finds what was done and undoes it: an interface
 * that was moved comes back with the name, hardware address, MTU and switch that it had, one that
 * was made is deleted, and so is a veth's other end. Doing either twice is doing it once. What
 * fails half-way is undone before the failure is returned, which has the kernel's own words.
 *
 * With `cni` in the configuration the plugin makes the interface (cni_exec.h); here is then only
 * what reads it back.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_ATTACH_ATTACH_H
#define DRIVERS_NIC_ATTACH_ATTACH_H

#include "drivers/nic_attach/book.h"

struct nic_attach;

enum { NIC_IPS_MAX = 16 };

/* How an interface is in its pod. */
struct nic_seen {
	bool there;
	struct rtnl_link link;
	/*
	 * Without link-local and tentative ones: those of the configuration first, in its order,
	 * then others, IPv4 before IPv6. Of more than there is room for the last are left out.
	 */
	struct rtnl_ip ips[NIC_IPS_MAX];
	size_t nips;
};

/* Works from the namespace of the calling thread. `book` is borrowed. */
int nic_attach_new(struct nic_book *book, struct nic_attach **ret_attach, struct error *err);
void nic_attach_free(struct nic_attach *t); /* NULL allowed */

/*
 * Looks whether it can be: the interface or what it is to be on is here, the name in the pod is
 * free. Picks that name when the configuration has none (the first of net1, net2, .. that is free
 * there and that no other use is about to take), remembers how the interface is now, and saves it
 * as ATTACHING. The sandbox must be set (nic_use_set_sandbox()). A failure leaves it PREPARED, and
 * nothing was done.
 *
 * Attached to that namespace already: nothing is done, here and in nic_attach_put(). What an
 * earlier try left in that namespace is taken back first. -ERR_CONFLICT: it is still in another
 * one, which the caller has to nic_detach() before the new sandbox is set.
 */
int nic_attach_begin(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/*
 * Then: moves or makes it, sets all that the configuration says, saves it as ATTACHED. A failure
 * leaves it PREPARED and all as it was; should that fail, too, it says so, and nic_detach() is due.
 * IPv6 addresses are of use at once: nobody is asked whether they are taken.
 */
int nic_attach_put(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/*
 * For `cni`: the plugin is done and u->interface names what it made; saves it as ATTACHED. A
 * failure leaves it ATTACHING: the plugin has to take it back.
 */
int nic_attach_adopt(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);

/*
 * The opposite, from any state; to PREPARED again, and saved. `ns_fd` -1, or another namespace than
 * it was: the namespace is gone, and what was virtual in it, too; hardware that the kernel has
 * brought back by itself is found by what `before` knows of it. Addresses that the interface has
 * are lost by moving. Of `cni` only the state is changed: the plugin takes the interface back
 * before.
 *
 * -ERR_NOT_FOUND: hardware that is neither here nor there, and the state is DETACHING: the kernel
 * brings it back some time after the end of its namespace, so try again; when it was pulled out for
 * good, nic_detach_forget() ends that. After any other failure trying again is of use as well;
 * when the kernel is what refuses, u->stuck counts how often. Should the pod have seen to that, let
 * go of its namespace and go on with -1: what is hardware comes home when the namespace ends.
 */
int nic_detach(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/* PREPARED, and saved, whatever has become of the interface. */
int nic_detach_forget(struct nic_attach *t, struct nic_use *u, struct error *err);

/*
 * Reads back. `pod` is a socket in the pod's namespace. It is found by its index there, so a new
 * name does not hide it (link.name has it). An interface that is not there is no failure.
 */
struct rtnl;
int nic_attach_look(struct rtnl *pod, const struct nic_use *u, struct nic_seen *ret_seen,
		    struct error *err);

static inline void nic_attach_free_cleanup(struct nic_attach **t)
{
	nic_attach_free(*t);
}

#endif
