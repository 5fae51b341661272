/*
 * tree - small operations on the trees of objects, for writes, strategies and other code that edits
 * them.
 *
 * Results live in the arena. Trees that are not const belong to the caller.
 */
#ifndef API_SCHEMA_TREE_H
#define API_SCHEMA_TREE_H

#include "base/json/json.h"

void tree_set_time(struct arena *a, struct json *object, const char *key, int64_t ns);

/* Makes the member equal to that of `from`: copies it, or removes it if `from` has none. */
void tree_carry(struct arena *a, struct json *object, const struct json *from, const char *key);
void tree_carry_key(struct arena *a, struct json *object, const struct json *from, struct str key);

/* Whether the member is the same in both: equal, or missing in both. */
bool tree_same(const struct json *a, const struct json *b, const char *key);

/* A copy in the arena. A tree that was stored is never too deep to be copied. */
struct json *tree_copy(struct arena *a, const struct json *tree);

/* Whether the object's status has this condition, and its status is "True". */
bool tree_condition_is_true(const struct json *object, struct str type);

#endif
