/*
 * admission - the table of admission plugins: rules that depend on the writer or on other
 * objects.
 *
 * Validation (src/api) has the rules for an object by itself. The plugins have upstream's names
 * and order. They run on the state's loop for each write of their kinds, dry runs included; for a
 * draft, most of those that mutate have run on its connection's loop before, and policies may have
 * been evaluated there.
 *
 * `mutate` is called before validation, when the object has its defaults. It may change the
 * object, and sets req->write->mutated if its changes need defaults. `validate` is called when
 * the write is decided and valid, before it is committed; also for writes that change nothing.
 * Both get the request (admission/request.h), the stored object (NULL: none) and the object that
 * replaces it. The latter is NULL for a deletion, or the remaining object if the deletion has to
 * wait. A plugin that has to wait parks the write.
 */
#ifndef SERVER_PLUGINS_TABLE_H
#define SERVER_PLUGINS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"
#include "base/core/str.h"

struct json;
struct admission_request;
struct object;
struct write;

enum { ADMISSION_PLUGINS_MAX = 64 };

/* The plugins that flags switch on (1) or off (-1); 0: the plugin's default. */
struct admission {
	int8_t said[ADMISSION_PLUGINS_MAX];
};

struct server_opts;

/* Reads --enable-admission-plugins and --disable-admission-plugins. -ERR_INVALID. */
int admission_configure(struct admission *a, const struct server_opts *opts, struct error *err);

/* Switches a plugin on or off. Returns false if no plugin of upstream has that name. */
bool admission_switch(struct admission *a, struct str name, bool on);

/* Whether that plugin is on. */
bool admission_is_on(const struct admission *a, const char *name);

/* The name of plugin number `i`. NULL if upstream has no such plugin; "" after the last one. */
const char *admission_plugin(size_t i);

/* Phase one: the `mutate` of a struct write whose mutate_arg is the request. */
int admission_mutate(struct write *w, const struct json *old, struct json *object,
		     struct error *err);

/*
 * Phase one for a created object that is not stored itself: a Binding or an Eviction. Runs only
 * plugins for all kinds.
 */
int admission_mutate_foreign(struct admission_request *req, struct json *object, struct error *err);

/*
 * Both phases for a request that is proxied to a node, pod or service (connect/). Plugins may
 * change its options, which are also req->tree. The mutating phase runs only plugins for all
 * kinds.
 */
int admission_connect(struct admission_request *req, struct json *options, struct error *err);

/* Phase two. `base` is the stored object (NULL: creation). */
int admission_check(struct admission_request *req, struct object *base, struct json *object,
		    struct error *err);

/* The same if the stored object is already parsed. */
int admission_check_tree(struct admission_request *req, const struct json *old, struct json *object,
			 struct error *err);

/* --- for drafts (verbs/draft.h) ------------------------------------------------------- */

/* On any loop: whether a write of this kind may be drafted. Sets req->op. */
bool admission_may_draft(struct admission_request *req, bool is_new);

/*
 * Phase one of a draft, on any loop: the plugins that need only the request and objects that can be
 * compared later (req->looks).
 */
int admission_mutate_draft(struct write *w, const struct json *old, struct json *object,
			   struct error *err);

/*
 * When the draft is decided, on its lane: plugins whose `validate` needs little but
 * the request check the write. If they pass it, `validate` only compares what that was based on.
 * `ns` is the namespace; NULL: none.
 */
void admission_judge_draft(struct admission_request *req, const struct object *ns,
			   const struct json *old, struct json *object);

/* On the state's loop: whether no other plugin could have changed the draft's object. */
bool admission_draft_stands(struct admission_request *req, const struct json *old,
			    struct json *object);

#endif
