/*
 * audit_rotate - the older files of an audit log: their names, and which of them are kept.
 *
 * The names are upstream's: audit.log becomes audit-2006-01-02T15-04-05.000.log, in UTC, and
 * audit-2006-01-02T15-04-05.000.log.gz when it is compressed. Other files are not touched.
 */
#ifndef SERVER_AUDIT_ROTATE_H
#define SERVER_AUDIT_ROTATE_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "server/core/audit_options.h"

/* The path that a log which ends now is renamed to. */
const char *audit_rotate_name(struct arena *a, const char *path, int64_t wall_ns);

/* The time in the name of an older file of this log; false for any other name. */
bool audit_rotate_time(const char *path, struct str name, int64_t *ret_wall_ns,
		       bool *ret_compressed);

/*
 * Removes the older files that are too many or too old, and compresses the others, if so wanted.
 * Returns the first failure, and does what it can nevertheless. May take long.
 */
int audit_rotate_tidy(const char *path, const struct audit_rotation *r, int64_t wall_ns,
		      struct error *err);

#endif
