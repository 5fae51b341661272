/*
 * audit_policy - which requests the audit log records, and how much of each.
 *
 * Upstream's file: a Policy of audit.k8s.io/v1. The first rule that matches a request decides; a
 * request that no rule matches is not recorded. A policy is made from text, without I/O, and is
 * immutable afterwards: any thread may ask it.
 */
#ifndef SERVER_AUDIT_POLICY_H
#define SERVER_AUDIT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct audit_policy;
struct user;

/* Each level records everything that the levels before it do. */
enum audit_level {
	AUDIT_NONE,
	AUDIT_METADATA, /* user, time, verb, resource, outcome */
	AUDIT_REQUEST, /* and the object that was sent */
	AUDIT_REQUEST_RESPONSE, /* and the object that was returned */
	AUDIT_LEVELS,
};

enum audit_stage {
	AUDIT_RECEIVED, /* the user is known, and nothing was done yet */
	AUDIT_STARTED, /* the reply to a watch or a proxied request has begun */
	AUDIT_COMPLETE, /* the exchange is over */
	AUDIT_PANIC, /* upstream's; this server never reaches it */
	AUDIT_STAGES,
};

/* Upstream's names: "RequestResponse", "ResponseComplete". */
const char *audit_level_name(enum audit_level level);
const char *audit_stage_name(enum audit_stage stage);

/* What the rules look at. Borrowed. */
struct audit_question {
	const struct user *user; /* the authenticated, not the impersonated one; NULL: unknown */
	struct str verb;
	bool is_path; /* not about a resource */
	struct str path; /* if is_path */
	struct str group, resource, subresource, ns, name;
};

struct audit_decision {
	uint8_t level; /* enum audit_level */
	uint8_t omit; /* a bit for each stage that is not recorded */
	bool omit_managed; /* leave metadata.managedFields out of objects */
};

/*
 * Reads a policy in YAML or JSON. Strict: unknown fields and wrong types are errors, because a rule
 * would silently record less otherwise. -ERR_INVALID names the faulty fields. The text is copied.
 */
int audit_policy_read(struct str text, struct audit_policy **ret_policy, struct error *err);
void audit_policy_free(struct audit_policy *p); /* NULL allowed */
DEFINE_CLEANUP(audit_policy_free, struct audit_policy *);

size_t audit_policy_rules(const struct audit_policy *p);

struct audit_decision audit_policy_decide(const struct audit_policy *p,
					  const struct audit_question *q);

static inline bool audit_omits(const struct audit_decision *d, enum audit_stage stage)
{
	return d->level == AUDIT_NONE || (d->omit & (1u << stage));
}

#endif
