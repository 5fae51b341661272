/*
 * Keeps the state of the simulated devices and passes it to the SDK: the health of a single device,
 * or the whole list if a device is plugged in or out.
 */
#include "drivers/sim/vendor.h"

#include "api/api_limits.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "drivers/sdk/driver.h"
#include "drivers/sim/control.h"
#include "drivers/sim/devices.h"
#include "drivers/sim/kind.h"
#include "drivers/sim/status.h"

struct vendor {
	struct vendor_opts opts;
	const struct vendor_kind *kind;
	char name[128], resource[128];
	struct dp_driver *driver;
	struct vendor_devices devices;
	struct vendor_status status;
	struct vendor_control *control; /* or NULL */
	void (*done)(void *arg); /* of vendor_stop() */
	void *arg;
};

/* --- what a container gets ---------------------------------------------------------------- */

/* Calls `edit` with the environment and the device node of a device. */
static int edit_with(const struct vendor *v, const struct vendor_device *d, const char *config,
		     const char *share, int (*edit)(void *arg, const struct dp_edits *e), void *arg)
{
	CLEANUP(buf_release) struct buf device = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf uuid = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf parameters = BUF_INIT(OPAQUE_PARAMETERS_MAX * 8);
	CLEANUP(buf_release) struct buf path = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf shared = BUF_INIT(KIB);
	const char *env[5] = { NULL };
	struct dp_node node = { .size = sizeof(node), .host_path = "/dev/null" };
	struct dp_edits e = { .size = sizeof(e), .env = env, .nodes = &node, .nnodes = 1 };

	(void)buf_printf(&device, "DEVPLANE_SIM_DEVICE_%u=%s", d->index, d->name);
	(void)buf_printf(&uuid, "DEVPLANE_SIM_UUID_%u=%s", d->index, d->uuid);
	(void)buf_printf(&path, "/dev/sim%s%u", v->kind->name, d->index);
	env[0] = device.p;
	env[1] = uuid.p;
	if (config) {
		(void)buf_printf(&parameters, "DEVPLANE_SIM_CONFIG_%u=%s", d->index, config);
		env[2] = parameters.p;
	}
	if (share) {
		(void)buf_printf(&shared, "DEVPLANE_SIM_SHARE_%u=%s", d->index, share);
		env[config ? 3 : 2] = shared.p;
	}
	node.path = path.p;
	return edit(arg, &e);
}

/* --- claims ------------------------------------------------------------------------------- */

struct claim_edit {
	struct dp_claim *claim;
	size_t at;
};

static int edit_claim(void *arg, const struct dp_edits *e)
{
	struct claim_edit *c = arg;

	return dp_claim_edit(c->claim, c->at, e);
}

static int check_config(struct dp_claim *c, const char *config)
{
	struct json *tree;
	struct arena a;
	struct str fail;
	int r = 0;

	arena_init(&a, MIB);
	if (json_parse(&a, str_from(config), NULL, &tree, NULL) == 0) {
		fail = json_text_at(tree, "failPrepare");
		if (fail.n > 0)
			r = dp_claim_fail(c, arena_strdup(&a, fail));
	}
	arena_release(&a);
	return r;
}

static int prepare(void *arg, struct dp_claim *c)
{
	struct vendor *v = arg;
	struct claim_edit edit = { .claim = c };
	const struct vendor_device *d;
	const struct dp_result *r;
	const char *config;

	for (; (r = dp_claim_result(c, edit.at)); edit.at++) {
		d = vendor_devices_find(&v->devices, str_from(r->device));
		if (!d || d->removed)
			return dp_claim_fail(c, "the device is not plugged in");
		config = r->nconfigs > 0 ? r->configs[r->nconfigs - 1]->parameters : NULL;
		if (config && check_config(c, config) < 0)
			return -1;
		if (edit_with(v, d, config, r->share_id, edit_claim, &edit) < 0)
			return -1;
	}
	vendor_status_tell(&v->status, c);
	log_info(v->opts.log, "claim prepared", LOG_Z("namespace", dp_claim_namespace(c)),
		 LOG_Z("name", dp_claim_name(c)), LOG_Z("uid", dp_claim_uid(c)),
		 LOG_UINT("devices", dp_claim_count(c)));
	return 0;
}

static int unprepare(void *arg, struct dp_claim *c)
{
	struct vendor *v = arg;

	vendor_status_clear(&v->status, c);
	log_info(v->opts.log, "claim unprepared", LOG_Z("namespace", dp_claim_namespace(c)),
		 LOG_Z("name", dp_claim_name(c)), LOG_Z("uid", dp_claim_uid(c)));
	return 0;
}

/* --- allocation --------------------------------------------------------------------------- */

static int edit_allocation(void *arg, const struct dp_edits *e)
{
	return dp_allocation_edit(arg, e);
}

static int allocate(void *arg, struct dp_allocation *a)
{
	struct vendor *v = arg;
	const struct vendor_device *d;
	const char *id;

	for (size_t i = 0; (id = dp_allocation_device(a, i)); i++) {
		d = vendor_devices_find(&v->devices, str_from(id));
		if (!d || d->removed)
			return dp_allocation_fail(a, "the device is not plugged in");
		if (edit_with(v, d, NULL, NULL, edit_allocation, a) < 0)
			return -1;
		log_info(v->opts.log, "device allocated", LOG_Z("device", id));
	}
	return 0;
}

static void on_log(void *arg, uint32_t level, const char *line)
{
	const struct vendor *v = arg;

	log_at(v->opts.log, (enum log_level)level, line);
}

/* --- devices ------------------------------------------------------------------------------ */

static void tell_health(struct vendor *v, const struct vendor_device *d)
{
	uint32_t health = d->failed ? DP_UNHEALTHY : DP_HEALTHY;

	(void)dp_driver_set_health(v->driver, vendor_devices_pool(&v->devices, d), d->name,
				   d->silent ? DP_UNREPORTED : health, d->message);
}

/* A silent driver sends no reports at all, rather than an empty list. */
static void tell_pause(struct vendor *v)
{
	size_t present = 0, silent = 0;

	for (size_t i = 0; i < v->devices.n; i++) {
		present += !v->devices.v[i].removed;
		silent += !v->devices.v[i].removed && v->devices.v[i].silent;
	}
	dp_driver_pause_health(v->driver, present > 0 && silent == present);
}

static const char *vendor_state_of(const struct vendor_device *d)
{
	if (d->removed)
		return "Removed";
	if (d->silent)
		return "Silent";
	return d->failed ? "Unhealthy" : "Healthy";
}

/* --- commands ----------------------------------------------------------------------------- */

static const char *const command_words[] = {
	[VENDOR_FAIL] = "fail",     [VENDOR_HEAL] = "heal",       [VENDOR_SILENCE] = "silence",
	[VENDOR_REMOVE] = "remove", [VENDOR_RESTORE] = "restore",
};

bool vendor_command_parse(struct str word, enum vendor_command *ret_command)
{
	for (size_t i = 0; i < ARRAY_SIZE(command_words); i++) {
		if (str_eqz(word, command_words[i])) {
			*ret_command = (enum vendor_command)i;
			return true;
		}
	}
	return false;
}

static void vendor_change(struct vendor_device *d, enum vendor_command command, const char *message)
{
	switch (command) {
	case VENDOR_FAIL:
	case VENDOR_HEAL:
		d->failed = command == VENDOR_FAIL;
		d->silent = false;
		free(d->message);
		d->message = device_message_dup(message);
		break;
	case VENDOR_SILENCE:
		d->silent = true;
		break;
	case VENDOR_REMOVE:
		d->removed = true;
		break;
	case VENDOR_RESTORE:
		d->removed = d->silent = false;
		break;
	}
}

static void write_change(struct json_writer *out, const struct vendor_device *d, const char *before)
{
	json_writer_begin_object(out);
	json_writer_keyz(out, "name");
	json_writer_strz(out, d->name);
	json_writer_keyz(out, "before");
	json_writer_strz(out, before);
	json_writer_keyz(out, "after");
	json_writer_strz(out, vendor_state_of(d));
	json_writer_keyz(out, "message");
	json_writer_strz(out, d->message ? d->message : "");
	json_writer_end_object(out);
}

static int do_all(struct vendor *v, enum vendor_command command, struct str device,
		  const char *message, struct json_writer *out)
{
	json_writer_begin_array(out);
	for (size_t i = 0; i < v->devices.n; i++) {
		struct vendor_device *d = &v->devices.v[i];
		const char *before = vendor_state_of(d);

		if (!vendor_device_is_meant(d, device))
			continue;
		if (d->removed && command != VENDOR_RESTORE)
			continue;
		vendor_change(d, command, message);
		write_change(out, d, before);
		if (command != VENDOR_REMOVE && command != VENDOR_RESTORE)
			tell_health(v, d);
	}
	json_writer_end_array(out);
	return 0;
}

int vendor_do(struct vendor *v, enum vendor_command command, struct str device, const char *message,
	      struct json_writer *out, struct error *err)
{
	const struct vendor_device *d = vendor_devices_find(&v->devices, device);
	int r = 0;

	if (!d && !str_eqz(device, "all"))
		return error_set(err, ERR_NOT_FOUND,
				 "driver %s has no device \"%.*s\"; it has %s to %s, and \"all\"",
				 v->name, STR_ARG(device), v->devices.v[0].name,
				 v->devices.v[v->devices.n - 1].name);
	if (d && d->removed && command != VENDOR_RESTORE)
		return error_set(err, ERR_CONFLICT, "%s is not plugged in; \"restore\" it first",
				 d->name);
	r = do_all(v, command, device, message, out);
	if (command == VENDOR_REMOVE || command == VENDOR_RESTORE)
		r = vendor_devices_publish(&v->devices, v->driver, err);
	tell_pause(v);
	vendor_status_changed(&v->status, d && !v->opts.partitions ? device : STR_NULL);
	return r;
}

void vendor_list(const struct vendor *v, struct json_writer *out)
{
	json_writer_begin_array(out);
	for (size_t i = 0; i < v->devices.n; i++) {
		const struct vendor_device *d = &v->devices.v[i];

		json_writer_begin_object(out);
		json_writer_keyz(out, "name");
		json_writer_strz(out, d->name);
		json_writer_keyz(out, "uuid");
		json_writer_strz(out, d->uuid);
		json_writer_keyz(out, "numa");
		json_writer_i64(out, d->numa);
		json_writer_keyz(out, "state");
		json_writer_strz(out, vendor_state_of(d));
		json_writer_keyz(out, "message");
		json_writer_strz(out, d->message ? d->message : "");
		json_writer_end_object(out);
	}
	json_writer_end_array(out);
}

/* --- life --------------------------------------------------------------------------------- */

static struct vendor_layout layout_of(const struct vendor *v)
{
	const struct vendor_opts *o = &v->opts;

	return (struct vendor_layout){ .kind = v->kind,
				       .driver = v->name,
				       .node = o->node_name,
				       .pool = o->pool,
				       .devices = o->devices,
				       .numa_nodes = o->numa_nodes,
				       .partitions = o->partitions,
				       .shares = o->shares,
				       .fabric = o->fabric,
				       .fabric_publisher = o->fabric_publisher,
				       .fabric_label = o->fabric_label };
}

static int check_layout(const struct vendor *v, struct error *err)
{
	struct vendor_layout l = layout_of(v);

	return vendor_layout_check(&l, v->opts.plugin, err);
}

static void make_devices(struct vendor *v)
{
	struct vendor_layout l = layout_of(v);

	vendor_devices_make(&v->devices, &l);
	v->status = (struct vendor_status){ .driver = v->driver,
					    .kind = v->kind,
					    .devices = v->devices.v,
					    .ndevices = v->devices.n,
					    .data_size = v->opts.status_data,
					    .off = v->opts.no_status || v->opts.plugin,
					    .log = v->opts.log };
}

static int make_driver(struct vendor *v, struct error *err)
{
	const struct vendor_opts *o = &v->opts;
	struct dp_driver_config c = {
		.size = sizeof(c),
		.abi = DP_DRIVER_ABI,
		.mode = o->plugin ? DP_MODE_PLUGIN : DP_MODE_DRA,
		.flags = (o->no_taint ? 0 : (uint32_t)DP_FLAG_TAINT_UNHEALTHY) |
			 (o->no_health ? (uint32_t)DP_FLAG_NO_HEALTH : 0) |
			 (o->no_slices ? (uint32_t)DP_FLAG_NO_SLICES : 0),
		.name = v->name,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->root_dir,
		.cdi_dir = o->cdi_dir,
		.resource = v->resource,
		.instance = o->instance,
		.health_dialects = o->dialects,
		.health_timeout_s = o->timeout_s,
		.heartbeat_ms = o->heartbeat_ms,
		.arg = v,
		.prepare = prepare,
		.unprepare = unprepare,
		.allocate = allocate,
		.log = on_log,
	};

	return driver_new_on(o->loop, o->metrics, &c, &v->driver, err);
}

int vendor_new(const struct vendor_opts *opts, struct vendor **ret_vendor, struct error *err)
{
	struct vendor *v = XNEW(struct vendor);
	int r = 0;

	v->opts = *opts;
	v->kind = vendor_kind_find(opts->kind);
	if (!v->kind)
		r = error_set(err, ERR_INVALID, "\"%s\" is not one of gpu, nic, fpga", opts->kind);
	else if (opts->status_data > 0 && opts->status_data < VENDOR_STATUS_DATA_MIN)
		r = error_set(err, ERR_INVALID, "data of %u bytes has no room for a uuid: %d, or 0",
			      opts->status_data, VENDOR_STATUS_DATA_MIN);
	if (opts->name)
		(void)snprintf(v->name, sizeof(v->name), "%s", opts->name);
	else
		(void)snprintf(v->name, sizeof(v->name), "%s.sim.devplane.dev", opts->kind);
	if (opts->resource)
		(void)snprintf(v->resource, sizeof(v->resource), "%s", opts->resource);
	else
		(void)snprintf(v->resource, sizeof(v->resource), "sim.devplane.dev/%s", opts->kind);
	if (r == 0)
		r = check_layout(v, err);
	if (r == 0)
		r = make_driver(v, err);
	if (r == 0) {
		make_devices(v);
		r = vendor_devices_publish(&v->devices, v->driver, err);
	}
	if (r < 0) {
		vendor_free(v);
		return r;
	}
	*ret_vendor = v;
	return 0;
}

void vendor_free(struct vendor *v)
{
	if (!v)
		return;
	vendor_control_free(v->control);
	dp_driver_free(v->driver);
	vendor_devices_release(&v->devices);
	free(v);
}

static int open_control(struct vendor *v, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	int r = vendor_control_path(v->opts.root_dir, v->name, v->opts.instance, &path, err);

	if (r < 0)
		return r;
	return vendor_control_new(v->opts.loop, v, buf_str(&path), &v->control, err);
}

int vendor_start(struct vendor *v, struct error *err)
{
	int r = driver_start(v->driver, err);

	/* The devices may have changed since the claims of an earlier run were updated. */
	if (r == 0)
		vendor_status_changed(&v->status, STR_NULL);
	return r == 0 && v->opts.control ? open_control(v, err) : r;
}

static void on_control_stopped(void *arg)
{
	struct vendor *v = arg;

	vendor_control_free(TAKE(v->control));
	driver_end(v->driver, v->done, v->arg);
}

void vendor_stop(struct vendor *v, void (*done)(void *arg), void *arg)
{
	v->done = done;
	v->arg = arg;
	if (v->control)
		vendor_control_stop(v->control, on_control_stopped, v);
	else
		on_control_stopped(v);
}

void vendor_kill(struct vendor *v, void (*done)(void *arg), void *arg)
{
	driver_kill(v->driver, done, arg);
}

void vendor_each_claim(const struct vendor *v, void (*fn)(void *arg, const struct dp_claim *c),
		       void *arg)
{
	dp_driver_each_claim(v->driver, fn, arg);
}

const char *vendor_name(const struct vendor *v)
{
	return v->name;
}

int vendor_check(const struct vendor *v, struct error *err)
{
	return driver_check(v->driver, err);
}

int vendor_check_registered(const struct vendor *v, struct error *err)
{
	return driver_check_registered(v->driver, err);
}
