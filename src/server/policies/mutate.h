/*
 * admit_mutation - MutatingAdmissionPolicy: expressions that change a write.
 *
 * Each policy, in the order of names, sees the object as those before it have left it. Its
 * expressions yield apply configurations, which are merged into the object, or JSON patches. If
 * one fails, the write is rejected, unless the policy ignores failures; the others run
 * nevertheless. If the object has changed, the policies that want it run once more in a second
 * round (plugins/table.c). Policies do not apply to policies and bindings, nor to deletions.
 *
 * A draft (verbs/draft.h) that a policy matches is decided on the state's loop.
 */
#ifndef SERVER_POLICIES_MUTATE_H
#define SERVER_POLICIES_MUTATE_H

#include <stdbool.h>

struct admission_request;
struct error;
struct json;

bool admit_mutation_concerns(const struct admission_request *req);
int admit_mutation(struct admission_request *req, const struct json *old, struct json *object,
		   struct error *err);

/* Whether a policy with a binding matches, whatever its conditions say. */
bool admit_mutation_match(struct admission_request *req, const struct json *old,
			  struct json *object);

#endif
