/*
 * A definition becomes one piece of memory: an arena with a copy of the spec, the compiled schemas
 * that point into it, and the kinds with their tables. So one reference count covers all of it.
 */
#include "api/crd/crd_impl.h"

#include "api/api_limits.h"
#include "api/table/jsonpath.h"
#include "base/core/mem.h"

/* --- versions in order ------------------------------------------------------------ */

/* "v2beta1" is 2, beta, 1. A version of another form is `other`. */
struct version_name {
	bool other;
	int stage; /* 0 alpha, 1 beta, 2 stable */
	uint64_t major, minor;
};

static bool take_digits(struct str *s, uint64_t *ret_value)
{
	size_t n = 0;

	while (n < s->n && str_is_digit(s->p[n]))
		n++;
	if (n == 0 || !str_to_u64(str_of(s->p, n), ret_value))
		return false;
	*s = str_skip(*s, n);
	return true;
}

static struct version_name version_read(struct str s)
{
	static const struct str stages[] = { STR("alpha"), STR("beta") };
	struct version_name v = { .stage = 2 }, other = { .other = true };
	struct str rest = str_skip(s, 1);

	if (!str_starts(s, STR("v")) || !take_digits(&rest, &v.major))
		return other;
	for (int i = 0; i < 2 && rest.n && v.stage == 2; i++) {
		if (!str_starts(rest, stages[i]))
			continue;
		rest = str_skip(rest, stages[i].n);
		v.stage = i;
		if (!take_digits(&rest, &v.minor))
			return other;
	}
	return rest.n ? other : v;
}

int crd_version_cmp(struct str a, struct str b)
{
	struct version_name x = version_read(a), y = version_read(b);

	if (x.other || y.other)
		return x.other != y.other ? x.other - y.other : str_cmp(a, b);
	if (x.stage != y.stage)
		return y.stage - x.stage;
	if (x.major != y.major)
		return x.major > y.major ? -1 : 1;
	return x.minor == y.minor ? 0 : x.minor > y.minor ? -1 : 1;
}

static int version_order(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return crd_version_cmp(json_text_at(*x, "name"), json_text_at(*y, "name"));
}

/* --- parts of a kind -------------------------------------------------------------- */

/* Makes com.example.stable.v1.Foo from "stable.example.com", "v1", "Foo". */
static struct str openapi_name(struct arena *a, struct str group, struct str version,
			       struct str kind)
{
	struct str rest = group, piece, name = STR("");

	while (str_split(&rest, '.', &piece))
		name = str_from(arena_printf(a, "%.*s.%.*s", STR_ARG(piece), STR_ARG(name)));
	return str_from(
		arena_printf(a, "%.*s%.*s.%.*s", STR_ARG(name), STR_ARG(version), STR_ARG(kind)));
}

/*
 * Builds the columns up to the first one with an invalid path: upstream prints no further, either.
 */
static void build_columns(struct crd *crd, struct schema_kind *kind, const struct json *list)
{
	static const struct schema_column age = {
		.name = "Age",
		.type = "date",
		.doc = "How long ago it was created.",
	};
	size_t n = MIN(json_count(list), (size_t)UINT8_MAX);
	struct schema_column *columns = ARENA_ARRAY(&crd->arena, struct schema_column, n + 1);
	struct arena *a = &crd->arena;

	JSON_FOREACH (item, list) {
		struct schema_column *c = &columns[kind->ncolumns];
		struct str doc = json_text_at(item, "description"),
			   path = json_text_at(item, "jsonPath");
		int64_t priority = 0;

		if (kind->ncolumns == n || jsonpath_compile(a, path, &c->jsonpath, NULL) < 0)
			break;
		c->name = arena_strdup(a, json_text_at(item, "name"));
		c->type = arena_strdup(a, json_text_at(item, "type"));
		c->format = arena_strdup(a, json_text_at(item, "format"));
		c->doc = doc.n ? arena_strdup(a, doc)
			       : arena_printf(a,
					      "Custom resource definition column (in JSONPath "
					      "format): %.*s",
					      STR_ARG(path));
		(void)json_i64(json_getz(item, "priority"), &priority);
		c->priority = (int)priority;
		kind->ncolumns++;
	}
	if (json_count(list) == 0) {
		columns[0] = age;
		(void)jsonpath_compile(a, STR(".metadata.creationTimestamp"), &columns[0].jsonpath,
				       NULL);
		kind->ncolumns = 1;
	}
	kind->columns = columns;
}

static void build_subresources(struct crd *crd, struct crd_version *version,
			       const struct json *given)
{
	/* Upstream lists no other top-level fields, although it ignores them, too. */
	static const struct str status_resets[] = { { "metadata", 8 }, { "spec", 4 }, { NULL, 0 } };
	static const struct str resets[] = { { "status", 6 }, { NULL, 0 } };
	struct schema_subresource *rows = ARENA_ARRAY(&crd->arena, struct schema_subresource, 2);
	const struct json *scale = json_getz(given, "scale");
	struct schema_kind *kind = &version->kind;

	kind->subresources = rows;
	if (json_getz(given, "status")) {
		kind->flags |= SCHEMA_STATUS;
		kind->resets = resets;
		rows[kind->nsubresources++] = (struct schema_subresource){
			.name = STR("status"),
			.group = kind->group,
			.version = kind->version,
			.kind = kind->kind,
			.verbs = SCHEMA_GET | SCHEMA_UPDATE | SCHEMA_PATCH,
			.resets = status_resets,
		};
	}
	if (!scale)
		return;
	version->has_scale = true;
	version->scale.replicas = json_text_at(scale, "specReplicasPath");
	version->scale.status_replicas = json_text_at(scale, "statusReplicasPath");
	version->scale.selector = json_text_at(scale, "labelSelectorPath");
	rows[kind->nsubresources++] = (struct schema_subresource){
		.name = STR("scale"),
		.group = STR("autoscaling"),
		.version = STR("v1"),
		.kind = STR("Scale"),
		.verbs = SCHEMA_GET | SCHEMA_UPDATE | SCHEMA_PATCH,
		.scale = &version->scale,
	};
}

/*
 * Gives the storage version the selectable fields of all versions: an object's header has those of
 * the storage version, and every version must find its own there.
 */
static void build_selectables(struct crd *crd, const struct json *versions)
{
	struct schema_selectable *all;
	size_t n = 0, known;

	JSON_FOREACH (version, versions)
		n += json_count(json_getz(version, "selectableFields"));
	all = ARENA_ARRAY(&crd->arena, struct schema_selectable, n + 1);
	n = 0;
	JSON_FOREACH (version, versions) {
		JSON_FOREACH (field, json_getz(version, "selectableFields")) {
			struct str path = str_skip(json_text_at(field, "jsonPath"), 1);

			for (known = 0; known < n && !str_eq(all[known].path, path);)
				known++;
			if (known == n && n < UINT8_MAX)
				all[n++] = (struct schema_selectable){ .path = path,
								       .initial = STR(""),
								       .storage_path = path };
		}
	}
	for (size_t i = 0; i < crd->n; i++) {
		crd->versions[i].kind.selectables = all;
		crd->versions[i].kind.nselectables = (uint8_t)n;
	}
}

/* Returns the newest served version that is not deprecated and newer than this one, or NULL. */
static const struct json *successor(const struct json *versions, struct str than)
{
	const struct json *best = NULL;
	struct str best_name = than;

	JSON_FOREACH (version, versions) {
		struct str name = json_text_at(version, "name");

		if (!json_true_at(version, "served") || json_true_at(version, "deprecated") ||
		    crd_version_cmp(name, best_name) >= 0)
			continue;
		best = version;
		best_name = name;
	}
	return best;
}

static struct str deprecation_of(struct crd *crd, const struct schema_kind *kind,
				 const struct json *version)
{
	struct str given = json_text_at(version, "deprecationWarning");
	const struct json *next = successor(json_getz(crd->spec, "versions"), kind->version);
	struct str name = json_text_at(next, "name");

	if (!json_true_at(version, "deprecated"))
		return STR_NULL;
	if (given.p)
		return given;
	if (!next)
		return str_from(arena_printf(&crd->arena, "%.*s %.*s is deprecated",
					     STR_ARG(kind->api_version), STR_ARG(kind->kind)));
	return str_from(arena_printf(&crd->arena, "%.*s %.*s is deprecated; use %.*s/%.*s %.*s",
				     STR_ARG(kind->api_version), STR_ARG(kind->kind),
				     STR_ARG(crd->group), STR_ARG(name), STR_ARG(kind->kind)));
}

/* --- versions --------------------------------------------------------------------- */

static struct schema_kind crd_kind_of(struct crd *crd, const struct json *names, struct str version)
{
	struct arena *a = &crd->arena;
	struct str plural = json_text_at(names, "plural");
	bool namespaced = str_eqz(json_text_at(crd->spec, "scope"), "Namespaced");

	return (struct schema_kind){
		.group = crd->group,
		.version = version,
		.kind = json_text_at(names, "kind"),
		.list_kind = json_text_at(names, "listKind"),
		.resource = plural,
		.singular = json_text_at(names, "singular"),
		.api_version = str_from(
			arena_printf(a, "%.*s/%.*s", STR_ARG(crd->group), STR_ARG(version))),
		.storage_name = str_from(
			arena_printf(a, "%.*s/%.*s", STR_ARG(crd->group), STR_ARG(plural))),
		.short_names = crd_texts(a, json_getz(names, "shortNames")),
		.categories = crd_texts(a, json_getz(names, "categories")),
		.verbs = SCHEMA_ALL_VERBS,
		.flags = SCHEMA_GENERATION | (namespaced ? SCHEMA_NAMESPACED : 0),
		.custom = crd,
	};
}

static int build_version(struct crd *crd, struct crd_version *version, const struct json *names,
			 const struct json *given, struct error *err)
{
	static const struct crd_schema anything = { .types = CRD_OBJECT, .preserve = true };
	struct schema_kind *kind = &version->kind;
	int r = 0;

	*kind = crd_kind_of(crd, names, json_text_at(given, "name"));
	version->served = json_true_at(given, "served");
	version->openapi = json_getz(json_getz(given, "schema"), "openAPIV3Schema");
	version->schema = &anything;
	if (version->openapi)
		r = crd_schema_compile(&crd->arena, version->openapi, NULL, &version->schema, err);
	if (r < 0)
		return error_wrap(err, r, "version %.*s", STR_ARG(kind->version));
	version->status = crd_property(version->schema, STR("status"));
	version->deprecation = deprecation_of(crd, kind, given);
	build_columns(crd, kind, json_getz(given, "additionalPrinterColumns"));
	build_subresources(crd, version, json_getz(given, "subresources"));
	return crd_type_build(&crd->arena, version->schema, kind->kind,
			      openapi_name(&crd->arena, crd->group, kind->version, kind->kind),
			      &kind->type, err);
}

/* Returns the versions of the spec, in discovery's order. */
static const struct json **sorted_versions(struct crd *crd, const struct json *list)
{
	const struct json **sorted = ARENA_ARRAY(&crd->arena, const struct json *,
						 json_count(list) + 1);
	size_t n = 0;

	JSON_FOREACH (version, list)
		sorted[n++] = version;
	qsort(sorted, n, sizeof(*sorted), version_order);
	return sorted;
}

static int build(struct crd *crd, struct error *err)
{
	const struct json *list = json_getz(crd->spec, "versions");
	const struct json **sorted = sorted_versions(crd, list);
	const struct json *names = json_getz(crd->spec, "names");
	const struct crd_version *stored = NULL;
	int r;

	if (json_text_at(crd->accepted, "plural").n)
		names = crd->accepted;
	crd->n = json_count(list);
	crd->versions = ARENA_ARRAY(&crd->arena, struct crd_version, crd->n + 1);
	crd->kinds = ARENA_ARRAY(&crd->arena, const struct schema_kind *, crd->n + 1);
	for (size_t i = 0; i < crd->n; i++) {
		crd->kinds[i] = &crd->versions[i].kind;
		r = build_version(crd, &crd->versions[i], names, sorted[i], err);
		if (r < 0)
			return r;
		if (json_true_at(sorted[i], "storage"))
			stored = &crd->versions[i];
	}
	if (!stored)
		return error_set(err, ERR_INVALID, "no version is the storage version");
	for (size_t i = 0; i < crd->n; i++)
		crd->versions[i].kind.storage = &stored->kind;
	build_selectables(crd, list);
	return 0;
}

/* --- life cycle ------------------------------------------------------------------- */

static const struct json *crd_copy_of(struct crd *crd, const struct json *tree)
{
	struct json *copy = NULL;

	if (tree)
		(void)json_copy(&crd->arena, tree, &copy, NULL);
	return copy;
}

int crd_compile(const struct json *definition, const struct gates *gates, struct crd **ret_crd,
		struct error *err)
{
	const struct json *meta = json_getz(definition, "metadata");
	CLEANUP(crd_unref) struct crd *crd = XNEW(struct crd);
	int r;

	atomic_init(&crd->refs, 1);
	arena_init(&crd->arena, REQUEST_WORK_MAX);
	crd->spec = crd_copy_of(crd, json_getz(definition, "spec"));
	crd->accepted = crd_copy_of(crd,
				    json_getz(json_getz(definition, "status"), "acceptedNames"));
	if (!json_is(crd->spec, JSON_OBJECT))
		return error_set(err, ERR_INVALID, "the definition has no spec");
	crd->group = json_text_at(crd->spec, "group");
	crd->name = arena_str(&crd->arena, json_text_at(meta, "name"));
	crd->uid = arena_str(&crd->arena, json_text_at(meta, "uid"));
	r = build(crd, err);
	if (r < 0)
		return error_wrap(err, r, "%.*s", STR_ARG(crd->name));
	*ret_crd = TAKE(crd);
	return 0;
}

struct crd *crd_ref(struct crd *crd)
{
	atomic_fetch_add_explicit(&crd->refs, 1, memory_order_relaxed);
	return crd;
}

void crd_unref(struct crd *crd)
{
	if (!crd || atomic_fetch_sub_explicit(&crd->refs, 1, memory_order_acq_rel) != 1)
		return;
	arena_release(&crd->arena);
	free(crd);
}

/* --- reading ---------------------------------------------------------------------- */

struct crd *crd_of(const struct schema_kind *kind)
{
	return (struct crd *)kind->custom;
}

const struct schema_kind *const *crd_kinds(const struct crd *crd, size_t *ret_n)
{
	*ret_n = crd->n;
	return crd->kinds;
}

bool crd_served(const struct crd *crd, size_t i)
{
	return crd->versions[i].served;
}

struct str crd_deprecation(const struct crd *crd, size_t i)
{
	return crd->versions[i].deprecation;
}

const struct json *crd_openapi(const struct crd *crd, size_t i)
{
	return crd->versions[i].openapi;
}

struct str crd_name(const struct crd *crd)
{
	return crd->name;
}

struct str crd_group(const struct crd *crd)
{
	return crd->group;
}

struct str crd_uid(const struct crd *crd)
{
	return crd->uid;
}

bool crd_is_made_of(const struct crd *crd, const struct json *definition)
{
	const struct json *names = json_getz(json_getz(definition, "status"), "acceptedNames");

	return json_equal(crd->spec, json_getz(definition, "spec")) &&
	       json_equal(crd->accepted, names);
}

bool crd_takes_resource(const struct crd *crd, struct str name)
{
	return str_eq(json_text_at(crd->accepted, "plural"), name) ||
	       str_eq(json_text_at(crd->accepted, "singular"), name) ||
	       json_has_text(json_getz(crd->accepted, "shortNames"), name);
}

bool crd_takes_kind(const struct crd *crd, struct str name)
{
	return str_eq(json_text_at(crd->accepted, "kind"), name) ||
	       str_eq(json_text_at(crd->accepted, "listKind"), name);
}
