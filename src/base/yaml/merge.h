/*
 * yaml_merge - YAML 1.1's merge keys.
 *
 * Private to the YAML files.
 */
#ifndef BASE_YAML_MERGE_H
#define BASE_YAML_MERGE_H

#include "base/json/json.h"

/*
 * Replaces each member without a key, which stands for a merge key, by the
 * members of its value: an object, or an array of objects. Names may then come
 * several times; the last of each is the one that counts. -ERR_BAD_REQUEST when
 * a value is something else, -ERR_TOO_LARGE at the arena's limit; the object is
 * then of no use.
 */
int yaml_merge(struct arena *a, struct json *object);

#endif
