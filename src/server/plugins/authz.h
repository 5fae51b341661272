/*
 * admit_authz - plugins that look at who writes what: rights that somebody would give away, what
 * nodes may touch, certificates.
 */
#ifndef SERVER_PLUGINS_AUTHZ_H
#define SERVER_PLUGINS_AUTHZ_H

#include <stdbool.h>

#include "base/core/error.h"

struct admission_request;
struct json;

/*
 * Roles and bindings: nobody grants what they have not (escalate, bind). At the state, before
 * `object` (NULL: deletion) takes the place of `old` (NULL: creation).
 */
int admit_rbac(struct admission_request *req, const struct json *old, struct json *object,
	       struct error *err);

/* Nodes touch only what is their own (NodeRestriction). For users with user_node(). */
bool admit_node_concerns(const struct admission_request *req);
int admit_node(struct admission_request *req, const struct json *old, struct json *object,
	       struct error *err);

/*
 * Requests for certificates say who made them; approving and signing them, and vouching for a
 * bundle, takes a right on the signer; nobody asks for a certificate of system:masters.
 */
int admit_certificate(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err);

#endif
