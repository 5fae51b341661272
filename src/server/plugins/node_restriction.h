/*
 * node_restriction - a write by a node, for the files that check such writes.
 */
#ifndef SERVER_PLUGINS_NODE_RESTRICTION_H
#define SERVER_PLUGINS_NODE_RESTRICTION_H

#include "base/core/error.h"
#include "base/json/json.h"
#include "server/core/user.h"

struct authz;

enum node_operation { NODE_CREATE, NODE_UPDATE, NODE_DELETE };

/* One write of a node. */
struct node_write {
	struct authz *authz;
	struct arena *arena;
	const struct user *user;
	struct str node; /* name of the writing node */
	struct str ns, name, sub; /* of the written object; name empty: a creation */
	const struct json *old, *object; /* NULL: creation; NULL: deletion */
	enum node_operation op;
};

const char *node_operation_name(enum node_operation op);

/* Each returns 0, or -ERR_FORBIDDEN in upstream's wording. */
int node_check_signing_request(const struct node_write *w, struct error *err);
int node_check_pod_certificate(const struct node_write *w, struct error *err);

#endif
