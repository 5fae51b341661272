/*
 * The machine is read at the start and again every few seconds, because sysfs sends no notification
 * when CPUs go on or off line or memory is plugged. Changes go into the assignment log and the
 * Node. Containers that share CPUs are updated at the end of the turn, as when a pod takes
 * exclusive CPUs.
 */
#include "base/report/log.h"
#include "node/agent/agent_impl.h"
#include "node/registration/object.h"

/* A hollow node reads a machine only if the options name one. */
static bool is_made_up(const struct agent *a)
{
	return !a->opts.runtime_endpoint && !a->opts.sysfs && !a->opts.procfs;
}

int agent_read_machine(const struct agent *a, struct machine *m, struct error *err)
{
	const struct agent_opts *o = &a->opts;

	if (!is_made_up(a))
		return machine_read(m, o->sysfs ? o->sysfs : "/sys",
				    o->procfs ? o->procfs : "/proc", o->etc ? o->etc : "/etc", err);
	machine_make(m, (int)o->hollow_cpus, o->hollow_memory, (int)o->hollow_numa);
	return 0;
}

/* Readers keep their pointer, which now shows the new machine. */
static void machine_replace(struct agent *a, struct machine *m)
{
	struct machine old = a->machine;

	a->machine = *m;
	*m = old;
	log_info(a->opts.log, "the machine has changed", LOG_INT("cpus", (int64_t)a->machine.ncpus),
		 LOG_INT("memory", a->machine.memory_bytes));
	assign_set_machine(a->host.assign, &a->machine);
	node_object_set_machine(a->host.node, &a->machine);
}

static void on_machine_timer(struct loop_timer *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, machine_timer);
	struct machine now = { 0 };
	struct error err;

	loop_timer_start(t, a->opts.machine_check_ms);
	if (agent_read_machine(a, &now, &err) < 0) {
		log_warn(a->opts.log, "cannot read CPUs and memory of the machine again",
			 LOG_ERR(&err));
		return;
	}
	if (!machine_equal(&a->machine, &now))
		machine_replace(a, &now);
	machine_release(&now);
}

static void on_cpus(struct loop_task *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, cpus_task);
	struct str key;
	size_t at = 0;
	void *w;

	while (map_next(&a->workers, &at, &key, &w))
		worker_cpus_follow(w);
}

void agent_cpus_changed(struct agent *a)
{
	loop_defer(a->opts.loop, &a->cpus_task);
}

void agent_machine_init(struct agent *a)
{
	loop_task_init(&a->cpus_task, on_cpus);
	loop_timer_init(&a->machine_timer, a->opts.loop, on_machine_timer);
	if (a->opts.machine_check_ms > 0 && !is_made_up(a))
		loop_timer_start(&a->machine_timer, a->opts.machine_check_ms);
}

void agent_machine_release(struct agent *a)
{
	loop_task_cancel(&a->cpus_task);
	loop_timer_stop(&a->machine_timer);
}
