/*
 * The types of a document are collected from its kinds: v3 has one document per group version,
 * and each must be complete in itself. Types without a table (times, quantities) are a short list
 * at the end.
 */
#include "base/core/map.h"
#include "base/core/vec.h"
#include "server/publish/openapi_impl.h"

struct type_set {
	struct map seen; /* by OpenAPI name */
	VEC(const struct schema_type *) list;
};

/* --- collecting types ---------------------------------------------------------------- */

static void add_type(struct type_set *set, const struct schema_type *t)
{
	if (!t || map_get(&set->seen, t->openapi))
		return;
	(void)map_put(&set->seen, t->openapi, (void *)t);
	(void)vec_push(&set->list, t);
}

static const struct schema_type *type_of(struct str group, struct str version, struct str kind)
{
	const struct schema_kind *k;
	char api_version[256];

	(void)snprintf(api_version, sizeof(api_version), "%.*s%s%.*s", STR_ARG(group),
		       group.n ? "/" : "", STR_ARG(version));
	k = schema_find_kind(str_from(api_version), kind);
	return k ? k->type : NULL;
}

static void add_kind(struct type_set *set, const struct schema_kind *k)
{
	if (k->custom) {
		add_type(set, schema_object_meta());
		add_type(set, schema_type_find(STR(OPENAPI_META "ListMeta")));
	} else {
		add_type(set, k->type);
		if (k->list_kind.n)
			add_type(set, type_of(k->group, k->version, k->list_kind));
	}
	for (size_t i = 0; i < k->nsubresources; i++)
		if (!k->subresources[i].connect)
			add_type(set, type_of(k->subresources[i].group, k->subresources[i].version,
					      k->subresources[i].kind));
}

/* The list grows during the iteration: added types are visited in turn. */
static void openapi_types_collect(const struct openapi_print *p, struct type_set *set)
{
	for (size_t i = 0; i < p->nkinds; i++)
		if (openapi_has_kind(p, p->kinds[i]))
			add_kind(set, p->kinds[i]);
	add_type(set, schema_delete_options());
	add_type(set, type_of(STR(""), STR("v1"), STR("Status")));
	for (size_t i = 0; i < set->list.n; i++) {
		const struct schema_type *t = set->list.v[i];

		for (size_t j = 0; j < t->nfields; j++)
			add_type(set, t->fields[j].type);
	}
}

static int order(const void *a, const void *b)
{
	const struct schema_type *const *x = a, *const *y = b;

	return str_cmp((*x)->openapi, (*y)->openapi);
}

/* --- values -------------------------------------------------------------------------- */

/* The description of a value that is not one of our objects: a type and format, or a reference. */
static const struct {
	const char *type, *format, *ref;
} values[] = {
	[SCHEMA_STRING] = { "string", NULL, NULL },
	[SCHEMA_BOOL] = { "boolean", NULL, NULL },
	[SCHEMA_INT32] = { "integer", "int32", NULL },
	[SCHEMA_INT64] = { "integer", "int64", NULL },
	[SCHEMA_DOUBLE] = { "number", "double", NULL },
	[SCHEMA_BYTES] = { "string", "byte", NULL },
	[SCHEMA_TIME] = { NULL, NULL, OPENAPI_META "Time" },
	[SCHEMA_MICRO_TIME] = { NULL, NULL, OPENAPI_META "MicroTime" },
	[SCHEMA_DURATION] = { NULL, NULL, OPENAPI_META "Duration" },
	[SCHEMA_QUANTITY] = { NULL, NULL, "io.k8s.apimachinery.pkg.api.resource.Quantity" },
	[SCHEMA_INT_OR_STRING] = { NULL, NULL, "io.k8s.apimachinery.pkg.util.intstr.IntOrString" },
	[SCHEMA_RAW_OBJECT] = { NULL, NULL, "io.k8s.apimachinery.pkg.runtime.RawExtension" },
	[SCHEMA_ANY] = { NULL, NULL,
			 "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON" },
	[SCHEMA_OBJECT] = { NULL, NULL, NULL },
	[SCHEMA_PROPS_OR_LIST] = { NULL, NULL,
				   "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
				   "JSONSchemaPropsOrArray" },
	[SCHEMA_PROPS_OR_BOOL] = { NULL, NULL,
				   "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
				   "JSONSchemaPropsOrBool" },
	[SCHEMA_PROPS_OR_STRINGS] = { NULL, NULL,
				      "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
				      "JSONSchemaPropsOrStringArray" },
};

static void put_enum(struct openapi_print *p, const struct schema_field *f)
{
	if (!f->rules || !f->rules->values)
		return;
	json_writer_keyz(p->w, "enum");
	json_writer_begin_array(p->w);
	for (const struct str *v = f->rules->values; v->p; v++)
		json_writer_str(p->w, *v);
	json_writer_end_array(p->w);
}

/*
 * The members that describe one value. In v3 a reference may have no other members beside it, so
 * with `beside` it is wrapped.
 */
static void put_value(struct openapi_print *p, const struct schema_field *f, bool beside)
{
	struct str ref = f->value == SCHEMA_OBJECT ? f->type->openapi
						   : str_from(values[f->value].ref);

	if (ref.p && p->v3 && beside) {
		json_writer_keyz(p->w, "allOf");
		json_writer_begin_array(p->w);
		json_writer_begin_object(p->w);
		openapi_put_ref(p, ref);
		json_writer_end_object(p->w);
		json_writer_end_array(p->w);
	} else if (ref.p) {
		openapi_put_ref(p, ref);
	} else {
		openapi_put(p, "type", str_from(values[f->value].type));
		if (values[f->value].format)
			openapi_put(p, "format", str_from(values[f->value].format));
		put_enum(p, f);
	}
}

/* `"key":{one value}` */
static void put_inner(struct openapi_print *p, const char *key, const struct schema_field *f)
{
	json_writer_keyz(p->w, key);
	json_writer_begin_object(p->w);
	if (f->shape == SCHEMA_MAP_OF_LISTS) {
		openapi_put(p, "type", STR("array"));
		json_writer_keyz(p->w, "items");
		json_writer_begin_object(p->w);
		put_value(p, f, false);
		json_writer_end_object(p->w);
	} else {
		put_value(p, f, false);
	}
	json_writer_end_object(p->w);
}

/* --- fields -------------------------------------------------------------------------- */

static void put_list_type(struct openapi_print *p, const struct schema_field *f)
{
	static const char *const names[] = { [SCHEMA_GRANULAR] = "atomic",
					     [SCHEMA_ATOMIC] = "atomic",
					     [SCHEMA_LIST_SET] = "set",
					     [SCHEMA_LIST_MAP] = "map" };

	openapi_put(p, "x-kubernetes-list-type", str_from(names[f->merge]));
	if (f->merge != SCHEMA_LIST_MAP)
		return;
	json_writer_keyz(p->w, "x-kubernetes-list-map-keys");
	json_writer_begin_array(p->w);
	for (const struct str *key = f->list_keys; key->p; key++)
		json_writer_str(p->w, *key);
	json_writer_end_array(p->w);
}

static void put_patch_strategy(struct openapi_print *p, const struct schema_field *f)
{
	if (f->patch_key.p)
		openapi_put(p, "x-kubernetes-patch-merge-key", f->patch_key);
	if (f->patch_merge && f->patch_retain_keys)
		openapi_put(p, "x-kubernetes-patch-strategy", STR("merge,retainKeys"));
	else if (f->patch_merge)
		openapi_put(p, "x-kubernetes-patch-strategy", STR("merge"));
	else if (f->patch_retain_keys)
		openapi_put(p, "x-kubernetes-patch-strategy", STR("retainKeys"));
	else if (f->patch_replace)
		openapi_put(p, "x-kubernetes-patch-strategy", STR("replace"));
}

/* A field's map type, if it adds to the type's own; else NULL. */
static const char *map_type(const struct schema_field *f)
{
	bool by_type = f->shape == SCHEMA_ONE && f->type && f->type->atomic;

	if (f->shape == SCHEMA_LIST || (f->merge == SCHEMA_ATOMIC) == by_type)
		return NULL;
	return by_type ? "granular" : "atomic";
}

void openapi_put_field(struct openapi_print *p, const struct schema_field *f)
{
	bool initial = p->v3 && f->rules && f->rules->initial.p;
	bool beside = f->doc || initial || f->patch_merge || f->patch_retain_keys ||
		      f->patch_replace || map_type(f);

	json_writer_key(p->w, f->name);
	json_writer_begin_object(p->w);
	if (f->doc)
		openapi_put(p, "description", str_from(f->doc));
	if (f->shape == SCHEMA_ONE) {
		put_value(p, f, beside);
	} else if (f->shape == SCHEMA_LIST) {
		openapi_put(p, "type", STR("array"));
		put_inner(p, "items", f);
		put_list_type(p, f);
	} else {
		openapi_put(p, "type", STR("object"));
		put_inner(p, "additionalProperties", f);
	}
	if (initial) {
		json_writer_keyz(p->w, "default");
		json_writer_raw(p->w, f->rules->initial);
	}
	if (map_type(f))
		openapi_put(p, "x-kubernetes-map-type", str_from(map_type(f)));
	put_patch_strategy(p, f);
	json_writer_end_object(p->w);
}

/* --- types --------------------------------------------------------------------------- */

static void put_properties(struct openapi_print *p, const struct schema_type *t)
{
	bool any = false;

	json_writer_keyz(p->w, "properties");
	json_writer_begin_object(p->w);
	for (size_t i = 0; i < t->nfields; i++) {
		openapi_put_field(p, &t->fields[t->by_name[i]]);
		any = any || (t->fields[i].flags & SCHEMA_DECLARED);
	}
	json_writer_end_object(p->w);
	if (!any)
		return;
	json_writer_keyz(p->w, "required");
	json_writer_begin_array(p->w);
	for (size_t i = 0; i < t->nfields; i++)
		if (t->fields[i].flags & SCHEMA_DECLARED)
			json_writer_str(p->w, t->fields[i].name);
	json_writer_end_array(p->w);
}

static void put_kinds(struct openapi_print *p, const struct schema_type *t)
{
	const struct schema_kind *k = schema_kind_of(t);

	if (!k)
		return;
	json_writer_keyz(p->w, "x-kubernetes-group-version-kind");
	json_writer_begin_array(p->w);
	/* Kinds of meta_v1 are listed in the legacy core group. */
	if (str_eqz(k->group, "meta.k8s.io"))
		openapi_put_gvk(p, STR(""), STR("v1"), k->kind);
	else
		openapi_put_gvk(p, k->group, k->version, k->kind);
	json_writer_end_array(p->w);
}

static void put_type(struct openapi_print *p, const struct schema_type *t)
{
	json_writer_key(p->w, t->openapi);
	json_writer_begin_object(p->w);
	if (t->doc)
		openapi_put(p, "description", str_from(t->doc));
	openapi_put(p, "type", STR("object"));
	if (t->nfields)
		put_properties(p, t);
	put_kinds(p, t);
	if (t->atomic)
		openapi_put(p, "x-kubernetes-map-type", STR("atomic"));
	if (t->preserve) {
		json_writer_keyz(p->w, "x-kubernetes-preserve-unknown-fields");
		json_writer_bool(p->w, true);
	}
	json_writer_end_object(p->w);
}

/* --- types without a table ------------------------------------------------------------- */

/* In v3 a value may have either of two types; v2 cannot express that. */
static const struct {
	const char *name, *v2, *v3;
} others[] = {
	{ OPENAPI_META "Duration", "{\"type\":\"string\"}", NULL },
	{ OPENAPI_META "MicroTime", "{\"type\":\"string\",\"format\":\"date-time\"}", NULL },
	{ OPENAPI_META "Patch",
	  "{\"description\":\"The changes to make, in the form that the Content-Type names.\","
	  "\"type\":\"object\"}",
	  NULL },
	{ OPENAPI_META "Time", "{\"type\":\"string\",\"format\":\"date-time\"}", NULL },
	{ "io.k8s.apimachinery.pkg.api.resource.Quantity", "{\"type\":\"string\"}",
	  "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}" },
	{ "io.k8s.apimachinery.pkg.runtime.RawExtension", "{\"type\":\"object\"}", NULL },
	{ "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
	  "{\"type\":\"string\",\"format\":\"int-or-string\"}",
	  "{\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]"
	  "}" },
	{ "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
	  "{\"description\":\"Any JSON value.\"}", NULL },
	{ "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
	  "{\"description\":\"JSONSchemaProps, or a list of them.\"}", NULL },
	{ "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
	  "{\"description\":\"JSONSchemaProps, or a boolean.\"}", NULL },
	{ "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
	  "{\"description\":\"JSONSchemaProps, or a list of strings.\"}", NULL },
};

void openapi_print_types(struct openapi_print *p)
{
	struct type_set set;

	map_init(&set.seen);
	vec_init(&set.list, SIZE_MAX);
	openapi_types_collect(p, &set);
	qsort(set.list.v, set.list.n, sizeof(*set.list.v), order);
	json_writer_begin_object(p->w);
	for (size_t i = 0; i < set.list.n; i++)
		put_type(p, set.list.v[i]);
	for (size_t i = 0; i < p->nkinds; i++)
		if (p->kinds[i]->custom && openapi_has_kind(p, p->kinds[i]))
			openapi_put_custom(p, p->kinds[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const char *text = p->v3 && others[i].v3 ? others[i].v3 : others[i].v2;

		json_writer_keyz(p->w, others[i].name);
		json_writer_raw(p->w, str_from(text));
	}
	json_writer_end_object(p->w);
	vec_release(&set.list);
	map_release(&set.seen);
}
