/*
 * node_restriction - what nodes write, object by object: for the files that judge it.
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
	struct str node; /* its name */
	struct str ns, name, sub; /* of what is written; name empty when it is created */
	const struct json *old, *object; /* NULL: there was nothing; it goes */
	enum node_operation op;
};

const char *node_operation_name(enum node_operation op);

/* Each: 0, or -ERR_FORBIDDEN in upstream's words. */
int node_check_signing_request(const struct node_write *w, struct error *err);
int node_check_pod_certificate(const struct node_write *w, struct error *err);

#endif
