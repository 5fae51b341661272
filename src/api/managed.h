/*
 * managed - metadata.managedFields: who set which field.
 *
 * Every write records its fields. An Update entry of a manager owns what its
 * writes changed; a write takes ownership from nobody but those whose values
 * it changed or removed. Sets of fields are FieldsV1 (f:, k:, v:, "."), shaped by
 * the schema's merge kinds. Entries of more than ten Update managers are folded
 * into "ancient-changes".
 */
#ifndef API_MANAGED_H
#define API_MANAGED_H

#include "api/schema.h"
#include "base/json.h"

struct managed_writer {
	struct str manager; /* up to 128 bytes */
	struct str api_version; /* that the entry names */
	struct str subresource; /* "" or "status" */
	int64_t now_ns;
};

/*
 * Brings object.metadata.managedFields up to date for an Update: `old` is the
 * stored object (NULL for a create), both of `kind`. What the client sent in
 * managedFields is taken when it is well-formed and the write is of the main
 * resource (upstream lets clients edit; an empty list or [{}] resets), else the stored
 * one is. When nothing changed, they are left as stored; so is their time. An
 * object whose list was reset is not tracked until it is applied.
 *
 * Sets of entries of other versions are taken to be of the stored form, which
 * write.h sees to.
 */
void managed_update(struct arena *a, const struct schema_kind *kind, struct json *object,
		    const struct json *old, const struct managed_writer *writer);

/*
 * The manager's name: the fieldManager parameter, else the User-Agent up to its
 * first '/', at most 128 bytes, else "unknown".
 */
struct str managed_name(struct str field_manager, struct str user_agent);

#endif
