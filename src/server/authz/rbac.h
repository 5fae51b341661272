/*
 * rbac - roles and bindings: what a rule allows, and an index of who has which.
 *
 * The index is by subject: a user's name (a service account is its user name)
 * or a group's, and below that by namespace. A decision looks at the bindings of
 * the one who asks, at those of the whole cluster and at those of the
 * namespace; what other subjects have costs nothing. A decision allocates nothing.
 *
 * Semantics are upstream's, with one exception: see rbac_query.guarded.
 * Threads: one at a time.
 */
#ifndef SERVER_AUTHZ_RBAC_H
#define SERVER_AUTHZ_RBAC_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/json/json.h"
#include "server/authz/authz.h"

#define RBAC_GROUP STR("rbac.authorization.k8s.io")

struct rbac_texts {
	const struct str *v;
	size_t n;
};

struct rbac_rule {
	struct rbac_texts verbs, groups, resources, names, urls;
	uint32_t known; /* which well-known verbs are among `verbs`: a quick refusal */
};

struct rbac_rules {
	const struct rbac_rule *v;
	size_t n;
};

/* Rules of a Role or ClusterRole, or of its tree `rules`; text is copied. NULL: none. */
struct rbac_rules rbac_rules_parse(struct arena *a, const struct json *rules);
/* And back. Lists that are empty are left out; text is borrowed. */
struct json *rbac_rules_tree(struct arena *a, struct rbac_rules rules);

bool rbac_texts_have(struct rbac_texts t, struct str text);

/* A question, made ready to be held against many rules. */
struct rbac_query {
	const struct authz_query *q;
	uint32_t known; /* the verb, as in rbac_rule.known */
	/*
	 * Status of ResourceSlices is written by the controller alone. A rule that was not
	 * meant for it, such as `*` of resource.k8s.io or status of everything, does not open
	 * it: it takes one that names resourceslices/status, or all of everything (cluster-admin).
	 */
	bool guarded;
};

struct rbac_query rbac_query(const struct authz_query *q);
/* Whether a rule that matches a guarded query is one that was meant. */
bool rbac_opens_guarded(const struct rbac_rule *rule);
bool rbac_rule_allows(const struct rbac_rule *rule, const struct rbac_query *q);
bool rbac_rules_allow(struct rbac_rules rules, const struct authz_query *q);

/* --- covering: whether who has some rules may grant others ---------------------------- */

/*
 * The pieces of `wanted` (one verb, group, resource and name each) that no rule of `held`
 * covers, gathered by what they are about. None: all is covered.
 */
struct rbac_rules rbac_missing(struct arena *a, struct rbac_rules held, struct rbac_rules wanted);

/* Appends `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`. */
void rbac_rule_print(struct buf *out, const struct rbac_rule *rule);

/* --- the index ---------------------------------------------------------------------- */

struct rbac;

struct rbac *rbac_new(void);
void rbac_free(struct rbac *r);

/* Forgets all roles, or all bindings; of the cluster or of namespaces. */
void rbac_reset_roles(struct rbac *r, bool cluster);
void rbac_reset_bindings(struct rbac *r, bool cluster);

/* A role as it is now; `ns` empty: a ClusterRole; `role` NULL: it is gone. */
void rbac_set_role(struct rbac *r, struct str ns, struct str name, const struct json *role);
/* The same of a RoleBinding or, with `ns` empty, a ClusterRoleBinding. */
void rbac_set_binding(struct rbac *r, struct str ns, struct str name, const struct json *binding);

/* The rules of a role; NULL when there is none. Until it changes. */
const struct rbac_rules *rbac_role(const struct rbac *r, struct str ns, struct str name);

/* What allowed it: a binding and the subject in it that applied. */
struct rbac_grant {
	struct str ns, binding; /* ns empty: a ClusterRoleBinding */
	struct str role_kind, role;
	struct str subject_kind, subject, subject_ns;
};

/* ret_grant may be NULL; its text lives until the binding changes. */
bool rbac_allows(const struct rbac *r, const struct authz_query *q, struct rbac_grant *ret_grant);

/* Appends `ClusterRoleBinding "b" of ClusterRole "r" to User "u"`, as upstream tells it. */
void rbac_grant_print(struct buf *out, const struct rbac_grant *grant);

/*
 * All rules that a user has in a namespace (empty: in the whole cluster), each binding's
 * once. `missing`, when it is not NULL, gets what is wrong with bindings of his: roles that
 * are not there, `clusterrole.rbac.authorization.k8s.io "x" not found`, each once, joined as
 * upstream joins them. Rules live until a role changes; the array in the arena.
 */
struct rbac_rules rbac_rules_of(struct rbac *r, const struct user *u, struct str ns,
				struct arena *a, struct buf *missing);

#endif
