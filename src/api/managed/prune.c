/*
 * Three steps, as structured-merge-diff does. First, remove everything of the last configuration,
 * list elements with their content. Then add back everything that any manager owns, version by
 * version. Then add back what is still missing although it was never in the last configuration,
 * such as defaults in an element: only the last configuration's own fields may be removed.
 */
#include "api/managed/prune.h"

#include "api/managed/set.h"
#include "api/managed/tree.h"
#include "api/managed/version.h"

struct pruning {
	struct arena *arena;
	const struct schema_kind *kind; /* of both trees */
	struct json *merged, *pruned;
};

/* Returns the set of a tree's fields, including those of structs. */
static struct json *named_fields(struct arena *a, const struct schema_type *type,
				 const struct json *tree)
{
	struct json *set = managed_fields(a, type, tree);

	managed_name_members(a, type, set);
	return set;
}

static void move_to(struct pruning *p, const struct schema_kind *kind)
{
	if (p->kind != kind) {
		p->merged = managed_convert(p->arena, p->merged, p->kind, kind);
		p->pruned = managed_convert(p->arena, p->pruned, p->kind, kind);
	}
	p->kind = kind;
}

/* Returns all fields that entries of this version own. */
static struct json *owned_in(struct pruning *p, const struct managed_entries *entries)
{
	struct json *owned = json_make_object(p->arena);
	const struct schema_kind *kind;

	for (size_t i = 0; i < entries->n; i++) {
		const struct managed_entry *e = &entries->v[i];

		kind = e->gone ? NULL : managed_kind_at(p->kind, e->api_version);
		if (kind == p->kind)
			(void)managed_set_unite(p->arena, owned, e->set);
	}
	managed_name_members(p->arena, p->kind->type, owned);
	return owned;
}

/* Removes from the merged object the fields that are neither in the pruned one nor owned. */
static void add_back_owned(struct pruning *p, const struct managed_entries *entries)
{
	struct json *gone = named_fields(p->arena, p->kind->type, p->merged);

	(void)managed_set_subtract(p->arena, gone,
				   named_fields(p->arena, p->kind->type, p->pruned));
	(void)managed_set_subtract(p->arena, gone, owned_in(p, entries));
	p->pruned = managed_convert(p->arena, p->merged, p->kind, p->kind);
	managed_remove(p->arena, p->kind->type, p->pruned, gone);
}

/* Whether an entry before the i-th has the same version, or `done` is that version. */
static bool is_done(const struct managed_entries *entries, size_t i, const struct schema_kind *kind,
		    const struct schema_kind *done)
{
	if (kind == done)
		return true;
	for (size_t k = 0; k < i; k++) {
		const struct managed_entry *e = &entries->v[k];
		const struct schema_kind *other = managed_kind_at(kind, e->api_version);

		if (!e->gone && other == kind)
			return true;
	}
	return false;
}

/* Handles each version once; returns the number of versions. */
static size_t add_back_all_owned(struct pruning *p, const struct managed_entries *entries)
{
	const struct schema_kind *first = p->kind, *kind;
	size_t versions = 1;

	add_back_owned(p, entries);
	for (size_t i = 0; i < entries->n; i++) {
		const struct managed_entry *e = &entries->v[i];

		kind = e->gone ? NULL : managed_kind_at(first, e->api_version);
		if (!kind || is_done(entries, i, kind, first))
			continue;
		move_to(p, kind);
		add_back_owned(p, entries);
		versions++;
	}
	return versions;
}

/*
 * Whether the manager still has all of its previous fields, or others own them: then nothing is
 * removed. If entries have several versions, the object is converted nevertheless, which may remove
 * zero values.
 */
static bool is_all_kept(const struct schema_kind *kind, const struct managed_entries *entries,
			const struct json *last)
{
	bool covered = false;

	for (size_t i = 0; i < entries->n; i++) {
		const struct managed_entry *e = &entries->v[i];

		if (e->gone)
			continue;
		if (managed_kind_at(kind, e->api_version) != kind)
			return false;
		covered = covered || managed_set_covers(e->set, last);
	}
	return covered;
}

struct json *managed_prune(struct arena *a, const struct schema_kind *kind, struct json *object,
			   const struct managed_entries *entries, const struct json *last,
			   struct str last_version)
{
	const struct schema_kind *then = managed_kind_at(kind, last_version);
	struct json *merged, *set, *gone;
	struct pruning p = { .arena = a, .kind = then };

	if (!then || last->n == 0 || (kind == then && is_all_kept(then, entries, last)))
		return object;
	merged = kind == then ? object : managed_convert(a, object, kind, then);
	set = managed_set_copy(a, last);
	managed_name_members(a, then->type, set);
	p.merged = merged;
	p.pruned = managed_convert(a, merged, then, then);
	managed_remove(a, then->type, p.pruned, set);
	/*
	 * A field that one version owns is lost again if its parent is owned only in a later
	 * version. Upstream visits versions in random order, so it sometimes loses such a field.
	 * Here none is lost.
	 */
	for (size_t left = add_back_all_owned(&p, entries); left > 1; left--) {
		move_to(&p, then);
		(void)add_back_all_owned(&p, entries);
	}
	move_to(&p, then);
	gone = named_fields(a, then->type, merged);
	(void)managed_set_subtract(a, gone, named_fields(a, then->type, p.pruned));
	managed_remove(a, then->type, merged, managed_set_intersect(a, gone, set));
	return kind == then ? merged : managed_convert(a, merged, then, kind);
}
