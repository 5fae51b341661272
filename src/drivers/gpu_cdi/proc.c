/* Small files, read as a whole. The kernel writes them, but a root may be any folder. */
#include "drivers/gpu_cdi/proc.h"

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/system/file.h"

enum { PROC_PATH_SIZE = 4096, PROC_MAJOR = 195 /* fixed in the driver */ };

static int proc_read(const char *root, const char *name, struct buf *text, struct error *err)
{
	char path[PROC_PATH_SIZE];

	if (snprintf(path, sizeof(path), "%s%s", root, name) >= (int)sizeof(path))
		return error_set(err, ERR_INVALID, "the root folder has a name that is too long");
	return file_read(path, text, err);
}

/* --- version -------------------------------------------------------------------------------- */

/* 535.104 or 580.159.04: numbers with one or two points. */
static bool proc_is_version(struct str s)
{
	struct str piece;
	size_t n = 0;

	if (s.n >= GPU_VERSION_SIZE)
		return false;
	for (; str_split(&s, '.', &piece); n++) {
		if (piece.n == 0)
			return false;
		for (size_t i = 0; i < piece.n; i++)
			if (!str_is_digit(piece.p[i]))
				return false;
	}
	return n == 2 || n == 3;
}

bool gpu_proc_read_version(struct str text, char ret_version[static GPU_VERSION_SIZE])
{
	struct str line = STR_NULL, word;

	(void)str_split(&text, '\n', &line);
	while (str_split(&line, ' ', &word))
		if (proc_is_version(word)) {
			*str_put(ret_version, word) = '\0';
			return true;
		}
	return false;
}

int gpu_proc_version(const char *root, char ret_version[static GPU_VERSION_SIZE], struct error *err)
{
	static const char *const names[] = { "/sys/module/nvidia/version",
					     "/proc/driver/nvidia/version" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(MACHINE_FILE_MAX);
		int r = proc_read(root, names[i], &text, err);

		if (r == 0 && gpu_proc_read_version(buf_str(&text), ret_version))
			return 0;
		if (r < 0 && r != -ERR_NOT_FOUND)
			return r;
	}
	return error_set(err, ERR_NOT_FOUND,
			 "NVIDIA's kernel module is not loaded; install the driver, or run "
			 "\"modprobe nvidia\"");
}

/* --- majors --------------------------------------------------------------------------------- */

static void proc_read_major(struct str line, struct gpu_majors *m)
{
	const struct {
		const char *name;
		uint32_t *major;
	} known[] = {
		{ "nvidia", &m->nvidia },    { "nvidia-frontend", &m->nvidia },
		{ "nvidiactl", &m->nvidia }, { "nvidia-uvm", &m->uvm },
		{ "nvidia-caps", &m->caps },
	};
	struct str number;
	uint64_t v;

	line = str_trim(line);
	if (!str_split(&line, ' ', &number) || !str_to_u64(number, &v) || v == 0 || v > UINT32_MAX)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (str_eqz(line, known[i].name) && *known[i].major == 0)
			*known[i].major = (uint32_t)v;
}

void gpu_proc_read_majors(struct str text, struct gpu_majors *ret_majors)
{
	struct gpu_majors m = { 0 };
	bool characters = false;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (str_eqz(line, "Character devices:"))
			characters = true;
		else if (str_eqz(line, "Block devices:"))
			characters = false;
		else if (characters)
			proc_read_major(line, &m);
	}
	if (m.nvidia == 0)
		m.nvidia = PROC_MAJOR;
	*ret_majors = m;
}

int gpu_proc_majors(const char *root, struct gpu_majors *ret_majors, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MACHINE_FILE_MAX);
	int r = proc_read(root, "/proc/devices", &text, err);

	if (r == 0)
		gpu_proc_read_majors(buf_str(&text), ret_majors);
	return r;
}

/* --- capabilities --------------------------------------------------------------------------- */

bool gpu_proc_read_cap(struct str text, struct gpu_cap *ret_cap)
{
	struct str line, key;
	struct gpu_cap c = { .mode = 0444 };
	bool found = false;
	uint64_t v;

	while (str_split(&text, '\n', &line)) {
		if (!str_split(&line, ':', &key) || !str_to_u64(str_trim(line), &v) ||
		    v > UINT32_MAX)
			continue;
		if (str_eqz(key, "DeviceFileMinor")) {
			c.minor = (uint32_t)v;
			found = true;
		} else if (str_eqz(key, "DeviceFileMode")) {
			c.mode = (uint32_t)v & 0777;
		}
	}
	if (found)
		*ret_cap = c;
	return found;
}

int gpu_proc_cap(const char *root, uint32_t gpu_minor, uint32_t gi, int32_t ci,
		 struct gpu_cap *ret_cap, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MACHINE_FILE_MAX);
	char name[160], below[32] = "";
	int r;

	if (ci >= 0)
		(void)snprintf(below, sizeof(below), "/ci%d", (int)ci);
	(void)snprintf(name, sizeof(name),
		       "/proc/driver/nvidia/capabilities/gpu%u/mig/gi%u%s/access", gpu_minor, gi,
		       below);
	r = proc_read(root, name, &text, err);
	if (r == -ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "the MIG instance gi%u%s of GPU %u does not exist: there is no %s",
				 gi, below, gpu_minor, name);
	if (r == 0 && !gpu_proc_read_cap(buf_str(&text), ret_cap))
		r = error_set(err, ERR_IO, "%s%s has no DeviceFileMinor", root, name);
	return r;
}
