/*
 * SchedulingGates: a pod with spec.schedulingGates is not queued until the last one is gone.
 */
#include "base/core/buf.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/plugins/plugins.h"

enum { GATES_TEXT_MAX = 1 << 16 };

static struct verdict pre_enqueue(struct plugin *p, const struct podinfo *pod, struct arena *a)
{
	struct buf names = BUF_INIT(GATES_TEXT_MAX);
	struct verdict v;

	if (pod->ngates == 0)
		return VERDICT_OK;
	for (size_t i = 0; i < pod->ngates; i++)
		(void)buf_printf(&names, "%s%.*s", i ? " " : "", STR_ARG(pod->gates[i]));
	v = verdict_print(a, VERDICT_UNRESOLVABLE, "waiting for scheduling gates: [%.*s]",
			  STR_ARG(buf_str(&names)));
	buf_release(&names);
	return v;
}

static const struct plugin_event events[] = {
	{ .kind = EVENT_UNSCHEDULED_POD, .actions = EVENT_UPDATE_POD_GATES },
	{ 0 },
};

const struct plugin_kind plugin_scheduling_gates = {
	.name = "SchedulingGates",
	.events = events,
	.pre_enqueue = pre_enqueue,
};
