/*
 * lib_optional - values that may be missing.
 *
 * Reading a field or an element of something that may lack it: what the operators a.?b and a[?b]
 * do, and a.b and a[b] where `a` is an optional.
 */
#ifndef CEL_LIB_OPTIONAL_H
#define CEL_LIB_OPTIONAL_H

#include "cel/value.h"

/*
 * operand.?field: an optional, none when the operand is an optional without value or lacks the
 * field. An error when the operand has no fields at all ("no such key: b") or its type does not
 * declare this one ("no such field 'b'").
 */
struct cel_value cel_optional_select(struct cel_eval *ev, const struct cel_value *operand,
				     struct str field);

/* operand[?key] in the same way, for lists and maps. */
struct cel_value cel_optional_index(struct cel_eval *ev, const struct cel_value *operand,
				    const struct cel_value *key);

#endif
