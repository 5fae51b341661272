/*
 * object_build - the header of an object, read from its text.
 *
 * Private to object.c.
 */
#ifndef API_OBJECT_BUILD_H
#define API_OBJECT_BUILD_H

#include "api/object/object.h"

/*
 * Builds an object from text that has its resourceVersion. Takes ownership of `json` and `stored`
 * (may be NULL), also on failure. -ERR_INTERNAL for damaged text.
 */
int object_build(const struct schema_kind *kind, struct bytes *json, struct bytes *stored,
		 int64_t revision, struct object **ret_object, struct error *err);

#endif
