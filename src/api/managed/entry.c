/*
 * There are few entries, so they are searched one by one. An entry that is no longer needed is
 * marked and left out when the list is printed.
 */
#include "api/managed/entry.h"

#include "api/managed/managed.h"
#include "api/managed/set.h"
#include "base/time/timestamp.h"

enum { UPDATERS_MAX = 10, SPARE = 2 };

/* --- reading ---------------------------------------------------------------------------- */

static struct managed_entry *entry_find(const struct managed_entries *entries, struct str operation,
					struct str manager, struct str api_version,
					struct str subresource)
{
	for (size_t i = 0; i < entries->n; i++) {
		struct managed_entry *e = &entries->v[i];

		if (!e->gone && str_eq(e->operation, operation) && str_eq(e->manager, manager) &&
		    str_eq(e->subresource, subresource) &&
		    (!managed_is_update(e) || str_eq(e->api_version, api_version)))
			return e;
	}
	return NULL;
}

/* Returns false if upstream could not read the entry. */
static bool entry_read(struct arena *a, struct json *v, struct managed_entry *ret_entry)
{
	struct json *set = json_getz(v, "fieldsV1");
	struct managed_entry e = {
		.manager = json_text_at(v, "manager"),
		.operation = json_text_at(v, "operation"),
		.api_version = json_text_at(v, "apiVersion"),
		.subresource = json_text_at(v, "subresource"),
		.time = json_text_at(v, "time"),
		.set = set ? set : json_make_object(a),
	};
	int64_t ns;

	if (!managed_is_update(&e) && !str_eqz(e.operation, "Apply"))
		return false;
	if (e.api_version.n == 0 || !str_eqz(json_text_at(v, "fieldsType"), "FieldsV1"))
		return false;
	if (e.time.p && timestamp_parse(e.time, &ns, NULL) == 0)
		e.seconds = ns / 1000000000;
	*ret_entry = e;
	return managed_set_read(a, e.set);
}

bool managed_entries_read(struct arena *a, struct json *list, struct managed_entries *ret_entries)
{
	struct managed_entries entries = {
		.v = ARENA_ARRAY(a, struct managed_entry, json_count(list) + SPARE),
	};
	struct managed_entry e, *same;

	JSON_FOREACH (v, list) {
		if (!entry_read(a, v, &e))
			return false;
		/* If an entry occurs twice, the last one counts. */
		same = entry_find(&entries, e.operation, e.manager, e.api_version, e.subresource);
		if (same)
			*same = e;
		else
			entries.v[entries.n++] = e;
	}
	*ret_entries = entries;
	return true;
}

/* --- printing --------------------------------------------------------------------------- */

static void entry_add_text(struct arena *a, struct json *v, const char *key, struct str text)
{
	if (text.n)
		json_add(v, str_from(key), json_make_str(a, text));
}

static struct json *entry_print(struct arena *a, const struct managed_entry *e)
{
	struct json *v = json_make_object(a);

	entry_add_text(a, v, "manager", e->manager);
	entry_add_text(a, v, "operation", e->operation);
	entry_add_text(a, v, "apiVersion", e->api_version);
	entry_add_text(a, v, "time", e->time);
	entry_add_text(a, v, "fieldsType", STR("FieldsV1"));
	json_add(v, STR("fieldsV1"), e->set);
	entry_add_text(a, v, "subresource", e->subresource);
	return v;
}

static int entry_cmp(const void *a, const void *b)
{
	const struct managed_entry *x = a, *y = b;
	int order = str_cmp(x->operation, y->operation);

	if (order == 0)
		order = (x->seconds > y->seconds) - (x->seconds < y->seconds);
	if (order == 0)
		order = str_cmp(x->manager, y->manager);
	if (order == 0)
		order = str_cmp(x->api_version, y->api_version);
	return order ? order : str_cmp(x->subresource, y->subresource);
}

struct json *managed_entries_print(struct arena *a, struct managed_entries *entries)
{
	struct json *list = json_make_array(a);

	qsort(entries->v, entries->n, sizeof(*entries->v), entry_cmp);
	for (size_t i = 0; i < entries->n; i++)
		if (!entries->v[i].gone)
			json_append(list, entry_print(a, &entries->v[i]));
	return list;
}

/* --- writers ---------------------------------------------------------------------------- */

struct managed_entry *managed_entries_find(const struct managed_entries *entries,
					   struct str operation,
					   const struct managed_writer *writer)
{
	return entry_find(entries, operation, writer->manager, writer->api_version,
			  writer->subresource);
}

void managed_entry_touch(struct arena *a, struct managed_entry *e,
			 const struct managed_writer *writer)
{
	char text[TIMESTAMP_SIZE];

	e->seconds = writer->now_ns / 1000000000;
	e->time = arena_str(a, timestamp_print(writer->now_ns, TIMESTAMP_SECONDS, text));
}

struct managed_entry *managed_entries_add(struct arena *a, struct managed_entries *entries,
					  struct str operation, const struct managed_writer *writer,
					  struct json *set)
{
	struct managed_entry *e = &entries->v[entries->n++];

	*e = (struct managed_entry){
		.manager = arena_str(a, writer->manager),
		.operation = operation,
		.api_version = writer->api_version,
		.subresource = writer->subresource,
		.set = set,
	};
	return e;
}

/* --- the limit -------------------------------------------------------------------------- */

static size_t count_updaters(const struct managed_entries *entries)
{
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i++)
		n += !entries->v[i].gone && managed_is_update(&entries->v[i]);
	return n;
}

/* Returns the oldest earlier Update entry of that version. */
static struct managed_entry *find_older(struct managed_entries *entries,
					const struct managed_entry *e)
{
	for (struct managed_entry *older = entries->v; older < e; older++)
		if (!older->gone && managed_is_update(older) &&
		    str_eq(older->api_version, e->api_version))
			return older;
	return NULL;
}

/* Merges version by version; the merged entry has the time of the newest one. */
void managed_entries_cap(struct arena *a, struct managed_entries *entries)
{
	size_t updaters = count_updaters(entries);
	struct managed_entry *bucket;

	if (updaters <= UPDATERS_MAX)
		return;
	qsort(entries->v, entries->n, sizeof(*entries->v), entry_cmp);
	for (struct managed_entry *e = entries->v; e < entries->v + entries->n; e++) {
		if (updaters <= UPDATERS_MAX)
			return;
		bucket = e->gone || !managed_is_update(e) ? NULL : find_older(entries, e);
		if (!bucket || managed_set_unite(a, bucket->set, e->set) < 0)
			continue;
		bucket->manager = STR("ancient-changes");
		bucket->subresource = STR_NULL;
		bucket->time = e->time;
		bucket->seconds = e->seconds;
		e->gone = true;
		updaters--;
	}
}
