/*
 * The pod and each node are parsed as the scheduler parses them, so that what is said here is what
 * its plugins would say.
 */
#include "cli/fit_pod.h"

#include "api/node_selector.h"
#include "base/limits.h"
#include "cli/device_view.h"
#include "client/cached.h"
#include "scheduler/plugin_common.h"

struct asking {
	struct arena *arena;
	struct podinfo *pod; /* NULL: none, or it cannot be read */
	struct amount_names names;
	const struct json *const *allocated;
	size_t n;
	struct buf out; /* sentences on one node */
};

static struct cached *cached_of(const struct json *object)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct cached *c = NULL;

	if (json_print(&text, object, NULL) < 0)
		return NULL;
	(void)cached_new(buf_str(&text), NULL, &c, NULL);
	return c;
}

static struct podinfo *read_pod(struct asking *q, const struct json *pod)
{
	CLEANUP(cached_unref) struct cached *c = pod ? cached_of(pod) : NULL;
	struct podinfo *p = NULL;

	if (c)
		(void)podinfo_new(c, &q->names, &p, NULL);
	return p;
}

static void say(struct asking *q, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(struct asking *q, const char *fmt, ...)
{
	va_list ap;

	if (q->out.n)
		(void)buf_addz(&q->out, "; ");
	va_start(ap, fmt);
	(void)buf_vprintf(&q->out, fmt, ap);
	va_end(ap);
}

/* The first that keeps the pod away. */
static void check_taints(struct asking *q, const struct nodeobject *n)
{
	for (size_t i = 0; i < n->ntaints; i++) {
		const struct node_taint *t = &n->taints[i];

		if (t->effect == TAINT_PREFER_NO_SCHEDULE ||
		    pod_tolerates(q->pod, t->key, t->value, t->effect))
			continue;
		say(q, "the pod does not tolerate the node's taint %.*s",
		    STR_ARG(device_view_taint(q->arena, t->key, t->value,
					      t->effect == TAINT_NO_EXECUTE ? STR("NoExecute")
									    : STR("NoSchedule"))));
		return;
	}
}

static void check_node(struct asking *q, const struct json *node)
{
	CLEANUP(cached_unref) struct cached *c = cached_of(node);
	CLEANUP(nodeobject_unref) struct nodeobject *n = NULL;

	if (!c || nodeobject_new(c, &q->names, &n, NULL) < 0)
		return;
	if (q->pod->node.n && !str_eq(q->pod->node, n->name)) {
		say(q, "the pod is bound to node %.*s", STR_ARG(q->pod->node));
		return;
	}
	if (q->pod->node.n)
		return;
	if (n->unschedulable && !pod_tolerates(q->pod, STR("node.kubernetes.io/unschedulable"),
					       STR(""), TAINT_NO_SCHEDULE))
		say(q, "the node is unschedulable");
	if (!pod_wants_node(q->pod, n))
		say(q, "the node does not match the pod's node selector or affinity");
	check_taints(q, n);
}

/* Devices that were given already may tie the pod to some nodes. */
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
		say(q, "claim %.*s is allocated for other nodes",
		    STR_ARG(json_text_at(json_getz(q->allocated[i], "metadata"), "name")));
	}
}

void fit_pod_nodes(const struct json *pod, const struct json *const *allocated, size_t n,
		   const struct json *nodes, struct fit_node *out, struct arena *a)
{
	struct asking q = { .arena = a, .allocated = allocated, .n = n, .out = BUF_INIT(64 * KIB) };
	size_t i = 0;

	amount_names_init(&q.names);
	q.pod = read_pod(&q, pod);
	JSON_FOREACH (it, nodes) {
		const struct json *meta = json_getz(it, "metadata");
		struct fit_node *to = &out[i++];

		*to = (struct fit_node){ .name = json_text_at(meta, "name"),
					 .labels = json_getz(meta, "labels") };
		buf_clear(&q.out);
		if (q.pod)
			check_node(&q, it);
		check_allocations(&q, to->name, to->labels);
		to->away = arena_str(a, buf_str(&q.out));
	}
	podinfo_unref(q.pod);
	amount_names_release(&q.names);
	buf_release(&q.out);
}
