/*
 * Short texts become API objects by moving their members to where the API has them.
 */
#include "scheduler/run/scheduler_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "scheduler/config/config.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/verdict.h"
#include "scheduler/plugins/plugins.h"

enum { FIXTURE_MEMORY_MAX = 1 << 28, FIXTURE_TEXT_MAX = 1 << 20 };

/* --- texts --------------------------------------------------------------------------------- */

static struct json *scheduler_fixture_parse(struct scheduler_fixture *f, const char *text)
{
	char *copy = arena_strdup(&f->arena, str_from(text));
	struct json *tree = NULL;
	struct error err;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	if (json_parse(&f->arena, str_from(copy), NULL, &tree, &err) < 0)
		fail_msg("%s: %s", err.msg, copy);
	return tree;
}

static bool scheduler_fixture_is_among(struct str key, const char *names)
{
	struct str rest = str_from(names), name;

	while (str_split(&rest, ' ', &name))
		if (str_eq(name, key))
			return true;
	return false;
}

static void move_members(struct json *from, struct json *to, const char *names)
{
	JSON_FOREACH_SAFE (v, from) {
		if (names && !scheduler_fixture_is_among(json_key(v), names))
			continue;
		(void)json_unlink(from, v);
		json_set(to, json_key(v), v);
	}
}

static struct json *scheduler_fixture_begin(struct scheduler_fixture *f, struct json *text,
					    const char *kind)
{
	struct json *o = json_make_object(&f->arena);

	json_put_str(&f->arena, o, "apiVersion", STR("v1"));
	json_put_str(&f->arena, o, "kind", str_from(kind));
	move_members(text, json_need_object(&f->arena, o, "metadata"),
		     "name namespace uid labels annotations generation creationTimestamp");
	return o;
}

static struct json *scheduler_fixture_node_of(struct scheduler_fixture *f, struct json *text)
{
	struct json *o, *status, *all;

	if (json_getz(text, "metadata"))
		return text;
	o = scheduler_fixture_begin(f, text, "Node");
	move_members(text, json_need_object(&f->arena, o, "spec"), "taints unschedulable");
	status = json_need_object(&f->arena, o, "status");
	move_members(text, status, "allocatable images conditions declaredFeatures");
	all = json_need_object(&f->arena, status, "allocatable");
	move_members(text, all, NULL);
	if (!json_getz(all, "pods"))
		json_put_i64(&f->arena, all, "pods", 110);
	return o;
}

static void add_container(struct scheduler_fixture *f, struct json *text, struct json *spec)
{
	struct json *c = json_make_object(&f->arena);
	struct json *requests = json_remove(text, STR("requests"));
	struct json *image = json_remove(text, STR("image"));

	json_put_str(&f->arena, c, "name", STR("c"));
	json_setz(c, "image", image ? image : json_make_str(&f->arena, STR("image")));
	if (requests)
		json_setz(json_need_object(&f->arena, c, "resources"), "requests", requests);
	json_append(json_need_array(&f->arena, spec, "containers"), c);
}

static struct json *pod_of(struct scheduler_fixture *f, struct json *text)
{
	struct json *o, *meta, *spec, *owners, *status;

	if (json_getz(text, "metadata"))
		return text;
	o = scheduler_fixture_begin(f, text, "Pod");
	meta = json_getz(o, "metadata");
	spec = json_need_object(&f->arena, o, "spec");
	owners = json_remove(text, STR("owners"));
	status = json_remove(text, STR("status"));
	if (owners)
		json_setz(meta, "ownerReferences", owners);
	if (status)
		json_setz(o, "status", status);
	if (json_remove(text, STR("deleting")))
		json_put_str(&f->arena, meta, "deletionTimestamp", STR("2026-01-01T00:00:00Z"));
	if (!json_getz(text, "containers"))
		add_container(f, text, spec);
	move_members(text, spec, NULL);
	return o;
}

static struct cached *cached_of(struct scheduler_fixture *f, struct json *o, bool namespaced)
{
	struct json *meta = json_need_object(&f->arena, o, "metadata");
	struct buf text = BUF_INIT(FIXTURE_TEXT_MAX);
	struct cached *object = NULL;
	struct error err;

	if (namespaced && !json_getz(meta, "namespace"))
		json_put_str(&f->arena, meta, "namespace", STR("default"));
	if (!json_getz(meta, "uid"))
		json_put_str(&f->arena, meta, "uid",
			     str_from(arena_printf(&f->arena, "uid-%u", ++f->made)));
	(void)json_print(&text, o, NULL);
	if (cached_new(buf_str(&text), NULL, &object, &err) < 0)
		fail_msg("%s: %.*s", err.msg, STR_ARG(buf_str(&text)));
	buf_release(&text);
	return object;
}

/* --- life cycle ---------------------------------------------------------------------------- */

void scheduler_fixture_init(struct scheduler_fixture *f)
{
	struct cache *caches[] = { &f->namespaces,
				   &f->pdbs,
				   &f->kube_services,
				   &f->replication_controllers,
				   &f->replica_sets,
				   &f->stateful_sets,
				   &f->pvcs,
				   &f->pvs,
				   &f->storage_classes,
				   &f->csi_nodes,
				   &f->csi_drivers,
				   &f->csi_capacities,
				   &f->attachments };

	*f = (struct scheduler_fixture){ .profile = NULL };
	arena_init(&f->arena, FIXTURE_MEMORY_MAX);
	amount_names_init(&f->names);
	gates_init(&f->gates);
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++)
		cache_init(caches[i]);
	f->services = (struct services){ .nodes = nodecache_new(),
					 .names = &f->names,
					 .gates = &f->gates,
					 .namespaces = &f->namespaces,
					 .pdbs = &f->pdbs,
					 .kube_services = &f->kube_services,
					 .replication_controllers = &f->replication_controllers,
					 .replica_sets = &f->replica_sets,
					 .stateful_sets = &f->stateful_sets,
					 .pvcs = &f->pvcs,
					 .pvs = &f->pvs,
					 .storage_classes = &f->storage_classes,
					 .csi_nodes = &f->csi_nodes,
					 .csi_drivers = &f->csi_drivers,
					 .csi_capacities = &f->csi_capacities,
					 .attachments = &f->attachments };
}

void scheduler_fixture_release(struct scheduler_fixture *f)
{
	profile_free(f->profile);
	nodecache_free(f->services.nodes);
	cache_release(&f->namespaces);
	cache_release(&f->pdbs);
	cache_release(&f->kube_services);
	cache_release(&f->replication_controllers);
	cache_release(&f->replica_sets);
	cache_release(&f->stateful_sets);
	cache_release(&f->pvcs);
	cache_release(&f->pvs);
	cache_release(&f->storage_classes);
	cache_release(&f->csi_nodes);
	cache_release(&f->csi_drivers);
	cache_release(&f->csi_capacities);
	cache_release(&f->attachments);
	amount_names_release(&f->names);
	arena_release(&f->arena);
}

static void enable(struct config_set *set, struct str name)
{
	struct config_plugin plugin = { .name = name };

	for (size_t i = 0; i < set->nenabled; i++)
		if (str_eq(set->enabled[i].name, name))
			return;
	for (const struct config_plugin *d = config_default_plugins; d->name.n > 0; d++)
		if (str_eq(d->name, name))
			plugin.weight = d->weight;
	set->enabled[set->nenabled++] = plugin;
}

int scheduler_fixture_try_profile(struct scheduler_fixture *f, const char *plugins,
				  const char *args, struct error *err)
{
	struct config_plugin enabled[PLUGINS_MAX];
	struct config_plugin_args said[PLUGINS_MAX];
	struct config_profile config = { .name = STR("default-scheduler"), .args = said };
	struct config_set *set = &config.points[POINT_MULTI];
	struct str rest = str_from(plugins), name;

	profile_free(f->profile);
	f->profile = NULL;
	set->enabled = enabled;
	while (!str_eqz(str_from(plugins), "*") && str_split(&rest, ' ', &name))
		enable(set, name);
	for (size_t i = 0; str_eqz(str_from(plugins), "*") && plugins_built_in[i]; i++)
		for (const struct config_plugin *d = config_default_plugins; d->name.n > 0; d++)
			if (str_eqz(d->name, plugins_built_in[i]->name))
				enable(set, d->name);
	enable(set, STR("PrioritySort"));
	enable(set, STR("DefaultBinder"));
	JSON_FOREACH (v, args ? scheduler_fixture_parse(f, args) : NULL)
		said[config.nargs++] = (struct config_plugin_args){ json_key(v), v };
	return profile_new(&config, &(struct plugin_kinds){ .built_in = plugins_built_in },
			   &f->services, &f->profile, err);
}

void scheduler_fixture_profile(struct scheduler_fixture *f, const char *plugins, const char *args)
{
	struct error err;

	if (scheduler_fixture_try_profile(f, plugins, args, &err) < 0)
		fail_msg("%s", err.msg);
}

struct plugin *scheduler_fixture_plugin(struct scheduler_fixture *f, const char *name)
{
	for (size_t i = 0; i < f->profile->n; i++)
		if (str_eqz(str_from(name), f->profile->plugins[i].name))
			return &f->profile->plugins[i];
	fail_msg("the profile has no plugin %s", name);
	return NULL;
}

/* --- objects ------------------------------------------------------------------------------- */

struct cached *scheduler_fixture_object(struct scheduler_fixture *f, const char *text)
{
	return cached_of(f, scheduler_fixture_parse(f, text), false);
}

void scheduler_fixture_put(struct scheduler_fixture *f, struct cache *c, const char *text)
{
	cached_unref(cache_put(c, scheduler_fixture_object(f, text)));
}

struct nodeobject *scheduler_fixture_make_node(struct scheduler_fixture *f, const char *text)
{
	CLEANUP(cached_unref)
	struct cached *o = cached_of(
		f, scheduler_fixture_node_of(f, scheduler_fixture_parse(f, text)), false);
	struct nodeobject *n = NULL;
	struct error err;

	if (nodeobject_new(o, &f->names, &n, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	return n;
}

struct podinfo *scheduler_fixture_make_pod(struct scheduler_fixture *f, const char *text)
{
	CLEANUP(cached_unref)
	struct cached *o = cached_of(f, pod_of(f, scheduler_fixture_parse(f, text)), true);
	struct podinfo *p = NULL;
	struct error err;

	if (podinfo_new(o, &f->names, &p, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	return p;
}

void scheduler_fixture_node(struct scheduler_fixture *f, const char *text)
{
	CLEANUP(nodeobject_unref) struct nodeobject *n = scheduler_fixture_make_node(f, text);

	nodecache_put_node(f->services.nodes, n);
}

void scheduler_fixture_pod(struct scheduler_fixture *f, const char *text)
{
	CLEANUP(podinfo_unref) struct podinfo *p = scheduler_fixture_make_pod(f, text);
	struct error err;

	if (nodecache_add_pod(f->services.nodes, p, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
}

/* --- asking -------------------------------------------------------------------------------- */

static int scheduler_fixture_by_name(const void *a, const void *b)
{
	const struct nodeinfo *const *x = a, *const *y = b;

	return str_cmp((*x)->name, (*y)->name);
}

struct cycle *scheduler_fixture_cycle(struct scheduler_fixture *f, const char *pod)
{
	CLEANUP(podinfo_unref) struct podinfo *p = scheduler_fixture_make_pod(f, pod);
	struct cycle *c = cycle_new(f->profile, p, 1);

	c->snapshot = nodecache_snapshot(f->services.nodes);
	c->nfeasible = c->snapshot->n;
	c->feasible = ARENA_ARRAY(&c->arena, struct nodeinfo *, c->nfeasible + 1);
	for (size_t i = 0; i < c->nfeasible; i++)
		c->feasible[i] = c->snapshot->nodes[i];
	qsort(c->feasible, c->nfeasible, sizeof(*c->feasible), scheduler_fixture_by_name);
	return c;
}

static void print_verdict(struct cycle *c, const struct verdict *v, struct buf *out)
{
	(void)buf_printf(out, "%s[%.*s]", verdict_name(v->code),
			 STR_ARG(verdict_message(v, &c->arena)));
}

static const char *scheduler_fixture_take(struct scheduler_fixture *f, struct buf *out)
{
	const char *text = arena_strdup(&f->arena, buf_str(out));

	buf_release(out);
	return text;
}

const char *scheduler_fixture_filters(struct scheduler_fixture *f, struct plugin *p,
				      struct cycle *c)
{
	struct buf out = BUF_INIT(FIXTURE_TEXT_MAX);

	for (size_t i = 0; i < c->nfeasible; i++) {
		struct verdict v = p->kind->filter(p, c, c->feasible[i]);

		(void)buf_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(c->feasible[i]->name));
		if (v.code == VERDICT_SUCCESS)
			continue;
		(void)buf_addc(&out, ':');
		print_verdict(c, &v, &out);
	}
	return scheduler_fixture_take(f, &out);
}

const char *scheduler_fixture_filter(struct scheduler_fixture *f, const char *plugin,
				     const char *pod)
{
	CLEANUP(cycle_free) struct cycle *c = scheduler_fixture_cycle(f, pod);
	struct plugin *p = scheduler_fixture_plugin(f, plugin);
	struct buf out = BUF_INIT(FIXTURE_TEXT_MAX);
	struct verdict v = VERDICT_OK;

	if (p->kind->pre_filter)
		v = p->kind->pre_filter(p, c);
	if (v.code == VERDICT_SKIP)
		return "skip";
	if (v.code == VERDICT_SUCCESS)
		return scheduler_fixture_filters(f, p, c);
	print_verdict(c, &v, &out);
	return scheduler_fixture_take(f, &out);
}

const char *scheduler_fixture_score(struct scheduler_fixture *f, const char *plugin,
				    const char *pod)
{
	CLEANUP(cycle_free) struct cycle *c = scheduler_fixture_cycle(f, pod);
	struct plugin *p = scheduler_fixture_plugin(f, plugin);
	int64_t *raw = ARENA_ARRAY(&c->arena, int64_t, c->nfeasible + 1);
	int64_t *scores = ARENA_ARRAY(&c->arena, int64_t, c->nfeasible + 1);
	struct buf out = BUF_INIT(FIXTURE_TEXT_MAX);

	if (p->kind->pre_score && p->kind->pre_score(p, c).code == VERDICT_SKIP)
		return "skip";
	for (size_t i = 0; i < c->nfeasible; i++) {
		struct verdict v = p->kind->score(p, c, i, &raw[i]);

		assert_int_equal(v.code, VERDICT_SUCCESS);
		scores[i] = raw[i];
	}
	if (p->kind->normalize)
		p->kind->normalize(p, c, scores, c->nfeasible);
	for (size_t i = 0; i < c->nfeasible; i++)
		(void)buf_printf(&out, "%s%.*s=%lld/%lld", i ? " " : "",
				 STR_ARG(c->feasible[i]->name), (long long)raw[i],
				 (long long)scores[i]);
	return scheduler_fixture_take(f, &out);
}

static void check_row(const char *plugin, const struct fixture_row *row, const char *got)
{
	if (strcmp(got, row->expected) != 0)
		fail_msg("%s: %s\n is \"%s\"\nnot \"%s\"", plugin, row->pod, got, row->expected);
}

void scheduler_fixture_check_filters(struct scheduler_fixture *f, const char *plugin,
				     const struct fixture_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(plugin, &rows[i], scheduler_fixture_filter(f, plugin, rows[i].pod));
}

void scheduler_fixture_check_scores(struct scheduler_fixture *f, const char *plugin,
				    const struct fixture_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_row(plugin, &rows[i], scheduler_fixture_score(f, plugin, rows[i].pod));
}

bool scheduler_fixture_wakes(struct scheduler_fixture *f, const char *plugin, const char *pod,
			     const struct cluster_event *e)
{
	CLEANUP(podinfo_unref) struct podinfo *waiting = scheduler_fixture_make_pod(f, pod);
	const struct plugin *p = scheduler_fixture_plugin(f, plugin);
	const struct plugin_event *row = p->kind->events_of ? p->kind->events_of(p)
							    : p->kind->events;

	for (; row && row->actions; row++) {
		if ((row->kind != e->kind && row->kind != EVENT_WILDCARD) ||
		    !(row->actions & e->actions))
			continue;
		if (!row->hint || row->hint(p, waiting, e) == HINT_QUEUE)
			return true;
	}
	return false;
}

bool scheduler_fixture_pod_wakes(struct scheduler_fixture *f, const char *plugin, const char *pod,
				 unsigned actions, const char *old, const char *now)
{
	CLEANUP(podinfo_unref)
	struct podinfo *a = old ? scheduler_fixture_make_pod(f, old) : NULL;
	CLEANUP(podinfo_unref)
	struct podinfo *b = now ? scheduler_fixture_make_pod(f, now) : NULL;
	bool assigned = (b ? b : a)->node.n > 0;
	struct cluster_event e = { .kind = assigned ? EVENT_ASSIGNED_POD : EVENT_UNSCHEDULED_POD,
				   .actions = actions,
				   .old_pod = a,
				   .pod = b };

	return scheduler_fixture_wakes(f, plugin, pod, &e);
}

bool scheduler_fixture_node_wakes(struct scheduler_fixture *f, const char *plugin, const char *pod,
				  unsigned actions, const char *old, const char *now)
{
	CLEANUP(nodeobject_unref)
	struct nodeobject *a = old ? scheduler_fixture_make_node(f, old) : NULL;
	CLEANUP(nodeobject_unref)
	struct nodeobject *b = now ? scheduler_fixture_make_node(f, now) : NULL;
	struct cluster_event e = {
		.kind = EVENT_NODE, .actions = actions, .old_node = a, .node = b
	};

	return scheduler_fixture_wakes(f, plugin, pod, &e);
}
