/*
 * folder - folders that a program needs.
 */
#ifndef BASE_SYSTEM_FOLDER_H
#define BASE_SYSTEM_FOLDER_H

#include "base/core/error.h"

/* Makes it, and those above it, where missing. */
int folder_make(const char *path, unsigned mode, struct error *err);

#endif
