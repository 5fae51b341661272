/*
 * Candidates come from two indexes: by the uid of the controller, and orphans by namespace. Patches
 * carry the object's uid, so another object of that name is not changed.
 */
#include "controller/pods/owned.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "controller/pods/pod_template.h"
#include "controller/shared/context.h"

/* --- references ------------------------------------------------------------------------------ */

struct owned_ref owned_ref_of(const struct cached *o, struct arena *a)
{
	struct cached_controller c = cached_controller(o, a);

	return (struct owned_ref){ .kind = c.kind, .name = c.name, .uid = c.uid };
}

void owned_index_controller(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct owned_ref ref = owned_ref_of(o, a);

	if (ref.uid.n > 0)
		cache_values_add(v, ref.uid);
}

void owned_index_orphan(const struct cached *o, struct arena *a, struct cache_values *v)
{
	if (owned_ref_of(o, a).uid.n == 0)
		cache_values_add(v, cached_ns(o));
}

const struct cache_index owned_indexes[] = {
	{ OWNED_BY_CONTROLLER, owned_index_controller, NULL },
	{ OWNED_ORPHANS, owned_index_orphan, NULL },
	{ 0 },
};

/* --- owners ---------------------------------------------------------------------------------- */

bool owned_is_orphan(const struct cached *o, struct arena *a)
{
	bool orphan = owned_ref_of(o, a).uid.n == 0;

	arena_clear(a);
	return orphan;
}

struct cached *owned_controller_in(const struct cache *owners, const char *kind,
				   const struct cached *o, struct arena *a)
{
	struct owned_ref ref = owned_ref_of(o, a);
	struct cached *found = NULL;

	if (ref.uid.n > 0 && str_eqz(ref.kind, kind))
		found = cache_get_in(owners, cached_ns(o), ref.name);
	if (found && !str_eq(found->uid, ref.uid))
		found = NULL;
	arena_clear(a);
	return found;
}

struct recorder_object owner_about(const struct owner *owner, struct str resource_version)
{
	return (struct recorder_object){ .api_version = owner->api_version,
					 .kind = owner->kind,
					 .ns = owner->ns,
					 .name = owner->name,
					 .uid = owner->uid,
					 .resource_version = resource_version };
}

/* --- judging --------------------------------------------------------------------------------- */

enum owned_verdict owned_judge(const struct owner *owner, const struct cached *o, struct arena *a)
{
	struct cached_labels labels = { o, a };
	struct owned_ref ref = owned_ref_of(o, a);
	bool matches;

	if (ref.uid.n > 0 && !str_eq(ref.uid, owner->uid))
		return OWNED_OTHERS;
	matches = selector_matches(owner->selector, cached_labels_get, &labels);
	if (ref.uid.n > 0 && matches)
		return OWNED_KEPT;
	if (owner->deleting || o->deleting)
		return OWNED_OTHERS;
	if (ref.uid.n > 0)
		return OWNED_RELEASE;
	return matches && str_eq(cached_ns(o), owner->ns) ? OWNED_ADOPT : OWNED_OTHERS;
}

/* --- lists ----------------------------------------------------------------------------------- */

static void list_add(struct owned_list *l, struct cached *o)
{
	(void)vec_push(l, cached_ref(o));
}

static void list_drop(struct owned_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		cached_unref(l->v[i]);
	vec_release(l);
}

static int compare_keys(const void *a, const void *b)
{
	const struct cached *const *x = a, *const *y = b;

	return str_cmp((*x)->key, (*y)->key);
}

/* --- requests -------------------------------------------------------------------------------- */

static void next_write(struct owned_claim *c);

static void claim_end(struct owned_claim *c)
{
	struct error first = c->first;

	if (c->adopt.n > 0 && c->owned.n > 0)
		qsort(c->owned.v, c->owned.n, sizeof(*c->owned.v), compare_keys);
	c->done(c, first.code == ERR_OK ? NULL : &first);
}

static struct json *patch_of(struct arena *a, const struct cached *o, struct json *ref)
{
	struct json *patch = json_make_object(a), *meta = json_need_object(a, patch, "metadata");

	json_put_str(a, meta, "uid", o->uid);
	json_append(json_need_array(a, meta, "ownerReferences"), ref);
	return patch;
}

static struct json *release_patch(const struct owned_claim *c, const struct cached *o)
{
	struct arena *a = c->arena;
	struct json *ref = json_make_object(a), *patch = patch_of(a, o, ref);
	struct json *meta = json_getz(patch, "metadata");

	json_put_str(a, ref, "$patch", STR("delete"));
	json_put_str(a, ref, "uid", c->owner->uid);
	if (c->finalizer.n > 0)
		json_append(json_need_array(a, meta, "$deleteFromPrimitiveList/finalizers"),
			    json_make_str(a, c->finalizer));
	return patch;
}

/* A Job's finalizer comes with the reference, so that no finished pod escapes it. */
static struct json *adopt_patch(const struct owned_claim *c, const struct cached *o)
{
	struct arena *a = c->arena;
	struct json *patch = patch_of(a, o, pod_template_controller_ref(a, c->owner));

	if (c->finalizer.n > 0)
		json_append(json_need_array(a, json_getz(patch, "metadata"), "finalizers"),
			    json_make_str(a, c->finalizer));
	return patch;
}

static void claim_send(struct owned_claim *c, const struct cached *o, const struct json *patch)
{
	client_patch(c->ctx->client, &c->request, c->resource,
		     (struct resource_name){ .ns = cached_ns(o), .name = cached_name(o) },
		     CLIENT_PATCH_STRATEGIC, patch);
}

static void note(struct owned_claim *c, const struct error *err, const char *what)
{
	if (c->first.code != ERR_OK)
		return;
	(void)error_wrap(&c->first, error_copy(&c->first, err), "%s", what);
}

static void on_adopted(struct client_request *r, const struct client_answer *answer UNUSED,
		       const struct error *err)
{
	struct owned_claim *c = r->arg;

	if (!err)
		list_add(&c->owned, c->adopt.v[c->at]);
	else if (err->code != ERR_NOT_FOUND)
		note(c, err, "cannot adopt");
	c->at++;
	next_write(c);
}

/* ERR_INVALID: it has no reference any more, or is another object of that name. */
static void on_released(struct client_request *r, const struct client_answer *answer UNUSED,
			const struct error *err)
{
	struct owned_claim *c = r->arg;

	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_INVALID)
		note(c, err, "cannot release");
	c->at++;
	next_write(c);
}

/* First all adoptions, then all releases. */
static void next_write(struct owned_claim *c)
{
	const struct cached *o;

	if (c->at < c->adopt.n) {
		o = c->adopt.v[c->at];
		c->request.on_done = on_adopted;
		claim_send(c, o, adopt_patch(c, o));
	} else if (c->at < c->adopt.n + c->release.n) {
		o = c->release.v[c->at - c->adopt.n];
		c->request.on_done = on_released;
		claim_send(c, o, release_patch(c, o));
	} else {
		claim_end(c);
	}
}

static int check_owner(const struct owned_claim *c, const struct client_answer *answer,
		       struct error *err)
{
	struct json *fresh;
	int r = client_answer_tree(answer, c->arena, &fresh, err);
	const struct json *meta;

	if (r < 0)
		return r;
	meta = json_getz(fresh, "metadata");
	if (!str_eq(json_text_at(meta, "uid"), c->owner->uid))
		return error_set(err, ERR_CONFLICT, "%.*s %.*s was replaced by another one",
				 STR_ARG(c->owner->kind), STR_ARG(c->owner->name));
	if (json_text_at(meta, "deletionTimestamp").n > 0)
		return error_set(err, ERR_CONFLICT, "%.*s %.*s has just been deleted",
				 STR_ARG(c->owner->kind), STR_ARG(c->owner->name));
	return 0;
}

static void on_owner(struct client_request *r, const struct client_answer *answer,
		     const struct error *err)
{
	struct owned_claim *c = r->arg;
	struct error bad;

	if (!err && check_owner(c, answer, &bad) < 0)
		err = &bad;
	if (!err) {
		next_write(c);
		return;
	}
	note(c, err, "cannot adopt");
	c->at = c->adopt.n;
	next_write(c);
}

/* --- claiming -------------------------------------------------------------------------------- */

static void sort_out(struct owned_claim *c, struct cached *o)
{
	enum owned_verdict v = owned_judge(c->owner, o, c->arena);

	if (v == OWNED_KEPT)
		list_add(&c->owned, o);
	else if (v == OWNED_ADOPT && !(c->leave && c->leave(o)))
		list_add(&c->adopt, o);
	else if (v == OWNED_RELEASE && !(c->leave && c->leave(o)))
		list_add(&c->release, o);
}

static void sort_out_all(struct owned_claim *c, const char *index, struct str value)
{
	struct cache_walk walk = { 0 };
	struct cached *o;

	while ((o = cache_next_by(c->cache, index, value, &walk)))
		sort_out(c, o);
}

void owned_claim(struct owned_claim *c)
{
	vec_init(&c->owned, SIZE_MAX / sizeof(*c->owned.v));
	vec_init(&c->adopt, SIZE_MAX / sizeof(*c->adopt.v));
	vec_init(&c->release, SIZE_MAX / sizeof(*c->release.v));
	c->request.arg = c;
	c->at = 0;
	c->first.code = ERR_OK;
	sort_out_all(c, OWNED_BY_CONTROLLER, c->owner->uid);
	if (!c->owner->deleting)
		sort_out_all(c, OWNED_ORPHANS, c->owner->ns);
	if (c->adopt.n == 0) {
		next_write(c);
		return;
	}
	c->request.on_done = on_owner;
	client_get(c->ctx->client, &c->request, &c->owner->resource, c->owner->ns, c->owner->name);
}

void owned_claim_release(struct owned_claim *c)
{
	client_cancel(&c->request);
	list_drop(&c->owned);
	list_drop(&c->adopt);
	list_drop(&c->release);
}
