/*
 * String functions of the specification that Kubernetes lacks or implements differently, mainly
 * text.format(values). The text is read once; each clause passes the next value to the function of
 * its letter. The result is built on the heap, since its length is unknown, and copied to scratch
 * memory.
 */
#include "cel/lib/strings_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/print.h"
#include "cel/cel_limits.h"
#include "cel/core/value.h"
#include "cel/lib/libraries.h"
#include "cel/lib/strings.h"

/* --- what clauses share ------------------------------------------------------------- */

bool cel_format_refuse(struct cel_formatter *f, const char *what, const struct cel_value *v)
{
	f->error = cel_errorf(f->ev, "error during formatting: %s %.*s", what,
			      STR_ARG(cel_value_type(v)->name));
	return false;
}

bool cel_format_list(struct cel_formatter *f, const struct cel_value *list,
		     cel_format_clause element)
{
	size_t n = cel_list_size(list);
	bool good = cel_enter(f->ev);

	(void)buf_addc(f->out, '[');
	for (size_t i = 0; i < n && good && !f->out->overflow; i++) {
		struct cel_value v = cel_list_at(f->ev, list, i);

		if (i > 0)
			(void)buf_addz(f->out, ", ");
		good = cel_work(f->ev, 4) && element(f, &v);
	}
	(void)buf_addc(f->out, ']');
	cel_leave(f->ev);
	return good;
}

/* A printed entry: its key is [from, key_end), all of it [from, end). */
struct entry {
	size_t from, key_end, end;
};

static int entry_cmp(const void *a, const void *b, void *text)
{
	const struct entry *x = a, *y = b;
	const char *p = text;

	return str_cmp(str_of(p + x->from, x->key_end - x->from),
		       str_of(p + y->from, y->key_end - y->from));
}

static bool print_entries(struct cel_formatter *f, const struct cel_value *map,
			  cel_format_clause print_key, const char *colon,
			  cel_format_clause print_value, struct entry *entries)
{
	struct cel_value key, value;
	size_t at = 0, start = f->out->n;

	while (cel_work(f->ev, 8) && cel_map_next(f->ev, map, &at, &key, &value)) {
		entries->from = f->out->n - start;
		if (!print_key(f, &key))
			return false;
		entries->key_end = f->out->n - start;
		(void)buf_addz(f->out, colon);
		if (!print_value(f, &value))
			return false;
		entries->end = f->out->n - start;
		entries++;
	}
	return !f->ev->exhausted;
}

/* Prints the entries in iteration order, then sorts the printed pieces. */
bool cel_format_map(struct cel_formatter *f, const struct cel_value *map, cel_format_clause key,
		    const char *colon, cel_format_clause value)
{
	size_t n = cel_map_size(map), start = f->out->n, size;
	struct entry *entries = cel_alloc(f->ev, n * sizeof(*entries));
	char *copy;

	bool good;

	f->error = cel_too_large();
	good = cel_enter(f->ev) && entries && print_entries(f, map, key, colon, value, entries);
	cel_leave(f->ev);
	if (!good)
		return false;
	size = f->out->n - start;
	copy = cel_alloc(f->ev, size);
	if (!copy || f->out->overflow)
		return false;
	if (size)
		memcpy(copy, f->out->p + start, size);
	if (n > 1)
		qsort_r(entries, n, sizeof(*entries), entry_cmp, copy);
	f->out->n = start;
	(void)buf_addc(f->out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			(void)buf_addz(f->out, ", ");
		(void)buf_add(f->out, copy + entries[i].from, entries[i].end - entries[i].from);
	}
	(void)buf_addc(f->out, '}');
	return true;
}

static void strings_format_add_number(struct cel_formatter *f, uint64_t v, unsigned base)
{
	const char *digits = f->upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char text[64];
	size_t at = sizeof(text);

	do {
		text[--at] = digits[v % base];
		v /= base;
	} while (v);
	(void)buf_add(f->out, text + at, sizeof(text) - at);
}

static void add_hex_bytes(struct cel_formatter *f, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		(void)buf_printf(f->out, f->upper ? "%02X" : "%02x", (unsigned char)s.p[i]);
}

bool cel_format_integer(struct cel_formatter *f, const struct cel_value *v, unsigned base)
{
	if (v->kind == CEL_INT && v->i < 0)
		(void)buf_addc(f->out, '-');
	if (v->kind == CEL_INT)
		strings_format_add_number(f, v->i < 0 ? 0 - (uint64_t)v->i : (uint64_t)v->i, base);
	else if (v->kind == CEL_UINT)
		strings_format_add_number(f, v->u, base);
	else if (base == 16 && (v->kind == CEL_STRING || v->kind == CEL_BYTES))
		add_hex_bytes(f, v->s);
	else
		return false;
	return true;
}

/* No double has more digits than are printed here; zeros fill up a larger precision. */
void cel_format_double(struct cel_formatter *f, double v, char form, int precision)
{
	enum { DIGITS_MAX = 1100 };
	char text[DIGITS_MAX + 320], *mark;
	int digits = MIN(precision, (int)DIGITS_MAX);
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), form == 'f' ? "%.*f" : "%.*e", digits, v);
	mark = form == 'f' ? text + n : strchr(text, 'e');
	(void)buf_add(f->out, text, (size_t)(mark - text));
	for (; digits < precision && !f->out->overflow; digits++)
		(void)buf_addc(f->out, '0');
	(void)buf_addz(f->out, mark);
}

/* --- the text ----------------------------------------------------------------------- */

static bool fail_precision(struct cel_formatter *f, const char *why, struct str digits,
			   const char *end)
{
	f->error = cel_errorf(f->ev,
			      "could not parse formatting clause: error while parsing precision: "
			      "%s%.*s%s",
			      why, STR_ARG(digits), end);
	return false;
}

/* Reads an optional precision such as ".3" at *at. */
static bool take_precision(struct cel_formatter *f, struct str text, size_t *at, int max)
{
	size_t from = *at + 1, end = from;
	struct str digits;
	int64_t n;

	f->precision = FORMAT_PRECISION;
	if (*at >= text.n || text.p[*at] != '.')
		return true;
	while (end < text.n && str_is_digit(text.p[end]))
		end++;
	digits = str_of(text.p + from, end - from);
	if (end == text.n)
		return fail_precision(f, "could not find end of precision specifier", STR(""), "");
	if (digits.n == 0 || !str_to_i64(digits, &n))
		return fail_precision(
			f, "error while converting precision to integer: strconv.Atoi: parsing \"",
			digits, digits.n ? "\": value out of range" : "\": invalid syntax");
	if (max && n > max)
		return fail_precision(f, "precision ", digits,
				      " exceeds maximum allowed precision 100");
	f->precision = (int)MIN(n, (int64_t)CEL_SCRATCH_MAX);
	*at = end;
	return true;
}

static cel_format_clause clause_of(const struct cel_format_style *style, char letter)
{
	switch (letter) {
	case 's':
		return style->string;
	case 'd':
		return style->decimal;
	case 'f':
		return style->fixed;
	case 'e':
		return style->scientific;
	case 'b':
		return style->binary;
	case 'x':
	case 'X':
		return style->hex;
	default:
		return letter == 'o' ? style->octal : NULL;
	}
}

/* A byte as the character of that number, which is what upstream takes it for. */
static bool fail_letter(struct cel_formatter *f, unsigned char c)
{
	char text[3] = { (char)c, '\0', '\0' };

	if (c >= 128) {
		text[0] = (char)(0xc0 | c >> 6);
		text[1] = (char)(0x80 | (c & 0x3f));
	}
	f->error = cel_errorf(f->ev,
			      "could not parse formatting clause: "
			      "unrecognized formatting clause \"%s\"",
			      text);
	return false;
}

/* Reads and prints the clause after a '%'. *at is there, and is advanced past the clause. */
static bool format_clause(struct cel_formatter *f, const struct cel_format_style *style,
			  struct str text, size_t *at, const struct cel_value *v)
{
	cel_format_clause clause;

	if (!take_precision(f, text, at, style->precision_max))
		return false;
	if (*at >= text.n) {
		f->error = cel_errorf(
			f->ev, "could not parse formatting clause: unexpected end of string");
		return false;
	}
	clause = clause_of(style, text.p[*at]);
	f->upper = text.p[*at] == 'X';
	if (!clause)
		return fail_letter(f, (unsigned char)text.p[*at]);
	(*at)++;
	return clause(f, v);
}

static bool format_all(struct cel_formatter *f, const struct cel_format_style *style,
		       struct str text, const struct cel_value *list)
{
	size_t n = cel_list_size(list), used = 0, at = 0;

	while (at < text.n && !f->out->overflow) {
		struct cel_value v;

		if (text.p[at] != '%' || (at + 1 < text.n && text.p[at + 1] == '%')) {
			(void)buf_addc(f->out, text.p[at]);
			at += text.p[at] == '%' ? 2 : 1;
			continue;
		}
		if (used >= n || at + 1 >= text.n) {
			f->error = used >= n ? cel_errorf(f->ev, "index %zu out of range", used)
					     : cel_errorf(f->ev, "unexpected end of string");
			return false;
		}
		at++;
		v = cel_list_at(f->ev, list, used++);
		if (!format_clause(f, style, text, &at, &v))
			return false;
	}
	return true;
}

struct cel_value cel_format_text(struct cel_eval *ev, const struct cel_value *args,
				 const struct cel_format_style *style)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);
	struct cel_formatter f = { .ev = ev, .out = &out };
	char *p;

	if (!format_all(&f, style, args[0].s, &args[1]))
		return f.error;
	if (out.overflow)
		(void)cel_exhaust(ev, CEL_TOO_LARGE);
	p = cel_work(ev, out.n >> 2) ? cel_alloc(ev, out.n) : NULL;
	if (!p || out.overflow)
		return cel_too_large();
	if (out.n)
		memcpy(p, out.p, out.n);
	return CEL_STRING_V(str_of(p, out.n));
}

/* --- the specification's style ------------------------------------------------------ */

/* NaN and infinities by name. False: it is a number. */
static bool add_special(struct cel_formatter *f, double v)
{
	if (isfinite(v))
		return false;
	(void)buf_addz(f->out, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
	return true;
}

static bool string_clause(struct cel_formatter *f, const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_NULL:
		(void)buf_addz(f->out, "null");
		return true;
	case CEL_DOUBLE:
		if (!add_special(f, v->d))
			(void)print_f64_fixed(f->out, v->d);
		return true;
	case CEL_BYTES:
		(void)print_utf8(f->out, v->s);
		return true;
	case CEL_LIST:
		return cel_format_list(f, v, string_clause);
	case CEL_MAP:
		return cel_format_map(f, v, string_clause, ": ", string_clause);
	case CEL_BOOL:
	case CEL_INT:
	case CEL_UINT:
	case CEL_STRING:
	case CEL_TIMESTAMP:
	case CEL_DURATION:
		cel_value_text(f->ev, v, f->out);
		return true;
	case CEL_TYPE:
		(void)buf_add_str(f->out, v->type->name);
		return true;
	default:
		return cel_format_refuse(
			f,
			"string clause can only be used on strings, bools, bytes, ints, doubles, "
			"maps, lists, types, durations, and timestamps, was given",
			v);
	}
}

static bool decimal_clause(struct cel_formatter *f, const struct cel_value *v)
{
	if (v->kind == CEL_DOUBLE)
		return string_clause(f, v);
	return cel_format_integer(f, v, 10) ||
	       cel_format_refuse(
		       f, "decimal clause can only be used on ints, uints, and doubles, was given",
		       v);
}

/* Converts a number to double; false if it is not a number. */
static bool as_double(const struct cel_value *v, double *ret_value)
{
	if (v->kind == CEL_INT)
		*ret_value = (double)v->i;
	else if (v->kind == CEL_UINT)
		*ret_value = (double)v->u;
	else if (v->kind == CEL_DOUBLE)
		*ret_value = v->d;
	return v->kind == CEL_INT || v->kind == CEL_UINT || v->kind == CEL_DOUBLE;
}

static bool fixed_clause(struct cel_formatter *f, const struct cel_value *v)
{
	double d;

	if (!as_double(v, &d))
		return cel_format_refuse(f,
					 "fixed-point clause can only be used on ints, uints, and "
					 "doubles, was given",
					 v);
	if (!add_special(f, d))
		cel_format_double(f, d, 'f', f->precision);
	return true;
}

static bool scientific_clause(struct cel_formatter *f, const struct cel_value *v)
{
	double d;

	if (!as_double(v, &d))
		return cel_format_refuse(f,
					 "scientific clause can only be used on ints, uints, and "
					 "doubles, was given",
					 v);
	if (!add_special(f, d))
		cel_format_double(f, d, 'e', f->precision);
	return true;
}

static bool binary_clause(struct cel_formatter *f, const struct cel_value *v)
{
	if (v->kind == CEL_BOOL) {
		(void)buf_addc(f->out, v->b ? '1' : '0');
		return true;
	}
	return cel_format_integer(f, v, 2) ||
	       cel_format_refuse(
		       f, "only ints, uints, and bools can be formatted as binary, was given", v);
}

static bool hex_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_integer(f, v, 16) ||
	       cel_format_refuse(
		       f, "only ints, uints, bytes, and strings can be formatted as hex, was given",
		       v);
}

static bool octal_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_integer(f, v, 8) ||
	       cel_format_refuse(f, "octal clause can only be used on ints and uints, was given",
				 v);
}

static const struct cel_format_style style = {
	.string = string_clause,
	.decimal = decimal_clause,
	.fixed = fixed_clause,
	.scientific = scientific_clause,
	.binary = binary_clause,
	.hex = hex_clause,
	.octal = octal_clause,
	.precision_max = 100,
};

static struct cel_value format(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_format_text(ev, args, &style);
}

static struct cel_value reverse(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s;
	char *p = cel_alloc(ev, s.n);
	size_t at = 0, next;

	if (!p)
		return cel_too_large();
	for (; at < s.n; at = next) {
		next = cel_text_next(s, at);
		memcpy(p + s.n - next, s.p + at, next - at);
	}
	return CEL_STRING_V(str_of(p, s.n));
}

/* --- places in a text --------------------------------------------------------------- */

/* Whether a search may begin at this index, which is at most the length of the text. */
static bool is_place(const struct cel_value *text, int64_t index)
{
	return index >= 0 && (uint64_t)index <= str_characters(text->s);
}

static struct cel_value index_of_from(struct cel_eval *ev, const struct cel_value *args)
{
	return is_place(&args[0], args[2].i)
		       ? cel_index_of_from(ev, args)
		       : cel_errorf(ev, "index out of range: %" PRId64, args[2].i);
}

static struct cel_value last_index_of_from(struct cel_eval *ev, const struct cel_value *args)
{
	return is_place(&args[0], args[2].i)
		       ? cel_last_index_of_from(ev, args)
		       : cel_errorf(ev, "index out of range: %" PRId64, args[2].i);
}

#define S &cel_string
#define I &cel_int

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "format", "string_format", S, { S, &cel_list_dyn }, 2, true, format },
	{ "indexOf", "string_index_of_string_int", I, { S, S, I }, 3, true, index_of_from },
	{ "lastIndexOf", "string_last_index_of_string_int", I, { S, S, I }, 3, true,
	  last_index_of_from },
	{ "reverse", "string_reverse", S, { S }, 1, true, reverse },
};
/* clang-format on */

const struct cel_library cel_lib_strings_later = {
	.name = "strings, as specified",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
