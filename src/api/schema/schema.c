/*
 * The generator sorts the tables; lookups are binary searches in constants. A type's fields are in
 * the order of their protobuf numbers, and an index sorted by name finds them. So nothing is built
 * at start, and no shared data ever changes.
 */
#include "api/schema/schema.h"

#include "api/schema/schema_tables.h"

enum { FEW_FIELDS = 16 }; /* up to so many are compared one by one */

/* Compares a wanted key with a kind, as for bsearch(). */
typedef int (*kind_order)(const struct str *key, const struct schema_kind *k);

static const struct schema_kind *search_kinds(const struct schema_kind *const *kinds, size_t n,
					      const struct str *key, kind_order order)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		int c = order(key, kinds[middle]);

		if (c == 0)
			return kinds[middle];
		if (c < 0)
			n = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Compares lengths first: this runs for every request, and lengths decide most comparisons. */
static int order_by_length(struct str a, struct str b)
{
	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return a.n ? memcmp(a.p, b.p, a.n) : 0;
}

/* key: group, version, resource. */
static int order_by_path(const struct str *key, const struct schema_kind *k)
{
	int c = order_by_length(key[2], k->resource);

	c = c ? c : order_by_length(key[0], k->group);
	return c ? c : order_by_length(key[1], k->version);
}

/* key: apiVersion, kind. */
static int order_by_kind(const struct str *key, const struct schema_kind *k)
{
	int c = str_cmp(key[0], k->api_version);

	return c ? c : str_cmp(key[1], k->kind);
}

const struct schema_kind *const *schema_kinds(size_t *ret_n)
{
	*ret_n = schema_table_resources_n;
	return schema_table_resources;
}

const struct schema_kind *schema_find_resource(struct str group, struct str version,
					       struct str resource)
{
	const struct str key[] = { group, version, resource };

	return search_kinds(schema_table_by_path, schema_table_by_path_n, key, order_by_path);
}

static bool group_version_is_served(struct str api_version)
{
	for (size_t i = 0; i < schema_table_resources_n; i++)
		if (str_eq(schema_table_resources[i]->api_version, api_version))
			return true;
	return false;
}

/*
 * The kinds of meta/v1 belong to every group version: a typed Go client sends its DeleteOptions
 * with the apiVersion of the group that it talks to.
 */
static const struct schema_kind *find_in_any_group(struct str api_version, struct str kind)
{
	static const struct str options[] = { { "CreateOptions", 13 },
					      { "DeleteOptions", 13 },
					      { "PatchOptions", 12 },
					      { "Status", 6 },
					      { "UpdateOptions", 13 } };
	const struct str key[] = { STR("v1"), kind };

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (!str_eq(kind, options[i]))
			continue;
		if (!str_eqz(api_version, "meta.k8s.io/v1") &&
		    !group_version_is_served(api_version))
			return NULL;
		return search_kinds(schema_table_by_kind, schema_table_by_kind_n, key,
				    order_by_kind);
	}
	return NULL;
}

const struct schema_kind *schema_find_kind(struct str api_version, struct str kind)
{
	const struct str key[] = { api_version, kind };
	const struct schema_kind *k = search_kinds(schema_table_by_kind, schema_table_by_kind_n,
						   key, order_by_kind);

	return k ? k : find_in_any_group(api_version, kind);
}

const struct schema_field *schema_field(const struct schema_type *t, struct str name)
{
	size_t low = 0, high = t->nfields;

	/* Most types are small, and lengths alone distinguish most of their fields. */
	if (high <= FEW_FIELDS) {
		for (size_t i = 0; i < high; i++)
			if (str_eq(t->fields[i].name, name))
				return &t->fields[i];
		return NULL;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct schema_field *f = &t->fields[t->by_name[middle]];
		int c = str_cmp(name, f->name);

		if (c == 0)
			return f;
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct schema_type *schema_type_find(struct str openapi)
{
	size_t low = 0, high = schema_table_types_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = str_cmp(openapi, schema_table_types[middle]->openapi);

		if (c == 0)
			return schema_table_types[middle];
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct schema_type *const *schema_types(size_t *ret_n)
{
	*ret_n = schema_table_types_n;
	return schema_table_types;
}

const struct schema_kind *schema_kind_of(const struct schema_type *t)
{
	for (size_t i = 0; i < schema_table_by_kind_n; i++)
		if (schema_table_by_kind[i]->type == t)
			return schema_table_by_kind[i];
	return NULL;
}

const struct schema_type *schema_object_meta(void)
{
	return schema_table_object_meta;
}

const struct schema_type *schema_delete_options(void)
{
	return schema_table_delete_options;
}

const struct schema_subresource *schema_subresource(const struct schema_kind *k, struct str name)
{
	for (size_t i = 0; i < k->nsubresources; i++)
		if (str_eq(k->subresources[i].name, name))
			return &k->subresources[i];
	return NULL;
}

const struct str *schema_resets(const struct schema_kind *k, struct str subresource)
{
	const struct schema_subresource *s = NULL;

	if (subresource.n == 0)
		return k->resets;
	s = schema_subresource(k, subresource);
	return s ? s->resets : NULL;
}
