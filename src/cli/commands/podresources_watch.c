/*
 * `devplane podresources watch` (PodResources watch KEP): prints events as they arrive. If a
 * stream ends, it is resumed after the last revision seen, so that nothing is shown twice or
 * missed. If the server cannot resume there, it says so and sends the full state again.
 */
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/time/backoff.h"
#include "base/time/timestamp.h"
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "cli/podresources/caller.h"
#include "cli/podresources/json.h"
#include "cli/podresources/print.h"
#include "net/loop/loop.h"
#include "node/book/methods.h"

struct watch_options {
	struct podres_options socket;
	const char *output;
	int64_t after;
	bool allocatable, no_initial, no_headers;
};

static const struct flag flags[] = {
	{ "output", 'o', FLAG_STRING(struct watch_options, output), .choices = "table|wide|json",
	  .initial = "table",
	  .help = "output format: wide adds containers; json prints one message per line" },
	{ "allocatable", 0, FLAG_BOOL(struct watch_options, allocatable),
	  .help = "watch the resources that the node can allocate, not those of pods" },
	{ "no-initial", 0, FLAG_BOOL(struct watch_options, no_initial),
	  .help = "skip the current state and begin with the next change" },
	{ "after-revision", 0, FLAG_INT(struct watch_options, after), .arg = "N", .min = 1,
	  .max = INT64_MAX, .help = "resume after this revision of a list or an earlier watch" },
	{ "no-headers", 0, FLAG_BOOL(struct watch_options, no_headers),
	  .help = "do not print column headers" },
	PODRES_FLAGS(struct watch_options, socket),
	{ NULL },
};

struct watcher {
	struct podres_caller caller;
	struct cli *cli;
	const struct watch_options *options;
	const struct grpc_method *method;
	struct loop_signal *signals[2];
	struct loop_timer timer; /* until the next attempt */
	struct backoff backoff;
	struct grpc_call *call; /* NULL between two calls */
	struct podres_print_state state;
	struct tabs_memory columns;
	int64_t revision; /* the last one seen; 0: none */
	bool head_printed;
	bool begun; /* the server has accepted a watch at least once */
	bool lost; /* the connection was lost, and that was reported */
	bool stopping;
	struct error err; /* code ERR_OK: no failure */
};

/* --- printing ----------------------------------------------------------------------------- */

static void flush(struct watcher *w)
{
	/* The reader is gone: cli_main() reports it. */
	if (fflush(w->cli->out) != 0) {
		w->stopping = true;
		loop_stop(w->caller.loop);
	}
}

static void print_json(struct watcher *w, const ProtobufCMessage *m)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(PODRES_TEXT_MAX);
	struct arena a;

	arena_init(&a, PODRES_TEXT_MAX);
	(void)json_print(&text, podres_json(&a, m), NULL);
	(void)fprintf(w->cli->out, "%.*s\n", STR_ARG(buf_str(&text)));
	arena_release(&a);
	flush(w);
}

/* The time of day with milliseconds, without the date. */
static void podresources_watch_print_line(struct watcher *w, const struct buf *line)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(PODRES_TEXT_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(PODRES_TEXT_MAX);
	bool headed = !w->head_printed && !w->options->no_headers;
	char when[TIMESTAMP_SIZE];

	if (headed)
		(void)buf_printf(&text, "TIME\t%s\n",
				 w->options->allocatable ? podres_print_allocatable_head
							 : podres_print_pod_head);
	w->head_printed = true;
	(void)timestamp_print(clock_wall(clock_system()), TIMESTAMP_MICRO, when);
	(void)buf_printf(&text, "%.12sZ\t%.*s\n", when + strlen("2006-01-02T"),
			 STR_ARG(buf_str(line)));
	tabs_align_more(&out, buf_str(&text), TABS_TABLE, &w->columns);
	output_table(w->cli, buf_str(&out), headed);
	flush(w);
}

/* For interactive users: the initial state has been shown. */
static void print_end(const struct watcher *w)
{
	if (isatty(fileno(w->cli->err)) == 1)
		(void)fputs("-- that is all there is now; changes follow --\n", w->cli->err);
}

static void show_pod(struct watcher *w, const Podresources__PodEvent *e)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(PODRES_TEXT_MAX);

	if (e->revision > 0)
		w->revision = e->revision;
	if (strcmp(w->options->output, "json") == 0)
		print_json(w, &e->base);
	else if (podres_print_pod_event(&w->state, &line, e))
		podresources_watch_print_line(w, &line);
	else
		print_end(w);
}

static void show_allocatable(struct watcher *w, const Podresources__AllocatableEvent *e)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(PODRES_TEXT_MAX);

	if (e->revision > 0)
		w->revision = e->revision;
	if (strcmp(w->options->output, "json") == 0)
		print_json(w, &e->base);
	else if (podres_print_allocatable_event(&w->state, &line, e))
		podresources_watch_print_line(w, &line);
	else
		print_end(w);
}

/* Called for a new connection, or a new stream on the same connection. */
static void on_ready(void *arg)
{
	struct watcher *w = arg;

	if (!w->lost)
		return;
	w->lost = false;
	if (w->revision > 0)
		(void)fprintf(w->cli->err, "connected again; going on after revision %" PRId64 "\n",
			      w->revision);
	else
		(void)fputs("connected again\n", w->cli->err);
}

/* --- the stream --------------------------------------------------------------------------- */

static void on_metadata(struct grpc_call *c)
{
	struct watcher *w = grpc_call_data(c);

	w->begun = true;
	on_ready(w);
}

static void podresources_watch_on_message(struct grpc_call *c, const void *message)
{
	struct watcher *w = grpc_call_data(c);

	w->begun = true;
	backoff_reset(&w->backoff);
	if (w->options->allocatable)
		show_allocatable(w, message);
	else
		show_pod(w, message);
}

/* Whether a retry may succeed. If the first attempt fails, the error is reported instead. */
static bool may_return(const struct watcher *w, enum grpc_code code)
{
	switch (code) {
	case GRPC_UNIMPLEMENTED:
	case GRPC_INVALID_ARGUMENT:
	case GRPC_PERMISSION_DENIED:
	case GRPC_UNAUTHENTICATED:
		return false;
	case GRPC_OK:
		return true;
	case GRPC_UNAVAILABLE:
		return w->begun || w->caller.ready;
	default:
		return w->begun;
	}
}

static void say_lost(struct watcher *w, const struct grpc_status *st)
{
	if (w->lost)
		return;
	w->lost = true;
	(void)fprintf(w->cli->err, "%s: the watch has ended (%s); trying again\n", w->caller.path,
		      st->code == GRPC_OK ? "the server ended it" : grpc_code_name(st->code));
}

static void podresources_watch_on_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct watcher *w = grpc_call_data(c);

	w->call = NULL;
	if (w->stopping)
		return;
	if (!may_return(w, st->code)) {
		(void)podres_caller_explain(&w->caller, w->method, st, &w->err);
		loop_stop(w->caller.loop);
		return;
	}
	say_lost(w, st);
	loop_timer_start(&w->timer, backoff_next(&w->backoff, loop_prng(w->caller.loop)));
}

static const struct grpc_call_ops call_ops = { .on_metadata = on_metadata,
					       .on_message = podresources_watch_on_message,
					       .on_end = podresources_watch_on_end };

/*
 * Requests what has not been seen yet: the state, the next change, or the events after a revision.
 */
static void podresources_watch_begin(struct watcher *w)
{
	Podresources__WatchRequest request = PODRESOURCES__WATCH_REQUEST__INIT;

	request.after_revision = w->revision;
	request.send_initial = w->revision == 0 && !w->options->no_initial;
	w->state.initial = request.send_initial;
	w->call = grpc_channel_call(w->caller.channel, w->method, NULL, &call_ops, w);
	(void)grpc_call_send(w->call, &request.base);
	(void)grpc_call_half_close(w->call);
}

static void podresources_watch_on_timer(struct loop_timer *t)
{
	podresources_watch_begin(CONTAINER_OF(t, struct watcher, timer));
}

/* --- the command -------------------------------------------------------------------------- */

static void podresources_watch_on_signal(void *arg, int signum UNUSED)
{
	struct watcher *w = arg;

	w->stopping = true;
	loop_stop(w->caller.loop);
}

static int podresources_watch_start(struct watcher *w, struct error *err)
{
	static const int signums[] = { SIGINT, SIGTERM };
	const struct watch_options *o = w->options;
	int r;

	if (o->no_initial && o->after > 0)
		return cli_bad_usage(w->cli, err,
				     "--no-initial and --after-revision exclude each other");
	r = podres_caller_open(&w->caller, w->cli, &o->socket, true, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(signums); i++)
		r = loop_signal_new(w->caller.loop, signums[i], podresources_watch_on_signal, w,
				    &w->signals[i], err);
	if (r < 0)
		return r;
	w->caller.on_ready = on_ready;
	w->caller.arg = w;
	loop_timer_init(&w->timer, w->caller.loop, podresources_watch_on_timer);
	podresources_watch_begin(w);
	return 0;
}

static int podresources_watch_run(struct cli *cli, struct error *err)
{
	const struct watch_options *o = cli->options;
	struct podres_print_style style = { .wide = strcmp(o->output, "wide") == 0,
					    .colour = cli->out_colour };
	struct watcher w = {
		.cli = cli,
		.options = o,
		.revision = o->after,
		.backoff = { .initial_ms = 200, .max_ms = 5000, .factor = 2, .jitter = 0.5 }
	};
	int r;

	w.columns.width[1] = strlen("DELETED") + TABS_TABLE->padding; /* its width will be needed */
	w.method = o->allocatable ? &podres_method_watch_allocatable : &podres_method_watch;
	podres_print_init(&w.state, &style, false);
	r = podresources_watch_start(&w, err);
	if (r == 0) {
		loop_run(w.caller.loop);
		loop_timer_stop(&w.timer);
	}
	w.stopping = true;
	for (size_t i = 0; i < ARRAY_SIZE(w.signals); i++)
		loop_signal_free(w.signals[i]);
	podres_caller_close(&w.caller);
	podres_print_release(&w.state);
	return r != 0 || w.err.code == ERR_OK ? r : error_copy(err, &w.err);
}

const struct command cmd_podresources_watch = {
	.name = "watch",
	.summary = "watch the devices, CPUs and memory of this node's pods",
	.about =
		"Prints the current state, and then a line for each change, in order: the "
		"resources that a pod holds now, with new ones marked + and removed ones marked -. "
		"If the connection breaks, the watch resumes where it was. Ctrl-C ends it.\n\n"
		"Kubelets have no watch. `devplane node --attach` beside a kubelet adds one on its "
		"own socket, pod-resources/devplane.sock below --root-dir. The command uses that "
		"socket if it exists.",
	.examples =
		"devplane podresources watch\n"
		"devplane podresources watch --allocatable\n"
		"devplane podresources watch -o json | jq -c '[.action, .podResources[0].name]'\n"
		"devplane podresources watch --after-revision 1760000000000 --root-dir d/n1",
	.flags = flags,
	.options_size = sizeof(struct watch_options),
	.run = podresources_watch_run,
};
