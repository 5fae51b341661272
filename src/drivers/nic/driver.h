/*
 * nic_driver - `devplane driver net`: network interfaces as devices of pods.
 *
 * A driver on the SDK of devplane/driver.h. It publishes the interfaces of
 * nic_inventory/inventory.h; preparing a claim checks its parameters (nic_inventory/config.h),
 * reserves the device for the one pod that the claim is reserved for and remembers the intent on
 * the disk; the interface goes into the pod when the runtime has made its namespace and the CNI
 * plugin asks (nic_socket.h), and comes back when the plugin says DEL, or at unprepare. What the
 * claim's status says is read back from the kernel, and followed:
 *
 *	condition Ready: True Attached; else False with Prepared (waits for the pod's namespace),
 *	InvalidConfig, ReservedForSeveralPods, Refused (the device cannot be had: it is in use, not
 *	there, the default route's, ..), AttachFailed (with the kernel's words), LinkDown,
 *	AddressMissing (one of the configuration is gone), InterfaceGone, Detached
 *	networkData: interfaceName, ips (without link-local ones), hardwareAddress
 *	data: {"network", "device", "kind", "nodeInterface" (what was moved, a veth's other end, or
 *	what it is on), "mtu", "cniResult"}
 *
 * The device's health follows: Unhealthy for LinkDown and InterfaceGone, with the same words.
 * Whatever is about to be done is on the disk before it is done, so a driver that was killed at
 * any point finds all interfaces again when it starts.
 * Threads: the loop's.
 */
#ifndef DRIVERS_NIC_DRIVER_H
#define DRIVERS_NIC_DRIVER_H

#include "base/core/error.h"
#include "base/json/writer.h"
#include "drivers/nic_inventory/spec.h"

struct log;
struct loop;
struct metrics;
struct nic_driver;

#define NIC_DRIVER_NAME "net.devplane.dev"

/* Text is borrowed for the driver's life. NULL and 0: the SDK's default, unless said. */
struct nic_driver_opts {
	struct loop *loop;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *name; /* NULL: NIC_DRIVER_NAME */
	const char *node_name, *kubeconfig, *root_dir, *cdi_dir;
	/* Folders of plugins for `cni` parameters, "a:b"; NULL: the asker's. */
	const char *cni_path;
	/* Which of them claims may name, as nic_inventory/config.h has it; NULL: NIC_CLAIM_CNI. */
	const char *claim_cni;
	const struct nic_spec *spec;
	bool no_taint, no_health;
	uint32_t timeout_s, heartbeat_ms; /* of health */
	/* While it starts: this kernel cannot make these, and they are not offered. Or NULL. */
	void (*on_skip)(void *arg, const struct nic_create *c, const struct error *why);
	void *arg;
};

int nic_driver_new(const struct nic_driver_opts *opts, struct nic_driver **ret_driver,
		   struct error *err);
void nic_driver_free(struct nic_driver *d); /* after nic_driver_stop's `done`; NULL allowed */

/* Opens the sockets. After a failure nic_driver_stop() is still due. */
int nic_driver_start(struct nic_driver *d, struct error *err);
/* Pods keep their interfaces. */
void nic_driver_stop(struct nic_driver *d, void (*done)(void *arg), void *arg);

const char *nic_driver_name(const struct nic_driver *d);
int nic_driver_check(const struct nic_driver *d, struct error *err);

/* For `devplane driver net list`: {device, kind, interface, state, pod, claim, message} each. */
void nic_driver_list(const struct nic_driver *d, struct json_writer *out);

#endif
