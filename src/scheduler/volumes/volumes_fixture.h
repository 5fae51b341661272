/*
 * volumes_fixture - clusters with volumes, written as JSON with ' for ", for tests.
 *
 * Names may be given outside of metadata. Claims and pods are in namespace "ns".
 */
#ifndef SCHEDULER_VOLUMES_VOLUMES_FIXTURE_H
#define SCHEDULER_VOLUMES_VOLUMES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/json/json.h"
#include "client/informer/cache.h"
#include "scheduler/config/config.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/profile.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/volumes/plan.h"

enum { PVCS, PVS, CLASSES, CSI_NODES, CSI_DRIVERS, CAPACITIES, ATTACHMENTS, CACHES };

static const char *const cache_names[] = {
	[PVCS] = "pvcs",
	[PVS] = "pvs",
	[CLASSES] = "classes",
	[CSI_NODES] = "csiNodes",
	[CSI_DRIVERS] = "csiDrivers",
	[CAPACITIES] = "capacities",
	[ATTACHMENTS] = "attachments",
};

struct world {
	struct amount_names names;
	struct cache caches[CACHES];
	struct config config;
	struct services services;
	struct nodecache *nodes;
	struct profile *profile;
	struct podinfo *pod;
	struct cycle *cycle;
	struct cycle_result result;
	struct arena arena;
	struct prng prng;
	uint64_t revision;
	size_t start;
};

/* Parses text with ' for ", and adds missing names. */
static struct json *parse(struct world *w, const char *text)
{
	char *copy = arena_strdup(&w->arena, str_from(text));
	struct json *tree;
	struct error err;

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	if (json_parse(&w->arena, str_from(copy), NULL, &tree, &err) < 0)
		fail_msg("%s in %s", err.msg, text);
	return tree;
}

static struct cached *make_object(struct world *w, struct json *tree)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 << 20);
	struct json *meta = json_getz(tree, "metadata");
	struct cached *o = NULL;
	struct error err;

	if (!meta) {
		meta = json_make_object(&w->arena);
		json_setz(tree, "metadata", meta);
	}
	if (json_getz(tree, "name"))
		json_put_str(&w->arena, meta, "name", json_text_at(tree, "name"));
	json_put_str(&w->arena, meta, "resourceVersion",
		     str_from(arena_printf(&w->arena, "%d", (int)++w->revision)));
	if (!json_getz(meta, "uid"))
		json_put_str(&w->arena, meta, "uid", json_text_at(meta, "name"));
	(void)json_print(&text, tree, NULL);
	if (cached_new(buf_str(&text), NULL, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

static void put_object(struct world *w, size_t cache, struct json *tree)
{
	struct json *meta = json_getz(tree, "metadata");

	if (cache == PVCS && !meta) {
		meta = json_make_object(&w->arena);
		json_setz(tree, "metadata", meta);
	}
	if (cache == PVCS)
		json_put_str(&w->arena, meta, "namespace", STR("ns"));
	cached_unref(cache_put(&w->caches[cache], make_object(w, tree)));
}

static struct podinfo *make_pod(struct world *w, struct json *tree)
{
	CLEANUP(cached_unref) struct cached *o = NULL;
	struct json *meta = json_make_object(&w->arena);
	struct json *spec = json_getz(tree, "spec");
	struct podinfo *p = NULL;
	struct error err;

	json_put_str(&w->arena, meta, "namespace", STR("ns"));
	json_setz(tree, "metadata", meta);
	if (!spec) {
		spec = json_make_object(&w->arena);
		json_setz(tree, "spec", spec);
	}
	json_setz(spec, "containers", json_make_array(&w->arena));
	o = make_object(w, tree);
	if (podinfo_new(o, &w->names, &p, &err) < 0)
		fail_msg("%s", err.msg);
	return p;
}

static void put_node(struct world *w, struct json *tree)
{
	CLEANUP(nodeobject_unref) struct nodeobject *n = NULL;
	CLEANUP(cached_unref) struct cached *o = make_object(w, tree);

	assert_int_equal(nodeobject_new(o, &w->names, &n, NULL), 0);
	nodecache_put_node(w->nodes, n);
}

static void fill(struct world *w, const char *text)
{
	struct json *cluster = parse(w, text);

	for (size_t i = 0; i < CACHES; i++) {
		JSON_FOREACH (o, json_getz(cluster, cache_names[i]))
			put_object(w, i, o);
	}
	JSON_FOREACH (o, json_getz(cluster, "nodes"))
		put_node(w, o);
	JSON_FOREACH (o, json_getz(cluster, "pods")) {
		CLEANUP(podinfo_unref) struct podinfo *p = make_pod(w, o);

		assert_int_equal(nodecache_add_pod(w->nodes, p, NULL), 0);
	}
	if (json_getz(cluster, "pod")) {
		podinfo_unref(w->pod);
		w->pod = make_pod(w, json_getz(cluster, "pod"));
	}
}

static struct world *world_new(const char *text)
{
	static const char config[] =
		"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
		"profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: ["
		"{name: PrioritySort}, {name: VolumeRestrictions}, {name: NodeVolumeLimits}, "
		"{name: VolumeBinding}, {name: VolumeZone}, {name: DefaultBinder}]}}}]\n";
	struct world *w = XNEW(struct world);
	struct error err;

	arena_init(&w->arena, 1 << 24);
	prng_init(&w->prng, 1);
	amount_names_init(&w->names);
	w->nodes = nodecache_new();
	for (size_t i = 0; i < CACHES; i++)
		cache_init(&w->caches[i]);
	w->services = (struct services){ .nodes = w->nodes,
					 .names = &w->names,
					 .pvcs = &w->caches[PVCS],
					 .pvs = &w->caches[PVS],
					 .storage_classes = &w->caches[CLASSES],
					 .csi_nodes = &w->caches[CSI_NODES],
					 .csi_drivers = &w->caches[CSI_DRIVERS],
					 .csi_capacities = &w->caches[CAPACITIES],
					 .attachments = &w->caches[ATTACHMENTS] };
	config_init(&w->config);
	if (config_read(&w->config, str_from(config), &err) < 0 ||
	    profile_new(w->config.profiles, &(struct plugin_kinds){ .built_in = plugins_built_in },
			&w->services, &w->profile, &err) < 0)
		fail_msg("%s", err.msg);
	fill(w, text);
	return w;
}

static void world_free(struct world *w)
{
	cycle_free(w->cycle);
	podinfo_unref(w->pod);
	profile_free(w->profile);
	nodecache_free(w->nodes);
	for (size_t i = 0; i < CACHES; i++)
		cache_release(&w->caches[i]);
	amount_names_release(&w->names);
	config_release(&w->config);
	arena_release(&w->arena);
	free(w);
}
DEFINE_CLEANUP(world_free, struct world *);

/* Returns the node, or the message. */
static const char *run(struct world *w)
{
	struct str said;

	cycle_free(w->cycle);
	w->cycle = cycle_new(w->profile, w->pod, 0);
	cycle_run(w->cycle, nodecache_snapshot(w->nodes), &w->start, &w->prng, &w->result);
	said = w->result.verdict.code == VERDICT_SUCCESS
		       ? w->result.node
		       : verdict_message(&w->result.verdict, &w->cycle->arena);
	return arena_strdup(&w->arena, said);
}

#endif
