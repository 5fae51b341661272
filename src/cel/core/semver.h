/*
 * semver - versions as semver.org's specification 2.0 has them.
 *
 * Read as strictly as it says, or forgivingly: with a "v" before it, leading zeros, and minor
 * and patch left out. Build metadata is kept and plays no part in comparing.
 */
#ifndef CEL_CORE_SEMVER_H
#define CEL_CORE_SEMVER_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct cel_semver {
	uint64_t major, minor, patch;
	struct str pre, build; /* behind '-' and '+'; n 0: none; borrowed from the text */
};

/* -ERR_INVALID with upstream's words. `normalize`: forgivingly. */
int cel_semver_parse(struct str text, bool normalize, struct cel_semver *ret_version,
		     struct error *err);

/* -1, 0, 1: precedence; a pre-release is less than its release. */
int cel_semver_cmp(const struct cel_semver *a, const struct cel_semver *b);

/* Appends it, build metadata and all. */
void cel_semver_print(const struct cel_semver *version, struct buf *out);

#endif
