/*
 * yaml_merge - YAML 1.1's merge keys.
 *
 * Private to the YAML files.
 */
#ifndef BASE_YAML_MERGE_H
#define BASE_YAML_MERGE_H

#include "base/json/json.h"

/*
 * Replaces each member without a key, which represents a merge key, by the members of its value: an
 * object, or an array of objects. Names may then be repeated; the last of each counts. Returns
 * -ERR_BAD_REQUEST for any other value, -ERR_TOO_LARGE at the arena's limit; the object is then
 * unusable.
 */
int yaml_merge(struct arena *a, struct json *object);

#endif
