/*
 * in_namespace - the few objects that rule over a namespace: its quotas, its limit ranges.
 */
#ifndef SERVER_ENGINE_IN_NAMESPACE_H
#define SERVER_ENGINE_IN_NAMESPACE_H

#include "base/core/arena.h"
#include "server/engine/state.h"

/*
 * Those that are committed, by name, each as the next write finds it (resource_tip()); what is
 * about to be deleted is left out. The array is in the arena, its objects are borrowed until
 * control returns to the loop. Takes time as they are many, whatever else there is.
 */
size_t in_namespace(struct resource *r, struct str ns, struct arena *a, struct object ***ret_v);

/* The name of an object in a namespace. */
struct str in_namespace_name(const struct object *o);

#endif
