/*
 * Any bytes as a shared library, and as the files of /proc about the driver. A SONAME that was read
 * can be used as a file name.
 */
#include "drivers/gpu_cdi/proc.h"
#include "drivers/gpu_cdi/soname.h"
#include "target.h"

static bool read_bytes(void *arg, uint64_t at, void *to, size_t n)
{
	const struct str *s = arg;

	if (at > s->n || n > s->n - at)
		return false;
	str_put(to, str_of(s->p + at, n));
	return true;
}

static void check_soname(struct str bytes)
{
	struct soname_source s = { .read = read_bytes, .arg = &bytes };
	struct error err = { .msg = "" };
	struct soname found;

	if (soname_parse(&s, &found, &err) < 0) {
		require(err.code == ERR_INVALID && err.msg[0] != 0);
		return;
	}
	require(memchr(found.name, 0, SONAME_SIZE) && found.name[0] && found.name[0] != '.');
	require(!strchr(found.name, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of(data, size);
	char version[GPU_VERSION_SIZE];
	struct gpu_majors majors;
	struct gpu_cap cap;

	check_soname(text);
	gpu_proc_read_majors(text, &majors);
	require(majors.nvidia != 0);
	if (gpu_proc_read_version(text, version))
		require(memchr(version, 0, sizeof(version)) && !strchr(version, '/'));
	if (gpu_proc_read_cap(text, &cap))
		require(cap.mode <= 0777);
	return 0;
}
