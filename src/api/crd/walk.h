/*
 * crd_check - functions that the files that validate custom resources share.
 *
 * Private to crd/validate.c and crd/value.c. A value is checked as kube-openapi's validators do,
 * one after another, each with its own errors. The number of validators without an error matters:
 * it decides which branch of an anyOf was the best, and that branch's errors are reported.
 */
#ifndef API_CRD_WALK_H
#define API_CRD_WALK_H

#include "api/crd/crd_impl.h"

/* The rules of a schema that sets none. */
extern const struct crd_rules crd_no_rules;

struct crd_check {
	struct validation *v;
	struct field_errors *errs; /* where errors are added: v's, or a branch's own */
	const struct field_path *base; /* names in messages are relative to it; or NULL */
};

/* The path relative to the base: "spec.list[0].x". In the arena. */
struct str crd_check_name(struct crd_check *c, const struct field_path *path);

/* Adds an error about a value. The message begins with `NAME in body `. */
void crd_check_add(struct crd_check *c, enum field_error_type type, const struct field_path *path,
		   struct field_value value, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Adds an error for which upstream has no path: it is reported at the base. */
void crd_check_add_plain(struct crd_check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Check type, text, number and enum of one value. Return the number of validators without an error.
 */
unsigned crd_check_type(struct crd_check *c, const struct crd_schema *s, const struct json *value,
			const struct field_path *path);
unsigned crd_check_text(struct crd_check *c, const struct crd_rules *rules, struct str text,
			const struct field_path *path);
unsigned crd_check_number(struct crd_check *c, const struct crd_schema *s, const struct json *value,
			  const struct field_path *path);
void crd_check_enum(struct crd_check *c, const struct crd_rules *rules, const struct json *value,
		    const struct field_path *path);

#endif
