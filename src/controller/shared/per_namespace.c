/*
 * Decides from the informers alone. If they are behind, a create fails because the object exists
 * and an update conflicts; their next event then triggers another check.
 */
#include "controller/shared/per_namespace.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/shared/context.h"
#include "controller/shared/work.h"

struct per_namespace {
	struct context ctx;
	struct per_namespace_opts opts;
	struct resource namespaces_resource;
	struct informer *namespaces, *objects;
	struct informer_handler on_namespaces, on_objects;
	struct workqueue *queue;
	struct works jobs;
};

/* The namespace is gone or being deleted, or the server was ahead of our copy. */
static bool is_harmless(const struct client_answer *a, const struct error *err)
{
	return err->code == ERR_ALREADY_EXISTS || err->code == ERR_NOT_FOUND ||
	       (err->code == ERR_FORBIDDEN &&
		client_answer_has_cause(a, STR("NamespaceTerminating")));
}

static void per_namespace_on_written(struct client_request *r, const struct client_answer *a,
				     const struct error *err)
{
	struct work *w = r->arg;
	struct per_namespace *p = CONTAINER_OF(w->of, struct per_namespace, jobs);
	bool again = err && !is_harmless(a, err);

	if (again)
		log_warn(p->ctx.log, "cannot write", LOG_Z("name", p->opts.name),
			 LOG_STR("namespace", w->key), LOG_ERR(err));
	work_end(w, again);
}

static void write_object(struct per_namespace *p, struct str ns, const struct json *object,
			 bool exists)
{
	struct work *w = work_new(&p->jobs, sizeof(*w), ns);

	w->request.on_done = per_namespace_on_written;
	if (exists)
		client_update(p->ctx.client, &w->request, &p->opts.resource, ns,
			      str_from(p->opts.name), object);
	else
		client_create(p->ctx.client, &w->request, &p->opts.resource, ns, object);
}

static bool is_active(const struct cached *ns)
{
	struct str phase = cached_field(ns, "status.phase", NULL);

	return !ns->deleting && (phase.n == 0 || str_eq(phase, STR("Active")));
}

static void per_namespace_handle(void *arg, struct str key)
{
	struct per_namespace *p = arg;
	const struct cached *ns = cache_get(informer_cache(p->namespaces), key);
	struct cached *now = cache_get_in(informer_cache(p->objects), key, str_from(p->opts.name));
	struct json *tree = NULL, *object = NULL;
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	if (ns && is_active(ns) && (!now || cached_tree(now, &a, &tree, NULL) == 0))
		object = p->opts.want(p->opts.arg, &a, key, tree);
	if (object)
		write_object(p, key, object, now != NULL);
	else
		workqueue_finish(p->queue, key, false);
	arena_release(&a);
}

/* --- changes --------------------------------------------------------------------------------- */

static void on_namespace(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct per_namespace *p = CONTAINER_OF(h, struct per_namespace, on_namespaces);

	if (is_active(o))
		workqueue_add(p->queue, cached_name(o));
}

static void on_namespace_update(struct informer_handler *h, struct cached *old UNUSED,
				struct cached *o)
{
	on_namespace(h, o, false);
}

static void on_object_update(struct informer_handler *h, struct cached *old UNUSED,
			     struct cached *o)
{
	workqueue_add(CONTAINER_OF(h, struct per_namespace, on_objects)->queue, cached_ns(o));
}

static void on_object_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	on_object_update(h, last, last);
}

/* Until both informers have their state, everything would seem to be missing. */
static void per_namespace_on_synced(struct per_namespace *p)
{
	if (p->on_namespaces.synced && p->on_objects.synced)
		workqueue_hold(p->queue, false);
}

static void on_namespaces_synced(struct informer_handler *h)
{
	per_namespace_on_synced(CONTAINER_OF(h, struct per_namespace, on_namespaces));
}

static void on_objects_synced(struct informer_handler *h)
{
	per_namespace_on_synced(CONTAINER_OF(h, struct per_namespace, on_objects));
}

/* --- life ------------------------------------------------------------------------------------ */

static void watch(struct per_namespace *p)
{
	char selector[128];
	struct informer_spec namespaces = { .resource = &p->namespaces_resource };
	struct informer_spec objects = { .resource = &p->opts.resource };

	(void)snprintf(selector, sizeof(selector), "metadata.name=%s", p->opts.name);
	objects.field_selector = str_from(selector);
	p->namespaces = informers_get(p->ctx.informers, &namespaces);
	p->objects = informers_get(p->ctx.informers, &objects);
	p->on_namespaces = (struct informer_handler){ .on_add = on_namespace,
						      .on_update = on_namespace_update,
						      .on_synced = on_namespaces_synced };
	p->on_objects = (struct informer_handler){ .on_update = on_object_update,
						   .on_delete = on_object_delete,
						   .on_synced = on_objects_synced };
	informer_add_handler(p->namespaces, &p->on_namespaces);
	informer_add_handler(p->objects, &p->on_objects);
}

struct per_namespace *per_namespace_new(const struct context *ctx,
					const struct per_namespace_opts *opts)
{
	struct per_namespace *p = XNEW(struct per_namespace);

	p->ctx = *ctx;
	p->opts = *opts;
	p->namespaces_resource = resource_builtin("", "v1", "namespaces");
	p->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = opts->queue,
							   .workers = opts->workers,
							   .handle = per_namespace_handle,
							   .arg = p,
							   .metrics = ctx->metrics });
	works_init(&p->jobs, p->queue, ctx->log, "namespace", NULL);
	workqueue_hold(p->queue, true);
	watch(p);
	return p;
}

void per_namespace_free(struct per_namespace *p)
{
	if (!p)
		return;
	informer_remove_handler(&p->on_namespaces);
	informer_remove_handler(&p->on_objects);
	works_release(&p->jobs);
	workqueue_free(p->queue);
	free(p);
}
