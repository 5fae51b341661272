/*
 * The table of all commands. To add one, declare it in commands.h and list it here, at its
 * position within its group.
 */
#include "cli/commands/commands.h"

#include "base/system/version.h"
#include "cli/program/cli.h"
#include "cli/program/help.h"

struct root_options {
	bool version;
};

static const struct flag root_flags[] = {
	{ "version", 0, FLAG_BOOL(struct root_options, version), .help = "show the version" },
	{ NULL },
};

static const struct command *const rows[] = {
	&cmd_up,    &cmd_demo,   &cmd_status,  &cmd_logs,       &cmd_down,
	&cmd_reset, &cmd_doctor, &cmd_server,  &cmd_controller, &cmd_scheduler,
	&cmd_node,  &cmd_driver, &cmd_cni,     &cmd_ui,         &cmd_get,
	&cmd_apply, &cmd_diff,   &cmd_delete,  &cmd_describe,   &cmd_explain_fit,
	&cmd_top,   &cmd_watch,  &cmd_history, &cmd_page,       &cmd_podresources,
	&cmd_store, &cmd_probe,  &cmd_cel,     &cmd_codec,      &cmd_completion,
	&cmd_help,  &cmd_man,    &cmd_version, &cmd_confine,    NULL,
};

static int run_root(struct cli *cli, struct error *err UNUSED)
{
	const struct root_options *o = cli->options;

	if (o->version)
		version_print(version_get(), cli->out);
	else
		help_print(cli, cli->command, cli->path);
	return 0;
}

const struct command commands_root = {
	.name = "devplane",
	.summary = "the device plane of Kubernetes, in C",
	.usage = "COMMAND [FLAGS]",
	.flags = root_flags,
	.options_size = sizeof(struct root_options),
	.run = run_root,
	.subcommands = rows,
	.complete = complete_names,
};
