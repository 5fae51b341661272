/*
 * managed - metadata.managedFields: which manager set which field.
 *
 * Every write records its fields. An Update entry owns the fields that its manager's writes
 * changed. A write takes ownership only from managers whose values it changed or removed. An Apply
 * entry owns the fields of its manager's last configuration. Sets of fields are FieldsV1 (f:, k:,
 * v:, "."), shaped by the schema's merge kinds. If there are more than ten Update managers, the
 * oldest entries are merged into "ancient-changes".
 */
#ifndef API_MANAGED_MANAGED_H
#define API_MANAGED_MANAGED_H

#include "api/schema/schema.h"
#include "base/json/json.h"

struct managed_writer {
	struct str manager; /* up to 128 bytes */
	struct str api_version; /* the version that the entry names */
	struct str subresource; /* "" or "status" */
	int64_t now_ns;
};

/*
 * Updates object.metadata.managedFields for an Update. `old` is the stored object (NULL for a
 * create); both are of `kind`. If the write is of the main resource and the client sent well-formed
 * managedFields, they are used (upstream lets clients edit them; an empty list or [{}] resets
 * them). Otherwise the stored ones are used. If nothing changed, they stay as stored, with their
 * time. An object whose list was reset is not tracked until it is applied.
 *
 * The writer's entry and its set are of the version of the request. Fields that other versions call
 * differently are found by converting both objects. Entries of a version that no longer exists are
 * dropped.
 */
void managed_update(struct arena *a, const struct schema_kind *kind, struct json *object,
		    const struct json *old, const struct managed_writer *writer);

/* --- apply -------------------------------------------------------------------------------- */

/* A field of a configuration that another manager owns with another value. */
struct managed_conflict {
	struct str manager; /* as a cause shows it: "kubectl" using v1 */
	struct str field; /* .spec.replicas */
};

struct managed_applied {
	/* Merged and pruned, with its managedFields. Not fitted to its type, without defaults. */
	struct json *object;
	struct managed_conflict *conflicts; /* the conflicts of -ERR_APPLY_CONFLICT */
	size_t nconflicts;
	size_t untold; /* number of further conflicts beyond the limit of the list */
};

/* Checks whether `config` may be applied to an object of `kind`; managed_apply() does this, too. */
int managed_check_config(struct arena *a, const struct schema_kind *kind, const struct json *config,
			 struct error *err);

/*
 * Applies `config`, a tree as the client sent it, to `live`, the stored object (NULL for a create).
 * Both are of `kind`; neither is changed. The manager's entry then owns the fields of config.
 * Fields of its previous configuration that config no longer has are removed, unless others own
 * them. Values that others own are a conflict, unless `force`, which takes them over. The manager
 * "kubectl" also takes over fields that it set by client-side apply and that nobody changed since.
 *
 * -ERR_APPLY_CONFLICT; -ERR_BAD_REQUEST if config has another kind or version, has managedFields,
 * or is nested too deep; -ERR_UNTYPED, as upstream, if it does not fit the type.
 */
int managed_apply(struct arena *a, const struct schema_kind *kind, const struct json *live,
		  const struct json *config, const struct managed_writer *writer, bool force,
		  struct managed_applied *ret, struct error *err);

/*
 * Merges `config` into a copy of `live` as apply does, without managers: fields that config does
 * not have stay. -ERR_UNTYPED, in upstream's wording, if config does not fit the type, or has a
 * list, map or object that is owned as a whole: what it does not repeat of it would be lost. `live`
 * and `config` are not changed.
 */
int managed_overlay(struct arena *a, const struct schema_kind *kind, const struct json *live,
		    const struct json *config, struct json **ret_object, struct error *err);

/*
 * Returns the manager's name: the fieldManager parameter, else the User-Agent up to its first '/',
 * at most 128 bytes, else "unknown".
 */
struct str managed_name(struct str field_manager, struct str user_agent);

#endif
