/*
 * `devplane top devices`: a live table on a terminal, otherwise printed once. The loop runs until
 * there is something to draw. Drawing happens outside of the loop, because it asks the server
 * which claims may be named, and that runs the loop. Quitting does not wait for that.
 */
#include <signal.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "cli/commands/commands.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/gate.h"
#include "cli/devices/view.h"
#include "cli/live/browse.h"
#include "cli/live/device_feed.h"
#include "cli/live/draw.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"

enum {
	DRAW_MS = 100, /* between two draws */
	CHECK_MS = 250, /* how often a failed start is checked for */
	LINES_MAX = 64 * MIB,
};

struct top_options {
	struct kube_options kube;
	struct flag_list feature_gates;
	const char *driver, *pool, *node, *output, *sort, *filter;
	bool once, all_namespaces, unhealthy;
};

static const struct flag flags[] = {
	{ "driver", 0, FLAG_STRING(struct top_options, driver), .arg = "NAME",
	  .help = "only devices of this driver" },
	{ "pool", 0, FLAG_STRING(struct top_options, pool), .arg = "NAME",
	  .help = "only devices of pools with this name" },
	{ "node", 0, FLAG_STRING(struct top_options, node), .arg = "NAME",
	  .help = "only devices of this node" },
	{ "sort-by", 0, FLAG_STRING(struct top_options, sort),
	  .choices = "pool|free|allocated|unhealthy", .initial = "pool", .help = "order of pools" },
	{ "filter", 0, FLAG_STRING(struct top_options, filter), .arg = "TEXT",
	  .help = "only devices with this text in their names, state, health message or holders" },
	{ "unhealthy", 0, FLAG_BOOL(struct top_options, unhealthy),
	  .help = "only devices that are reported unhealthy" },
	{ "once", 0, FLAG_BOOL(struct top_options, once),
	  .help = "print the table once and exit, even on a terminal" },
	{ "output", 'o', FLAG_STRING(struct top_options, output), .choices = "json|yaml|wide",
	  .help = "print once and exit; wide prints a line for each device" },
	{ "all-namespaces", 'A', FLAG_BOOL(struct top_options, all_namespaces),
	  .help = "accepted for compatibility; holders of all namespaces are always shown" },
	DEVICE_GATE_FLAG(struct top_options, feature_gates),
	KUBE_FLAGS(struct top_options, kube),
	{ NULL },
};

struct top {
	struct cli *cli;
	const struct top_options *options;
	struct kube kube;
	struct device_feed *feed;
	struct claim_sight *sight;
	struct terminal *terminal; /* NULL: printed once */
	struct top_model model;
	struct top_view view;
	struct loop_timer draw, check;
	struct loop_signal *signals[3];
	int64_t drawn_at; /* ms */
	int keys[64]; /* pressed since then; further ones are lost */
	size_t nkeys;
	bool again, done;
	bool changed; /* the model is outdated */
};

/* --- waking up ------------------------------------------------------------------------------- */

static void top_wake(struct top *t)
{
	t->again = true;
	loop_stop(t->kube.loop);
}

static void quit(struct top *t)
{
	t->done = true;
	kube_interrupt(&t->kube);
}

static void on_draw(struct loop_timer *timer)
{
	top_wake(CONTAINER_OF(timer, struct top, draw));
}

/* Several changes are drawn together. */
static void top_on_change(void *arg)
{
	struct top *t = arg;
	int64_t since = loop_now(t->kube.loop) - t->drawn_at;

	t->changed = true;
	loop_timer_start(&t->draw, since >= DRAW_MS ? 0 : DRAW_MS - since);
}

static void on_check(struct loop_timer *timer)
{
	struct top *t = CONTAINER_OF(timer, struct top, check);

	loop_timer_start(&t->check, CHECK_MS);
	if (!device_feed_synced(t->feed) || t->view.message.n ||
	    device_feed_failure(t->feed)->code != ERR_OK)
		top_wake(t);
}

static void top_on_signal(void *arg, int signum UNUSED)
{
	quit(arg);
}

static void on_resize(void *arg)
{
	top_wake(arg);
}

static bool is_quit(const struct top *t, int key)
{
	return !t->view.editing && (key == 'q' || key == 'Q');
}

static void on_key(void *arg, int key)
{
	struct top *t = arg;
	bool ends = key == TERMINAL_INTERRUPT || key == TERMINAL_CLOSED;

	if (ends || (t->nkeys == 0 && is_quit(t, key)))
		quit(t);
	else if (t->nkeys < ARRAY_SIZE(t->keys))
		t->keys[t->nkeys++] = key;
	top_wake(t);
}

/* Keys may arrive faster than they are drawn, but Enter is for the row that is selected then. */
static void apply_keys(struct top *t)
{
	for (size_t i = 0; i < t->nkeys && !t->done; i++) {
		if (is_quit(t, t->keys[i]))
			quit(t);
		else if (t->keys[i] == '\r' || t->keys[i] == '\n')
			top_settle(&t->model, &t->view);
		(void)top_key(&t->view, t->keys[i]);
	}
	t->nkeys = 0;
}

/* --- drawing --------------------------------------------------------------------------------- */

static void draw(struct top *t, struct buf *out)
{
	const struct error *failure = device_feed_failure(t->feed);

	t->view.wall_ns = clock_wall(clock_system());
	t->view.source = device_feed_source(t->feed);
	t->view.loading = !device_feed_synced(t->feed);
	t->view.message = str_from(failure->code == ERR_OK ? "" : failure->msg);
	top_draw(&t->model, &t->view, out);
}

static void draw_screen(struct top *t)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(LINES_MAX);

	terminal_size(t->terminal, &t->view.width, &t->view.height);
	t->view.cursor = true;
	draw(t, &out);
	terminal_draw(t->terminal, buf_str(&out));
	t->drawn_at = loop_now(t->kube.loop);
}

static int print_once(struct top *t, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(LINES_MAX);
	const char *format = t->options->output;

	if (format && strcmp(format, "wide") != 0) {
		t->view.wall_ns = clock_wall(clock_system());
		t->view.source = device_feed_source(t->feed);
		return output_tree(t->cli, format, top_tree(&t->model, &t->view, &t->cli->arena),
				   err);
	}
	t->view.devices = format != NULL;
	/* On a terminal lines are cut at its edge; in a file they are not. */
	t->view.width = isatty(fileno(t->cli->out)) ? t->cli->width : 0;
	draw(t, &out);
	(void)fwrite(out.p, 1, out.n, t->cli->out);
	return 0;
}

/* Fails if waiting for the initial state is hopeless. An unreachable server may come back. */
static int check_beginning(const struct top *t, struct error *err)
{
	const struct error *e = device_feed_failure(t->feed);
	bool hopeless = e->code == ERR_FORBIDDEN || e->code == ERR_UNAUTHORIZED ||
			(!t->terminal && e->code != ERR_OK);

	if (device_feed_synced(t->feed) || !hopeless)
		return 0;
	return error_copy(err, e);
}

/*
 * Waits until there is something to do, and does it. A table that is printed once is complete
 * then.
 */
static int turn(struct top *t, struct error *err)
{
	int r;

	if (!t->again)
		loop_run(t->kube.loop);
	t->again = false;
	if (t->changed) {
		t->changed = false;
		device_feed_update(t->feed, &t->model, NULL, NULL);
	}
	apply_keys(t);
	r = check_beginning(t, err);
	if (r == 0 && !t->done && t->terminal)
		draw_screen(t);
	return r;
}

static int top_work(struct top *t, struct error *err)
{
	int r = 0;

	while (!t->done && r == 0 && (t->terminal || !device_feed_synced(t->feed)))
		r = turn(t, err);
	if (r < 0 || t->terminal)
		return r;
	if (!t->done)
		r = print_once(t, err);
	return t->done ? error_set(err, ERR_CANCELED, "interrupted") : r;
}

/* --- life ------------------------------------------------------------------------------------ */

/* Whether both streams are a terminal that can do more than print. */
static bool is_capable(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && term[0] &&
	       strcmp(term, "dumb") != 0;
}

static int open_terminal(struct top *t, struct error *err)
{
	struct terminal_opts o = { .loop = t->kube.loop,
				   .in = STDIN_FILENO,
				   .out = STDOUT_FILENO,
				   .on_key = on_key,
				   .on_resize = on_resize,
				   .arg = t };

	if (t->options->once || t->options->output || !is_capable())
		return 0;
	return terminal_open(&o, &t->terminal, err);
}

static int catch_signals(struct top *t, struct error *err)
{
	static const int signums[] = { SIGTERM, SIGINT, SIGHUP };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(signums) && r == 0; i++)
		r = loop_signal_new(t->kube.loop, signums[i], top_on_signal, t, &t->signals[i],
				    err);
	return r;
}

static void set_view(struct top *t)
{
	static const char *const sorts[TOP_SORTS] = { "pool", "free", "allocated", "unhealthy" };

	for (int i = 0; i < TOP_SORTS; i++)
		if (strcmp(t->options->sort, sorts[i]) == 0)
			t->view.sort = (enum top_sort)i;
	t->view.unhealthy = t->options->unhealthy;
	if (t->options->filter)
		(void)snprintf(t->view.filter, sizeof(t->view.filter), "%s", t->options->filter);
	t->view.colour = t->cli->out_colour;
	t->view.may = claim_sight_may_name;
	t->view.arg = t->sight;
}

static int top_begin(struct top *t, struct error *err)
{
	struct device_feed_opts o = { .driver = str_from(t->options->driver),
				      .pool = str_from(t->options->pool),
				      .node = str_from(t->options->node),
				      .on_change = top_on_change,
				      .arg = t };
	int r = kube_open(&t->kube, t->cli, &t->options->kube, err);

	if (r < 0)
		return r;
	loop_timer_init(&t->draw, t->kube.loop, on_draw);
	loop_timer_init(&t->check, t->kube.loop, on_check);
	t->sight = claim_sight_new(&t->kube);
	set_view(t);
	r = kube_login(&t->kube, err);
	if (r == 0)
		r = open_terminal(t, err);
	if (r == 0)
		r = catch_signals(t, err);
	if (r == 0)
		r = device_feed_open(&t->kube, &o, &t->feed, err);
	if (r == 0)
		loop_timer_start(&t->check, CHECK_MS);
	return r;
}

/* Notes are printed after the terminal has been restored. */
static void top_end(struct top *t)
{
	terminal_close(t->terminal);
	if (t->feed && device_feed_lacks_nodes(t->feed))
		device_view_say_nodes_unknown(t->cli);
	if (t->kube.loop) {
		loop_timer_stop(&t->draw);
		loop_timer_stop(&t->check);
	}
	for (size_t i = 0; i < ARRAY_SIZE(t->signals); i++)
		loop_signal_free(t->signals[i]);
	device_feed_close(t->feed);
	kube_close(&t->kube);
	top_model_release(&t->model);
}

static int top_run(struct cli *cli, struct error *err)
{
	struct top t = { .cli = cli, .options = cli->options };
	int r = device_gate_need(cli, &t.options->feature_gates, err);

	if (r < 0)
		return r;
	top_model_init(&t.model);
	r = top_begin(&t, err);
	if (r == 0)
		r = top_work(&t, err);
	if (t.terminal && t.done)
		r = 0;
	top_end(&t);
	return r;
}

static const struct command devices = {
	.name = "devices",
	.summary = "show device pools, their free devices and who holds the others",
	.usage = "[FLAGS]",
	.about =
		"On a terminal it shows a live table: q quits, arrows and page keys select a row, "
		"Enter opens the pool or device, Esc goes back, d shows all devices, s changes the "
		"order, u shows unhealthy devices, / filters. Without a terminal, or with --once, "
		"it prints the table once.\n\n"
		"Every device is counted once: devices = free + partial + allocated + unavailable. "
		"The column for unhealthy devices counts those that pods and nodes report as "
		"unhealthy; a taint alone does not make a device unhealthy. Claims in namespaces "
		"that you cannot read are only counted. The command needs only an API server: if "
		"no controller publishes availability, it computes it.",
	.examples = "  devplane top devices\n"
		    "  devplane top devices --driver gpu.example.com --sort-by free\n"
		    "  devplane top devices -o json\n",
	.flags = flags,
	.options_size = sizeof(struct top_options),
	.run = top_run,
};

static const struct command *const rows[] = { &devices, NULL };

const struct command cmd_top = {
	.name = "top",
	.summary = "show live which devices are free and who holds the others",
	.group = COMMAND_OBJECT,
	.subcommands = rows,
};
