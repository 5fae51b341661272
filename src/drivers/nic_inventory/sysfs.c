/*
 * A file that cannot be read means unknown: an interface that is down has no speed (EINVAL), a
 * virtual one has no device, and any interface may vanish meanwhile.
 */
#include "drivers/nic_inventory/sysfs.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/system/file.h"

enum { NUMBER_MAX = 32 }; /* bytes of a file with a number */

static int64_t sysfs_read_number(const char *folder, const char *name, int64_t unknown)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(NUMBER_MAX);
	char path[PATH_MAX];
	int64_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (file_read(path, &text, NULL) < 0)
		return unknown;
	while (text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	return str_to_i64(buf_str(&text), &n) ? n : unknown;
}

/* The last component of the target of the link `device/driver`. */
static void read_driver(const char *folder, char *out, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/device/driver", folder);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return;
	target[n] = 0;
	slash = strrchr(target, '/');
	slash = slash ? slash + 1 : target;
	if (strlen(slash) < size)
		memcpy(out, slash, strlen(slash) + 1);
}

void nic_sysfs_read(const char *sysfs, const char *interface, struct nic_hardware *ret_hardware)
{
	struct nic_hardware h = { .numa = -1 };
	char folder[PATH_MAX / 2], path[PATH_MAX];
	int64_t n;

	(void)snprintf(folder, sizeof(folder), "%s/class/net/%s", sysfs, interface);
	(void)snprintf(path, sizeof(path), "%s/device", folder);
	h.there = access(path, F_OK) == 0;
	n = sysfs_read_number(folder, "speed", 0);
	if (n > 0 && n < INT32_MAX)
		h.speed = (uint32_t)n;
	n = sysfs_read_number(folder, "device/numa_node", -1);
	if (n >= 0 && n < INT_MAX)
		h.numa = (int)n;
	read_driver(folder, h.driver, sizeof(h.driver));
	*ret_hardware = h;
}

bool nic_hardware_equal(const struct nic_hardware *a, const struct nic_hardware *b)
{
	return a->there == b->there && a->speed == b->speed && a->numa == b->numa &&
	       strcmp(a->driver, b->driver) == 0;
}
