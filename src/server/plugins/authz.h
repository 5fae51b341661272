/*
 * admit_authz - plugins that depend on the writer: escalation of rights, restrictions of nodes,
 * certificates.
 */
#ifndef SERVER_PLUGINS_AUTHZ_H
#define SERVER_PLUGINS_AUTHZ_H

#include <stdbool.h>

#include "base/core/error.h"

struct admission_request;
struct json;

/*
 * Roles and bindings: users cannot grant rights that they lack (unless they may escalate or
 * bind). Called on the state's loop, before `object` (NULL: deletion) replaces `old` (NULL:
 * creation).
 */
int admit_rbac(struct admission_request *req, const struct json *old, struct json *object,
	       struct error *err);

/*
 * OwnerReferencesPermissionEnforcement: users may change the owners of objects that they may
 * delete, and block the deletion of owners that they may finalize.
 */
bool admit_owners_concerns(const struct admission_request *req);
int admit_owners(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err);

/* Restricts nodes to their own objects (NodeRestriction). Applies to users with user_node(). */
bool admit_node_concerns(const struct admission_request *req);
int admit_node(struct admission_request *req, const struct json *old, struct json *object,
	       struct error *err);

/*
 * Certificates. A signing request records who created it. Approving and signing requests, and
 * publishing a trust bundle of a signer, need rights on the signer. Certificates for
 * system:masters cannot be requested.
 */
int admit_certificate(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err);

#endif
