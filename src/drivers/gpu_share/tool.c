/* Installations of distributions and of container images differ in the folder. */
#include "drivers/gpu_share/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"

static const char *const folders[] = { "/usr/bin", "/usr/local/nvidia/bin" };

const char *gpu_tool_find(struct arena *a, const char *root, const char *driver_root,
			  const char *name)
{
	if (!driver_root || strcmp(driver_root, "/") == 0)
		driver_root = "";
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		const char *path = arena_printf(a, "%s%s%s/%s", root ? root : "", driver_root,
						folders[i], name);

		if (access(path, X_OK) == 0)
			return path;
	}
	return arena_strdup(a, str_from(name));
}

static bool is_replaced(const char *variable, bool libraries, bool path)
{
	return strncmp(variable, "CUDA_", 5) == 0 ||
	       (libraries && strncmp(variable, "LD_LIBRARY_PATH=", 16) == 0) ||
	       (path && strncmp(variable, "PATH=", 5) == 0);
}

const char *const *gpu_tool_env(struct arena *a, const char *program, const char *libraries,
				const char *const *more)
{
	const char *slash = strrchr(program, '/'), *path = getenv("PATH"), **env;
	size_t count = 0, added = 0, n = 0;

	while (environ[count])
		count++;
	while (more && more[added])
		added++;
	env = ARENA_ARRAY(a, const char *, count + added + 3);
	for (size_t i = 0; i < count; i++)
		if (!is_replaced(environ[i], libraries != NULL, slash != NULL))
			env[n++] = environ[i];
	if (slash)
		env[n++] = arena_printf(a, "PATH=%.*s:%s", (int)(slash - program), program,
					path ? path : "");
	if (libraries)
		env[n++] = arena_printf(a, "LD_LIBRARY_PATH=%s", libraries);
	for (size_t i = 0; i < added; i++)
		env[n++] = more[i];
	return env;
}
