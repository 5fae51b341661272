/*
 * A node has some hundred pods at most, so lists are searched. Pods are compared by uid: the one
 * that is removed may be another version of the one that was added, and it is the latter that is
 * subtracted.
 */
#include "scheduler/cache/nodeinfo.h"

#include "base/core/mem.h"
#include "scheduler/cache/extended.h"

struct nodeinfo *nodeinfo_new(struct str name)
{
	struct nodeinfo *n = xcalloc(1, sizeof(*n) + name.n + 1);

	str_put(n + 1, name);
	n->refs = 1;
	n->name = str_of(n + 1, name.n);
	vec_init(&n->pods, UINT32_MAX);
	vec_init(&n->with_affinity, UINT32_MAX);
	vec_init(&n->with_required_anti_affinity, UINT32_MAX);
	vec_init(&n->ports, UINT32_MAX);
	vec_init(&n->pvcs, UINT32_MAX);
	vec_init(&n->extended, UINT32_MAX);
	amounts_init(&n->requested);
	return n;
}

struct nodeinfo *nodeinfo_ref(struct nodeinfo *n)
{
	n->refs++;
	return n;
}

static void release_extended(struct nodeinfo_extended *e)
{
	extended_free(e->type, e->value);
	for (size_t i = 0; i < e->refused.n; i++)
		podinfo_unref(e->refused.v[i]);
	vec_release(&e->refused);
}

void nodeinfo_unref(struct nodeinfo *n)
{
	if (!n || --n->refs > 0)
		return;
	for (size_t i = 0; i < n->extended.n; i++)
		release_extended(&n->extended.v[i]);
	for (size_t i = 0; i < n->pods.n; i++)
		podinfo_unref(n->pods.v[i]);
	vec_release(&n->pods);
	vec_release(&n->with_affinity);
	vec_release(&n->with_required_anti_affinity);
	vec_release(&n->ports);
	vec_release(&n->pvcs);
	vec_release(&n->extended);
	amounts_release(&n->requested);
	nodeobject_unref(n->node);
	free(n);
}

static void copy_bytes(void *to, const void *from, size_t n)
{
	if (n > 0)
		memcpy(to, from, n);
}

/* Into one that is empty. */
#define COPY_VEC(to, from)                   \
	((void)vec_reserve((to), (from)->n), \
	 copy_bytes((to)->v, (from)->v, (from)->n * sizeof(*(from)->v)), (to)->n = (from)->n)

static void clone_extended(struct nodeinfo *c, const struct nodeinfo *n)
{
	COPY_VEC(&c->extended, &n->extended);
	for (size_t i = 0; i < n->extended.n; i++) {
		const struct nodeinfo_extended *from = &n->extended.v[i];
		struct nodeinfo_extended *to = &c->extended.v[i];

		to->value = extended_clone(from->type, from->value);
		vec_init(&to->refused, from->refused.max);
		COPY_VEC(&to->refused, &from->refused);
		for (size_t j = 0; j < to->refused.n; j++)
			podinfo_ref(to->refused.v[j]);
	}
}

struct nodeinfo *nodeinfo_clone(const struct nodeinfo *n)
{
	struct nodeinfo *c = nodeinfo_new(n->name);

	c->node = n->node ? nodeobject_ref(n->node) : NULL;
	/* Room for one more: it is mostly cloned for that. */
	(void)vec_reserve(&c->pods, n->pods.n + 1);
	COPY_VEC(&c->pods, &n->pods);
	for (size_t i = 0; i < c->pods.n; i++)
		podinfo_ref(c->pods.v[i]);
	COPY_VEC(&c->with_affinity, &n->with_affinity);
	COPY_VEC(&c->with_required_anti_affinity, &n->with_required_anti_affinity);
	COPY_VEC(&c->ports, &n->ports);
	COPY_VEC(&c->pvcs, &n->pvcs);
	amounts_copy(&c->requested, &n->requested);
	c->nonzero_cpu_milli = n->nonzero_cpu_milli;
	c->nonzero_memory = n->nonzero_memory;
	c->generation = n->generation;
	clone_extended(c, n);
	return c;
}

struct nodeinfo *nodeinfo_own(struct nodeinfo **n)
{
	struct nodeinfo *old = *n;

	if (old->refs > 1) {
		*n = nodeinfo_clone(old);
		nodeinfo_unref(old);
	}
	return *n;
}

static bool has_affinity(const struct podinfo *p)
{
	return p->affinity.n + p->anti_affinity.n + p->preferred_affinity.n +
		       p->preferred_anti_affinity.n >
	       0;
}

/* --- claims of volumes: both lists are in order ----------------------------------- */

static struct nodeinfo_pvc *find_pvc(struct nodeinfo *n, struct str key)
{
	size_t from = 0, to = n->pvcs.n;

	while (from < to) {
		size_t at = from + (to - from) / 2;
		int order = str_cmp(n->pvcs.v[at].key, key);

		if (order == 0)
			return &n->pvcs.v[at];
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

/* Merged from the end, in place. */
static void add_pvcs(struct nodeinfo *n, const struct podinfo *p)
{
	size_t left = p->npvc_keys, from = n->pvcs.n, at = from;

	for (size_t i = 0; i < p->npvc_keys; i++)
		at += !find_pvc(n, p->pvc_keys[i]);
	(void)vec_reserve(&n->pvcs, at - from);
	n->pvcs.n = at;
	while (left > 0) {
		struct str key = p->pvc_keys[left - 1];
		int order = from > 0 ? str_cmp(n->pvcs.v[from - 1].key, key) : -1;

		if (order < 0) {
			n->pvcs.v[--at] = (struct nodeinfo_pvc){ key, 1 };
			left--;
			continue;
		}
		n->pvcs.v[--at] = n->pvcs.v[--from];
		if (order == 0) {
			n->pvcs.v[at].pods++;
			left--;
		}
	}
}

static const struct str *key_in(const struct podinfo *p, struct str key)
{
	size_t from = 0, to = p->npvc_keys;

	while (from < to) {
		size_t at = from + (to - from) / 2;
		int order = str_cmp(p->pvc_keys[at], key);

		if (order == 0)
			return &p->pvc_keys[at];
		if (order < 0)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

/* Another pod that is still here has the same claim: its text is the key from now on. */
static struct str other_key(const struct nodeinfo *n, struct str key)
{
	for (size_t i = 0; i < n->pods.n; i++) {
		const struct str *other = key_in(n->pods.v[i], key);

		if (other)
			return *other;
	}
	return STR_NULL;
}

/* The pod is no longer in the list of pods. */
static void remove_pvcs(struct nodeinfo *n, const struct podinfo *p)
{
	size_t kept = 0;

	if (p->npvc_keys == 0)
		return;
	for (size_t i = 0; i < p->npvc_keys; i++) {
		struct nodeinfo_pvc *e = find_pvc(n, p->pvc_keys[i]);

		e->pods--;
		if (e->pods > 0 && e->key.p == p->pvc_keys[i].p)
			e->key = other_key(n, e->key);
	}
	for (size_t i = 0; i < n->pvcs.n; i++)
		if (n->pvcs.v[i].pods > 0)
			n->pvcs.v[kept++] = n->pvcs.v[i];
	n->pvcs.n = kept;
}

/* --- ports ------------------------------------------------------------------------ */

static void add_ports(struct nodeinfo *n, const struct podinfo *p)
{
	for (size_t i = 0; i < p->nports; i++)
		(void)vec_push(&n->ports, p->ports[i]);
}

static bool same_port(const struct pod_port *a, const struct pod_port *b)
{
	return a->port == b->port && str_eq(a->protocol, b->protocol) && str_eq(a->ip, b->ip);
}

/* By where the text lies: two pods may have the same port, and the other's must stay. */
static void remove_ports(struct nodeinfo *n, const struct podinfo *p)
{
	for (size_t i = 0; i < p->nports; i++) {
		size_t at = 0;

		while (at < n->ports.n && !(same_port(&n->ports.v[at], &p->ports[i]) &&
					    n->ports.v[at].ip.p == p->ports[i].ip.p &&
					    n->ports.v[at].protocol.p == p->ports[i].protocol.p))
			at++;
		if (at < n->ports.n)
			vec_remove_swap(&n->ports, at);
	}
}

static void add_to_extended(struct nodeinfo_extended *e, struct podinfo *p)
{
	if (!extended_add_pod(e->type, e->value, p))
		(void)vec_push(&e->refused, podinfo_ref(p));
}

static void remove_from_extended(struct nodeinfo_extended *e, const struct podinfo *p)
{
	for (size_t i = 0; i < e->refused.n; i++) {
		if (!str_eq(e->refused.v[i]->uid, p->uid))
			continue;
		podinfo_unref(e->refused.v[i]);
		vec_remove_swap(&e->refused, i);
		return;
	}
	extended_remove_pod(e->type, e->value, p);
}

void nodeinfo_add_pod(struct nodeinfo *n, struct podinfo *p)
{
	(void)vec_push(&n->pods, podinfo_ref(p));
	if (has_affinity(p))
		(void)vec_push(&n->with_affinity, p);
	if (p->anti_affinity.n > 0)
		(void)vec_push(&n->with_required_anti_affinity, p);
	amounts_add(&n->requested, &p->requests);
	n->nonzero_cpu_milli = amount_sum(n->nonzero_cpu_milli, p->nonzero_cpu_milli);
	n->nonzero_memory = amount_sum(n->nonzero_memory, p->nonzero_memory);
	add_ports(n, p);
	add_pvcs(n, p);
	for (size_t i = 0; i < n->extended.n; i++)
		add_to_extended(&n->extended.v[i], p);
	n->generation = 0;
}

static void unlist(struct podinfo **v, size_t *n, const struct podinfo *p)
{
	for (size_t i = 0; i < *n; i++) {
		if (v[i] != p)
			continue;
		v[i] = v[--*n];
		return;
	}
}

bool nodeinfo_remove_pod(struct nodeinfo *n, const struct podinfo *p)
{
	struct podinfo *here;
	size_t at = 0;

	while (at < n->pods.n && n->pods.v[at] != p && !str_eq(n->pods.v[at]->uid, p->uid))
		at++;
	if (at == n->pods.n)
		return false;
	here = n->pods.v[at];
	vec_remove_swap(&n->pods, at);
	unlist(n->with_affinity.v, &n->with_affinity.n, here);
	unlist(n->with_required_anti_affinity.v, &n->with_required_anti_affinity.n, here);
	amounts_sub(&n->requested, &here->requests);
	n->nonzero_cpu_milli = amount_sum(n->nonzero_cpu_milli, -here->nonzero_cpu_milli);
	n->nonzero_memory = amount_sum(n->nonzero_memory, -here->nonzero_memory);
	remove_ports(n, here);
	remove_pvcs(n, here);
	for (size_t i = 0; i < n->extended.n; i++)
		remove_from_extended(&n->extended.v[i], here);
	n->generation = 0;
	podinfo_unref(here);
	return true;
}

void nodeinfo_set_node(struct nodeinfo *n, struct nodeobject *node)
{
	struct nodeobject *old = n->node;

	n->node = node ? nodeobject_ref(node) : NULL;
	nodeobject_unref(old);
	n->generation = 0;
}

static struct nodeinfo_extended *find_extended(const struct nodeinfo *n, uint32_t type)
{
	for (size_t i = 0; i < n->extended.n; i++)
		if (n->extended.v[i].type->id == type)
			return &n->extended.v[i];
	return NULL;
}

void *nodeinfo_extended(const struct nodeinfo *n, uint32_t type)
{
	struct nodeinfo_extended *e = find_extended(n, type);

	return e ? e->value : NULL;
}

void nodeinfo_set_extended(struct nodeinfo *n, const struct extended_type *type, void *value,
			   bool fresh)
{
	struct nodeinfo_extended *e = find_extended(n, type->id);

	n->generation = 0;
	if (!value) {
		if (!e)
			return;
		release_extended(e);
		vec_remove(&n->extended, e - n->extended.v);
		return;
	}
	if (!e) {
		(void)vec_push(&n->extended, (struct nodeinfo_extended){ .type = type });
		e = &n->extended.v[n->extended.n - 1];
		vec_init(&e->refused, UINT32_MAX);
	}
	if (e->value != value)
		extended_free(type, e->value);
	e->value = value;
	if (!fresh)
		return;
	for (size_t i = 0; i < e->refused.n; i++)
		podinfo_unref(e->refused.v[i]);
	e->refused.n = 0;
	for (size_t i = 0; i < n->pods.n; i++)
		add_to_extended(e, n->pods.v[i]);
}

bool nodeinfo_port_taken(const struct nodeinfo *n, const struct pod_port *port)
{
	bool any = str_eqz(port->ip, "0.0.0.0");

	for (size_t i = 0; i < n->ports.n; i++) {
		const struct pod_port *p = &n->ports.v[i];

		if (p->port == port->port && str_eq(p->protocol, port->protocol) &&
		    (any || str_eqz(p->ip, "0.0.0.0") || str_eq(p->ip, port->ip)))
			return true;
	}
	return false;
}
