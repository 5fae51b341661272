/*
 * `devplane version`: prints which build this is, for users and for scripts.
 */
#include "base/json/json.h"
#include "base/system/version.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/program/cli.h"

struct version_options {
	const char *output;
};

static const struct flag flags[] = {
	{ "output", 'o', FLAG_STRING(struct version_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	{ NULL },
};

static int version_run(struct cli *cli, struct error *err)
{
	const struct version_options *o = cli->options;
	const struct version *v = version_get();
	struct json *tree;

	if (strcmp(o->output, "text") == 0) {
		version_print(v, cli->out);
		return 0;
	}
	tree = json_make_object(&cli->arena);
	json_add(tree, STR("version"), json_make_str(&cli->arena, str_from(v->version)));
	json_add(tree, STR("commit"), json_make_str(&cli->arena, str_from(v->commit)));
	json_add(tree, STR("compiler"), json_make_str(&cli->arena, str_from(v->compiler)));
	json_add(tree, STR("platform"), json_make_str(&cli->arena, str_from(v->platform)));
	return output_tree(cli, o->output, tree, err);
}

const struct command cmd_version = {
	.name = "version",
	.summary = "show the version of devplane",
	.group = COMMAND_ABOUT,
	.examples = "devplane version -o json",
	.flags = flags,
	.options_size = sizeof(struct version_options),
	.run = version_run,
};
