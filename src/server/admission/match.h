/*
 * admission_match - whether a policy or a webhook applies to a write.
 *
 * Matches operation, group, version, resource and scope against rules, and the labels of the
 * namespace and the object against selectors, with upstream's semantics. A request matches by its
 * own version or, unless matchPolicy is Exact, by any other version of the same resource; the
 * policy then sees the object in that version. Compiled once; matching has no side effects.
 */
#ifndef SERVER_ADMISSION_MATCH_H
#define SERVER_ADMISSION_MATCH_H

#include "api/schema/schema.h"
#include "api/selector/selector.h"
#include "base/core/arena.h"
#include "base/json/json.h"
#include "server/admission/request.h"

/* A write as admission sees it: upstream's admission.Attributes. */
struct admission_attr {
	enum admission_op op;
	const struct schema_kind *kind; /* kind of the path, in the request's version */
	/* As in the path. For a Namespace `ns` is its own name. A generated `name` is empty. */
	OBJECT_TARGET;
	const struct json *object, *old; /* in any version; NULL: absent */
	const struct json *namespace_labels; /* of `ns`; NULL: no labels */
	bool foreign; /* the objects are of the subresource's own kind (Binding, Scale) */
};

/* CREATE, UPDATE, DELETE, CONNECT. */
struct str admission_op_name(enum admission_op op);

struct admission_texts {
	const struct str *v;
	size_t n;
};

struct admission_rule {
	unsigned ops; /* bits of enum admission_op */
	struct admission_texts groups, versions, resources, names;
	enum { ADMIT_ANY_SCOPE, ADMIT_CLUSTER, ADMIT_NAMESPACED } scope;
};

struct admission_match {
	const struct admission_rule *rules, *excluded;
	size_t nrules, nexcluded;
	struct selector namespaces, objects;
	bool exact;
	/* The result if there are no rules: true for policies, false for webhooks. */
	bool without_rules;
};

/*
 * From MatchResources (resourceRules, excludeResourceRules), or from a webhook (rules). Their
 * other fields have the same names. Keeps no pointers into the tree.
 */
struct admission_match admission_match_policy(struct arena *a, const struct json *resources);
struct admission_match admission_match_webhook(struct arena *a, const struct json *webhook);

/*
 * Whether it applies to the write. *ret_kind is the version that matched: the request's own or an
 * equivalent one.
 */
bool admission_matches(const struct admission_match *m, const struct admission_attr *attr,
		       const struct schema_kind **ret_kind);

/* Whether the kind is itself a policy or webhook configuration, to which others never apply. */
bool admission_is_exempt(const struct schema_kind *kind);

#endif
