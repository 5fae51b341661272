/*
 * custom - the definitions of custom resources, and what is served because of them.
 *
 * Follows the CustomResourceDefinitions of the state: each is compiled (api/crd/crd.h), and
 * when it is established its resource is put at the state; it is changed when the definition
 * changes what its objects are, and dropped when the definition is gone. As the
 * definitions are told of before the other resources are read, objects of custom
 * kinds are loaded as all others are.
 *
 * What a definition becomes is written here, too: names are accepted and the
 * definition is established in the very write that makes it (custom_admit), so
 * it is served as soon as it is acknowledged; names that became free are given to
 * those who wait; and a definition that is being deleted takes its objects along
 * (custom/work.c). Each server of a cluster does all of that: whoever is first wins, and
 * the others find nothing left to do.
 *
 * Threads: the state's loop.
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

/* What the state must be made with; borrowed. */
const struct state_observer *custom_observers(struct custom *c, size_t *ret_n);

/* The state that was made; nothing was read yet. */
void custom_attach(struct custom *c, struct state *st);

/* All is loaded: what a definition waits for may be done. And no more of it. */
void custom_start(struct custom *c);
void custom_stop(struct custom *c);

/* --- serving ------------------------------------------------------------------------ */

/* What an exchange needs to know before it is routed. */
struct custom_view {
	const struct schema_kind *kind; /* of its path, when none is compiled in; or NULL */
	const struct schema_kind *compiled; /* else that one */
	struct str deprecation; /* a warning that goes with it; p NULL: none */
	struct catalogue *catalogue; /* for paths of discovery and OpenAPI; or NULL */
};

/*
 * Finds what concerns an exchange; references live as long as x->work. False when there is no
 * such resource as far as is known here. custom_show() then gives it to the exchange, on the
 * stream's loop.
 */
bool custom_look(struct custom *c, struct exchange *x, struct custom_view *ret_view);
void custom_show(struct exchange *x, const struct custom_view *view);

/* The kind of that name that is served; NULL: there is none. Good until a definition changes. */
const struct schema_kind *custom_find_kind(const struct custom *c, struct str group,
					   struct str version, struct str kind);

/* -ERR_FORBIDDEN for a new object of a kind whose definition is being deleted. */
int custom_check_create(const struct custom *c, const struct schema_kind *kind, struct error *err);

/*
 * The creation of an object of that kind is decided on the kind's definition, which is the basis of
 * the write. So a server that has not heard yet that the definition is being deleted, or is gone,
 * creates nothing that would outlive it. `a` lives until the write is done.
 */
struct store_basis custom_basis(const struct custom *c, const struct schema_kind *kind,
				struct arena *a);

/* Discovery and OpenAPI of all that is served now. Borrowed; made anew after a change. */
struct catalogue *custom_catalogue(struct custom *c);

/* --- definitions -------------------------------------------------------------------- */

/* Admission of definitions (plugins/table.h): accepts names, sets conditions. */
int custom_admit(struct admission_request *req, const struct json *old, struct json *object,
		 struct error *err);

/*
 * What a DELETE is decided on: of a definition that is not being deleted yet, a copy that has
 * the finalizer by which its objects go first; else `old` itself.
 */
const struct json *custom_delete_base(const struct write *w, const struct json *old);

#endif
