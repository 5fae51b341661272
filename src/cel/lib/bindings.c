/*
 * cel.bind(name, value, expression) and cel.block([value, ..], expression): macros and no
 * functions. They become folds over an empty list, whose accumulator is the name.
 */
#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"

const struct cel_library cel_lib_bindings = {
	.name = "bindings",
	.macros = cel_macros_bindings,
};

const struct cel_library cel_lib_block = {
	.name = "block",
	.macros = cel_macros_block,
};
