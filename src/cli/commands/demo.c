/*
 * `devplane demo`: runs the stories of demo/stories.h on a running cluster and shows a text, the
 * command, and its output. Nothing is faked and there are no fixed sleeps: between steps it polls
 * until the next step's result is available.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/text/columns.h"
#include "base/text/nearest.h"
#include "cli/commands/commands.h"
#include "cli/demo/demo_files.h"
#include "cli/demo/shell.h"
#include "cli/demo/stories.h"
#include "cli/output/shell_word.h"
#include "cli/program/cli.h"
#include "cli/up/layout.h"
#include "cli/up/state.h"

enum {
	WAIT_MAX_S = 60, /* for one condition */
	ASK_FIRST_MS = 10,
	ASK_MAX_MS = 250,
	READ_TEXT_MS = 1000, /* pauses on a terminal: before a command, and after its output */
	READ_OUTPUT_MS = 1500,
	VARIABLES_MAX = 16,
};

struct demo_options {
	const char *data_dir;
	struct flag_list stories;
	bool keep, fast, list;
};

static const struct flag flags[] = {
	UP_DIR_FLAG(struct demo_options),
	{ "story", 0, FLAG_LIST(struct demo_options, stories), .arg = "NAME",
	  .usual = "health|job|deployment|driver|pools|network|disks|watch",
	  .help = "run only this story; may be repeated" },
	{ "list", 0, FLAG_BOOL(struct demo_options, list), .help = "list the stories" },
	{ "fast", 0, FLAG_BOOL(struct demo_options, fast),
	  .help = "do not pause for reading; output to a file never pauses" },
	{ "keep", 0, FLAG_BOOL(struct demo_options, keep),
	  .help = "keep everything at the end, so that you can look around" },
	{ NULL },
};

struct variable {
	const char *name, *value;
};

struct demo {
	struct cli *cli;
	const struct demo_options *options;
	struct up_layout layout; /* of the cluster in use */
	const char *asked; /* the folder that was searched for a cluster */
	struct demo_shell *shell;
	struct variable variables[VARIABLES_MAX];
	size_t nvariables;
	const struct demo_story *began[16]; /* stories to undo */
	size_t nbegan;
	bool own; /* the cluster is the demo's own and must be stopped */
	bool pauses;
};

/* --- variables ------------------------------------------------------------------------------- */

static const char *demo_value_of(const struct demo *d, struct str name)
{
	for (size_t i = 0; i < d->nvariables; i++)
		if (str_eqz(name, d->variables[i].name))
			return d->variables[i].value;
	return NULL;
}

static void keep_value(struct demo *d, const char *name, struct str value)
{
	size_t i = 0;

	while (i < d->nvariables && strcmp(d->variables[i].name, name) != 0)
		i++;
	if (i == VARIABLES_MAX)
		return;
	d->variables[i] = (struct variable){ name, arena_strdup(&d->cli->arena, value) };
	d->nvariables = MAX(d->nvariables, i + 1);
}

/* The text with each ${NAME} replaced by its value; NULL if one has no value. */
static const char *filled(struct demo *d, const char *text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * KIB);
	struct str rest = str_from(text);
	ptrdiff_t at, end;

	while ((at = str_find(rest, STR("${"))) >= 0) {
		struct str name = str_skip(rest, (size_t)at + 2);
		const char *value;

		/* There may be a '}' before, in a jsonpath. */
		end = str_chr(name, '}');
		value = end < 0 ? NULL : demo_value_of(d, str_of(name.p, (size_t)end));
		if (!value)
			return NULL;
		(void)buf_add(&out, rest.p, (size_t)at);
		(void)buf_addz(&out, value);
		rest = str_skip(name, (size_t)end + 1);
	}
	(void)buf_add_str(&out, rest);
	return arena_strdup(&d->cli->arena, buf_str(&out));
}

/* --- printing -------------------------------------------------------------------------------- */

static void demo_say(struct demo *d, const char *text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * KIB);

	columns_paragraph(&out, 0, MIN(d->cli->width, 100), str_from(text));
	(void)fprintf(d->cli->out, "\n%.*s", (int)out.n, out.p);
	(void)fflush(d->cli->out);
}

static void say_title(struct demo *d, const struct demo_story *story)
{
	(void)fprintf(d->cli->out,
		      d->cli->out_colour ? "\n\033[1m== %s: %s (%s)\033[0m\n"
					 : "\n== %s: %s (%s)\n",
		      story->name, story->title, story->kep);
}

static void say_command(struct demo *d, const char *command)
{
	(void)fprintf(d->cli->out, d->cli->out_colour ? "\033[1;36m$ %s\033[0m\n" : "$ %s\n",
		      command);
	(void)fflush(d->cli->out);
}

static int pause_for(struct demo *d, int64_t ms, struct error *err)
{
	return d->pauses ? demo_shell_pause(d->shell, ms, err) : 0;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Shows the command, runs it, and shows its output. */
static int demo_show(struct demo *d, const char *command, bool may_fail, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * DEMO_OUTPUT_MAX);
	int status = 0, r;

	say_command(d, command);
	r = demo_shell_run(d->shell, command, &out, &status, err);
	(void)fwrite(out.p, 1, out.n, d->cli->out);
	(void)fflush(d->cli->out);
	if (r == 0 && status != 0 && !may_fail)
		r = error_set(err, ERR_INTERNAL, "`%s` failed (%d)", command, status);
	return r;
}

/* Trims spaces and newlines. */
static struct str answer_of(const struct buf *out)
{
	struct str s = str_trim(buf_str(out));

	while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == ' '))
		s.n--;
	return s;
}

static int fail_wait(const struct demo_wait *w, const char *ask, struct str answer,
		     struct error *err)
{
	return error_set(err, ERR_TIMEOUT,
			 "waited %d s for `%s` to print %s%s%s; it prints \"%.*s\"", WAIT_MAX_S,
			 ask, w->want ? "\"" : "", w->want ? w->want : "something",
			 w->want ? "\"" : "", STR_ARG(answer));
}

/*
 * Polls until the condition holds. On failure, the output of a failing command is part of the
 * error.
 */
static int demo_wait_for(struct demo *d, const struct demo_wait *w, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * DEMO_OUTPUT_MAX);
	int64_t end = clock_monotonic(clock_system()) + WAIT_MAX_S * CLOCK_SEC;
	int64_t pause = ASK_FIRST_MS;
	const char *ask = filled(d, w->ask);
	struct str answer;
	int status = 0, r;

	if (!ask)
		return error_set(err, ERR_INTERNAL, "`%s` requests an unknown variable", w->ask);
	for (;;) {
		buf_clear(&out);
		r = demo_shell_run(d->shell, ask, &out, &status, err);
		if (r < 0)
			return r;
		answer = answer_of(&out);
		if (status == 0 && (w->want ? str_eqz(answer, w->want) : answer.n > 0))
			break;
		if (clock_monotonic(clock_system()) > end)
			return fail_wait(w, ask, answer, err);
		r = demo_shell_pause(d->shell, pause, err);
		if (r < 0)
			return r;
		pause = MIN(pause * 2, ASK_MAX_MS);
	}
	if (w->as)
		keep_value(d, w->as, answer);
	return 0;
}

static int take_step(struct demo *d, const struct demo_step *step, struct error *err)
{
	const char *text = step->text ? filled(d, step->text) : NULL;
	const char *command = filled(d, step->command);
	int r = 0;

	if (!command)
		return error_set(err, ERR_INTERNAL, "`%s` names an unknown variable",
				 step->command);
	if (text)
		demo_say(d, text);
	else
		(void)fputc('\n', d->cli->out);
	r = pause_for(d, text ? READ_TEXT_MS : 0, err);
	if (r == 0 && step->background) {
		say_command(d, command);
		r = demo_shell_start(d->shell, command, err);
	} else if (r == 0) {
		r = demo_show(d, command, step->may_fail, err);
	}
	for (size_t i = 0; r == 0 && i < DEMO_WAITS_MAX && step->waits[i].ask; i++)
		r = demo_wait_for(d, &step->waits[i], err);
	return r < 0 ? r : pause_for(d, READ_OUTPUT_MS, err);
}

static int take_steps(struct demo *d, const struct demo_step *steps, bool first, struct error *err)
{
	int r = 0;

	for (const struct demo_step *s = steps; r == 0 && s->command; s++)
		if (s->first == first)
			r = take_step(d, s, err);
	return r;
}

/* --- stories --------------------------------------------------------------------------------- */

static bool is_chosen(const struct demo *d, const struct demo_story *story)
{
	const struct flag_list *names = &d->options->stories;

	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->v[i], story->name) == 0)
			return true;
	return names->n == 0;
}

static int demo_check_name(struct demo *d, const char *name, struct error *err)
{
	struct nearest near;

	nearest_init(&near, str_from(name));
	for (const struct demo_story *s = demo_stories; s->name; s++) {
		if (strcmp(name, s->name) == 0)
			return 0;
		nearest_offer(&near, str_from(s->name));
	}
	if (nearest_get(&near).n > 0)
		return cli_bad_usage(d->cli, err, "unknown story \"%s\"; did you mean \"%.*s\"?",
				     name, STR_ARG(nearest_get(&near)));
	return cli_bad_usage(d->cli, err, "unknown story \"%s\"; --list shows all stories", name);
}

static int demo_check_names(struct demo *d, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < d->options->stories.n; i++)
		r = demo_check_name(d, d->options->stories.v[i], err);
	return r;
}

/* Returns 1 if the story can run here, 0 if not (the reason was printed). */
static int can_tell(struct demo *d, const struct demo_story *story, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * DEMO_OUTPUT_MAX);
	int status = 0, r = 0;

	if (story->needs)
		r = demo_shell_run(d->shell, story->needs, &out, &status, err);
	if (r < 0)
		return r;
	if (status != 0)
		demo_say(d, arena_printf(&d->cli->arena, "This story is left out: %s.",
					 story->without));
	return status == 0;
}

static int demo_tell(struct demo *d, const struct demo_story *story, struct error *err)
{
	int r;

	say_title(d, story);
	r = can_tell(d, story, err);
	if (r <= 0)
		return r;
	if (story->undo && d->nbegan < ARRAY_SIZE(d->began))
		d->began[d->nbegan++] = story;
	r = take_steps(d, story->steps, false, err);
	return r < 0 ? error_wrap(err, r, "story %s", story->name) : 0;
}

static int tell_all(struct demo *d, struct error *err)
{
	int r = take_steps(d, demo_prologue, false, err);

	for (const struct demo_story *s = demo_stories; r == 0 && s->name; s++)
		if (is_chosen(d, s))
			r = take_steps(d, s->steps, true, err);
	for (const struct demo_story *s = demo_stories; r == 0 && s->name; s++)
		if (is_chosen(d, s))
			r = demo_tell(d, s, err);
	return r;
}

static void list_stories(struct cli *cli)
{
	(void)fprintf(cli->out, "%-11s %-13s %s\n", "NAME", "KEP", "STORY");
	for (const struct demo_story *s = demo_stories; s->name; s++)
		(void)fprintf(cli->out, "%-11s %-13s %s\n", s->name, s->kep, s->title);
}

/* --- the cluster ----------------------------------------------------------------------------- */

/* The folder, quoted for a shell. */
static const char *dir_word(struct demo *d)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(8 * KIB);
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+";

	if (strspn(d->layout.dir, plain) == strlen(d->layout.dir))
		return d->layout.dir;
	shell_word_quote(&out, d->layout.dir);
	return arena_strdup(&d->cli->arena, buf_str(&out));
}

static const char *with_dir(struct demo *d, const char *command, const char *more)
{
	return arena_printf(&d->cli->arena, "devplane %s --data-dir %s%s", command, dir_word(d),
			    more);
}

/* A running cluster must have been started for the demo. */
static int check_cluster(const struct demo *d, struct error *err)
{
	struct up_state state;
	int r = up_state_read(&d->layout, &state, err);

	if (r < 0)
		return r;
	if (up_state_find(&state, STR("driver-gpu-demo-0")) &&
	    up_state_find(&state, STR("driver-nic-demo-0")))
		return 0;
	return error_set(err, ERR_INVALID,
			 "the cluster in %s was not started with --demo, so it has no simulated "
			 "devices; with another --data-dir the demo starts its own",
			 d->layout.dir);
}

static int make_folder(struct demo *d, const char *below, struct error *err)
{
	char *dir = arena_printf(&d->cli->arena, "%s/devplane-demo.XXXXXX", below);

	if (!mkdtemp(dir))
		return error_set_errno(err, ERR_IO, errno, "cannot make %s", dir);
	return up_layout_init(&d->layout, &d->cli->arena, dir, err);
}

static int make_own(struct demo *d, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	int r;

	d->own = true;
	if (!tmp || !*tmp)
		return make_folder(d, "/tmp", err);
	r = make_folder(d, tmp, err);
	if (r < 0 || up_layout_check_sockets(&d->layout, "demo-0", true, NULL) == 0)
		return r;
	/* The paths of its sockets would be too long there. */
	(void)rmdir(d->layout.dir);
	return make_folder(d, "/tmp", err);
}

static int start_own(struct demo *d, struct error *err)
{
	demo_say(d, arena_printf(&d->cli->arena,
				 "No `devplane up --demo` runs in %s, so the demo starts one in a "
				 "folder of its own, and %s.",
				 d->asked,
				 d->options->keep ? "leaves it running"
						  : "stops and removes it at the end"));
	return demo_show(d, with_dir(d, "up --demo", " --secure-port 0 --detach"), false, err);
}

static int find_cluster(struct demo *d, struct error *err)
{
	int r = up_layout_init(&d->layout, &d->cli->arena, d->options->data_dir, err);

	if (r < 0)
		return r;
	d->asked = d->layout.dir;
	return up_state_holder(&d->layout) != 0 ? check_cluster(d, err) : make_own(d, err);
}

/* Writes the manifests, and shows the commands that come before all stories. */
static int demo_enter(struct demo *d, struct error *err)
{
	const char *folder = arena_printf(&d->cli->arena, "%s/demo", d->layout.dir);
	int r = demo_files_write(folder, err);

	if (r < 0)
		return r;
	demo_say(d, "All commands run in the cluster's folder; the manifests are in its subfolder "
		    "demo/.");
	say_command(d, arena_printf(&d->cli->arena, "cd %s", dir_word(d)));
	say_command(d, "export KUBECONFIG=$PWD/admin.kubeconfig");
	return 0;
}

/* --- the end --------------------------------------------------------------------------------- */

/* Reports the first failure only; the other clean-up commands run nevertheless. */
static void demo_clean(struct demo *d, const char *command, int *io_result, struct error *io_err)
{
	struct error err;
	int r = demo_show(d, command, false, &err);

	if (r == 0 || *io_result < 0)
		return;
	*io_result = r;
	*io_err = err;
}

static void undo_stories(struct demo *d, int *io_result, struct error *io_err)
{
	const char *command;

	while (d->nbegan > 0) {
		command = filled(d, d->began[--d->nbegan]->undo);
		if (command)
			demo_clean(d, command, io_result, io_err);
	}
}

static void demo_leave(struct demo *d, int *io_result, struct error *io_err)
{
	demo_shell_end(d->shell);
	demo_shell_calm(d->shell);
	if (d->options->keep) {
		demo_say(d, arena_printf(&d->cli->arena,
					 "Everything is left as it is; `%s` stops the cluster.",
					 with_dir(d, "down", "")));
		return;
	}
	if (d->own) {
		demo_say(d, *io_result < 0 ? "The demo stops its cluster."
					   : "That was all. The demo stops its cluster.");
		demo_clean(d, with_dir(d, "down", ""), io_result, io_err);
		demo_clean(d, arena_printf(&d->cli->arena, "rm -r %s", dir_word(d)), io_result,
			   io_err);
		return;
	}
	demo_say(d, *io_result < 0 ? "The demo removes everything that it created."
				   : "That was all. The demo removes everything that it created.");
	undo_stories(d, io_result, io_err);
	demo_clean(d, demo_cleanup, io_result, io_err);
	demo_clean(d, "rm -f demo/watch.txt", io_result, io_err);
}

/* --- the command ----------------------------------------------------------------------------- */

static int demo(struct demo *d, struct error *err)
{
	int r = demo_check_names(d, err);

	if (r == 0)
		r = find_cluster(d, err);
	if (r == 0)
		r = demo_shell_new(d->layout.dir, &d->shell, err);
	if (r < 0)
		return r;
	if (d->own)
		r = start_own(d, err);
	if (r == 0)
		r = demo_enter(d, err);
	if (r == 0)
		r = tell_all(d, err);
	demo_leave(d, &r, err);
	return r;
}

static int demo_run(struct cli *cli, struct error *err)
{
	struct demo d = { .cli = cli, .options = cli->options };
	int r;

	if (d.options->list) {
		list_stories(cli);
		return 0;
	}
	d.pauses = !d.options->fast && isatty(fileno(cli->out)) == 1;
	r = demo(&d, err);
	demo_shell_free(d.shell);
	return r;
}

const struct command cmd_demo = {
	.name = "demo",
	.summary = "a guided one-minute demo",
	.group = COMMAND_CLUSTER,
	.about = "A pod gets a GPU, the GPU breaks, the pod's status says why, and its replacement "
		 "gets a healthy one. A pool shows its free devices and why a pod is pending. A "
		 "network claim shows its address. A disk-bound pod is placed on the idle disk. A "
		 "watcher sees every step. Each step is a command that you can type, with its real "
		 "output.\n\n"
		 "It uses the `devplane up --demo` that runs in the folder, or starts one in a new "
		 "folder. At the end, and after Ctrl-C, it removes everything that it created.",
	.examples = "  devplane demo\n"
		    "  devplane demo --fast --story health\n"
		    "  devplane demo --keep\n",
	.flags = flags,
	.options_size = sizeof(struct demo_options),
	.run = demo_run,
};
