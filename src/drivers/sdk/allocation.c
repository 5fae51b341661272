/* Collects edits in CDI form, like those of claims, and then converts them to this protocol. */
#include "drivers/sdk/allocation.h"

#include "base/core/mem.h"
#include "deviceplugin.pb-c.h"
#include "drivers/prepare/cdi_file.h"
#include "drivers/sdk/driver.h"
#include "grpc/grpc.h"

struct dp_allocation {
	struct arena *arena;
	char *const *ids; /* the request's */
	size_t n;
	struct json *edits;
	char failure[512];
};

size_t dp_allocation_count(const struct dp_allocation *a)
{
	return a->n;
}

const char *dp_allocation_device(const struct dp_allocation *a, size_t i)
{
	return i < a->n ? a->ids[i] : NULL;
}

int dp_allocation_fail(struct dp_allocation *a, const char *message)
{
	(void)snprintf(a->failure, sizeof(a->failure), "%s", message ? message : "");
	return -1;
}

int dp_allocation_edit(struct dp_allocation *a, const struct dp_edits *e)
{
	struct error err;

	if (cdi_file_edit(a->arena, a->edits, e, &err) < 0)
		return dp_allocation_fail(a, err.msg);
	if (json_getz(a->edits, "hooks"))
		return dp_allocation_fail(a, "device plugins cannot add hooks, only DRA drivers");
	return 0;
}

/* --- the answer --------------------------------------------------------------------------- */

static void add_envs(struct arena *a, const struct json *env,
		     Deviceplugin__ContainerAllocateResponse *out)
{
	out->envs = ARENA_ARRAY(a, Deviceplugin__Pair *, json_count(env) + 1);
	JSON_FOREACH (it, env) {
		Deviceplugin__Pair *pair = ARENA_NEW(a, Deviceplugin__Pair);
		struct str rest = json_str(it), name;

		deviceplugin__pair__init(pair);
		(void)str_split(&rest, '=', &name);
		pair->key = arena_strdup(a, name);
		pair->value = arena_strdup(a, rest);
		out->envs[out->n_envs++] = pair;
	}
}

static void add_nodes(struct arena *a, const struct json *nodes,
		      Deviceplugin__ContainerAllocateResponse *out)
{
	out->devices = ARENA_ARRAY(a, Deviceplugin__DeviceSpec *, json_count(nodes) + 1);
	JSON_FOREACH (it, nodes) {
		Deviceplugin__DeviceSpec *d = ARENA_NEW(a, Deviceplugin__DeviceSpec);
		struct str path = json_text_at(it, "path"), host = json_text_at(it, "hostPath");

		deviceplugin__device_spec__init(d);
		d->container_path = arena_strdup(a, path);
		d->host_path = arena_strdup(a, host.n > 0 ? host : path);
		d->permissions = arena_strdup(a, json_text_at(it, "permissions"));
		out->devices[out->n_devices++] = d;
	}
}

static void add_mounts(struct arena *a, const struct json *mounts,
		       Deviceplugin__ContainerAllocateResponse *out)
{
	out->mounts = ARENA_ARRAY(a, Deviceplugin__Mount *, json_count(mounts) + 1);
	JSON_FOREACH (it, mounts) {
		Deviceplugin__Mount *m = ARENA_NEW(a, Deviceplugin__Mount);

		deviceplugin__mount__init(m);
		m->container_path = arena_strdup(a, json_text_at(it, "containerPath"));
		m->host_path = arena_strdup(a, json_text_at(it, "hostPath"));
		m->read_only = json_has_text(json_getz(it, "options"), STR("ro"));
		out->mounts[out->n_mounts++] = m;
	}
}

static int allocate(struct dp_driver *d, struct arena *arena,
		    const Deviceplugin__ContainerAllocateRequest *in,
		    Deviceplugin__ContainerAllocateResponse *out, struct error *err)
{
	const struct dp_driver_config *c = &d->config;
	struct dp_allocation a = { .arena = arena,
				   .ids = in->devices_ids,
				   .n = in->n_devices_ids,
				   .edits = json_make_object(arena) };

	for (size_t i = 0; i < a.n; i++)
		if (!device_table_find(d->table, str_from(c->node_name), str_from(a.ids[i])))
			return error_set(err, ERR_NOT_FOUND, "unknown device %s", a.ids[i]);
	if (c->allocate && c->allocate(c->arg, &a) < 0)
		return error_set(err, ERR_INTERNAL, "%s",
				 a.failure[0] ? a.failure
					      : "the driver failed without an error message");
	add_envs(arena, json_getz(a.edits, "env"), out);
	add_nodes(arena, json_getz(a.edits, "deviceNodes"), out);
	add_mounts(arena, json_getz(a.edits, "mounts"), out);
	return 0;
}

void allocation_call(struct dp_driver *d, struct grpc_call *call, const void *request)
{
	const Deviceplugin__AllocateRequest *in = request;
	Deviceplugin__AllocateResponse out = DEVICEPLUGIN__ALLOCATE_RESPONSE__INIT;
	struct arena a;
	struct error err;
	int r = 0;

	arena_init(&a, SIZE_MAX);
	out.container_responses = ARENA_ARRAY(&a, Deviceplugin__ContainerAllocateResponse *,
					      in->n_container_requests + 1);
	for (size_t i = 0; r == 0 && i < in->n_container_requests; i++) {
		Deviceplugin__ContainerAllocateResponse *one = ARENA_NEW(
			&a, Deviceplugin__ContainerAllocateResponse);

		deviceplugin__container_allocate_response__init(one);
		out.container_responses[out.n_container_responses++] = one;
		r = allocate(d, &a, in->container_requests[i], one, &err);
	}
	if (r < 0)
		(void)grpc_call_fail(call, &err);
	else
		(void)grpc_call_reply(call, &out.base);
	arena_release(&a);
}
