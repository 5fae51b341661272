/*
 * Dumps the cache, and checks its sums against its pods.
 */
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "scheduler/cache/extended.h"
#include "scheduler/cache/nodecache_impl.h"
#include "scheduler/scheduler_limits.h"

static void write_amounts(struct json_writer *w, const struct amounts *a,
			  const struct amount_names *names)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "cpuMilli");
	json_writer_i64(w, a->cpu_milli);
	json_writer_keyz(w, "memory");
	json_writer_i64(w, a->memory);
	json_writer_keyz(w, "ephemeral-storage");
	json_writer_i64(w, a->ephemeral);
	if (a->pods != 0) {
		json_writer_keyz(w, "pods");
		json_writer_i64(w, a->pods);
	}
	for (size_t i = 0; i < a->scalars.n; i++) {
		json_writer_key(w, amount_names_text(names, a->scalars.v[i].name));
		json_writer_i64(w, a->scalars.v[i].value);
	}
	json_writer_end_object(w);
}

static void write_pods(const struct nodecache *c, const struct nodeinfo *n, struct json_writer *w)
{
	json_writer_begin_array(w);
	for (size_t i = 0; i < n->pods.n; i++) {
		json_writer_begin_object(w);
		json_writer_keyz(w, "pod");
		json_writer_str(w, n->pods.v[i]->key);
		json_writer_keyz(w, "uid");
		json_writer_str(w, n->pods.v[i]->uid);
		json_writer_keyz(w, "assumed");
		json_writer_bool(w, nodecache_is_assumed(c, n->pods.v[i]->uid));
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
}

static void write_ports(const struct nodeinfo *n, struct json_writer *w)
{
	struct buf text = BUF_INIT(256);

	json_writer_begin_array(w);
	for (size_t i = 0; i < n->ports.n; i++) {
		buf_clear(&text);
		(void)buf_printf(&text, "%.*s %.*s:%d", STR_ARG(n->ports.v[i].protocol),
				 STR_ARG(n->ports.v[i].ip), n->ports.v[i].port);
		json_writer_str(w, buf_str(&text));
	}
	json_writer_end_array(w);
	buf_release(&text);
}

static void write_extended(const struct nodeinfo *n, struct json_writer *w)
{
	struct buf text = BUF_INIT(EXTENDED_TEXT_MAX);

	json_writer_begin_object(w);
	for (size_t i = 0; i < n->extended.n; i++) {
		buf_clear(&text);
		extended_describe(n->extended.v[i].type, n->extended.v[i].value, &text);
		json_writer_key(w, n->extended.v[i].type->name);
		json_writer_raw(w, buf_str(&text));
	}
	json_writer_end_object(w);
	buf_release(&text);
}

static void write_node(const struct nodecache *c, const struct nodeinfo *n,
		       const struct amount_names *names, struct json_writer *w)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "ghost");
	json_writer_bool(w, n->node == NULL);
	json_writer_keyz(w, "generation");
	json_writer_u64(w, n->generation);
	json_writer_keyz(w, "requested");
	write_amounts(w, &n->requested, names);
	if (n->node) {
		json_writer_keyz(w, "allocatable");
		write_amounts(w, &n->node->allocatable, names);
	}
	json_writer_keyz(w, "ports");
	write_ports(n, w);
	json_writer_keyz(w, "extendedResources");
	write_extended(n, w);
	json_writer_keyz(w, "pods");
	write_pods(c, n, w);
	json_writer_end_object(w);
}

void nodecache_dump(const struct nodecache *c, const struct amount_names *names,
		    struct json_writer *w)
{
	struct str key;
	void *value;
	size_t at = 0;

	json_writer_begin_object(w);
	json_writer_keyz(w, "nodes");
	json_writer_begin_object(w);
	while (map_next(&c->items, &at, &key, &value)) {
		const struct nodecache_item *i = value;

		json_writer_key(w, key);
		write_node(c, i->info, names, w);
	}
	json_writer_end_object(w);
	json_writer_keyz(w, "assumedPods");
	json_writer_u64(w, c->assumed.n);
	json_writer_keyz(w, "generation");
	json_writer_u64(w, c->generation);
	json_writer_end_object(w);
}

/* --- checking -------------------------------------------------------------------- */

static void nodecache_debug_fault(struct buf *out, const struct nodeinfo *n, const char *what,
				  int64_t is, int64_t should)
{
	if (is != should)
		(void)buf_printf(out, "node %.*s: %s is %lld, should be %lld\n", STR_ARG(n->name),
				 what, (long long)is, (long long)should);
}

static void check_amounts(struct buf *out, const struct nodeinfo *n, const struct amounts *sum)
{
	const struct amounts *has = &n->requested;

	nodecache_debug_fault(out, n, "requested cpu", has->cpu_milli, sum->cpu_milli);
	nodecache_debug_fault(out, n, "requested memory", has->memory, sum->memory);
	nodecache_debug_fault(out, n, "requested ephemeral-storage", has->ephemeral,
			      sum->ephemeral);
	for (size_t i = 0; i < has->scalars.n; i++)
		nodecache_debug_fault(out, n, "a requested scalar", has->scalars.v[i].value,
				      amounts_scalar(sum, has->scalars.v[i].name));
	for (size_t i = 0; i < sum->scalars.n; i++)
		nodecache_debug_fault(out, n, "a requested scalar",
				      amounts_scalar(has, sum->scalars.v[i].name),
				      sum->scalars.v[i].value);
}

static void check_pvcs(struct buf *out, const struct nodeinfo *n, const struct nodeinfo *sum)
{
	int64_t has = 0, should = 0;

	for (size_t i = 0; i < n->pvcs.n; i++)
		has += n->pvcs.v[i].pods;
	for (size_t i = 0; i < sum->pvcs.n; i++)
		should += sum->pvcs.v[i].pods;
	nodecache_debug_fault(out, n, "count of volume claims", (int64_t)n->pvcs.n,
			      (int64_t)sum->pvcs.n);
	nodecache_debug_fault(out, n, "count of users of volume claims", has, should);
}

static void nodecache_debug_check_node(const struct nodecache *c, const struct nodeinfo *n,
				       struct buf *out)
{
	CLEANUP(nodeinfo_unref) struct nodeinfo *sum = nodeinfo_new(n->name);

	for (size_t i = 0; i < n->pods.n; i++) {
		struct podinfo *p = n->pods.v[i];

		nodeinfo_add_pod(sum, p);
		if (nodecache_pod(c, p->uid) != p)
			(void)buf_printf(out, "pod %.*s on %.*s is not the one that is known\n",
					 STR_ARG(p->key), STR_ARG(n->name));
		if (!str_eq(p->node, n->name))
			(void)buf_printf(out, "pod %.*s is counted on %.*s\n", STR_ARG(p->key),
					 STR_ARG(n->name));
	}
	check_amounts(out, n, &sum->requested);
	nodecache_debug_fault(out, n, "non-zero cpu", n->nonzero_cpu_milli, sum->nonzero_cpu_milli);
	nodecache_debug_fault(out, n, "non-zero memory", n->nonzero_memory, sum->nonzero_memory);
	nodecache_debug_fault(out, n, "count of pods with affinity", (int64_t)n->with_affinity.n,
			      (int64_t)sum->with_affinity.n);
	nodecache_debug_fault(out, n, "count of pods with anti-affinity",
			      (int64_t)n->with_required_anti_affinity.n,
			      (int64_t)sum->with_required_anti_affinity.n);
	nodecache_debug_fault(out, n, "count of ports", (int64_t)n->ports.n, (int64_t)sum->ports.n);
	check_pvcs(out, n, sum);
}

/* Every entry is in the list, in descending order of generations. */
static void check_order(const struct nodecache *c, struct buf *out)
{
	uint64_t last = UINT64_MAX;
	size_t n = 0;

	LIST_FOREACH (link, &c->changed) {
		const struct nodecache_item *i = LIST_ENTRY(link, struct nodecache_item, link);

		if (i->info->generation >= last)
			(void)buf_printf(out, "node %.*s is out of order\n",
					 STR_ARG(i->info->name));
		last = i->info->generation;
		n++;
	}
	if (n != c->items.n)
		(void)buf_printf(out, "%zu of %u nodes are in the list of changes\n", n,
				 c->items.n);
}

void nodecache_check(const struct nodecache *c, struct buf *ret_faults)
{
	struct str key;
	void *value;
	size_t at = 0, pods = 0, nodes = 0;

	while (map_next(&c->items, &at, &key, &value)) {
		const struct nodecache_item *i = value;

		if (key.p != i->info->name.p)
			(void)buf_printf(ret_faults,
					 "node %.*s is known by a text that is not its\n",
					 STR_ARG(i->info->name));
		nodecache_debug_check_node(c, i->info, ret_faults);
		pods += i->info->pods.n;
		nodes += i->info->node != NULL;
		if ((i->info->node != NULL) != (i->zone != NULL))
			(void)buf_printf(ret_faults, "node %.*s: zone and node do not agree\n",
					 STR_ARG(key));
	}
	if (pods != c->pods.n)
		(void)buf_printf(ret_faults, "%zu pods are on nodes, %u are known\n", pods,
				 c->pods.n);
	if (nodes != c->nodes)
		(void)buf_printf(ret_faults, "%zu nodes are there, %zu are counted\n", nodes,
				 c->nodes);
	check_order(c, ret_faults);
}
