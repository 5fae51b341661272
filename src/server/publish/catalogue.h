/*
 * catalogue - what is served at one moment: compiled kinds and custom ones, and the documents
 * that say so.
 *
 * Made at the state when definitions have changed and somebody asks. Its
 * documents are made on first demand, on whichever thread asks; those of group
 * versions in which nothing changed are taken over from the catalogue before.
 *
 * Threads: immutable and counted; any thread may read and hold references. A builder belongs
 * to one.
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

/* What a definition serves. */
void catalogue_add(struct catalogue_builder *b, struct crd *crd);

/* `before` may be NULL. The builder is used up. */
struct catalogue *catalogue_build(struct catalogue_builder *b, const struct catalogue *before);

struct catalogue *catalogue_ref(struct catalogue *c);
void catalogue_unref(struct catalogue *c); /* NULL allowed */

#endif
