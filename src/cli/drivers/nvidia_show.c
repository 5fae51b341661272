/*
 * `devplane driver nvidia list`, `profiles` and `explain`: read the GPUs and the files of the
 * driver, and change nothing.
 */
#include <inttypes.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/json/quantity.h"
#include "cli/drivers/commands.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "cli/program/cli.h"
#include "drivers/nvidia/driver.h"
#include "drivers/nvidia/show.h"

struct show_options {
	const char *root_dir, *name, *output, *library, *host_root;
	int64_t deadline; /* ns */
};

static const struct flag flags[] = {
	{ "output", 'o', FLAG_STRING(struct show_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	{ "root-dir", 0, FLAG_STRING(struct show_options, root_dir), .arg = "DIR",
	  .initial = "/var/lib/kubelet", .help = "the --root-dir of the driver" },
	{ "name", 0, FLAG_STRING(struct show_options, name), .arg = "DRIVER",
	  .initial = GPU_DRIVER_NAME, .help = "the --name of the driver" },
	{ "nvml-library", 0, FLAG_STRING(struct show_options, library), .arg = "FILE",
	  .help = "NVIDIA's management library; default libnvidia-ml.so.1 of the loader" },
	{ "host-root", 0, FLAG_STRING(struct show_options, host_root), .arg = "DIR",
	  .help = "folder that has the machine's root; default /" },
	{ "nvml-timeout", 0, FLAG_DURATION(struct show_options, deadline), .arg = "TIME",
	  .initial = "10s", .min = 100 * CLOCK_MS, .max = 3600 * INT64_C(1000) * CLOCK_MS,
	  .help = "fail if NVIDIA's library does not answer for this long" },
	{ NULL },
};

/* Reads it as a tree. */
static int show_read(struct cli *cli, enum nvidia_shown what, struct json **ret, struct error *err)
{
	const struct show_options *o = cli->options;
	struct nvidia_show_opts opts = {
		.library = o->library,
		.root_dir = o->root_dir,
		.name = o->name,
		.read = { .root = o->host_root ? o->host_root : "",
			  .mig = true,
			  .static_mig = true },
		.deadline_ms = (uint32_t)(o->deadline / CLOCK_MS),
	};
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * MIB);
	struct str claim = what == NVIDIA_SHOW_CLAIM ? str_from(cli->operands.v[0]) : STR_NULL;
	int r = nvidia_show(&opts, what, claim, &text, err);

	if (r < 0)
		return r;
	return json_parse(&cli->arena, arena_str(&cli->arena, buf_str(&text)), NULL, ret, err);
}

static void show_print(struct cli *cli, struct str lines)
{
	CLEANUP(buf_release) struct buf aligned = BUF_INIT(64 * MIB);

	tabs_align(&aligned, lines, TABS_TABLE);
	output_table(cli, buf_str(&aligned), true);
}

static void add_cell(struct buf *out, struct str text, bool last)
{
	output_clean(out, text.n ? text : STR("-"));
	(void)buf_addc(out, last ? '\n' : '\t');
}

/* --- list ------------------------------------------------------------------------------------ */

static int list_run(struct cli *cli, struct error *err)
{
	static const char *const columns[] = { "device", "profile", "state",
					       "claim",  "uuid",    "message" };
	const struct show_options *o = cli->options;
	CLEANUP(buf_release) struct buf lines = BUF_INIT(64 * MIB);
	struct json *devices = NULL;
	int r = show_read(cli, NVIDIA_SHOW_DEVICES, &devices, err);

	if (r < 0)
		return r;
	if (strcmp(o->output, "text") != 0)
		return output_tree(cli, o->output, devices, err);
	(void)buf_addz(&lines, "DEVICE\tPROFILE\tSTATE\tCLAIM\tUUID\tMESSAGE\n");
	JSON_FOREACH (it, devices)
		for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
			add_cell(&lines, json_text_at(it, columns[i]),
				 i == ARRAY_SIZE(columns) - 1);
	show_print(cli, buf_str(&lines));
	return 0;
}

/* --- profiles -------------------------------------------------------------------------------- */

static void nvidia_show_add_number(struct buf *out, const struct json *from, const char *key)
{
	(void)buf_printf(out, "%" PRId64 "\t", json_i64_at(from, key, 0));
}

/* "0,2,4 (2 of 8)" would repeat the size; starts and one size say it all. */
static void add_placements(struct buf *out, const struct json *v)
{
	bool first = true;

	JSON_FOREACH (it, v) {
		(void)buf_printf(out, "%s%" PRId64, first ? "" : ",", json_i64_at(it, "start", 0));
		first = false;
	}
	(void)buf_printf(out, "\t%" PRId64 "\n", json_i64_at(json_first(v), "size", 0));
}

static int profiles_run(struct cli *cli, struct error *err)
{
	const struct show_options *o = cli->options;
	CLEANUP(buf_release) struct buf lines = BUF_INIT(64 * MIB);
	struct json *profiles = NULL;
	int r = show_read(cli, NVIDIA_SHOW_PROFILES, &profiles, err);

	if (r < 0)
		return r;
	if (strcmp(o->output, "text") != 0)
		return output_tree(cli, o->output, profiles, err);
	(void)buf_addz(&lines, "GPU\tPROFILE\tID\tCOMPUTE\tSMS\tMEMORY\tMOST\tSTARTS\tSLICES\n");
	JSON_FOREACH (it, profiles) {
		nvidia_show_add_number(&lines, it, "gpu");
		add_cell(&lines, json_text_at(it, "profile"), false);
		nvidia_show_add_number(&lines, it, "id");
		nvidia_show_add_number(&lines, it, "slices");
		nvidia_show_add_number(&lines, it, "multiprocessors");
		(void)quantity_print(quantity_of(json_i64_at(it, "memory", 0), QUANTITY_BINARY_SI),
				     &lines);
		(void)buf_addc(&lines, '\t');
		nvidia_show_add_number(&lines, it, "instances");
		add_placements(&lines, json_getz(it, "placements"));
	}
	show_print(cli, buf_str(&lines));
	return 0;
}

/* --- explain --------------------------------------------------------------------------------- */

static void print_use(struct buf *out, const struct json *d)
{
	(void)buf_printf(out, "%.*s\t%.*s\n", STR_ARG(json_text_at(d, "device")),
			 STR_ARG(json_text_at(d, "state")));
	(void)buf_printf(out, "  GPU\t%" PRId64 ", %.*s\n", json_i64_at(d, "gpu", -1),
			 STR_ARG(json_text_at(d, "gpuUUID")));
	if (json_getz(d, "gi"))
		(void)buf_printf(out,
				 "  MIG\tGPU instance %" PRId64 ", compute instance %" PRId64
				 ", %.*s\n",
				 json_i64_at(d, "gi", 0), json_i64_at(d, "ci", 0),
				 STR_ARG(json_text_at(d, "uuid")));
	(void)buf_printf(out, "  health\t%.*s%s", STR_ARG(json_text_at(d, "health")),
			 json_text_at(d, "message").n ? ": " : "");
	output_clean(out, json_text_at(d, "message"));
	(void)buf_addc(out, '\n');
	JSON_FOREACH (it, json_getz(d, "processes")) {
		(void)buf_printf(out, "  process\t%" PRId64 " ", json_i64_at(it, "pid", 0));
		output_clean(out, json_text_at(it, "name"));
		(void)buf_addc(out, '\n');
	}
}

static int explain_run(struct cli *cli, struct error *err)
{
	const struct show_options *o = cli->options;
	CLEANUP(buf_release) struct buf lines = BUF_INIT(64 * MIB);
	CLEANUP(buf_release) struct buf aligned = BUF_INIT(64 * MIB);
	struct json *claim = NULL;
	int r = show_read(cli, NVIDIA_SHOW_CLAIM, &claim, err);

	if (r < 0)
		return r;
	if (strcmp(o->output, "text") != 0)
		return output_tree(cli, o->output, claim, err);
	(void)buf_printf(&lines, "claim\t%.*s (%.*s)\n", STR_ARG(json_text_at(claim, "claim")),
			 STR_ARG(json_text_at(claim, "uid")));
	JSON_FOREACH (it, json_getz(claim, "devices"))
		print_use(&lines, it);
	tabs_align(&aligned, buf_str(&lines), TABS_DESCRIBE);
	output_table(cli, buf_str(&aligned), false);
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

const struct command cmd_driver_nvidia_list = {
	.name = "list",
	.summary = "list GPUs and MIG partitions, and who holds them",
	.about = "Reads the GPUs and the driver's file. The driver need not run.",
	.examples = "devplane driver nvidia list\ndevplane driver nvidia list -o json",
	.flags = flags,
	.options_size = sizeof(struct show_options),
	.run = list_run,
};

const struct command cmd_driver_nvidia_profiles = {
	.name = "profiles",
	.summary = "list the MIG profiles of the GPUs, with their placements",
	.examples = "devplane driver nvidia profiles",
	.flags = flags,
	.options_size = sizeof(struct show_options),
	.run = profiles_run,
};

const struct command cmd_driver_nvidia_explain = {
	.name = "explain",
	.summary = "show the devices of a claim: instances, health and processes",
	.usage = "CLAIM [FLAGS]",
	.about = "CLAIM is NAMESPACE/NAME, a name, or a UID.",
	.examples = "devplane driver nvidia explain default/training",
	.flags = flags,
	.options_size = sizeof(struct show_options),
	.operands_min = 1,
	.operands_max = 1,
	.run = explain_run,
};
