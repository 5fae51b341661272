/*
 * The rules are those of kubernetes.io's "Server-Side Apply". Where that page says nothing, they
 * follow kube-apiserver: what is removed with a field that a configuration no longer has, what null
 * and empty containers mean, and the order of merged lists.
 */
#include "api/managed/reference_impl.h"

#include "base/core/limits.h"
#include "base/time/timestamp.h"

/* --- comparing ------------------------------------------------------------------------ */

struct difference {
	struct reference_set changed; /* changed or added */
	struct reference_set removed;
};

static bool is_null(const struct reference_node *node)
{
	return node->content == VALUE && node->value->type == JSON_NULL;
}

static bool is_empty(const struct reference_node *node)
{
	return is_null(node) || (json_is_container(node->value) && node->value->n == 0);
}

/* Whether a place that both sides have has another value itself. */
static bool reference_differs(const struct reference_nodes *left, const struct reference_node *l,
			      const struct reference_nodes *right, const struct reference_node *r)
{
	if (l->content == VALUE && r->content == VALUE) {
		/* Once stored, an explicit empty list equals an absent one. */
		if (l->assumed || r->assumed)
			return !is_empty(l) || !is_empty(r);
		return !reference_equal(l->value, r->value);
	}
	if (l->content == r->content || l->assumed || r->assumed)
		return false;
	/* Null is a container without content, but differs from an empty one. */
	if (is_null(l))
		return reference_children(right, r->path) == 0;
	if (is_null(r))
		return reference_children(left, l->path) == 0;
	return true;
}

static bool is_reset(const struct reference_request *q, struct str path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	for (const struct str *reset = q->resets; reset && reset->p; reset++) {
		struct str rest = *reset, name;

		buf_clear(&b);
		while (str_split(&rest, '.', &name))
			(void)buf_printf(&b, "%sf:%.*s", b.n ? "\x01" : "", STR_ARG(name));
		if (str_eq(path, buf_str(&b)) || reference_is_below(path, buf_str(&b)))
			return true;
	}
	return false;
}

static struct reference_set without_resets(const struct reference_request *q,
					   const struct reference_set *set)
{
	struct reference_set out = { .v = ARENA_ARRAY(q->arena, struct str, set->n + 1) };

	for (size_t i = 0; i < set->n; i++)
		if (!is_reset(q, set->v[i]))
			out.v[out.n++] = set->v[i];
	return out;
}

static struct difference reference_compare(const struct reference_request *q,
					   const struct reference_nodes *left,
					   const struct reference_nodes *right)
{
	struct difference d = { .changed.v = ARENA_ARRAY(q->arena, struct str, right->n),
				.removed.v = ARENA_ARRAY(q->arena, struct str, left->n) };

	for (size_t i = 1; i < right->n; i++) {
		const struct reference_node *r = &right->v[i], *l = reference_find(left, r->path);

		if (l ? reference_differs(left, l, right, r) : !r->assumed)
			d.changed.v[d.changed.n++] = r->path;
	}
	for (size_t i = 1; i < left->n; i++)
		if (!left->v[i].assumed && !reference_find(right, left->v[i].path))
			d.removed.v[d.removed.n++] = left->v[i].path;
	d.changed = reference_set_of(d.changed);
	d.removed = reference_set_of(d.removed);
	d.changed = without_resets(q, &d.changed);
	d.removed = without_resets(q, &d.removed);
	return d;
}

/* --- merging -------------------------------------------------------------------------- */

static void copy_below(struct reference_nodes *out, const struct reference_nodes *from,
		       struct str path)
{
	for (size_t i = 0; i < from->n; i++)
		if (str_eq(from->v[i].path, path) || reference_is_below(from->v[i].path, path))
			reference_push(out, from->v[i]);
}

/* The paths of the children, in order. */
static struct reference_set children_of(const struct reference_nodes *nodes, struct str path)
{
	struct reference_set out = { .v = ARENA_ARRAY(nodes->arena, struct str, nodes->n + 1) };

	for (size_t i = 1; i < nodes->n; i++)
		if (str_eq(reference_parent(nodes->v[i].path), path))
			out.v[out.n++] = nodes->v[i].path;
	return out;
}

static bool list_has(const struct reference_set *list, size_t from, struct str path)
{
	for (size_t i = from; i < list->n; i++)
		if (str_eq(list->v[i], path))
			return true;
	return false;
}

/*
 * Returns the first element of `r`, starting at `at`, that `l` has as well; STR_NULL if not found.
 */
static struct str next_shared(const struct reference_set *l, const struct reference_set *r,
			      size_t at)
{
	for (; at < r->n; at++)
		if (list_has(l, 0, r->v[at]))
			return r->v[at];
	return STR_NULL;
}

/*
 * The order of a merged list: shared elements in the right list's order, and between them the
 * elements of one side at their old place, the left ones first.
 */
static struct reference_set merged_order(struct arena *a, const struct reference_set *l,
					 const struct reference_set *r)
{
	struct reference_set out = { .v = ARENA_ARRAY(a, struct str, l->n + r->n + 1) };
	size_t i = 0, k = 0;

	while (i < l->n || k < r->n) {
		struct str left = i < l->n ? l->v[i] : STR_NULL, next = next_shared(l, r, k);
		bool shared = left.n && list_has(r, 0, left);

		if (left.n && k < r->n && str_eq(left, r->v[k])) {
			out.v[out.n++] = left;
			i++;
			k++;
			continue;
		}
		if (shared && k < r->n && next.p && !str_eq(next, left)) {
			i++;
			continue;
		}
		if (left.n && !shared) {
			out.v[out.n++] = left;
			i++;
			continue;
		}
		if (left.n && list_has(&out, 0, left))
			i++;
		if (k < r->n)
			out.v[out.n++] = r->v[k++];
	}
	return out;
}

static struct reference_set member_order(struct arena *a, const struct reference_set *l,
					 const struct reference_set *r)
{
	struct reference_set out = { .v = ARENA_ARRAY(a, struct str, l->n + r->n + 1) };

	for (size_t i = 0; i < l->n; i++)
		out.v[out.n++] = l->v[i];
	for (size_t i = 0; i < r->n; i++)
		if (!list_has(l, 0, r->v[i]))
			out.v[out.n++] = r->v[i];
	return out;
}

/* Merges the configuration's values; removes nothing. */
static void merge_at(struct reference_nodes *out, const struct reference_nodes *left,
		     const struct reference_nodes *right, struct str path)
{
	const struct reference_node *l = reference_find(left, path),
				    *r = reference_find(right, path);
	struct reference_set lefts = children_of(left, path), rights = children_of(right, path);
	struct reference_set order;

	/* Null and an empty container do not clear a container that has content. */
	if (!r || (l && lefts.n && rights.n == 0 && (is_null(r) || r->content == l->content))) {
		copy_below(out, left, path);
		return;
	}
	if (!l || l->content != r->content || r->content == VALUE) {
		copy_below(out, right, path);
		return;
	}
	reference_push(out, *r);
	order = r->content == LIST ? merged_order(out->arena, &lefts, &rights)
				   : member_order(out->arena, &lefts, &rights);
	for (size_t i = 0; i < order.n; i++)
		merge_at(out, left, right, order.v[i]);
}

static struct reference_nodes reference_merge(const struct reference_nodes *left,
					      const struct reference_nodes *right)
{
	struct reference_nodes out = { .arena = left->arena };

	merge_at(&out, left, right, STR(""));
	return out;
}

/* --- removing -------------------------------------------------------------------------- */

static bool has_below(const struct reference_set *set, struct str path)
{
	for (size_t i = 0; i < set->n; i++)
		if (reference_is_below(set->v[i], path))
			return true;
	return false;
}

static bool is_covered(const struct reference_set *set, struct str path)
{
	for (; path.n; path = reference_parent(path))
		if (reference_set_has(set, path))
			return true;
	return false;
}

/* As upstream, containers that lose all their content become null. */
static struct reference_nodes without(const struct reference_nodes *nodes,
				      const struct reference_set *set)
{
	struct reference_nodes out = { .arena = nodes->arena };

	for (size_t i = 0; i < nodes->n; i++)
		if (!is_covered(set, nodes->v[i].path))
			reference_push(&out, nodes->v[i]);
	for (size_t i = 0; i < out.n; i++) {
		struct reference_node *node = &out.v[i];
		bool whole = node->content == VALUE && json_is_container(node->value);

		if ((node->content == VALUE && !whole) || !has_below(set, node->path) ||
		    (!whole && reference_children(&out, node->path)))
			continue;
		node->content = VALUE;
		node->value = json_make_null(out.arena);
	}
	return out;
}

/*
 * Removes the fields that the applier had last time and no longer has, unless another manager owns
 * them: removes `last`, adds back owned fields, then adds back fields that were never the
 * applier's.
 */
static struct reference_nodes prune(const struct reference_request *q,
				    const struct reference_nodes *merged,
				    const struct reference_set *last,
				    const struct reference_set *owned)
{
	struct arena *a = q->arena;
	struct reference_set named_last = reference_named(a, q->kind, last);
	struct reference_set named_owned = reference_named(a, q->kind, owned), all, kept, gone;
	struct reference_nodes pruned;

	if (last->n == 0)
		return *merged;
	all = reference_fields_of(merged);
	all = reference_named(a, q->kind, &all);

	pruned = without(merged, &named_last);
	kept = reference_fields_of(&pruned);
	kept = reference_named(a, q->kind, &kept);
	kept = reference_either(a, &kept, &named_owned);
	gone = reference_minus(a, &all, &kept);
	pruned = without(merged, &gone);

	kept = reference_fields_of(&pruned);
	kept = reference_named(a, q->kind, &kept);
	gone = reference_minus(a, &all, &kept);
	gone = reference_both(a, &gone, &named_last);
	return without(merged, &gone);
}

/* --- entries --------------------------------------------------------------------------- */

static bool is_identical(const struct reference_entry *a, const struct reference_entry *b)
{
	return str_eq(a->manager, b->manager) && str_eq(a->operation, b->operation) &&
	       str_eq(a->subresource, b->subresource) &&
	       (str_eqz(a->operation, "Apply") || str_eq(a->api_version, b->api_version));
}

static struct str now_of(const struct reference_request *q)
{
	char text[TIMESTAMP_SIZE];

	return arena_str(q->arena, timestamp_print(q->writer->now_ns, TIMESTAMP_SECONDS, text));
}

static struct reference_entry entry_for(const struct reference_request *q, const char *operation)
{
	return (struct reference_entry){
		.manager = q->writer->manager,
		.operation = str_from(operation),
		.api_version = q->writer->api_version,
		.subresource = q->writer->subresource,
	};
}

/* Makes a copy with space for two more entries. */
static struct reference_state state_copy(struct arena *a, const struct reference_state *live)
{
	struct reference_state out = { .v = ARENA_ARRAY(a, struct reference_entry, live->n + 2) };

	for (size_t i = 0; i < live->n; i++)
		out.v[out.n++] = live->v[i];
	return out;
}

/* Returns the writer's entry; adds an empty one if missing. */
static struct reference_entry *entry_find(struct reference_state *state,
					  const struct reference_entry *like)
{
	for (size_t i = 0; i < state->n; i++)
		if (is_identical(&state->v[i], like))
			return &state->v[i];
	state->v[state->n] = *like;
	return &state->v[state->n++];
}

/* Removes the fields that nobody ever owns. */
static struct reference_set stripped(struct arena *a, const struct reference_set *set)
{
	static const char *const names[] = {
		"name",        "namespace", "creationTimestamp", "selfLink",      "uid",
		"clusterName", NULL,        "generation",        "managedFields", "resourceVersion"
	};
	struct reference_set nobodys = {
		.v = ARENA_ARRAY(a, struct str, ARRAY_SIZE(names) + 2),
	};

	nobodys.v[nobodys.n++] = STR("f:apiVersion");
	nobodys.v[nobodys.n++] = STR("f:kind");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		nobodys.v[nobodys.n++] = names[i] ? reference_join(a, STR("f:metadata"),
								   str_from(arena_printf(a, "f:%s",
											 names[i])))
						  : STR("f:metadata");
	nobodys = reference_set_of(nobodys);
	return reference_minus(a, set, &nobodys);
}

static void drop_empty(struct reference_state *state)
{
	size_t n = 0;

	for (size_t i = 0; i < state->n; i++)
		if (state->v[i].set.n)
			state->v[n++] = state->v[i];
	state->n = n;
}

/* Lists the changed fields that others own; a state without conflicts lists none. */
static void find_conflicts(struct reference_request *q, struct reference_state *state,
			   const struct reference_entry *self, const struct difference *d)
{
	struct reference_set theirs;
	size_t room = 1;

	for (size_t i = 0; i < state->n; i++)
		room += state->v[i].set.n;
	q->conflicts = ARENA_ARRAY(q->arena, struct reference_conflict, room);
	q->nconflicts = 0;
	for (size_t i = 0; i < state->n; i++) {
		struct reference_entry *e = &state->v[i];

		theirs = reference_both(q->arena, &e->set, &d->changed);
		for (size_t k = 0; e != self && k < theirs.n; k++)
			q->conflicts[q->nconflicts++] = (struct reference_conflict){ e,
										     theirs.v[k] };
	}
}

/* The other managers lose the changed and removed fields. */
static void reference_take(struct arena *a, struct reference_state *state,
			   const struct reference_entry *self, const struct difference *d)
{
	for (size_t i = 0; i < state->n; i++) {
		struct reference_entry *e = &state->v[i];

		if (e == self)
			continue;
		e->set = reference_minus(a, &e->set, &d->changed);
		e->set = reference_minus(a, &e->set, &d->removed);
	}
}

struct reference_state reference_read(struct arena *a, const struct json *object)
{
	struct json *list, *copy;
	struct reference_state state;

	if (!object)
		return (struct reference_state){ 0 };
	(void)json_copy(a, object, &copy, NULL);
	list = json_remove(json_getz(copy, "metadata"), STR("managedFields"));
	state = (struct reference_state){
		.object = copy,
		.v = ARENA_ARRAY(a, struct reference_entry, json_count(list) + 1),
	};
	JSON_FOREACH (e, list)
		state.v[state.n++] = (struct reference_entry){
			.manager = json_text_at(e, "manager"),
			.operation = json_text_at(e, "operation"),
			.api_version = json_text_at(e, "apiVersion"),
			.subresource = json_text_at(e, "subresource"),
			.time = json_text_at(e, "time"),
			.set = reference_set_read(a, json_getz(e, "fieldsV1")),
		};
	return state;
}

void reference_update(const struct reference_request *q, const struct reference_state *live,
		      const struct json *object, struct reference_state *ret_state)
{
	struct reference_nodes before = reference_nodes_of(q->arena, q->kind, live->object, true);
	struct reference_nodes after = reference_nodes_of(q->arena, q->kind, object, true);
	struct difference d = reference_compare(q, &before, &after);
	struct reference_entry self = entry_for(q, "Update"), *entry;
	struct reference_state out = state_copy(q->arena, live);

	(void)json_copy(q->arena, object, &out.object, NULL);
	if (live->object && live->n == 0) {
		*ret_state = out;
		return;
	}
	reference_take(q->arena, &out, NULL, &d);
	self.set = stripped(q->arena, &d.changed);
	if (self.set.n) {
		entry = entry_find(&out, &self);
		entry->set = reference_either(q->arena, &entry->set, &self.set);
		entry->time = now_of(q);
	}
	drop_empty(&out);
	*ret_state = out;
}

/* An object that was never applied or tracked belongs to one manager of before. */
static struct reference_state first_owned(const struct reference_request *q,
					  const struct reference_state *live)
{
	struct managed_writer before = *q->writer;
	struct reference_request r = *q;
	struct reference_state out;

	if (live->n || !live->object)
		return *live;
	before.manager = STR("before-first-apply");
	r.writer = &before;
	reference_update(&r, &(struct reference_state){ 0 }, live->object, &out);
	return out;
}

int reference_apply(struct reference_request *q, const struct reference_state *live,
		    const struct json *config, struct reference_state *ret_state)
{
	struct reference_state old = first_owned(q, live), out = state_copy(q->arena, &old);
	struct reference_nodes before = reference_nodes_of(q->arena, q->kind, old.object, true);
	struct reference_nodes wanted = reference_nodes_of(q->arena, q->kind, config, false);
	struct reference_nodes merged = reference_merge(&before, &wanted);
	struct reference_entry like = entry_for(q, "Apply"), *self;
	struct reference_set last, owned = { 0 };
	struct difference d;

	self = entry_find(&out, &like);
	last = self->set;
	self->api_version = like.api_version;
	self->set = reference_fields_of(&wanted);
	self->set = without_resets(q, &self->set);
	for (size_t i = 0; i < out.n; i++)
		owned = reference_either(q->arena, &owned, &out.v[i].set);
	merged = prune(q, &merged, &last, &owned);
	d = reference_compare(q, &before, &merged);
	find_conflicts(q, &out, self, &d);
	if (q->nconflicts && !q->force)
		return -ERR_APPLY_CONFLICT;
	reference_take(q->arena, &out, self, &d);
	self->set = stripped(q->arena, &self->set);
	out.object = reference_tree(&merged);
	if (!reference_equal(out.object, reference_tree(&before)))
		self->time = now_of(q);
	drop_empty(&out);
	*ret_state = out;
	return 0;
}
