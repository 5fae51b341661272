/*
 * volume_subpath - a path below a folder that others write to, found without ever leaving it.
 *
 * Links are followed while they stay inside, as a volume of a config map needs; a link to an
 * absolute path or above the folder is refused. The descriptor stands for what was found,
 * whatever becomes of the names meanwhile.
 */
#ifndef NODE_VOLUMES_SUBPATH_H
#define NODE_VOLUMES_SUBPATH_H

#include "base/core/error.h"
#include "base/core/str.h"

/* A fault in upstream's words, or NULL: absolute paths and ".." are not allowed. */
const char *volume_subpath_fault(struct str path);

/*
 * Opens (O_PATH) `path` below the folder `base`; what is missing is made, as folders with this
 * mode. -ERR_FORBIDDEN when it would lead out, -ERR_IO with the errno else.
 */
int volume_subpath_open(const char *base, struct str path, unsigned mode, int *ret_fd,
			struct error *err);

#endif
