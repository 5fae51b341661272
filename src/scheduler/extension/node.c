/*
 * Nodes and cycles for plugins: opaque pointers to our structs.
 *
 * pre_filter_add_pod and pre_filter_remove_pod may change a plugin's value in a cycle. For a
 * what-if the value is copied byte by byte, if cycle_alloc allocated it.
 */
#include "base/core/mem.h"
#include "scheduler/extension/extension_impl.h"

struct extension_alloc {
	struct extension_alloc *next;
	size_t size;
	_Alignas(16) char data[];
};

static const struct nodeinfo *info(const struct dp_node_info *n)
{
	return (const struct nodeinfo *)n;
}

static struct extension_host *node_of(void *host)
{
	return host;
}

static struct dp_text node_name(void *host UNUSED, const struct dp_node_info *n)
{
	return (struct dp_text){ info(n)->name.p, info(n)->name.n };
}

static const struct dp_object *node_object(void *host, const struct dp_node_info *n)
{
	return info(n)->node
		       ? extension_object(node_of(host)->extension, info(n)->node->object, NULL)
		       : NULL;
}

static const void *node_resource(void *host, const struct dp_node_info *n, const char *type)
{
	const struct extended_type *t = extended_types_find(node_of(host)->extension->opts.types,
							    str_from(type));

	return t ? nodeinfo_extended(info(n), t->id) : NULL;
}

static uint32_t admit(void *host, const struct dp_node_info *n, const char *type,
		      const struct dp_object *pod, int64_t *ret_requested, int64_t *ret_available)
{
	const struct extended_type *t = extended_types_find(node_of(host)->extension->opts.types,
							    str_from(type));
	const void *value = t ? nodeinfo_extended(info(n), t->id) : NULL;
	int64_t requested = 0, available = 0;
	uint32_t code = DP_UNRESOLVABLE;

	if (!t || !t->ops.admit_pod) {
		code = DP_ERROR;
	} else if (value) {
		t->ops.admit_pod(value, pod, &requested, &available);
		code = requested <= available ? DP_SUCCESS : DP_UNSCHEDULABLE;
	}
	if (ret_requested)
		*ret_requested = requested;
	if (ret_available)
		*ret_available = available;
	return code;
}

static size_t node_pods(void *host UNUSED, const struct dp_node_info *n)
{
	return info(n)->pods.n;
}

static const struct dp_object *node_pod(void *host, const struct dp_node_info *n, size_t at)
{
	const struct podinfo *p = at < info(n)->pods.n ? info(n)->pods.v[at] : NULL;

	return p ? extension_object(node_of(host)->extension, p->object, p) : NULL;
}

static int64_t extension_node_amount(const struct extension_host *h, const struct amounts *a,
				     struct str name)
{
	const struct services *s = h->instance ? h->instance->plugin->services
					       : h->extension->services;
	const struct amount_name *known;

	if (str_eqz(name, "cpu"))
		return a->cpu_milli;
	if (str_eqz(name, "memory"))
		return a->memory;
	if (str_eqz(name, "ephemeral-storage"))
		return a->ephemeral;
	known = s && s->names ? map_get(&s->names->by_name, name) : NULL;
	return known ? amounts_scalar(a, known->id) : 0;
}

static void node_amount(void *host, const struct dp_node_info *n, const char *resource,
			int64_t *ret_allocatable, int64_t *ret_requested)
{
	struct str name = str_from(resource);
	const struct nodeobject *node = info(n)->node;
	bool pods = str_eqz(name, "pods");

	*ret_allocatable = 0;
	if (node)
		*ret_allocatable = pods ? node->allocatable.pods
					: extension_node_amount(host, &node->allocatable, name);
	*ret_requested = pods ? (int64_t)info(n)->pods.n
			      : extension_node_amount(host, &info(n)->requested, name);
}

/* --- cycles ---------------------------------------------------------------------- */

struct extension_cycle *extension_cycle(struct extension_instance *i, struct cycle *c)
{
	void **state = cycle_state(c, i->plugin);

	if (!*state)
		*state = ARENA_NEW(&c->arena, struct extension_cycle);
	return *state;
}

static struct extension_cycle *mine(void *host, const struct dp_cycle *c)
{
	struct extension_host *h = host;

	return h->instance ? extension_cycle(h->instance, (struct cycle *)(uintptr_t)c) : NULL;
}

static const struct dp_object *cycle_pod(void *host, const struct dp_cycle *c)
{
	const struct podinfo *p = ((const struct cycle *)c)->pod;

	return extension_object(node_of(host)->extension, p->object, p);
}

static void *alloc(struct extension_cycle *x, struct cycle *c, size_t size)
{
	struct extension_alloc *a = arena_calloc(&c->arena, sizeof(*a) + size);

	a->size = size;
	a->next = x->allocs;
	x->allocs = a;
	return a->data;
}

static void *cycle_alloc(void *host, struct dp_cycle *c, size_t size)
{
	struct extension_cycle *x = mine(host, c);

	return x ? alloc(x, (struct cycle *)c, size) : NULL;
}

static void cycle_set(void *host, struct dp_cycle *c, void *value)
{
	struct extension_cycle *x = mine(host, c);

	if (x)
		x->value = value;
}

static void *cycle_get(void *host, const struct dp_cycle *c)
{
	struct extension_cycle *x = mine(host, c);

	return x ? x->value : NULL;
}

static void cycle_only_node(void *host, struct dp_cycle *dc, const char *node)
{
	struct extension_cycle *x = mine(host, dc);
	struct cycle *c = (struct cycle *)dc;
	struct str *v;
	size_t cap;

	if (!x)
		return;
	/* The array doubles within the arena. */
	if (x->only.n == x->only.cap) {
		cap = MAX(x->only.cap * 2, (size_t)8);
		v = ARENA_ARRAY(&c->arena, struct str, cap);
		if (x->only.n > 0)
			memcpy(v, x->only.v, x->only.n * sizeof(*v));
		x->only.v = v;
		x->only.cap = cap;
	}
	x->only.v[x->only.n++] = arena_str(&c->arena, str_from(node));
}

void *extension_clone_state(const struct plugin *p UNUSED, struct cycle *c, void *state)
{
	const struct extension_cycle *from = state;
	struct extension_cycle *to = ARENA_NEW(&c->arena, struct extension_cycle);

	to->value = from->value;
	for (struct extension_alloc *a = from->allocs; a; a = a->next) {
		if (a->data != from->value)
			continue;
		to->value = alloc(to, c, a->size);
		memcpy(to->value, a->data, a->size);
		break;
	}
	return to;
}

void extension_node_functions(struct dp_scheduler_host *t)
{
	t->node_name = node_name;
	t->node_object = node_object;
	t->node_resource = node_resource;
	t->admit = admit;
	t->node_pods = node_pods;
	t->node_pod = node_pod;
	t->node_amount = node_amount;
	t->cycle_pod = cycle_pod;
	t->cycle_alloc = cycle_alloc;
	t->cycle_set = cycle_set;
	t->cycle_get = cycle_get;
	t->cycle_only_node = cycle_only_node;
}
