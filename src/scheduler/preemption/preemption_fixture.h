/*
 * preemption_fixture - shortcuts to create nodes and pods, for tests of preemption.
 */
#ifndef SCHEDULER_PREEMPTION_PREEMPTION_FIXTURE_H
#define SCHEDULER_PREEMPTION_PREEMPTION_FIXTURE_H

#include <stdio.h>

#include "scheduler/run/scheduler_fixture.h"

/* Adds a node with 1000 milli-CPUs. */
static inline void node(struct scheduler_fixture *f, const char *name)
{
	scheduler_fixture_node(
		f, arena_printf(&f->arena, "{'name':'%s','cpu':'1','memory':'1Gi'}", name));
}

/*
 * Adds a pod on a node, started so many seconds after midnight; 0: not yet. `more` ends in a comma.
 */
static inline void pod(struct scheduler_fixture *f, const char *name, const char *at, int priority,
		       int cpu, int started, const char *more)
{
	char status[64] = "{}";

	if (started)
		(void)snprintf(status, sizeof(status), "{'startTime':'2026-01-01T00:00:%02dZ'}",
			       started);
	scheduler_fixture_pod(f, arena_printf(&f->arena,
					      "{%s'name':'%s','nodeName':'%s','priority':%d,"
					      "'status':%s,'requests':{'cpu':'%dm'}}",
					      more ? more : "", name, at, priority, status, cpu));
}

#endif
