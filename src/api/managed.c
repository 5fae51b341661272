/*
 * The list of entries is read into an array, changed, and written anew. What
 * the write changed or removed leaves every set; what it changed goes to the
 * writer's. A write that changed nothing costs the comparison and leaves the
 * list as it was.
 */
#include "api/managed.h"

#include "api/managed_diff.h"
#include "api/managed_set.h"
#include "base/limits.h"
#include "base/timestamp.h"

enum { MANAGER_MAX = 128, UPDATERS_MAX = 10 };

struct entry {
	struct str manager, operation, api_version, subresource;
	struct str time; /* as printed; p NULL: none */
	int64_t seconds; /* of the time; 0: none */
	struct json *set;
	bool gone;
};

struct entries {
	struct entry *v;
	size_t n;
};

static bool is_update(const struct entry *e)
{
	return str_eqz(e->operation, "Update");
}

/* False when it is none that upstream would read. */
static bool entry_read(struct arena *a, struct json *v, struct entry *ret_entry)
{
	struct json *set = json_getz(v, "fieldsV1");
	struct entry e = {
		.manager = json_text_at(v, "manager"),
		.operation = json_text_at(v, "operation"),
		.api_version = json_text_at(v, "apiVersion"),
		.subresource = json_text_at(v, "subresource"),
		.time = json_text_at(v, "time"),
		.set = set ? set : json_make_object(a),
	};
	int64_t ns;

	if (!is_update(&e) && !str_eqz(e.operation, "Apply"))
		return false;
	if (e.api_version.n == 0 || !str_eqz(json_text_at(v, "fieldsType"), "FieldsV1"))
		return false;
	if (e.time.p && timestamp_parse(e.time, &ns, NULL) == 0)
		e.seconds = ns / 1000000000;
	*ret_entry = e;
	return managed_set_read(a, e.set);
}

/* One place is left for the writer's. False when any entry is malformed. */
static bool entries_read(struct arena *a, struct json *list, struct entries *ret_entries)
{
	struct entries entries = { .v = ARENA_ARRAY(a, struct entry, json_count(list) + 1) };

	if (json_count(list) > MANAGED_ENTRIES_MAX)
		return false;
	JSON_FOREACH (v, list)
		if (!entry_read(a, v, &entries.v[entries.n++]))
			return false;
	*ret_entries = entries;
	return true;
}

/* [] and [{}] ask for a new beginning. */
static bool is_reset(const struct json *list)
{
	if (!json_is(list, JSON_ARRAY))
		return false;
	return list->n == 0 || (list->n == 1 && json_count(list->first) == 0);
}

/*
 * The entries that hold before this write. True when they are not as stored: the
 * client changed them.
 */
static bool entries_before(struct arena *a, struct json *given, const struct json *stored,
			   bool heed_given, struct entries *ret_entries)
{
	struct json *copy = NULL;

	*ret_entries = (struct entries){ .v = ARENA_NEW(a, struct entry) };
	if (heed_given && is_reset(given))
		return true;
	if (heed_given && json_count(given) && !(stored && json_equal(given, stored)) &&
	    entries_read(a, given, ret_entries))
		return true;
	if (stored && json_copy(a, stored, &copy, NULL) == 0 && !entries_read(a, copy, ret_entries))
		*ret_entries = (struct entries){ .v = ARENA_NEW(a, struct entry) };
	return false;
}

static void add_text(struct arena *a, struct json *v, const char *key, struct str text)
{
	if (text.n)
		json_add(v, str_from(key), json_make_str(a, text));
}

static struct json *entry_print(struct arena *a, const struct entry *e)
{
	struct json *v = json_make_object(a);

	add_text(a, v, "manager", e->manager);
	add_text(a, v, "operation", e->operation);
	add_text(a, v, "apiVersion", e->api_version);
	add_text(a, v, "time", e->time);
	add_text(a, v, "fieldsType", STR("FieldsV1"));
	json_add(v, STR("fieldsV1"), e->set);
	add_text(a, v, "subresource", e->subresource);
	return v;
}

/* Applied ones first, then by age and name. */
static int entry_cmp(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = str_cmp(x->operation, y->operation);

	if (order == 0)
		order = (x->seconds > y->seconds) - (x->seconds < y->seconds);
	if (order == 0)
		order = str_cmp(x->manager, y->manager);
	if (order == 0)
		order = str_cmp(x->api_version, y->api_version);
	return order ? order : str_cmp(x->subresource, y->subresource);
}

static struct json *entries_print(struct arena *a, struct entries *entries)
{
	struct json *list = json_make_array(a);

	qsort(entries->v, entries->n, sizeof(*entries->v), entry_cmp);
	for (size_t i = 0; i < entries->n; i++)
		if (!entries->v[i].gone)
			json_append(list, entry_print(a, &entries->v[i]));
	return list;
}

static bool is_same_manager(const struct entry *a, const struct entry *b)
{
	return is_update(a) && is_update(b) && str_eq(a->manager, b->manager) &&
	       str_eq(a->api_version, b->api_version) && str_eq(a->subresource, b->subresource);
}

/* The writer's entry gets what was changed, and the time. */
static void entries_credit(struct arena *a, struct entries *entries,
			   const struct managed_writer *writer, struct json *changed)
{
	char text[TIMESTAMP_SIZE];
	struct entry fresh = {
		.manager = arena_str(a, writer->manager),
		.operation = STR("Update"),
		.api_version = writer->api_version,
		.subresource = writer->subresource,
		.seconds = writer->now_ns / 1000000000,
		.set = changed,
	};

	fresh.time = arena_str(a, timestamp_print(writer->now_ns, TIMESTAMP_SECONDS, text));
	for (size_t i = 0; i < entries->n; i++) {
		struct entry *e = &entries->v[i];

		if (e->gone || !is_same_manager(e, &fresh))
			continue;
		if (managed_set_unite(a, e->set, changed) == 0) {
			e->time = fresh.time;
			e->seconds = fresh.seconds;
		}
		return;
	}
	entries->v[entries->n++] = fresh;
}

static size_t count_updaters(const struct entries *entries)
{
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i++)
		n += !entries->v[i].gone && is_update(&entries->v[i]);
	return n;
}

/* An earlier Update entry of that version, from the oldest on. */
static struct entry *find_older(struct entries *entries, const struct entry *e)
{
	for (struct entry *older = entries->v; older < e; older++)
		if (!older->gone && is_update(older) && str_eq(older->api_version, e->api_version))
			return older;
	return NULL;
}

/*
 * More Update managers than are kept: the oldest are folded, version by version,
 * into one that has the time of the youngest of them.
 */
static void entries_cap(struct arena *a, struct entries *entries)
{
	size_t updaters = count_updaters(entries);
	struct entry *bucket;

	if (updaters <= UPDATERS_MAX)
		return;
	qsort(entries->v, entries->n, sizeof(*entries->v), entry_cmp);
	for (struct entry *e = entries->v; e < entries->v + entries->n; e++) {
		if (updaters <= UPDATERS_MAX)
			return;
		bucket = e->gone || !is_update(e) ? NULL : find_older(entries, e);
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

static void entries_subtract(struct arena *a, struct entries *entries,
			     const struct managed_diff *diff)
{
	for (size_t i = 0; i < entries->n; i++) {
		struct entry *e = &entries->v[i];

		(void)managed_set_subtract(a, e->set, diff->changed);
		e->gone = !managed_set_subtract(a, e->set, diff->removed);
	}
}

/* What a request cannot write and so never owns. */
static struct str unwritable(const struct schema_kind *kind, const struct managed_writer *writer)
{
	if (!(kind->flags & SCHEMA_STATUS))
		return STR_NULL;
	if (str_eqz(writer->subresource, "status"))
		return STR("spec");
	return writer->subresource.n ? STR_NULL : STR("status");
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
	struct managed_diff diff;
	struct entries entries;
	bool edited;

	if (!json_is(meta, JSON_OBJECT))
		return;
	given = json_remove(meta, STR("managedFields"));
	edited = entries_before(a, given, stored, writer->subresource.n == 0, &entries);
	if (old && entries.n == 0)
		return;
	diff = managed_diff(a, kind->type, old, object, unwritable(kind, writer));
	if (!edited && !diff.changed && !diff.removed) {
		restore(a, meta, stored);
		return;
	}
	entries_subtract(a, &entries, &diff);
	if (diff.changed)
		entries_credit(a, &entries, writer, diff.changed);
	entries_cap(a, &entries);
	list = entries_print(a, &entries);
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
	/* A character is not cut in two; what is no text at all is not shown. */
	while (name.n && !str_is_utf8(name))
		name.n--;
	return name.n ? name : STR("unknown");
}
