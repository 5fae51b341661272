/*
 * manifest - objects in files, as apply and delete take them.
 *
 * A file is YAML with any number of documents, or JSON; "-" is standard input, a folder stands
 * for its .yaml, .yml and .json files in the order of their names. Lists are taken apart. What
 * cannot be read takes the place of the objects it would have held, so that the others come
 * all the same.
 */
#ifndef CLI_CONNECT_MANIFEST_H
#define CLI_CONNECT_MANIFEST_H

#include "base/core/vec.h"
#include "base/system/flags.h"

struct json;

struct manifest_item {
	struct json *tree; /* an object with apiVersion, kind and metadata; NULL: `err` says why */
	struct error err;
	const char *where; /* "pods.yaml, document 2" */
};

struct manifest {
	VEC(struct manifest_item) items; /* in the order of the files */
};

/* All memory but the vector's is the arena's. */
void manifest_read(struct manifest *m, struct arena *a, const struct flag_list *files);
void manifest_release(struct manifest *m);

/* "pod/web", as far as the object says. */
const char *manifest_name(struct arena *a, const struct json *tree);

#endif
