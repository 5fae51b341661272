/*
 * admission_policy - the admission policies of the cluster, compiled, and where they hold.
 *
 * Follows policies and bindings at the state. A policy is compiled when it comes or changes; it
 * does nothing before a binding names it. Both are asked in the order of their names.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_POLICIES_POLICY_H
#define SERVER_POLICIES_POLICY_H

#include "base/core/omap.h"
#include "server/admission/cel.h"
#include "server/engine/state.h"

enum { ADMISSION_POLICY_OBSERVERS = 2 };

/* One expression that must be true. */
struct admission_validation {
	struct admission_expr expr;
	struct admission_expr message_expr; /* without program and fault: there is none */
	struct str message; /* trimmed; n 0: none */
	enum error_code reason;
};

enum admission_action { ADMISSION_DENY = 1, ADMISSION_WARN = 2, ADMISSION_AUDIT = 4 };

struct admission_binding {
	struct arena arena; /* of all text */
	struct str name, policy;
	bool unreadable; /* nobody knows what it says; then there is but its name */
	bool everywhere; /* it has no matchResources */
	struct admission_match match;
	unsigned actions; /* enum admission_action */
	const struct json *actions_given; /* as they are told in an audit log */
	/* paramRef */
	bool has_params, by_selector, deny_without;
	struct str param_name, param_ns;
	struct selector param_selector;
};

struct admission_policy {
	struct arena arena; /* of all text and programs */
	struct str name;
	bool unreadable; /* as a binding's */
	struct admission_match match;
	bool ignores_failures;
	bool has_params; /* a paramKind: */
	struct str param_version, param_kind;
	struct admission_exprs conditions, variables, annotations;
	const struct admission_validation *validations;
	size_t nvalidations;
	struct admission_binding **bindings; /* that name it, by name; an array to free */
	size_t nbindings;
};

struct admission_policies {
	const struct log *log;
	struct omap policies, bindings; /* by name */
	struct state_observer observers[ADMISSION_POLICY_OBSERVERS];
	bool stale; /* `bindings` of policies are to be found anew */
	/* That cannot be read, and could not before: while there are any, all is refused. */
	size_t nunreadable;
	size_t active; /* policies with a binding, once that was done; else: there may be some */
};

/* Of ValidatingAdmissionPolicies and their bindings. The log is borrowed. */
void admission_policies_init(struct admission_policies *p, const struct log *log);
void admission_policies_release(struct admission_policies *p);

/* Whether there is any that does something, or may do; and brings all up to date. */
bool admission_policies_any(struct admission_policies *p);

/* -ERR_FORBIDDEN when one of them, or a binding, cannot be read: nobody knows what it forbids. */
int admission_policies_check(const struct admission_policies *p, struct error *err);

/* --- parameters (policies/params.c) ------------------------------------------------- */

/* The kind of the policy's parameters; NULL when it has none. -ERR_NOT_FOUND: nobody serves it. */
int admission_param_kind(struct admission_request *req, const struct admission_policy *p,
			 const struct schema_kind **ret_kind, struct error *err);

/*
 * What the expressions of a binding are evaluated with: trees of that kind, in the write's arena;
 * one NULL where there are no parameters. `ns` is the write's. -ERR_INVALID with upstream's words.
 */
struct admission_params {
	const struct json **v;
	size_t n;
};
int admission_params(struct admission_request *req, const struct schema_kind *kind,
		     const struct admission_binding *b, struct str ns,
		     struct admission_params *ret_params, struct error *err);

#endif
