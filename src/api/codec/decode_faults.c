/*
 * The second reading of a body that has faults. Upstream reports them in the order of its decoders.
 * Go's decoder reads JSON text from the beginning, so it sees a repeated name each time, with
 * everything below it. YAML is converted to JSON first, with sorted and unique members; the YAML
 * library reports its repeated keys with their lines. Bodies without a fault are not read again.
 */
#include "api/api_limits.h"
#include "api/codec/decode_step.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/yaml/yaml.h"

enum { STRICT_TEXT_MAX = 4 * MIB };

bool decode_is_unordered(const struct decode_report *report, enum decode_format format)
{
	return report->repeats || (format == DECODE_YAML && report->n > 1);
}

/* --- names that come twice -------------------------------------------------------- */

struct teller {
	struct arena *arena;
	struct decode_report *report;
	const char *repeated; /* the text for a repeated name */
	unsigned depth;
};

/* Depth is limited like that of objects; nothing below the limit is reported. */
static void tell_below(struct teller *t, const struct json *v, const struct decode_step *at)
{
	struct decode_step step = { .up = at };
	struct map seen;

	if (!json_is_container(v) || t->depth >= OBJECT_DEPTH_MAX ||
	    t->report->n >= DECODE_FAULTS_MAX)
		return;
	map_init(&seen);
	t->depth++;
	JSON_FOREACH (child, v) {
		step.key = json_key(child);
		if (child->key && map_put(&seen, step.key, child))
			decode_fault(t->arena, t->report, t->repeated, at, step.key);
		tell_below(t, child, &step);
		step.index++;
	}
	t->depth--;
	map_release(&seen);
}

void decode_tell_repeats(struct arena *a, const struct json *tree, struct decode_report *report)
{
	struct teller t = { .arena = a, .report = report, .repeated = "duplicate field" };

	tell_below(&t, tree, NULL);
}

/* --- bodies ----------------------------------------------------------------------- */

/* A body that looks like YAML but cannot be parsed as such is JSON with tabs; report it as JSON. */
static void tell_lines(struct arena *a, struct str body, struct decode_report *report)
{
	const struct json_options keep = { .keep_repeated = true };
	struct yaml_repeat *found = NULL;
	struct json *tree;

	if (yaml_repeats(a, body, DECODE_FAULTS_MAX, &found, NULL) < 0) {
		if (json_parse(a, body, &keep, &tree, NULL) == 0)
			decode_tell_repeats(a, tree, report);
		return;
	}
	for (const struct yaml_repeat *it = found; it; it = it->next)
		text_list_add(a, &report->lines,
			      str_from(arena_printf(a, "line %zu: key %.*s already set in map",
						    it->line, STR_ARG(it->key))));
}

int decode_reparse(struct arena *a, struct str body, enum decode_format format,
		   struct decode_report *report, struct json **ret_tree, struct error *err)
{
	int r;

	*report = (struct decode_report){ 0 };
	if (format != DECODE_YAML)
		return json_parse(a, body, &(struct json_options){ .keep_repeated = true },
				  ret_tree, err);
	r = decode_parse(a, body, format, report, ret_tree, err);
	if (r < 0)
		return r;
	if (report->repeats)
		tell_lines(a, body, report);
	json_sort(a, *ret_tree);
	return 0;
}

/* --- patches ---------------------------------------------------------------------- */

/*
 * Reports the faults of one operation of a JSON patch, as a Go struct: only its value may be
 * anything.
 */
static void tell_operation(struct teller *t, const struct json *op, const struct decode_step *at)
{
	static const char *const names[] = { "op", "path", "from", "value" };
	unsigned seen = 0, i;

	JSON_FOREACH (member, json_is(op, JSON_OBJECT) ? op : NULL) {
		const struct decode_step step = { .up = at, .key = json_key(member) };

		for (i = 0; i < ARRAY_SIZE(names) && !str_eqz(step.key, names[i]); i++)
			;
		if (i == ARRAY_SIZE(names))
			decode_fault(t->arena, t->report, "json patch unknown field", at, step.key);
		else if (seen & 1U << i)
			decode_fault(t->arena, t->report, t->repeated, at, step.key);
		seen |= 1U << i;
		if (i == ARRAY_SIZE(names) - 1)
			tell_below(t, member, &step);
	}
}

static void tell_operations(struct arena *a, const struct json *patch, struct decode_report *report)
{
	struct teller t = { a, report, "json patch duplicate field", 0 };
	struct decode_step at = { .index = 0 };

	JSON_FOREACH (op, json_is(patch, JSON_ARRAY) ? patch : NULL) {
		tell_operation(&t, op, &at);
		at.index++;
	}
}

void decode_tell_patch(struct arena *a, struct str body, enum decode_format format,
		       const struct json *tree, bool operations, struct decode_report *report)
{
	struct json *whole = NULL;

	if (report->repeats && format == DECODE_YAML) {
		tell_lines(a, body, report);
		return;
	}
	if (report->repeats && decode_reparse(a, body, format, report, &whole, NULL) < 0)
		return;
	if (operations)
		tell_operations(a, whole ? whole : tree, report);
	else if (whole)
		decode_tell_repeats(a, whole, report);
}

/* --- words ------------------------------------------------------------------------ */

void decode_print_lines(const struct text_list *lines, struct buf *out)
{
	(void)buf_addz(out, "yaml: unmarshal errors:");
	for (; lines; lines = lines->next)
		(void)buf_printf(out, "\n  %.*s", STR_ARG(lines->text));
}

struct str decode_strict_text(struct arena *a, const struct decode_report *report)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(STRICT_TEXT_MAX);
	bool first = !report->lines;

	(void)buf_addz(&b, "strict decoding error: ");
	if (report->lines)
		decode_print_lines(report->lines, &b);
	for (const struct text_list *t = report->faults; t; t = t->next) {
		(void)buf_printf(&b, "%s%.*s", first ? "" : ", ", STR_ARG(t->text));
		first = false;
	}
	return arena_str(a, buf_str(&b));
}

int decode_strict_error(const struct decode_report *report, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct str text;

	arena_init(&a, 2 * STRICT_TEXT_MAX);
	text = decode_strict_text(&a, report);
	return error_set(err, ERR_BAD_REQUEST, "%.*s", STR_ARG(text));
}
