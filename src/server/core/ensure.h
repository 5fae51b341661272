/*
 * ensure - the server's own writes: objects that must exist, or have certain content.
 *
 * They follow the same rules as a client's writes. All writes of one ensure are submitted to the
 * state in one turn, so the store gets them as one batch. If another server on the same etcd
 * makes one of the writes first, that counts as success and is reported as `outrun`.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_CORE_ENSURE_H
#define SERVER_CORE_ENSURE_H

#include "api/schema/schema.h"
#include "base/core/error.h"
#include "base/json/json.h"

struct ensure;
struct server;

/* The manager in managedFields for objects that the server keeps for itself. */
#define ENSURE_MANAGER STR("devplane-server")

/* `outrun`: another writer changed one of the objects first. */
struct ensure *ensure_new(struct server *s,
			  void (*done)(void *arg, const struct error *err, bool outrun), void *arg);

/* An arena for bodies and patches; lives until done(). */
struct arena *ensure_arena(struct ensure *e);

/* Creates the object in `body`; does nothing if an object of that name exists. */
void ensure_create(struct ensure *e, const struct schema_kind *kind, struct json *body,
		   struct str manager);

/* The same including the body's status, which a client cannot create in one write. */
void ensure_create_status(struct ensure *e, const struct schema_kind *kind, struct json *body,
			  struct str manager);

/* The object's tree, pending writes included; NULL if not found. */
struct json *ensure_tree(struct ensure *e, const struct schema_kind *kind, struct str ns,
			 struct str name);

/*
 * The names of all committed objects, as a JSON array of strings. `ns` is empty for
 * cluster-scoped kinds.
 */
const struct json *ensure_names(struct ensure *e, const struct schema_kind *kind, struct str ns);

/*
 * Applies a merge patch to `old`, which ensure_tree() returned in this turn. Does nothing if the
 * patch changes nothing.
 */
void ensure_patch(struct ensure *e, const struct schema_kind *kind, const struct json *old,
		  struct json *patch, struct str manager);

/* The same through the status subresource. */
void ensure_patch_status(struct ensure *e, const struct schema_kind *kind, const struct json *old,
			 struct json *patch, struct str manager);

/* Deletes `old`, which ensure_tree() returned in this turn, as a client's deletion would. */
void ensure_delete(struct ensure *e, const struct schema_kind *kind, const struct json *old);

/* To be called after the last write: done() follows, immediately if nothing had to be written. */
void ensure_end(struct ensure *e);

#endif
