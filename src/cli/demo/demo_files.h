/*
 * demo_files - the manifests of `devplane demo`, as examples/demo has them, in the program.
 */
#ifndef CLI_DEMO_DEMO_FILES_H
#define CLI_DEMO_DEMO_FILES_H

#include "base/core/error.h"

struct demo_file {
	const char *name, *text;
};

/* Ends with a row without a name. Made by demo_files.py. */
extern const struct demo_file demo_files[];

/* Writes them into the folder, which is made. */
int demo_files_write(const char *folder, struct error *err);

#endif
