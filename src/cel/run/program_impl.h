/*
 * program_impl - the parts of a compiled expression. For compile.c, machine.c and program.c.
 */
#ifndef CEL_RUN_PROGRAM_IMPL_H
#define CEL_RUN_PROGRAM_IMPL_H

#include "cel/run/machine.h"
#include "cel/run/program.h"

struct cel_program {
	const struct cel_ins *code; /* ends with cel_op_end */
	size_t n;
	size_t nstack, nslots; /* values */
	const struct cel_type *type;
	const struct cel_expr *tree;
	const char *fault; /* of a constant: see compile.h */
	bool large; /* larger than CEL_PROGRAM_MAX: cannot run */
};

#endif
