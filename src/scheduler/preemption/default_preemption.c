/*
 * DefaultPreemption: if a pod fits on no node, evicts pods of lower priority. preemption.c decides,
 * and run.c evicts; this file implements the extension points. The preemptor stays out of the queue
 * until all its victims are being deleted. Events of the plugins that rejected it wake it again, so
 * the hint here is always to skip.
 */
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/json/json.h"
#include "base/report/field_errors.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/framework/common.h"
#include "scheduler/framework/profile.h"
#include "scheduler/preemption/run.h"
#include "scheduler/queue/podqueue.h"

enum { ARGS_MEMORY_MAX = 1 << 16 };

struct default_preemption {
	int32_t percentage, absolute;
	struct preemption_runs runs;
	struct prng prng; /* where among the nodes a search begins */
	struct metrics_counter *attempts;
	struct metrics_histogram *victims;
};

/* --- arguments ------------------------------------------------------------------------------- */

static void check_args(struct field_errors *faults, int64_t percentage, int64_t absolute)
{
	struct field_path first = field_path_name(NULL, "minCandidateNodesPercentage");
	struct field_path second = field_path_name(NULL, "minCandidateNodesAbsolute");

	if (percentage < 0 || percentage > 100)
		field_errors_invalid(faults, &first, FIELD_I64(percentage),
				     "not in valid range [0, 100]");
	if (absolute < 0 || absolute > INT32_MAX)
		field_errors_invalid(faults, &second, FIELD_I64(absolute),
				     "not in valid range [0, inf)");
	if (percentage || absolute)
		return;
	field_errors_invalid(faults, &first, FIELD_I64(percentage),
			     "cannot be zero at the same time as minCandidateNodesAbsolute");
	field_errors_invalid(faults, &second, FIELD_I64(absolute),
			     "cannot be zero at the same time as minCandidateNodesPercentage");
}

static int default_preemption_read_args(struct default_preemption *d, const struct json *args,
					struct error *err)
{
	static const char *const fields[] = { "minCandidateNodesPercentage",
					      "minCandidateNodesAbsolute", NULL };
	int64_t percentage = json_i64_at(args, fields[0], 10);
	int64_t absolute = json_i64_at(args, fields[1], 100);
	struct field_errors faults;
	struct arena a;
	int r = plugin_args_check(args, "DefaultPreemptionArgs", fields, err);

	if (r < 0)
		return r;
	arena_init(&a, ARGS_MEMORY_MAX);
	field_errors_init(&faults, &a);
	check_args(&faults, percentage, absolute);
	r = plugin_args_verdict(&faults, err);
	arena_release(&a);
	d->percentage = (int32_t)percentage;
	d->absolute = (int32_t)absolute;
	return r;
}

/* --- the plugin ------------------------------------------------------------------------------ */

static void init_metrics(struct default_preemption *d, struct metrics *m)
{
	static const double bounds[] = { 1, 2, 4, 8, 16, 32, 64 };
	struct metrics_family *f = NULL;

	if (!m)
		return;
	(void)metrics_register(
		m,
		&(struct metrics_spec){ .name = "scheduler_preemption_attempts_total",
					.help = "Total preemption attempts in the cluster till now",
					.type = METRICS_COUNTER },
		&f, NULL);
	d->attempts = metrics_counter_of(f, NULL, 0);
	(void)metrics_register(
		m,
		&(struct metrics_spec){
			.name = "scheduler_preemption_victims",
			.help = "Number of selected preemption victims for preemption "
				"initiated by a single pod",
			.type = METRICS_HISTOGRAM,
			.bounds = bounds,
			.bounds_n = ARRAY_SIZE(bounds) },
		&f, NULL);
	d->victims = metrics_histogram_of(f, NULL, 0);
}

static void default_preemption_release(struct plugin *p)
{
	struct default_preemption *d = p->state;

	if (!d)
		return;
	preemption_runs_release(&d->runs);
	free(d);
	p->state = NULL;
}

static int default_preemption_init(struct plugin *p, const struct json *args, struct error *err)
{
	struct default_preemption *d = XNEW(struct default_preemption);
	int r = default_preemption_read_args(d, args, err);

	if (r < 0) {
		free(d);
		return r;
	}
	preemption_runs_init(&d->runs, p->services);
	prng_init(&d->prng, random_u64());
	init_metrics(d, p->services->metrics);
	p->state = d;
	return 0;
}

void preemption_set_hooks(struct profile *p, const struct preemption_hooks *hooks)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->plugins[i].kind == &plugin_default_preemption)
			((struct default_preemption *)p->plugins[i].state)->runs.hooks = *hooks;
}

static struct verdict pre_enqueue(struct plugin *p, const struct podinfo *pod, struct arena *a)
{
	struct default_preemption *d = p->state;

	if (!preemption_runs_pending(&d->runs, pod->uid))
		return VERDICT_OK;
	return verdict_of(a, VERDICT_UNRESOLVABLE,
			  STR("waiting for the preemption for this pod to be finished"));
}

static enum event_hint never(const struct plugin *p, const struct podinfo *waiting,
			     const struct cluster_event *e)
{
	return HINT_SKIP;
}

/* --- post_filter ----------------------------------------------------------------------------- */

/* As decided last; the status may not show it yet. */
static struct str nominated_for(const struct cycle *c)
{
	struct str node = STR_NULL;

	if (c->services->queue)
		node = podqueue_nominated(c->services->queue, c->pod->uid);
	return node.n ? node : c->pod->nominated;
}

static struct verdict with_prefix(struct arena *a, const struct verdict *v)
{
	struct str why = verdict_message(v, a);

	return why.n ? verdict_print(a, v->code, "preemption: %.*s", STR_ARG(why)) : *v;
}

static struct verdict post_filter(struct plugin *p, struct cycle *c, struct str *ret_nominated)
{
	struct default_preemption *d = p->state;
	struct preemption attempt = { .cycle = c,
				      .pdbs = p->services->pdbs,
				      .nominated = nominated_for(c),
				      .percentage = d->percentage,
				      .absolute = d->absolute,
				      .offset = prng_below(&d->prng, UINT32_MAX) };
	struct preemption_choice choice;
	struct verdict v;
	bool hopeless;

	if (d->attempts)
		metrics_counter_add(d->attempts, 1);
	v = preemption_decide(&attempt, &choice, &hopeless);
	if (hopeless)
		*ret_nominated = STR("");
	if (v.code != VERDICT_SUCCESS)
		return with_prefix(&c->arena, &v);
	if (d->victims)
		metrics_histogram_observe(d->victims, (double)choice.n);
	*ret_nominated = arena_str(&c->arena, choice.node->name);
	preemption_runs_begin(&d->runs, c->pod, &choice);
	return verdict_print(&c->arena, VERDICT_SUCCESS,
			     "preemption: found a potential placement for pod on node %.*s, "
			     "preempting %zu victims",
			     STR_ARG(choice.node->name), choice.n);
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_ASSIGNED_POD, .actions = EVENT_DELETE, .hint = never },
	{ .actions = 0 },
};

const struct plugin_kind plugin_default_preemption = {
	.name = "DefaultPreemption",
	.init = default_preemption_init,
	.release = default_preemption_release,
	.events = events,
	.pre_enqueue = pre_enqueue,
	.post_filter = post_filter,
};
