/*
 * extension_impl - private to the files of the extension host.
 *
 *	extension.c           loading, life cycle
 *	extension/host.c      the function table that plugins call
 *	extension/object.c    reading objects
 *	extension/cache.c     handles and the live cache
 *	extension/node.c      nodes and cycles as plugins see them
 *	extension/post.c      functions that may be called on any thread
 *	extension/plugin.c    adapts the scheduling functions of a plugin to our table
 *	extension/bind.c      adapts reserve to post_bind
 *	extension/interest.c  events
 *	extension/watch.c     watches
 */
#ifndef SCHEDULER_EXTENSION_EXTENSION_IMPL_H
#define SCHEDULER_EXTENSION_EXTENSION_IMPL_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "base/core/list.h"
#include "base/core/vec.h"
#include "base/report/metrics.h"
#include "client/informer/informer.h"
#include "devplane/scheduler.h"
#include "net/loop/loop.h"
#include "scheduler/cache/extended.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/extension/extension.h"
#include "scheduler/framework/plugin.h"

struct extension_instance;

/* Outlives the extension while messages from other threads are queued. */
struct extension_life {
	atomic_uint refs;
	struct extension *extension; /* read on the loop's thread only; NULL: freed */
};

/* The `host` argument that a plugin passes to our functions. It identifies the caller. */
struct extension_host {
	struct dp_scheduler_host table;
	struct extension *extension;
	struct extension_instance *instance; /* NULL: the caller is a handle */
	struct extension_life *life;
	uint64_t id; /* of the instance; 0: a handle's */
};

/* A shared object. */
struct extension_module {
	struct plugin_kind kind;
	struct extension *extension;
	void *library; /* dlopen's */
	char *path;
	struct dp_scheduler_plugin ops; /* fields that its ABI version lacks are zero */
};

/* A plugin in a profile; plugin->state. */
struct extension_instance {
	struct list link;
	struct extension_host host;
	struct extension_module *module;
	struct plugin *plugin;
	void *state; /* the plugin's */
	bool initialising;
	struct plugin_event *events; /* NULL: all */
	struct list bindings; /* struct dp_binding */
};

struct dp_binding {
	struct list link;
	struct binding *binding;
};

struct dp_cache {
	struct extension *extension;
	struct extended_type *type;
};

struct dp_path {
	size_t n;
	struct str names[]; /* their text lies behind the array */
};

struct dp_metric {
	struct metrics_counter *counter; /* one of the two */
	struct metrics_gauge *gauge;
	struct metrics_gauge own; /* used without a registry */
};

struct extension_watch {
	struct informer_handler handler;
	struct extension *extension;
	uint64_t owner; /* of the instance; 0: a handle's */
	struct dp_watch ops;
	struct arena arena; /* of its texts */
	struct informer *informer;
};

/* A type whose waiting pods will be woken at the end of the loop's turn. */
struct extension_wake {
	uint32_t type;
	unsigned actions;
};

/* The state of an instance in a cycle: cycle->state. */
struct extension_cycle {
	void *value;
	struct extension_alloc *allocs;
	VEC(struct str) only; /* names of nodes; the text is in the cycle's arena */
	struct verdict last; /* the previous verdict, reused since many nodes have the same */
};

struct extension {
	struct extension_opts opts;
	struct extension_life *life;
	VEC(struct extension_module *) modules;
	VEC(const struct plugin_kind *) kinds;
	struct list instances;
	uint64_t ids;
	VEC(struct extension_watch *) watches;
	VEC(struct dp_cache *) caches; /* by number of the type */
	VEC(struct dp_metric *) metrics;
	struct extension_host handles; /* the host of handles */
	bool running; /* extension_run() is running, so handles may start watches */
	bool ran;
	const struct services *services; /* since extension_run() */
	struct informers *informers;
	const struct snapshot *snapshot;
	/* The node of the current callback, perhaps of a what-if; or NULL. */
	const struct nodeinfo *node;
	unsigned depth; /* nesting depth of callbacks */
	struct arena call; /* values for plugins, valid until the outermost callback returns */
	_Alignas(16) char call_block[2048]; /* first block of `call` */
	struct loop_task tidy; /* clears `call` after reads outside of callbacks */
	VEC(struct extension_wake) wakes;
	struct loop_task wake;
	struct arena lasting; /* paths */
};

/* Call these around each call of a plugin. */
static inline void extension_enter(struct extension *e)
{
	e->depth++;
}
void extension_leave(struct extension *e);
/*
 * Returns an arena that is valid until the outermost callback returns, or, outside of callbacks,
 * until the loop's turn ends.
 */
struct arena *extension_scratch(struct extension *e);

/* extension/host.c */
void extension_host_init(struct extension_host *h, struct extension *e,
			 struct extension_instance *i);
/* Copies a message into the plugin's struct, respecting its size. */
void extension_say(struct dp_reason *why, const char *text);
/* Returns the plugin's message, cleaned up for display. The text stays in `why`. */
struct str extension_reason(const struct dp_reason *why);

/* extension/object.c */
struct str extension_text(struct dp_text t);
void extension_object_functions(struct dp_scheduler_host *t);
const struct dp_object *extension_object(struct extension *e, struct cached *o,
					 const struct podinfo *p);

/* extension/cache.c */
void extension_cache_functions(struct dp_scheduler_host *t);
int extension_run_handles(struct extension *e, struct error *err);

/* extension/node.c */
void extension_node_functions(struct dp_scheduler_host *t);
struct extension_cycle *extension_cycle(struct extension_instance *i, struct cycle *c);
void *extension_clone_state(const struct plugin *p, struct cycle *c, void *state);

/* extension/post.c */
void extension_post_functions(struct dp_scheduler_host *t);
struct extension_life *extension_life_new(struct extension *e);
void extension_life_unref(struct extension_life *l);

/* extension/plugin.c: sets the kind's functions for those that the plugin has. */
void extension_plugin_functions(struct extension_module *m);
struct verdict extension_verdict(struct arena *a, uint32_t code, const struct dp_reason *why);

/* extension/bind.c */
void extension_bind_functions(struct extension_module *m);
void extension_binding_end(struct extension_instance *i, struct dp_binding *b, uint32_t code,
			   const char *reason);

/* extension/interest.c */
int extension_read_interests(struct extension_instance *i, struct error *err);
const struct plugin_event *extension_events_of(const struct plugin *p);
void extension_wake(struct extension *e, uint32_t type, unsigned actions);
void extension_wake_now(struct loop_task *t);

/* extension/watch.c */
int extension_watch(void *host, const struct dp_watch *watch, struct dp_reason *why);
void extension_watches_begin(struct extension *e);
void extension_watches_end(struct extension *e, uint64_t owner);

#endif
