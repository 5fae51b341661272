/*
 * A source is a key ("configmaps/ns/name", "services/ns/") with its own informer and the pods that
 * use it. It is freed with its last pod. Informers are freed at the end of a turn, never from
 * within their handlers. Objects are read from the informer's cache, so each is stored once.
 */
#include "node/sources/sources.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "node/node_limits.h"
#include "node/sources/sources_impl.h"

enum { WAIT_MS = 2000 };

struct source {
	struct sources *owner;
	struct list link; /* in the list `doomed` */
	char *key;
	const char *resource; /* "configmaps"; a literal */
	struct str ns, name; /* parts of the key; no name: the whole namespace */
	struct informer *informer; /* NULL: not watched */
	struct informer_handler handler;
	struct cached *kept; /* immutable, or set by sources_put() */
	VEC(struct sources_pod *) pods;
	bool synced, by_hand;
};

/* A caller that waits until everything that the pod uses is known. */
struct source_want {
	struct list link;
	struct sources_pod *pod;
	struct loop_timer timer;
	struct loop_task task;
	sources_done *done;
	void *arg;
};

/* --- waiting callers ------------------------------------------------------------------------ */

static const struct source *unknown(const struct sources_pod *p)
{
	for (size_t i = 0; i < p->uses.n; i++) {
		if (!p->uses.v[i]->synced)
			return p->uses.v[i];
	}
	return NULL;
}

static void want_free(struct source_want *w)
{
	list_remove(&w->link);
	loop_timer_stop(&w->timer);
	loop_task_cancel(&w->task);
	free(w);
}

static void want_tell(struct source_want *w)
{
	const struct source *s = unknown(w->pod);
	const struct error *why = s && s->informer ? informer_failure(s->informer) : NULL;
	sources_done *done = w->done;
	void *arg = w->arg;
	struct error err;

	if (s) /* upstream's message has the singular: "configmap" */
		(void)error_set(&err, ERR_TIMEOUT, "failed to sync %.*s cache: %s",
				(int)strlen(s->resource) - 1, s->resource,
				why && why->code != ERR_OK ? why->msg
							   : "timed out waiting for the condition");
	want_free(w);
	done(arg, s ? &err : NULL);
}

static void on_want_task(struct loop_task *t)
{
	struct source_want *w = CONTAINER_OF(t, struct source_want, task);

	if (!unknown(w->pod))
		want_tell(w);
}

static void on_want_late(struct loop_timer *t)
{
	want_tell(CONTAINER_OF(t, struct source_want, timer));
}

static void look_at_wants(struct sources_pod *p)
{
	LIST_FOREACH (it, &p->wants) {
		struct source_want *w = LIST_ENTRY(it, struct source_want, link);

		loop_defer(p->owner->opts.loop, &w->task);
	}
}

/* --- a source ------------------------------------------------------------------------------- */

static void on_sweep(struct loop_task *t);

static void doom(struct source *s)
{
	if (!list_empty(&s->link))
		return;
	list_push_back(&s->owner->doomed, &s->link);
	if (s->owner->opts.loop)
		loop_defer(s->owner->opts.loop, &s->owner->sweep);
}

static void sources_tell(struct source *s)
{
	const struct sources_opts *o = &s->owner->opts;

	if (!s->synced || !o->on_change || strcmp(s->resource, "services") == 0)
		return;
	for (size_t i = 0; i < s->pods.n; i++)
		o->on_change(o->arg, str_from(s->pods.v[i]->uid));
}

/* An immutable object needs no watch: it can only be deleted, which does not affect its users. */
static void keep_if_immutable(struct source *s, struct cached *o)
{
	if (s->name.n == 0 || !str_eqz(cached_field(o, "immutable", NULL), "true"))
		return;
	cached_unref(s->kept);
	s->kept = cached_ref(o);
	doom(s);
}

static void sources_on_add(struct informer_handler *h, struct cached *o, bool initial)
{
	struct source *s = CONTAINER_OF(h, struct source, handler);

	(void)initial;
	keep_if_immutable(s, o);
	sources_tell(s);
}

static void sources_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct source *s = CONTAINER_OF(h, struct source, handler);

	(void)old;
	keep_if_immutable(s, o);
	sources_tell(s);
}

static void sources_on_delete(struct informer_handler *h, struct cached *last, bool is_unknown)
{
	(void)last;
	(void)is_unknown;
	sources_tell(CONTAINER_OF(h, struct source, handler));
}

static void sources_on_synced(struct informer_handler *h)
{
	struct source *s = CONTAINER_OF(h, struct source, handler);

	s->synced = true;
	for (size_t i = 0; i < s->pods.n; i++)
		look_at_wants(s->pods.v[i]);
}

static void source_watch(struct source *s)
{
	struct resource resource = resource_builtin("", "v1", s->resource);
	struct informer_spec spec = { .resource = &resource, .ns = s->ns, .slim = true };
	struct buf selector = BUF_INIT(KIB);

	if (s->name.n > 0) {
		(void)buf_printf(&selector, "metadata.name=%.*s", STR_ARG(s->name));
		spec.field_selector = buf_str(&selector);
	}
	s->informer = informers_get(s->owner->informers, &spec);
	s->handler = (struct informer_handler){ .on_add = sources_on_add,
						.on_update = sources_on_update,
						.on_delete = sources_on_delete,
						.on_synced = sources_on_synced };
	informer_add_handler(s->informer, &s->handler);
	buf_release(&selector);
}

static void source_unwatch(struct source *s)
{
	if (!s->informer)
		return;
	informer_remove_handler(&s->handler);
	informers_drop(s->owner->informers, s->informer);
	s->informer = NULL;
}

static void source_free(struct source *s)
{
	list_remove(&s->link);
	(void)map_remove(&s->owner->sources, str_from(s->key));
	source_unwatch(s);
	cached_unref(s->kept);
	vec_release(&s->pods);
	free(s->key);
	free(s);
}

static void on_sweep(struct loop_task *t)
{
	struct sources *owner = CONTAINER_OF(t, struct sources, sweep);
	struct list *node;

	while ((node = list_pop_front(&owner->doomed))) {
		struct source *s = LIST_ENTRY(node, struct source, link);

		if (s->pods.n == 0 && !s->by_hand)
			source_free(s);
		else if (s->kept)
			source_unwatch(s);
	}
}

static struct str source_key(struct arena *a, const char *resource, struct str ns, struct str name)
{
	return str_from(arena_printf(a, "%s/%.*s/%.*s", resource, STR_ARG(ns), STR_ARG(name)));
}

static struct source *source_find(const struct sources *s, const char *resource, struct str ns,
				  struct str name)
{
	struct arena a;
	struct source *found;
	char block[1024] UNZEROED;

	arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
	found = map_get(&s->sources, source_key(&a, resource, ns, name));
	arena_release(&a);
	return found;
}

static struct source *source_make(struct sources *s, const char *resource, struct str ns,
				  struct str name)
{
	struct source *made = XNEW(struct source);
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	made->owner = s;
	made->key = xstrdup(source_key(&a, resource, ns, name).p);
	arena_release(&a);
	made->resource = resource;
	made->ns = str_of(made->key + strlen(resource) + 1, ns.n);
	made->name = str_of(made->ns.p + ns.n + 1, name.n);
	list_init(&made->link);
	vec_init(&made->pods, NODE_PODS_MAX);
	(void)map_put(&s->sources, str_from(made->key), made);
	return made;
}

static struct source *source_need(struct sources *s, const char *resource, struct str ns,
				  struct str name)
{
	struct source *found = source_find(s, resource, ns, name);

	if (found)
		return found;
	found = source_make(s, resource, ns, name);
	if (s->informers)
		source_watch(found);
	else
		found->synced = true;
	return found;
}

/* --- pods ----------------------------------------------------------------------------------- */

static void use(struct sources_pod *p, const char *resource, struct str ns, struct str name)
{
	struct source *s;

	if (name.n == 0 && strcmp(resource, "services") != 0)
		return;
	s = source_need(p->owner, resource, ns, name);
	for (size_t i = 0; i < p->uses.n; i++) {
		if (p->uses.v[i] == s)
			return;
	}
	if (vec_push(&s->pods, p) && !vec_push(&p->uses, s))
		s->pods.n--;
}

static void unuse(struct sources_pod *p, struct source *s)
{
	for (size_t i = 0; i < s->pods.n; i++) {
		if (s->pods.v[i] != p)
			continue;
		vec_remove_swap(&s->pods, i);
		break;
	}
	if (s->pods.n == 0)
		doom(s);
}

static void use_volume(struct sources_pod *p, struct str ns, const struct json *volume)
{
	use(p, "configmaps", ns, json_text_at(json_getz(volume, "configMap"), "name"));
	use(p, "secrets", ns, json_text_at(json_getz(volume, "secret"), "secretName"));
	JSON_FOREACH (it, json_getz(json_getz(volume, "projected"), "sources")) {
		use(p, "configmaps", ns, json_text_at(json_getz(it, "configMap"), "name"));
		use(p, "secrets", ns, json_text_at(json_getz(it, "secret"), "name"));
	}
}

static void use_container(struct sources_pod *p, struct str ns, const struct json *container)
{
	JSON_FOREACH (it, json_getz(container, "env")) {
		const struct json *from = json_getz(it, "valueFrom");

		use(p, "configmaps", ns, json_text_at(json_getz(from, "configMapKeyRef"), "name"));
		use(p, "secrets", ns, json_text_at(json_getz(from, "secretKeyRef"), "name"));
	}
	JSON_FOREACH (it, json_getz(container, "envFrom")) {
		use(p, "configmaps", ns, json_text_at(json_getz(it, "configMapRef"), "name"));
		use(p, "secrets", ns, json_text_at(json_getz(it, "secretRef"), "name"));
	}
}

static void use_all(struct sources_pod *p, const struct pod *pod)
{
	struct pod_containers c = pod_containers(pod);
	bool links = true;

	JSON_FOREACH (it, json_getz(pod->spec, "volumes"))
		use_volume(p, pod->ns, it);
	JSON_FOREACH (it, json_getz(pod->spec, "imagePullSecrets"))
		use(p, "secrets", pod->ns, json_text_at(it, "name"));
	while (pod_containers_next(&c))
		use_container(p, pod->ns, c.container);
	use(p, "services", STR("default"), STR("kubernetes"));
	if (!json_bool(json_getz(pod->spec, "enableServiceLinks"), &links) || links)
		use(p, "services", pod->ns, STR_NULL);
}

static struct sources_pod *pod_need(struct sources *s, struct str uid)
{
	struct sources_pod *p = map_get(&s->pods, uid);

	if (p)
		return p;
	p = XNEW(struct sources_pod);
	p->owner = s;
	p->uid = str_dup(uid);
	vec_init(&p->uses, POD_SOURCES_MAX);
	list_init(&p->wants);
	(void)map_put(&s->pods, str_from(p->uid), p);
	return p;
}

static void pod_drop(struct sources_pod *p)
{
	(void)map_remove(&p->owner->pods, str_from(p->uid));
	LIST_FOREACH_SAFE (it, &p->wants)
		want_free(LIST_ENTRY(it, struct source_want, link));
	for (size_t i = 0; i < p->uses.n; i++)
		unuse(p, p->uses.v[i]);
	vec_release(&p->uses);
	free(p->uid);
	free(p);
}

void sources_want(struct sources *s, struct pod *pod, sources_done *done, void *arg)
{
	struct sources_pod *p = pod_need(s, pod->uid);
	struct source_want *w = XNEW(struct source_want);
	__typeof__(p->uses) old = p->uses;

	/* Adds the new ones first, so that sources used by both are not dropped in between. */
	vec_init(&p->uses, POD_SOURCES_MAX);
	use_all(p, pod);
	for (size_t i = 0; i < old.n; i++)
		unuse(p, old.v[i]);
	vec_release(&old);

	w->pod = p;
	w->done = done;
	w->arg = arg;
	list_push_back(&p->wants, &w->link);
	loop_timer_init(&w->timer, s->opts.loop, on_want_late);
	loop_task_init(&w->task, on_want_task);
	loop_timer_start(&w->timer, WAIT_MS);
	loop_defer(s->opts.loop, &w->task);
}

void sources_drop(struct sources *s, struct str pod_uid)
{
	struct sources_pod *p = map_get(&s->pods, pod_uid);

	if (p)
		pod_drop(p);
	sources_tokens_drop(s, pod_uid);
}

/* --- reading -------------------------------------------------------------------------------- */

static struct json *sources_tree_of(struct cached *o, struct arena *a)
{
	struct json *tree = NULL;

	if (!o || cached_tree_held(o, a, &tree, NULL) < 0)
		return NULL;
	return tree;
}

static struct json *sources_read_one(const struct sources *s, const char *resource, struct str ns,
				     struct str name, struct arena *a)
{
	const struct source *found = source_find(s, resource, ns, name);

	if (!found)
		return NULL;
	if (found->kept || !found->informer)
		return sources_tree_of(found->kept, a);
	return sources_tree_of(cache_get_in(informer_cache(found->informer), ns, name), a);
}

struct json *sources_config_map(const struct sources *s, struct str ns, struct str name,
				struct arena *a)
{
	return sources_read_one(s, "configmaps", ns, name, a);
}

struct json *sources_secret(const struct sources *s, struct str ns, struct str name,
			    struct arena *a)
{
	return sources_read_one(s, "secrets", ns, name, a);
}

struct found_services {
	VEC(struct json *) v;
	struct arena *arena;
};

static void add_service(struct found_services *f, struct json *tree)
{
	if (tree)
		(void)vec_push(&f->v, tree);
}

static void add_of_namespace(const struct sources *s, struct str ns, struct found_services *f)
{
	const struct source *found = source_find(s, "services", ns, STR_NULL);
	struct cache_walk w = { 0 };
	struct cached *o;

	if (!found || !found->informer)
		return;
	while ((o = cache_next(informer_cache(found->informer), &w)))
		add_service(f, sources_tree_of(o, f->arena));
}

static void add_by_hand(const struct sources *s, struct str ns, struct found_services *f)
{
	size_t at = 0;
	struct str key;
	void *value;

	while (map_next(&s->sources, &at, &key, &value)) {
		const struct source *it = value;

		if (it->by_hand && strcmp(it->resource, "services") == 0 && str_eq(it->ns, ns))
			add_service(f, sources_tree_of(it->kept, f->arena));
	}
}

static struct str service_name(const struct json *service)
{
	return json_text_at(json_getz(service, "metadata"), "name");
}

static int sources_by_name(const void *a, const void *b)
{
	return str_cmp(service_name(*(struct json *const *)a),
		       service_name(*(struct json *const *)b));
}

size_t sources_services(const struct sources *s, struct str ns, bool links, struct arena *a,
			struct json ***ret_services)
{
	struct found_services f = { .arena = a };
	bool has_master = false;
	struct json **copy;
	size_t n;

	vec_init(&f.v, SERVICES_MAX);
	if (links) {
		add_of_namespace(s, ns, &f);
		add_by_hand(s, ns, &f);
	}
	for (size_t i = 0; i < f.v.n; i++)
		has_master = has_master || str_eqz(service_name(f.v.v[i]), "kubernetes");
	if (!has_master)
		add_service(&f,
			    sources_read_one(s, "services", STR("default"), STR("kubernetes"), a));
	n = f.v.n;
	copy = ARENA_ARRAY(a, struct json *, n + 1);
	if (n > 0) {
		qsort(f.v.v, n, sizeof(*f.v.v), sources_by_name);
		memcpy(copy, f.v.v, n * sizeof(*copy));
	}
	vec_release(&f.v);
	*ret_services = copy;
	return n;
}

int sources_put(struct sources *s, const char *resource, struct str text, struct error *err)
{
	struct cached *o = NULL;
	struct source *at;
	int r;

	r = cached_new(text, NULL, &o, err);
	if (r < 0)
		return r;
	at = source_find(s, resource, cached_ns(o), cached_name(o));
	if (!at)
		at = source_make(s, resource, cached_ns(o), cached_name(o));
	cached_unref(at->kept);
	at->kept = o;
	at->by_hand = true;
	at->synced = true;
	sources_tell(at);
	return 0;
}

/* --- life ----------------------------------------------------------------------------------- */

struct sources *sources_new(const struct sources_opts *opts)
{
	struct sources *s = XNEW(struct sources);

	s->opts = *opts;
	map_init(&s->sources);
	map_init(&s->pods);
	list_init(&s->tokens);
	list_init(&s->doomed);
	loop_task_init(&s->sweep, on_sweep);
	if (opts->client) {
		s->informers = informers_new(opts->client, NULL);
		informers_start(s->informers);
	}
	return s;
}

void sources_free(struct sources *s)
{
	struct str key;
	void *value;
	size_t at;

	if (!s)
		return;
	while (at = 0, map_next(&s->pods, &at, &key, &value))
		pod_drop(value);
	sources_tokens_free(s);
	while (at = 0, map_next(&s->sources, &at, &key, &value))
		source_free(value);
	loop_task_cancel(&s->sweep);
	informers_free(s->informers);
	map_release(&s->sources);
	map_release(&s->pods);
	free(s);
}
