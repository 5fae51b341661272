/*
 * plugin_wire - the services of plugins and drivers, and what they say as our own types. Pure.
 *
 * The rows of all methods that the agent calls or serves, with the paths that upstream gave them,
 * and the conversions of what comes back. What is converted lives in the arena or is borrowed
 * from the message. Messages about health are cleaned (health_message.h). Everything here may be
 * fed with what a hostile plugin sends.
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

/* The one version of device plugins that there is. */
#define PLUGIN_WIRE_DEVICE_VERSION "v1beta1"

/* A version of the DRA service, as `supported_versions` names it. */
struct plugin_wire_dra {
	const char *name; /* "v1.DRAPlugin" */
	struct grpc_method prepare, unprepare;
};

/* A dialect of device health. */
struct plugin_wire_health {
	const char *name; /* "v1.DRAResourceHealth" */
	struct grpc_method watch;
	/* Its response as a list; -ERR_TOO_LARGE beyond RESOURCE_DEVICES_MAX. */
	int (*read)(const void *message, struct arena *a, struct plugin_health **ret_v,
		    size_t *ret_n, struct error *err);
};

enum { PLUGIN_WIRE_DRA = 2, PLUGIN_WIRE_HEALTH = 3 };

/* The newest first: of health, the order of preference. */
extern const struct plugin_wire_dra plugin_wire_dra[PLUGIN_WIRE_DRA];
extern const struct plugin_wire_health plugin_wire_health[PLUGIN_WIRE_HEALTH];

/* --- messages ------------------------------------------------------------------------ */

/*
 * A device plugin's list. Health is Healthy for exactly that word, else Unhealthy. A topology
 * without nodes differs from none. -ERR_TOO_LARGE beyond RESOURCE_DEVICES_MAX.
 */
int plugin_wire_devices(const Deviceplugin__ListAndWatchResponse *m, struct arena *a,
			struct assign_device **ret_v, size_t *ret_n, struct error *err);

/*
 * The first container of an answer to Allocate, packed again; in `a`. -ERR_PROTOCOL when there is
 * none, or when it holds fields that nobody could read back.
 */
int plugin_wire_allocated(const Deviceplugin__AllocateResponse *m, struct arena *a,
			  struct str *ret_packed, struct error *err);

/*
 * A driver's answers in the order of the claims that were asked for: `ret_v` has n of them.
 * -ERR_PROTOCOL for a uid that nobody asked for, or one that is left out. As in any protobuf map,
 * the last of several entries with one key counts.
 */
int plugin_wire_prepared(const Dra__NodePrepareResourcesResponse *m, struct str driver,
			 const struct plugin_claim *asked, size_t n, struct arena *a,
			 struct plugin_claim_result **ret_v, struct error *err);
int plugin_wire_unprepared(const Dra__NodeUnprepareResourcesResponse *m,
			   const struct plugin_claim *asked, size_t n, struct arena *a,
			   struct plugin_claim_result **ret_v, struct error *err);

/* --- failures ------------------------------------------------------------------------ */

/* As grpc-go names a code: "DeadlineExceeded". */
const char *plugin_wire_code(enum grpc_code code);

/* A failed call as grpc-go's clients print it: "rpc error: code = X desc = Y". */
int plugin_wire_error(const struct grpc_status *st, struct error *err);

#endif
