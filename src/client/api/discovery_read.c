/*
 * Reads both forms of discovery documents. Malformed entries are left out.
 */
#include "client/api/discovery_impl.h"

static const struct {
	struct str name;
	unsigned verb;
} verbs[] = {
	{ { "get", 3 }, DISCOVERY_GET },
	{ { "list", 4 }, DISCOVERY_LIST },
	{ { "watch", 5 }, DISCOVERY_WATCH },
	{ { "create", 6 }, DISCOVERY_CREATE },
	{ { "update", 6 }, DISCOVERY_UPDATE },
	{ { "patch", 5 }, DISCOVERY_PATCH },
	{ { "delete", 6 }, DISCOVERY_DELETE },
	{ { "deletecollection", 16 }, DISCOVERY_DELETE_COLLECTION },
};

static unsigned read_verbs(const struct json *list)
{
	unsigned set = 0;

	JSON_FOREACH (it, list)
		for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
			if (str_eq(json_str(it), verbs[i].name))
				set |= verbs[i].verb;
	return set;
}

static struct str discovery_read_append(struct arena *a, struct str list, struct str item)
{
	if (!list.n)
		return item;
	return str_from(arena_printf(a, "%.*s,%.*s", STR_ARG(list), STR_ARG(item)));
}

/* A list of strings, or of objects with a string `member`, joined by commas. */
static struct str discovery_read_join(struct arena *a, const struct json *list, const char *member)
{
	struct str all = STR_NULL;

	JSON_FOREACH (it, list)
		all = discovery_read_append(a, all, json_str(member ? json_getz(it, member) : it));
	return all;
}

static void add_aggregated(struct catalogue *c, const struct resource *version,
			   const struct json *v)
{
	struct discovery_resource d = { .resource = *version };

	d.resource.resource = json_text_at(v, "resource");
	d.resource.kind = json_text_at(json_getz(v, "responseKind"), "kind");
	d.resource.namespaced = str_eq(json_text_at(v, "scope"), STR("Namespaced"));
	d.singular = json_text_at(v, "singularResource");
	d.short_names = discovery_read_join(&c->arena, json_getz(v, "shortNames"), NULL);
	d.categories = discovery_read_join(&c->arena, json_getz(v, "categories"), NULL);
	d.subresources = discovery_read_join(&c->arena, json_getz(v, "subresources"),
					     "subresource");
	d.verbs = read_verbs(json_getz(v, "verbs"));
	/* A parent that has only subresources has no kind. */
	if (d.resource.resource.n && d.resource.kind.n)
		(void)vec_push(&c->resources, d);
}

static void add_aggregated_group(struct catalogue *c, const struct json *group)
{
	struct resource r = { .group = json_text_at(json_getz(group, "metadata"), "name") };

	JSON_FOREACH (version, json_getz(group, "versions")) {
		r.version = json_text_at(version, "version");
		(void)vec_push(&c->versions, r);
		if (str_eq(json_text_at(version, "freshness"), STR("Stale")))
			c->incomplete = true;
		JSON_FOREACH (it, json_getz(version, "resources"))
			add_aggregated(c, &r, it);
	}
}

/* APIVersions of the core group, or an APIGroupList. */
static void add_legacy_groups(struct catalogue *c, const struct json *tree)
{
	struct resource r = { 0 };

	JSON_FOREACH (it, json_getz(tree, "versions")) {
		r.version = json_str(it);
		(void)vec_push(&c->versions, r);
	}
	JSON_FOREACH (group, json_getz(tree, "groups")) {
		r.group = json_text_at(group, "name");
		JSON_FOREACH (it, json_getz(group, "versions")) {
			r.version = json_text_at(it, "version");
			(void)vec_push(&c->versions, r);
		}
	}
}

void discovery_add_groups(struct catalogue *c, const struct json *tree, bool aggregated)
{
	if (!aggregated) {
		add_legacy_groups(c, tree);
		return;
	}
	JSON_FOREACH (group, json_getz(tree, "items"))
		add_aggregated_group(c, group);
}

/* "pods/status" belongs to "pods", which came before it or comes after it. */
static void add_legacy_subresource(struct catalogue *c, struct str parent, struct str name,
				   size_t from)
{
	for (size_t i = from; i < c->resources.n; i++) {
		struct discovery_resource *d = &c->resources.v[i];

		if (str_eq(d->resource.resource, parent))
			d->subresources = discovery_read_append(&c->arena, d->subresources, name);
	}
}

static void add_legacy(struct catalogue *c, const struct resource *version, const struct json *v)
{
	struct discovery_resource d = { .resource = *version };

	d.resource.resource = json_text_at(v, "name");
	d.resource.kind = json_text_at(v, "kind");
	d.resource.namespaced = json_true_at(v, "namespaced");
	d.singular = json_text_at(v, "singularName");
	d.short_names = discovery_read_join(&c->arena, json_getz(v, "shortNames"), NULL);
	d.categories = discovery_read_join(&c->arena, json_getz(v, "categories"), NULL);
	d.verbs = read_verbs(json_getz(v, "verbs"));
	if (d.resource.resource.n && d.resource.kind.n)
		(void)vec_push(&c->resources, d);
}

void discovery_add_legacy(struct catalogue *c, const struct resource *version,
			  const struct json *tree)
{
	struct resource r = *version;
	size_t from = c->resources.n;
	ptrdiff_t slash;
	struct str name;

	JSON_FOREACH (it, json_getz(tree, "resources"))
		if (str_chr(json_text_at(it, "name"), '/') < 0)
			add_legacy(c, &r, it);
	JSON_FOREACH (it, json_getz(tree, "resources")) {
		name = json_text_at(it, "name");
		slash = str_chr(name, '/');
		if (slash >= 0)
			add_legacy_subresource(c, str_of(name.p, (size_t)slash),
					       str_skip(name, (size_t)slash + 1), from);
	}
}
