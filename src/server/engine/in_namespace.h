/*
 * in_namespace - all objects of a kind in one namespace, such as its quotas.
 */
#ifndef SERVER_ENGINE_IN_NAMESPACE_H
#define SERVER_ENGINE_IN_NAMESPACE_H

#include "base/core/arena.h"
#include "server/engine/state.h"

/*
 * The committed objects in name order, each as resource_tip() has it. Objects with a pending
 * deletion are left out. The array is in the arena; the objects are borrowed until control
 * returns to the loop. The cost depends on the number of these objects, not on the size of the
 * resource.
 */
size_t in_namespace(struct resource *r, struct str ns, struct arena *a, struct object ***ret_v);

/* The name of an object in a namespace. */
struct str in_namespace_name(const struct object *o);

#endif
