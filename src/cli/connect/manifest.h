/*
 * manifest - objects in files, for apply and delete.
 *
 * A file is YAML with any number of documents, or JSON. "-" is standard input. A folder means its
 * .yaml, .yml and .json files in the order of their names. Lists are split into their items. If a
 * file or document cannot be read, an item with the error takes the place of its objects, and the
 * other objects are still read.
 */
#ifndef CLI_CONNECT_MANIFEST_H
#define CLI_CONNECT_MANIFEST_H

#include "base/core/vec.h"
#include "base/system/flags.h"

struct json;

struct manifest_item {
	struct json *tree; /* an object with apiVersion, kind and metadata; NULL: see `err` */
	struct error err;
	const char *where; /* "pods.yaml, document 2" */
};

struct manifest {
	VEC(struct manifest_item) items; /* in the order of the files */
};

/* All memory but the vector's is the arena's. */
void manifest_read(struct manifest *m, struct arena *a, const struct flag_list *files);
void manifest_release(struct manifest *m);

/* "pod/web", as far as the object has the fields. */
const char *manifest_name(struct arena *a, const struct json *tree);

#endif
