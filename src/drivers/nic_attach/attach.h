/*
 * nic_attach - moves one network device into a pod's namespace and back.
 *
 * Each step is a request that the kernel answers immediately. The book is saved before the first
 * step, so after a crash at any point nic_detach() finds what was done, and undoes it. An interface
 * that was moved comes back with its earlier name, hardware address, MTU and up or down state. One
 * that was created is deleted, including the other end of a veth. Both directions are idempotent.
 * On failure the steps done so far are undone, and the kernel's error is returned.
 *
 * With `cni` in the configuration the plugin creates the interface (cni_exec.h), and this code only
 * reads it back.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_ATTACH_ATTACH_H
#define DRIVERS_NIC_ATTACH_ATTACH_H

#include "drivers/nic_attach/book.h"

struct nic_attach;

enum { NIC_IPS_MAX = 16 };

/* The state of an interface in its pod. */
struct nic_seen {
	bool there;
	struct rtnl_link link;
	/*
	 * Without link-local and tentative addresses. Those of the configuration come first, in its
	 * order, then others, IPv4 before IPv6. Addresses beyond the limit are omitted.
	 */
	struct rtnl_ip ips[NIC_IPS_MAX];
	size_t nips;
};

/* Works from the calling thread's namespace. `book` is borrowed. */
int nic_attach_new(struct nic_book *book, struct nic_attach **ret_attach, struct error *err);
void nic_attach_free(struct nic_attach *t); /* NULL allowed */

/*
 * First part: checks that the interface, or its parent, is here and that the name in the pod is
 * free. If the configuration has no name, picks the first of net1, net2, .. that is free there and
 * not reserved by another use. Records the interface's current state, and saves the use as
 * ATTACHING. The sandbox must be set (nic_use_set_sandbox()). On failure the use stays PREPARED,
 * and nothing was changed.
 *
 * If the use is already attached to that namespace, this and nic_attach_put() do nothing. Leftovers
 * of an earlier attempt in that namespace are removed first. Returns -ERR_CONFLICT if it is still
 * in a different namespace: call nic_detach() before you set the new sandbox.
 */
int nic_attach_begin(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/*
 * Second part: moves or creates the interface, applies the configuration, and saves the use as
 * ATTACHED. On failure the use is PREPARED again, with everything undone. If undoing fails, the
 * error says so, and the caller must call nic_detach(). IPv6 addresses are usable immediately,
 * without duplicate address detection.
 */
int nic_attach_put(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/*
 * Instead of nic_attach_put() for `cni`: the plugin has succeeded, and u->interface names its
 * interface. Saves the use as ATTACHED. On failure it stays ATTACHING, and the plugin must remove
 * the interface.
 */
int nic_attach_adopt(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);

/*
 * Undoes attaching, from any state. The use is PREPARED again, and saved. If `ns_fd` is -1, or a
 * different namespace than the use had, the old namespace is gone with all virtual interfaces in
 * it. Hardware interfaces that the kernel has moved back are then found by the properties in
 * `before`. Moving an interface loses its addresses. For `cni` only the state changes; run the
 * plugin before.
 *
 * Returns -ERR_NOT_FOUND if a hardware interface is neither here nor there. The state is then
 * DETACHING: the kernel brings the interface back some time after the namespace has ended, so
 * retry. If it was unplugged for good, call nic_detach_forget(). Other failures can be retried,
 * too; u->stuck counts how often the kernel failed. If the pod causes the failures, close its
 * namespace and continue with -1: hardware comes back when the namespace ends.
 */
int nic_detach(struct nic_attach *t, struct nic_use *u, int ns_fd, struct error *err);
/* Makes the use PREPARED, and saves it, whatever happened to the interface. */
int nic_detach_forget(struct nic_attach *t, struct nic_use *u, struct error *err);

/*
 * Reads back the interface. `pod` is a socket in the pod's namespace. The interface is found by its
 * index, so a rename does not hide it (link.name has the new name). A missing interface is not an
 * error.
 */
struct rtnl;
int nic_attach_look(struct rtnl *pod, const struct nic_use *u, struct nic_seen *ret_seen,
		    struct error *err);

static inline void nic_attach_free_cleanup(struct nic_attach **t)
{
	nic_attach_free(*t);
}

#endif
