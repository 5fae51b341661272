/*
 * check_resource_cases - objects of resource.k8s.io, valid and not, as rows.
 *
 * A row takes a valid object of its kind, makes edits and says what validation
 * finds. Edits are `path=JSON`, apart by " ; ": a path has names, [indexes] and
 * {keys}; nothing behind the `=` takes the member away; `path*N=JSON` makes a
 * list of N, a % in the JSON being the number. Expected are lines of
 * "Type path" or "Type path: words", in any order.
 */
#ifndef API_CHECK_RESOURCE_CASES_H
#define API_CHECK_RESOURCE_CASES_H

enum resource_base {
	BASE_SLICE,
	BASE_CLAIM,
	BASE_ALLOCATED, /* a claim with a status */
	BASE_TEMPLATE,
	BASE_CLASS,
	BASE_TAINT_RULE,
	BASE_POOL_REQUEST,
	BASE_SHARED, /* a slice with a device that may be shared */
	BASE_COUNT,
};

enum resource_operation { ON_CREATE, ON_UPDATE, ON_STATUS };

struct resource_case {
	const char *name;
	enum resource_base base;
	enum resource_operation op;
	const char *prepare; /* edits of what is stored, and so also of what is sent; or NULL */
	const char *edits;
	const char *expected; /* "" when it is valid */
	int flags; /* ADMIN_NAMESPACE, ONLY_DEFAULT_GATES */
};

enum { ADMIN_NAMESPACE = 1, ONLY_DEFAULT_GATES = 2 };

#endif
