/*
 * admission_policy - the cluster's admission policies, compiled, with their bindings.
 *
 * There is one for ValidatingAdmissionPolicies, and one for MutatingAdmissionPolicies. It follows
 * policies and bindings at the state. A policy is compiled when it is created or changed;
 * without a binding it has no effect. Both are evaluated in name order.
 *
 * Policies, bindings and the set of those in effect are immutable and reference-counted. After a
 * change the state makes a new set before it decides the next write. Other loops get the last set
 * that was made, so what they evaluate counts only if that is still the set in effect.
 *
 * Threads: the state's loop, except for admission_policies_look() and admission_active_unref().
 */
#ifndef SERVER_POLICIES_POLICY_H
#define SERVER_POLICIES_POLICY_H

#include <stdatomic.h>

#include "base/ordered/omap.h"
#include "server/admission/cel.h"
#include "server/engine/state.h"

struct reclaim;

enum { ADMISSION_POLICY_OBSERVERS = 2 };

enum admission_policy_type { ADMISSION_VALIDATING, ADMISSION_MUTATING };

/* One expression that must be true. */
struct admission_validation {
	struct admission_expr expr;
	struct admission_expr message_expr; /* no program and no fault: absent */
	struct str message; /* trimmed; n 0: absent */
	enum error_code reason;
};

/* One change of a mutating policy. */
struct admission_mutation {
	struct admission_expr expr;
	bool applies; /* yields an apply configuration; otherwise a JSON patch */
};

enum admission_action { ADMISSION_DENY = 1, ADMISSION_WARN = 2, ADMISSION_AUDIT = 4 };

struct admission_binding {
	atomic_uint refs;
	struct arena arena; /* for all text */
	struct str name, policy;
	bool unreadable; /* cannot be read; only its name is set */
	bool everywhere; /* it has no matchResources */
	struct admission_match match;
	unsigned actions; /* enum admission_action */
	const struct json *actions_given; /* for the audit log */
	/* paramRef */
	bool has_params, by_selector, deny_without;
	struct str param_name, param_ns;
	struct selector param_selector;
};

struct admission_policy {
	atomic_uint refs;
	struct arena arena; /* for all text and programs */
	struct str name;
	bool unreadable; /* as for a binding */
	struct admission_match match;
	bool ignores_failures;
	bool has_params; /* it has a paramKind: */
	struct str param_version, param_kind;
	struct admission_exprs conditions, variables, annotations;
	const struct admission_validation *validations;
	size_t nvalidations;
	const struct admission_mutation *mutations;
	size_t nmutations;
	bool reinvoked; /* reinvocationPolicy: IfNeeded */
};

/* A policy with the bindings that name it, by name. */
struct admission_bound {
	struct admission_policy *policy;
	struct admission_binding *const *bindings;
	size_t nbindings;
};

/* The policies that have bindings, by name. */
struct admission_active {
	atomic_uint refs;
	bool unreadable; /* all writes are rejected: see admission_policies_check() */
	struct arena arena; /* for the arrays */
	struct admission_bound *v;
	size_t n;
	struct admission_binding **bindings; /* all bindings, by policy and name; references */
	size_t nbindings;
};

struct admission_policies {
	enum admission_policy_type type;
	const struct log *log;
	struct omap policies, bindings; /* by name */
	struct state_observer observers[ADMISSION_POLICY_OBSERVERS];
	bool stale; /* `active` is outdated */
	/*
	 * Unreadable ones without a readable previous version: if there are any, all writes are
	 * rejected.
	 */
	size_t nunreadable;
	_Atomic(struct admission_active *) active; /* a reference; never NULL */
	struct reclaim *reclaim; /* for `active` */
};

/* For the policies of that type and their bindings. The log is borrowed. */
void admission_policies_init(struct admission_policies *p, enum admission_policy_type type,
			     size_t nlanes, const struct log *log);
void admission_policies_release(struct admission_policies *p);

/* The policies in effect. Borrowed until control returns to the loop. */
const struct admission_active *admission_policies_now(struct admission_policies *p);

/* Whether any policy has, or may have, an effect. */
bool admission_active_any(const struct admission_active *a);

/*
 * On the loop of that lane: the last set that was made, with a new reference. NULL if it has no
 * effect. Takes no lock.
 */
struct admission_active *admission_policies_look(struct admission_policies *p, size_t lane);
void admission_active_unref(struct admission_active *a); /* on any thread; NULL allowed */

/* Whether policies do not apply to the kind: it is one of policies or bindings, or not stored. */
bool admission_policies_exempt(const struct schema_kind *kind);

/* -ERR_FORBIDDEN if a policy or binding cannot be read, because nobody knows what it forbids. */
int admission_policies_check(const struct admission_policies *p, struct error *err);

/* --- parameters (policies/params.c) ------------------------------------------------- */

/* The evaluation for a draft, on its connection's loop. It looks up parameters in req->looks. */
struct admission_ahead {
	const struct object *ns; /* the namespace of the write; NULL: none */
	bool unsure; /* the state has to evaluate */
};

/*
 * The namespace of the write as expressions see it, in the write's arena; NULL if it has none.
 * `ahead` is NULL on the state's loop.
 */
const struct json *admission_namespace_object(struct admission_request *req,
					      const struct admission_attr *attr,
					      const struct admission_ahead *ahead);

/* Whether the kind of the policy's parameters is compiled in, or it has none. On any loop. */
bool admission_param_is_built_in(const struct admission_policy *p);

/*
 * The kind of the policy's parameters; NULL if it has none. -ERR_NOT_FOUND if the kind is not
 * served. On any loop if it is compiled in.
 */
int admission_param_kind(struct admission_request *req, const struct admission_policy *p,
			 const struct schema_kind **ret_kind, struct error *err);

/*
 * The parameters for the expressions of a binding: trees of that kind, in the write's arena, or
 * one NULL if there are no parameters. `ns` is the write's namespace. -ERR_INVALID in upstream's
 * wording. `ahead` is NULL on the state's loop. On another loop parameters are looked up only by
 * name; a selector sets ahead->unsure.
 */
struct admission_params {
	const struct json **v;
	size_t n;
};
int admission_params(struct admission_request *req, const struct schema_kind *kind,
		     const struct admission_binding *b, struct str ns,
		     struct admission_ahead *ahead, struct admission_params *ret_params,
		     struct error *err);

#endif
