/*
 * Steps that all writes share: decoding a body, converting between versions, and the last steps
 * before a result. The rules are in write/create.c, write/update.c, write/patch.c, write/delete.c
 * and write/subresource.c; those of metadata in write/meta.c; those of single kinds in
 * write/strategy_*.c.
 */
#include "api/write/write_impl.h"

#include <stdarg.h>

#include "api/convert/convert.h"
#include "api/crd/crd.h"
#include "api/defaults/defaults.h"
#include "api/managed/managed.h"
#include "api/validate/validate.h"

void write_init(struct write *w)
{
	field_errors_init(&w->errs, w->arena);
	w->warnings = NULL;
	w->message = STR_NULL;
	w->unchanged = false;
	w->has_revision = false;
	w->compile_steps = 0;
	w->last = NULL;
	w->generated_from = STR_NULL;
	w->aliases = NULL;
	w->aliases_shown = false;
	w->applied = false;
	w->mutated = false;
	w->conflicts = NULL;
}

void write_warn(struct write *w, const char *fmt, ...)
{
	struct text_list *item = ARENA_NEW(w->arena, struct text_list), **at = &w->warnings;
	struct buf b = BUF_INIT(4096);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&b, fmt, ap);
	va_end(ap);
	item->text = arena_str(w->arena, buf_str(&b));
	buf_release(&b);
	while (*at)
		at = &(*at)->next;
	*at = item;
}

/* --- versions ------------------------------------------------------------------------ */

void write_from_storage(struct arena *a, struct json *object, const struct schema_kind *kind)
{
	if (kind->custom) {
		(void)crd_served_form(a, object, kind);
		crd_convert(a, object, kind);
		return;
	}
	if (kind->storage == kind)
		return;
	convert_from_storage(a, object, kind);
	json_put_str(a, object, "apiVersion", kind->api_version);
}

void write_to_storage(struct arena *a, struct json *object, const struct schema_kind *kind)
{
	if (kind->storage == kind)
		return;
	if (kind->custom) {
		crd_convert(a, object, kind->storage);
		return;
	}
	convert_to_storage(a, object, kind);
	json_put_str(a, object, "apiVersion", kind->storage->api_version);
}

/* --- bodies -------------------------------------------------------------------------- */

/* Returns the kind of a body on this path: the kind itself, or that of the subresource. */
static const struct schema_kind *body_kind(const struct write *w)
{
	const struct schema_subresource *sub;
	const struct schema_kind *kind = NULL;
	const char *api_version;

	if (w->subresource.n == 0)
		return w->kind;
	sub = schema_subresource(w->kind, w->subresource);
	if (sub && sub->kind.n) {
		api_version = sub->group.n
				      ? arena_printf(w->arena, "%.*s/%.*s", STR_ARG(sub->group),
						     STR_ARG(sub->version))
				      : arena_strdup(w->arena, sub->version);
		kind = schema_find_kind(str_from(api_version), sub->kind);
	}
	return kind ? kind : w->kind;
}

/* Sets upstream's error for a body whose apiVersion and kind are not those of `kind`. */
static int refuse_kind(const struct schema_kind *kind, struct str version, struct str name,
		       struct error *err)
{
	const struct schema_kind *given = schema_find_kind(version, name);
	struct str package = STR("core"), group = kind->group;

	if (!given)
		return error_set(err, ERR_BAD_REQUEST,
				 "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
				 "\"pkg/api/legacyscheme/scheme.go:30\"",
				 STR_ARG(name), STR_ARG(version));
	if (group.n)
		(void)str_split(&group, '.', &package);
	return error_set(
		err, ERR_BAD_REQUEST, "converting (%.*s.%.*s) to (%.*s.%.*s): unknown conversion",
		STR_ARG(given->version), STR_ARG(name), STR_ARG(package), STR_ARG(kind->kind));
}

/*
 * A custom resource must have apiVersion and kind. If they are not those of the path, validation
 * reports it.
 */
static int check_custom_type_meta(struct json *tree, const struct schema_kind *kind,
				  struct str body, struct error *err)
{
	struct str version = json_text_at(tree, "apiVersion");
	bool named = json_text_at(tree, "kind").n > 0;
	int r;

	if (!named) {
		r = error_set(err, ERR_BAD_REQUEST, "Object 'Kind' is missing in '%.*s'",
			      STR_ARG(body));
		return decode_wrap(err, r, kind, NULL, body);
	}
	if (!str_eq(version, kind->api_version))
		return error_set(err, ERR_BAD_REQUEST,
				 "the API version in the data (%.*s) does not match the expected "
				 "API version (%.*s)",
				 STR_ARG(version), STR_ARG(kind->api_version));
	return 0;
}

/*
 * Returns the apiVersion of a body. Upstream accepts evictions of policy/v1beta1 although it has
 * removed the rest of that version: clients before 1.22, such as Debian 12's kubectl, drain nodes
 * with it.
 */
static struct str settled_version(const struct json *tree, const struct schema_kind *kind)
{
	struct str version = json_text_at(tree, "apiVersion");

	if (version.n == 0 ||
	    (str_eq(kind->kind, STR("Eviction")) && str_eq(version, STR("policy/v1beta1"))))
		return kind->api_version;
	return version;
}

/* Checks apiVersion and kind; fills in absent ones. */
static int check_type_meta(struct write *w, struct json *tree, const struct schema_kind *kind,
			   struct str body, struct error *err)
{
	struct str version = settled_version(tree, kind);
	struct str name = json_text_at(tree, "kind");

	name = name.n ? name : kind->kind;
	if (!str_eq(name, kind->kind) ||
	    (!str_eq(version, kind->api_version) && !schema_find_kind(version, name)))
		return decode_wrap(err, refuse_kind(kind, version, name, err), kind, tree, body);
	if (!str_eq(version, kind->api_version))
		return error_set(err, ERR_BAD_REQUEST,
				 "the API version in the data (%.*s) does not match the expected "
				 "API version (%.*s)",
				 STR_ARG(version), STR_ARG(kind->api_version));
	json_put_str(w->arena, tree, "apiVersion", kind->api_version);
	json_put_str(w->arena, tree, "kind", kind->kind);
	return 0;
}

/* Makes an object with only apiVersion and kind, because a tree that did not fit is unusable. */
static struct json *type_meta(struct write *w, const struct schema_kind *kind)
{
	struct json *tree = json_make_object(w->arena);

	json_put_str(w->arena, tree, "apiVersion", kind->api_version);
	json_put_str(w->arena, tree, "kind", kind->kind);
	return tree;
}

int write_fit(struct write *w, struct json *object, const struct schema_kind *kind,
	      struct decode_report *report, struct error *err)
{
	if (kind->custom)
		return crd_fit(w->arena, object, kind, report, err);
	return decode_fit(w->arena, object, kind->type, report, err);
}

/* Rejects a body that could be parsed but does not fit; wraps w->message like the error. */
static int refuse_body(struct write *w, int r, const struct schema_kind *kind, struct str body,
		       struct error *err)
{
	const struct json *meta = type_meta(w, kind);
	struct error head = { .code = ERR_BAD_REQUEST };

	if (w->message.n) {
		(void)decode_wrap(&head, r, kind, meta, body);
		w->message = str_from(
			arena_printf(w->arena, "%s%.*s", head.msg, STR_ARG(w->message)));
	}
	return decode_wrap(err, r, kind, meta, body);
}

int write_decode(struct write *w, struct str body, enum decode_format format,
		 struct json **ret_body, struct error *err)
{
	const struct schema_kind *kind = body_kind(w);
	struct decode_report report = { 0 };
	struct json *tree = NULL;
	int r;

	r = decode_body(w->arena, body, format, kind, &report, &tree, err);
	if (r < 0)
		return decode_wrap(err, r, kind, tree, body);
	if (!json_is(tree, JSON_OBJECT)) {
		r = error_set(err, ERR_BAD_REQUEST,
			      "couldn't get version/kind; json parse error: json: cannot unmarshal "
			      "a value that is no object");
		return decode_wrap(err, r, kind, NULL, body);
	}
	r = kind->custom ? check_custom_type_meta(tree, kind, body, err)
			 : check_type_meta(w, tree, kind, body, err);
	if (r < 0)
		return r;
	write_fold_aliases(w, tree);
	r = write_fit(w, tree, kind, &report, err);
	if (r == 0)
		r = write_retell(w, body, format, kind, &report, err);
	if (r == 0)
		r = write_take_report(w, &report, err);
	if (r < 0)
		return refuse_body(w, r, kind, body, err);
	*ret_body = tree;
	return 0;
}

int write_readmit(struct write *w, struct json *object, const struct schema_kind *kind,
		  struct error *err)
{
	int r;

	r = write_fit(w, object, kind, NULL, err);
	if (r < 0)
		return r;
	if (kind->custom) {
		if (kind != w->kind)
			crd_convert(w->arena, object, w->kind);
		return 0;
	}
	write_to_storage(w->arena, object, kind);
	defaults_fill(w->arena, object, kind->storage->type, w->now_ns);
	return 0;
}

/* --- last steps ----------------------------------------------------------------------- */

void write_manage(struct write *w, struct json *object, const struct json *old)
{
	struct managed_writer writer = {
		.manager = managed_name(w->options.field_manager, w->user_agent),
		.api_version = w->kind->api_version,
		.subresource = w->subresource,
		.now_ns = w->now_ns,
	};

	if (!w->applied)
		managed_update(w->arena, write_rules(w), object, old, &writer);
}

int write_result(struct write *w, struct error *err)
{
	if (!field_errors_any(&w->errs))
		return 0;
	if (err)
		*err = (struct error){ .code = ERR_INVALID };
	return -ERR_INVALID;
}
