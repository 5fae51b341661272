/*
 * Writes a plan object by object, then checks once a second whether all claims are bound, as
 * upstream does. If it fails, earlier writes stay: the next attempt finds them, and the volume
 * controller undoes impossible ones.
 */
#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/api/client.h"
#include "net/loop/loop.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/volumes/plan.h"

enum { LOOK_EVERY_MS = 1000 };

struct volume_bind {
	struct plugin *plugin;
	struct binding *binding;
	const struct volume_plan *plan; /* the cycle's */
	struct client_request request;
	struct loop_timer timer;
	struct arena arena;
	uint64_t *match_revisions, *provision_revisions;
	size_t at; /* the next to write: matches, then provisions */
	int64_t until_ms;
};

static void write_next(struct volume_bind *v);

/* --- the end ------------------------------------------------------------------------------- */

static void bind_free(struct volume_bind *v)
{
	client_cancel(&v->request);
	loop_timer_stop(&v->timer);
	arena_release(&v->arena);
	free(v);
}

static void bind_fail(struct volume_bind *v, const struct error *why)
{
	struct binding *b = v->binding;
	struct error copy = *why;

	bind_free(v);
	binding_failed(b, &copy);
}

static void bind_succeed(struct volume_bind *v)
{
	struct binding *b = v->binding;

	/* The caches show it all by now. */
	volume_forget(v->plugin->state, v->plan);
	bind_free(v);
	binding_done(b, VERDICT_OK);
}

static void on_cancel(void *arg, struct binding *b UNUSED)
{
	struct error err;

	(void)error_set(&err, ERR_CANCELED, "pod no longer exists");
	bind_fail(arg, &err);
}

/* --- waiting ------------------------------------------------------------------------------- */

static int mismatch(const struct volume *v, struct str node, struct error *err)
{
	return error_set(err, ERR_CONFLICT,
			 "pv \"%.*s\" node affinity doesn't match node \"%.*s\": no matching "
			 "NodeSelectorTerms",
			 STR_ARG(v->name), STR_ARG(node));
}

static int check_match(const struct services *s, const struct volume_match *m, uint64_t revision,
		       const struct nodeinfo *n, struct arena *a, struct error *err)
{
	struct volume_claim *c = volume_claim_find(s, m->claim->key, a);
	struct volume *v = volume_find(s, m->volume->name, a);

	if (!v || !c)
		return error_set(err, ERR_NOT_FOUND, "failed to check binding: %s is gone",
				 v ? "the claim" : "the volume");
	if (v->object->revision < revision)
		return 0;
	if (!volume_allows(v, n->node->labels))
		return mismatch(v, n->name, err);
	if (!v->claim_name.p || v->claim_uid.n == 0)
		return error_set(err, ERR_CONFLICT, "ClaimRef got reset for pv \"%.*s\"",
				 STR_ARG(v->name));
	return c->bound;
}

static int check_provision(const struct services *s, const struct volume_claim *wanted,
			   uint64_t revision, const struct nodeinfo *n, struct arena *a,
			   struct error *err)
{
	struct volume_claim *c = volume_claim_find(s, wanted->key, a);
	struct volume *v;

	if (!c)
		return error_set(err, ERR_NOT_FOUND,
				 "failed to check provisioning pvc: the claim is gone");
	if (c->object->revision < revision)
		return 0;
	if (!json_getz(json_getz(c->tree, "metadata"), "annotations"))
		return error_set(err, ERR_CONFLICT,
				 "selectedNode annotation reset for PVC \"%.*s\"",
				 STR_ARG(c->name));
	/* A provisioner removes the annotation to report that it cannot provision the volume. */
	if (!str_eq(c->selected_node, n->name))
		return error_set(err, ERR_CONFLICT, "provisioning failed for PVC \"%.*s\"",
				 STR_ARG(c->name));
	if (c->volume.n) {
		v = volume_find(s, c->volume, a);
		if (!v)
			return 0;
		if (!volume_allows(v, n->node->labels))
			return mismatch(v, n->name, err);
	}
	return c->bound;
}

int volume_bind_check(const struct services *s, const struct volume_plan *plan, struct str node,
		      const uint64_t *match_revisions, const uint64_t *provision_revisions,
		      struct error *err)
{
	const struct nodeinfo *n = nodecache_node(s->nodes, node);
	CLEANUP(arena_release) struct arena a;
	int r = 1;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!n || !n->node)
		return error_set(err, ERR_NOT_FOUND,
				 "failed to get node \"%.*s\": node \"%.*s\" not found",
				 STR_ARG(node), STR_ARG(node));
	for (size_t i = 0; r > 0 && i < plan->nmatches; i++)
		r = check_match(s, &plan->matches[i], match_revisions[i], n, &a, err);
	for (size_t i = 0; r > 0 && i < plan->nprovisions; i++)
		r = check_provision(s, plan->provisions[i].claim, provision_revisions[i], n, &a,
				    err);
	return r;
}

static void bind_look(struct loop_timer *t)
{
	struct volume_bind *v = CONTAINER_OF(t, struct volume_bind, timer);
	const struct services *s = v->plugin->services;
	struct error err;
	int r = volume_bind_check(s, v->plan, binding_node(v->binding), v->match_revisions,
				  v->provision_revisions, &err);

	if (r > 0) {
		bind_succeed(v);
		return;
	}
	if (r == 0 && loop_now(s->loop) < v->until_ms) {
		loop_timer_start(&v->timer, LOOK_EVERY_MS);
		return;
	}
	if (r == 0)
		r = error_set(&err, ERR_TIMEOUT, "context deadline exceeded");
	(void)error_wrap(&err, r, "binding volumes");
	bind_fail(v, &err);
}

/* --- writing ------------------------------------------------------------------------------- */

static void bind_on_done(struct client_request *r, const struct client_answer *a,
			 const struct error *err)
{
	struct volume_bind *v = r->arg;
	CLEANUP(cached_unref) struct cached *answer = NULL;
	size_t at = v->at++;
	struct error bad;

	if (err) {
		bind_fail(v, err);
		return;
	}
	if (cached_new(a->body, NULL, &answer, &bad) < 0) {
		bind_fail(v, &bad);
		return;
	}
	if (at < v->plan->nmatches)
		v->match_revisions[at] = answer->revision;
	else
		v->provision_revisions[at - v->plan->nmatches] = answer->revision;
	write_next(v);
}

/* Returns the member, an object, and creates it if necessary. */
static struct json *object_at(struct arena *a, struct json *parent, const char *key)
{
	struct json *child = json_getz(parent, key);

	if (json_is(child, JSON_OBJECT))
		return child;
	child = json_make_object(a);
	json_setz(parent, key, child);
	return child;
}

static void annotate(struct arena *a, struct json *tree, const char *key, struct str value)
{
	struct json *notes = object_at(a, object_at(a, tree, "metadata"), "annotations");

	if (!json_getz(notes, key) || !str_eq(json_text_at(notes, key), value))
		json_put_str(a, notes, key, value);
}

static struct json *claim_reference(struct arena *a, const struct volume_claim *c)
{
	struct json *ref = json_make_object(a);

	json_put_str(a, ref, "kind", STR("PersistentVolumeClaim"));
	json_put_str(a, ref, "namespace", c->ns);
	json_put_str(a, ref, "name", c->name);
	json_put_str(a, ref, "uid", c->uid);
	json_put_str(a, ref, "apiVersion", STR("v1"));
	json_put_str(a, ref, "resourceVersion", c->object->resource_version);
	return ref;
}

static void write_match(struct volume_bind *v, const struct volume_match *m)
{
	const struct resource volumes = resource_builtin("", "v1", "persistentvolumes");
	const struct json *old = json_getz(json_getz(m->volume->tree, "spec"), "claimRef");
	bool bound = str_eq(json_text_at(old, "name"), m->claim->name) &&
		     str_eq(json_text_at(old, "namespace"), m->claim->ns);
	struct json *tree = NULL;
	struct error err;

	if (json_copy(&v->arena, m->volume->tree, &tree, &err) < 0) {
		bind_fail(v, &err);
		return;
	}
	if (!bound || !str_eq(json_text_at(old, "uid"), m->claim->uid))
		json_setz(object_at(&v->arena, tree, "spec"), "claimRef",
			  claim_reference(&v->arena, m->claim));
	/* A volume that a person bound to the claim is not the controller's to unbind. */
	if (!bound)
		annotate(&v->arena, tree, "pv.kubernetes.io/bound-by-controller", STR("yes"));
	client_update(v->plugin->services->client, &v->request, &volumes, STR_NULL, m->volume->name,
		      tree);
}

static void write_provision(struct volume_bind *v, const struct volume_claim *c)
{
	const struct resource claims = resource_builtin("", "v1", "persistentvolumeclaims");
	struct json *tree = NULL;
	struct error err;

	if (json_copy(&v->arena, c->tree, &tree, &err) < 0) {
		bind_fail(v, &err);
		return;
	}
	annotate(&v->arena, tree, "volume.kubernetes.io/selected-node", binding_node(v->binding));
	client_update(v->plugin->services->client, &v->request, &claims, c->ns, c->name, tree);
}

static void write_next(struct volume_bind *v)
{
	const struct volume_plan *plan = v->plan;

	if (v->at < plan->nmatches)
		write_match(v, &plan->matches[v->at]);
	else if (v->at < plan->nmatches + plan->nprovisions)
		write_provision(v, plan->provisions[v->at - plan->nmatches].claim);
	else
		loop_timer_start(&v->timer, LOOK_EVERY_MS);
}

void volume_bind_begin(struct plugin *p, struct binding *b, const struct volume_plan *plan)
{
	const struct volume_binder *binder = p->state;
	const struct services *s = p->services;
	struct volume_bind *v;

	if (!s->client || !s->loop) {
		struct error err;

		(void)error_set(&err, ERR_UNAVAILABLE, "volumes cannot be bound: no API server");
		binding_failed(b, &err);
		return;
	}
	v = XNEW(struct volume_bind);
	v->plugin = p;
	v->binding = b;
	v->plan = plan;
	arena_init(&v->arena, REQUEST_WORK_MAX);
	v->match_revisions = ARENA_ARRAY(&v->arena, uint64_t, plan->nmatches + 1);
	v->provision_revisions = ARENA_ARRAY(&v->arena, uint64_t, plan->nprovisions + 1);
	v->request = (struct client_request){ .on_done = bind_on_done, .arg = v };
	loop_timer_init(&v->timer, s->loop, bind_look);
	v->until_ms = loop_now(s->loop) + binder->bind_timeout_ms;
	binding_on_cancel(b, on_cancel, v);
	write_next(v);
}
