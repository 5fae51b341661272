/*
 * cel.bind(name, value, expression): a macro and no function. It becomes a fold over an empty
 * list, whose accumulator is the name.
 */
#include "cel/library.h"
#include "cel/macro.h"

const struct cel_library cel_lib_bindings = {
	.name = "bindings",
	.macros = cel_macros_bindings,
};
