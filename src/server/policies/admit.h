/*
 * admit_policy - ValidatingAdmissionPolicy: expressions that a write must meet.
 *
 * Refuses, warns of or tells the audit log what a policy's validations found, as its bindings want
 * it. All policies are asked; the first that denies is told. Policies and their bindings are
 * subject to none.
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
