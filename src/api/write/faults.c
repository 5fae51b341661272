/*
 * Faults that are not errors by themselves: unknown fields and repeated names. Most bodies have
 * none, so the first reading only finds out whether there are any. If so, the body is read again,
 * to report them in the order of upstream's decoders.
 */
#include "api/write/write_impl.h"

#include "api/crd/crd.h"

int write_take_report(struct write *w, const struct decode_report *report, struct error *err)
{
	if ((!report->faults && !report->lines) || w->options.field_validation == WRITE_IGNORE)
		return 0;
	if (w->options.field_validation == WRITE_STRICT) {
		w->message = decode_strict_text(w->arena, report);
		return error_set(err, ERR_BAD_REQUEST, "%.*s", STR_ARG(w->message));
	}
	for (const struct text_list *t = report->lines; t; t = t->next)
		write_warn(w, "%.*s", STR_ARG(t->text));
	for (const struct text_list *t = report->faults; t; t = t->next)
		write_warn(w, "%.*s", STR_ARG(t->text));
	return 0;
}

/*
 * Upstream reads a custom resource without a type, and then through Go's maps: repeated names come
 * first, in the order of the text, then the other faults, sorted.
 */
static int retell_custom(struct write *w, struct str body, enum decode_format format,
			 const struct schema_kind *kind, struct decode_report *report,
			 struct error *err)
{
	struct json *tree;
	int r;

	r = decode_reparse(w->arena, body, format, report, &tree, err);
	if (r == 0 && format == DECODE_JSON) {
		decode_tell_repeats(w->arena, tree, report);
		r = decode_parse(w->arena, body, format, NULL, &tree, err);
		if (r == 0)
			json_sort(w->arena, tree);
	}
	return r < 0 ? r : crd_fit(w->arena, tree, kind, report, err);
}

static int retell_typed(struct write *w, struct str body, enum decode_format format,
			const struct schema_kind *kind, struct decode_report *report,
			struct error *err)
{
	struct write_alias *aliases = w->aliases;
	struct json *tree;
	int r;

	r = decode_reparse(w->arena, body, format, report, &tree, err);
	if (r < 0)
		return r;
	write_fold_aliases(w, tree);
	w->aliases = aliases;
	return decode_refit(w->arena, tree, kind->type, report, err);
}

int write_retell(struct write *w, struct str body, enum decode_format format,
		 const struct schema_kind *kind, struct decode_report *report, struct error *err)
{
	bool ignored = w->options.field_validation == WRITE_IGNORE;

	if (kind->custom) {
		if (ignored || (!report->repeats && report->n < 2))
			return 0;
		return retell_custom(w, body, format, kind, report, err);
	}
	if (!decode_is_unordered(report, format))
		return 0;
	/* A value that does not fit is an error even if the same name occurs again later. */
	if (ignored && format == DECODE_YAML)
		return 0;
	return retell_typed(w, body, format, kind, report, err);
}

struct decode_report write_patch_report(struct write *w)
{
	const struct decode_report *text = w->patch_report;
	struct decode_report report = { 0 };

	for (const struct text_list *t = text ? text->lines : NULL; t; t = t->next)
		text_list_add(w->arena, &report.lines, t->text);
	for (const struct text_list *t = text ? text->faults : NULL; t; t = t->next, report.n++)
		text_list_add(w->arena, &report.faults, t->text);
	return report;
}
