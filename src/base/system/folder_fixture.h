/*
 * folder_fixture - for tests: removes a folder with everything in it. Include cmocka first.
 */
#ifndef BASE_SYSTEM_FOLDER_FIXTURE_H
#define BASE_SYSTEM_FOLDER_FIXTURE_H

#include <ftw.h>
#include <stdio.h>

#include "base/core/compiler.h"

static inline int folder_fixture_remove_one(const char *path, const struct stat *st UNUSED,
					    int type UNUSED, struct FTW *at UNUSED)
{
	return remove(path);
}

/* Returns -1 if something could not be removed. */
static inline int folder_fixture_try_remove(const char *path)
{
	return nftw(path, folder_fixture_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void folder_fixture_remove(const char *path)
{
	assert_int_equal(folder_fixture_try_remove(path), 0);
}

#endif
