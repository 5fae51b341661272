/*
 * vendor - the simulated driver of GPUs, NICs or FPGAs: `devplane driver sim`.
 *
 * It is built on the SDK (devplane/driver.h) like any other driver. On command its devices break,
 * recover, fall silent or vanish. A container that gets one sees DEVPLANE_SIM_DEVICE_n (its name),
 * DEVPLANE_SIM_UUID_n, and /dev/simKINDn (the host's /dev/null).
 *
 * Opaque parameters of a claim or class are passed to the container as DEVPLANE_SIM_CONFIG_n. With
 * {"failPrepare": "text"} preparing the claim fails with that text. The state of a device also
 * appears in the status of the claims that have it (sim/status.h).
 * Threads: the loop's.
 */
#ifndef DRIVERS_SIM_VENDOR_H
#define DRIVERS_SIM_VENDOR_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/json/writer.h"
#include "devplane/driver.h"

struct log;
struct loop;
struct metrics;
struct vendor;

/* Text is borrowed for the vendor's life. NULL and 0 mean the SDK's default, unless noted. */
struct vendor_opts {
	struct loop *loop;
	const struct log *log;
	struct metrics *metrics; /* or NULL */
	const char *kind; /* "gpu", "nic" or "fpga" */
	const char *name; /* NULL: KIND.sim.devplane.dev */
	const char *resource; /* NULL: sim.devplane.dev/KIND */
	const char *node_name, *kubeconfig, *root_dir, *cdi_dir, *instance;
	unsigned devices, numa_nodes;
	unsigned status_data; /* as sim/status.h's data_size */
	const char *pool; /* of its devices; NULL: the node's pool */
	bool partitions, shares; /* as in sim/devices.h */
	unsigned fabric;
	const char *fabric_publisher, *fabric_label;
	bool plugin, no_taint, no_health, no_status;
	bool no_slices; /* somebody else does, for example for a pool shared by several nodes */
	bool control; /* serve the control socket below root_dir, which must be set */
	uint32_t dialects, timeout_s, heartbeat_ms;
};

int vendor_new(const struct vendor_opts *opts, struct vendor **ret_vendor, struct error *err);
void vendor_free(struct vendor *v); /* after vendor_stop's `done`; NULL allowed */

/* Opens the sockets. Call vendor_stop() even if it fails. */
int vendor_start(struct vendor *v, struct error *err);
void vendor_stop(struct vendor *v, void (*done)(void *arg), void *arg);

/* For a simulated host that has crashed; see driver_kill(). */
void vendor_kill(struct vendor *v, void (*done)(void *arg), void *arg);

/*
 * Calls `fn` for every prepared claim. Call it on the loop's thread, or while the loop is not
 * running.
 */
void vendor_each_claim(const struct vendor *v, void (*fn)(void *arg, const struct dp_claim *c),
		       void *arg);

/* The control socket's folder below a root folder (sim/control.h). */
#define VENDOR_CONTROL_DIR "devplane-sim"

/* The socket's path for a driver and an instance. `instance` may be NULL. */
int vendor_control_path(const char *root, const char *name, const char *instance, struct buf *path,
			struct error *err);

const char *vendor_name(const struct vendor *v);
int vendor_check(const struct vendor *v, struct error *err);
int vendor_check_registered(const struct vendor *v, struct error *err);

enum vendor_command {
	VENDOR_FAIL, /* Unhealthy, with the message */
	VENDOR_HEAL, /* Healthy, and reported again */
	VENDOR_SILENCE, /* not reported; if no device is left, no reports are sent */
	VENDOR_REMOVE, /* unplugged: missing in reports and slices */
	VENDOR_RESTORE, /* plugged in and reported again, with its earlier health */
};

/* Parses "fail" and so on. Returns false if unknown. */
bool vendor_command_parse(struct str word, enum vendor_command *ret_command);

/*
 * Applies the command to one device, or to "all". Writes a list of the changes as objects {name,
 * before, after, message}. Returns -ERR_NOT_FOUND for an unknown device, -ERR_CONFLICT if it is not
 * plugged in.
 */
int vendor_do(struct vendor *v, enum vendor_command command, struct str device, const char *message,
	      struct json_writer *out, struct error *err);

/* Writes all devices as a list of objects {name, uuid, numa, state, message}. */
void vendor_list(const struct vendor *v, struct json_writer *out);

#endif
