/*
 * Follows DaemonSets, pods, nodes and revisions, and finds the DaemonSets that a change concerns.
 * The job (job.c) does the work.
 */
#include "controller/daemon_set/daemon_sets.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "client/work/workqueue.h"
#include "controller/daemon_set/daemon_sets_impl.h"
#include "controller/pods/owned.h"

enum {
	WORKERS = 2, /* as upstream's controller */
	GATHER_MS = 20, /* changes of pods and nodes in this time share a sync */
};

static void daemon_sets_add_soon(struct daemon_sets *d, const struct daemon_entry *e)
{
	workqueue_add_after(d->queue, e->key, GATHER_MS);
}

/* --- DaemonSets ------------------------------------------------------------------------------ */

struct daemon_entry *daemon_entry_of(const struct daemon_sets *d, struct str key, struct str uid)
{
	struct daemon_entry *e = omap_get(&d->entries, key);

	return e && str_eq(e->uid, uid) ? e : NULL;
}

static void daemon_entry_free(struct daemon_entry *e)
{
	daemon_backoff_release(&e->backoff);
	arena_release(&e->arena);
	free((char *)e->key.p);
	free(e);
}

/* Back-off begins anew with each generation. */
static void daemon_entry_read(struct daemon_entry *e, struct cached *o)
{
	struct json *tree, *spec;
	int64_t generation;

	arena_clear(&e->arena);
	e->uid = arena_str(&e->arena, o->uid);
	e->claim = true;
	if (cached_tree_held(o, &e->arena, &tree, NULL) < 0)
		tree = json_make_object(&e->arena);
	spec = json_getz(tree, "spec");
	e->selector = selector_of_tree(&e->arena, json_getz(spec, "selector"));
	daemon_rules_read(&e->arena, json_getz(spec, "template"), &e->rules);
	generation = json_i64_at(json_getz(tree, "metadata"), "generation", 0);
	if (generation != e->generation)
		daemon_backoff_clear(&e->backoff);
	e->generation = generation;
}

static void forget_set(struct daemon_sets *d, struct str key)
{
	struct daemon_entry *e = omap_remove(&d->entries, key);

	expectations_forget(&d->expectations, key);
	if (e)
		daemon_entry_free(e);
}

static void note_set(struct daemon_sets *d, struct cached *o)
{
	struct daemon_entry *e = omap_get(&d->entries, o->key);

	if (e && !str_eq(e->uid, o->uid)) {
		forget_set(d, o->key);
		e = NULL;
	}
	if (!e) {
		e = XNEW(struct daemon_entry);
		e->key = str_of(str_dup(o->key), o->key.n);
		arena_init(&e->arena, OBJECT_MAX);
		daemon_backoff_init(&e->backoff);
		(void)omap_put(&d->entries, e->key, e);
	}
	daemon_entry_read(e, o);
}

static void on_set(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, sets.handler);

	note_set(d, o);
	workqueue_add(d->queue, o->key);
}

/* A change of the status alone, most of them our own, is read by the next sync. */
static void on_set_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, sets.handler);
	static const char *const fields[] = { "metadata.generation", "metadata.uid",
					      "metadata.deletionTimestamp", "spec" };

	if (!cached_same_fields(old, o, fields, ARRAY_SIZE(fields)))
		note_set(d, o);
	workqueue_add(d->queue, o->key);
}

static void on_set_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, sets.handler);

	forget_set(d, last->key);
	workqueue_add(d->queue, last->key);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* The DaemonSet that controls an object; NULL: none that exists. */
static struct daemon_entry *controller_of(struct daemon_sets *d, const struct cached *o)
{
	const struct cached *set = owned_controller_in(informer_cache(d->sets.informer),
						       "DaemonSet", o, &d->scratch);

	return set ? daemon_entry_of(d, set->key, set->uid) : NULL;
}

static bool selects(const struct daemon_entry *e, const struct cached *o)
{
	struct cached_labels labels = { o, NULL };

	return selector_matches(&e->selector, cached_labels_get, &labels);
}

/* An object without a controller: DaemonSets of its namespace that select it may adopt it. */
static void offer_orphan(struct daemon_sets *d, const struct cached *o)
{
	struct str prefix = str_from(arena_printf(&d->scratch, "%.*s/", STR_ARG(cached_ns(o))));
	struct omap_cursor c;

	for (bool ok = omap_seek(&d->entries, &c, prefix); ok; ok = omap_next(&c)) {
		struct daemon_entry *e = omap_value(&c);

		if (!str_starts(e->key, prefix))
			break;
		if (!selects(e, o))
			continue;
		e->claim = true;
		daemon_sets_add_soon(d, e);
	}
	arena_clear(&d->scratch);
}

static void pod_appears(struct daemon_sets *d, struct cached *o, bool is_new)
{
	struct daemon_entry *e = controller_of(d, o);

	(void)daemon_book_pod_put(&d->book, o);
	if (e) {
		if (is_new)
			expectations_created(&d->expectations, e->key);
		if (o->deleting)
			expectations_deleted(&d->expectations, e->key, o->uid);
		e->claim |= !selects(e, o);
		daemon_sets_add_soon(d, e);
	} else if (!o->deleting && owned_is_orphan(o, &d->scratch)) {
		offer_orphan(d, o);
	}
}

static void pod_vanishes(struct daemon_sets *d, const struct cached *o)
{
	struct daemon_entry *e = controller_of(d, o);

	if (e) {
		expectations_deleted(&d->expectations, e->key, o->uid);
		daemon_sets_add_soon(d, e);
	}
}

static void daemon_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	pod_appears(CONTAINER_OF(h, struct daemon_sets, pods.handler), o, true);
}

static void daemon_on_pod_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, pods.handler);
	bool other = !str_eq(old->uid, o->uid);

	if (old == o)
		return;
	if (other || !cached_same_field(old, o, "metadata.ownerReferences"))
		pod_vanishes(d, old);
	else if (cached_same_field(old, o, "metadata.labels") && !daemon_book_pod_put(&d->book, o))
		return;
	pod_appears(d, o, other);
}

static void daemon_on_pod_delete(struct informer_handler *h, struct cached *last,
				 bool unknown UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, pods.handler);

	daemon_book_pod_remove(&d->book, last->key);
	pod_vanishes(d, last);
}

/* --- revisions ------------------------------------------------------------------------------- */

static void daemon_on_revision(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, revisions.handler);
	struct daemon_entry *e = controller_of(d, o);

	if (e)
		daemon_sets_add_soon(d, e);
	else if (owned_is_orphan(o, &d->scratch))
		offer_orphan(d, o);
}

static void daemon_on_revision_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	if (!cached_same_field(old, o, "metadata.ownerReferences"))
		daemon_on_revision(h, old, false);
	if (old != o)
		daemon_on_revision(h, o, false);
}

static void daemon_on_revision_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	daemon_on_revision(h, last, false);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static enum daemon_fit fit_of(const struct daemon_entry *e, const struct daemon_book_node *n)
{
	return n ? daemon_rules_fit(&e->rules, &n->node) : DAEMON_UNFIT;
}

/*
 * Syncs the DaemonSets that the change of a node concerns: it fits another way than before, or one
 * lacks its pod there, or has one too many.
 */
static void node_changed(struct daemon_sets *d, const struct daemon_book_node *old,
			 const struct daemon_book_node *n, struct str name)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&d->entries, &c); ok; ok = omap_next(&c)) {
		const struct daemon_entry *e = omap_value(&c);
		enum daemon_fit fit = fit_of(e, n);
		bool there = daemon_book_has_pod(&d->book, e->uid, name);

		if (fit != fit_of(e, old) || (fit == DAEMON_RUNS && !there) ||
		    (fit == DAEMON_UNFIT && there))
			daemon_sets_add_soon(d, e);
	}
}

static void daemon_on_node(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, nodes.handler);
	struct daemon_book_node *n = daemon_book_node_read(o);
	struct daemon_book_node *old = daemon_book_node_put(&d->book, n);

	node_changed(d, old, n, n->node.name);
	daemon_book_node_free(old);
}

static void daemon_on_node_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	if (!cached_same_field(old, o, "metadata.labels") ||
	    !cached_same_field(old, o, "spec.taints"))
		daemon_on_node(h, o, false);
}

static void daemon_on_node_delete(struct informer_handler *h, struct cached *last,
				  bool unknown UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, nodes.handler);
	struct daemon_book_node *old = daemon_book_node_remove(&d->book, cached_name(last));

	if (old)
		node_changed(d, old, NULL, old->node.name);
	daemon_book_node_free(old);
}

/* --- life ------------------------------------------------------------------------------------ */

static void daemon_follow(struct daemon_sets *d)
{
	d->sets = (struct followed){
		.resource = resource_builtin("apps", "v1", "daemonsets"),
		.handler = { .on_add = on_set,
			     .on_update = on_set_update,
			     .on_delete = on_set_delete },
	};
	d->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = owned_indexes,
		.handler = { .on_add = daemon_on_pod,
			     .on_update = daemon_on_pod_update,
			     .on_delete = daemon_on_pod_delete },
	};
	d->nodes = (struct followed){
		.resource = resource_builtin("", "v1", "nodes"),
		.handler = { .on_add = daemon_on_node,
			     .on_update = daemon_on_node_update,
			     .on_delete = daemon_on_node_delete },
	};
	d->revisions = (struct followed){
		.resource = resource_builtin("apps", "v1", "controllerrevisions"),
		.indexes = owned_indexes,
		.handler = { .on_add = daemon_on_revision,
			     .on_update = daemon_on_revision_update,
			     .on_delete = daemon_on_revision_delete },
	};
	follow(&d->following, &d->sets);
	follow(&d->following, &d->pods);
	follow(&d->following, &d->nodes);
	follow(&d->following, &d->revisions);
}

struct daemon_sets *daemon_sets_new(const struct context *ctx)
{
	struct daemon_sets *d = XNEW(struct daemon_sets);

	d->ctx = *ctx;
	daemon_book_init(&d->book);
	omap_init(&d->entries);
	expectations_init(&d->expectations);
	arena_init(&d->scratch, REQUEST_WORK_MAX);
	d->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "daemonset",
							   .workers = WORKERS,
							   .handle = daemon_sets_handle,
							   .arg = d,
							   .metrics = ctx->metrics });
	works_init(&d->jobs, d->queue, ctx->log, "daemonset", daemon_job_release);
	following_init(&d->following, ctx->informers);
	following_hold(&d->following, d->queue);
	daemon_follow(d);
	return d;
}

void daemon_sets_free(struct daemon_sets *d)
{
	struct omap_cursor c;

	if (!d)
		return;
	following_end(&d->following);
	works_release(&d->jobs);
	workqueue_free(d->queue);
	for (bool ok = omap_first(&d->entries, &c); ok; ok = omap_next(&c))
		daemon_entry_free(omap_value(&c));
	omap_release(&d->entries);
	daemon_book_release(&d->book);
	expectations_release(&d->expectations);
	arena_release(&d->scratch);
	free(d);
}
