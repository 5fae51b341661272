/*
 * managed - metadata.managedFields: who set which field.
 *
 * Every write records its fields. An Update entry of a manager owns what its
 * writes changed; a write takes ownership from nobody but those whose values
 * it changed or removed. An Apply entry owns what its manager's last configuration
 * said. Sets of fields are FieldsV1 (f:, k:, v:, "."), shaped by the schema's merge
 * kinds. Entries of more than ten Update managers are folded into "ancient-changes".
 */
#ifndef API_MANAGED_MANAGED_H
#define API_MANAGED_MANAGED_H

#include "api/schema/schema.h"
#include "base/json/json.h"

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
 * The writer's entry names the version of its request, and so does its set: what other versions
 * call a field is found by converting both objects. Entries of a version that is gone are
 * dropped.
 */
void managed_update(struct arena *a, const struct schema_kind *kind, struct json *object,
		    const struct json *old, const struct managed_writer *writer);

/* --- apply -------------------------------------------------------------------------------- */

/* A field of a configuration that somebody else owns with another value. */
struct managed_conflict {
	struct str manager; /* as a cause tells it: "kubectl" using v1 */
	struct str field; /* .spec.replicas */
};

struct managed_applied {
	/* Merged and pruned, with its managedFields; not fitted to its type, no defaults. */
	struct json *object;
	struct managed_conflict *conflicts; /* behind -ERR_APPLY_CONFLICT */
	size_t nconflicts;
	size_t untold; /* conflicts that are too many to be listed */
};

/* Whether `config` may be applied to an object of `kind`; managed_apply() asks, too. */
int managed_check_config(struct arena *a, const struct schema_kind *kind, const struct json *config,
			 struct error *err);

/*
 * Applies `config`, a tree as the client sent it, to `live`, the stored object (NULL for a
 * create); both of `kind`, neither is changed. The manager's entry then owns what config
 * says, and what it said last time and does not any more is gone, unless others own it.
 * Values that others own are not changed unless `force`, which takes them over; the manager
 * "kubectl" also takes over what it set by client-side apply and nobody changed since.
 *
 * -ERR_APPLY_CONFLICT; -ERR_BAD_REQUEST for another kind or version, managedFields in config,
 * or one nested too deep; -ERR_UNTYPED for what does not fit the type, as upstream has it.
 */
int managed_apply(struct arena *a, const struct schema_kind *kind, const struct json *live,
		  const struct json *config, const struct managed_writer *writer, bool force,
		  struct managed_applied *ret, struct error *err);

/*
 * The manager's name: the fieldManager parameter, else the User-Agent up to its
 * first '/', at most 128 bytes, else "unknown".
 */
struct str managed_name(struct str field_manager, struct str user_agent);

#endif
