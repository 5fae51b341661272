/*
 * plugin_wire - gRPC methods of plugins and drivers, and conversions of their messages. Pure.
 *
 * Tables of all methods that the agent calls or serves, with upstream's paths, and functions that
 * convert replies to our own types. Converted values live in the arena or are borrowed from the
 * message. Health messages are cleaned (health_message.h). All functions accept input from a
 * hostile plugin.
 */
#ifndef NODE_PLUGINS_WIRE_H
#define NODE_PLUGINS_WIRE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "deviceplugin.pb-c.h"
#include "dra.pb-c.h"
#include "drahealth.pb-c.h"
#include "grpc/grpc.h"
#include "node/plugins/plugins.h"
#include "pluginregistration.pb-c.h"

/* --- methods ------------------------------------------------------------------------- */

extern const struct grpc_method plugin_wire_register; /* served by us */
extern const struct grpc_method plugin_wire_options, plugin_wire_list_and_watch,
	plugin_wire_preferred, plugin_wire_allocate, plugin_wire_prestart;
extern const struct grpc_method plugin_wire_get_info, plugin_wire_notify;

/* The only version of the device plugin API. */
#define PLUGIN_WIRE_DEVICE_VERSION "v1beta1"

/* A version of the DRA service, named as in `supported_versions`. */
struct plugin_wire_dra {
	const char *name; /* "v1.DRAPlugin" */
	struct grpc_method prepare, unprepare;
};

/* A version of the device health service (KEP-4680). */
struct plugin_wire_health {
	const char *name; /* "v1.DRAResourceHealth" */
	struct grpc_method watch;
	/* Converts its response to a list; returns -ERR_TOO_LARGE above RESOURCE_DEVICES_MAX. */
	int (*read)(const void *message, struct arena *a, struct plugin_health **ret_v,
		    size_t *ret_n, struct error *err);
};

enum { PLUGIN_WIRE_DRA = 2, PLUGIN_WIRE_HEALTH = 3 };

/* Newest first; for health this is the order of preference. */
extern const struct plugin_wire_dra plugin_wire_dra[PLUGIN_WIRE_DRA];
extern const struct plugin_wire_health plugin_wire_health[PLUGIN_WIRE_HEALTH];

/* --- messages ------------------------------------------------------------------------ */

/*
 * Converts a device plugin's list. "Healthy" means Healthy, any other text Unhealthy. A topology
 * without nodes differs from no topology. Returns -ERR_TOO_LARGE above RESOURCE_DEVICES_MAX.
 */
int plugin_wire_devices(const Deviceplugin__ListAndWatchResponse *m, struct arena *a,
			struct assign_device **ret_v, size_t *ret_n, struct error *err);

/*
 * Packs the first container of an Allocate reply again; in `a`. Returns -ERR_PROTOCOL if the reply
 * has no container, or if the container has fields that could not be read back.
 */
int plugin_wire_allocated(const Deviceplugin__AllocateResponse *m, struct arena *a,
			  struct str *ret_packed, struct error *err);

/*
 * Converts a driver's replies, in the order of the requested claims: `ret_v` has n results. Returns
 * -ERR_PROTOCOL if the reply has a uid that was not requested, or lacks one. As in any protobuf
 * map, if several entries have the same key, the last one counts.
 */
int plugin_wire_prepared(const Dra__NodePrepareResourcesResponse *m, struct str driver,
			 const struct plugin_claim *asked, size_t n, struct arena *a,
			 struct plugin_claim_result **ret_v, struct error *err);
int plugin_wire_unprepared(const Dra__NodeUnprepareResourcesResponse *m,
			   const struct plugin_claim *asked, size_t n, struct arena *a,
			   struct plugin_claim_result **ret_v, struct error *err);

/* --- failures ------------------------------------------------------------------------ */

/* The name that grpc-go gives to a code: "DeadlineExceeded". */
const char *plugin_wire_code(enum grpc_code code);

/* Formats a failed call as grpc-go's clients print it: "rpc error: code = X desc = Y". */
int plugin_wire_error(const struct grpc_status *st, struct error *err);

#endif
