/*
 * check_claim - functions that the checks of a claim's spec and of its status share.
 */
#ifndef API_DEVICES_CLAIM_RULES_H
#define API_DEVICES_CLAIM_RULES_H

#include "api/validate/validate.h"

/* Checks that "request" or "request/subrequest" is one of the claim's requests. */
void check_request_reference(struct validation *v, const struct json *requests,
			     struct str reference, const struct field_path *path);

/* Checks each of holder.requests in this way. */
void check_request_references(struct validation *v, const struct json *requests,
			      const struct json *holder, const struct field_path *path);

/* adminAccess: true needs a label on the namespace. */
bool check_wants_admin_access(const struct json *holder);
bool check_admin_namespace(const struct validation *v);
void check_report_admin_access(struct validation *v, const struct field_path *path);

/* Reports that compiling the object's expressions takes too much; once per object. */
void check_report_spent(struct validation *v, const struct field_path *path);

/*
 * Returns the maximum cost of a derived attribute's expression, capped at CEL_DEVICE_COST_MAX + 1.
 * Returns 0 if the expression is rejected anyway.
 */
uint64_t check_derived_attribute_cost(const struct validation *v, struct str text);

#endif
