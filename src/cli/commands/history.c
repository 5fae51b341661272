/*
 * `devplane history device`: the last changes of a device, from the objects that the controller
 * keeps (docs/history.md). Records are searched for the device's name, because a device that is
 * gone is in no slice.
 */
#include "base/core/limits.h"
#include "base/json/json.h"
#include "cli/commands/commands.h"
#include "cli/connect/kube.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/view.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "client/api/discovery.h"

enum { TABLE_MAX = 64 * MIB };

struct history_options {
	struct kube_options kube;
	const char *driver, *output;
};

static const struct flag flags[] = {
	{ "driver", 0, FLAG_STRING(struct history_options, driver), .arg = "NAME",
	  .help = "only devices of this driver" },
	{ "output", 'o', FLAG_STRING(struct history_options, output), .choices = "json|yaml",
	  .help = "print the changes as data; a table by default" },
	KUBE_FLAGS(struct history_options, kube),
	{ NULL },
};

struct history {
	struct cli *cli;
	const struct history_options *options;
	struct kube kube;
	struct claim_sight *sight;
	struct str pool, device; /* the operand; `pool` may be empty, or DRIVER/POOL */
	struct json *found; /* an array: the devices with their changes */
};

/* --- finding --------------------------------------------------------------------------------- */

/* "[[DRIVER/]POOL/]DEVICE"; a pool's name may contain slashes, the others may not. */
static void history_parse(struct history *h, struct str operand)
{
	size_t at = operand.n;

	while (at > 0 && operand.p[at - 1] != '/')
		at--;
	h->device = str_skip(operand, at);
	h->pool = str_of(operand.p, at > 0 ? at - 1 : 0);
}

static bool history_is_pool(const struct history *h, const struct json *spec)
{
	struct str pool = json_text_at(json_getz(spec, "pool"), "name");
	struct str driver = json_text_at(spec, "driver"), rest = str_skip(h->pool, driver.n);

	return str_eq(pool, h->pool) ||
	       (str_starts(h->pool, driver) && str_starts(rest, STR("/")) &&
		str_eq(str_skip(rest, 1), pool));
}

static bool history_is_wanted(const struct history *h, const struct json *spec)
{
	return (h->pool.n == 0 || history_is_pool(h, spec)) &&
	       (!h->options->driver || str_eqz(json_text_at(spec, "driver"), h->options->driver));
}

static struct str history_selector(const struct history *h, struct arena *a)
{
	const char *driver = h->options->driver;

	if (h->pool.n == 0 || str_find(h->pool, STR("/")) >= 0)
		return driver ? str_from(arena_printf(a, "spec.driver=%s", driver)) : STR("");
	return str_from(arena_printf(a, "spec.pool.name=%.*s%s%s", STR_ARG(h->pool),
				     driver ? ",spec.driver=" : "", driver ? driver : ""));
}

/* Claims that the user may not see are not named. */
static void history_hide(struct history *h, struct json *device)
{
	JSON_FOREACH (change, json_getz(device, "changes")) {
		struct str holder = json_text_at(change, "holder"), ns;

		if (holder.n > 0 && str_split(&holder, '/', &ns) && !claim_sight_may(h->sight, ns))
			json_put_str(&h->cli->arena, change, "holder", STR("1 claim"));
	}
}

static void history_take(struct history *h, const struct json *record)
{
	const struct json *spec = json_getz(record, "spec");
	struct arena *a = &h->cli->arena;
	struct json *device = json_find(json_pointer(record, STR("/status/devices")), "name",
					h->device),
		    *copy = json_make_object(a), *changes = NULL;

	if (!device || !history_is_wanted(h, spec))
		return;
	json_put_str(a, copy, "driver", json_text_at(spec, "driver"));
	json_put_str(a, copy, "pool", json_text_at(json_getz(spec, "pool"), "name"));
	json_put_str(a, copy, "name", h->device);
	json_put_i64(a, copy, "omittedChanges", json_i64_at(device, "omittedChanges", 0));
	history_hide(h, device);
	if (json_copy(a, json_getz(device, "changes"), &changes, NULL) < 0 || !changes)
		changes = json_make_array(a);
	json_setz(copy, "changes", changes);
	json_append(h->found, copy);
}

static int history_load(struct history *h, struct error *err)
{
	const struct discovery_resource *type;
	struct json *list;
	int r = kube_resource(&h->kube, STR("devicehistories.v1alpha1.devplane.dev"), &type, err);

	if (r == -ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "this cluster keeps no history of devices: apply "
				 "deploy/availability, or run `devplane controller` with "
				 "device-history among its --controllers");
	if (r < 0)
		return r;
	r = kube_read(&h->kube,
		      &(struct kube_query){ .resource = &type->resource,
					    .field_selector = history_selector(h, &h->cli->arena) },
		      &list, err);
	if (r < 0)
		return r;
	JSON_FOREACH (record, json_getz(list, "items"))
		history_take(h, record);
	return 0;
}

/* A device that has not changed is in no record. */
static int history_check_exists(struct history *h, struct error *err)
{
	struct resource slices;
	struct json *list;
	int r = device_view_resource(&h->kube, "resourceslices", &slices, err);

	if (r == 0)
		r = kube_read(&h->kube, &(struct kube_query){ .resource = &slices }, &list, err);
	if (r < 0)
		return r;
	JSON_FOREACH (slice, json_getz(list, "items")) {
		const struct json *spec = json_getz(slice, "spec");

		if (history_is_wanted(h, spec) &&
		    json_find(json_getz(spec, "devices"), "name", h->device))
			return 0;
	}
	return error_set(err, ERR_NOT_FOUND,
			 "no device \"%.*s\"%s%.*s exists or has a history: `devplane get "
			 "devices` shows all devices",
			 STR_ARG(h->device), h->pool.n > 0 ? " of pool " : "", STR_ARG(h->pool));
}

/* --- printing -------------------------------------------------------------------------------- */

static void history_add_cell(struct buf *line, struct str text, char after)
{
	output_clean(line, text.n > 0 ? text : STR("<none>"));
	(void)buf_addc(line, after);
}

static void history_add_change(struct buf *lines, const struct json *device,
			       const struct json *change)
{
	struct str message = json_text_at(change, "message");

	if (message.n == 0)
		message = json_text_at(change, "reason");
	history_add_cell(lines, json_text_at(change, "time"), '\t');
	output_clean(lines, json_text_at(device, "pool"));
	(void)buf_addc(lines, '/');
	history_add_cell(lines, json_text_at(device, "name"), '\t');
	history_add_cell(lines, json_text_at(change, "field"), '\t');
	output_clean(lines, json_text_at(change, "from"));
	(void)buf_addz(lines, " -> ");
	history_add_cell(lines, json_text_at(change, "to"), '\t');
	history_add_cell(lines, json_text_at(change, "holder"), '\t');
	history_add_cell(lines, message, '\n');
}

static void history_print_table(struct history *h)
{
	CLEANUP(buf_release) struct buf lines = BUF_INIT(TABLE_MAX), table = BUF_INIT(TABLE_MAX);

	(void)buf_addz(&lines, "TIME\tDEVICE\tFIELD\tCHANGE\tHOLDER\tMESSAGE\n");
	JSON_FOREACH (device, h->found)
		JSON_FOREACH (change, json_getz(device, "changes"))
			history_add_change(&lines, device, change);
	tabs_align(&table, buf_str(&lines), TABS_TABLE);
	output_table(h->cli, buf_str(&table), true);
	JSON_FOREACH (device, h->found) {
		int64_t omitted = json_i64_at(device, "omittedChanges", 0);

		if (omitted > 0)
			(void)fprintf(h->cli->err, "Note: %lld older changes were dropped\n",
				      (long long)omitted);
	}
}

static int history_print(struct history *h, struct error *err)
{
	struct json *tree;

	if (h->options->output) {
		tree = json_make_object(&h->cli->arena);
		json_setz(tree, "devices", h->found);
		return output_tree(h->cli, h->options->output, tree, err);
	}
	if (json_count(h->found) > 0)
		history_print_table(h);
	else
		(void)fprintf(h->cli->err, "No change of %.*s is recorded.\n", STR_ARG(h->device));
	return 0;
}

static int history_run(struct cli *cli, struct error *err)
{
	struct history h = { .cli = cli, .options = cli->options };
	int r;

	history_parse(&h, str_from(cli->operands.v[0]));
	if (h.device.n == 0)
		return cli_bad_usage(cli, err, "\"%s\" is not of the form [[DRIVER/]POOL/]DEVICE",
				     cli->operands.v[0]);
	h.found = json_make_array(&cli->arena);
	r = kube_open(&h.kube, cli, &h.options->kube, err);
	if (r == 0) {
		h.sight = claim_sight_new(&h.kube);
		r = history_load(&h, err);
	}
	if (r == 0 && json_count(h.found) == 0)
		r = history_check_exists(&h, err);
	if (r == 0)
		r = history_print(&h, err);
	kube_close(&h.kube);
	return r;
}

static const struct command device = {
	.name = "device",
	.summary = "show the last changes of a device",
	.usage = "[[DRIVER/]POOL/]DEVICE [FLAGS]",
	.about = "Shows when the state or the health of a device changed, which claim held it, and "
		 "what its driver said. The controller device-history keeps the last changes. "
		 "Without POOL, devices of that name in all pools are shown. Claims in namespaces "
		 "that you cannot read are not named.",
	.examples = "  devplane history device gpu-3\n"
		    "  devplane history device demo-0/gpu-3 --driver gpu.sim.devplane.dev\n"
		    "  devplane history device gpu-3 -o json\n",
	.flags = flags,
	.options_size = sizeof(struct history_options),
	.operands_min = 1,
	.operands_max = 1,
	.run = history_run,
};

static const struct command *const rows[] = { &device, NULL };

const struct command cmd_history = {
	.name = "history",
	.summary = "show past changes of devices",
	.group = COMMAND_OBJECT,
	.subcommands = rows,
};
