/*
 * admission_match - whether a policy or a webhook is about a write.
 *
 * Rules by operation, group, version, resource and scope, and selectors of labels of the namespace
 * and of the object, with upstream's semantics: what is asked for matches by its own version or,
 * unless matchPolicy is Exact, by any other version of the same resource, which is then the one
 * that the policy is to see. Compiled once, pure.
 */
#ifndef SERVER_ADMISSION_MATCH_H
#define SERVER_ADMISSION_MATCH_H

#include "api/schema/schema.h"
#include "api/selector/selector.h"
#include "base/core/arena.h"
#include "base/json/json.h"
#include "server/admission/request.h"

/* A write as admission is told of it: upstream's admission.Attributes. */
struct admission_attr {
	enum admission_op op;
	const struct schema_kind *kind; /* whose path it is, of the request's version */
	struct str subresource;
	struct str ns; /* of a Namespace: its own name */
	struct str name; /* empty: it is generated */
	const struct json *object, *old; /* of any version; NULL: none */
	const struct json *namespace_labels; /* of `ns`; NULL: none */
	bool foreign; /* the objects are of the subresource's own kind (Binding, Scale) */
};

/* CREATE, UPDATE, DELETE, CONNECT. */
struct str admission_op_name(enum admission_op op);

struct admission_texts {
	const struct str *v;
	size_t n;
};

struct admission_rule {
	unsigned ops; /* enum admission_op */
	struct admission_texts groups, versions, resources, names;
	enum { ADMIT_ANY_SCOPE, ADMIT_CLUSTER, ADMIT_NAMESPACED } scope;
};

struct admission_match {
	const struct admission_rule *rules, *excluded;
	size_t nrules, nexcluded;
	struct selector namespaces, objects;
	bool exact;
	bool without_rules; /* no rules: everything (policies); else nothing (webhooks) */
};

/*
 * Of MatchResources (resourceRules, excludeResourceRules) or of a webhook (rules); what they have
 * in common is of the same names. Nothing of the tree is kept.
 */
struct admission_match admission_match_policy(struct arena *a, const struct json *resources);
struct admission_match admission_match_webhook(struct arena *a, const struct json *webhook);

/*
 * Whether it is about that write; *ret_kind is the version that matched: the request's own or an
 * equivalent one.
 */
bool admission_matches(const struct admission_match *m, const struct admission_attr *attr,
		       const struct schema_kind **ret_kind);

/* A selector of labels against a tree of labels (NULL: none). */
bool admission_selects(const struct selector *s, const struct json *labels);

/* Policies and webhooks themselves are never subject to others. */
bool admission_is_exempt(const struct schema_kind *kind);

#endif
