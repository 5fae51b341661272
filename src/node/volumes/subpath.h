/*
 * volume_subpath - opens a path below a folder that others write to, without ever leaving it.
 *
 * Links are followed while they stay inside, as a ConfigMap volume needs. A link to an absolute
 * path or above the folder is rejected. The descriptor stays valid for the file that was found,
 * even if names change meanwhile.
 */
#ifndef NODE_VOLUMES_SUBPATH_H
#define NODE_VOLUMES_SUBPATH_H

#include "base/core/error.h"
#include "base/core/str.h"

/* Returns upstream's error message, or NULL: absolute paths and ".." are not allowed. */
const char *volume_subpath_fault(struct str path);

/*
 * Opens (O_PATH) `path` below the folder `base`; missing parts are created as folders with this
 * mode. -ERR_FORBIDDEN if it would leave the folder, else -ERR_IO with the errno.
 */
int volume_subpath_open(const char *base, struct str path, unsigned mode, int *ret_fd,
			struct error *err);

#endif
