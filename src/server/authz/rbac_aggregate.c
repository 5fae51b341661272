/*
 * There are few aggregated roles; they are kept by name with their selectors. A changed role is
 * matched against them by its old and its new labels. Only one ensure writes at a time: roles
 * that become outdated meanwhile are computed after it. If another writer was faster, or a write
 * failed, the role is computed again.
 */
#include "server/authz/rbac_aggregate.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "server/authz/rbac.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"

#define RETRY_MS 5000

struct gatherer {
	struct arena arena;
	struct str name;
	struct selector *selectors; /* at least one must match */
	size_t nselectors;
	bool void_; /* its rules must be computed */
};

struct rbac_aggregate {
	struct server *server;
	const struct schema_kind *kind;
	struct map gatherers; /* by name */
	struct loop_task task;
	struct loop_timer retry;
	bool writing;
	void (*done)(void *arg, const struct error *err); /* NULL: it has been called */
	void *arg;
};

/* --- aggregated roles --------------------------------------------------------------- */

static void gatherer_free(struct gatherer *t)
{
	arena_release(&t->arena);
	free(t);
}

static void rbac_aggregate_forget(struct rbac_aggregate *g, struct str name)
{
	struct gatherer *t = map_remove(&g->gatherers, name);

	if (t)
		gatherer_free(t);
}

static void rbac_aggregate_remember(struct rbac_aggregate *g, struct str name,
				    const struct json *selectors)
{
	struct gatherer *t = XNEW(struct gatherer);

	arena_init(&t->arena, SIZE_MAX);
	t->name = arena_str(&t->arena, name);
	t->selectors = ARENA_ARRAY(&t->arena, struct selector, json_count(selectors) + 1);
	JSON_FOREACH (it, selectors)
		t->selectors[t->nselectors++] = selector_of_tree(&t->arena, it);
	t->void_ = true;
	map_put(&g->gatherers, t->name, t);
}

static bool gathers_from(const struct rbac_aggregate *g, const struct gatherer *t,
			 const struct object *o)
{
	struct object_source source = { o, g->kind };

	for (size_t i = 0; o && i < t->nselectors; i++)
		if (selector_matches(&t->selectors[i], object_label, &source))
			return true;
	return false;
}

static void rbac_aggregate_mark(struct rbac_aggregate *g, const struct object *now,
				const struct object *before)
{
	size_t at = 0;
	struct str key;
	void *v;

	while (map_next(&g->gatherers, &at, &key, &v)) {
		struct gatherer *t = v;

		t->void_ = t->void_ || gathers_from(g, t, now) || gathers_from(g, t, before);
	}
}

static bool any_void(const struct rbac_aggregate *g)
{
	size_t at = 0;
	struct str key;
	void *v;

	while (map_next(&g->gatherers, &at, &key, &v))
		if (((struct gatherer *)v)->void_)
			return true;
	return false;
}

static void mark_all(struct rbac_aggregate *g)
{
	size_t at = 0;
	struct str key;
	void *v;

	while (map_next(&g->gatherers, &at, &key, &v))
		((struct gatherer *)v)->void_ = true;
}

static void schedule(struct rbac_aggregate *g)
{
	if (!g->writing && any_void(g))
		loop_defer(g->server->opts.loops[0], &g->task);
}

void rbac_aggregate_change(struct rbac_aggregate *g, struct object *now, struct object *before,
			   const struct json *tree)
{
	const struct json *rule = json_getz(tree, "aggregationRule");

	rbac_aggregate_forget(g, object_name(now ? now : before));
	if (rule)
		rbac_aggregate_remember(g, object_name(now),
					json_getz(rule, "clusterRoleSelectors"));
	rbac_aggregate_mark(g, now, before);
	schedule(g);
}

void rbac_aggregate_reset(struct rbac_aggregate *g)
{
	size_t at = 0;
	struct str key;
	void *v;

	while (map_next(&g->gatherers, &at, &key, &v))
		gatherer_free(v);
	map_clear(&g->gatherers);
}

/* --- gathering ---------------------------------------------------------------------- */

struct gathering {
	struct arena *arena;
	struct map seen; /* rules as text */
	VEC(struct rbac_rule) rules;
	struct str self; /* the aggregated role, which never includes itself */
};

static void add_rule(struct gathering *gg, const struct rbac_rule *rule)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct str key;

	rbac_rule_print(&text, rule);
	if (map_get(&gg->seen, buf_str(&text)))
		return;
	key = arena_str(gg->arena, buf_str(&text));
	map_put(&gg->seen, key, (void *)(uintptr_t)key.p);
	(void)vec_push(&gg->rules, *rule);
}

static void rbac_aggregate_on_listed(void *arg, const struct list_result *result,
				     const struct error *err)
{
	struct gathering *gg = arg;

	for (size_t i = 0; !err && i < result->n; i++) {
		struct rbac_rules rules;
		struct json *tree;

		if (str_eq(object_name(result->items[i]), gg->self) ||
		    object_tree(result->items[i], gg->arena, &tree, NULL) < 0)
			continue;
		rules = rbac_rules_parse(gg->arena, json_getz(tree, "rules"));
		for (size_t k = 0; k < rules.n; k++)
			add_rule(gg, &rules.v[k]);
	}
}

static struct json *rbac_aggregate_gather(struct rbac_aggregate *g, const struct gatherer *t,
					  struct arena *a)
{
	struct resource *r = state_resource(g->server->state, g->kind);
	struct gathering gg = { .arena = a, .self = t->name };
	struct json *tree;

	map_init(&gg.seen);
	vec_init(&gg.rules, SIZE_MAX);
	for (size_t i = 0; i < t->nselectors; i++) {
		struct list_query q = { .labels = t->selectors[i] };

		resource_list(r, &q, a, rbac_aggregate_on_listed, &gg);
	}
	tree = rbac_rules_tree(a, (struct rbac_rules){ gg.rules.v, gg.rules.n });
	vec_release(&gg.rules);
	map_release(&gg.seen);
	return tree;
}

static void write_one(struct rbac_aggregate *g, struct ensure *e, struct gatherer *t)
{
	struct json *old = ensure_tree(e, g->kind, STR(""), t->name);
	struct arena *a = ensure_arena(e);
	struct json *patch;

	t->void_ = false;
	if (!old)
		return;
	patch = json_make_object(a);
	json_setz(patch, "rules", rbac_aggregate_gather(g, t, a));
	if (json_equal(json_getz(patch, "rules"), json_getz(old, "rules")))
		return;
	ensure_patch(e, g->kind, old, patch, STR("clusterrole-aggregation-controller"));
}

static void rbac_aggregate_on_written(void *arg, const struct error *err, bool outrun)
{
	struct rbac_aggregate *g = arg;
	void (*done)(void *arg, const struct error *err) = g->done;

	g->writing = false;
	if (err || outrun)
		mark_all(g);
	if (err && !loop_timer_running(&g->retry))
		loop_timer_start(&g->retry, RETRY_MS);
	else if (!err)
		schedule(g);
	if (done && (err || !any_void(g))) {
		g->done = NULL;
		done(g->arg, err);
	}
}

static void rbac_aggregate_run(struct rbac_aggregate *g)
{
	struct ensure *e;
	size_t at = 0;
	struct str key;
	void *v;

	if (g->writing)
		return;
	g->writing = true;
	e = ensure_new(g->server, rbac_aggregate_on_written, g);
	while (map_next(&g->gatherers, &at, &key, &v)) {
		struct gatherer *t = v;

		if (t->void_)
			write_one(g, e, t);
	}
	ensure_end(e);
}

static void rbac_aggregate_on_task(struct loop_task *t)
{
	rbac_aggregate_run(CONTAINER_OF(t, struct rbac_aggregate, task));
}

static void rbac_aggregate_on_retry(struct loop_timer *t)
{
	struct rbac_aggregate *g = CONTAINER_OF(t, struct rbac_aggregate, retry);

	if (!atomic_load(&g->server->stopping))
		schedule(g);
}

/* --- lifecycle ---------------------------------------------------------------------- */

static void on_there(void *arg, const struct list_result *result, const struct error *err)
{
	struct rbac_aggregate *g = arg;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; !err && i < result->n; i++) {
		struct json *tree, *rule;

		if (object_tree(result->items[i], &a, &tree, NULL) < 0)
			continue;
		rule = json_getz(tree, "aggregationRule");
		if (rule)
			rbac_aggregate_remember(g, object_name(result->items[i]),
						json_getz(rule, "clusterRoleSelectors"));
		arena_clear(&a);
	}
	arena_release(&a);
}

struct rbac_aggregate *rbac_aggregate_new(struct server *s,
					  void (*done)(void *arg, const struct error *err),
					  void *arg)
{
	struct rbac_aggregate *g = XNEW(struct rbac_aggregate);
	struct list_query all = { 0 };
	struct arena a;

	g->server = s;
	g->kind = schema_find_resource(RBAC_GROUP, STR("v1"), STR("clusterroles"));
	g->done = done;
	g->arg = arg;
	map_init(&g->gatherers);
	loop_task_init(&g->task, rbac_aggregate_on_task);
	loop_timer_init(&g->retry, s->opts.loops[0], rbac_aggregate_on_retry);
	arena_init(&a, SIZE_MAX);
	resource_list(state_resource(s->state, g->kind), &all, &a, on_there, g);
	arena_release(&a);
	/* Also if there is nothing to aggregate: then `done` must be called too. */
	loop_defer(s->opts.loops[0], &g->task);
	return g;
}

void rbac_aggregate_again(struct rbac_aggregate *g,
			  void (*done)(void *arg, const struct error *err), void *arg)
{
	g->done = done;
	g->arg = arg;
	if (!g->writing)
		loop_defer(g->server->opts.loops[0], &g->task);
}

void rbac_aggregate_free(struct rbac_aggregate *g)
{
	if (!g)
		return;
	loop_task_cancel(&g->task);
	loop_timer_stop(&g->retry);
	rbac_aggregate_reset(g);
	map_release(&g->gatherers);
	free(g);
}
