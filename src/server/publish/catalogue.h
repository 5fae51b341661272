/*
 * catalogue - all kinds that are served at one moment, compiled-in and custom, and the documents
 * that list them.
 *
 * Made on the state's loop on demand, after definitions have changed. Its documents are made on
 * first demand, on the calling thread. Documents of unchanged group versions are shared with the
 * previous catalogue.
 *
 * Threads: immutable and reference-counted; any thread may read it and hold references. A builder
 * belongs to one thread.
 */
#ifndef SERVER_PUBLISH_CATALOGUE_H
#define SERVER_PUBLISH_CATALOGUE_H

#include <stdatomic.h>

#include "api/schema/schema.h"
#include "base/core/vec.h"

struct crd;
struct discovery;
struct openapi;

struct catalogue {
	atomic_uint refs;
	struct discovery *discovery;
	struct openapi *openapi;
	/* Private. */
	const struct schema_kind **kinds; /* all, in the order of discovery */
	size_t nkinds;
	struct crd **crds; /* references */
	size_t ncrds;
};

struct catalogue_builder {
	const struct gates *gates;
	VEC(struct crd *) crds; /* references */
};

void catalogue_builder_init(struct catalogue_builder *b, const struct gates *gates);

/* Adds the kinds that a definition serves. */
void catalogue_add(struct catalogue_builder *b, struct crd *crd);

/* `before` is the previous catalogue, or NULL. Consumes the builder. */
struct catalogue *catalogue_build(struct catalogue_builder *b, const struct catalogue *before);

struct catalogue *catalogue_ref(struct catalogue *c);
void catalogue_unref(struct catalogue *c); /* NULL allowed */

#endif
