/*
 * One object that may have to be deleted: the job reads it, then each of its owners, then decides.
 * It looks up the node again after every reply, because the node may have changed or gone
 * meanwhile; anything needed for longer is copied.
 */
#include "base/json/json.h"
#include "base/report/log.h"
#include "controller/garbage/decide.h"
#include "controller/garbage/garbage_impl.h"

struct item {
	struct work work;
	struct garbage *owner;
	void (*on_answer)(struct item *it, const struct client_answer *a, const struct error *err);
	struct garbage_identity who;
	struct resource resource;
	struct json *latest; /* the object's current metadata */
	struct json *reference; /* the owner being checked */
	enum garbage_class *classes; /* of the owners checked before */
	size_t nclasses;
};

/* --- a job's end ----------------------------------------------------------------------------- */

static struct garbage_node *item_node_of(struct item *it)
{
	return garbage_graph_find(it->owner->graph, it->work.key);
}

static void item_end(struct item *it, bool again)
{
	struct garbage_node *n = item_node_of(it);

	/* A node that was only named is retried until it is seen, or known not to exist. */
	again = n && (again || n->virt);
	if (again && !n->virt)
		n->check = true;
	work_end(&it->work, again);
}

static void item_fail(struct item *it, const struct error *err)
{
	log_debug(it->owner->ctx.log, "cannot collect", LOG_STR("kind", it->who.kind),
		  LOG_STR("namespace", it->who.ns), LOG_STR("name", it->who.name), LOG_ERR(err));
	item_end(it, true);
}

static void item_absent(struct item *it)
{
	garbage_graph_absent(it->owner->graph, &it->who);
	item_end(it, false);
}

static void item_on_done(struct client_request *r, const struct client_answer *a,
			 const struct error *err)
{
	struct item *it = r->arg;

	it->on_answer(it, a, err);
}

/* --- doing ----------------------------------------------------------------------------------- */

static void item_on_written(struct item *it, const struct client_answer *a UNUSED,
			    const struct error *err)
{
	if (err && err->code == ERR_NOT_FOUND)
		item_absent(it);
	else if (err)
		item_fail(it, err);
	else
		item_end(it, false);
}

static void send_patch(struct item *it, struct json *patch,
		       void (*on_answer)(struct item *it, const struct client_answer *a,
					 const struct error *err))
{
	struct resource_name name = { .ns = it->who.ns, .name = it->who.name };

	it->on_answer = on_answer;
	client_patch(it->owner->ctx.client, &it->work.request, &it->resource, name,
		     CLIENT_PATCH_MERGE, patch);
}

static void send_delete(struct item *it, const char *propagation)
{
	struct client_delete_opts o = { .uid = it->who.uid,
					.resource_version = garbage_meta(it->latest,
									 "resourceVersion"),
					.propagation = propagation };

	log_info(it->owner->ctx.log, "deleting", LOG_STR("kind", it->who.kind),
		 LOG_STR("namespace", it->who.ns), LOG_STR("name", it->who.name),
		 LOG_Z("propagation", propagation));
	it->on_answer = item_on_written;
	client_delete(it->owner->ctx.client, &it->work.request, &it->resource, it->who.ns,
		      it->who.name, &o);
}

/* Honours finalizers that the object already has. */
static const char *propagation_of(const struct json *object)
{
	if (garbage_has_finalizer(object, STR("orphan")))
		return "Orphan";
	if (garbage_has_finalizer(object, STR("foregroundDeletion")))
		return "Foreground";
	return "Background";
}

static bool is_solid(void *arg, const struct json *reference)
{
	struct item *it = arg;
	size_t i = 0;

	JSON_FOREACH (o, json_getz(json_getz(it->latest, "metadata"), "ownerReferences")) {
		if (o == reference)
			return it->classes[i] == GARBAGE_SOLID;
		i++;
	}
	return true;
}

static void on_unblocked(struct item *it, const struct client_answer *a, const struct error *err)
{
	if (err) {
		item_on_written(it, a, err);
		return;
	}
	/* If the reply is not JSON, the object stays as it was. */
	(void)client_answer_tree(a, &it->work.arena, &it->latest, NULL);
	send_delete(it, "Foreground");
}

static void unblock(struct item *it)
{
	struct json *patch = garbage_patch_unblock(&it->work.arena, it->latest);

	if (patch)
		send_patch(it, patch, on_unblocked);
	else
		send_delete(it, "Foreground");
}

static bool dependent_waits(const struct garbage_node *n)
{
	LIST_FOREACH (l, &n->dependents) {
		if (LIST_ENTRY(l, struct garbage_edge, link)->dependent->deleting_dependents)
			return true;
	}
	return false;
}

static void item_decide(struct item *it)
{
	const struct garbage_node *n = item_node_of(it);
	struct garbage_facts f = { .owners = it->classes, .nowners = it->nclasses };

	if (!n) {
		item_end(it, false);
		return;
	}
	f.has_dependents = !list_empty(&n->dependents);
	f.dependent_waits = dependent_waits(n);
	switch (garbage_decide(&f)) {
	case GARBAGE_KEEP:
		item_end(it, false);
		break;
	case GARBAGE_UNREFER:
		send_patch(it, garbage_patch_owners(&it->work.arena, it->latest, is_solid, it),
			   item_on_written);
		break;
	case GARBAGE_UNBLOCK_FOREGROUND:
		unblock(it);
		break;
	case GARBAGE_FOREGROUND:
		send_delete(it, "Foreground");
		break;
	case GARBAGE_DELETE:
		send_delete(it, propagation_of(it->latest));
		break;
	}
}

/* --- owners ---------------------------------------------------------------------------------- */

static void next_owner(struct item *it);

static void classify(struct item *it, enum garbage_class class)
{
	it->classes[it->nclasses++] = class;
	it->reference = it->reference->next;
	next_owner(it);
}

static struct garbage_owner item_owner_of(const struct json *reference)
{
	return (struct garbage_owner){ .api_version = json_text_at(reference, "apiVersion"),
				       .kind = json_text_at(reference, "kind"),
				       .name = json_text_at(reference, "name"),
				       .uid = json_text_at(reference, "uid") };
}

static void on_owner(struct item *it, const struct client_answer *a, const struct error *err)
{
	struct garbage_owner o = item_owner_of(it->reference);
	struct json *owner;
	struct error why;

	if (err && err->code == ERR_NOT_FOUND) {
		classify(it, GARBAGE_DANGLING);
		return;
	}
	if (!err && client_answer_tree(a, &it->work.arena, &owner, &why) < 0)
		err = &why;
	if (err)
		item_fail(it, err);
	else if (!str_eq(garbage_meta(owner, "uid"), o.uid))
		classify(it, GARBAGE_DANGLING);
	else if (garbage_meta(owner, "deletionTimestamp").p &&
		 garbage_has_finalizer(owner, STR("foregroundDeletion")))
		classify(it, GARBAGE_WAITING);
	else
		classify(it, GARBAGE_SOLID);
}

static void next_owner(struct item *it)
{
	struct garbage *g = it->owner;
	struct garbage_owner o = item_owner_of(it->reference);
	struct resource r;
	struct error err;

	if (!it->reference) {
		item_decide(it);
		return;
	}
	if (garbage_graph_is_absent(g->graph, &o, it->who.ns)) {
		classify(it, GARBAGE_DANGLING);
		return;
	}
	if (!garbage_resource_of(g, o.api_version, o.kind, &it->work.arena, &r)) {
		(void)error_set(&err, ERR_NOT_FOUND, "no resource of owner's kind %.*s in %.*s",
				STR_ARG(o.kind), STR_ARG(o.api_version));
		item_fail(it, &err);
		return;
	}
	/* A cluster-scoped object cannot have a namespaced owner; a retry would not help. */
	if (r.namespaced && it->who.ns.n == 0) {
		log_debug(g->ctx.log, "cluster-scoped object refers to a namespaced owner",
			  LOG_STR("name", it->who.name));
		item_end(it, false);
		return;
	}
	it->on_answer = on_owner;
	client_get(g->ctx.client, &it->work.request, &r, it->who.ns, o.name);
}

static void look_at_owners(struct item *it)
{
	const struct json *owners = json_getz(json_getz(it->latest, "metadata"), "ownerReferences");

	it->reference = json_first(owners);
	it->classes = ARENA_ARRAY(&it->work.arena, enum garbage_class, json_count(owners) + 1);
	it->nclasses = 0;
	next_owner(it);
}

/* --- an owner that waits for its dependents -------------------------------------------------- */

static void delete_dependents(struct item *it, struct garbage_node *n)
{
	struct garbage *g = it->owner;
	struct json *patch;

	if (garbage_node_is_blocked(n) && !garbage_graph_is_knot(g->graph, n)) {
		LIST_FOREACH (l, &n->dependents) {
			struct garbage_edge *e = LIST_ENTRY(l, struct garbage_edge, link);

			if (e->blocking && !e->dependent->deleting_dependents)
				garbage_graph_check(g->graph, e->dependent, false);
		}
		item_end(it, false);
		return;
	}
	patch = garbage_patch_finalizer(&it->work.arena, it->latest, STR("foregroundDeletion"));
	if (patch)
		send_patch(it, patch, item_on_written);
	else
		item_end(it, false);
}

/* --- the object ------------------------------------------------------------------------------ */

static void item_on_read(struct item *it, const struct client_answer *a, const struct error *err)
{
	struct garbage_node *n = item_node_of(it);
	struct error why;

	if (err && err->code == ERR_NOT_FOUND) {
		item_absent(it);
		return;
	}
	if (!err && client_answer_tree(a, &it->work.arena, &it->latest, &why) < 0)
		err = &why;
	if (err)
		item_fail(it, err);
	else if (!str_eq(garbage_meta(it->latest, "uid"), it->who.uid))
		item_absent(it);
	else if (!n)
		item_end(it, false);
	else if (n->deleting_dependents)
		delete_dependents(it, n);
	else
		look_at_owners(it);
}

static void item_begin(struct item *it, struct garbage_node *n)
{
	struct garbage *g = it->owner;
	struct error err;

	if (!garbage_resource_of(g, n->kind->api_version, n->kind->kind, &it->work.arena,
				 &it->resource)) {
		(void)error_set(&err, ERR_NOT_FOUND, "no resource of kind %.*s in %.*s",
				STR_ARG(n->kind->kind), STR_ARG(n->kind->api_version));
		it->who = garbage_identity_copy(&it->work.arena, n);
		item_fail(it, &err);
		return;
	}
	if (!it->resource.namespaced && n->virt && n->ns.n > 0)
		garbage_graph_clusterwide(g->graph, n);
	it->who = garbage_identity_copy(&it->work.arena, n);
	if (it->resource.namespaced && n->ns.n == 0) {
		/* A cluster-scoped object named it, so its namespace is unknown. */
		work_end(&it->work, false);
		return;
	}
	it->on_answer = item_on_read;
	client_get(g->ctx.client, &it->work.request, &it->resource, it->who.ns, it->who.name);
}

void garbage_handle_deletion(void *arg, struct str uid)
{
	struct garbage *g = arg;
	struct garbage_node *n = garbage_graph_find(g->graph, uid);
	struct item *it;

	/*
	 * Skips an object that was queued because it was unseen and has been seen since. Skips one
	 * that is being deleted, unless it waits for its dependents.
	 */
	if (!n || (!n->virt && !n->check) || (n->deleting && !n->deleting_dependents)) {
		workqueue_finish(g->deletions, uid, false);
		return;
	}
	n->check = false;
	it = work_new(&g->deletion_jobs, sizeof(*it), uid);
	it->owner = g;
	it->work.request.on_done = item_on_done;
	it->work.request.accept = ACCEPT_METADATA;
	item_begin(it, n);
}
