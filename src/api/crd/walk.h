/*
 * crd_check - what the files that validate custom resources share.
 *
 * Private to crd/validate.c and crd_value.c. A value is judged as kube-openapi's
 * validators judge it, one after another, each with its own faults; how many of
 * them had nothing to say counts, because it decides which branch of an anyOf
 * was the best, whose faults are then told.
 */
#ifndef API_CRD_WALK_H
#define API_CRD_WALK_H

#include "api/crd/crd_impl.h"

/* What a schema without rules demands. */
extern const struct crd_rules crd_no_rules;

struct crd_check {
	struct validation *v;
	struct field_errors *errs; /* where faults go: v's, or a branch's own */
	const struct field_path *base; /* names in messages begin behind it; or NULL */
};

/* "spec.list[0].x": the path from the base on. In the arena. */
struct str crd_check_name(struct crd_check *c, const struct field_path *path);

/* A fault of a value; `%.*s in body ` with the name comes before the words. */
void crd_check_add(struct crd_check *c, enum field_error_type type, const struct field_path *path,
		   struct field_value value, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* A fault that upstream has no path for: it is told of the base. */
void crd_check_add_plain(struct crd_check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Type, text, number and enum of one value. The number of validators that were content. */
unsigned crd_check_type(struct crd_check *c, const struct crd_schema *s, const struct json *value,
			const struct field_path *path);
unsigned crd_check_text(struct crd_check *c, const struct crd_rules *rules, struct str text,
			const struct field_path *path);
unsigned crd_check_number(struct crd_check *c, const struct crd_schema *s, const struct json *value,
			  const struct field_path *path);
void crd_check_enum(struct crd_check *c, const struct crd_rules *rules, const struct json *value,
		    const struct field_path *path);

#endif
