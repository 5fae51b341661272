/*
 * Overwrites the files of another version of the program: the stories match ours.
 */
#include "cli/demo/demo_files.h"

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder.h"

int demo_files_write(const char *folder, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	int r = folder_make(folder, 0755, err);

	for (const struct demo_file *f = demo_files; r == 0 && f->name; f++) {
		buf_clear(&path);
		if (buf_printf(&path, "%s/%s", folder, f->name) < 0)
			return error_set(err, ERR_TOO_LARGE, "%s is too long", folder);
		r = file_write_atomic(path.p, str_from(f->text), 0644, err);
	}
	return r;
}
