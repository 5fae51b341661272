/*
 * wellknown - messages of google.protobuf that CEL has values for.
 *
 *	google.protobuf.Int32Value{value: 1}
 *	google.protobuf.Struct{fields: {'a': 1.0}}
 *
 * Others are not known: there are no descriptors. A literal yields a value of CEL, not
 * a message: wrappers yield what they wrap, Struct a map, ListValue a list, Value any of JSON's.
 */
#ifndef CEL_CORE_WELLKNOWN_H
#define CEL_CORE_WELLKNOWN_H

#include "cel/core/value.h"

struct cel_message {
	/*
	 * Of a literal. Its name is the message's, so that Int32Value and Int64Value can be told
	 * apart when it is made.
	 */
	struct cel_type type;
	const struct cel_field *fields;
	size_t nfields;
	struct cel_value empty; /* without fields */
	/* The value with this field; the whole of it for messages of one field. */
	struct cel_value (*make)(struct cel_eval *ev, const struct cel_message *m,
				 const struct str *fields, const struct cel_value *values,
				 size_t n);
};

/* By its name in full; NULL: not one of them. */
const struct cel_message *cel_wellknown_find(struct str name);

/* The type of a field; NULL: there is no such field. */
const struct cel_type *cel_message_field(const struct cel_message *m, struct str name);

/*
 * Evaluates a literal of the type that the checker gave it, from fields that are there (n may
 * be 0). A value of dyn that does not fit and a number that is too large are errors.
 */
struct cel_value cel_wellknown_make(struct cel_eval *ev, const struct cel_type *type,
				    const struct str *fields, const struct cel_value *values,
				    size_t n);

#endif
