/*
 * A resource has three kinds of paths: its collection (twice, if it is namespaced), one object,
 * and the subresources of one object. A table lists the operations, and a kind's verbs choose
 * from it.
 */
#include "server/publish/openapi_impl.h"

/* Query parameters of operations, as bits of struct operation. */
enum {
	TAKES_LIST = 1 << 0,
	TAKES_WRITE = 1 << 1, /* dryRun, fieldManager, fieldValidation */
	TAKES_FORCE = 1 << 2,
	TAKES_DELETE = 1 << 3,
	TAKES_PRETTY = 1 << 4, /* every path has it */
	TAKES_WATCH = 1 << 5,
};

static const struct {
	const char *name, *type;
	unsigned of;
} parameters[] = {
	{ "allowWatchBookmarks", "boolean", TAKES_WATCH },
	{ "continue", "string", TAKES_LIST },
	{ "dryRun", "string", TAKES_WRITE | TAKES_DELETE },
	{ "fieldManager", "string", TAKES_WRITE },
	{ "fieldSelector", "string", TAKES_LIST },
	{ "fieldValidation", "string", TAKES_WRITE },
	{ "force", "boolean", TAKES_FORCE },
	{ "gracePeriodSeconds", "integer", TAKES_DELETE },
	{ "labelSelector", "string", TAKES_LIST },
	{ "limit", "integer", TAKES_LIST },
	{ "orphanDependents", "boolean", TAKES_DELETE },
	{ "pretty", "string", TAKES_PRETTY },
	{ "propagationPolicy", "string", TAKES_DELETE },
	{ "resourceVersion", "string", TAKES_LIST },
	{ "resourceVersionMatch", "string", TAKES_LIST },
	{ "sendInitialEvents", "boolean", TAKES_LIST },
	{ "timeoutSeconds", "integer", TAKES_LIST },
	{ "watch", "boolean", TAKES_WATCH },
};

enum body { BODY_NONE, BODY_OBJECT, BODY_PATCH, BODY_OPTIONS };
enum answer { ANSWER_OBJECT, ANSWER_LIST, ANSWER_DELETED, ANSWER_STATUS };

struct operation {
	unsigned verb; /* of the kind; SCHEMA_* */
	const char *method;
	const char *action; /* x-kubernetes-action */
	const char *id[2]; /* parts of operationId: before group and version, and after */
	const char *doc; /* a sentence that ends with the kind */
	unsigned takes;
	enum body body;
	enum answer answer;
	const char *codes[3]; /* for success */
};

static const struct operation of_collection[] = {
	{ SCHEMA_LIST_VERB,
	  "get",
	  "list",
	  { "list", "" },
	  "Lists or watches objects of kind",
	  TAKES_LIST | TAKES_WATCH,
	  BODY_NONE,
	  ANSWER_LIST,
	  { "200" } },
	{ SCHEMA_CREATE,
	  "post",
	  "post",
	  { "create", "" },
	  "Creates an object of kind",
	  TAKES_WRITE,
	  BODY_OBJECT,
	  ANSWER_OBJECT,
	  { "200", "201", "202" } },
	{ SCHEMA_DELETE_COLLECTION,
	  "delete",
	  "deletecollection",
	  { "delete", "Collection" },
	  "Deletes all selected objects of kind",
	  TAKES_LIST | TAKES_DELETE,
	  BODY_OPTIONS,
	  ANSWER_STATUS,
	  { "200" } },
};

static const struct operation of_object[] = {
	{ SCHEMA_GET,
	  "get",
	  "get",
	  { "read", "" },
	  "Reads an object of kind",
	  0,
	  BODY_NONE,
	  ANSWER_OBJECT,
	  { "200" } },
	{ SCHEMA_UPDATE,
	  "put",
	  "put",
	  { "replace", "" },
	  "Replaces an object of kind",
	  TAKES_WRITE,
	  BODY_OBJECT,
	  ANSWER_OBJECT,
	  { "200", "201" } },
	{ SCHEMA_PATCH,
	  "patch",
	  "patch",
	  { "patch", "" },
	  "Changes parts of an object of kind",
	  TAKES_WRITE | TAKES_FORCE,
	  BODY_PATCH,
	  ANSWER_OBJECT,
	  { "200", "201" } },
	{ SCHEMA_DELETE,
	  "delete",
	  "delete",
	  { "delete", "" },
	  "Deletes an object of kind",
	  TAKES_DELETE,
	  BODY_OPTIONS,
	  ANSWER_DELETED,
	  { "200", "202" } },
	/* Only subresources are created under the name of an object. */
	{ SCHEMA_CREATE,
	  "post",
	  "post",
	  { "create", "" },
	  "Creates an object of kind",
	  TAKES_WRITE,
	  BODY_OBJECT,
	  ANSWER_OBJECT,
	  { "200", "201", "202" } },
};

/* The last one needs a schema that defines how lists merge, which custom kinds do not have. */
static const char *const patch_types[] = {
	"application/apply-patch+yaml",
	"application/json-patch+json",
	"application/merge-patch+json",
	"application/strategic-merge-patch+json",
};

static size_t npatch_types(const struct schema_kind *k)
{
	return ARRAY_SIZE(patch_types) - (k->custom ? 1 : 0);
}

static const char *const answer_types[] = { "application/json", "application/yaml" };

/* The names and types of the bodies at a path. */
struct place {
	const struct schema_kind *kind;
	struct str group, version, name; /* the kind of the body */
	struct str type, list_type; /* OpenAPI names */
	const char *suffix; /* of operationId: "Status", "ForAllNamespaces" */
	bool namespaced;
};

/* --- names --------------------------------------------------------------------------- */

/* "rbac.authorization.k8s.io" as RbacAuthorization or, for tags, as rbacAuthorization. */
static void add_group_word(struct buf *out, struct str group, bool capital)
{
	const struct str suffix = STR(".k8s.io");

	if (!group.n)
		group = STR("core");
	if (str_ends(group, suffix))
		group.n -= suffix.n;
	for (size_t i = 0; i < group.n; i++) {
		char c = group.p[i];

		if (c == '.') {
			capital = true;
			continue;
		}
		(void)buf_addc(out, (char)(capital && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c));
		capital = false;
	}
}

static void add_capitalised(struct buf *out, struct str word)
{
	if (!word.n)
		return;
	(void)buf_addc(out,
		       (char)(*word.p >= 'a' && *word.p <= 'z' ? *word.p - 'a' + 'A' : *word.p));
	(void)buf_add_str(out, str_skip(word, 1));
}

static void put_names(struct openapi_print *p, const struct place *at, const struct operation *op)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);

	(void)buf_addz(&text, op->id[0]);
	add_group_word(&text, at->kind->group, true);
	add_capitalised(&text, at->kind->version);
	(void)buf_addz(&text, op->id[1]);
	(void)buf_addz(&text, at->namespaced ? "Namespaced" : "");
	(void)buf_add_str(&text, at->kind->kind);
	(void)buf_addz(&text, at->suffix);
	openapi_put(p, "operationId", buf_str(&text));
	buf_clear(&text);
	add_group_word(&text, at->kind->group, false);
	(void)buf_addc(&text, '_');
	(void)buf_add_str(&text, at->kind->version);
	json_writer_keyz(p->w, "tags");
	json_writer_begin_array(p->w);
	json_writer_str(p->w, buf_str(&text));
	json_writer_end_array(p->w);
}

static void put_words(struct openapi_print *p, const char *key, const char *const *words, size_t n)
{
	json_writer_keyz(p->w, key);
	json_writer_begin_array(p->w);
	for (size_t i = 0; i < n; i++)
		json_writer_strz(p->w, words[i]);
	json_writer_end_array(p->w);
}

/* --- parameters ------------------------------------------------------------------------ */

static void put_parameter(struct openapi_print *p, const char *name, const char *in,
			  const char *type)
{
	json_writer_begin_object(p->w);
	openapi_put(p, "name", str_from(name));
	openapi_put(p, "in", str_from(in));
	if (strcmp(in, "path") == 0) {
		json_writer_keyz(p->w, "required");
		json_writer_bool(p->w, true);
	}
	if (p->v3) {
		json_writer_keyz(p->w, "schema");
		json_writer_begin_object(p->w);
	}
	openapi_put(p, "type", str_from(type));
	json_writer_keyz(p->w, "uniqueItems");
	json_writer_bool(p->w, true);
	if (p->v3)
		json_writer_end_object(p->w);
	json_writer_end_object(p->w);
}

static void put_query(struct openapi_print *p, unsigned takes)
{
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (parameters[i].of & takes)
			put_parameter(p, parameters[i].name, "query", parameters[i].type);
}

/* The parameters that all operations of a path share. */
static void put_path_parameters(struct openapi_print *p, bool named, bool namespaced)
{
	json_writer_keyz(p->w, "parameters");
	json_writer_begin_array(p->w);
	if (named)
		put_parameter(p, "name", "path", "string");
	if (namespaced)
		put_parameter(p, "namespace", "path", "string");
	put_query(p, TAKES_PRETTY);
	json_writer_end_array(p->w);
}

/* --- bodies and answers ------------------------------------------------------------------ */

/* `"schema":{"$ref":..}` */
static void put_schema(struct openapi_print *p, struct str type)
{
	json_writer_keyz(p->w, "schema");
	json_writer_begin_object(p->w);
	openapi_put_ref(p, type);
	json_writer_end_object(p->w);
}

/* v3: `"content":{"application/json":{"schema":..},..}` */
static void put_content(struct openapi_print *p, const char *const *types, size_t n,
			struct str type)
{
	json_writer_keyz(p->w, "content");
	json_writer_begin_object(p->w);
	for (size_t i = 0; i < n; i++) {
		json_writer_keyz(p->w, types[i]);
		json_writer_begin_object(p->w);
		put_schema(p, type);
		json_writer_end_object(p->w);
	}
	json_writer_end_object(p->w);
}

static struct str body_type(const struct place *at, const struct operation *op)
{
	if (op->body == BODY_PATCH)
		return STR(OPENAPI_PATCH);
	if (op->body == BODY_OPTIONS)
		return schema_delete_options()->openapi;
	return at->type;
}

static void put_body_v3(struct openapi_print *p, const struct place *at, const struct operation *op)
{
	static const char *const any[] = { "*/*" };
	bool patch = op->body == BODY_PATCH;

	json_writer_keyz(p->w, "requestBody");
	json_writer_begin_object(p->w);
	put_content(p, patch ? patch_types : any, patch ? npatch_types(at->kind) : 1,
		    body_type(at, op));
	if (op->body != BODY_OPTIONS) {
		json_writer_keyz(p->w, "required");
		json_writer_bool(p->w, true);
	}
	json_writer_end_object(p->w);
}

/* In v2 a body is a parameter. */
static void put_body_v2(struct openapi_print *p, const struct place *at, const struct operation *op)
{
	json_writer_begin_object(p->w);
	openapi_put(p, "name", STR("body"));
	openapi_put(p, "in", STR("body"));
	if (op->body != BODY_OPTIONS) {
		json_writer_keyz(p->w, "required");
		json_writer_bool(p->w, true);
	}
	put_schema(p, body_type(at, op));
	json_writer_end_object(p->w);
}

static struct str answer_type(const struct place *at, const struct operation *op)
{
	bool object = op->answer == ANSWER_OBJECT ||
		      (op->answer == ANSWER_DELETED && (at->kind->flags & SCHEMA_RETURN_DELETED));

	if (op->answer == ANSWER_LIST)
		return at->list_type;
	return object ? at->type : STR(OPENAPI_META "Status");
}

static void put_answer(struct openapi_print *p, const char *code, const char *doc, struct str type)
{
	json_writer_keyz(p->w, code);
	json_writer_begin_object(p->w);
	openapi_put(p, "description", str_from(doc));
	if (type.n && p->v3)
		put_content(p, answer_types, ARRAY_SIZE(answer_types), type);
	else if (type.n)
		put_schema(p, type);
	json_writer_end_object(p->w);
}

static void put_answers(struct openapi_print *p, const struct place *at, const struct operation *op)
{
	static const char *const docs[] = { "OK", "Created", "Accepted" };

	json_writer_keyz(p->w, "responses");
	json_writer_begin_object(p->w);
	for (size_t i = 0; i < ARRAY_SIZE(op->codes) && op->codes[i]; i++)
		put_answer(p, op->codes[i], docs[op->codes[i][2] - '0'], answer_type(at, op));
	put_answer(p, "401", "Unauthorized", STR_NULL);
	json_writer_end_object(p->w);
}

/* --- operations and paths ---------------------------------------------------------------- */

static void put_media_v2(struct openapi_print *p, const struct place *at,
			 const struct operation *op)
{
	static const char *const any[] = { "*/*" }, *const https[] = { "https" };

	if (op->body == BODY_PATCH)
		put_words(p, "consumes", patch_types, npatch_types(at->kind));
	else
		put_words(p, "consumes", any, 1);
	put_words(p, "produces", answer_types, ARRAY_SIZE(answer_types));
	put_words(p, "schemes", https, 1);
}

/* An empty list is left out: upstream's library drops it, so it would not compare equal. */
static void put_operation_parameters(struct openapi_print *p, const struct place *at,
				     const struct operation *op)
{
	bool body = op->body != BODY_NONE && !p->v3;

	if (!body && !op->takes)
		return;
	json_writer_keyz(p->w, "parameters");
	json_writer_begin_array(p->w);
	if (body)
		put_body_v2(p, at, op);
	put_query(p, op->takes);
	json_writer_end_array(p->w);
}

static void put_operation(struct openapi_print *p, const struct place *at,
			  const struct operation *op)
{
	char doc[256];

	(void)snprintf(doc, sizeof(doc), "%s %.*s.", op->doc, STR_ARG(at->name));
	json_writer_keyz(p->w, op->method);
	json_writer_begin_object(p->w);
	put_names(p, at, op);
	openapi_put(p, "description", str_from(doc));
	if (!p->v3)
		put_media_v2(p, at, op);
	put_operation_parameters(p, at, op);
	if (op->body != BODY_NONE && p->v3)
		put_body_v3(p, at, op);
	put_answers(p, at, op);
	openapi_put(p, "x-kubernetes-action", str_from(op->action));
	json_writer_keyz(p->w, "x-kubernetes-group-version-kind");
	openapi_put_gvk(p, at->group, at->version, at->name);
	json_writer_end_object(p->w);
}

static void put_path(struct openapi_print *p, struct str path, const struct place *at,
		     const struct operation *ops, size_t n, unsigned verbs)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any = any || (ops[i].verb & verbs);
	if (!any)
		return;
	json_writer_key(p->w, path);
	json_writer_begin_object(p->w);
	for (size_t i = 0; i < n; i++)
		if (ops[i].verb & verbs)
			put_operation(p, at, &ops[i]);
	put_path_parameters(p, str_find(path, STR("{name}")) >= 0, at->namespaced);
	json_writer_end_object(p->w);
}

static struct str openapi_name(struct str group, struct str version, struct str kind)
{
	const struct schema_kind *k;
	char api_version[256];

	(void)snprintf(api_version, sizeof(api_version), "%.*s%s%.*s", STR_ARG(group),
		       group.n ? "/" : "", STR_ARG(version));
	k = schema_find_kind(str_from(api_version), kind);
	return k ? k->type->openapi : STR_NULL;
}

/* `path` is that of one object. */
static void put_subresource(struct openapi_print *p, const struct place *object,
			    const struct schema_subresource *s, struct buf *path)
{
	CLEANUP(buf_release) struct buf suffix = BUF_INIT(256);
	struct place at = *object;
	size_t n = path->n;

	add_capitalised(&suffix, s->name);
	at.suffix = suffix.p;
	at.group = s->group;
	at.version = s->version;
	at.name = s->kind;
	if (!str_eq(s->kind, object->name) || !str_eq(s->group, object->group))
		at.type = openapi_name(s->group, s->version, s->kind);
	(void)buf_addc(path, '/');
	(void)buf_add_str(path, s->name);
	put_path(p, buf_str(path), &at, of_object, ARRAY_SIZE(of_object), s->verbs);
	path->n = n;
}

static void put_kind(struct openapi_print *p, const struct schema_kind *k)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(1024);
	CLEANUP(buf_release) struct buf list = BUF_INIT(1024);
	struct place at = { k,
			    k->group,
			    k->version,
			    k->kind,
			    k->type->openapi,
			    k->custom ? openapi_list_name(k, &list)
				      : openapi_name(k->group, k->version, k->list_kind),
			    "",
			    false };
	const char *root = k->group.n ? "/apis" : "/api";

	if (k->flags & SCHEMA_NAMESPACED) {
		(void)buf_printf(&path, "%s/%.*s/%.*s", root, STR_ARG(k->api_version),
				 STR_ARG(k->resource));
		at.suffix = "ForAllNamespaces";
		put_path(p, buf_str(&path), &at, of_collection, 1, k->verbs);
		at.suffix = "";
		at.namespaced = true;
		buf_clear(&path);
	}
	(void)buf_printf(&path, "%s/%.*s%s/%.*s", root, STR_ARG(k->api_version),
			 at.namespaced ? "/namespaces/{namespace}" : "", STR_ARG(k->resource));
	put_path(p, buf_str(&path), &at, of_collection, ARRAY_SIZE(of_collection), k->verbs);
	(void)buf_addz(&path, "/{name}");
	put_path(p, buf_str(&path), &at, of_object, ARRAY_SIZE(of_object),
		 k->verbs & ~(unsigned)SCHEMA_CREATE);
	for (size_t i = 0; i < k->nsubresources; i++)
		if (gates_on(p->gates, k->subresources[i].gate) && !k->subresources[i].connect)
			put_subresource(p, &at, &k->subresources[i], &path);
}

void openapi_print_paths(struct openapi_print *p)
{
	json_writer_begin_object(p->w);
	for (size_t i = 0; i < p->nkinds; i++)
		if (openapi_has_kind(p, p->kinds[i]))
			put_kind(p, p->kinds[i]);
	json_writer_end_object(p->w);
}
