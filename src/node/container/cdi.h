/*
 * cdi - Container Device Interface: names become edits of a container, from JSON or YAML files.
 *
 * Reads the spec files of the folders (*.json, *.yaml, *.yml), later folders first in priority, as
 * the CDI specification orders them; a device name is VENDOR/CLASS=NAME. A name that two files of
 * one folder define is an error that names both. A file that is broken hides nothing: its devices
 * are not found, and the message says why.
 *
 * For runtimes without CDI: edits that a runtime can be given by CRI are applied to the spec. These
 * are env, device nodes that the host has, bind mounts (ro, rw and propagation; nosuid, nodev and
 * relatime are taken and not passed on: CRI has no place for them) and additional groups. What
 * wants anything else for these devices (hooks, intelRdt, netDevices, nodes that the runtime would
 * have to make) is refused with -ERR_UNIMPLEMENTED and a message that names it.
 */
#ifndef NODE_CONTAINER_CDI_H
#define NODE_CONTAINER_CDI_H

#include "node/runtime/runtime.h"

struct cdi_dirs {
	const char *const *v;
	size_t n;
};

/*
 * Adds to the container's env, mounts, devices and groups; what is there under the same name or
 * path is replaced, as the CDI library does. Text in `a`. Each name counts once. -ERR_NOT_FOUND: no
 * such device; -ERR_CONFLICT: two files define it; -ERR_INVALID: it is no name of a device.
 */
int cdi_apply(const struct cdi_dirs *dirs, const struct str *ids, size_t n, struct arena *a,
	      struct container_spec *io, struct error *err);

/* "vendor.com/class=name". */
bool cdi_valid_name(struct str id);

#endif
