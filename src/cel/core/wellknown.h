/*
 * wellknown - messages: those of google.protobuf that CEL can represent, and an environment's.
 *
 *	google.protobuf.Int32Value{value: 1}
 *	google.protobuf.Struct{fields: {'a': 1.0}}
 *
 * Other messages are unknown, since there are no descriptors; but an environment may declare
 * messages of its own (env.h). A literal yields a CEL value, not a
 * message: a wrapper yields the wrapped value, Struct a map, ListValue a list, and Value any JSON
 * value.
 */
#ifndef CEL_CORE_WELLKNOWN_H
#define CEL_CORE_WELLKNOWN_H

#include "cel/core/value.h"

struct cel_message {
	/*
	 * The type of a literal. It has the message's name, so that the evaluator can distinguish
	 * Int32Value from Int64Value.
	 */
	struct cel_type type;
	const struct cel_field *fields;
	size_t nfields;
	bool open; /* every name is a field of type dyn; `fields` is unused */
	struct cel_value empty; /* without fields; of an environment's message, `make` is called */
	/* Makes the value from its fields. */
	struct cel_value (*make)(struct cel_eval *ev, const struct cel_message *m,
				 const struct str *fields, const struct cel_value *values,
				 size_t n);
};

/* Finds a message by its full name, or returns NULL. */
const struct cel_message *cel_wellknown_find(struct str name);

/* Returns the type of a field, or NULL. */
const struct cel_type *cel_message_field(const struct cel_message *m, struct str name);

/*
 * Evaluates a literal of the type that the checker set, from the given fields (n may be 0). A dyn
 * value of the wrong type and a number out of range are errors.
 */
struct cel_value cel_wellknown_make(struct cel_eval *ev, const struct cel_type *type,
				    const struct str *fields, const struct cel_value *values,
				    size_t n);

#endif
