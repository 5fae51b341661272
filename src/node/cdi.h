/*
 * cdi - Container Device Interface: names become edits of a container, from JSON or YAML files.
 *
 * Reads the spec files of the folders, later folders first in priority, as the CDI specification orders
 * them; a device name is VENDOR/CLASS=NAME. Edits that a runtime without CDI can be given by CRI (env,
 * device nodes, mounts) are applied to the spec; a file that wants anything else for these devices (hooks,
 * intelRdt, netDevices, additional gids beyond what CRI takes) is refused with a message that names it.
 */
#ifndef NODE_CDI_H
#define NODE_CDI_H

#include "node/runtime.h"

struct cdi_dirs {
	const char *const *v;
	size_t n;
};

/* Adds to the container's env, mounts and devices; text in `a`. -ERR_NOT_FOUND: no such device. */
int cdi_apply(const struct cdi_dirs *dirs, const struct str *ids, size_t n, struct arena *a,
	      struct container_spec *io, struct error *err);

/* "vendor.com/class=name". */
bool cdi_valid_name(struct str id);

#endif
