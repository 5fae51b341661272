/*
 * files - the machine's files below FAKE_NVML_ROOT: what the kernel module shows in /proc about
 * capabilities, the GPUs in /sys, and a libcuda of the module's version.
 */
#include "fake.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_VERSION "580.159.04"
#ifdef __aarch64__
#define FILES_LIBRARIES "usr/lib/aarch64-linux-gnu"
#else
#define FILES_LIBRARIES "usr/lib/x86_64-linux-gnu"
#endif

enum { FILES_PATH = 4096, FILES_NAME = 256, FILES_CAPS_MAJOR = 237 };

/* Makes all folders of a path except its last part. */
static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0755);
		*at = '/';
	}
}

__attribute__((format(printf, 2, 3))) static void write_file(const char *name, const char *fmt, ...)
{
	const char *root = getenv("FAKE_NVML_ROOT");
	char path[FILES_PATH];
	va_list args;
	FILE *f;

	if (!root)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	make_folders(path);
	f = fopen(path, "we");
	if (!f)
		return;
	va_start(args, fmt);
	(void)vfprintf(f, fmt, args);
	va_end(args);
	(void)fclose(f);
}

/* The device's folder is a link, as in the kernel's /sys. */
static void write_pci(const char *root, uint32_t minor)
{
	char name[FILES_NAME], path[2 * FILES_PATH], target[FILES_NAME];

	(void)snprintf(name, sizeof(name), "sys/devices/pci0000:00/0000:00:%02x.0/numa_node",
		       6 + minor);
	write_file(name, "%u\n", minor % 2);
	(void)snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:00:%02x.0", root,
		       6 + minor);
	make_folders(path);
	(void)snprintf(target, sizeof(target), "../../../devices/pci0000:00/0000:00:%02x.0",
		       6 + minor);
	if (symlink(target, path) < 0)
		return; /* it is there already */
}

static void copy_stream(FILE *from, FILE *to)
{
	char block[FILES_PATH];
	size_t n;

	while ((n = fread(block, 1, sizeof(block), from)) > 0)
		(void)fwrite(block, 1, n, to);
}

/* Copies libfake_cuda.so, which lies beside this library. */
static void copy_libcuda(const char *root)
{
	char from[FILES_PATH], to[FILES_PATH];
	Dl_info self;
	FILE *in, *out;

	if (!dladdr(fake_files_init, &self) || !strrchr(self.dli_fname, '/'))
		return;
	(void)snprintf(from, sizeof(from), "%.*s/libfake_cuda.so",
		       (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname);
	(void)snprintf(to, sizeof(to), "%s/" FILES_LIBRARIES "/libcuda.so." FILES_VERSION, root);
	if (access(to, F_OK) == 0)
		return;
	make_folders(to);
	in = fopen(from, "re");
	out = in ? fopen(to, "we") : NULL;
	if (out) {
		copy_stream(in, out);
		(void)fclose(out);
	}
	if (in)
		(void)fclose(in);
}

/* As an H200 numbers them. */
static unsigned int minor_of(const struct fake_gpu *g, uint32_t gi, uint32_t ci)
{
	return 3 + 135 * g->minor + 9 * gi + (ci == FAKE_NONE ? 0 : 1 + ci);
}

static void instance_folder(const struct fake_gpu *g, uint32_t gi, uint32_t ci, char *name,
			    size_t size)
{
	int n = snprintf(name, size, "proc/driver/nvidia/capabilities/gpu%u/mig/gi%u", g->minor,
			 gi);

	if (ci != FAKE_NONE)
		(void)snprintf(name + n, size - (size_t)n, "/ci%u", ci);
}

static void write_access(const char *name, unsigned int minor)
{
	write_file(name, "DeviceFileMinor: %u\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor);
}

static void write_minors(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return;
	(void)fputs("config 1\nmonitor 2\n", f);
	for (uint32_t gpu = 0; gpu < FAKE_GPUS; gpu++) {
		for (uint32_t gi = 0; gi < 15; gi++) {
			struct fake_gpu g = { .minor = gpu };

			(void)fprintf(f, "gpu%u/gi%u/access %u\n", gpu, gi,
				      minor_of(&g, gi, FAKE_NONE));
			for (uint32_t ci = 0; ci < FAKE_CIS; ci++)
				(void)fprintf(f, "gpu%u/gi%u/ci%u/access %u\n", gpu, gi, ci,
					      minor_of(&g, gi, ci));
		}
	}
	(void)fclose(f);
	write_file("proc/driver/nvidia-caps/mig-minors", "%s", text);
	free(text);
}

static void write_instances(const struct fake_gpu *g)
{
	for (size_t i = 0; i < FAKE_SLICES; i++) {
		const struct fake_gi *gi = &g->gis[i];

		if (gi->used)
			fake_files_add(g, gi->id, FAKE_NONE);
		for (uint32_t c = 0; gi->used && c < FAKE_CIS; c++) {
			if (gi->cis[c].used)
				fake_files_add(g, gi->id, c);
		}
	}
}

void fake_files_init(const struct fake_state *s)
{
	const char *root = getenv("FAKE_NVML_ROOT");

	if (!root)
		return;
	write_file("proc/devices",
		   "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n%d nvidia-caps\n"
		   "%d nvidia-caps-imex-channels\n510 nvidia-uvm\n\nBlock devices:\n  7 loop\n",
		   FILES_CAPS_MAJOR, FILES_CAPS_MAJOR - 1);
	write_file("proc/driver/nvidia/version",
		   "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " FILES_VERSION
		   "  Release Build\n");
	write_access("proc/driver/nvidia/capabilities/mig/config", 1);
	write_access("proc/driver/nvidia/capabilities/mig/monitor", 2);
	write_minors();
	copy_libcuda(root);
	for (uint32_t i = 0; i < s->gpus_n; i++) {
		write_instances(&s->gpus[i]);
		write_pci(root, s->gpus[i].minor);
	}
}

void fake_files_add(const struct fake_gpu *g, uint32_t gi, uint32_t ci)
{
	char folder[FILES_NAME], name[2 * FILES_NAME];

	instance_folder(g, gi, ci, folder, sizeof(folder));
	(void)snprintf(name, sizeof(name), "%s/access", folder);
	write_access(name, minor_of(g, gi, ci));
}

void fake_files_remove(const struct fake_gpu *g, uint32_t gi, uint32_t ci)
{
	const char *root = getenv("FAKE_NVML_ROOT");
	char folder[FILES_NAME], path[2 * FILES_PATH];

	if (!root)
		return;
	instance_folder(g, gi, ci, folder, sizeof(folder));
	(void)snprintf(path, sizeof(path), "%s/%s/access", root, folder);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/%s", root, folder);
	(void)rmdir(path);
}
