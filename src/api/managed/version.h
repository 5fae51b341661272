/*
 * managed_version - a write, as each version of its kind sees it.
 *
 * An entry's set is of the version that its writer used. If versions differ in more than their
 * name, both objects are converted before they are compared. Each comparison is made once, on first
 * use. Layer-private, for managed/.
 */
#ifndef API_MANAGED_VERSION_H
#define API_MANAGED_VERSION_H

#include "api/managed/diff.h"

struct managed_seen; /* a version that was compared */

struct managed_change {
	struct arena *arena;
	const struct schema_kind *kind; /* of both trees */
	const struct json *old; /* NULL: a create */
	const struct json *object;
	struct str subresource;
	/* `object` is as a client wrote it; other versions see it without zero values that they do
	 * not print. */
	bool raw;
	struct managed_seen *seen;
};

/* Returns the kind in that version; NULL if the version does not exist (any more). */
const struct schema_kind *managed_kind_at(const struct schema_kind *kind, struct str api_version);

/*
 * Makes a copy of the tree in another version. A compiled kind is converted as that version would
 * print it: upstream converts typed objects, so zero values are removed, or added if always
 * printed.
 */
struct json *managed_convert(struct arena *a, const struct json *tree,
			     const struct schema_kind *from, const struct schema_kind *to);

/* Computes the changes in that version; returns false if the version does not exist. */
bool managed_change_at(struct managed_change *change, struct str api_version,
		       struct managed_diff *ret_diff);

#endif
