/*
 * As `mkdir -p` does.
 */
#include "base/system/folder.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/core/mem.h"

int folder_make(const char *path, unsigned mode, struct error *err)
{
	CLEANUP(free) char *part = xstrdup(path);

	for (char *at = part + 1; part[0]; at++) {
		char c = *at;

		if (c != '/' && c != 0)
			continue;
		*at = 0;
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return error_set_errno(err, ERR_IO, errno, "cannot make the folder %s",
					       part);
		*at = c;
		if (c == 0)
			break;
	}
	return 0;
}
