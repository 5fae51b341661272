/*
 * admit_policy - ValidatingAdmissionPolicy: expressions that a write must satisfy.
 *
 * Rejects the write, warns, or adds audit annotations for failed validations, as the bindings of
 * the policy say. All policies are evaluated; the rejection names the first one that denies.
 * Policies do not apply to policies and bindings.
 */
#ifndef SERVER_POLICIES_ADMIT_H
#define SERVER_POLICIES_ADMIT_H

#include <stdbool.h>

struct error;
struct json;
struct admission_request;

bool admit_policy_concerns(const struct admission_request *req);
int admit_policy(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err);

#endif
