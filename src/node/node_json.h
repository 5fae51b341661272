/*
 * node_json - a value of one tree as part of another, without copying what is in it.
 */
#ifndef NODE_NODE_JSON_H
#define NODE_NODE_JSON_H

#include "base/json.h"

/*
 * A node in `a` that has the value and the very children of `v`: it may be put into another tree,
 * and neither tree may be changed below it then.
 */
static inline struct json *json_alias(struct arena *a, const struct json *v)
{
	struct json *alias = json_make_null(a);

	*alias = *v;
	alias->next = NULL;
	alias->key = NULL;
	alias->key_n = 0;
	return alias;
}

#endif
