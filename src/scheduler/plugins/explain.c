/*
 * Parses the pod and each node like the scheduler, so that the result is the same as that of its
 * plugins.
 */
#include "scheduler/plugins/explain.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "client/informer/cached.h"
#include "scheduler/framework/common.h"

struct plugin_explain {
	struct podinfo *pod;
	struct amount_names names;
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

struct plugin_explain *plugin_explain_new(const struct json *pod)
{
	struct plugin_explain *x = xcalloc(1, sizeof(*x));
	CLEANUP(cached_unref) struct cached *c = cached_of(pod);

	amount_names_init(&x->names);
	if (c && podinfo_new(c, &x->names, &x->pod, NULL) == 0)
		return x;
	plugin_explain_free(x);
	return NULL;
}

void plugin_explain_free(struct plugin_explain *x)
{
	if (!x)
		return;
	podinfo_unref(x->pod);
	amount_names_release(&x->names);
	free(x);
}

static void find_taint(const struct plugin_explain *x, const struct nodeobject *n, struct arena *a,
		       struct plugin_obstacles *out)
{
	for (size_t i = 0; i < n->ntaints; i++) {
		const struct node_taint *t = &n->taints[i];

		if (t->effect == TAINT_PREFER_NO_SCHEDULE ||
		    pod_tolerates(x->pod, t->key, t->value, t->effect))
			continue;
		out->taint_key = arena_str(a, t->key);
		out->taint_value = arena_str(a, t->value);
		out->taint_effect = t->effect == TAINT_NO_EXECUTE ? STR("NoExecute")
								  : STR("NoSchedule");
		return;
	}
}

struct plugin_obstacles plugin_explain_node(struct plugin_explain *x, struct arena *a,
					    const struct json *node)
{
	CLEANUP(cached_unref) struct cached *c = cached_of(node);
	CLEANUP(nodeobject_unref) struct nodeobject *n = NULL;
	struct plugin_obstacles out = { .unschedulable = false };

	if (!c || nodeobject_new(c, &x->names, &n, NULL) < 0)
		return out;
	if (x->pod->node.n) {
		if (!str_eq(x->pod->node, n->name))
			out.bound_to = arena_str(a, x->pod->node);
		return out;
	}
	out.unschedulable = n->unschedulable &&
			    !pod_tolerates(x->pod, STR("node.kubernetes.io/unschedulable"), STR(""),
					   TAINT_NO_SCHEDULE);
	out.not_selected = !pod_wants_node(x->pod, n);
	find_taint(x, n, a, &out);
	return out;
}
