/*
 * Fields that a write changed or removed are removed from every set; changed ones are added to the
 * writer's. A write that changed nothing only costs the comparison and leaves the list unchanged.
 */
#include "api/managed/managed.h"

#include "api/api_limits.h"
#include "api/managed/entry.h"
#include "api/managed/set.h"
#include "api/managed/tree.h"
#include "api/managed/version.h"

enum { MANAGER_MAX = 128 };

/* [] and [{}] reset the list. */
static bool is_reset(const struct json *list)
{
	if (!json_is(list, JSON_ARRAY))
		return false;
	return list->n == 0 || (list->n == 1 && json_count(list->first) == 0);
}

/* Reads entries that a client sent. */
static bool read_given(struct arena *a, struct json *given, struct managed_entries *ret_entries)
{
	if (json_count(given) > MANAGED_ENTRIES_MAX || !managed_entries_read(a, given, ret_entries))
		return false;
	for (size_t i = 0; i < ret_entries->n; i++)
		if (!managed_set_normalise(a, ret_entries->v[i].set))
			return false;
	return true;
}

/*
 * Returns the entries before this write. Returns true if they are not the stored ones: the client
 * changed them.
 */
static bool entries_before(struct arena *a, struct json *given, const struct json *stored,
			   bool heed_given, struct managed_entries *ret_entries)
{
	struct json *copy = NULL;

	if (heed_given && is_reset(given)) {
		(void)managed_entries_read(a, NULL, ret_entries);
		return true;
	}
	if (heed_given && json_count(given) && !json_equal(given, stored) &&
	    read_given(a, given, ret_entries))
		return true;
	if (stored)
		(void)json_copy(a, stored, &copy, NULL);
	if (!managed_entries_read(a, copy, ret_entries))
		(void)managed_entries_read(a, NULL, ret_entries);
	return false;
}

/* Adds the changed fields to the writer's entry, and sets its time. */
static void credit(struct arena *a, struct managed_entries *entries,
		   const struct managed_writer *writer, struct json *changed)
{
	struct managed_entry *e = managed_entries_find(entries, STR("Update"), writer);

	if (!e)
		e = managed_entries_add(a, entries, STR("Update"), writer, changed);
	else if (managed_set_unite(a, e->set, changed) < 0)
		return;
	managed_entry_touch(a, e, writer);
}

/* Takes what changed out of every entry, as its version sees it. */
static void subtract(struct managed_change *change, struct managed_entries *entries)
{
	struct arena *a = change->arena;
	struct managed_diff diff;

	for (size_t i = 0; i < entries->n; i++) {
		struct managed_entry *e = &entries->v[i];

		if (!managed_change_at(change, e->api_version, &diff)) {
			e->gone = true;
			continue;
		}
		/* A changed CRD may turn a field that had parts into an atomic one. */
		if (change->kind->custom)
			managed_reconcile(managed_kind_at(change->kind, e->api_version)->type,
					  e->set);
		(void)managed_set_subtract(a, e->set, diff.changed);
		e->gone = !managed_set_subtract(a, e->set, diff.removed);
	}
}

static void restore(struct arena *a, struct json *meta, const struct json *stored)
{
	struct json *copy;

	if (stored && json_copy(a, stored, &copy, NULL) == 0)
		json_add(meta, STR("managedFields"), copy);
}

void managed_update(struct arena *a, const struct schema_kind *kind, struct json *object,
		    const struct json *old, const struct managed_writer *writer)
{
	struct json *meta = json_getz(object, "metadata"), *given, *list;
	const struct json *stored = json_getz(json_getz(old, "metadata"), "managedFields");
	struct managed_change change = { .arena = a,
					 .kind = kind,
					 .old = old,
					 .object = object,
					 .subresource = writer->subresource };
	struct managed_entries entries;
	struct managed_diff diff;
	bool edited;

	if (!json_is(meta, JSON_OBJECT))
		return;
	given = json_remove(meta, STR("managedFields"));
	edited = entries_before(a, given, stored, writer->subresource.n == 0, &entries);
	if (old && entries.n == 0)
		return;
	if (!managed_change_at(&change, writer->api_version, &diff))
		diff = (struct managed_diff){ 0 };
	if (!edited && !diff.changed && !diff.removed) {
		restore(a, meta, stored);
		return;
	}
	subtract(&change, &entries);
	if (diff.changed)
		credit(a, &entries, writer, diff.changed);
	managed_entries_cap(a, &entries);
	list = managed_entries_print(a, &entries);
	if (list->n)
		json_add(meta, STR("managedFields"), list);
}

struct str managed_name(struct str field_manager, struct str user_agent)
{
	ptrdiff_t slash = str_chr(user_agent, '/');
	struct str name = slash < 0 ? user_agent : str_of(user_agent.p, (size_t)slash);
	size_t n = 0;

	if (field_manager.n)
		return field_manager;
	while (n < name.n && n < MANAGER_MAX && (unsigned char)name.p[n] >= ' ' &&
	       name.p[n] != 0x7f)
		n++;
	name.n = n;
	/* Does not cut a character in two; a name without valid text is "unknown". */
	while (name.n && !str_is_utf8(name))
		name.n--;
	return name.n ? name : STR("unknown");
}
