/*
 * decode_step - functions that the files of decode share.
 *
 * A step is one level of the path from the root of an object to a value. Steps are on the stack of
 * the functions that descend, and are printed only for a fault.
 */
#ifndef API_CODEC_DECODE_STEP_H
#define API_CODEC_DECODE_STEP_H

#include "api/codec/decode.h"

struct decode_step {
	const struct decode_step *up; /* NULL: a member of the root */
	const struct schema_type *owner; /* type that has the field; NULL for keys and elements */
	const struct schema_field *field; /* of a member; of the map or list for its elements */
	struct str key; /* of a map's value; p NULL otherwise */
	size_t index; /* of an element */
};

struct decode_fit {
	struct arena *arena;
	struct decode_report *report; /* or NULL */
	struct error *err;
	unsigned depth;
	bool repeats; /* the tree contains repeated names, which are reported */
};

/*
 * decode_fit() of a tree inside another one: `at` (may be NULL) is its path, for the reported
 * faults.
 */
int decode_fit_at(struct arena *a, struct json *tree, const struct schema_type *type,
		  const struct decode_step *at, struct decode_report *report, struct error *err);

/*
 * Removes the members of an object whose key was cleared, all at once: faster if many are removed.
 */
void decode_sweep(struct json *v);

/*
 * Adds `WHAT "path.name"` to the report once, up to the limit. `at` is the path of the object that
 * has the name.
 */
void decode_fault(struct arena *a, struct decode_report *report, const char *what,
		  const struct decode_step *at, struct str name);

/*
 * -ERR_BAD_REQUEST: `v` has the wrong type for its field. `whole`: for the list or map, not an
 * element.
 */
int decode_mismatch(struct decode_fit *f, const struct json *v, const struct decode_step *at,
		    bool whole);

/*
 * Checks and normalises one value that is not an object. *ret_zero: whether upstream would treat it
 * as not set ("", 0, false or the zero time).
 */
int decode_scalar(struct decode_fit *f, struct json *v, const struct decode_step *at,
		  bool *ret_zero);

/* Sets *v to the zero value of the field's single values, as Go's decoder does for null. */
void decode_zero(struct json *v, const struct schema_field *field);

#endif
