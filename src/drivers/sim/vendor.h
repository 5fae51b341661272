/*
 * vendor - a simulated vendor of GPUs, NICs or FPGAs: `devplane driver sim`.
 *
 * A driver like any other, on the SDK of devplane/driver.h, whose devices break, recover, fall
 * silent and vanish when told to. A container that gets one sees it: DEVPLANE_SIM_DEVICE_n names
 * it, DEVPLANE_SIM_UUID_n has its uuid, and /dev/simKINDn is there (the host's /dev/null).
 *
 * Opaque parameters of a claim or class are handed on as DEVPLANE_SIM_CONFIG_n; with
 * {"failPrepare": "text"} the claim fails so. What happens to a device also shows in the status of
 * the claims that have it (sim/status.h).
 * Threads: the loop's.
 */
#ifndef DRIVERS_SIM_VENDOR_H
#define DRIVERS_SIM_VENDOR_H

#include "base/core/error.h"
#include "base/json/writer.h"
#include "devplane/driver.h"

struct log;
struct loop;
struct metrics;
struct vendor;

/* Text is borrowed for the vendor's life. NULL and 0: the SDK's default, unless said. */
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
	const char *pool; /* of its devices; NULL: the node's own */
	bool plugin, no_taint, no_health, no_status;
	bool no_slices; /* they come from elsewhere, as those of a pool that several nodes reach */
	uint32_t dialects, timeout_s, heartbeat_ms;
};

int vendor_new(const struct vendor_opts *opts, struct vendor **ret_vendor, struct error *err);
void vendor_free(struct vendor *v); /* after vendor_stop's `done`; NULL allowed */

/* Opens the sockets. After a failure vendor_stop() is still due. */
int vendor_start(struct vendor *v, struct error *err);
void vendor_stop(struct vendor *v, void (*done)(void *arg), void *arg);

/* The same on a simulated host that has crashed: driver_kill(). */
void vendor_kill(struct vendor *v, void (*done)(void *arg), void *arg);

/* Calls `fn` for every claim that is prepared. Between turns, or in one of the loop's. */
void vendor_each_claim(const struct vendor *v, void (*fn)(void *arg, const struct dp_claim *c),
		       void *arg);

const char *vendor_name(const struct vendor *v);
int vendor_check(const struct vendor *v, struct error *err);

enum vendor_command {
	VENDOR_FAIL, /* Unhealthy, with the message */
	VENDOR_HEAL, /* Healthy, and reported again */
	VENDOR_SILENCE, /* not reported; when none is left nothing at all is sent */
	VENDOR_REMOVE, /* unplugged: in no report and no slice */
	VENDOR_RESTORE, /* plugged in and reported again, with the health that it had */
};

/* "fail" .. ; false when it is none. */
bool vendor_command_parse(struct str word, enum vendor_command *ret_command);

/*
 * Does it to one device, or to "all". Writes what changed as a list of objects {name, before,
 * after, message}. -ERR_NOT_FOUND: no such device; -ERR_CONFLICT: it is not plugged in.
 */
int vendor_do(struct vendor *v, enum vendor_command command, struct str device, const char *message,
	      struct json_writer *out, struct error *err);

/* All devices, as a list of objects {name, uuid, numa, state, message}. */
void vendor_list(const struct vendor *v, struct json_writer *out);

#endif
