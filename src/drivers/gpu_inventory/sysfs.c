/*
 * SYSFS/bus/pci/devices/ADDRESS is a link to ../../../devices/pci0000:00/../ADDRESS. The root
 * complex is the part of that path that begins with "pci".
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "drivers/gpu_inventory/inventory.h"

static int read_numa(const char *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);
	int64_t numa;

	if (file_read(path, &text, NULL) < 0 ||
	    !str_to_i64(str_trim_space(buf_str(&text)), &numa) || numa < 0 || numa > INT32_MAX)
		return -1;
	return (int)numa;
}

static const char *read_root(struct arena *a, const char *path)
{
	char *target = realpath(path, NULL);
	struct str rest = str_from(target), piece;
	const char *root = NULL;

	while (!root && target && str_split(&rest, '/', &piece))
		if (str_starts(piece, STR("pci")) && str_chr(piece, ':') > 0)
			root = arena_strdup(a, piece);
	free(target);
	return root;
}

void gpu_sysfs_read(const char *sysfs, struct arena *a, struct gpu_source *s)
{
	const char *path = arena_printf(a, "%s/bus/pci/devices/%.*s", sysfs, STR_ARG(s->gpu.pci));

	s->numa = s->gpu.pci.n ? read_numa(arena_printf(a, "%s/numa_node", path)) : -1;
	s->pcie_root = s->gpu.pci.n ? read_root(a, path) : NULL;
}
