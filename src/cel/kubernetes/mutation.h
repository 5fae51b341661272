/*
 * mutation - the types of mutating admission policies, and the trees that their values stand for.
 *
 *	Object{spec: Object.spec{replicas: 3}}
 *	JSONPatch{op: "add", path: "/metadata/labels/a", value: "b"}
 *
 * An Object has any field, of any type; the name of its type must repeat the path to it. Nothing
 * can be read from an Object. The fields of a JSONPatch are op, path, from and value.
 */
#ifndef CEL_KUBERNETES_MUTATION_H
#define CEL_KUBERNETES_MUTATION_H

#include "base/json/json.h"
#include "cel/core/wellknown.h"

/* `find_message` of an environment (env.h). */
const struct cel_message *cel_mutation_message(struct arena *a, struct str name);

/* Whether a type is Object, and whether it is list(JSONPatch): the results of expressions. */
bool cel_is_object_type(const struct cel_type *type);
bool cel_is_patch_type(const struct cel_type *type);

/*
 * The tree of an Object, or the JSON Patch of a list of JSONPatch, in the arena. Returns NULL with
 * upstream's message, in the arena, if the value has no such tree; also if it is too large
 * (CEL_MUTATION_MAX).
 */
struct json *cel_mutation_object(struct cel_eval *ev, const struct cel_value *v, struct arena *a,
				 const char **ret_fault);
struct json *cel_mutation_patch(struct cel_eval *ev, const struct cel_value *v, struct arena *a,
				const char **ret_fault);

#endif
