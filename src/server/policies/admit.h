/*
 * admit_policy - ValidatingAdmissionPolicy: expressions that a write must satisfy.
 *
 * Rejects the write, warns, or adds audit annotations for failed validations, as the bindings of
 * the policy say. All policies are evaluated; the rejection names the first one that denies.
 * Policies do not apply to policies and bindings.
 *
 * For a draft (verbs/draft.h) the policies are evaluated on its connection's loop. If they allow
 * the write, and are still the same when the state uses the draft, they are not evaluated again.
 * Their parameters are among what the draft has read (engine/looks.h). The state evaluates them if
 * they deny or warn, or if they ask for rights, parameters of custom kinds, or parameters by a
 * selector.
 */
#ifndef SERVER_POLICIES_ADMIT_H
#define SERVER_POLICIES_ADMIT_H

#include <stdbool.h>

struct admission_request;
struct error;
struct json;
struct object;

bool admit_policy_concerns(const struct admission_request *req);
int admit_policy(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err);

/* For a draft, on its lane: sets req->verdict, or leaves it NULL. */
void admit_policy_draft(struct admission_request *req, const struct object *ns,
			const struct json *old, struct json *object);

#endif
