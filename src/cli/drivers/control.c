/*
 * `devplane driver sim fail` and its siblings: change the state of the devices of a running
 * `driver sim`.
 */
#include <dirent.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "cli/connect/ask_socket.h"
#include "cli/drivers/commands.h"
#include "cli/output/output.h"
#include "cli/program/cli.h"
#include "drivers/sim/vendor.h"

struct control_options {
	const char *root_dir, *name, *instance, *message, *output;
};

#define CONTROL_FLAGS                                                                      \
	{ "root-dir",                                                                      \
	  0,                                                                               \
	  FLAG_STRING(struct control_options, root_dir),                                   \
	  .arg = "DIR",                                                                    \
	  .initial = "/var/lib/kubelet",                                                   \
	  .help = "the --root-dir of the running driver" },                                \
		{ "name", 0, FLAG_STRING(struct control_options, name), .arg = "DRIVER",   \
		  .help = "name of the driver, if several run there with such a device" }, \
	{                                                                                  \
		"instance", 0, FLAG_STRING(struct control_options, instance),              \
			.arg = "UID", .help = "the --instance of the running driver"       \
	}

static const struct flag plain_flags[] = { CONTROL_FLAGS, { NULL } };

static const struct flag fail_flags[] = {
	{ "message", 'm', FLAG_STRING(struct control_options, message), .arg = "TEXT",
	  .initial = "failed on command", .help = "message of the health report" },
	CONTROL_FLAGS,
	{ NULL },
};

static const struct flag heal_flags[] = {
	{ "message", 'm', FLAG_STRING(struct control_options, message), .arg = "TEXT",
	  .help = "message of the health report, for a device that works, but not as it should" },
	CONTROL_FLAGS,
	{ NULL },
};

static const struct flag list_flags[] = {
	{ "output", 'o', FLAG_STRING(struct control_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	CONTROL_FLAGS,
	{ NULL },
};

/* --- which driver ------------------------------------------------------------------------- */

static int is_socket(const struct dirent *e)
{
	return str_ends(str_from(e->d_name), STR(".sock"));
}

/* A driver that does not respond counts as having none. */
static bool has_device(struct cli *cli, const char *dir, const char *socket, const char *device)
{
	struct ask_socket ask = { .path = arena_printf(&cli->arena, "%s/%s", dir, socket),
				  .method = STR("GET"),
				  .target = STR("/devices") };
	struct json *tree;
	struct error err;

	if (ask_socket_tree(&ask, &cli->arena, &tree, &err) < 0)
		return false;
	JSON_FOREACH (it, tree)
		if (str_eqz(json_text_at(it, "name"), device))
			return true;
	return false;
}

/* The index of the only driver, or of the only one with the named device; -1: not unique. */
static int control_choose(struct cli *cli, const char *dir, struct dirent **v, int n)
{
	int found = -1;

	if (n == 1)
		return 0;
	for (int i = 0; i < n && cli->operands.n > 0; i++) {
		if (!has_device(cli, dir, v[i]->d_name, cli->operands.v[0]))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

/* The driver's socket, or an error that lists the candidates. */
static int find_only(struct cli *cli, const char *root, struct buf *path, struct error *err)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(4 * KIB);
	struct dirent **v = NULL;
	int n, chosen;

	(void)buf_printf(path, "%s/" VENDOR_CONTROL_DIR, root);
	n = scandir(path->p, &v, is_socket, alphasort);
	chosen = control_choose(cli, arena_printf(&cli->arena, "%s", path->p), v, n);
	if (chosen >= 0)
		(void)buf_printf(path, "/%s", v[chosen]->d_name);
	for (int i = 0; i < n; i++) {
		(void)buf_printf(&names, "%s%.*s", i ? ", " : "", (int)strlen(v[i]->d_name) - 5,
				 v[i]->d_name);
		free(v[i]);
	}
	free(v);
	if (n < 1)
		return error_set(err, ERR_NOT_FOUND,
				 "no `devplane driver sim` runs with --root-dir %s; start one, or "
				 "name its folder with --root-dir",
				 root);
	if (chosen < 0)
		return cli_bad_usage(
			cli, err, "several drivers run there; choose one with --name: %s", names.p);
	return 0;
}

static int ask_driver(struct cli *cli, struct ask_socket *ask, struct json **ret_tree,
		      struct error *err)
{
	const struct control_options *o = cli->options;
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	int r;

	r = o->name ? vendor_control_path(o->root_dir, o->name, o->instance, &path, err)
		    : find_only(cli, o->root_dir, &path, err);
	if (r < 0)
		return r;
	ask->path = path.p;
	return ask_socket_tree(ask, &cli->arena, ret_tree, err);
}

/* --- commands ----------------------------------------------------------------------------- */

static void print_change(FILE *out, const struct json *change)
{
	struct str message = json_text_at(change, "message");

	(void)fprintf(out, "%.*s: %.*s -> %.*s%s%.*s\n", STR_ARG(json_text_at(change, "name")),
		      STR_ARG(json_text_at(change, "before")),
		      STR_ARG(json_text_at(change, "after")), message.n > 0 ? ": " : "",
		      STR_ARG(message));
}

/* The command's name is the request to the driver. */
static int run_change(struct cli *cli, struct error *err)
{
	const struct control_options *o = cli->options;
	struct ask_socket ask = { .method = STR("POST"), .body = str_from(o->message) };
	struct json *tree;
	int r;

	ask.target = str_from(
		arena_printf(&cli->arena, "/%s?%s", cli->command->name, cli->operands.v[0]));
	r = ask_driver(cli, &ask, &tree, err);
	if (r == 0)
		JSON_FOREACH (it, tree)
			print_change(cli->out, it);
	return r;
}

static int run_list(struct cli *cli, struct error *err)
{
	const struct control_options *o = cli->options;
	struct ask_socket ask = { .method = STR("GET"), .target = STR("/devices") };
	struct json *tree;
	int r = ask_driver(cli, &ask, &tree, err);

	if (r == 0 && strcmp(o->output, "text") != 0) {
		r = output_tree(cli, o->output, tree, err);
	} else if (r == 0) {
		(void)fprintf(cli->out, "%-10s %-10s %-4s %-42s %s\n", "NAME", "STATE", "NUMA",
			      "UUID", "MESSAGE");
		JSON_FOREACH (it, tree)
			(void)fprintf(cli->out, "%-10.*s %-10.*s %-4d %-42.*s %.*s\n",
				      STR_ARG(json_text_at(it, "name")),
				      STR_ARG(json_text_at(it, "state")),
				      (int)json_i64_at(it, "numa", 0),
				      STR_ARG(json_text_at(it, "uuid")),
				      STR_ARG(json_text_at(it, "message")));
	}
	return r;
}

const struct command cmd_driver_sim_list = {
	.name = "list",
	.summary = "list the devices of a running driver sim",
	.examples = "devplane driver sim list --root-dir d/n1",
	.flags = list_flags,
	.options_size = sizeof(struct control_options),
	.run = run_list,
};

#define CHANGE(name_, summary_, about_, flags_)                                                 \
	{                                                                                       \
		.name = name_, .summary = summary_, .about = about_, .usage = "DEVICE [FLAGS]", \
		.examples = "devplane driver sim " name_ " gpu-0 --root-dir d/n1",              \
		.flags = flags_, .options_size = sizeof(struct control_options),                \
		.operands_min = 1, .operands_max = 1, .run = run_change,                        \
	}

const struct command cmd_driver_sim_fail = CHANGE(
	"fail", "make a device unhealthy",
	"The device, or \"all\", is reported Unhealthy with the message and tainted "
	"NoSchedule in its slice.",
	fail_flags);
const struct command cmd_driver_sim_heal = CHANGE(
	"heal", "make a device healthy again",
	"The device, or \"all\", is reported Healthy, and loses its taint.", heal_flags);
const struct command cmd_driver_sim_silence = CHANGE(
	"silence", "stop reporting a device",
	"The driver leaves the device, or \"all\", out of its reports until it is failed, healed "
	"or restored. If no device is left, the driver sends no reports, and they time out.",
	plain_flags);
const struct command cmd_driver_sim_remove = CHANGE(
	"remove", "unplug a device", "The device, or \"all\", is removed from reports and slices.",
	plain_flags);
const struct command cmd_driver_sim_restore = CHANGE(
	"restore", "plug a device in again",
	"The device, or \"all\", is published and reported again, with the health that it had.",
	plain_flags);
