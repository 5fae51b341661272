/*
 * PrioritySort: pods of higher priority first; among equal ones, those that have waited longer.
 */
#include "scheduler/plugins/plugins.h"
#include "scheduler/queue/podqueue.h"

static bool less(const struct plugin *p, const struct queued_pod *a, const struct queued_pod *b)
{
	if (a->pod->priority != b->pod->priority)
		return a->pod->priority > b->pod->priority;
	return a->since_ms < b->since_ms;
}

const struct plugin_kind plugin_priority_sort = {
	.name = "PrioritySort",
	.less = less,
};
