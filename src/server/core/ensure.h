/*
 * ensure - writes of the server's own: what must be there, or be so.
 *
 * The same rules as for any client's write make them; all of one ensure are
 * handed to the state in one turn, so they go to the store as one batch. Another server on
 * the same etcd may be first with one: that is as good here, and told.
 * Threads: the state's loop.
 */
#ifndef SERVER_CORE_ENSURE_H
#define SERVER_CORE_ENSURE_H

#include "api/schema/schema.h"
#include "base/core/error.h"
#include "base/json/json.h"

struct ensure;
struct server;

/* Who writes what the server keeps for itself, as managedFields name it. */
#define ENSURE_MANAGER STR("devplane-server")

/* `outrun`: somebody else changed one of them first. */
struct ensure *ensure_new(struct server *s,
			  void (*done)(void *arg, const struct error *err, bool outrun), void *arg);

/* What bodies and patches may be made in; lives until done(). */
struct arena *ensure_arena(struct ensure *e);

/* Creates the object of this body; nothing when there is one of its name. */
void ensure_create(struct ensure *e, const struct schema_kind *kind, struct json *body,
		   struct str manager);

/* The same with the status that the body has; clients cannot do that in one write. */
void ensure_create_status(struct ensure *e, const struct schema_kind *kind, struct json *body,
			  struct str manager);

/* The tree of what there is, pending writes included; NULL when it is not there. */
struct json *ensure_tree(struct ensure *e, const struct schema_kind *kind, struct str ns,
			 struct str name);

/* Names of all that are committed, as an array of texts. `ns` is empty for kinds without. */
const struct json *ensure_names(struct ensure *e, const struct schema_kind *kind, struct str ns);

/* A merge patch of what ensure_tree() gave in this turn. Nothing when that changes nothing. */
void ensure_patch(struct ensure *e, const struct schema_kind *kind, const struct json *old,
		  struct json *patch, struct str manager);

/* The same through the status subresource. */
void ensure_patch_status(struct ensure *e, const struct schema_kind *kind, const struct json *old,
			 struct json *patch, struct str manager);

/* Deletes what ensure_tree() gave in this turn, as a client's deletion would. */
void ensure_delete(struct ensure *e, const struct schema_kind *kind, const struct json *old);

/* No more to come: done() follows, now when nothing was to be written. */
void ensure_end(struct ensure *e);

#endif
