/*
 * admission_form - the object that mutating webhooks and policies see, and what they make of it.
 */
#ifndef SERVER_ADMISSION_FORM_H
#define SERVER_ADMISSION_FORM_H

#include "server/admission/match.h"

struct error;

/*
 * The object of a write as those see it that change it: a copy in the version that matched. A new
 * object lacks the fields that only the server sets, and a generated name.
 */
int admission_show(struct admission_request *req, const struct admission_attr *attr,
		   const struct schema_kind *kind, struct json **ret_shown, struct error *err);

/* A hash of an object, to see whether it has changed. NULL allowed. */
uint64_t admission_hash(const struct json *object);

/*
 * Takes `doc`, made from such a copy, as the new `object`, which is as for admission functions.
 * Fits it to its type, with defaults. Fields that only the server sets stay as they are. `doc` must
 * no longer be used. -ERR_BAD_REQUEST; -ERR_INTERNAL if it is not an object.
 */
int admission_take(struct admission_request *req, const struct admission_attr *attr,
		   const struct schema_kind *kind, struct json *doc, struct json *object,
		   bool *ret_changed, struct error *err);

#endif
