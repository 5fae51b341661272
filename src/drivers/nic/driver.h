/*
 * nic_driver - `devplane driver net`: network interfaces as devices of pods.
 *
 * It is built on the SDK (devplane/driver.h), and publishes the interfaces of
 * nic_inventory/inventory.h. Preparing a claim checks its parameters (nic_inventory/config.h),
 * reserves the device for the one pod that the claim is reserved for, and records that on disk. The
 * interface is moved into the pod when the runtime has created its namespace and the CNI plugin
 * requests it (nic_socket.h). It is moved back on the plugin's DEL, or at unprepare. The device
 * status in the claim (KEP-4817) is read from the kernel, and kept up to date:
 *
 *	condition Ready: True Attached; else False with Prepared (waits for the pod's namespace),
 *	InvalidConfig, ReservedForSeveralPods, Refused (the device is in use, missing, needed for
 *	the default route, ..), AttachFailed (with the kernel's error), LinkDown, AddressMissing
 *	(one of the configuration is gone), InterfaceGone, Detached
 *	networkData: interfaceName, ips (without link-local ones), hardwareAddress
 *	data: {"network", "device", "kind", "nodeInterface" (the moved interface, a veth's other
 *	end, or the parent), "mtu", "cniResult"}
 *
 * The device's health follows from it: LinkDown and InterfaceGone are Unhealthy, with the same
 * message. Every operation is recorded on disk before it starts, so a driver that was killed at any
 * point finds all interfaces again when it starts.
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

/* Text is borrowed for the driver's life. NULL and 0 mean the SDK's default, unless noted. */
struct nic_driver_opts {
	struct loop *loop;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *name; /* NULL: NIC_DRIVER_NAME */
	const char *node_name, *kubeconfig, *root_dir, *cdi_dir;
	/* Folders of plugins for `cni` parameters, "a:b"; NULL: CNI_PATH of the request. */
	const char *cni_path;
	/* The types that claims may use, as in nic_inventory/config.h; NULL: NIC_CLAIM_CNI. */
	const char *claim_cni;
	const struct nic_spec *spec;
	bool no_taint, no_health;
	uint32_t timeout_s, heartbeat_ms; /* of health */
	/*
	 * Called at start for devices that this kernel cannot create; they are not offered. May be
	 * NULL.
	 */
	void (*on_skip)(void *arg, const struct nic_create *c, const struct error *why);
	void *arg;
};

int nic_driver_new(const struct nic_driver_opts *opts, struct nic_driver **ret_driver,
		   struct error *err);
void nic_driver_free(struct nic_driver *d); /* after nic_driver_stop's `done`; NULL allowed */

/* Opens the sockets. Call nic_driver_stop() even if it fails. */
int nic_driver_start(struct nic_driver *d, struct error *err);
/* Pods keep their interfaces. */
void nic_driver_stop(struct nic_driver *d, void (*done)(void *arg), void *arg);

const char *nic_driver_name(const struct nic_driver *d);
int nic_driver_check(const struct nic_driver *d, struct error *err);
int nic_driver_check_registered(const struct nic_driver *d, struct error *err);

/*
 * For `devplane driver net list`: a list of {device, kind, interface, state, pod, claim, message}.
 */
void nic_driver_list(const struct nic_driver *d, struct json_writer *out);

#endif
