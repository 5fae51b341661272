/*
 * `devplane status`: the roles that `devplane up` runs, and their health. up.json lists the roles,
 * and each role reports its own health. Exit codes: 0 all healthy, 1 something is not, 3 nothing
 * runs.
 */
#include <errno.h>
#include <signal.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "cli/program/cli.h"
#include "cli/up/health.h"
#include "cli/up/state.h"

enum { DEGRADED = 1, NOT_RUNNING = 3, ASK_MS = 3000 };

struct status_options {
	const char *data_dir, *output;
};

static const struct flag flags[] = {
	UP_DIR_FLAG(struct status_options),
	{ "output", 'o', FLAG_STRING(struct status_options, output), .choices = "wide|json|yaml",
	  .help = "output format; wide adds columns" },
	{ NULL },
};

struct status {
	struct cli *cli;
	struct up_layout layout;
	struct up_state state;
	struct up_health *health; /* one per role */
	int64_t pid; /* of the supervisor; 0: not running */
	int64_t now_ns;
};

static bool role_is_well(const struct status *s, size_t i)
{
	return str_eqz(s->state.roles[i].state, "ready") && s->health[i].ok;
}

static bool all_is_well(const struct status *s)
{
	for (size_t i = 0; i < s->state.n; i++)
		if (!role_is_well(s, i))
			return false;
	return s->state.ready;
}

/* --- collecting ------------------------------------------------------------------------------ */

static int ask_roles(struct status *s, struct error *err)
{
	struct arena *a = &s->cli->arena;
	struct up_health *asked = ARENA_ARRAY(a, struct up_health, s->state.n + 1);
	size_t *whose = ARENA_ARRAY(a, size_t, s->state.n + 1), n = 0;
	int r;

	s->health = ARENA_ARRAY(a, struct up_health, s->state.n + 1);
	for (size_t i = 0; i < s->state.n; i++) {
		const struct up_state_role *role = &s->state.roles[i];

		(void)snprintf(s->health[i].text, sizeof(s->health[i].text), "-");
		if (role->pid == 0 ||
		    (role->metrics.n == 0 && role->health.n == 0 && !str_eqz(role->name, "server")))
			continue;
		whose[n] = i;
		asked[n++] = up_health_of(a, &s->layout, role);
	}
	r = up_health_ask(asked, n, ASK_MS, err);
	for (size_t i = 0; i < n && r == 0; i++)
		s->health[whose[i]] = asked[i];
	return r;
}

/* The state of a role is outdated if its process is gone: on a full disk nothing is written. */
static void look_at_processes(struct status *s)
{
	for (size_t i = 0; i < s->state.n; i++) {
		struct up_state_role *r = &s->state.roles[i];

		if (r->pid == 0 || kill((pid_t)r->pid, 0) == 0 || errno != ESRCH)
			continue;
		r->state = STR("gone");
		r->failure = str_from(arena_printf(
			&s->cli->arena,
			"its process %lld is gone, and up.json does not tell what became of it: "
			"is the disk full?",
			(long long)r->pid));
		r->pid = 0;
	}
}

static int status_look(struct status *s, struct error *err)
{
	const struct status_options *o = s->cli->options;
	int r = up_layout_init(&s->layout, &s->cli->arena, o->data_dir, err);

	if (r < 0)
		return r;
	s->now_ns = clock_wall(clock_system());
	s->pid = up_state_holder(&s->layout);
	r = up_state_read(&s->layout, &s->state, err);
	if (r == -ERR_NOT_FOUND)
		r = 0;
	if (r < 0 || s->pid == 0)
		return r;
	/* A previous supervisor wrote it, and the current one is still starting. */
	if (s->state.pid != s->pid)
		s->state = (struct up_state){ 0 };
	look_at_processes(s);
	return ask_roles(s, err);
}

/* --- printing -------------------------------------------------------------------------------- */

static void add_role(struct status *s, struct json *list, size_t i)
{
	const struct up_state_role *role = &s->state.roles[i];
	struct arena *a = &s->cli->arena;
	struct json *o = json_make_object(a);
	char since[TIMESTAMP_SIZE];

	json_append(list, o);
	json_put_str(a, o, "name", role->name);
	json_put_str(a, o, "state", role->state);
	json_put_str(a, o, "health", str_from(s->health[i].text));
	if (role->pid) {
		json_put_i64(a, o, "pid", role->pid);
		json_put_i64(a, o, "memoryBytes", up_health_memory(role->pid));
	}
	json_put_i64(a, o, "restarts", role->restarts);
	json_put_str(a, o, "since",
		     arena_str(a, timestamp_print(role->since_ns, TIMESTAMP_SECONDS, since)));
	if (role->metrics.n > 0)
		json_put_str(a, o, "metrics", role->metrics);
	if (role->failure.n > 0)
		json_put_str(a, o, "lastFailure", role->failure);
}

static int status_print_tree(struct status *s, const char *format, struct error *err)
{
	struct arena *a = &s->cli->arena;
	struct json *o = json_make_object(a), *roles = json_make_array(a);
	char start[TIMESTAMP_SIZE];

	json_put_bool(a, o, "running", s->pid != 0);
	json_put_str(a, o, "dataDir", str_from(s->layout.dir));
	if (s->pid != 0) {
		json_put_bool(a, o, "ready", all_is_well(s));
		json_put_i64(a, o, "pid", s->pid);
		if (s->state.pid != 0)
			json_put_str(a, o, "startTime",
				     timestamp_print(s->state.start_ns, TIMESTAMP_SECONDS, start));
		json_put_str(a, o, "server", s->state.server);
		json_put_str(a, o, "kubeconfig", s->state.kubeconfig);
		if (s->state.page.n > 0)
			json_put_str(a, o, "page", s->state.page);
		json_setz(o, "roles", roles);
		for (size_t i = 0; i < s->state.n; i++)
			add_role(s, roles, i);
	}
	return output_tree(s->cli, format, o, err);
}

static const char *memory_text(struct arena *a, int64_t bytes)
{
	return bytes ? arena_printf(a, "%.1fMi", (double)bytes / (double)MIB) : "-";
}

static void print_row(struct status *s, size_t i, bool wide, struct buf *out)
{
	const struct up_state_role *r = &s->state.roles[i];
	const char *health = s->health[i].text;
	char age[DURATION_SIZE];

	(void)buf_printf(out, "%.*s\t%.*s\t%s\t", STR_ARG(r->name), STR_ARG(r->state),
			 s->health[i].ok || health[0] == '-' ? health : "failing");
	(void)(r->pid ? buf_add_i64(out, r->pid) : buf_addc(out, '-'));
	(void)buf_printf(out, "\t%lld\t%s\t%s", (long long)r->restarts,
			 duration_print_age(s->now_ns - r->since_ns, age).p,
			 memory_text(&s->cli->arena, up_health_memory(r->pid)));
	if (wide) {
		(void)buf_printf(out, "\t%.*s\t", STR_ARG(r->metrics.n ? r->metrics : STR("-")));
		output_clean(out, r->failure.n ? r->failure : STR("-"));
	}
	(void)buf_addc(out, '\n');
}

/* Prints the problems below the table. */
static void print_faults(struct status *s)
{
	for (size_t i = 0; i < s->state.n; i++) {
		const struct up_state_role *r = &s->state.roles[i];
		CLEANUP(buf_release) struct buf why = BUF_INIT(64 * KIB);

		if (role_is_well(s, i))
			continue;
		output_clean(&why, r->pid && s->health[i].text[0] != '-'
					   ? str_from(s->health[i].text)
					   : r->failure);
		if (why.n > 0)
			(void)fprintf(s->cli->out, "\n%.*s: %s; see `devplane logs %.*s`\n",
				      STR_ARG(r->name), why.p, STR_ARG(r->name));
	}
}

static void status_print_table(struct status *s, bool wide)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT(4 * MIB);
	CLEANUP(buf_release) struct buf lines = BUF_INIT(4 * MIB);
	char age[DURATION_SIZE];

	(void)fprintf(s->cli->out, "devplane is up in %s for %s (pid %lld): %.*s\n\n",
		      s->layout.dir, duration_print_age(s->now_ns - s->state.start_ns, age).p,
		      (long long)s->pid, STR_ARG(s->state.server));
	(void)buf_printf(&raw, "NAME\tSTATE\tHEALTH\tPID\tRESTARTS\tAGE\tMEMORY%s\n",
			 wide ? "\tMETRICS\tLAST FAILURE" : "");
	for (size_t i = 0; i < s->state.n; i++)
		print_row(s, i, wide, &raw);
	tabs_align(&lines, buf_str(&raw), TABS_TABLE);
	output_table(s->cli, buf_str(&lines), true);
	print_faults(s);
}

static void print_starting(struct status *s)
{
	(void)fprintf(s->cli->out, "devplane is starting in %s", s->layout.dir);
	if (s->pid > 0)
		(void)fprintf(s->cli->out, " (pid %lld)", (long long)s->pid);
	(void)fputc('\n', s->cli->out);
}

static void print_nothing(struct status *s)
{
	bool crashed = s->state.pid != 0 && s->state.ready && s->state.n > 0 &&
		       s->state.roles[0].pid != 0;

	(void)fprintf(s->cli->out, "devplane is not running in %s%s\n", s->layout.dir,
		      crashed ? "; its supervisor was killed: run `devplane up` to continue with "
				"all objects"
			      : "");
}

static int status_run(struct cli *cli, struct error *err)
{
	const struct status_options *o = cli->options;
	struct status s = { .cli = cli };
	int r = status_look(&s, err);

	if (r < 0)
		return r;
	cli->status = s.pid == 0 ? NOT_RUNNING : all_is_well(&s) ? CLI_OK : DEGRADED;
	if (o->output && strcmp(o->output, "wide") != 0)
		return status_print_tree(&s, o->output, err);
	if (s.pid == 0)
		print_nothing(&s);
	else if (s.state.pid == 0)
		print_starting(&s);
	else
		status_print_table(&s, o->output != NULL);
	return 0;
}

static const struct command_note exit_status[] = {
	{ "0", "all parts are ready" },
	{ "1", "a part is not ready, or its state is unknown" },
	{ "3", "nothing is running" },
	{ NULL },
};

const struct command cmd_status = {
	.name = "status",
	.summary = "show the parts of `devplane up` and their state",
	.group = COMMAND_CLUSTER,
	.about = "Prints a line for each part: whether it runs and is ready, the health that it "
		 "reports, how often it was restarted, and its memory.",
	.examples = "  devplane status\n  devplane status --data-dir d -o json\n",
	.exit_status = exit_status,
	.flags = flags,
	.options_size = sizeof(struct status_options),
	.run = status_run,
};
