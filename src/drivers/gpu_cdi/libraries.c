/*
 * The folder of libcuda.so.VERSION has all other libraries, too: an installation is one folder. The
 * list of libraries is for computing and video. Libraries for graphics need more than files.
 *
 * Files are bound twice: Debian's loader looks in /usr/lib/MACHINE-linux-gnu, Red Hat's in
 * /usr/lib64. The runtime makes the folder that an image lacks.
 */
#include "drivers/gpu_cdi/libraries.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_cdi/soname.h"

#ifdef __aarch64__
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_X86_64 };
#endif

struct library {
	const char *name;
	const char *link; /* a second name that programs load; or NULL */
};

static const struct library libraries[] = {
	{ "libcuda.so", "libcuda.so" }, /* the first must exist */
	{ "libcudadebugger.so", NULL },
	{ "libnvcuvid.so", NULL },
	{ "libnvidia-allocator.so", NULL },
	{ "libnvidia-cfg.so", NULL },
	{ "libnvidia-encode.so", NULL },
	{ "libnvidia-gpucomp.so", NULL },
	{ "libnvidia-ml.so", NULL },
	{ "libnvidia-nvvm.so", NULL },
	{ "libnvidia-nvvm70.so", NULL },
	{ "libnvidia-opencl.so", NULL },
	{ "libnvidia-opticalflow.so", NULL },
	{ "libnvidia-pkcs11-openssl3.so", NULL },
	{ "libnvidia-ptxjitcompiler.so", NULL },
};

/* Where drivers are installed; the first two are also the folders in the container. */
static const char *const folders_x86[] = {
	"/usr/lib/x86_64-linux-gnu", "/usr/lib64",     "/usr/lib/x86_64-linux-gnu/nvidia/current",
	"/lib/x86_64-linux-gnu",     "/lib64",         "/usr/lib",
	"/usr/local/nvidia/lib64",   "/usr/local/lib", NULL,
};

static const char *const folders_arm[] = {
	"/usr/lib/aarch64-linux-gnu", "/usr/lib64",     "/usr/lib/aarch64-linux-gnu/nvidia/current",
	"/lib/aarch64-linux-gnu",     "/lib64",         "/usr/lib",
	"/usr/local/nvidia/lib64",    "/usr/local/lib", NULL,
};

enum { CONTAINER_FOLDERS = 2 };

struct library_search {
	struct arena *arena;
	const struct gpu_libraries_opts *opts;
	const char *root, *driver_root; /* never NULL */
	uint16_t machine;
	const char *const *folders;
	VEC(struct gpu_file) files;
	struct buf others; /* copies of libcuda that do not fit, for the error */
};

/* --- one file ------------------------------------------------------------------------------- */

static bool search_has_path(const struct library_search *s, const char *path)
{
	for (size_t i = 0; i < s->files.n; i++)
		if (strcmp(s->files.v[i].path, path) == 0)
			return true;
	return false;
}

/* Two libraries with one SONAME: the first wins. */
static void search_push(struct library_search *s, const char *host_path, const char *path)
{
	if (!search_has_path(s, path))
		(void)vec_push(&s->files,
			       (struct gpu_file){ .host_path = host_path, .path = path });
}

static int search_add(struct library_search *s, const char *folder, const struct library *l,
		      struct error *err)
{
	const char *host = arena_printf(s->arena, "%s%s/%s.%s", s->driver_root, folder, l->name,
					s->opts->version);
	const char *ours = arena_printf(s->arena, "%s%s", s->root, host);
	struct soname found;
	int r = soname_read(ours, &found, err);

	if (r < 0)
		return r;
	if (found.machine != s->machine)
		return error_set(err, ERR_INVALID, "%s: it is for another kind of processor", ours);
	for (size_t i = 0; i < CONTAINER_FOLDERS; i++) {
		search_push(s, host, arena_printf(s->arena, "%s/%s", s->folders[i], found.name));
		if (l->link)
			search_push(s, host,
				    arena_printf(s->arena, "%s/%s", s->folders[i], l->link));
	}
	return 0;
}

static bool search_is_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[SELFMAG];
	bool yes;

	if (fd < 0)
		return false;
	yes = read(fd, head, sizeof(head)) == SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
	(void)close(fd);
	return yes;
}

/* A script that sets up its environment would not work in a container. */
static void search_add_smi(struct library_search *s)
{
	static const char *const paths[] = { "/usr/bin/nvidia-smi",
					     "/usr/local/nvidia/bin/nvidia-smi" };

	for (size_t i = 0; i < ARRAY_SIZE(paths) && !s->opts->no_smi; i++) {
		const char *host = arena_printf(s->arena, "%s%s", s->driver_root, paths[i]);

		if (search_is_program(arena_printf(s->arena, "%s%s", s->root, host)))
			search_push(s, host, "/usr/bin/nvidia-smi");
	}
}

/* --- the folder ----------------------------------------------------------------------------- */

static void search_note_others(struct library_search *s, const char *folder)
{
	const char *ours = arena_printf(s->arena, "%s%s%s", s->root, s->driver_root, folder);
	DIR *d = opendir(ours);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, "libcuda.so.", 11) == 0 && strchr(e->d_name + 11, '.'))
			(void)buf_printf(&s->others, "%s%s/%s", s->others.n ? ", " : "", folder,
					 e->d_name);
	if (d)
		(void)closedir(d);
}

/* A copy that cannot be used, such as one for another processor, does not end the search. */
static int search_folders(struct library_search *s, const char *const *folders,
			  const char **ret_folder, struct error *err)
{
	struct error first = { .code = ERR_OK };
	struct error found;

	for (; *folders; folders++) {
		int r = search_add(s, *folders, &libraries[0], &found);

		if (r == 0) {
			*ret_folder = *folders;
			return 0;
		}
		if (r != -ERR_NOT_FOUND && first.code == ERR_OK)
			first = found;
		if (r == -ERR_NOT_FOUND)
			search_note_others(s, *folders);
	}
	if (first.code != ERR_OK)
		return error_copy(err, &first);
	return error_set(err, ERR_NOT_FOUND,
			 "cannot find libcuda.so.%s, the version of the loaded kernel module; "
			 "install the driver's libraries of this version, or name their folder "
			 "(found: %.*s)",
			 s->opts->version,
			 STR_ARG(s->others.n ? str_cut(buf_str(&s->others), 200) : STR("no copy")));
}

static int search_all(struct library_search *s, struct gpu_libraries *ret, struct error *err)
{
	const char *const given[] = { s->opts->library_dir, NULL };
	const char *folder = NULL;
	int r = search_folders(s, given[0] ? given : s->folders, &folder, err);

	if (r < 0)
		return r;
	for (size_t i = 1; i < ARRAY_SIZE(libraries); i++)
		(void)search_add(s, folder, &libraries[i], NULL);
	search_add_smi(s);
	ret->folder = arena_printf(s->arena, "%s%s", s->driver_root, folder);
	ret->nfiles = s->files.n;
	ret->files = ARENA_ARRAY(s->arena, struct gpu_file, s->files.n);
	for (size_t i = 0; i < s->files.n; i++)
		ret->files[i] = s->files.v[i];
	return 0;
}

int gpu_libraries_find(struct arena *a, const struct gpu_libraries_opts *o,
		       struct gpu_libraries *ret_libraries, struct error *err)
{
	struct library_search s = { .arena = a,
				    .opts = o,
				    .root = o->root ? o->root : "",
				    .driver_root = o->driver_root ? o->driver_root : "",
				    .machine = o->machine ? o->machine : OUR_MACHINE };
	int r;

	if (strcmp(s.driver_root, "/") == 0)
		s.driver_root = "";
	s.folders = s.machine == EM_AARCH64 ? folders_arm : folders_x86;
	vec_init(&s.files, GPU_FILES_MAX);
	buf_init(&s.others, 4 * KIB);
	r = search_all(&s, ret_libraries, err);
	vec_release(&s.files);
	buf_release(&s.others);
	return r;
}
