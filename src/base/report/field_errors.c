/*
 * A fault is printed when it is recorded, since path and value are on the caller's stack: path,
 * value and detail go through one buffer into the arena. The aggregate finds repeated messages with
 * a map, since the list may hold a thousand of them.
 */
#include "base/report/field_errors.h"

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/text/print.h"

struct type_row {
	const char *reason, *words;
	bool shows_value;
};

#define TYPE_ROW(name, reason_, words_, shows) \
	[FIELD_##name] = { .reason = (reason_), .words = (words_), .shows_value = (shows) },
static const struct type_row types[FIELD_ERROR_TYPES] = { FIELD_ERROR_MAP(TYPE_ROW) };
#undef TYPE_ROW

/* The text between the brackets or after the dot; an index is printed into `digits`. */
static struct str step_text(const struct field_path *step, char digits[static 24])
{
	if (step->kind != FIELD_PATH_INDEX)
		return step->text;
	return str_of(digits, (size_t)snprintf(digits, 24, "%zu", step->index));
}

static size_t step_size(const struct field_path *step)
{
	char digits[24];
	size_t around = step->kind != FIELD_PATH_NAME ? 2 : step->parent ? 1 : 0;

	return step_text(step, digits).n + around;
}

/* Writes the step so that it ends before `end`; returns where it begins. */
static char *put_step(const struct field_path *step, char *end)
{
	char digits[24];
	struct str text = step_text(step, digits);

	if (step->kind != FIELD_PATH_NAME)
		*--end = ']';
	end -= text.n;
	str_put(end, text);
	if (step->kind != FIELD_PATH_NAME)
		*--end = '[';
	else if (step->parent)
		*--end = '.';
	return end;
}

/* The chain leads from the leaf to the root, so the text is measured and then filled backwards. */
int field_path_print(const struct field_path *path, struct buf *out)
{
	size_t size = 0;
	char *at;
	int r;

	if (!path)
		return buf_addz(out, "<nil>");
	for (const struct field_path *p = path; p; p = p->parent)
		size += step_size(p);
	r = buf_reserve(out, size);
	if (r < 0)
		return r;
	out->n += size;
	at = out->p + out->n;
	*at = '\0';
	for (const struct field_path *p = path; p; p = p->parent)
		at = put_step(p, at);
	return 0;
}

static int print_value(const struct field_value *value, struct buf *out)
{
	switch (value->kind) {
	case FIELD_VALUE_OMITTED:
		return 0;
	case FIELD_VALUE_STR:
		return print_quoted(out, value->text);
	case FIELD_VALUE_I64:
		return buf_add_i64(out, value->i64);
	case FIELD_VALUE_F64:
		return print_f64(out, value->f64);
	case FIELD_VALUE_BOOL:
		return buf_addz(out, value->boolean ? "true" : "false");
	case FIELD_VALUE_JSON:
		break;
	}
	return buf_add_str(out, value->text);
}

/* Limits of a path, value or detail; and of all kept text, so that it fits in a reply. */
enum { PART_MAX = 8 * KIB, KEPT_MAX = 512 * KIB };

void field_errors_init(struct field_errors *fe, struct arena *arena)
{
	*fe = (struct field_errors){ .arena = arena };
}

bool field_errors_full(const struct field_errors *fe)
{
	return fe->n >= FIELD_ERRORS_MAX || fe->bytes >= KEPT_MAX;
}

/* Adds the text, or its beginning. */
static void add_cut(struct buf *b, struct str s)
{
	size_t n = MIN(s.n, (size_t)PART_MAX);

	while (n < s.n && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	(void)buf_add_str(b, str_of(s.p, n));
	if (n < s.n)
		(void)buf_addz(b, "...");
}

static void add_path(struct buf *b, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(PART_MAX);

	if (field_path_print(path, &text) < 0)
		(void)buf_printf(b, "(a path of more than %d bytes)", PART_MAX);
	else
		(void)buf_add_str(b, buf_str(&text));
}

static void field_errors_add_value(struct buf *b, const struct field_value *value)
{
	struct field_value begins = *value;

	if (value->kind == FIELD_VALUE_JSON) {
		add_cut(b, value->text);
		return;
	}
	if (value->kind == FIELD_VALUE_STR && value->text.n > PART_MAX)
		begins.text = str_of(value->text.p, PART_MAX);
	(void)print_value(&begins, b);
	if (value->kind == FIELD_VALUE_STR && value->text.n > PART_MAX)
		(void)buf_addz(b, "...");
}

static struct str piece(const char *text, size_t from, size_t to)
{
	return str_of(text + from, to - from);
}

/* Renders all into one piece of the arena's memory. False when there is no room. */
static bool render(struct arena *arena, struct field_error *e, const struct field_path *path,
		   const struct field_value *value, struct str detail)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(arena->max);
	size_t value_at, detail_at;
	char *text;

	add_path(&b, path);
	value_at = b.n;
	field_errors_add_value(&b, value);
	detail_at = b.n;
	add_cut(&b, detail);
	text = b.overflow ? NULL : arena_try_alloc(arena, b.n + 1);
	if (!text)
		return false;
	memcpy(text, b.p ? b.p : "", b.n + 1);
	e->path = piece(text, 0, value_at);
	e->value = piece(text, value_at, detail_at);
	e->detail = piece(text, detail_at, b.n);
	if (value->kind == FIELD_VALUE_OMITTED)
		e->value = STR_NULL;
	return true;
}

void field_errors_add(struct field_errors *fe, enum field_error_type type,
		      const struct field_path *path, struct field_value value, struct str detail)
{
	struct field_error *e = NULL;

	if (!field_errors_full(fe))
		e = arena_try_alloc(fe->arena, sizeof(*e));
	if (!e || !render(fe->arena, e, path, &value, detail)) {
		fe->dropped++;
		return;
	}
	fe->bytes += e->path.n + e->value.n + e->detail.n;
	e->next = NULL;
	e->type = type;
	if (fe->last)
		fe->last->next = e;
	else
		fe->first = e;
	fe->last = e;
	fe->n++;
}

void field_errors_addf(struct field_errors *fe, enum field_error_type type,
		       const struct field_path *path, struct field_value value, const char *fmt,
		       ...)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(fe->arena->max);
	va_list ap;

	if (field_errors_full(fe)) {
		fe->dropped++;
		return;
	}
	va_start(ap, fmt);
	(void)buf_vprintf(&detail, fmt, ap);
	va_end(ap);
	field_errors_add(fe, type, path, value, buf_str(&detail));
}

void field_errors_required(struct field_errors *fe, const struct field_path *path,
			   const char *detail)
{
	field_errors_add(fe, FIELD_REQUIRED, path, FIELD_OMITTED, str_from(detail));
}

void field_errors_forbidden(struct field_errors *fe, const struct field_path *path,
			    const char *detail)
{
	field_errors_add(fe, FIELD_FORBIDDEN, path, FIELD_OMITTED, str_from(detail));
}

void field_errors_invalid(struct field_errors *fe, const struct field_path *path,
			  struct field_value value, const char *detail)
{
	field_errors_add(fe, FIELD_INVALID, path, value, str_from(detail));
}

void field_errors_not_found(struct field_errors *fe, const struct field_path *path,
			    struct field_value value)
{
	field_errors_add(fe, FIELD_NOT_FOUND, path, value, STR_NULL);
}

void field_errors_duplicate(struct field_errors *fe, const struct field_path *path,
			    struct field_value value)
{
	field_errors_add(fe, FIELD_DUPLICATE, path, value, STR_NULL);
}

void field_errors_internal(struct field_errors *fe, const struct field_path *path,
			   const struct error *cause)
{
	field_errors_add(fe, FIELD_INTERNAL, path, FIELD_OMITTED, str_from(cause->msg));
}

void field_errors_not_supported(struct field_errors *fe, const struct field_path *path,
				struct field_value value, const struct str *supported, size_t n)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(fe->arena->max);

	for (size_t i = 0; i < n; i++) {
		(void)buf_addz(&detail, i == 0 ? "supported values: " : ", ");
		(void)print_quoted(&detail, supported[i]);
	}
	field_errors_add(fe, FIELD_NOT_SUPPORTED, path, value, buf_str(&detail));
}

struct limit_words {
	const char *before, *unit;
	const char *untold; /* for a negative limit */
};

static const struct limit_words long_bytes = { "may not be more than", "byte",
					       "value is too long" };
static const struct limit_words long_characters = { "may not be more than", "character",
						    "value is too long" };
static const struct limit_words many_items = { "must have at most", "item", "has too many items" };
static const struct limit_words few_items = { "must have at least", "item", "has too few items" };

static void add_limit(struct field_errors *fe, enum field_error_type type,
		      const struct field_path *path, int64_t n, const struct limit_words *words,
		      int64_t limit)
{
	struct field_value value = n < 0 ? FIELD_OMITTED : FIELD_I64(n);

	if (limit < 0)
		field_errors_add(fe, type, path, value, str_from(words->untold));
	else
		field_errors_addf(fe, type, path, value, "%s %" PRId64 " %s%s", words->before,
				  limit, words->unit, limit == 1 ? "" : "s");
}

void field_errors_too_long(struct field_errors *fe, const struct field_path *path,
			   int64_t max_bytes)
{
	add_limit(fe, FIELD_TOO_LONG, path, -1, &long_bytes, max_bytes);
}

void field_errors_too_long_characters(struct field_errors *fe, const struct field_path *path,
				      int64_t max)
{
	add_limit(fe, FIELD_TOO_LONG, path, -1, &long_characters, max);
}

void field_errors_too_many(struct field_errors *fe, const struct field_path *path, int64_t n,
			   int64_t max)
{
	add_limit(fe, FIELD_TOO_MANY, path, n, &many_items, max);
}

void field_errors_too_few(struct field_errors *fe, const struct field_path *path, int64_t n,
			  int64_t min)
{
	add_limit(fe, FIELD_TOO_FEW, path, n, &few_items, min);
}

const char *field_error_reason(enum field_error_type type)
{
	return types[type].reason;
}

/* Values and keys may hold NUL bytes, so nothing here goes through a %s. */
int field_error_print_body(const struct field_error *e, struct buf *out)
{
	const struct type_row *row = &types[e->type];

	(void)buf_addz(out, row->words);
	if (row->shows_value && e->value.p) {
		(void)buf_addz(out, ": ");
		(void)buf_add_str(out, e->value);
	}
	if (e->detail.n) {
		(void)buf_addz(out, ": ");
		(void)buf_add_str(out, e->detail);
	}
	return out->overflow ? -ERR_TOO_LARGE : 0;
}

/* The different messages in the order found, copied to the arena; returns their number. */
static size_t distinct(const struct field_errors *fe, struct arena *a, struct str *messages)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(SIZE_MAX / 2);
	CLEANUP(map_release) struct map seen;
	size_t n = 0;

	map_init(&seen);
	for (const struct field_error *e = fe->first; e; e = e->next) {
		buf_clear(&b);
		(void)buf_add_str(&b, e->path);
		(void)buf_addz(&b, ": ");
		(void)field_error_print_body(e, &b);
		if (map_get(&seen, buf_str(&b)))
			continue;
		messages[n] = arena_str(a, buf_str(&b));
		map_put(&seen, messages[n], &messages[n]);
		n++;
	}
	return n;
}

int field_errors_aggregate(const struct field_errors *fe, struct buf *out)
{
	CLEANUP(arena_release) struct arena a;
	struct str *messages;
	size_t n;
	bool several;

	arena_init(&a, 0);
	messages = ARENA_ARRAY(&a, struct str, fe->n + 1);
	n = distinct(fe, &a, messages);
	several = n + (fe->dropped > 0) > 1;
	if (several)
		(void)buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		(void)buf_addz(out, i ? ", " : "");
		(void)buf_add_str(out, messages[i]);
	}
	if (fe->dropped)
		(void)buf_printf(out, "%sand %zu more", n ? ", " : "", fe->dropped);
	if (several)
		(void)buf_addc(out, ']');
	return out->overflow ? -ERR_TOO_LARGE : 0;
}
