/*
 * Messages about the obstacles that the scheduler's own code finds.
 */
#include "cli/fit/pod.h"

#include "api/selector/node_selector.h"
#include "base/core/limits.h"
#include "cli/devices/view.h"
#include "scheduler/plugins/explain.h"

struct asking {
	struct arena *arena;
	struct plugin_explain *pod; /* NULL: no pod, or it cannot be read */
	const struct json *const *allocated;
	size_t n;
	struct buf out; /* sentences about one node */
};

static void pod_say(struct asking *q, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void pod_say(struct asking *q, const char *fmt, ...)
{
	va_list ap;

	if (q->out.n)
		(void)buf_addz(&q->out, "; ");
	va_start(ap, fmt);
	(void)buf_vprintf(&q->out, fmt, ap);
	va_end(ap);
}

static void pod_check_node(struct asking *q, const struct json *node)
{
	struct plugin_obstacles o = plugin_explain_node(q->pod, q->arena, node);

	if (o.bound_to.n)
		pod_say(q, "the pod is bound to node %.*s", STR_ARG(o.bound_to));
	if (o.unschedulable)
		pod_say(q, "the node is unschedulable");
	if (o.not_selected)
		pod_say(q, "the node does not match the pod's node selector or affinity");
	if (o.taint_effect.n)
		pod_say(q, "the pod does not tolerate the node's taint %.*s",
			STR_ARG(device_view_taint(q->arena, o.taint_key, o.taint_value,
						  o.taint_effect)));
}

/* Existing allocations may tie the pod to some nodes. */
static void check_allocations(struct asking *q, struct str name, const struct json *labels)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct json *allocation = json_getz(json_getz(q->allocated[i], "status"),
							  "allocation");
		struct node_selector s;

		if (!json_getz(allocation, "nodeSelector"))
			continue;
		if (node_selector_read(q->arena, json_getz(allocation, "nodeSelector"), &s, NULL) <
			    0 ||
		    node_selector_matches(&s, name, labels))
			continue;
		pod_say(q, "claim %.*s is allocated for other nodes",
			STR_ARG(json_text_at(json_getz(q->allocated[i], "metadata"), "name")));
	}
}

void fit_pod_nodes(const struct json *pod, const struct json *const *allocated, size_t n,
		   const struct json *nodes, struct fit_node *out, struct arena *a)
{
	struct asking q = { .arena = a, .allocated = allocated, .n = n, .out = BUF_INIT(64 * KIB) };
	size_t i = 0;

	q.pod = pod ? plugin_explain_new(pod) : NULL;
	JSON_FOREACH (it, nodes) {
		const struct json *meta = json_getz(it, "metadata");
		struct fit_node *to = &out[i++];

		*to = (struct fit_node){ .name = json_text_at(meta, "name"),
					 .labels = json_getz(meta, "labels") };
		buf_clear(&q.out);
		if (inventory_node_lost_since(it))
			pod_say(&q, "the node is unreachable");
		if (q.pod)
			pod_check_node(&q, it);
		check_allocations(&q, to->name, to->labels);
		to->away = arena_str(a, buf_str(&q.out));
	}
	plugin_explain_free(q.pod);
	buf_release(&q.out);
}
