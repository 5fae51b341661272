/*
 * decode_impl - what the files of decode share.
 *
 * A step is one level of the way from the root of an object to a value; steps
 * lie on the stack of the functions that descend, and are printed only for a
 * fault.
 */
#ifndef API_CODEC_DECODE_IMPL_H
#define API_CODEC_DECODE_IMPL_H

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
	bool repeats; /* the tree has names as often as they came: they are told, too */
};

/*
 * decode_fit() of a tree that lies somewhere in another: `at` (may be NULL) leads to it, for the
 * faults that are told.
 */
int decode_fit_at(struct arena *a, struct json *tree, const struct schema_type *type,
		  const struct decode_step *at, struct decode_report *report, struct error *err);

/* Takes out the members of an object that lost their key: all at once, where many may go. */
void decode_sweep(struct json *v);

/* Notes `WHAT "path.name"` once, below the limit. `at` leads to the object that has the name. */
void decode_fault(struct arena *a, struct decode_report *report, const char *what,
		  const struct decode_step *at, struct str name);

/* -ERR_BAD_REQUEST: `v` is not what its field holds; `whole`: not the list or map of them. */
int decode_mismatch(struct decode_fit *f, const struct json *v, const struct decode_step *at,
		    bool whole);

/*
 * Checks and normalises one value that is no object. *ret_zero tells whether
 * it is what upstream would take for not set: "", 0, false or the zero time.
 */
int decode_scalar(struct decode_fit *f, struct json *v, const struct decode_step *at,
		  bool *ret_zero);

/* Makes *v the zero value of the field's single values, as Go's decoder takes a null there. */
void decode_zero(struct json *v, const struct schema_field *field);

#endif
