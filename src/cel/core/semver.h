/*
 * semver - versions of Semantic Versioning 2.0 (semver.org).
 *
 * Parsing is strict, or lenient: with a leading "v", leading zeros, and without minor and patch.
 * Build metadata is kept, but ignored in comparisons.
 */
#ifndef CEL_CORE_SEMVER_H
#define CEL_CORE_SEMVER_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct cel_semver {
	uint64_t major, minor, patch;
	struct str pre, build; /* after '-' and '+', or empty; borrowed from the text */
};

/* Returns -ERR_INVALID with upstream's message. `normalize`: lenient. */
int cel_semver_parse(struct str text, bool normalize, struct cel_semver *ret_version,
		     struct error *err);

/* Compares by precedence: returns -1, 0 or 1. A pre-release is less than its release. */
int cel_semver_cmp(const struct cel_semver *a, const struct cel_semver *b);

/* Appends the version, including build metadata. */
void cel_semver_print(const struct cel_semver *version, struct buf *out);

#endif
