/*
 * custom - custom resource definitions, and the kinds that are served because of them.
 *
 * Follows the CustomResourceDefinitions of the state. Each is compiled (api/crd/crd.h). When it
 * is established, its resource is added to the state; the resource changes when the definition
 * changes its objects, and is dropped when the definition is deleted. The definitions are
 * observed before other resources are read, so objects of custom kinds are loaded like all
 * others.
 *
 * This part also writes the status of definitions. custom_admit() accepts names and establishes a
 * definition in the same write that creates it, so it is served as soon as it is acknowledged.
 * Names that become free go to definitions that wait for them. A definition that is being deleted
 * deletes its objects first (custom/work.c). Each server of a cluster does all of this: the first
 * one succeeds, and the others find nothing to do.
 *
 * Threads: the state's loop; custom_look_here() any, custom_show() the stream's.
 */
#ifndef SERVER_CUSTOM_CUSTOM_H
#define SERVER_CUSTOM_CUSTOM_H

#include "api/schema/schema.h"
#include "server/engine/state.h"

struct catalogue;
struct custom;
struct exchange;
struct json;
struct admission_request;
struct server;
struct write;

struct custom *custom_new(struct server *s);
void custom_free(struct custom *c); /* NULL allowed; before the state is freed */

/* The observers to create the state with; borrowed. */
const struct state_observer *custom_observers(struct custom *c, size_t *ret_n);

/* Sets the state, before anything is read. */
void custom_attach(struct custom *c, struct state *st);

/* Everything is loaded: starts the writes that definitions wait for; and stops them. */
void custom_start(struct custom *c);
void custom_stop(struct custom *c);

/* --- serving ------------------------------------------------------------------------ */

/* The data that an exchange needs before it is routed. */
struct custom_view {
	/* The custom kind of its path, if no kind is compiled in; or NULL. */
	const struct schema_kind *kind;
	const struct schema_kind *compiled; /* otherwise the compiled-in kind */
	struct str deprecation; /* a warning for the reply; p NULL: none */
	struct catalogue *catalogue; /* for paths of discovery and OpenAPI; or NULL */
};

/*
 * Looks up the data for an exchange; references live as long as x->work. Returns false if no such
 * resource is known here. custom_show() then copies the data to the exchange, on the stream's
 * loop.
 */
bool custom_look(struct custom *c, struct exchange *x, struct custom_view *ret_view);

/*
 * The same on any thread, for a request that depends on no definition: for a compiled-in kind, or
 * for a path outside of discovery and OpenAPI. Returns false for other requests.
 */
bool custom_look_here(const struct exchange *x, struct custom_view *ret_view);
void custom_show(struct exchange *x, const struct custom_view *view);

/* The served kind of that name; NULL if not found. Valid until a definition changes. */
const struct schema_kind *custom_find_kind(const struct custom *c, struct str group,
					   struct str version, struct str kind);

/* -ERR_FORBIDDEN for a new object of a kind whose definition is being deleted. */
int custom_check_create(const struct custom *c, const struct schema_kind *kind, struct error *err);

/*
 * The kind's definition as a basis for the creation of an object. So a server that does not know
 * yet that the definition is being deleted, or is gone, creates no object that would outlive it.
 * `a` must live until the write is done.
 */
struct store_basis custom_basis(const struct custom *c, const struct schema_kind *kind,
				struct arena *a);

/* Discovery and OpenAPI of everything that is served now. Borrowed; made again after a change. */
struct catalogue *custom_catalogue(struct custom *c);

/* --- definitions -------------------------------------------------------------------- */

/* Admission of definitions (plugins/table.h): accepts names, sets conditions. */
int custom_admit(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err);

/*
 * The object that a DELETE is decided on: for a definition that is not yet being deleted, a copy
 * with the finalizer that has its objects deleted first; otherwise `old` itself.
 */
const struct json *custom_delete_base(const struct write *w, const struct json *old);

#endif
