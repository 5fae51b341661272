/*
 * rbac - roles and bindings: what a rule allows, and an index of each subject's bindings.
 *
 * The index is by subject, which is a user's name (also for a service account) or a group's, and
 * then by namespace. A decision reads the user's cluster-wide bindings and those in the
 * namespace. Bindings of other subjects cost nothing. A decision allocates no memory.
 *
 * The semantics are upstream's, with one exception for the status of ResourceSlices (KEP-5677):
 * see rbac_query.guarded.
 *
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
	uint32_t known; /* the well-known verbs among `verbs`, for quick rejection */
};

struct rbac_rules {
	const struct rbac_rule *v;
	size_t n;
};

/* Parses `rules` of a Role or ClusterRole; text is copied. NULL: no rules. */
struct rbac_rules rbac_rules_parse(struct arena *a, const struct json *rules);
/* The reverse. Empty lists are left out; text is borrowed. */
struct json *rbac_rules_tree(struct arena *a, struct rbac_rules rules);

bool rbac_texts_have(struct rbac_texts t, struct str text);

/* A query prepared for comparison with many rules. */
struct rbac_query {
	const struct authz_query *q;
	uint32_t known; /* the verb, as in rbac_rule.known */
	/*
	 * True for writes of the status of ResourceSlices (KEP-5677), which only the controller
	 * may write. Broad rules, such as `*` of resource.k8s.io or the status of everything, do
	 * not allow it. It needs a rule that names resourceslices/status, or one that allows
	 * everything (cluster-admin).
	 */
	bool guarded;
};

struct rbac_query rbac_query(const struct authz_query *q);
/* Whether a rule that matches a guarded query also allows it. */
bool rbac_opens_guarded(const struct rbac_rule *rule);
bool rbac_rule_allows(const struct rbac_rule *rule, const struct rbac_query *q);
bool rbac_rules_allow(struct rbac_rules rules, const struct authz_query *q);

/* --- covering: whether the owner of some rules may grant others ----------------------- */

/*
 * The parts of `wanted` (one verb, group, resource and name each) that no rule of `held` covers,
 * grouped by their subject. Empty if everything is covered.
 */
struct rbac_rules rbac_missing(struct arena *a, struct rbac_rules held, struct rbac_rules wanted);

/* Appends `{APIGroups:["apps"], Resources:["deployments"], Verbs:["get"]}`. */
void rbac_rule_print(struct buf *out, const struct rbac_rule *rule);

/* --- the index ---------------------------------------------------------------------- */

struct rbac;

struct rbac *rbac_new(void);
void rbac_free(struct rbac *r);

/* Removes all roles, or all bindings: those of the cluster, or those of namespaces. */
void rbac_reset_roles(struct rbac *r, bool cluster);
void rbac_reset_bindings(struct rbac *r, bool cluster);

/* Sets the current state of a role. `ns` empty: a ClusterRole; `role` NULL: it was deleted. */
void rbac_set_role(struct rbac *r, struct str ns, struct str name, const struct json *role);
/* The same for a RoleBinding or, with `ns` empty, a ClusterRoleBinding. */
void rbac_set_binding(struct rbac *r, struct str ns, struct str name, const struct json *binding);

/* The rules of a role; NULL if not found. Valid until the role changes. */
const struct rbac_rules *rbac_role(const struct rbac *r, struct str ns, struct str name);

/* The binding that allowed access, and the subject in it that applied. */
struct rbac_grant {
	struct str ns, binding; /* ns empty: a ClusterRoleBinding */
	struct str role_kind, role;
	struct str subject_kind, subject, subject_ns;
	bool named; /* the rule that matched is for certain names only */
};

/* ret_grant may be NULL; its text lives until the binding changes. */
bool rbac_allows(const struct rbac *r, const struct authz_query *q, struct rbac_grant *ret_grant);

/* Appends `ClusterRoleBinding "b" of ClusterRole "r" to User "u"`, as upstream words it. */
void rbac_grant_print(struct buf *out, const struct rbac_grant *grant);

/*
 * All rules of a user in a namespace (empty: in the whole cluster), each binding's once. If
 * `missing` is not NULL, it gets the user's bindings to roles that do not exist:
 * `clusterrole.rbac.authorization.k8s.io "x" not found`, each once, joined as upstream does.
 * Rules are valid until a role changes; the array is in the arena.
 */
struct rbac_rules rbac_rules_of(struct rbac *r, const struct user *u, struct str ns,
				struct arena *a, struct buf *missing);

#endif
