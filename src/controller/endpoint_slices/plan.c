/*
 * Plans the slices of one Service: its own pods are read one after the other, and only their
 * endpoints are kept.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "controller/endpoint_slices/endpoint_slices_impl.h"
#include "controller/endpoints/slices.h"

struct planning {
	struct endpoint_slices *e;
	struct service_entry *entry;
	struct network_wanted wanted;
	bool again; /* a pod's node is unknown */
};

/* A pod of an unknown node is left out, until the node is known or the pod is gone. */
static void plan_add_pod(struct planning *p, const struct cached *o, struct arena *scratch)
{
	const struct cached *node;
	struct str *addresses;
	struct json *pod;
	struct str name;
	size_t n;

	if (cached_tree(o, scratch, &pod, NULL) < 0)
		return;
	cluster_trigger_pod(&p->entry->trigger, cluster_pod_trigger_ns(pod));
	n = cluster_pod_addresses(scratch, pod, &addresses);
	name = json_text_at(json_getz(pod, "spec"), "nodeName");
	node = cache_get(informer_cache(p->e->nodes.informer), name);
	if (n > 0 && !node && !p->wanted.says.publish_not_ready)
		p->again = true;
	else
		network_wanted_add_addresses(
			&p->wanted, pod,
			node ? cached_label(node, CLUSTER_ZONE, scratch) : STR_NULL, addresses, n);
}

static void plan_add_pods(struct planning *p)
{
	const struct cache *pods = informer_cache(p->e->pods.informer);
	struct omap_cursor c;
	struct arena scratch;

	arena_init(&scratch, REQUEST_WORK_MAX);
	for (bool ok = omap_first(&p->entry->pods, &c); ok; ok = omap_next(&c)) {
		const struct cached *o = cache_get(pods, omap_key(&c));

		if (o)
			plan_add_pod(p, o, &scratch);
		arena_clear(&scratch);
	}
	arena_release(&scratch);
}

static struct str trigger_text(struct arena *a, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	if (ns == 0)
		return STR_NULL;
	return arena_str(
		a, timestamp_print(ns, ns % 1000000000 ? TIMESTAMP_NANO : TIMESTAMP_SECONDS, text));
}

/* Slices of a Service that is gone are the garbage collector's. */
struct network_write *endpoint_slices_plan(struct slice_jobs *s, struct str key, struct arena *a,
					   struct json **slices, size_t n, bool *ret_again)
{
	struct endpoint_slices *e = CONTAINER_OF(s, struct endpoint_slices, jobs);
	struct cached *o = cache_get(informer_cache(e->services.informer), key);
	struct planning p = { .e = e, .entry = omap_get(&e->entries, key) };
	struct network_service says;
	struct network_write *writes;
	struct json *service;

	if (!o || !p.entry || cached_tree_held(o, a, &service, NULL) < 0 ||
	    !cluster_service_read(a, service, &says))
		return NULL;
	network_wanted_init(&p.wanted, a, service, &says);
	p.wanted.manager = STR(CLUSTER_MANAGER);
	p.wanted.placeholders = true;
	p.wanted.hints = cluster_service_hints(service);
	plan_add_pods(&p);
	p.wanted.triggers = true;
	p.wanted.trigger = trigger_text(a, cluster_trigger_end(&p.entry->trigger, service));
	writes = network_slices_plan(&p.wanted, slices, n);
	network_wanted_release(&p.wanted);
	*ret_again = p.again;
	return writes;
}
