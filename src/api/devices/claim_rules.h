/*
 * check_claim - what the checks of a claim's spec and of its status share.
 */
#ifndef API_DEVICES_CLAIM_RULES_H
#define API_DEVICES_CLAIM_RULES_H

#include "api/validate/validate.h"

/* "request" or "request/subrequest" must be one of the claim's requests. */
void check_request_reference(struct validation *v, const struct json *requests,
			     struct str reference, const struct field_path *path);

/* The same for each of holder.requests. */
void check_request_references(struct validation *v, const struct json *requests,
			      const struct json *holder, const struct field_path *path);

/* adminAccess: true. It needs a label on the namespace. */
bool check_wants_admin_access(const struct json *holder);
bool check_admin_namespace(const struct validation *v);
void check_report_admin_access(struct validation *v, const struct field_path *path);

/* Compiling the object's expressions takes too much; once for the object. */
void check_report_spent(struct validation *v, const struct field_path *path);

/*
 * What the expression of a derived attribute costs at most; 0 when it is refused anyway, and no
 * more than one above CEL_DEVICE_COST_MAX.
 */
uint64_t check_derived_attribute_cost(const struct validation *v, struct str text);

#endif
