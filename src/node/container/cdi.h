/*
 * cdi - Container Device Interface: turns device names into container edits, from JSON or YAML
 * files.
 *
 * Reads the spec files of the folders (*.json, *.yaml, *.yml). Later folders have priority, as in
 * the CDI specification. A device name is VENDOR/CLASS=NAME. If two files of one folder define a
 * name, the error names both. A broken file does not hide others: its devices are not found, and
 * the error message says why.
 *
 * For runtimes without CDI, edits that CRI can express are applied to the spec: env, device nodes
 * that exist on the host, bind mounts (ro, rw and propagation), and additional groups. The mount
 * options nosuid, nodev and relatime are accepted but not passed on, because CRI has no field for
 * them. Any other edit (hooks, intelRdt, netDevices, nodes that the runtime would have to create)
 * is rejected with -ERR_UNIMPLEMENTED and a message that names it.
 */
#ifndef NODE_CONTAINER_CDI_H
#define NODE_CONTAINER_CDI_H

#include "node/runtime/runtime.h"

struct cdi_dirs {
	const char *const *v;
	size_t n;
};

/*
 * Adds to the container's env, mounts, devices and groups; an entry with the same name or path is
 * replaced, as in the CDI library. Text in `a`. A name that occurs twice counts once.
 * -ERR_NOT_FOUND: no such device. -ERR_CONFLICT: two files define it. -ERR_INVALID: not a valid
 * device name.
 */
int cdi_apply(const struct cdi_dirs *dirs, const struct str *ids, size_t n, struct arena *a,
	      struct container_spec *io, struct error *err);

/* "vendor.com/class=name". */
bool cdi_valid_name(struct str id);

#endif
