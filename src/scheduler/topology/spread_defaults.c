/*
 * The default selector of a pod without its own: the pods that its Services, and the
 * ReplicationController, ReplicaSet or StatefulSet that owns it, select. Services select by labels
 * that the pod has, so two Services never disagree about a key.
 */
#include "client/informer/cache.h"
#include "scheduler/framework/common.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/topology/spread.h"

struct terms {
	struct arena *arena;
	struct selector_term *v;
	size_t n, room;
};

static struct selector_term *new_term(struct terms *t)
{
	struct selector_term *more;

	if (t->n < t->room)
		return &t->v[t->n++];
	t->room = MAX(4, 2 * t->room);
	more = ARENA_ARRAY(t->arena, struct selector_term, t->room);
	if (t->n > 0)
		memcpy(more, t->v, t->n * sizeof(*more));
	t->v = more;
	return &t->v[t->n++];
}

/*
 * Adds the requirement that the label equals the value. With `replace`, it replaces an earlier one
 * for the key.
 */
static void require(struct terms *t, struct str key, struct str value, bool replace)
{
	struct str *values = ARENA_NEW(t->arena, struct str);
	struct selector_term *term = NULL;

	*values = value;
	for (size_t i = 0; replace && i < t->n; i++)
		if (str_eq(t->v[i].key, key))
			term = &t->v[i];
	if (!term)
		term = new_term(t);
	*term = (struct selector_term){ key, SELECTOR_EQUALS, values, 1 };
}

/* Returns spec.selector of the object as JSON, or NULL. */
static struct json *selector_of(const struct cached *o, struct arena *a)
{
	struct str text = o ? cached_field(o, "spec.selector", a) : STR_NULL;
	struct json *tree = NULL;

	if (!text.p || json_parse(a, text, NULL, &tree, NULL) < 0)
		return NULL;
	return json_is(tree, JSON_OBJECT) ? tree : NULL;
}

static bool selects(const struct json *selector, const struct podinfo *pod)
{
	JSON_FOREACH (v, selector) {
		struct str have = podinfo_label(pod, json_key(v));

		if (!have.p || !str_eq(have, json_str(v)))
			return false;
	}
	return true;
}

static void add_services(struct terms *t, const struct cache *services, const struct podinfo *pod)
{
	struct cache_walk w = { 0 };
	struct cached *o;

	while (services && (o = cache_next_in(services, pod->ns, &w))) {
		const struct json *selector = selector_of(o, t->arena);

		if (!selector || !selects(selector, pod))
			continue;
		JSON_FOREACH (v, selector)
			require(t, json_key(v), json_str(v), true);
	}
}

static const struct json *controller_of(const struct podinfo *pod)
{
	JSON_FOREACH (v, json_getz(json_getz(pod->tree, "metadata"), "ownerReferences"))
		if (json_true_at(v, "controller"))
			return v;
	return NULL;
}

static void add_controller_labels(struct terms *t, const struct cached *o)
{
	JSON_FOREACH (v, selector_of(o, t->arena))
		require(t, json_key(v), json_str(v), true);
}

/* A LabelSelector; its requirements are added to those that there are. */
static void add_controller_selector(struct terms *t, const struct cached *o)
{
	const struct json *selector = selector_of(o, t->arena);

	JSON_FOREACH (v, json_getz(selector, "matchLabels"))
		require(t, json_key(v), json_str(v), false);
	JSON_FOREACH (v, json_getz(selector, "matchExpressions")) {
		const struct json *list = json_getz(v, "values");
		struct selector_term term = { .key = json_text_at(v, "key") };
		struct str *values = ARENA_ARRAY(t->arena, struct str, json_count(list));

		if (!labels_operator(json_text_at(v, "operator"), &term.op))
			continue;
		JSON_FOREACH (value, list)
			values[term.nvalues++] = json_str(value);
		term.values = values;
		*new_term(t) = term;
	}
}

static const struct cached *spread_defaults_find(const struct cache *c, const struct podinfo *pod,
						 const struct json *owner)
{
	return c ? cache_get_in(c, pod->ns, json_text_at(owner, "name")) : NULL;
}

struct selector spread_default_selector(const struct services *s, const struct podinfo *pod,
					struct arena *a)
{
	struct terms t = { .arena = a };
	const struct json *owner = controller_of(pod);
	struct str group = json_text_at(owner, "apiVersion"), kind = json_text_at(owner, "kind");

	add_services(&t, s->kube_services, pod);
	if (str_eqz(group, "v1") && str_eqz(kind, "ReplicationController"))
		add_controller_labels(&t,
				      spread_defaults_find(s->replication_controllers, pod, owner));
	else if (str_eqz(group, "apps/v1") && str_eqz(kind, "ReplicaSet"))
		add_controller_selector(&t, spread_defaults_find(s->replica_sets, pod, owner));
	else if (str_eqz(group, "apps/v1") && str_eqz(kind, "StatefulSet"))
		add_controller_selector(&t, spread_defaults_find(s->stateful_sets, pod, owner));
	return (struct selector){ t.v, t.n };
}
