/*
 * gpu_proc - facts about NVIDIA's kernel modules, from /proc and /sys.
 *
 * `root` is a folder that has the machine's /proc and /sys; "" for the machine itself.
 */
#ifndef DRIVERS_GPU_CDI_PROC_H
#define DRIVERS_GPU_CDI_PROC_H

#include "base/core/error.h"
#include "base/core/str.h"

enum { GPU_VERSION_SIZE = 32 };

/*
 * The version of the loaded kernel module, such as "580.159.04". -ERR_NOT_FOUND: no module is
 * loaded. The error says what to do.
 */
int gpu_proc_version(const char *root, char ret_version[static GPU_VERSION_SIZE],
		     struct error *err);

/* The version in the text of /proc/driver/nvidia/version. */
bool gpu_proc_read_version(struct str text, char ret_version[static GPU_VERSION_SIZE]);

/* The majors of character devices; 0: not there. */
struct gpu_majors {
	uint32_t nvidia, uvm, caps;
};

/* -ERR_IO if /proc/devices cannot be read. */
int gpu_proc_majors(const char *root, struct gpu_majors *ret_majors, struct error *err);
void gpu_proc_read_majors(struct str text, struct gpu_majors *ret_majors);

/* The capability of a MIG instance: the file of the driver that admits its user. */
struct gpu_cap {
	uint32_t minor, mode; /* mode: permission bits */
};

/* The capability of a GPU instance; or with ci >= 0 of a compute instance in it. */
int gpu_proc_cap(const char *root, uint32_t gpu_minor, uint32_t gi, int32_t ci,
		 struct gpu_cap *ret_cap, struct error *err);
bool gpu_proc_read_cap(struct str text, struct gpu_cap *ret_cap);

#endif
