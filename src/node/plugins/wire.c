/*
 * Tables first, then one loop per message. Our arrays are as long as those that protobuf-c made
 * from the same message, whose size is limited per method. The number of devices has its own limit,
 * because callers allocate more for each device.
 */
#include "node/plugins/wire.h"

#include "grpc/message.h"
#include "node/health/health_message.h"
#include "node/node_limits.h"

#define DEVICE_TYPE(name) (&deviceplugin__##name##__descriptor)
#define REG_TYPE(name)    (&pluginregistration__##name##__descriptor)
#define DRA_TYPE(name)    (&dra__##name##__descriptor)
#define HEALTH_TYPE(name) (&drahealth__##name##__descriptor)

/* --- methods ------------------------------------------------------------------------- */

const struct grpc_method plugin_wire_register = {
	.path = "/v1beta1.Registration/Register",
	.kind = GRPC_UNARY,
	.request = DEVICE_TYPE(register_request),
	.response = DEVICE_TYPE(empty),
};
const struct grpc_method plugin_wire_options = {
	.path = "/v1beta1.DevicePlugin/GetDevicePluginOptions",
	.kind = GRPC_UNARY,
	.request = DEVICE_TYPE(empty),
	.response = DEVICE_TYPE(options),
};
const struct grpc_method plugin_wire_list_and_watch = {
	.path = "/v1beta1.DevicePlugin/ListAndWatch",
	.kind = GRPC_SERVER_STREAM,
	.request = DEVICE_TYPE(empty),
	.response = DEVICE_TYPE(list_and_watch_response),
	.max_response = PLUGIN_MESSAGE_MAX,
};
const struct grpc_method plugin_wire_preferred = {
	.path = "/v1beta1.DevicePlugin/GetPreferredAllocation",
	.kind = GRPC_UNARY,
	.request = DEVICE_TYPE(preferred_allocation_request),
	.response = DEVICE_TYPE(preferred_allocation_response),
	.max_response = PLUGIN_MESSAGE_MAX, /* as long as the list that it chooses from */
};
const struct grpc_method plugin_wire_allocate = {
	.path = "/v1beta1.DevicePlugin/Allocate",
	.kind = GRPC_UNARY,
	.request = DEVICE_TYPE(allocate_request),
	.response = DEVICE_TYPE(allocate_response),
};
const struct grpc_method plugin_wire_prestart = {
	.path = "/v1beta1.DevicePlugin/PreStartContainer",
	.kind = GRPC_UNARY,
	.request = DEVICE_TYPE(pre_start_container_request),
	.response = DEVICE_TYPE(pre_start_container_response),
};
const struct grpc_method plugin_wire_get_info = {
	.path = "/pluginregistration.Registration/GetInfo",
	.kind = GRPC_UNARY,
	.request = REG_TYPE(info_request),
	.response = REG_TYPE(plugin_info),
};
const struct grpc_method plugin_wire_notify = {
	.path = "/pluginregistration.Registration/NotifyRegistrationStatus",
	.kind = GRPC_UNARY,
	.request = REG_TYPE(registration_status),
	.response = REG_TYPE(registration_status_response),
};

#define DRA_METHOD(version, verb, type)                                                       \
	{                                                                                     \
		.path = "/k8s.io.kubelet.pkg.apis.dra." version "/" verb, .kind = GRPC_UNARY, \
		.request = DRA_TYPE(type##_request), .response = DRA_TYPE(type##_response),   \
	}
#define DRA_SERVICE(version)                                                                    \
	{                                                                                       \
		.name = version,                                                                \
		.prepare = DRA_METHOD(version, "NodePrepareResources", node_prepare_resources), \
		.unprepare = DRA_METHOD(version, "NodeUnprepareResources",                      \
					node_unprepare_resources),                              \
	}

const struct plugin_wire_dra plugin_wire_dra[PLUGIN_WIRE_DRA] = {
	DRA_SERVICE("v1.DRAPlugin"),
	DRA_SERVICE("v1beta1.DRAPlugin"),
};

/* --- health -------------------------------------------------------------------------- */

static int new_health(struct arena *a, size_t n, struct plugin_health **ret_v, struct error *err)
{
	if (n > RESOURCE_DEVICES_MAX)
		return error_set(err, ERR_TOO_LARGE,
				 "a report of %zu devices; at most %d are allowed", n,
				 RESOURCE_DEVICES_MAX);
	*ret_v = ARENA_ARRAY(a, struct plugin_health, n);
	return 0;
}

static int read_health(const void *message, struct arena *a, struct plugin_health **ret_v,
		       size_t *ret_n, struct error *err)
{
	const Drahealth__WatchResponse *m = message;
	struct plugin_health *v = NULL;
	int r = new_health(a, m->n_devices, &v, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n_devices; i++) {
		const Drahealth__DeviceHealth *d = m->devices[i];

		v[i] = (struct plugin_health){
			.message = health_message_clean(str_from(d->message), a),
			.health = d->health == DRAHEALTH__HEALTH_STATUS__HEALTHY ? ASSIGN_HEALTHY
				  : d->health == DRAHEALTH__HEALTH_STATUS__UNHEALTHY
					  ? ASSIGN_UNHEALTHY
					  : ASSIGN_UNKNOWN,
			.updated_s = d->last_updated_time,
			.timeout_s = d->health_check_timeout_seconds,
		};
		if (!d->device)
			continue;
		v[i].pool = str_from(d->device->pool_name);
		v[i].device = str_from(d->device->device_name);
	}
	*ret_v = v;
	*ret_n = m->n_devices;
	return 0;
}

static enum assign_health health_of_word(const char *word)
{
	if (strcmp(word, "Healthy") == 0)
		return ASSIGN_HEALTHY;
	return strcmp(word, "Unhealthy") == 0 ? ASSIGN_UNHEALTHY : ASSIGN_UNKNOWN;
}

static int read_node_health(const void *message, struct arena *a, struct plugin_health **ret_v,
			    size_t *ret_n, struct error *err)
{
	const Drahealth__NodeHealthResponse *m = message;
	struct plugin_health *v = NULL;
	int r = new_health(a, m->n_devices, &v, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->n_devices; i++) {
		const Drahealth__NodeDeviceHealth *d = m->devices[i];

		v[i] = (struct plugin_health){
			.pool = str_from(d->pool_name),
			.device = str_from(d->device_name),
			.message = health_message_clean(str_from(d->message), a),
			.health = health_of_word(d->health_status),
			.updated_s = d->last_updated_timestamp,
			.timeout_s = d->health_check_timeout_seconds,
		};
	}
	*ret_v = v;
	*ret_n = m->n_devices;
	return 0;
}

#define HEALTH_SERVICE(service, verb, type, fn)                   \
	{                                                         \
		.name = service,                                  \
		.watch = { .path = "/" service "/" verb,          \
			   .kind = GRPC_SERVER_STREAM,            \
			   .request = HEALTH_TYPE(watch_request), \
			   .response = HEALTH_TYPE(type),         \
			   .max_response = PLUGIN_MESSAGE_MAX },  \
		.read = fn,                                       \
	}

const struct plugin_wire_health plugin_wire_health[PLUGIN_WIRE_HEALTH] = {
	HEALTH_SERVICE("v1.DRAResourceHealth", "NodeWatchResources", watch_response, read_health),
	HEALTH_SERVICE("v1alpha1.DRAResourceHealth", "NodeWatchResources", watch_response,
		       read_health),
	HEALTH_SERVICE("v1alpha1.NodeHealth", "WatchResources", node_health_response,
		       read_node_health),
};

/* --- device plugins ------------------------------------------------------------------ */

static void read_topology(const Deviceplugin__TopologyInfo *t, struct arena *a,
			  struct assign_device *d)
{
	int64_t *nodes = t->n_nodes ? ARENA_ARRAY(a, int64_t, t->n_nodes) : NULL;

	for (size_t i = 0; i < t->n_nodes; i++)
		nodes[i] = t->nodes[i]->id;
	d->has_topology = true;
	d->numa = nodes;
	d->nnuma = t->n_nodes;
}

int plugin_wire_devices(const Deviceplugin__ListAndWatchResponse *m, struct arena *a,
			struct assign_device **ret_v, size_t *ret_n, struct error *err)
{
	struct assign_device *v;

	if (m->n_devices > RESOURCE_DEVICES_MAX)
		return error_set(err, ERR_TOO_LARGE,
				 "a list of %zu devices; at most %d are allowed", m->n_devices,
				 RESOURCE_DEVICES_MAX);
	v = ARENA_ARRAY(a, struct assign_device, m->n_devices);
	for (size_t i = 0; i < m->n_devices; i++) {
		const Deviceplugin__Device *d = m->devices[i];

		v[i].id = str_from(d->id);
		v[i].message = health_message_clean(str_from(d->message), a);
		v[i].health = strcmp(d->health, "Healthy") == 0 ? ASSIGN_HEALTHY : ASSIGN_UNHEALTHY;
		if (d->topology)
			read_topology(d->topology, a, &v[i]);
	}
	*ret_v = v;
	*ret_n = m->n_devices;
	return 0;
}

int plugin_wire_allocated(const Deviceplugin__AllocateResponse *m, struct arena *a,
			  struct str *ret_packed, struct error *err)
{
	const ProtobufCMessage *first;
	struct str packed;
	uint8_t *room;
	void *again;

	if (m->n_container_responses == 0)
		return error_set(err, ERR_PROTOCOL, "no containers return in allocation response");
	first = &m->container_responses[0]->base;
	packed.n = protobuf_c_message_get_packed_size(first);
	room = arena_alloc(a, packed.n + 1);
	packed.p = (const char *)room;
	(void)protobuf_c_message_pack(first, room);
	/* protobuf-c keeps unknown fields of any number, even of those that it refuses to read. */
	if (grpc_message_unpack(first->descriptor, packed, a, &again, err) < 0)
		return error_wrap(err, -ERR_PROTOCOL, "the allocation response is malformed");
	*ret_packed = packed;
	return 0;
}

/* --- claims -------------------------------------------------------------------------- */

/* Returns the result for the key; NULL if the claim was not requested. */
static struct plugin_claim_result *find_result(const struct plugin_claim *asked, size_t n,
					       struct plugin_claim_result *v, const char *key)
{
	struct str uid = str_from(key);

	for (size_t i = 0; i < n; i++)
		if (str_eq(asked[i].uid, uid))
			return &v[i];
	return NULL;
}

/* A result has its uid set if the reply had it. */
static int check_complete(const char *verb, const struct plugin_claim_result *v, size_t n,
			  struct error *err)
{
	size_t missing = 0;

	for (size_t i = 0; i < n; i++)
		missing += !v[i].uid.p;
	if (missing)
		return error_set(err, ERR_PROTOCOL, "%s skipped %zu ResourceClaims", verb, missing);
	return 0;
}

static int refuse_unknown(const char *verb, const char *uid, struct error *err)
{
	return error_set(err, ERR_PROTOCOL, "%s returned result for unknown claim UID %.100s", verb,
			 uid);
}

static struct str *read_strings(char *const *v, size_t n, struct arena *a)
{
	struct str *out = n ? ARENA_ARRAY(a, struct str, n) : NULL;

	for (size_t i = 0; i < n; i++)
		out[i] = str_from(v[i]);
	return out;
}

static void read_prepared(const Dra__NodePrepareResourceResponse *m, struct str driver,
			  struct arena *a, struct plugin_claim_result *r)
{
	struct assign_claim_device *v = ARENA_ARRAY(a, struct assign_claim_device, m->n_devices);

	for (size_t i = 0; i < m->n_devices; i++) {
		const Dra__Device *d = m->devices[i];

		v[i] = (struct assign_claim_device){
			.driver = driver,
			.pool = str_from(d->pool_name),
			.device = str_from(d->device_name),
			.requests = read_strings(d->request_names, d->n_request_names, a),
			.nrequests = d->n_request_names,
			.cdi = read_strings(d->cdi_device_ids, d->n_cdi_device_ids, a),
			.ncdi = d->n_cdi_device_ids,
		};
		if (d->share_case == DRA__DEVICE__SHARE_SHARE_ID)
			v[i].share_id = str_from(d->share_id);
	}
	r->error = str_from(m->error);
	r->devices = v;
	r->ndevices = m->n_devices;
}

int plugin_wire_prepared(const Dra__NodePrepareResourcesResponse *m, struct str driver,
			 const struct plugin_claim *asked, size_t n, struct arena *a,
			 struct plugin_claim_result **ret_v, struct error *err)
{
	struct plugin_claim_result *v = ARENA_ARRAY(a, struct plugin_claim_result, n);
	int r;

	for (size_t i = 0; i < m->n_claims; i++) {
		const Dra__PreparedEntry *e = m->claims[i];
		struct plugin_claim_result *to = find_result(asked, n, v, e->key);

		if (!to)
			return refuse_unknown("NodePrepareResources", e->key, err);
		*to = (struct plugin_claim_result){ .uid = str_from(e->key) };
		if (e->value)
			read_prepared(e->value, driver, a, to);
	}
	r = check_complete("NodePrepareResources", v, n, err);
	if (r < 0)
		return r;
	*ret_v = v;
	return 0;
}

int plugin_wire_unprepared(const Dra__NodeUnprepareResourcesResponse *m,
			   const struct plugin_claim *asked, size_t n, struct arena *a,
			   struct plugin_claim_result **ret_v, struct error *err)
{
	struct plugin_claim_result *v = ARENA_ARRAY(a, struct plugin_claim_result, n);
	int r;

	for (size_t i = 0; i < m->n_claims; i++) {
		const Dra__UnpreparedEntry *e = m->claims[i];
		struct plugin_claim_result *to = find_result(asked, n, v, e->key);

		if (!to)
			return refuse_unknown("NodeUnprepareResources", e->key, err);
		*to = (struct plugin_claim_result){ .uid = str_from(e->key) };
		if (e->value)
			to->error = str_from(e->value->error);
	}
	r = check_complete("NodeUnprepareResources", v, n, err);
	if (r < 0)
		return r;
	*ret_v = v;
	return 0;
}

/* --- failures ------------------------------------------------------------------------ */

const char *plugin_wire_code(enum grpc_code code)
{
	static const char *const names[GRPC_CODES] = {
		[GRPC_OK] = "OK",
		[GRPC_CANCELLED] = "Canceled",
		[GRPC_UNKNOWN] = "Unknown",
		[GRPC_INVALID_ARGUMENT] = "InvalidArgument",
		[GRPC_DEADLINE_EXCEEDED] = "DeadlineExceeded",
		[GRPC_NOT_FOUND] = "NotFound",
		[GRPC_ALREADY_EXISTS] = "AlreadyExists",
		[GRPC_PERMISSION_DENIED] = "PermissionDenied",
		[GRPC_RESOURCE_EXHAUSTED] = "ResourceExhausted",
		[GRPC_FAILED_PRECONDITION] = "FailedPrecondition",
		[GRPC_ABORTED] = "Aborted",
		[GRPC_OUT_OF_RANGE] = "OutOfRange",
		[GRPC_UNIMPLEMENTED] = "Unimplemented",
		[GRPC_INTERNAL] = "Internal",
		[GRPC_UNAVAILABLE] = "Unavailable",
		[GRPC_DATA_LOSS] = "DataLoss",
		[GRPC_UNAUTHENTICATED] = "Unauthenticated",
	};

	return (unsigned)code < GRPC_CODES ? names[code] : "Unknown";
}

int plugin_wire_error(const struct grpc_status *st, struct error *err)
{
	struct error kind = { 0 };

	(void)grpc_status_error(st, &kind);
	return error_set(err, kind.code, "rpc error: code = %s desc = %.*s",
			 plugin_wire_code(st->code), STR_ARG(st->message));
}
