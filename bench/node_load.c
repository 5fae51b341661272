/*
 * node_load KUBECONFIG - what a node agent has to do with: a driver, an administrator, a watch.
 *
 * One watch of all pods shows when a driver's report is visible to everybody. All three are in one
 * process, so that one clock measures when a report was sent and when it was seen. Their own CPU
 * use is part of the figures. Obeys these commands (load.h); times are in ms:
 *
 *	driver SOCKET DEVICES PER_POD	serves a DRA driver; "driver" when an agent watches it
 *	pods COUNT NODE		makes pods on a node, or one on each of NODE0, NODE1, .. when NODE
 *				ends in '-'; "pods MS" when all run and show all their devices
 *	ready COUNT		"ready MS" when so many nodes are ready
 *	report COUNT EVERY CHANGES
 *				sends so many reports of all devices, one each EVERY ms, or each
 *				when the one before has been seen (0), in which so many devices
 *				have changed; "report P50 P99 MAX LAST": until a change, or a
 *				later one of that device, was seen; and until all of the last
 *				report was
 *	expire ROUNDS CHANGES	reports so many devices with a time-out of 1 s and falls silent;
 *				"expire P50 P99 MAX": how long after that Unknown was seen
 */
#include <stdio.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "load.h"
#include "node_driver.h"
#include "node_pods.h"

enum {
	LONG_S = 3600, /* a time-out that does not come */
	SHORT_S = 1,
	NUMBERED_MAX = 10000,
};

#define NONE UINT32_MAX

/* A change that was said. */
struct sample {
	uint64_t report;
	int64_t sent_ns;
	uint32_t next; /* of the same device, or NONE */
};

struct device {
	uint32_t first, last; /* samples that have not been seen, or NONE */
	int64_t expires_ns; /* when Unknown should be seen; 0: not */
	bool seen, unhealthy;
};

/* Which of NAME-0, NAME-1, .. are as wanted. */
struct numbered {
	bool *is;
	size_t count;
};

struct load {
	struct loop *loop;
	struct client *client;
	struct load_input input;
	struct prng prng;
	struct load_watch pods_watch, nodes_watch;
	struct numbered running, ready;

	/* The driver's. */
	struct node_driver *driver; /* or NULL */
	size_t devices, per_pod;
	size_t used; /* devices that pods have: the first ones */
	size_t seen; /* of those: in a pod's status */
	struct device *device;
	uint64_t report; /* number of the last one */
	int64_t sent_ns; /* when it was sent */

	/* The command's. */
	size_t want, changes;
	int64_t every_ms, due_ms;
	struct loop_timer pace;
	struct loop_task step;
	VEC(struct sample) samples;
	size_t unseen;
	struct load_times ms;
};

/* First letter of the command that is obeyed, or 0; 'n' is "ready". */
static char command(const struct load *l)
{
	if (!l->input.running)
		return 0;
	return strcmp(l->input.running, "ready") == 0 ? 'n' : l->input.running[0];
}

/* Percentiles, if there are any, and one number more, if there is one. */
static void finish(struct load *l, const double *more)
{
	struct load_times *t = &l->ms;
	char text[32] = "";

	if (more)
		(void)snprintf(text, sizeof(text), "%.2f", *more);
	l->samples.n = 0;
	if (t->n)
		load_answer(&l->input, "%.2f %.2f %.2f %s", load_times_percentile(t, 50),
			    load_times_percentile(t, 99), load_times_percentile(t, 100), text);
	else
		load_answer(&l->input, "%s", text);
	t->n = 0;
}

/* --- reports ---------------------------------------------------------------------- */

static void add_sample(struct load *l, struct device *d)
{
	uint32_t at = (uint32_t)l->samples.n;

	(void)vec_push(&l->samples, (struct sample){ .report = l->report, .next = NONE });
	if (d->first == NONE)
		d->first = at;
	else
		l->samples.v[d->last].next = at;
	d->last = at;
	l->unseen++;
}

static void change(struct load *l, size_t i)
{
	struct device *d = &l->device[i];

	d->unhealthy = !d->unhealthy;
	node_driver_set(l->driver, i, l->report, !d->unhealthy, LONG_S);
	if (i < l->used)
		add_sample(l, d);
}

static void send_report(struct load *l)
{
	l->sent_ns = node_driver_report(l->driver);
	if (!l->sent_ns)
		load_die("the agent does not watch health any more");
}

static void report_changes(struct load *l)
{
	size_t first = l->samples.n;

	l->report++;
	l->want--;
	for (size_t i = 0; i < l->changes; i++)
		change(l, l->changes == l->devices ? i : prng_below(&l->prng, l->used));
	send_report(l);
	for (size_t i = first; i < l->samples.n; i++)
		l->samples.v[i].sent_ns = l->sent_ns;
}

static void on_pace(struct loop_timer *t)
{
	struct load *l = CONTAINER_OF(t, struct load, pace);

	report_changes(l);
	if (l->want == 0)
		return;
	/* A late change does not hurry the next ones: they would come at once, not one by one. */
	l->due_ms = MAX(l->due_ms + l->every_ms, loop_now(l->loop) + 1);
	loop_timer_start(t, l->due_ms - loop_now(l->loop));
}

/* Devices of pods that follow each other, others in each round. */
static size_t short_one(const struct load *l, size_t i)
{
	return (l->want * l->changes + i) * l->per_pod % l->used;
}

/* Some devices will no longer be reported. */
static void report_short(struct load *l)
{
	l->report++;
	l->want--;
	for (size_t i = 0; i < l->used; i++)
		node_driver_set(l->driver, i, l->report, true, LONG_S);
	for (size_t i = 0; i < l->changes; i++)
		node_driver_set(l->driver, short_one(l, i), l->report, true, SHORT_S);
	send_report(l);
	for (size_t i = 0; i < l->changes; i++)
		l->device[short_one(l, i)].expires_ns = l->sent_ns + SHORT_S * CLOCK_SEC;
	l->unseen = l->changes;
}

static void say_all_well(struct load *l)
{
	l->report++;
	for (size_t i = 0; i < l->devices; i++) {
		l->device[i].unhealthy = false;
		node_driver_set(l->driver, i, l->report, true, LONG_S);
	}
	send_report(l);
}

/* Whether all that the command asks for has been seen; of 'e' something is left to say. */
static bool is_over(const struct load *l)
{
	switch (command(l)) {
	case 'r':
		return l->want == 0;
	case 'p':
		return l->running.count == l->want && (!l->driver || l->seen == l->used);
	case 'n':
		return l->ready.count == l->want;
	default:
		return false;
	}
}

/* Something was seen: is that the end, or is the next to be said? */
static void on_step(struct loop_task *t)
{
	struct load *l = CONTAINER_OF(t, struct load, step);
	double took;

	if (l->unseen)
		return;
	took = load_since_ms(command(l) == 'r' ? l->sent_ns : l->input.begun_ns);
	if (is_over(l)) {
		finish(l, &took);
	} else if (command(l) == 'r' && l->every_ms == 0) {
		report_changes(l);
	} else if (command(l) == 'e' && l->want == 0) {
		say_all_well(l);
		finish(l, NULL);
	} else if (command(l) == 'e') {
		report_short(l);
	}
}

static void next_step(struct load *l)
{
	loop_defer(l->loop, &l->step);
}

/* --- what is seen ----------------------------------------------------------------- */

static void see_report(struct load *l, struct device *d, uint64_t report)
{
	if (!d->seen)
		l->seen++;
	d->seen = true;
	while (d->first != NONE && l->samples.v[d->first].report <= report) {
		load_times_add(&l->ms, load_since_ms(l->samples.v[d->first].sent_ns));
		d->first = l->samples.v[d->first].next;
		l->unseen--;
	}
}

static void see_unknown(struct load *l, struct device *d)
{
	if (!d->expires_ns)
		return;
	load_times_add(&l->ms, load_since_ms(d->expires_ns));
	d->expires_ns = 0;
	l->unseen--;
}

static void see_device(struct load *l, const struct json *resource)
{
	struct str id = json_text_at(resource, "resourceID"), health, says;
	struct str before = STR(NODE_DRIVER "/" NODE_DRIVER_POOL "/" NODE_DRIVER_DEVICE);
	uint64_t at, report;

	if (!str_to_u64(str_skip(id, before.n), &at) || at >= l->used)
		return;
	health = json_text_at(resource, "health");
	says = json_text_at(resource, "message");
	if (str_eq(health, STR("Unknown")))
		see_unknown(l, &l->device[at]);
	else if (str_to_u64(str_skip(says, strlen(NODE_DRIVER_SAYS)), &report))
		see_report(l, &l->device[at], report);
}

static void see_numbered(struct numbered *v, const struct json *object)
{
	struct str name = json_text_at(json_getz(object, "metadata"), "name"), piece = STR_NULL;
	uint64_t at;

	while (str_split(&name, '-', &piece))
		continue;
	if (!str_to_u64(piece, &at) || at >= NUMBERED_MAX || v->is[at])
		return;
	v->is[at] = true;
	v->count++;
}

static void on_pod(void *arg, const struct json *pod)
{
	struct load *l = arg;
	const struct json *status = json_getz(pod, "status");

	if (str_eq(json_text_at(status, "phase"), STR("Running")))
		see_numbered(&l->running, pod);
	JSON_FOREACH (container, json_getz(status, "containerStatuses")) {
		JSON_FOREACH (of, json_getz(container, "allocatedResourcesStatus")) {
			JSON_FOREACH (resource, json_getz(of, "resources"))
				see_device(l, resource);
		}
	}
}

static void on_node(void *arg, const struct json *node)
{
	struct load *l = arg;

	JSON_FOREACH (c, json_getz(json_getz(node, "status"), "conditions")) {
		if (str_eq(json_text_at(c, "type"), STR("Ready")) &&
		    str_eq(json_text_at(c, "status"), STR("True")))
			see_numbered(&l->ready, node);
	}
}

static void on_piece(void *arg)
{
	next_step(arg);
}

/* --- commands --------------------------------------------------------------------- */

static void on_watched(void *arg)
{
	struct load *l = arg;

	say_all_well(l);
	if (command(l) == 'd')
		finish(l, NULL);
}

static void obey_driver(void *arg, char **words)
{
	struct load *l = arg;
	struct node_driver_opts o = { .loop = l->loop,
				      .socket = xstrdup(words[1]),
				      .devices = load_number(words[2]),
				      .per_claim = load_number(words[3]),
				      .on_watched = on_watched,
				      .arg = l };
	struct error err;

	l->devices = o.devices;
	l->per_pod = o.per_claim;
	l->device = xcalloc(o.devices, sizeof(*l->device));
	for (size_t i = 0; i < o.devices; i++)
		l->device[i].first = NONE;
	if (node_driver_new(&o, &l->driver, &err) < 0)
		load_die(err.msg);
}

static void obey_pods(void *arg, char **words)
{
	struct load *l = arg;
	struct node_pods_opts o = { .client = l->client,
				    .count = load_number(words[1]),
				    .node = xstrdup(words[2]),
				    .per_claim = l->per_pod };

	l->want = o.count;
	l->used = MIN(o.count * l->per_pod, l->devices);
	load_watch_start(&l->pods_watch, l->client);
	node_pods_make(&o);
}

static void obey_ready(void *arg, char **words)
{
	struct load *l = arg;
	l->want = load_number(words[1]);
	load_watch_start(&l->nodes_watch, l->client);
}

static void obey_report(void *arg, char **words)
{
	struct load *l = arg;
	l->want = load_number(words[1]);
	l->every_ms = (int64_t)load_number(words[2]);
	l->changes = load_number(words[3]);
	l->due_ms = loop_now(l->loop);
	if (!l->used || !l->want || !l->changes)
		load_die("nothing to report");
	if (l->every_ms)
		loop_timer_start(&l->pace, 0);
	else
		report_changes(l);
}

static void obey_expire(void *arg, char **words)
{
	struct load *l = arg;
	l->want = load_number(words[1]);
	l->changes = load_number(words[2]);
	if (!l->used || !l->want || !l->changes)
		load_die("nothing to expire");
	report_short(l);
}

static const struct load_command commands[] = {
	{ "driver", 4, obey_driver }, { "pods", 3, obey_pods },     { "ready", 2, obey_ready },
	{ "report", 4, obey_report }, { "expire", 3, obey_expire }, { NULL },
};

/* --- setup ------------------------------------------------------------------------ */

int main(int argc, char **argv)
{
	struct load *l = XNEW(struct load);

	if (argc != 2)
		load_die("usage: node_load KUBECONFIG");
	load_connect(argv[1], "node-load", &l->loop, &l->client);
	vec_init(&l->samples, NONE);
	l->pods_watch = (struct load_watch){
		.path = "/api/v1/pods", .on_object = on_pod, .on_piece = on_piece, .arg = l
	};
	l->nodes_watch = (struct load_watch){
		.path = "/api/v1/nodes", .on_object = on_node, .on_piece = on_piece, .arg = l
	};
	prng_init(&l->prng, 1);
	l->running.is = xcalloc(NUMBERED_MAX, sizeof(*l->running.is));
	l->ready.is = xcalloc(NUMBERED_MAX, sizeof(*l->ready.is));
	loop_timer_init(&l->pace, l->loop, on_pace);
	loop_task_init(&l->step, on_step);
	load_input_start(&l->input, l->loop, commands, l);
	loop_run(l->loop);
	return 0;
}
