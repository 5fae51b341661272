/* folder - creates folders. */
#ifndef BASE_SYSTEM_FOLDER_H
#define BASE_SYSTEM_FOLDER_H

#include "base/core/error.h"

/* Creates the folder and its parents, if missing. */
int folder_make(const char *path, unsigned mode, struct error *err);

#endif
