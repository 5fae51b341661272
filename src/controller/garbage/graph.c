/*
 * The rules are upstream's (pkg/controller/garbagecollector, graph builder), with two differences
 * in form. An edge is a struct in its dependent's array and in its owner's list, so adding and
 * removing one costs the same however many dependents the owner has. And a deleted node stays,
 * marked gone, while somebody names it; this replaces upstream's cache of absent owners, and never
 * forgets one.
 */
#include "controller/garbage/graph.h"

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/core/vec.h"

struct garbage_graph {
	const struct garbage_graph_ops *ops;
	void *arg;
	struct map nodes; /* by uid */
	struct map kinds; /* by "apiVersion kind" */
	uint32_t mark; /* of the current search */
};

enum { KNOT_MAX = 1000 };

/* --- kinds ----------------------------------------------------------------------------------- */

static struct str kind_key(const struct garbage_kind *k)
{
	return str_of(k->text, k->api_version.n + 1 + k->kind.n);
}

static struct garbage_kind *kind_get(struct garbage_graph *g, struct str api_version,
				     struct str kind)
{
	size_t n = api_version.n + 1 + kind.n;
	struct garbage_kind *k = xcalloc(1, sizeof(*k) + n + 1), *known;

	(void)snprintf(k->text, n + 1, "%.*s %.*s", STR_ARG(api_version), STR_ARG(kind));
	k->api_version = str_of(k->text, api_version.n);
	k->kind = str_of(k->text + api_version.n + 1, kind.n);
	known = map_get(&g->kinds, kind_key(k));
	if (known) {
		free(k);
		k = known;
	} else {
		map_put(&g->kinds, kind_key(k), k);
	}
	k->refs++;
	return k;
}

static void kind_drop(struct garbage_graph *g, struct garbage_kind *k)
{
	if (--k->refs > 0)
		return;
	map_remove(&g->kinds, kind_key(k));
	free(k);
}

static bool kind_is(const struct garbage_kind *k, struct str api_version, struct str kind)
{
	return str_eq(k->api_version, api_version) && str_eq(k->kind, kind);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void graph_set_text(struct garbage_node *n, struct str uid, struct str ns, struct str name)
{
	char *text = xmalloc(uid.n + ns.n + name.n + 1);

	str_put(text, uid);
	memcpy(text + uid.n, ns.p ? ns.p : "", ns.n);
	memcpy(text + uid.n + ns.n, name.p ? name.p : "", name.n);
	free(n->text);
	n->text = text;
	n->uid = str_of(text, uid.n);
	n->ns = str_of(text + uid.n, ns.n);
	n->name = str_of(text + uid.n + ns.n, name.n);
}

static struct garbage_node *node_new(struct garbage_graph *g, const struct garbage_identity *who)
{
	struct garbage_node *n = XNEW(struct garbage_node);

	list_init(&n->dependents);
	n->kind = kind_get(g, who->api_version, who->kind);
	graph_set_text(n, who->uid, who->ns, who->name);
	map_put(&g->nodes, n->uid, n);
	return n;
}

static void node_free(struct garbage_graph *g, struct garbage_node *n)
{
	map_remove(&g->nodes, n->uid);
	kind_drop(g, n->kind);
	free(n->owners);
	free(n->text);
	free(n);
}

/* Frees a node that does not exist and that nobody names. */
static void node_drop_if_unnamed(struct garbage_graph *g, struct garbage_node *n)
{
	if (n->gone && list_empty(&n->dependents))
		node_free(g, n);
}

void garbage_graph_check(struct garbage_graph *g, struct garbage_node *n, bool later)
{
	if (n->gone)
		return;
	if (!n->virt)
		n->check = true;
	g->ops->attempt_delete(g->arg, n->uid, later);
}

static void check_dependents(struct garbage_graph *g, struct garbage_node *n)
{
	LIST_FOREACH (l, &n->dependents)
		garbage_graph_check(g, LIST_ENTRY(l, struct garbage_edge, link)->dependent, false);
}

bool garbage_node_is_blocked(const struct garbage_node *n)
{
	LIST_FOREACH (l, &n->dependents) {
		if (LIST_ENTRY(l, struct garbage_edge, link)->blocking)
			return true;
	}
	return false;
}

/* Whether a search from `from`, along blocking dependents that wait themselves, reaches `to`. */
static bool waits_for(struct garbage_graph *g, struct garbage_node *from, struct garbage_node *to)
{
	VEC(struct garbage_node *) todo;
	bool found = from == to;

	vec_init(&todo, KNOT_MAX);
	g->mark++;
	(void)vec_push(&todo, from);
	for (size_t i = 0; i < todo.n && !found; i++) {
		LIST_FOREACH (l, &todo.v[i]->dependents) {
			struct garbage_edge *e = LIST_ENTRY(l, struct garbage_edge, link);
			struct garbage_node *d = e->dependent;

			if (!e->blocking || !d->deleting_dependents || d->mark == g->mark)
				continue;
			d->mark = g->mark;
			found |= d == to;
			(void)vec_push(&todo, d);
		}
	}
	vec_release(&todo);
	return found;
}

bool garbage_graph_is_knot(struct garbage_graph *g, struct garbage_node *n)
{
	bool blocked = false;

	LIST_FOREACH (l, &n->dependents) {
		struct garbage_edge *e = LIST_ENTRY(l, struct garbage_edge, link);

		if (!e->blocking)
			continue;
		blocked = true;
		if (!e->dependent->deleting_dependents || !waits_for(g, e->dependent, n))
			return false;
	}
	return blocked;
}

/* --- identities ------------------------------------------------------------------------------- */

static struct garbage_identity identity_of(const struct garbage_node *n)
{
	return (struct garbage_identity){ n->kind->api_version, n->kind->kind, n->ns, n->name,
					  n->uid };
}

static bool identity_equal(const struct garbage_identity *a, const struct garbage_identity *b)
{
	return str_eq(a->api_version, b->api_version) && str_eq(a->kind, b->kind) &&
	       str_eq(a->ns, b->ns) && str_eq(a->name, b->name) && str_eq(a->uid, b->uid);
}

/* Whether the reference has the identity's kind and name; namespaces are compared elsewhere. */
static bool edge_names(const struct garbage_edge *e, const struct garbage_identity *who)
{
	return kind_is(e->kind, who->api_version, who->kind) &&
	       str_eq(garbage_edge_name(e), who->name);
}

/* Whether the dependent refers to this object: in its own namespace, or cluster-scoped. */
static bool edge_means(const struct garbage_edge *e, const struct garbage_identity *who)
{
	return (who->ns.n == 0 || str_eq(who->ns, e->dependent->ns)) && edge_names(e, who);
}

static void edge_set_name(struct garbage_edge *e, struct str name)
{
	char *copy = str_eq(name, e->owner->name) ? NULL : str_dup(name);

	free(e->name);
	e->name = copy;
}

/* The names that dependents use do not change. */
static void node_rename(struct garbage_graph *g, struct garbage_node *n,
			const struct garbage_identity *who)
{
	char *old = str_dup(n->name), *uid = str_dup(n->uid);
	struct garbage_kind *kind = kind_get(g, who->api_version, who->kind);

	map_remove(&g->nodes, n->uid);
	graph_set_text(n, str_from(uid), who->ns, who->name);
	map_put(&g->nodes, n->uid, n);
	kind_drop(g, n->kind);
	n->kind = kind;
	LIST_FOREACH (l, &n->dependents) {
		struct garbage_edge *e = LIST_ENTRY(l, struct garbage_edge, link);
		char *name = e->name ? e->name : xstrdup(old);

		e->name = NULL;
		edge_set_name(e, str_from(name));
		free(name);
	}
	free(old);
	free(uid);
}

/* --- edges ----------------------------------------------------------------------------------- */

/*
 * Whether the reference contradicts what is known about its owner, so that the dependent must be
 * checked.
 */
static bool is_doubtful(struct garbage_graph *g, const struct garbage_edge *e)
{
	const struct garbage_node *owner = e->owner;
	struct garbage_identity who = identity_of(owner);

	if (owner->ns.n > 0 && !str_eq(owner->ns, e->dependent->ns)) {
		if (!owner->virt)
			g->ops->invalid_namespace(g->arg, e);
		return true;
	}
	if (!edge_names(e, &who))
		return true;
	/* A cluster-scoped object named it before: it may be of a namespaced kind after all. */
	return owner->virt && !str_eq(owner->ns, e->dependent->ns);
}

/*
 * Finds or creates the owner and joins its dependents. Returns true if the reference is doubtful.
 */
static bool edge_join(struct garbage_graph *g, struct garbage_edge *e,
		      struct garbage_node *dependent, const struct garbage_owner *o)
{
	struct garbage_node *owner = map_get(&g->nodes, o->uid);
	bool fresh = !owner || owner->gone;

	if (!owner) {
		owner = node_new(g, &(struct garbage_identity){ o->api_version, o->kind,
								dependent->ns, o->name, o->uid });
		owner->virt = true;
	} else if (owner->gone) {
		/* It is named again; the earlier name may have been wrong. */
		owner->gone = false;
		owner->virt = true;
	}
	*e = (struct garbage_edge){ .owner = owner,
				    .dependent = dependent,
				    .kind = kind_get(g, o->api_version, o->kind),
				    .blocking = o->blocking };
	edge_set_name(e, o->name);
	list_push_back(&owner->dependents, &e->link);
	if (!fresh)
		return is_doubtful(g, e);
	g->ops->attempt_delete(g->arg, owner->uid, false);
	return false;
}

static void edge_leave(struct garbage_graph *g, struct garbage_edge *e)
{
	struct garbage_node *owner = e->owner;

	list_remove(&e->link);
	kind_drop(g, e->kind);
	free(e->name);
	node_drop_if_unnamed(g, owner);
}

/* Call before `from` is freed: relinks the list to the new place. */
static void edge_move(struct garbage_edge *to, struct garbage_edge *from)
{
	*to = *from;
	to->link.next->prev = &to->link;
	to->link.prev->next = &to->link;
}

static bool edge_is(const struct garbage_edge *e, const struct garbage_owner *o)
{
	return str_eq(e->owner->uid, o->uid) && kind_is(e->kind, o->api_version, o->kind) &&
	       str_eq(garbage_edge_name(e), o->name);
}

static struct garbage_edge *take_edge(struct garbage_node *n, const struct garbage_owner *o)
{
	for (uint32_t i = 0; i < n->nowners; i++) {
		if (n->owners[i].owner && edge_is(&n->owners[i], o))
			return &n->owners[i];
	}
	return NULL;
}

static bool same_owners(const struct garbage_node *n, const struct garbage_object *o)
{
	if (n->nowners != o->nowners)
		return false;
	for (uint32_t i = 0; i < n->nowners; i++) {
		if (!edge_is(&n->owners[i], &o->owners[i]) ||
		    n->owners[i].blocking != o->owners[i].blocking)
			return false;
	}
	return true;
}

/* An owner that waits for its dependents may be unblocked by this. */
static void unblock(struct garbage_graph *g, struct garbage_node *owner)
{
	garbage_graph_check(g, owner, false);
}

static void set_owners(struct garbage_graph *g, struct garbage_node *n,
		       const struct garbage_object *o)
{
	struct garbage_edge *edges = o->nowners ? xcalloc(o->nowners, sizeof(*edges)) : NULL;
	bool doubtful = false;

	for (size_t i = 0; i < o->nowners; i++) {
		struct garbage_edge *old = take_edge(n, &o->owners[i]);

		if (!old) {
			doubtful |= edge_join(g, &edges[i], n, &o->owners[i]);
			continue;
		}
		edge_move(&edges[i], old);
		old->owner = NULL;
		if (edges[i].blocking && !o->owners[i].blocking)
			unblock(g, edges[i].owner);
		edges[i].blocking = o->owners[i].blocking;
	}
	for (uint32_t i = 0; i < n->nowners; i++) {
		if (!n->owners[i].owner)
			continue;
		if (n->owners[i].blocking)
			unblock(g, n->owners[i].owner);
		edge_leave(g, &n->owners[i]);
	}
	free(n->owners);
	n->owners = edges;
	n->nowners = (uint32_t)o->nowners;
	if (doubtful)
		garbage_graph_check(g, n, false);
}

/* --- events ---------------------------------------------------------------------------------- */

/* A node that was only named is now seen: dependents that named it differently are checked. */
static void become_observed(struct garbage_graph *g, struct garbage_node *n,
			    const struct garbage_identity *who)
{
	struct garbage_identity was = identity_of(n);

	n->virt = n->gone = false;
	if (identity_equal(&was, who))
		return;
	node_rename(g, n, who);
	LIST_FOREACH (l, &n->dependents) {
		struct garbage_edge *e = LIST_ENTRY(l, struct garbage_edge, link);

		if (edge_means(e, who))
			continue;
		if (who->ns.n > 0 && !str_eq(who->ns, e->dependent->ns))
			g->ops->invalid_namespace(g->arg, e);
		garbage_graph_check(g, e->dependent, false);
	}
}

/* Starts the deletions that the object newly requests. */
static void begin_transitions(struct garbage_graph *g, struct garbage_node *n,
			      const struct garbage_object *o)
{
	bool was_orphaning = n->orphaning, was_waiting = n->deleting_dependents;

	n->deleting = o->deleting;
	n->orphaning = o->deleting && o->orphan;
	n->deleting_dependents = o->deleting && o->foreground;
	if (n->orphaning && !was_orphaning) {
		g->ops->attempt_orphan(g->arg, n->uid);
		return;
	}
	if (n->deleting_dependents && !was_waiting) {
		check_dependents(g, n);
		garbage_graph_check(g, n, false);
	}
}

void garbage_graph_observe(struct garbage_graph *g, const struct garbage_object *o)
{
	struct garbage_identity who = { o->api_version, o->kind, o->ns, o->name, o->uid };
	struct garbage_node *n = map_get(&g->nodes, o->uid);

	if (!n)
		n = node_new(g, &who);
	else if (n->virt || n->gone)
		become_observed(g, n, &who);
	if (!same_owners(n, o))
		set_owners(g, n, o);
	begin_transitions(g, n, o);
}

/* The object does not exist: checks its dependents, and owners that wait for it. */
static void node_go(struct garbage_graph *g, struct garbage_node *n)
{
	struct garbage_edge *edges = n->owners;
	uint32_t nowners = n->nowners;

	n->owners = NULL;
	n->nowners = 0;
	n->gone = true;
	n->virt = n->deleting = n->orphaning = n->deleting_dependents = n->check = false;
	check_dependents(g, n);
	for (uint32_t i = 0; i < nowners; i++) {
		if (edges[i].owner->deleting_dependents)
			garbage_graph_check(g, edges[i].owner, false);
		/* An object may own itself. */
		if (edges[i].owner == n)
			list_remove(&edges[i].link);
	}
	for (uint32_t i = 0; i < nowners; i++) {
		if (edges[i].owner != n) {
			edge_leave(g, &edges[i]);
			continue;
		}
		kind_drop(g, edges[i].kind);
		free(edges[i].name);
	}
	free(edges);
	node_drop_if_unnamed(g, n);
}

void garbage_graph_deleted(struct garbage_graph *g, struct str uid)
{
	struct garbage_node *n = map_get(&g->nodes, uid);

	if (n && !n->gone)
		node_go(g, n);
}

/* --- results of live reads ------------------------------------------------------------------- */

static int graph_compare(const struct garbage_identity *a, const struct garbage_identity *b)
{
	int r = str_cmp(a->kind, b->kind);

	if (r == 0)
		r = str_cmp(a->api_version, b->api_version);
	if (r == 0)
		r = str_cmp(a->ns, b->ns);
	if (r == 0)
		r = str_cmp(a->name, b->name);
	return r;
}

/* The owner's identity as the dependent refers to it. */
static struct garbage_identity edge_identity(const struct garbage_edge *e,
					     const struct garbage_identity *absent)
{
	struct garbage_identity who = { e->kind->api_version, e->kind->kind, e->dependent->ns,
					garbage_edge_name(e), e->owner->uid };

	/* The failed lookup has shown that this kind is cluster-scoped. */
	if (absent->ns.n == 0 && kind_is(e->kind, absent->api_version, absent->kind))
		who.ns = STR_NULL;
	return who;
}

/*
 * Another identity under which dependents refer to the virtual node: the next one after `absent`
 * in a fixed order, else the first, so that all are tried in turn.
 */
static bool find_alternative(const struct garbage_node *n, const struct garbage_identity *absent,
			     struct garbage_identity *ret_other)
{
	struct garbage_identity first = { 0 }, next = { 0 };

	LIST_FOREACH (l, &n->dependents) {
		struct garbage_identity who = edge_identity(
			LIST_ENTRY(l, struct garbage_edge, link), absent);
		int r = graph_compare(&who, absent);

		if (r != 0 && (!first.uid.p || graph_compare(&who, &first) < 0))
			first = who;
		if (r > 0 && (!next.uid.p || graph_compare(&who, &next) < 0))
			next = who;
	}
	*ret_other = next.uid.p ? next : first;
	return ret_other->uid.p != NULL;
}

static void check_those_who_mean(struct garbage_graph *g, struct garbage_node *n,
				 const struct garbage_identity *absent)
{
	LIST_FOREACH (l, &n->dependents) {
		struct garbage_edge *e = LIST_ENTRY(l, struct garbage_edge, link);

		if (edge_means(e, absent))
			garbage_graph_check(g, e->dependent, false);
	}
}

static bool all_mean(const struct garbage_node *n, const struct garbage_identity *who)
{
	LIST_FOREACH (l, &n->dependents) {
		if (!edge_means(LIST_ENTRY(l, struct garbage_edge, link), who))
			return false;
	}
	return true;
}

static void try_alternative(struct garbage_graph *g, struct garbage_node *n,
			    const struct garbage_identity *absent)
{
	struct garbage_identity other;
	char *api_version, *kind, *ns, *name;

	if (!find_alternative(n, absent, &other))
		return;
	/* Renaming frees the texts that the identity borrows. */
	api_version = str_dup(other.api_version);
	kind = str_dup(other.kind);
	ns = str_dup(other.ns);
	name = str_dup(other.name);
	node_rename(g, n,
		    &(struct garbage_identity){ str_from(api_version), str_from(kind), str_from(ns),
						str_from(name), n->uid });
	g->ops->attempt_delete(g->arg, n->uid, true);
	free(api_version);
	free(kind);
	free(ns);
	free(name);
}

void garbage_graph_absent(struct garbage_graph *g, const struct garbage_identity *who)
{
	struct garbage_node *n = map_get(&g->nodes, who->uid);
	struct garbage_identity is;
	bool same;

	if (!n || n->gone)
		return;
	is = identity_of(n);
	same = identity_equal(&is, who);
	/* A node that was seen is not removed because of a reference that meant another object. */
	if (n->virt ? all_mean(n, who) : same) {
		node_go(g, n);
		return;
	}
	check_those_who_mean(g, n, who);
	if (n->virt && same)
		try_alternative(g, n, who);
}

/* --- lookups --------------------------------------------------------------------------------- */

struct garbage_node *garbage_graph_find(const struct garbage_graph *g, struct str uid)
{
	struct garbage_node *n = map_get(&g->nodes, uid);

	return n && !n->gone ? n : NULL;
}

bool garbage_graph_is_absent(const struct garbage_graph *g, const struct garbage_owner *o,
			     struct str ns)
{
	const struct garbage_node *n = map_get(&g->nodes, o->uid);

	return n && n->gone && kind_is(n->kind, o->api_version, o->kind) &&
	       str_eq(n->name, o->name) && (n->ns.n == 0 || str_eq(n->ns, ns));
}

void garbage_graph_clusterwide(struct garbage_graph *g, struct garbage_node *n)
{
	struct garbage_identity who = identity_of(n);
	char *name = str_dup(n->name);

	who.ns = STR_NULL;
	who.name = str_from(name);
	node_rename(g, n, &who);
	free(name);
}

size_t garbage_graph_count(const struct garbage_graph *g)
{
	return g->nodes.n;
}

/* --- life ------------------------------------------------------------------------------------ */

struct garbage_graph *garbage_graph_new(const struct garbage_graph_ops *ops, void *arg)
{
	struct garbage_graph *g = XNEW(struct garbage_graph);

	g->ops = ops;
	g->arg = arg;
	map_init(&g->nodes);
	map_init(&g->kinds);
	return g;
}

void garbage_graph_free(struct garbage_graph *g)
{
	struct str key;
	size_t at = 0;
	void *value;

	if (!g)
		return;
	while (map_next(&g->nodes, &at, &key, &value)) {
		struct garbage_node *n = value;

		for (uint32_t i = 0; i < n->nowners; i++)
			free(n->owners[i].name);
		free(n->owners);
		free(n->text);
		free(n);
	}
	map_release(&g->nodes);
	map_free_values(&g->kinds);
	free(g);
}
