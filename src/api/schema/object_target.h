/*
 * object_target - the object that a request is about, and the subresource of it.
 *
 * The phases of a write each have a target of their own, because they may differ: the path of a
 * creation has no name, admission does not see a generated one. A phase copies the target of the
 * phase before it as a whole, and then changes what differs.
 */
#ifndef API_SCHEMA_OBJECT_TARGET_H
#define API_SCHEMA_OBJECT_TARGET_H

#include "base/core/str.h"

struct object_target {
	struct str ns; /* empty for a kind without namespaces */
	struct str name; /* empty: of no object yet (create), or of all (list) */
	struct str subresource; /* "", "status", "binding", "eviction", "finalize", .. */
};

/*
 * Declares a target as part of another structure. The member `target` is all of it, for copies; its
 * fields can be used as fields of the structure. An initializer sets either `target` or fields.
 */
#define OBJECT_TARGET                                     \
	union {                                           \
		struct object_target target;              \
		struct {                                  \
			struct str ns, name, subresource; \
		};                                        \
	}

#endif
