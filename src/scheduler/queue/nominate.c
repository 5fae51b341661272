/*
 * Nominated pods, which wait for room that preemption makes on a node. A pod is nominated for at
 * most one node. Only pods in the queue can be nominated, so no nomination outlives its pod.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "scheduler/queue/podqueue_impl.h"

struct nominated_node {
	char *name;
	VEC(struct podinfo *) pods; /* references */
};

struct nomination {
	struct nominated_node *node;
	struct podinfo *pod; /* borrowed from the node's list */
};

void queue_nominations_init(struct podqueue *q)
{
	map_init(&q->nominations);
	map_init(&q->nominated_nodes);
}

static void node_drop(struct podqueue *q, struct nominated_node *n)
{
	(void)map_remove(&q->nominated_nodes, str_from(n->name));
	vec_release(&n->pods);
	free(n->name);
	free(n);
}

static void nominate_forget(struct podqueue *q, struct str uid)
{
	struct nomination *m = map_remove(&q->nominations, uid);
	struct queued_pod *queued;
	struct nominated_node *n;
	struct podinfo *p;

	if (!m)
		return;
	n = m->node;
	p = m->pod;
	free(m);
	queued = map_get(&q->pods, uid);
	if (queued)
		queued->nominated = STR_NULL;
	for (size_t i = 0; i < n->pods.n; i++) {
		if (n->pods.v[i] != p)
			continue;
		vec_remove(&n->pods, i);
		break;
	}
	if (!n->pods.n)
		node_drop(q, n);
	podinfo_unref(p);
}

void queue_nominations_release(struct podqueue *q)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&q->nominations, &at, &key, &value))
		free(value);
	for (at = 0; map_next(&q->nominated_nodes, &at, &key, &value);) {
		struct nominated_node *n = value;

		for (size_t i = 0; i < n->pods.n; i++)
			podinfo_unref(n->pods.v[i]);
		vec_release(&n->pods);
		free(n->name);
		free(n);
	}
	map_release(&q->nominations);
	map_release(&q->nominated_nodes);
}

static struct nominated_node *nominate_node_of(struct podqueue *q, struct str name)
{
	struct nominated_node *n = map_get(&q->nominated_nodes, name);

	if (n)
		return n;
	n = XNEW(struct nominated_node);
	n->name = str_dup(name);
	vec_init(&n->pods, SIZE_MAX / sizeof(void *));
	(void)map_put(&q->nominated_nodes, str_from(n->name), n);
	return n;
}

void podqueue_nominate(struct podqueue *q, struct podinfo *p, struct str node)
{
	struct queued_pod *queued = map_get(&q->pods, p->uid);
	struct podinfo *hold = podinfo_ref(p); /* may be what is forgotten */
	struct nominated_node *n;
	struct nomination *m;

	/* The name may be the old nomination's own. */
	n = node.n && queued && !queued->deleted ? nominate_node_of(q, node) : NULL;
	if (n)
		(void)vec_push(&n->pods, podinfo_ref(p));
	nominate_forget(q, p->uid);
	if (n) {
		m = XNEW(struct nomination);
		m->node = n;
		m->pod = p;
		(void)map_put(&q->nominations, p->uid, m);
		queued->nominated = str_from(n->name);
	}
	podinfo_unref(hold);
}

void queue_nominate_by_status(struct podqueue *q, struct podinfo *p)
{
	podqueue_nominate(q, p, p->nominated);
}

/*
 * If neither the old nor the new version has a nomination, the update may be older than our
 * decision, whose patch has not arrived yet. So the nomination in memory stays.
 */
void queue_nominate_update(struct podqueue *q, const struct podinfo *old, struct podinfo *p)
{
	struct str node = p->nominated;

	if (!node.n && !old->nominated.n)
		node = podqueue_nominated(q, p->uid);
	podqueue_nominate(q, p, node);
}

struct str podqueue_nominated(const struct podqueue *q, struct str uid)
{
	const struct nomination *m = map_get(&q->nominations, uid);

	return m ? str_from(m->node->name) : STR_NULL;
}

struct podinfo *const *podqueue_nominated_on(const struct podqueue *q, struct str node,
					     size_t *ret_n)
{
	const struct nominated_node *n = map_get(&q->nominated_nodes, node);

	*ret_n = n ? n->pods.n : 0;
	return n ? n->pods.v : NULL;
}
