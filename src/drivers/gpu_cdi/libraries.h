/*
 * gpu_libraries - the driver's files that containers need, on the machine and in the container.
 *
 * Programs load the driver's libraries by their SONAMEs. Upstream's toolkit mounts the files and
 * runs hooks in each container, which make links and the loader's cache. We bind each file directly
 * on its SONAME in the folders where glibc's loader looks anyway, so no hook is needed. Images
 * without glibc are not supported; neither are NVIDIA's libraries.
 *
 * A machine may have several copies of libcuda. Only the one with the version of the loaded kernel
 * module works.
 */
#ifndef DRIVERS_GPU_CDI_LIBRARIES_H
#define DRIVERS_GPU_CDI_LIBRARIES_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct gpu_libraries_opts {
	/* Folder that has the machine's root, as we see it; "" or NULL: ours. */
	const char *root;
	/* Folder on the machine in which the driver is installed; "" or NULL: its root. */
	const char *driver_root;
	const char *library_dir; /* below driver_root; NULL: look in the usual folders */
	const char *version; /* of the kernel module */
	uint16_t machine; /* ELF machine; 0: ours */
	bool no_smi; /* without nvidia-smi */
};

struct gpu_file {
	const char *host_path; /* on the machine, without opts.root */
	const char *path; /* in the container */
};

struct gpu_libraries {
	struct gpu_file *files;
	size_t nfiles;
	const char *folder; /* with the libraries, on the machine */
};

/*
 * Finds the files. All text is in `a`. -ERR_NOT_FOUND: libcuda of that version is missing. The
 * error has the versions that were found, and says what to do.
 */
int gpu_libraries_find(struct arena *a, const struct gpu_libraries_opts *o,
		       struct gpu_libraries *ret_libraries, struct error *err);

#endif
