/*
 * Prints the reference's entries and conflicts.
 */
#include "api/managed/reference.h"

#include "base/core/limits.h"

void reference_print(struct buf *out, const struct reference_state *state, bool times)
{
	CLEANUP(arena_release) struct arena a;
	struct str *lines;

	arena_init(&a, 64 * MIB);
	lines = ARENA_ARRAY(&a, struct str, state->n + 1);
	for (size_t i = 0; i < state->n; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
		const struct reference_entry *e = &state->v[i];

		(void)buf_printf(&b, "%.*s %.*s %.*s %.*s %.*s:", STR_ARG(e->manager),
				 STR_ARG(e->operation), STR_ARG(e->api_version),
				 STR_ARG(e->subresource), STR_ARG(times ? e->time : STR_NULL));
		for (size_t k = 0; k < e->set.n; k++)
			(void)buf_printf(&b, " %.*s", STR_ARG(e->set.v[k]));
		for (size_t k = 0; k < b.n; k++)
			b.p[k] = b.p[k] == REFERENCE_JOIN ? '/' : b.p[k];
		lines[i] = arena_str(&a, buf_str(&b));
	}
	if (state->n)
		qsort(lines, state->n, sizeof(*lines), str_order);
	for (size_t i = 0; i < state->n; i++)
		(void)buf_printf(out, "%.*s\n", STR_ARG(lines[i]));
}

static void print_keys(struct arena *a, struct buf *out, struct str text)
{
	struct json *keys = NULL;

	(void)json_parse(a, text, NULL, &keys, NULL);
	(void)buf_addc(out, '[');
	JSON_FOREACH (key, keys) {
		(void)buf_printf(out, "%s%.*s=", key == keys->first ? "" : ",",
				 STR_ARG(json_key(key)));
		(void)json_print(out, key, NULL);
	}
	(void)buf_addc(out, ']');
}

struct str reference_path_text(struct arena *a, struct str path)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct str rest = path, step;

	while (str_split(&rest, REFERENCE_JOIN, &step)) {
		if (str_starts(step, STR("f:")))
			(void)buf_printf(&b, ".%.*s", STR_ARG(str_skip(step, 2)));
		else if (str_starts(step, STR("k:")))
			print_keys(a, &b, str_skip(step, 2));
		else
			(void)buf_printf(&b, "[=%.*s]", STR_ARG(str_skip(step, 2)));
	}
	return arena_str(a, buf_str(&b));
}

struct str reference_conflict_text(struct arena *a, const struct reference_conflict *c)
{
	const struct reference_entry *e = c->owner;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)buf_printf(&b, "conflict with \"%.*s\"", STR_ARG(e->manager));
	if (e->subresource.n)
		(void)buf_printf(&b, " with subresource \"%.*s\"", STR_ARG(e->subresource));
	if (str_eqz(e->operation, "Update"))
		(void)buf_printf(&b, " using %.*s", STR_ARG(e->api_version));
	(void)buf_printf(&b, " %.*s", STR_ARG(reference_path_text(a, c->path)));
	return arena_str(a, buf_str(&b));
}
