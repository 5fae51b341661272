/*
 * custom_kind - a kind of ours (a CustomResourceDefinition) and a copy of its objects.
 *
 * It waits until the server serves the kind, and creates the definition if it is missing. Then it
 * follows the objects. If somebody deletes the definition, it is created again. Threads: the
 * client's loop.
 */
#ifndef CONTROLLER_SHARED_CUSTOM_KIND_H
#define CONTROLLER_SHARED_CUSTOM_KIND_H

#include "client/api/resource.h"

struct cached;
struct context;
struct custom_kind;
struct informer_handler;

/* All borrowed. */
struct custom_kind_opts {
	const struct context *ctx;
	const struct resource *resource;
	const char *name; /* of the definition: "resourceslicestatuses.devplane.dev" */
	const char *definition; /* YAML */
	const char *refused; /* logged if the definition cannot be created: what to do */
	struct informer_handler *handler; /* of the objects; added when the kind is served */
};

struct custom_kind *custom_kind_new(const struct custom_kind_opts *opts);
void custom_kind_free(struct custom_kind *k); /* NULL allowed */

/* NULL: the kind is not served yet. */
struct informer *custom_kind_informer(const struct custom_kind *k);
/* The object in our copy, or NULL. */
const struct cached *custom_kind_find(const struct custom_kind *k, struct str name);

#endif
