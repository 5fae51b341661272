/*
 * The environment of admission. The types of `request` and `namespaceObject` are upstream's, with
 * their oddities: a namespace has a field UID, which no value has.
 */
#include "cel/kubernetes/policy.h"

#include <stdlib.h>

#include "base/json/json.h"
#include "cel/cel_limits.h"
#include "cel/kubernetes/mutation.h"
#include "cel/lib/authz.h"
#include "cel/lib/libraries.h"

#define FIELD(n, t)                                       \
	{                                                 \
		.name = { n, sizeof(n) - 1 }, .type = (t) \
	}
#define OBJECT(n, list)                                                                  \
	{                                                                                \
		.kind = CEL_TYPE_OBJECT, .name = STR("kubernetes." n), .fields = (list), \
		.nfields = ARRAY_SIZE(list)                                              \
	}

/* Fields are in byte order. */

static const struct cel_field kind_fields[] = {
	FIELD("group", &cel_string),
	FIELD("kind", &cel_string),
	FIELD("version", &cel_string),
};
static const struct cel_type kind_type = OBJECT("GroupVersionKind", kind_fields);

static const struct cel_field resource_fields[] = {
	FIELD("group", &cel_string),
	FIELD("resource", &cel_string),
	FIELD("version", &cel_string),
};
static const struct cel_type resource_type = OBJECT("GroupVersionResource", resource_fields);

static const struct cel_type extra_type = {
	.kind = CEL_TYPE_MAP,
	.name = { "map", 3 },
	.params = { &cel_string, &cel_list_string },
};
static const struct cel_type text_map = {
	.kind = CEL_TYPE_MAP,
	.name = { "map", 3 },
	.params = { &cel_string, &cel_string },
};

static const struct cel_field user_fields[] = {
	FIELD("extra", &extra_type),
	FIELD("groups", &cel_list_string),
	FIELD("uid", &cel_string),
	FIELD("username", &cel_string),
};
static const struct cel_type user_type = OBJECT("UserInfo", user_fields);

static const struct cel_field request_fields[] = {
	FIELD("dryRun", &cel_bool),
	FIELD("kind", &kind_type),
	FIELD("name", &cel_string),
	FIELD("namespace", &cel_string),
	FIELD("operation", &cel_string),
	FIELD("options", &cel_dyn),
	FIELD("requestKind", &kind_type),
	FIELD("requestResource", &resource_type),
	FIELD("requestSubResource", &cel_string),
	FIELD("resource", &resource_type),
	FIELD("subResource", &cel_string),
	FIELD("userInfo", &user_type),
};
static const struct cel_type request_type = OBJECT("AdmissionRequest", request_fields);

static const struct cel_field namespace_spec_fields[] = { FIELD("finalizers", &cel_list_string) };
static const struct cel_type namespace_spec_type = OBJECT("NamespaceSpec", namespace_spec_fields);

static const struct cel_field condition_fields[] = {
	FIELD("lastTransitionTime", &cel_timestamp),
	FIELD("message", &cel_string),
	FIELD("reason", &cel_string),
	FIELD("status", &cel_string),
	FIELD("type", &cel_string),
};
static const struct cel_type condition_type = OBJECT("NamespaceCondition", condition_fields);
static const struct cel_type conditions_type = {
	.kind = CEL_TYPE_LIST,
	.name = { "list", 4 },
	.params = { &condition_type },
};

static const struct cel_field status_fields[] = {
	FIELD("conditions", &conditions_type),
	FIELD("phase", &cel_string),
};
static const struct cel_type status_type = OBJECT("NamespaceStatus", status_fields);

static const struct cel_field metadata_fields[] = {
	FIELD("UID", &cel_string),
	FIELD("annotations", &text_map),
	FIELD("creationTimestamp", &cel_timestamp),
	FIELD("deletionGracePeriodSeconds", &cel_int),
	FIELD("deletionTimestamp", &cel_timestamp),
	FIELD("finalizers", &cel_list_string),
	FIELD("generateName", &cel_string),
	FIELD("generation", &cel_int),
	FIELD("labels", &text_map),
	FIELD("name", &cel_string),
	FIELD("namespace", &cel_string),
	FIELD("resourceVersion", &cel_string),
};
static const struct cel_type metadata_type = OBJECT("NamespaceMetadata", metadata_fields);

static const struct cel_field namespace_fields[] = {
	FIELD("metadata", &metadata_type),
	FIELD("spec", &namespace_spec_type),
	FIELD("status", &status_type),
};
static const struct cel_type namespace_type = OBJECT("Namespace", namespace_fields);

/* --- the environment ---------------------------------------------------------------- */

struct policy_env {
	struct cel_variable variables[CEL_POLICY_VARIABLES];
	struct cel_env env; /* refers to this struct, which must not move */
};

static struct cel_variable given(bool is, const char *name, const struct cel_type *type)
{
	return (struct cel_variable){ is ? str_from(name) : STR(""), is ? type : &cel_dyn };
}

static void init_env(struct policy_env *e, struct cel_policy_options o)
{
	struct cel_variable *v = e->variables;

	v[CEL_POLICY_OBJECT] = given(true, "object", &cel_dyn);
	v[CEL_POLICY_OLD_OBJECT] = given(true, "oldObject", &cel_dyn);
	v[CEL_POLICY_REQUEST] = given(true, "request", &request_type);
	v[CEL_POLICY_NAMESPACE] = given(true, "namespaceObject", &namespace_type);
	v[CEL_POLICY_PARAMS] = given(o.params, "params", &cel_dyn);
	v[CEL_POLICY_AUTHORIZER] = given(o.authorizer, "authorizer", &cel_authorizer_type);
	v[CEL_POLICY_REQUEST_RESOURCE] = given(o.authorizer, "authorizer.requestResource",
					       &cel_resource_check_type);
	v[CEL_POLICY_NAMED] = given(o.named, "variables", o.named);
	e->env = (struct cel_env){
		.libraries = o.mutates ? cel_libraries_mutation : cel_libraries_kubernetes,
		.find_message = o.mutates ? cel_mutation_message : NULL,
		.variables = v,
		.nvariables = CEL_POLICY_VARIABLES,
		.flags = CEL_HOMOGENEOUS | CEL_LITERALS | CEL_HAS_IS_FREE,
		.budget = o.budget,
	};
}

/* --- variables ---------------------------------------------------------------------- */

static int policy_by_name(const void *a, const void *b)
{
	return str_cmp(((const struct cel_field *)a)->name, ((const struct cel_field *)b)->name);
}

/* All names have their place before the first has a type: a declaration then moves nothing. */
void cel_policy_named_init(struct cel_policy_named *named, struct arena *a, const struct json *list)
{
	struct cel_field *fields = ARENA_ARRAY(a, struct cel_field, json_count(list) + 1);
	size_t n = 0, kept = 0;

	JSON_FOREACH (it, list)
		fields[n++] = (struct cel_field){ .name = arena_str(a, json_text_at(it, "name")) };
	qsort(fields, n, sizeof(fields[0]), policy_by_name);
	for (size_t i = 0; i < n; i++)
		if (!i || !str_eq(fields[i].name, fields[kept - 1].name))
			fields[kept++] = fields[i];
	named->fields = fields;
	named->type = (struct cel_type){ .kind = CEL_TYPE_OBJECT,
					 .name = STR("kubernetes.variables"),
					 .fields = fields,
					 .nfields = kept };
}

/* Returns the type of a variable like upstream, where opaque types and optionals become dyn. */
static const struct cel_type *kept(const struct cel_type *type)
{
	switch (type ? type->kind : CEL_TYPE_DYN) {
	case CEL_TYPE_NULL:
	case CEL_TYPE_BOOL:
	case CEL_TYPE_INT:
	case CEL_TYPE_UINT:
	case CEL_TYPE_DOUBLE:
	case CEL_TYPE_STRING:
	case CEL_TYPE_BYTES:
	case CEL_TYPE_TIMESTAMP:
	case CEL_TYPE_DURATION:
	case CEL_TYPE_LIST:
	case CEL_TYPE_MAP:
	case CEL_TYPE_ANY:
		return type;
	default:
		return &cel_dyn;
	}
}

/* The last of a name counts. */
void cel_policy_declare(struct cel_policy_named *named, struct str name,
			const struct cel_type *type)
{
	struct cel_field key = { .name = name };
	struct cel_field *field = bsearch(&key, named->fields, named->type.nfields, sizeof(key),
					  policy_by_name);

	if (field)
		field->type = kept(type);
}

/* --- compiling ---------------------------------------------------------------------- */

static bool yields(const struct cel_type *type, enum cel_policy_use use)
{
	switch (use) {
	case CEL_POLICY_CONDITION:
		return type->kind == CEL_TYPE_BOOL;
	case CEL_POLICY_MESSAGE:
		return type->kind == CEL_TYPE_STRING;
	case CEL_POLICY_ANNOTATION:
		return type->kind == CEL_TYPE_STRING || type->kind == CEL_TYPE_NULL;
	case CEL_POLICY_APPLY:
		return cel_is_object_type(type);
	case CEL_POLICY_PATCH:
		return cel_is_patch_type(type);
	default:
		return true;
	}
}

const struct cel_program *cel_policy_compile(struct cel_policy_options options, struct str text,
					     enum cel_policy_use use, struct arena *a,
					     const char **ret_fault)
{
	static const char *const wanted[] = {
		[CEL_POLICY_CONDITION] = "bool",
		[CEL_POLICY_MESSAGE] = "string",
		[CEL_POLICY_ANNOTATION] = "one of [string null_type]",
		[CEL_POLICY_APPLY] = "Object",
		[CEL_POLICY_PATCH] = "list(JSONPatch)",
	};
	CLEANUP(buf_release) struct buf fault = BUF_INIT(CEL_PROGRAM_MAX);
	const struct cel_program *program;
	struct policy_env e;
	struct cel_issues issues;

	init_env(&e, options);
	cel_issues_init(&issues, a, text);
	program = cel_compile(&e.env, text, a, &issues);
	if (program && yields(cel_program_type(program), use))
		return program;
	if (program) {
		(void)buf_printf(&fault, "must evaluate to %s but got ", wanted[use]);
		cel_type_print_named(cel_program_type(program), &fault);
	} else if (issues.first && issues.first->offset == SIZE_MAX) {
		(void)buf_add_str(&fault, issues.first->message);
	} else {
		(void)buf_addz(&fault, "compilation failed: ");
		cel_issues_print(&issues, &fault);
	}
	*ret_fault = arena_strdup(a, buf_str(&fault));
	return NULL;
}
