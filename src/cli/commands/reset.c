/*
 * `devplane reset`: removes what `devplane up` left behind. It lists everything first, and asks.
 */
#include <unistd.h>

#include "base/core/limits.h"
#include "cli/commands/commands.h"
#include "cli/program/clean.h"
#include "cli/up/leftover.h"
#include "cli/up/remains.h"

enum { FOREIGN_NAMED = 3 };

struct reset_options {
	const char *data_dir, *endpoint;
	bool yes, dry_run;
};

static const struct flag flags[] = {
	UP_DIR_FLAG(struct reset_options),
	{ "container-runtime-endpoint", 0, FLAG_STRING(struct reset_options, endpoint),
	  .arg = "SOCKET", .help = "socket of the container runtime, instead of the usual paths" },
	{ "dry-run", 0, FLAG_BOOL(struct reset_options, dry_run),
	  .help = "only list what would be removed" },
	{ "yes", 'y', FLAG_BOOL(struct reset_options, yes), .help = "do not ask" },
	{ NULL },
};

/* --- may it be reset? ------------------------------------------------------------------------- */

static int reset_check(const struct up_layout *l, struct error *err)
{
	int64_t pid = up_state_holder(l);
	struct up_state state = { 0 };
	const struct up_state_role *left;
	struct arena a;

	if (pid != 0)
		return error_set(err, ERR_INVALID,
				 "devplane runs in %s: stop it with `devplane down` first", l->dir);
	arena_init(&a, MIB);
	left = up_state_read(l, &state, NULL) == 0 ? up_leftover_find(&state) : NULL;
	if (left)
		(void)error_set(err, ERR_INVALID,
				"the role %.*s (process %lld) still runs in %s: try again in a "
				"moment",
				STR_ARG(left->name), (long long)left->pid, l->dir);
	arena_release(&a);
	return left ? -ERR_INVALID : 0;
}

/* A slip such as `--data-dir ~` must not remove a folder called "log". */
static int check_ours(const struct up_remains *r, struct error *err)
{
	for (size_t i = 0; i < r->files.n; i++) {
		const char *slash = strrchr(r->files.v[i], '/');

		if (strcmp(slash, "/up.json") == 0 || strcmp(slash, "/up.lock") == 0)
			return 0;
	}
	return error_set(err, ERR_INVALID,
			 "%s is not a folder of `devplane up`: choose one with --data-dir",
			 r->layout->dir);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void reset_print(const struct cli *cli, const char *what, const char *name)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT(64 * KIB);

	output_clean(&clean, str_from(name));
	(void)fprintf(cli->out, "%-7s %.*s\n", what, STR_ARG(buf_str(&clean)));
}

static void reset_list(const struct up_remains *r)
{
	for (size_t i = 0; i < r->pods.n; i++)
		reset_print(r->cli, "pod", r->pods.v[i].name);
	for (size_t i = 0; i < r->mounts.n; i++)
		reset_print(r->cli, "mount", r->mounts.v[i]);
	for (size_t i = 0; i < r->files.n; i++)
		reset_print(r->cli, "data", r->files.v[i]);
	for (size_t i = 0; i < MIN(r->foreign.n, (size_t)FOREIGN_NAMED); i++)
		reset_print(r->cli, "(kept)", r->foreign.v[i]);
	if (r->foreign.n > FOREIGN_NAMED)
		(void)fprintf(r->cli->out, "(kept)  %zu more files that are not devplane's\n",
			      r->foreign.n - FOREIGN_NAMED);
}

static int reset_confirm(struct cli *cli, struct error *err)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO))
		return cli_bad_usage(cli, err,
				     "nobody can be asked, as standard input is not a terminal: "
				     "write --yes to remove all of this");
	(void)fprintf(cli->out, "Remove all of this? Type yes: ");
	(void)fflush(cli->out);
	if (!fgets(answer, sizeof(answer), stdin) || strcmp(answer, "yes\n") != 0)
		return error_set(err, ERR_CANCELED, "nothing was removed");
	return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static int reset_found(struct up_remains *r, const struct reset_options *o, struct error *err)
{
	struct cli *cli = r->cli;
	int ret = check_ours(r, err), lock = -1;

	if (ret < 0)
		return ret;
	reset_list(r);
	if (o->dry_run)
		return 0;
	if (!o->yes)
		ret = reset_confirm(cli, err);
	/* Nobody starts it meanwhile. */
	if (ret == 0)
		ret = up_state_lock(r->layout, &lock, err);
	if (ret == 0)
		ret = up_remains_remove(r, err);
	if (lock >= 0)
		(void)close(lock);
	if (ret == 0)
		(void)fprintf(cli->out, "%s was reset\n", r->layout->dir);
	return ret;
}

static int reset_run(struct cli *cli, struct error *err)
{
	const struct reset_options *o = cli->options;
	struct up_remains remains;
	struct up_layout l;
	int r = up_layout_init(&l, &cli->arena, o->data_dir, err);

	if (r == 0)
		r = reset_check(&l, err);
	if (r < 0)
		return r;
	r = up_remains_find(&remains, cli, &l, o->endpoint, err);
	if (r == 0 && !remains.exists)
		(void)fprintf(cli->out, "there is nothing in %s\n", l.dir);
	else if (r == 0)
		r = reset_found(&remains, o, err);
	up_remains_release(&remains);
	return r;
}

const struct command cmd_reset = {
	.name = "reset",
	.summary = "remove everything that `devplane up` left: pods, mounts, data",
	.group = COMMAND_CLUSTER,
	.about = "Removes the pods of this folder's nodes from the container runtime, mounts below "
		 "the folder, and all data: objects, keys, logs. It lists them first, and asks. "
		 "Pods of others, a kubelet's for example, and files that devplane did not make "
		 "are not touched. The cluster must be down.",
	.examples = "  devplane reset --dry-run\n  devplane down && devplane reset --yes\n",
	.flags = flags,
	.options_size = sizeof(struct reset_options),
	.run = reset_run,
};
