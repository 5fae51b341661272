/*
 * scheduler_limits - limits of the scheduler; see base/core/limits.h.
 */
#ifndef SCHEDULER_SCHEDULER_LIMITS_H
#define SCHEDULER_SCHEDULER_LIMITS_H

#include "base/core/limits.h"

/* The scheduler: memory for the tree of one pod or node, several times its text. */
#define POD_WORK_MAX      (64UL * MIB)
#define NODE_WORK_MAX     (64UL * MIB)
#define POD_RESOURCES_MAX 512 /* resources that one pod requests; one with more is left alone */
/* Filters run by one search for victims; each pod of a node may need one. */
#define PREEMPTION_FILTERS_MAX 20000
/* Types of extended resources; and the text that one writes for /debug/cache, per node. */
#define EXTENDED_TYPES_MAX 256
#define EXTENDED_TEXT_MAX  (1UL * MIB)
#define PLUGIN_ARGS_MAX    (1UL * MIB) /* of a scheduler plugin, as text */

#endif
