/*
 * `devplane completion SHELL`: each shell is a subcommand, whose examples show how to install its
 * script.
 */
#include "base/core/limits.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/program/completion.h"

/* A script grows only with our own table. */
#define SCRIPT_MAX (1UL * MIB)

static int completion_print(struct cli *cli,
			    void (*generate)(const struct command *root, struct buf *out),
			    struct error *err)
{
	CLEANUP(buf_release) struct buf script = BUF_INIT(SCRIPT_MAX);

	generate(cli->root, &script);
	if (script.overflow)
		return error_set(err, ERR_TOO_LARGE, "the script exceeds %lu bytes", SCRIPT_MAX);
	(void)fwrite(script.p, 1, script.n, cli->out);
	return 0;
}

static int run_bash(struct cli *cli, struct error *err)
{
	return completion_print(cli, completion_bash, err);
}

static int run_fish(struct cli *cli, struct error *err)
{
	return completion_print(cli, completion_fish, err);
}

static int run_zsh(struct cli *cli, struct error *err)
{
	return completion_print(cli, completion_zsh, err);
}

static const struct command bash = {
	.name = "bash",
	.summary = "print the completion script for bash",
	.examples = "source <(devplane completion bash)       # this shell only\n"
		    "devplane completion bash > /usr/share/bash-completion/completions/devplane",
	.run = run_bash,
};

static const struct command fish = {
	.name = "fish",
	.summary = "print the completion script for fish",
	.examples = "devplane completion fish | source        # this shell only\n"
		    "devplane completion fish > ~/.config/fish/completions/devplane.fish",
	.run = run_fish,
};

static const struct command zsh = {
	.name = "zsh",
	.summary = "print the completion script for zsh",
	.examples = "source <(devplane completion zsh)        # this shell only, after compinit\n"
		    "devplane completion zsh > \"${fpath[1]}/_devplane\"",
	.run = run_zsh,
};

static const struct command *const shells[] = { &bash, &fish, &zsh, NULL };

const struct command cmd_completion = {
	.name = "completion",
	.summary = "print the completion script for a shell",
	.usage = "bash|fish|zsh",
	.group = COMMAND_ABOUT,
	.subcommands = shells,
};
