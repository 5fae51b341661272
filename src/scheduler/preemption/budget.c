/*
 * Disruption budgets for preemption: the remaining disruptions of each PodDisruptionBudget, minus
 * the victims so far. A pod in status.disruptedPods was already counted by the API server, and is
 * not counted again.
 */
#include "base/json/json.h"
#include "client/informer/cache.h"
#include "scheduler/framework/common.h"
#include "scheduler/preemption/preemption.h"

struct budget {
	struct budget *next;
	const struct json *selector, *disrupted;
	int64_t allowed, left;
};

struct namespace_budgets {
	struct budget *first;
};

void preemption_budgets_init(struct preemption_budgets *b, const struct cache *pdbs,
			     struct arena *arena)
{
	b->cache = pdbs;
	b->arena = arena;
	map_init(&b->by_namespace);
}

void preemption_budgets_release(struct preemption_budgets *b)
{
	map_release(&b->by_namespace);
}

void preemption_budgets_reset(struct preemption_budgets *b)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&b->by_namespace, &at, &key, &value))
		for (struct budget *v = ((struct namespace_budgets *)value)->first; v; v = v->next)
			v->left = v->allowed;
}

/* A selector that is missing or empty selects nothing. */
static struct budget *read_budget(struct preemption_budgets *b, struct cached *o)
{
	const struct json *selector, *status;
	struct json *tree;
	struct budget *v;

	if (cached_tree_held(o, b->arena, &tree, NULL) < 0)
		return NULL;
	selector = json_getz(json_getz(tree, "spec"), "selector");
	status = json_getz(tree, "status");
	if (json_count(json_getz(selector, "matchLabels")) == 0 &&
	    json_count(json_getz(selector, "matchExpressions")) == 0)
		return NULL;
	v = ARENA_NEW(b->arena, struct budget);
	v->selector = selector;
	v->disrupted = json_getz(status, "disruptedPods");
	v->allowed = v->left = json_i64_at(status, "disruptionsAllowed", 0);
	return v;
}

static struct namespace_budgets *budgets_of(struct preemption_budgets *b, struct str ns)
{
	struct namespace_budgets *all = map_get(&b->by_namespace, ns);
	struct cache_walk walk = { 0 };
	struct budget **end;
	struct cached *o;

	if (all)
		return all;
	all = ARENA_NEW(b->arena, struct namespace_budgets);
	end = &all->first;
	while (b->cache && (o = cache_next_in(b->cache, ns, &walk))) {
		*end = read_budget(b, o);
		if (*end)
			end = &(*end)->next;
	}
	(void)map_put(&b->by_namespace, arena_str(b->arena, ns), all);
	return all;
}

bool preemption_violates(struct preemption_budgets *b, const struct podinfo *p)
{
	if (!p->labels || json_count(p->labels) == 0)
		return false;
	for (struct budget *v = budgets_of(b, p->ns)->first; v; v = v->next) {
		if (!labels_selected(p->labels, v->selector))
			continue;
		if (json_get(v->disrupted, p->name))
			continue;
		if (--v->left < 0)
			return true;
	}
	return false;
}
