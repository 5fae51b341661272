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

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!str_eq(cached_field(old, fields[i], NULL), cached_field(o, fields[i], NULL))) {
			note_set(d, o);
			break;
		}
	}
	workqueue_add(d->queue, o->key);
}

static void on_set_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct daemon_sets *d = CONTAINER_OF(h, struct daemon_sets, sets.handler);

	forget_set(d, last->key);
	workqueue_add(d->queue, last->key);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* The DaemonSet that controls an object; in the scratch arena. NULL: none that exists. */
static struct daemon_entry *controller_of(struct daemon_sets *d, const struct cached *o,
					  struct owned_ref *ret_ref)
{
	struct owned_ref ref = owned_ref_of(o, &d->scratch);
	struct str key;

	*ret_ref = ref;
	if (ref.uid.n == 0 || !str_eqz(ref.kind, "DaemonSet"))
		return NULL;
	key = str_from(
		arena_printf(&d->scratch, "%.*s/%.*s", STR_ARG(cached_ns(o)), STR_ARG(ref.name)));
	return daemon_entry_of(d, key, ref.uid);
}

static struct str daemon_label_of(const void *source, struct str key)
{
	return cached_label(source, key, NULL);
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
		if (!selector_matches(&e->selector, daemon_label_of, o))
			continue;
		e->claim = true;
		daemon_sets_add_soon(d, e);
	}
}

static bool daemon_same_field(const struct cached *a, const struct cached *b, const char *path)
{
	return str_eq(cached_field(a, path, NULL), cached_field(b, path, NULL));
}

static void pod_appears(struct daemon_sets *d, struct cached *o, bool is_new)
{
	struct owned_ref ref;
	struct daemon_entry *e = controller_of(d, o, &ref);

	(void)daemon_book_pod_put(&d->book, o);
	if (e) {
		if (is_new)
			expectations_created(&d->expectations, e->key);
		if (o->deleting)
			expectations_deleted(&d->expectations, e->key, o->uid);
		e->claim |= !selector_matches(&e->selector, daemon_label_of, o);
		daemon_sets_add_soon(d, e);
	} else if (ref.uid.n == 0 && !o->deleting) {
		offer_orphan(d, o);
	}
	arena_clear(&d->scratch);
}

static void pod_vanishes(struct daemon_sets *d, const struct cached *o)
{
	struct owned_ref ref;
	struct daemon_entry *e = controller_of(d, o, &ref);

	if (e) {
		expectations_deleted(&d->expectations, e->key, o->uid);
		daemon_sets_add_soon(d, e);
	}
	arena_clear(&d->scratch);
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
	if (other || !daemon_same_field(old, o, "metadata.ownerReferences"))
		pod_vanishes(d, old);
	else if (daemon_same_field(old, o, "metadata.labels") && !daemon_book_pod_put(&d->book, o))
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
	struct owned_ref ref;
	struct daemon_entry *e = controller_of(d, o, &ref);

	if (e)
		daemon_sets_add_soon(d, e);
	else if (ref.uid.n == 0)
		offer_orphan(d, o);
	arena_clear(&d->scratch);
}

static void daemon_on_revision_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	if (!daemon_same_field(old, o, "metadata.ownerReferences"))
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
	if (!daemon_same_field(old, o, "metadata.labels") ||
	    !daemon_same_field(old, o, "spec.taints"))
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

/* Until all informers have their state, pods would seem to be missing. */
static void daemon_sets_on_synced(struct daemon_sets *d)
{
	if (d->sets.handler.synced && d->pods.handler.synced && d->nodes.handler.synced &&
	    d->revisions.handler.synced)
		workqueue_hold(d->queue, false);
}

static void daemon_on_sets_synced(struct informer_handler *h)
{
	daemon_sets_on_synced(CONTAINER_OF(h, struct daemon_sets, sets.handler));
}

static void daemon_on_pods_synced(struct informer_handler *h)
{
	daemon_sets_on_synced(CONTAINER_OF(h, struct daemon_sets, pods.handler));
}

static void daemon_on_nodes_synced(struct informer_handler *h)
{
	daemon_sets_on_synced(CONTAINER_OF(h, struct daemon_sets, nodes.handler));
}

static void daemon_on_revisions_synced(struct informer_handler *h)
{
	daemon_sets_on_synced(CONTAINER_OF(h, struct daemon_sets, revisions.handler));
}

static void daemon_follow(struct daemon_sets *d, struct daemon_followed *f, bool owned)
{
	static const struct cache_index by_controller = { OWNED_BY_CONTROLLER,
							  owned_index_controller, NULL };
	static const struct cache_index orphans = { OWNED_ORPHANS, owned_index_orphan, NULL };

	f->informer = informers_get(
		d->ctx.informers,
		&(struct informer_spec){ .resource = &f->resource, .slim = true });
	if (owned) {
		informer_add_index(f->informer, &by_controller);
		informer_add_index(f->informer, &orphans);
	}
	informer_add_handler(f->informer, &f->handler);
}

static void daemon_follow_all(struct daemon_sets *d)
{
	d->sets = (struct daemon_followed){
		.resource = resource_builtin("apps", "v1", "daemonsets"),
		.handler = { .on_add = on_set,
			     .on_update = on_set_update,
			     .on_delete = on_set_delete,
			     .on_synced = daemon_on_sets_synced },
	};
	d->pods = (struct daemon_followed){
		.resource = resource_builtin("", "v1", "pods"),
		.handler = { .on_add = daemon_on_pod,
			     .on_update = daemon_on_pod_update,
			     .on_delete = daemon_on_pod_delete,
			     .on_synced = daemon_on_pods_synced },
	};
	d->nodes = (struct daemon_followed){
		.resource = resource_builtin("", "v1", "nodes"),
		.handler = { .on_add = daemon_on_node,
			     .on_update = daemon_on_node_update,
			     .on_delete = daemon_on_node_delete,
			     .on_synced = daemon_on_nodes_synced },
	};
	d->revisions = (struct daemon_followed){
		.resource = resource_builtin("apps", "v1", "controllerrevisions"),
		.handler = { .on_add = daemon_on_revision,
			     .on_update = daemon_on_revision_update,
			     .on_delete = daemon_on_revision_delete,
			     .on_synced = daemon_on_revisions_synced },
	};
	daemon_follow(d, &d->sets, false);
	daemon_follow(d, &d->pods, true);
	daemon_follow(d, &d->nodes, false);
	daemon_follow(d, &d->revisions, true);
}

struct daemon_sets *daemon_sets_new(const struct context *ctx)
{
	struct daemon_sets *d = XNEW(struct daemon_sets);

	d->ctx = *ctx;
	daemon_book_init(&d->book);
	omap_init(&d->entries);
	expectations_init(&d->expectations);
	list_init(&d->jobs);
	arena_init(&d->scratch, REQUEST_WORK_MAX);
	d->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "daemonset",
							   .workers = WORKERS,
							   .handle = daemon_sets_handle,
							   .arg = d,
							   .metrics = ctx->metrics });
	workqueue_hold(d->queue, true);
	daemon_follow_all(d);
	return d;
}

void daemon_sets_free(struct daemon_sets *d)
{
	struct omap_cursor c;

	if (!d)
		return;
	informer_remove_handler(&d->sets.handler);
	informer_remove_handler(&d->pods.handler);
	informer_remove_handler(&d->nodes.handler);
	informer_remove_handler(&d->revisions.handler);
	daemon_sets_jobs_release(d);
	workqueue_free(d->queue);
	for (bool ok = omap_first(&d->entries, &c); ok; ok = omap_next(&c))
		daemon_entry_free(omap_value(&c));
	omap_release(&d->entries);
	daemon_book_release(&d->book);
	expectations_release(&d->expectations);
	arena_release(&d->scratch);
	free(d);
}
