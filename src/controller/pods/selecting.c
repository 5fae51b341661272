/*
 * Index values are "NAMESPACE/KEY=VALUE" of the first label in matchLabels, or "NAMESPACE/".
 */
#include "controller/pods/selecting.h"

#include "api/selector/label_selector.h"
#include "base/json/json.h"
#include "client/work/workqueue.h"

static const struct json *selector_in(const struct cached *owner, struct arena *a)
{
	struct json *tree;

	if (cached_tree(owner, a, &tree, NULL) < 0)
		return NULL;
	return json_getz(json_getz(tree, "spec"), "selector");
}

static struct str value_of(struct arena *a, struct str ns, const struct json *label)
{
	return str_from(arena_printf(a, "%.*s/%.*s=%.*s", STR_ARG(ns), STR_ARG(json_key(label)),
				     STR_ARG(json_str(label))));
}

void selecting_index(const struct cached *o, struct arena *a, struct cache_values *v)
{
	const struct json *selector = selector_in(o, a);
	const struct json *label = json_first(json_getz(selector, "matchLabels"));

	if (label)
		cache_values_add(v, value_of(a, cached_ns(o), label));
	else if (!label_selector_is_empty(selector))
		cache_values_add(v, str_from(arena_printf(a, "%.*s/", STR_ARG(cached_ns(o)))));
}

static void try_owners(const struct cache *owners, struct str value, const struct json *labels,
		       void (*found)(void *arg, const struct cached *owner), void *arg)
{
	struct cache_walk walk = { 0 };
	const struct cached *owner;
	struct arena scratch;

	arena_init(&scratch, SIZE_MAX);
	while ((owner = cache_next_by(owners, SELECTING, value, &walk))) {
		if (label_selector_matches(selector_in(owner, &scratch), labels))
			found(arg, owner);
		arena_clear(&scratch);
	}
	arena_release(&scratch);
}

void selecting_each(const struct cache *owners, const struct cached *orphan, struct arena *a,
		    void (*found)(void *arg, const struct cached *owner), void *arg)
{
	struct str ns = cached_ns(orphan);
	const struct json *labels;
	struct json *tree;

	if (cached_tree(orphan, a, &tree, NULL) == 0) {
		labels = json_getz(json_getz(tree, "metadata"), "labels");
		try_owners(owners, str_from(arena_printf(a, "%.*s/", STR_ARG(ns))), labels, found,
			   arg);
		JSON_FOREACH (label, labels)
			try_owners(owners, value_of(a, ns, label), labels, found, arg);
	}
	arena_clear(a);
}

void selecting_queue(void *queue, const struct cached *owner)
{
	workqueue_add(queue, owner->key);
}
