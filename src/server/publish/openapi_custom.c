/*
 * Custom kinds in OpenAPI: the structural schema of their definition, with the members that every
 * object has. v3 can express everything in a structural schema. Clients of v2 (kubectl before
 * 1.25 validates with it) reject what they do not understand. So, as upstream does, v2 leaves out
 * everything that it cannot express, with its consequences: it says nothing about a value that
 * may be null or may have unknown fields.
 */
#include "api/crd/crd.h"
#include "server/publish/openapi_impl.h"

struct custom_print {
	struct openapi_print *p;
	/* A compiled-in kind's type: has apiVersion, kind, metadata. */
	const struct schema_type *like;
};

static void put_raw(struct custom_print *c, const struct json *member)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4UL << 20);

	if (json_print(&text, member, NULL) < 0)
		return;
	json_writer_key(c->p->w, json_key(member));
	json_writer_raw(c->p->w, buf_str(&text));
}

/* --- members ------------------------------------------------------------------------ */

/* Attributes of a schema for objects, beside its properties. */
struct reading {
	bool root; /* a whole object */
	bool embedded; /* an embedded object */
	bool shut; /* v2: nothing is said about its content */
	bool typeless; /* v2: nor about its type */
};

static struct reading read_props(const struct custom_print *c, const struct json *props, bool root)
{
	struct str type = json_text_at(props, "type");
	bool preserve = json_true_at(props, "x-kubernetes-preserve-unknown-fields");
	bool nullable = json_true_at(props, "nullable");
	struct reading r = { .root = root };

	r.embedded = json_true_at(props, "x-kubernetes-embedded-resource") &&
		     (c->p->v3 || !preserve);
	if (c->p->v3)
		return r;
	r.shut = nullable || preserve;
	r.typeless = nullable || (preserve && str_eqz(type, "object")) ||
		     (str_eqz(type, "array") && (r.shut || !json_getz(props, "items")));
	return r;
}

static bool is_dropped(const struct custom_print *c, const struct reading *r, struct str key)
{
	static const char *const junctors[] = { "allOf", "anyOf", "oneOf", "not" };

	if (c->p->v3)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(junctors); i++)
		if (str_eqz(key, junctors[i]))
			return true;
	return str_eqz(key, "nullable") || str_eqz(key, "default") ||
	       (r->typeless && str_eqz(key, "type")) ||
	       (r->shut && (str_eqz(key, "items") || str_eqz(key, "properties")));
}

/* --- printing ----------------------------------------------------------------------- */

static void put_props(struct custom_print *c, const struct json *props, bool root);

static void put_meta(struct custom_print *c)
{
	static const char *const names[] = { "apiVersion", "kind", "metadata" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		openapi_put_field(c->p, schema_field(c->like, str_from(names[i])));
}

static bool is_meta(struct str name)
{
	return str_eqz(name, "apiVersion") || str_eqz(name, "kind") || str_eqz(name, "metadata");
}

static void put_properties(struct custom_print *c, const struct json *properties,
			   const struct reading *r)
{
	bool meta = r->root || r->embedded;

	json_writer_keyz(c->p->w, "properties");
	json_writer_begin_object(c->p->w);
	if (meta)
		put_meta(c);
	JSON_FOREACH (f, properties) {
		if (meta && is_meta(json_key(f)))
			continue;
		json_writer_key(c->p->w, json_key(f));
		put_props(c, f, false);
	}
	json_writer_end_object(c->p->w);
}

/* v2 has no null, so a nullable value is not required there. */
static bool is_required(const struct custom_print *c, const struct json *props, struct str name)
{
	const struct json *f = json_get(json_getz(props, "properties"), name);

	return c->p->v3 || !json_true_at(f, "nullable");
}

static void put_required(struct custom_print *c, const struct json *props, const struct reading *r)
{
	const struct json *required = json_getz(props, "required");
	bool kind = r->embedded, api_version = r->embedded, any = r->embedded;

	JSON_FOREACH (name, required) {
		kind = kind && !str_eqz(json_str(name), "kind");
		api_version = api_version && !str_eqz(json_str(name), "apiVersion");
		any = any || is_required(c, props, json_str(name));
	}
	if (!any)
		return;
	json_writer_keyz(c->p->w, "required");
	json_writer_begin_array(c->p->w);
	JSON_FOREACH (name, required)
		if (is_required(c, props, json_str(name)))
			json_writer_str(c->p->w, json_str(name));
	if (kind)
		json_writer_strz(c->p->w, "kind");
	if (api_version)
		json_writer_strz(c->p->w, "apiVersion");
	json_writer_end_array(c->p->w);
}

/* The definition may omit this. */
static void put_int_or_string(struct custom_print *c, const struct json *props)
{
	if (!c->p->v3 || !json_true_at(props, "x-kubernetes-int-or-string") ||
	    json_getz(props, "anyOf") || json_getz(props, "allOf"))
		return;
	json_writer_keyz(c->p->w, "anyOf");
	json_writer_raw(c->p->w, STR("[{\"type\":\"integer\"},{\"type\":\"string\"}]"));
}

static void put_member(struct custom_print *c, const struct json *member)
{
	struct str key = json_key(member);

	if (json_is(member, JSON_OBJECT) &&
	    (str_eqz(key, "items") || str_eqz(key, "additionalProperties"))) {
		json_writer_key(c->p->w, key);
		put_props(c, member, false);
	} else {
		put_raw(c, member);
	}
}

static void put_members(struct custom_print *c, const struct json *props, bool root)
{
	struct reading r = read_props(c, props, root);

	JSON_FOREACH (member, props) {
		struct str key = json_key(member);

		if (str_eqz(key, "properties") || str_eqz(key, "required") ||
		    is_dropped(c, &r, key))
			continue;
		put_member(c, member);
	}
	if (!r.shut && (root || r.embedded || json_getz(props, "properties")))
		put_properties(c, json_getz(props, "properties"), &r);
	put_required(c, props, &r);
	put_int_or_string(c, props);
}

static void put_props(struct custom_print *c, const struct json *props, bool root)
{
	json_writer_begin_object(c->p->w);
	put_members(c, props, root);
	json_writer_end_object(c->p->w);
}

/* --- types ---------------------------------------------------------------------------- */

static void put_kinds(struct openapi_print *p, const struct schema_kind *k, struct str kind)
{
	json_writer_keyz(p->w, "x-kubernetes-group-version-kind");
	json_writer_begin_array(p->w);
	openapi_put_gvk(p, k->group, k->version, kind);
	json_writer_end_array(p->w);
	if (!k->nselectables)
		return;
	json_writer_keyz(p->w, "x-kubernetes-selectable-fields");
	json_writer_begin_array(p->w);
	for (size_t i = 0; i < k->nselectables; i++) {
		json_writer_begin_object(p->w);
		openapi_put(p, "fieldPath", k->selectables[i].path);
		json_writer_end_object(p->w);
	}
	json_writer_end_array(p->w);
}

static const struct json *props_of(const struct schema_kind *k)
{
	const struct crd *crd = crd_of(k);
	size_t n;
	const struct schema_kind *const *kinds = crd_kinds(crd, &n);

	for (size_t i = 0; i < n; i++)
		if (kinds[i] == k)
			return crd_openapi(crd, i);
	return NULL;
}

/*
 * If nothing is known, or in v2 not everything, no members are listed: kubectl would take them
 * for the only ones.
 */
static void put_object(struct custom_print *c, const struct schema_kind *k)
{
	const struct json *props = props_of(k);
	bool open = json_true_at(props, "x-kubernetes-preserve-unknown-fields");

	json_writer_key(c->p->w, k->type->openapi);
	json_writer_begin_object(c->p->w);
	if (!props || (open && !c->p->v3))
		openapi_put(c->p, "type", STR("object"));
	else
		put_members(c, props, true);
	put_kinds(c->p, k, k->kind);
	json_writer_end_object(c->p->w);
}

struct str openapi_list_name(const struct schema_kind *k, struct buf *buffer)
{
	struct str own = k->type->openapi;

	buf_clear(buffer);
	(void)buf_add(buffer, own.p, own.n - k->kind.n);
	(void)buf_add_str(buffer, k->list_kind);
	return buf_str(buffer);
}

static void put_items(struct openapi_print *p, const struct schema_kind *k)
{
	json_writer_keyz(p->w, "items");
	json_writer_begin_object(p->w);
	openapi_put(p, "description", STR("The objects."));
	openapi_put(p, "type", STR("array"));
	json_writer_keyz(p->w, "items");
	json_writer_begin_object(p->w);
	openapi_put_ref(p, k->type->openapi);
	json_writer_end_object(p->w);
	json_writer_end_object(p->w);
}

static void put_list(struct custom_print *c, const struct schema_kind *k)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(1024);
	const struct schema_kind *like = schema_find_kind(STR("v1"), STR("ConfigMapList"));
	struct openapi_print *p = c->p;
	char doc[256];

	(void)snprintf(doc, sizeof(doc), "A list of %.*s.", STR_ARG(k->kind));
	json_writer_key(p->w, openapi_list_name(k, &name));
	json_writer_begin_object(p->w);
	openapi_put(p, "description", str_from(doc));
	openapi_put(p, "type", STR("object"));
	json_writer_keyz(p->w, "required");
	json_writer_raw(p->w, STR("[\"items\"]"));
	json_writer_keyz(p->w, "properties");
	json_writer_begin_object(p->w);
	openapi_put_field(p, schema_field(c->like, STR("apiVersion")));
	put_items(p, k);
	openapi_put_field(p, schema_field(c->like, STR("kind")));
	openapi_put_field(p, schema_field(like->type, STR("metadata")));
	json_writer_end_object(p->w);
	put_kinds(p, k, k->list_kind);
	json_writer_end_object(p->w);
}

void openapi_put_custom(struct openapi_print *p, const struct schema_kind *k)
{
	struct custom_print c = {
		.p = p,
		.like = schema_find_kind(STR("v1"), STR("ConfigMap"))->type,
	};

	put_object(&c, k);
	put_list(&c, k);
}
