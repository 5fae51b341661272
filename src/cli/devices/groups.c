/*
 * An entry for each device and attribute; after sorting, a group is a run of entries.
 */
#include "cli/devices/groups.h"

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/vec.h"

struct entry {
	struct str attribute, type;
	struct device_fact fact;
};

struct gather {
	struct arena *arena;
	VEC(struct entry) entries;
	VEC(struct str) names; /* those that classes list */
};

static bool is_partition(const struct json *device)
{
	return json_count(json_getz(device, "consumesCounters")) > 0;
}

bool device_groups_want_classes(const struct device_view_slice *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (json_text_at(v[i].spec, "partitionTypeAttribute").n > 0)
			continue;
		JSON_FOREACH (it, json_getz(v[i].spec, "devices")) {
			if (is_partition(it))
				return true;
		}
	}
	return false;
}

const struct json *device_groups_attribute(const struct json *device, struct str driver,
					   struct str name)
{
	const struct json *attributes = json_getz(device, "attributes");
	const struct json *found = json_get(attributes, name);
	struct str rest = name, domain;

	if (found)
		return found;
	(void)str_split(&rest, '/', &domain);
	if (rest.p)
		return str_eq(domain, driver) ? json_get(attributes, rest) : NULL;
	JSON_FOREACH (it, attributes) {
		rest = json_key(it);
		(void)str_split(&rest, '/', &domain);
		if (rest.p && str_eq(domain, driver) && str_eq(rest, name))
			return it;
	}
	return NULL;
}

static struct str groups_text_of(struct arena *a, const struct json *attribute)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	const struct json *v = json_first(attribute);

	if (json_is(v, JSON_STRING))
		return json_str(v);
	if (!v || json_print(&text, v, NULL) < 0)
		return STR("<none>");
	return arena_str(a, buf_str(&text));
}

/* --- collecting ------------------------------------------------------------------------------ */

static void read_classes(struct gather *g, const struct json *classes)
{
	JSON_FOREACH (it, classes) {
		struct str rest = json_text_at(json_getz(json_getz(it, "metadata"), "annotations"),
					       DEVICE_GROUPS_ANNOTATION);
		struct str name;
		bool known = false;

		while (rest.n > 0 && str_split(&rest, ',', &name)) {
			name = str_trim(name);
			known = name.n == 0;
			for (size_t i = 0; i < g->names.n; i++)
				known |= str_eq(g->names.v[i], name);
			if (!known)
				(void)vec_push(&g->names, name);
		}
	}
}

static void gather_device(struct gather *g, const struct device_view_slice *s,
			  const struct json *device)
{
	struct str by = json_text_at(s->spec, "partitionTypeAttribute");
	struct str driver = json_text_at(s->spec, "driver");
	struct str name = json_text_at(device, "name");
	struct entry e = { .fact = device_view_fact(s, name) };

	if (by.n > 0) {
		e.attribute = by;
		e.type = groups_text_of(g->arena, device_groups_attribute(device, driver, by));
		(void)vec_push(&g->entries, e);
		return;
	}
	for (size_t i = 0; i < g->names.n; i++) {
		const struct json *found = device_groups_attribute(device, driver, g->names.v[i]);

		e.attribute = g->names.v[i];
		e.type = groups_text_of(g->arena, found);
		if (found)
			(void)vec_push(&g->entries, e);
	}
}

/* --- counting -------------------------------------------------------------------------------- */

static int by_type(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = str_cmp(x->attribute, y->attribute);

	return r ? r : str_cmp(x->type, y->type);
}

static size_t make_groups(struct gather *g, struct device_groups **ret_groups)
{
	struct device_groups *v = ARENA_ARRAY(g->arena, struct device_groups, g->entries.n + 1);
	struct device_group *rows = ARENA_ARRAY(g->arena, struct device_group, g->entries.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < g->entries.n; i++) {
		const struct entry *e = &g->entries.v[i];
		bool other = n == 0 || !str_eq(v[n - 1].attribute, e->attribute);

		if (other)
			v[n++] = (struct device_groups){ .attribute = e->attribute, .v = rows };
		if (other || !str_eq(rows[-1].type, e->type)) {
			*rows++ = (struct device_group){ .type = e->type };
			v[n - 1].n++;
		}
		device_counts_add(&rows[-1].counts, &e->fact);
	}
	*ret_groups = v;
	return n;
}

size_t device_groups_make(struct arena *a, const struct device_view_slice *v, size_t n,
			  const struct json *classes, struct device_groups **ret_groups)
{
	struct gather g = { .arena = a };
	size_t groups;

	vec_init(&g.entries, SIZE_MAX / sizeof(struct entry));
	vec_init(&g.names, SIZE_MAX / sizeof(struct str));
	read_classes(&g, classes);
	for (size_t i = 0; i < n; i++) {
		if (v[i].older || !v[i].status)
			continue;
		JSON_FOREACH (it, json_getz(v[i].spec, "devices")) {
			if (is_partition(it))
				gather_device(&g, &v[i], it);
		}
	}
	if (g.entries.n > 0)
		qsort(g.entries.v, g.entries.n, sizeof(*g.entries.v), by_type);
	groups = make_groups(&g, ret_groups);
	vec_release(&g.entries);
	vec_release(&g.names);
	return groups;
}
