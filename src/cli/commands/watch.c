/*
 * `devplane watch devices`: prints a line for each change of a device or pool, as it happens. As
 * in commands/top.c, and for the same reason, printing happens outside of the loop.
 */
#include <signal.h>

#include "base/core/limits.h"
#include "cli/commands/commands.h"
#include "cli/devices/claim_sight.h"
#include "cli/devices/gate.h"
#include "cli/devices/view.h"
#include "cli/live/device_feed.h"
#include "cli/live/watch_print.h"
#include "cli/output/output.h"

enum { CHECK_MS = 250 };

struct watch_options {
	struct kube_options kube;
	struct flag_list feature_gates;
	const char *driver, *pool, *node, *output;
	bool initial, all_namespaces;
};

static const struct flag flags[] = {
	{ "driver", 0, FLAG_STRING(struct watch_options, driver), .arg = "NAME",
	  .help = "only devices of this driver" },
	{ "pool", 0, FLAG_STRING(struct watch_options, pool), .arg = "NAME",
	  .help = "only devices of pools with this name" },
	{ "node", 0, FLAG_STRING(struct watch_options, node), .arg = "NAME",
	  .help = "only devices of this node" },
	{ "initial", 0, FLAG_BOOL(struct watch_options, initial),
	  .help = "begin with a line for each existing device" },
	{ "output", 'o', FLAG_STRING(struct watch_options, output), .choices = "json",
	  .help = "one JSON object per line; text by default" },
	{ "all-namespaces", 'A', FLAG_BOOL(struct watch_options, all_namespaces),
	  .help = "accepted for compatibility; holders of all namespaces are always shown" },
	DEVICE_GATE_FLAG(struct watch_options, feature_gates),
	KUBE_FLAGS(struct watch_options, kube),
	{ NULL },
};

struct watcher {
	struct cli *cli;
	const struct watch_options *options;
	struct kube kube;
	struct device_feed *feed;
	struct top_model model;
	struct top_view view; /* which claims may be named, and the time */
	struct loop_timer check;
	struct loop_signal *signals[3];
	bool again, changed, started, done;
	struct error told; /* the failure that was reported to the user */
};

static void watch_wake(struct watcher *w)
{
	w->again = true;
	loop_stop(w->kube.loop);
}

static void watch_on_change(void *arg)
{
	struct watcher *w = arg;

	w->changed = true;
	watch_wake(w);
}

static void watch_on_signal(void *arg, int signum UNUSED)
{
	struct watcher *w = arg;

	w->done = true;
	kube_interrupt(&w->kube);
}

/* A lost reader is noticed only when writing; a lost server is noticed here. */
static void on_check(struct loop_timer *t)
{
	struct watcher *w = CONTAINER_OF(t, struct watcher, check);

	loop_timer_start(&w->check, CHECK_MS);
	if (device_feed_failure(w->feed)->code != w->told.code)
		watch_wake(w);
}

static void watch_tell(void *arg, const struct top_change *c)
{
	struct watcher *w = arg;
	CLEANUP(buf_release) struct buf line = BUF_INIT(MIB);

	if (!w->started && !w->options->initial)
		return;
	if (w->options->output)
		watch_print_json(c, &w->view, &line);
	else
		watch_print_line(c, &w->view, &line);
	(void)fwrite(line.p, 1, line.n, w->cli->out);
}

static void print_head(struct watcher *w)
{
	if (w->options->output)
		return;
	(void)fprintf(w->cli->out, "# changes of devices, %.*s\n",
		      STR_ARG(device_feed_source(w->feed)));
}

static int check_beginning(const struct watcher *w, struct error *err)
{
	const struct error *e = device_feed_failure(w->feed);

	if (device_feed_synced(w->feed) || e->code == ERR_OK)
		return 0;
	return error_copy(err, e);
}

/* Reports once that the output may be outdated from now on, and once that it no longer is. */
static void tell_failure(struct watcher *w)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	const struct error *e = device_feed_failure(w->feed);

	if (e->code == w->told.code)
		return;
	w->told = *e;
	output_clean(&text, str_from(e->code == ERR_OK ? "the server answers again" : e->msg));
	(void)fprintf(w->cli->err, "%s: %.*s\n", w->cli->program, STR_ARG(buf_str(&text)));
}

static void print_changes(struct watcher *w)
{
	w->changed = false;
	if (!device_feed_synced(w->feed)) {
		device_feed_update(w->feed, &w->model, NULL, NULL); /* no changes to report yet */
		return;
	}
	w->view.wall_ns = clock_wall(clock_system());
	if (!w->started)
		print_head(w);
	device_feed_update(w->feed, &w->model, watch_tell, w);
	if (!w->started && device_feed_lacks_nodes(w->feed))
		device_view_say_nodes_unknown(w->cli);
	w->started = true;
	w->done |= fflush(w->cli->out) != 0;
}

static int watch_work(struct watcher *w, struct error *err)
{
	int r = 0;

	while (!w->done && r == 0) {
		if (!w->again)
			loop_run(w->kube.loop);
		w->again = false;
		if (w->changed)
			print_changes(w);
		r = check_beginning(w, err);
		if (r == 0)
			tell_failure(w);
	}
	return r;
}

static int watch_begin(struct watcher *w, struct error *err)
{
	static const int signums[] = { SIGTERM, SIGINT, SIGHUP };
	struct device_feed_opts o = { .driver = str_from(w->options->driver),
				      .pool = str_from(w->options->pool),
				      .node = str_from(w->options->node),
				      .on_change = watch_on_change,
				      .arg = w };
	int r = kube_open(&w->kube, w->cli, &w->options->kube, err);

	if (r < 0)
		return r;
	loop_timer_init(&w->check, w->kube.loop, on_check);
	w->view.may = claim_sight_may_name;
	w->view.arg = claim_sight_new(&w->kube);
	for (size_t i = 0; i < ARRAY_SIZE(signums) && r == 0; i++)
		r = loop_signal_new(w->kube.loop, signums[i], watch_on_signal, w, &w->signals[i],
				    err);
	if (r == 0)
		r = device_feed_open(&w->kube, &o, &w->feed, err);
	if (r == 0)
		loop_timer_start(&w->check, CHECK_MS);
	return r;
}

static void commands_watch_end(struct watcher *w)
{
	if (w->kube.loop)
		loop_timer_stop(&w->check);
	for (size_t i = 0; i < ARRAY_SIZE(w->signals); i++)
		loop_signal_free(w->signals[i]);
	device_feed_close(w->feed);
	kube_close(&w->kube);
	top_model_release(&w->model);
}

static int watch_run(struct cli *cli, struct error *err)
{
	struct watcher w = { .cli = cli, .options = cli->options };
	int r = device_gate_need(cli, &w.options->feature_gates, err);

	if (r < 0)
		return r;
	top_model_init(&w.model);
	r = watch_begin(&w, err);
	if (r == 0)
		r = watch_work(&w, err);
	if (w.done)
		r = 0;
	commands_watch_end(&w);
	return r;
}

static const struct command devices = {
	.name = "devices",
	.summary = "print a line for each change of a device",
	.usage = "[FLAGS]",
	.about = "Prints a line when a device is allocated or released, added or removed, tainted, "
		 "or becomes unhealthy or healthy, and when a pool becomes complete, incomplete or "
		 "invalid. It runs until interrupted, and reconnects when the API server restarts. "
		 "Claims in namespaces that you cannot read are only counted.",
	.examples = "  devplane watch devices\n"
		    "  devplane watch devices --driver gpu.example.com --initial\n"
		    "  devplane watch devices -o json | jq -c 'select(.change == \"health\")'\n",
	.flags = flags,
	.options_size = sizeof(struct watch_options),
	.run = watch_run,
};

static const struct command *const rows[] = { &devices, NULL };

const struct command cmd_watch = {
	.name = "watch",
	.summary = "print changes of devices as they happen",
	.group = COMMAND_OBJECT,
	.subcommands = rows,
};
