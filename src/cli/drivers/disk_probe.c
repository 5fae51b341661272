/*
 * `devplane driver disk probe`: measures the performance of a disk now, and stores it for the
 * driver.
 */
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "cli/drivers/commands.h"
#include "cli/output/output.h"
#include "cli/program/cli.h"
#include "drivers/disk/probe.h"

struct probe_options {
	const char *write, *root_dir, *sys_root, *output;
	int64_t seconds;
	bool forget;
};

static const struct flag flags[] = {
	{ "seconds", 0, FLAG_INT(struct probe_options, seconds), .arg = "COUNT", .initial = "2",
	  .min = 1, .max = 60, .help = "duration of reading, and of writing" },
	{ "write", 0, FLAG_STRING(struct probe_options, write), .arg = "FILE",
	  .help = "also measure writes, into this new file on the same disk; it takes 256 MiB and "
		  "is deleted afterwards" },
	{ "root-dir", 0, FLAG_STRING(struct probe_options, root_dir), .arg = "DIR",
	  .initial = "/var/lib/kubelet",
	  .help = "the driver's --root-dir, where the result is saved" },
	{ "forget", 0, FLAG_BOOL(struct probe_options, forget),
	  .help = "print the result without saving it" },
	{ "sys-root", 0, FLAG_STRING(struct probe_options, sys_root), .arg = "DIR",
	  .initial = "/sys", .help = "folder of block/" },
	{ "output", 'o', FLAG_STRING(struct probe_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	{ NULL },
};

static void disk_probe_print_line(struct cli *cli, const char *what, int64_t rate)
{
	if (rate)
		(void)fprintf(cli->out, "  %s %.1f MiB/s\n", what, (double)rate / (double)MIB);
}

static int disk_probe_print(struct cli *cli, const struct probe_options *o,
			    const struct disk_capacity *c, struct error *err)
{
	struct json *tree;

	if (strcmp(o->output, "text") == 0) {
		(void)fprintf(cli->out, "%s\n", c->device);
		disk_probe_print_line(cli, "read ", c->read);
		disk_probe_print_line(cli, "write", c->write);
		return 0;
	}
	tree = json_make_object(&cli->arena);
	json_put_str(&cli->arena, tree, "device", str_from(c->device));
	json_put_i64(&cli->arena, tree, "readBytesPerSecond", c->read);
	if (c->write)
		json_put_i64(&cli->arena, tree, "writeBytesPerSecond", c->write);
	return output_tree(cli, o->output, tree, err);
}

static int drivers_disk_probe_run(struct cli *cli, struct error *err)
{
	const struct probe_options *o = cli->options;
	struct disk_host host = { .proc_root = "/proc", .sys_root = o->sys_root };
	struct disk_probe_opts p = { .host = &host,
				     .target = cli->operands.v[0],
				     .write = o->write,
				     .duration_ns = o->seconds * CLOCK_SEC };
	struct disk_capacity found;
	int r = disk_probe_run(&p, &found, err);

	if (r < 0)
		return r;
	if (!o->forget)
		r = disk_probe_keep(o->root_dir, &found, clock_wall(clock_system()), err);
	if (r == 0)
		r = disk_probe_print(cli, o, &found, err);
	return r;
}

const struct command cmd_driver_disk_probe = {
	.name = "probe",
	.summary = "measure the bandwidth of a disk, and save it for the driver",
	.usage = "DEVICE|FILE [FLAGS]",
	.about = "Reads the device, or a large file on it, without the page cache, in rounds of 1, "
		 "2, 4 and 8 megabytes at a time. The best round is the result. The device is "
		 "never written. To measure writes, name a new file on the same disk with "
		 "--write.\n\n"
		 "Other I/O during the probe lowers the result, so probe an idle node. A running "
		 "driver uses the result from its next measurement on.",
	.examples = "devplane driver disk probe sda\n"
		    "devplane driver disk probe sda --seconds 5 --write /var/lib/probe.tmp\n"
		    "devplane driver disk probe /var/lib/large.img --forget -o json",
	.flags = flags,
	.options_size = sizeof(struct probe_options),
	.operands_min = 1,
	.operands_max = 1,
	.run = drivers_disk_probe_run,
};
