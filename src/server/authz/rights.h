/*
 * rights - allowed requests that one lane remembers.
 *
 * Remembers what RBAC allowed, and never a denial. An entry names everything that the decision read
 * about the request: the user's name and groups, the verb, and the path or the resource. A right
 * for all namespaces or all names is one entry, as its binding or rule is. Entries are compared in
 * full, because two requests may have one hash. An entry counts only for the epoch of roles and
 * bindings that it was decided on.
 *
 * Fixed size: a new entry replaces the least recently used one of its set. Entries of more than
 * AUTHZ_RIGHT_BYTES are not kept.
 *
 * Threads: one lane's loop.
 */
#ifndef SERVER_AUTHZ_RIGHTS_H
#define SERVER_AUTHZ_RIGHTS_H

#include "server/authz/authz.h"

struct rights;

/* Allocates little until the first rights_add(). */
struct rights *rights_new(void);
void rights_free(struct rights *r); /* NULL allowed */

/*
 * Whether the request was allowed at that epoch. *ret_reason is then the right's reason, valid
 * until the next rights_add(); ret_reason may be NULL.
 */
bool rights_have(struct rights *r, const struct authz_query *q, uint64_t epoch,
		 struct str *ret_reason);

/* Keeps a right that allowed this request. No-op for a right that must not be kept. */
void rights_add(struct rights *r, const struct authz_query *q, const struct authz_right *right);

#endif
