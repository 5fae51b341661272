/*
 * cel_limits - limits of CEL; see base/core/limits.h.
 */
#ifndef CEL_CEL_LIMITS_H
#define CEL_CEL_LIMITS_H

#include "base/core/limits.h"

/* Expressions in CEL. */
#define CEL_TEXT_MAX    100000 /* characters of one expression, as cel-go bounds it */
#define CEL_DEPTH_MAX   250 /* nesting of the text, like cel-go; values are deeper */
#define CEL_HEIGHT_MAX  1000 /* height of the tree, with macros expanded: walkers recurse */
#define CEL_NODES_MAX   200000
#define CEL_ISSUES_MAX  100 /* errors reported for one expression */
#define CEL_SCRATCH_MAX (64UL * MIB) /* memory that one evaluation may allocate */
#define CEL_PROGRAM_MAX (16UL * MIB) /* memory of one compiled expression */
/* Steps of the checker on types, which can be exponentially large; a type's text in a message. */
#define CEL_TYPE_STEPS_MAX 20000000
#define CEL_TYPE_DEPTH_MAX 1000 /* much deeper than the text, for chains of macros */
#define CEL_TYPE_SHOWN_MAX 4096
/* Steps of one evaluation that its cost does not count, or counts too late: a fifth of a second. */
#define CEL_WORK_MAX        20000000UL
#define CEL_VALUE_DEPTH_MAX 1000 /* of values that an evaluation builds: walkers recurse */
/* Steps for compiling all expressions of an object; see struct cel_budget. */
#define CEL_COMPILE_MAX     4000000UL
#define CEL_COMPILE_CRD_MAX 16000000UL /* of the rules and patterns of a CRD */
/* Bytes of the tree that a mutation's expression yields. */
#define CEL_MUTATION_MAX (16UL * MIB)
/* Constant folding: work of all calls, memory of one, and size of its arguments and result. */
#define CEL_FOLD_WORK_MAX    1000000UL
#define CEL_FOLD_SCRATCH_MAX (64UL * KIB)
#define CEL_FOLD_TEXT_MAX    (4UL * KIB)

#endif
