/*
 * admission_policy - the cluster's admission policies, compiled, with their bindings.
 *
 * Follows policies and bindings at the state. A policy is compiled when it is created or changed;
 * without a binding it has no effect. Both are evaluated in name order.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_POLICIES_POLICY_H
#define SERVER_POLICIES_POLICY_H

#include "base/ordered/omap.h"
#include "server/admission/cel.h"
#include "server/engine/state.h"

enum { ADMISSION_POLICY_OBSERVERS = 2 };

/* One expression that must be true. */
struct admission_validation {
	struct admission_expr expr;
	struct admission_expr message_expr; /* no program and no fault: absent */
	struct str message; /* trimmed; n 0: absent */
	enum error_code reason;
};

enum admission_action { ADMISSION_DENY = 1, ADMISSION_WARN = 2, ADMISSION_AUDIT = 4 };

struct admission_binding {
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
	struct admission_binding **bindings; /* those that name it, by name; an array to free */
	size_t nbindings;
};

struct admission_policies {
	const struct log *log;
	struct omap policies, bindings; /* by name */
	struct state_observer observers[ADMISSION_POLICY_OBSERVERS];
	bool stale; /* `bindings` of the policies must be computed again */
	/*
	 * Unreadable ones without a readable previous version: if there are any, all writes are
	 * rejected.
	 */
	size_t nunreadable;
	size_t active; /* policies with a binding; outdated if `stale` */
};

/* For ValidatingAdmissionPolicies and their bindings. The log is borrowed. */
void admission_policies_init(struct admission_policies *p, const struct log *log);
void admission_policies_release(struct admission_policies *p);

/* Whether any policy has, or may have, an effect. Also updates the bindings of all policies. */
bool admission_policies_any(struct admission_policies *p);

/* -ERR_FORBIDDEN if a policy or binding cannot be read, because nobody knows what it forbids. */
int admission_policies_check(const struct admission_policies *p, struct error *err);

/* --- parameters (policies/params.c) ------------------------------------------------- */

/*
 * The kind of the policy's parameters; NULL if it has none. -ERR_NOT_FOUND if the kind is not
 * served.
 */
int admission_param_kind(struct admission_request *req, const struct admission_policy *p,
			 const struct schema_kind **ret_kind, struct error *err);

/*
 * The parameters for the expressions of a binding: trees of that kind, in the write's arena, or
 * one NULL if there are no parameters. `ns` is the write's namespace. -ERR_INVALID in upstream's
 * wording.
 */
struct admission_params {
	const struct json **v;
	size_t n;
};
int admission_params(struct admission_request *req, const struct schema_kind *kind,
		     const struct admission_binding *b, struct str ns,
		     struct admission_params *ret_params, struct error *err);

#endif
