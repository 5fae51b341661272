/*
 * policy_table - policy.rules, read: roles and bindings as bodies.
 */
#ifndef SERVER_AUTHZ_POLICY_TABLE_H
#define SERVER_AUTHZ_POLICY_TABLE_H

#include "base/json/json.h"

/* The text without comments; made by embed.py. */
extern const char policy_text[];

/*
 * An array of objects as a client would create them, in the order of the text. -ERR_INVALID
 * with the line that is wrong, which for policy_text a test excludes.
 */
int policy_table_parse(struct arena *a, struct str text, struct json **ret_objects,
		       struct error *err);

/* The rules of one of its cluster roles; NULL when there is none of that name. */
struct json *policy_table_rules(struct arena *a, struct str name);

#endif
