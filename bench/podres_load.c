/*
 * podres_load KUBECONFIG - who uses a node's PodResources, and what makes it change.
 *
 * A device plugin, an administrator who creates and deletes pods, a watch of the API server,
 * callers of List and watchers are all in one process. So one clock measures when something
 * happened and when it was seen. Their own CPU use is part of the figures. Obeys these commands
 * (load.h); times are in ms:
 *
 *	plugin ROOT DEVICES	serves a device plugin; "plugin" when the agent has its devices
 *	pods COUNT NODE EACH	makes pods with so many devices each; "pods MS" when all run
 *	list SOCKET CALLS CONNECTIONS FLIGHT
 *				calls List, so many at a time on each connection;
 *				"list RATE P50 P99 MAX BYTES PODS DEVICES"
 *	watch WHAT SOCKET COUNT CONNECTIONS
 *				opens watches of "pods" or "allocatable"; "watch MS"
 *	churn COUNT EVERY	makes so many pods and deletes as many, a change each EVERY ms, or
 *				each when all watchers have seen the one before (0);
 *				"churn P50 P99 MAX SPREAD EVENTS S": from when a watch of the API
 *				server shows a pod to when a watcher has its event, of all pods and
 *				watchers; how long after the first watcher the last one has it, at
 *				p99; events that all watchers got; and how long it all took
 *	health COUNT		changes the health of a device, each when all watchers have seen the
 *				one before; "health P50 P99 MAX SPREAD EVENTS S" from the plugin's
 *				message on
 *	close			ends the watches
 *
 * Every watcher must get the same messages: a different number of messages, or different content,
 * is a failure.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "client/informer/cached.h"
#include "client/informer/informer.h"
#include "grpc/message.h"
#include "load.h"
#include "net/net_limits.h"
#include "node/book/methods.h"
#include "node_plugin.h"
#include "node_pods.h"
#include "podres_calls.h"
#include "podres_watchers.h"
#include "podresources.pb-c.h"

enum { PODS_MAX = 100000, TAIL = 512, KEPT = 10 };

/* The pod "bench-I" as the watch of the API server showed it. */
struct pod {
	int64_t seen_ns;
	bool running;
};

/* A message of the watch that all should get. */
struct change {
	int64_t begun_ns; /* of a health change; else that of its pod counts */
	int64_t *at_ns; /* when each watcher got it */
	size_t missing; /* watchers that have not */
	size_t n; /* its length */
	char tail[TAIL]; /* its last bytes */
	size_t pod; /* PODS_MAX: none, or not the pod's first event */
};

struct load {
	struct loop *loop;
	struct client *client;
	struct load_input input;
	struct node_plugin *plugin;
	char *node;
	size_t each; /* devices of a pod */

	struct informers *informers;
	struct informer_handler handler;
	struct pod *pods;
	size_t made, deleted; /* by us */
	size_t seen, running; /* by the API server's word */

	struct podres_watchers *watchers; /* or NULL */
	bool of_pods;
	size_t nwatchers;
	size_t *at; /* messages that each watcher has */
	VEC(struct change) changes;
	size_t complete; /* changes that all watchers have */
	size_t added, gone; /* events of pods */

	/* The command's. */
	size_t want; /* pods to make, or changes of health */
	size_t made_before, added_before, gone_before, changes_before;
	int64_t every_ms, due_ms;
	struct loop_timer pace;
	struct loop_task step;
	size_t told; /* changes of health */
	bool healthy;
	int64_t health_ns;
};

static bool runs(const struct load *l, const char *command)
{
	return l->input.running && strcmp(l->input.running, command) == 0;
}

static void next_step(struct load *l)
{
	loop_defer(l->loop, &l->step);
}

/* --- the API server's word ---------------------------------------------------------------- */

static struct pod *pod_of(struct load *l, struct str name)
{
	uint64_t at;

	if (!str_starts(name, STR("bench-")) || !str_to_u64(str_skip(name, 6), &at) ||
	    at >= PODS_MAX)
		load_die("a pod that nobody made");
	return &l->pods[at];
}

static void see_pod(struct load *l, const struct cached *o)
{
	struct pod *p = pod_of(l, cached_name(o));

	if (!p->seen_ns) {
		p->seen_ns = load_now_ns();
		l->seen++;
	}
	if (!p->running && str_eq(cached_field(o, "status.phase", NULL), STR("Running"))) {
		p->running = true;
		l->running++;
	}
	next_step(l);
}

static void on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	see_pod(CONTAINER_OF(h, struct load, handler), o);
}

static void on_update(struct informer_handler *h, struct cached *old UNUSED, struct cached *o)
{
	see_pod(CONTAINER_OF(h, struct load, handler), o);
}

static void follow_pods(struct load *l)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	struct informer_spec spec = { .resource = &pods };

	if (l->informers)
		return;
	l->pods = xcalloc(PODS_MAX, sizeof(*l->pods));
	l->informers = informers_new(l->client, NULL);
	l->handler = (struct informer_handler){ .on_add = on_add, .on_update = on_update };
	informer_add_handler(informers_get(l->informers, &spec), &l->handler);
	informers_start(l->informers);
}

/* --- what watchers see -------------------------------------------------------------------- */

/* Whose first event or end it is. */
static size_t pod_of_event(struct load *l, struct str message)
{
	CLEANUP(arena_release) struct arena a;
	Podresources__PodEvent *event = NULL;
	struct error err;

	arena_init(&a, SIZE_MAX);
	if (grpc_message_unpack(podres_method_watch.response, message, &a, (void **)&event, &err) <
	    0)
		load_die(err.msg);
	if (event->n_pod_resources != 1 || !event->uid[0])
		load_die("an event without its pod");
	if (event->action == PODRESOURCES__ACTION__DELETED)
		l->gone++;
	if (event->action != PODRESOURCES__ACTION__ADDED)
		return PODS_MAX;
	l->added++;
	return (size_t)(pod_of(l, str_from(event->pod_resources[0]->name)) - l->pods);
}

static void add_change(struct load *l, struct str message)
{
	struct change c = { .n = message.n, .missing = l->nwatchers, .pod = PODS_MAX };
	size_t n = MIN(message.n, TAIL);

	memcpy(c.tail, message.p + message.n - n, n);
	c.at_ns = xcalloc(l->nwatchers, sizeof(*c.at_ns));
	c.begun_ns = l->health_ns;
	if (l->of_pods)
		c.pod = pod_of_event(l, message);
	(void)vec_push(&l->changes, c);
}

static void on_message(void *arg, size_t watcher, struct str message, int64_t now_ns)
{
	struct load *l = arg;
	size_t at = l->at[watcher]++, n = MIN(message.n, TAIL);
	struct change *c;

	if (at == l->changes.n)
		add_change(l, message);
	c = &l->changes.v[at];
	if (c->n != message.n || memcmp(c->tail, message.p + message.n - n, n) != 0)
		load_die("watchers are told different things");
	c->at_ns[watcher] = now_ns;
	if (--c->missing == 0) {
		l->complete++;
		next_step(l);
	}
}

/* --- results ------------------------------------------------------------------------------ */

static double ms_between(int64_t from_ns, int64_t to_ns)
{
	return (double)(to_ns - from_ns) / (double)CLOCK_MS;
}

static void add_times(struct load *l, const struct change *c, struct load_times *latency,
		      struct load_times *spread)
{
	int64_t begun = l->of_pods ? l->pods[c->pod].seen_ns : c->begun_ns;
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < l->nwatchers; i++) {
		load_times_add(latency, ms_between(begun, c->at_ns[i]));
		first = MIN(first, c->at_ns[i]);
		last = MAX(last, c->at_ns[i]);
	}
	load_times_add(spread, ms_between(first, last));
}

static void tell_times(struct load *l)
{
	struct load_times latency = { 0 }, spread = { 0 };
	size_t events = l->changes.n - l->changes_before;

	for (size_t i = l->changes_before; i < l->changes.n; i++) {
		struct change *c = &l->changes.v[i];

		if (!l->of_pods || c->pod != PODS_MAX)
			add_times(l, c, &latency, &spread);
		free(TAKE(c->at_ns));
	}
	load_answer(&l->input, "%.2f %.2f %.2f %.2f %zu %.2f", load_times_percentile(&latency, 50),
		    load_times_percentile(&latency, 99), load_times_percentile(&latency, 100),
		    load_times_percentile(&spread, 99), events * l->nwatchers,
		    load_since_ms(l->input.begun_ns) / 1000);
	free(latency.v);
	free(spread.v);
}

/* --- changes ------------------------------------------------------------------------------ */

static void make_one(struct load *l)
{
	struct node_pods_opts o = { .client = l->client,
				    .first = l->made++,
				    .count = 1,
				    .node = l->node,
				    .per_plugin = l->each };

	node_pods_make(&o);
}

/*
 * Makes a pod, or deletes the oldest of those made by this command, by turns; not before it runs.
 * In a hurry some are kept, so that there is seldom anything to wait for.
 */
static void make_change(struct load *l)
{
	size_t made = l->made - l->made_before, keep = l->every_ms ? KEPT : 0;
	size_t oldest = l->made_before + l->deleted;

	if (made < l->want && made <= l->deleted + keep) {
		make_one(l);
	} else if (l->pods[oldest].running) {
		node_pods_delete(l->client, oldest);
		l->deleted++;
	}
}

static void on_pace(struct loop_timer *t)
{
	struct load *l = CONTAINER_OF(t, struct load, pace);

	make_change(l);
	if (l->deleted == l->want)
		return;
	/* A late change does not hurry the next ones: they would come at once, not one by one. */
	l->due_ms = MAX(l->due_ms + l->every_ms, loop_now(l->loop) + 1);
	loop_timer_start(t, l->due_ms - loop_now(l->loop));
}

static void step_churn(struct load *l)
{
	bool all = l->added - l->added_before == l->made - l->made_before &&
		   l->gone - l->gone_before == l->deleted && l->seen == l->made &&
		   l->complete == l->changes.n;

	if (!all)
		return;
	if (l->deleted == l->want)
		tell_times(l);
	else if (!l->every_ms)
		make_change(l);
}

static void change_health(struct load *l)
{
	l->told++;
	l->healthy = !l->healthy;
	l->health_ns = node_plugin_set(l->plugin, 0, l->healthy);
	if (!l->health_ns)
		load_die("the agent does not watch the plugin any more");
}

static void step_health(struct load *l)
{
	if (l->complete < l->changes_before + l->told)
		return;
	if (l->told == l->want)
		tell_times(l);
	else
		change_health(l);
}

/* Something was seen: is that the end, or is the next to be done? */
static void on_step(struct loop_task *t)
{
	struct load *l = CONTAINER_OF(t, struct load, step);

	if (runs(l, "pods") && l->running == l->made)
		load_answer(&l->input, "%.2f", load_since_ms(l->input.begun_ns));
	else if (runs(l, "churn"))
		step_churn(l);
	else if (runs(l, "health"))
		step_health(l);
}

/* --- commands ----------------------------------------------------------------------------- */

static void on_watched(void *arg)
{
	struct load *l = arg;

	if (runs(l, "plugin"))
		load_answer(&l->input, "%s", "");
}

static void obey_plugin(void *arg, char **words)
{
	struct load *l = arg;
	struct node_plugin_opts o = { .loop = l->loop,
				      .root = xstrdup(words[1]),
				      .devices = load_number(words[2]),
				      .on_watched = on_watched,
				      .arg = l };
	struct error err;

	l->healthy = true;
	if (node_plugin_new(&o, &l->plugin, &err) < 0)
		load_die(err.msg);
}

static void obey_pods(void *arg, char **words)
{
	struct load *l = arg;
	struct node_pods_opts o = { .client = l->client, .first = l->made };

	l->node = xstrdup(words[2]);
	l->each = load_number(words[3]);
	o.count = load_number(words[1]);
	o.node = l->node;
	o.per_plugin = l->each;
	l->made += o.count;
	follow_pods(l);
	node_pods_make(&o);
}

static struct addr socket_of(const char *path)
{
	struct addr to;
	struct error err;
	char text[NET_ADDRESS_MAX];

	(void)snprintf(text, sizeof(text), "unix:%s", path);
	if (addr_parse(&to, str_from(text), 0, &err) < 0)
		load_die(err.msg);
	return to;
}

static void on_listed(void *arg, struct podres_calls_result *r)
{
	struct load *l = arg;

	load_answer(&l->input, "%.0f %.3f %.3f %.3f %zu %zu %zu", (double)r->ms.n / r->s,
		    load_times_percentile(&r->ms, 50), load_times_percentile(&r->ms, 99),
		    load_times_percentile(&r->ms, 100), r->bytes, r->pods, r->devices);
}

static void obey_list(void *arg, char **words)
{
	struct load *l = arg;
	struct podres_calls_opts o = { .loop = l->loop,
				       .to = socket_of(words[1]),
				       .calls = load_number(words[2]),
				       .connections = load_number(words[3]),
				       .flight = load_number(words[4]),
				       .on_done = on_listed,
				       .arg = l };

	podres_calls_run(&o);
}

static void on_open(void *arg)
{
	struct load *l = arg;

	load_answer(&l->input, "%.2f", load_since_ms(l->input.begun_ns));
}

static void obey_watch(void *arg, char **words)
{
	struct load *l = arg;
	bool pods = strcmp(words[1], "pods") == 0;
	struct podres_watchers_opts o = {
		.loop = l->loop,
		.to = socket_of(words[2]),
		.method = pods ? &podres_method_watch : &podres_method_watch_allocatable,
		.count = load_number(words[3]),
		.connections = load_number(words[4]),
		.on_open = on_open,
		.on_message = on_message,
		.arg = l,
	};

	l->of_pods = pods;
	l->nwatchers = o.count;
	l->at = xcalloc(o.count, sizeof(*l->at));
	l->changes.n = l->complete = 0;
	l->watchers = podres_watchers_new(&o);
}

static void obey_close(void *arg, char **words UNUSED)
{
	struct load *l = arg;

	podres_watchers_free(TAKE(l->watchers));
	free(TAKE(l->at));
	load_answer(&l->input, "%s", "");
}

static void obey_churn(void *arg, char **words)
{
	struct load *l = arg;

	l->want = load_number(words[1]);
	l->every_ms = (int64_t)load_number(words[2]);
	l->due_ms = loop_now(l->loop);
	l->made_before = l->made;
	l->deleted = 0;
	l->added_before = l->added;
	l->gone_before = l->gone;
	l->changes_before = l->changes.n;
	if (!l->want || !l->of_pods || !l->watchers)
		load_die("nothing to churn");
	if (l->every_ms)
		loop_timer_start(&l->pace, 0);
	else
		make_change(l);
}

static void obey_health(void *arg, char **words)
{
	struct load *l = arg;

	l->want = load_number(words[1]);
	l->told = 0;
	l->changes_before = l->changes.n;
	if (!l->want || l->of_pods || !l->watchers || !l->plugin)
		load_die("nothing to change");
	change_health(l);
}

static const struct load_command commands[] = {
	{ "plugin", 3, obey_plugin }, { "pods", 4, obey_pods },
	{ "list", 5, obey_list },     { "watch", 5, obey_watch },
	{ "close", 1, obey_close },   { "churn", 3, obey_churn },
	{ "health", 2, obey_health }, { NULL },
};

/* --- setup -------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	struct load *l = XNEW(struct load);

	if (argc != 2)
		load_die("usage: podres_load KUBECONFIG");
	load_connect(argv[1], "podres-load", &l->loop, &l->client);
	vec_init(&l->changes, SIZE_MAX);
	loop_timer_init(&l->pace, l->loop, on_pace);
	loop_task_init(&l->step, on_step);
	load_input_start(&l->input, l->loop, commands, l);
	loop_run(l->loop);
	return 0;
}
