/*
 * Parsing, and the error messages. Upstream decodes into Go structs and reports the Go type and the
 * path of a value that does not fit. Clients' tests and people know these texts, so they are made
 * here from the schema's names.
 */
#include "api/codec/decode_step.h"

#include <assert.h>

#include "api/api_limits.h"
#include "api/codec/protobuf.h"
#include "base/text/print.h"
#include "base/yaml/yaml.h"

enum { PATH_MAX_BYTES = 8192, SUMMARY_BYTES = 30 };

static bool list_has(const struct text_list *list, struct str text)
{
	for (; list; list = list->next)
		if (str_eq(list->text, text))
			return true;
	return false;
}

void text_list_add(struct arena *a, struct text_list **list, struct str text)
{
	while (*list)
		list = &(*list)->next;
	*list = ARENA_NEW(a, struct text_list);
	**list = (struct text_list){ .text = arena_str(a, text) };
}

static int text_cmp(const void *a, const void *b)
{
	const struct text_list *const *x = a, *const *y = b;

	return str_cmp((*x)->text, (*y)->text);
}

void text_list_sort(struct arena *a, struct text_list **list)
{
	struct text_list **sorted;
	size_t n = 0;

	for (const struct text_list *t = *list; t; t = t->next)
		n++;
	sorted = ARENA_ARRAY(a, struct text_list *, n + 1);
	n = 0;
	for (struct text_list *t = *list; t; t = t->next)
		sorted[n++] = t;
	qsort(sorted, n, sizeof(*sorted), text_cmp);
	for (size_t i = 0; i < n; i++, list = &(*list)->next)
		*list = sorted[i];
	*list = NULL;
}

static void add_fault(struct arena *a, struct decode_report *report, const char *what,
		      struct str path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * PATH_MAX_BYTES);

	(void)buf_addz(&b, what);
	(void)buf_addc(&b, ' ');
	if (report->plain)
		(void)buf_printf(&b, "\"%.*s\"", STR_ARG(path));
	else
		(void)print_quoted(&b, path);
	if (list_has(report->faults, buf_str(&b)))
		return;
	text_list_add(a, &report->faults, buf_str(&b));
	report->n++;
}

/* Prints spec.containers[0].env; a map's key is printed like a name. */
static void print_path(const struct decode_step *at, struct buf *b)
{
	if (!at)
		return;
	print_path(at->up, b);
	if (!at->owner && !at->key.p) {
		(void)buf_printf(b, "[%zu]", at->index);
		return;
	}
	if (at->up)
		(void)buf_addc(b, '.');
	(void)buf_add_str(b, at->owner ? at->field->name : at->key);
}

void decode_fault(struct arena *a, struct decode_report *report, const char *what,
		  const struct decode_step *at, struct str name)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PATH_MAX_BYTES);

	if (!report || report->n >= DECODE_FAULTS_MAX || report->met >= DECODE_MET_MAX)
		return;
	report->met++;
	print_path(at, &b);
	if (at)
		(void)buf_addc(&b, '.');
	(void)buf_add_str(&b, name);
	add_fault(a, report, what, buf_str(&b));
}

/*
 * Prints only fields, as upstream's errors do: no keys, no indexes. Returns true if it printed any.
 */
static bool print_fields(const struct decode_step *at, struct buf *b)
{
	bool any;

	if (!at)
		return false;
	any = print_fields(at->up, b);
	if (!at->owner)
		return any;
	if (any)
		(void)buf_addc(b, '.');
	(void)buf_add_str(b, at->field->name);
	return true;
}

/* Prints Go's name of the single value: "int32", "v1.Container". */
static void print_go_value(const struct schema_field *field, struct buf *b)
{
	static const char *const names[] = {
		[SCHEMA_STRING] = "string", [SCHEMA_BOOL] = "bool",      [SCHEMA_INT32] = "int32",
		[SCHEMA_INT64] = "int64",   [SCHEMA_DOUBLE] = "float64", [SCHEMA_BYTES] = "[]uint8",
	};
	struct str package;

	if (field->value < ARRAY_SIZE(names)) {
		(void)buf_addz(b, names[field->value]);
		return;
	}
	if (!field->type) {
		(void)buf_addz(b, "object");
		return;
	}
	/* io.k8s.api.core.v1.Container: the package is the version. */
	package = field->type->openapi;
	package.n -= MIN(package.n, field->type->name.n + 1);
	for (size_t i = package.n; i > 0; i--) {
		if (package.p[i - 1] != '.')
			continue;
		package = str_skip(package, i);
		break;
	}
	(void)buf_printf(b, "%.*s%s%.*s", STR_ARG(package), package.n ? "." : "",
			 STR_ARG(field->type->name));
}

static void print_go_type(const struct schema_field *field, bool whole, struct buf *b)
{
	static const char *const around[] = {
		[SCHEMA_ONE] = "",
		[SCHEMA_LIST] = "[]",
		[SCHEMA_MAP] = "map[string]",
		[SCHEMA_MAP_OF_LISTS] = "map[string][]",
	};

	if (whole)
		(void)buf_addz(b, around[field->shape]);
	print_go_value(field, b);
}

/* Prints the given value's type; for a number also its value, if some number is expected. */
static void print_given(const struct json *v, const struct schema_field *field, struct buf *b)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",   [JSON_BOOL] = "bool",     [JSON_INT] = "number",
		[JSON_UINT] = "number", [JSON_DOUBLE] = "number", [JSON_STRING] = "string",
		[JSON_ARRAY] = "array", [JSON_OBJECT] = "object",
	};
	bool number = v->type >= JSON_INT && v->type <= JSON_DOUBLE;

	(void)buf_addz(b, names[v->type]);
	if (!number || (field->value != SCHEMA_INT32 && field->value != SCHEMA_INT64))
		return;
	(void)buf_addc(b, ' ');
	(void)json_print(b, v, NULL);
}

int decode_mismatch(struct decode_fit *f, const struct json *v, const struct decode_step *at,
		    bool whole)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PATH_MAX_BYTES);
	const struct decode_step *in = at;

	while (in && !in->owner)
		in = in->up;
	(void)buf_addz(&b, "json: cannot unmarshal ");
	print_given(v, at->field, &b);
	if (in) {
		(void)buf_printf(&b, " into Go struct field %.*s.", STR_ARG(in->owner->name));
		(void)print_fields(at, &b);
	} else {
		(void)buf_addz(&b, " into Go value");
	}
	(void)buf_addz(&b, " of type ");
	print_go_type(at->field, whole, &b);
	return error_set(f->err, ERR_BAD_REQUEST, "%.*s", (int)b.n, b.p);
}

/*
 * YAML that looks like JSON need not be: {"a": 1,} is YAML. If it is neither, the error is that of
 * the JSON parser, because JSON is what its writer meant.
 */
static int parse_yaml(struct arena *a, struct str body, struct json_report *found,
		      struct json **ret_tree, struct error *err)
{
	int r = -ERR_BAD_REQUEST;

	if (yaml_is_json(body))
		r = json_parse(a, body, &(struct json_options){ .report = found }, ret_tree, err);
	if (r != -ERR_BAD_REQUEST)
		return r;
	*found = (struct json_report){ 0 };
	if (!yaml_is_json(body))
		return yaml_parse(a, body, &(struct yaml_options){ .report = found }, ret_tree,
				  err);
	return yaml_parse(a, body, &(struct yaml_options){ .report = found }, ret_tree, NULL) < 0
		       ? r
		       : 0;
}

int decode_parse(struct arena *a, struct str body, enum decode_format format,
		 struct decode_report *report, struct json **ret_tree, struct error *err)
{
	struct json_report found = { 0 };
	struct json *tree;
	int r;

	assert(format != DECODE_PROTOBUF);
	if (format == DECODE_YAML)
		r = parse_yaml(a, body, &found, &tree, err);
	else
		r = json_parse(a, body, &(struct json_options){ .report = &found }, &tree, err);
	if (r == -ERR_BAD_REQUEST)
		return error_wrap(err, r, "couldn't get version/kind; json parse error");
	if (r < 0)
		return r;
	if (report)
		report->repeats = found.duplicate_count || found.merges;
	*ret_tree = tree;
	return 0;
}

int decode_body(struct arena *a, struct str body, enum decode_format format,
		const struct schema_kind *kind, struct decode_report *report,
		struct json **ret_tree, struct error *err)
{
	*ret_tree = NULL;
	if (format == DECODE_PROTOBUF)
		return protobuf_decode_body(a, kind, body, NULL, ret_tree, err);
	return decode_parse(a, body, format, report, ret_tree, err);
}

/* Prints the beginning of a body as upstream does: unchanged, or in hex if it is not an object. */
static void print_summary(struct str body, struct buf *b)
{
	struct str begin = str_of(body.p, MIN(body.n, (size_t)SUMMARY_BYTES));

	if (body.n == 0)
		(void)buf_addz(b, "<empty>");
	else if (body.p[0] == '{')
		(void)print_utf8(b, begin);
	else
		for (size_t i = 0; i < begin.n; i++)
			(void)buf_printf(b, "%02x", (unsigned char)begin.p[i]);
	if (body.n > begin.n)
		(void)buf_addz(b, " ...");
}

int decode_wrap(struct error *err, int r, const struct schema_kind *kind, const struct json *tree,
		struct str body)
{
	CLEANUP(buf_release) struct buf summary = BUF_INIT(256);
	struct str given = json_text_at(tree, "kind");
	struct str version = json_text_at(tree, "apiVersion");
	struct error below;

	if (!err || r != -ERR_BAD_REQUEST)
		return r;
	version = version.n ? str_skip(version, (size_t)(str_chr(version, '/') + 1))
			    : kind->version;
	if (tree)
		return error_wrap(err, r, "%.*s in version \"%.*s\" cannot be handled as a %.*s",
				  STR_ARG(given.n ? given : kind->kind), STR_ARG(version),
				  STR_ARG(kind->kind));
	below = *err;
	print_summary(body, &summary);
	return error_set(err, ERR_BAD_REQUEST,
			 "the object provided is unrecognized (must be of type %.*s): %s (%.*s)",
			 STR_ARG(kind->kind), below.msg, (int)summary.n, summary.p);
}
