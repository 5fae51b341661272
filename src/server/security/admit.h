/*
 * admit_security - PodSecurity: pods must meet the standard that their namespace asks for.
 *
 * A pod that violates what the namespace enforces is rejected. Violations of what it audits and
 * warns about are annotations in the audit log and Warning headers, for pods and for objects with a
 * template of pods. A write of the namespace is rejected if its labels cannot be read, and names
 * the pods that violate what is newly enforced.
 *
 * For a draft (verbs/draft.h) the pod is checked on its connection's loop. If it meets all three
 * standards, the state does not check it again.
 */
#ifndef SERVER_SECURITY_ADMIT_H
#define SERVER_SECURITY_ADMIT_H

#include <stdbool.h>

struct admission_request;
struct error;
struct json;
struct object;

bool admit_security_concerns(const struct admission_request *req);
int admit_security(struct admission_request *req, const struct json *old, struct json *object,
		   struct error *err);

/* For a draft, on its lane: sets req->is_secure if there is nothing to report. */
void admit_security_draft(struct admission_request *req, const struct object *ns,
			  const struct json *old, struct json *object);

#endif
