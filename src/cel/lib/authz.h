/*
 * lib_authz - authorization checks in expressions.
 *
 *	authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()
 *
 * The functions only build a query. The creator of the value `authorizer` answers it.
 */
#ifndef CEL_LIB_AUTHZ_H
#define CEL_LIB_AUTHZ_H

#include "cel/core/value.h"

/* A query about a path or a resource. Text lives as long as the evaluation. */
struct cel_authz_query {
	/* The service account to check; n 0: the user of the request. */
	struct str account_ns, account;
	bool is_path;
	struct str path;
	struct str group, resource, subresource, ns, name;
	struct str field_selector, label_selector;
	struct str verb;
};

struct cel_authz_answer {
	bool allowed;
	struct str reason;
	struct str error; /* n 0: no error */
};

/* Embed it; it must live as long as the evaluation. */
struct cel_authorizer {
	/* Text of the answer must live as long as ev's scratch memory. */
	void (*decide)(const struct cel_authorizer *self, struct cel_eval *ev,
		       const struct cel_authz_query *q, struct cel_authz_answer *ret_answer);
};

extern const struct cel_type cel_authorizer_type, cel_resource_check_type;

/* The variables `authorizer`, and `authorizer.requestResource` with the resource of `q`. */
struct cel_value cel_authorizer_value(struct cel_eval *ev, const struct cel_authorizer *a);
struct cel_value cel_authorizer_resource(struct cel_eval *ev, const struct cel_authorizer *a,
					 const struct cel_authz_query *q);

#endif
