/*
 * text.format(values) as in cel-go's strings up to version 3, which Kubernetes uses. The output
 * differs: fixed numbers have thousands separators, scientific ones a superscript power of ten (and
 * use the precision as a width), and elements of lists and maps are printed in CEL syntax.
 */
#include <math.h>
#include <stdio.h>

#include "base/text/print.h"
#include "cel/lib/libraries.h"
#include "cel/lib/strings.h"
#include "cel/lib/strings_format.h"

/* --- numbers ------------------------------------------------------------------------ */

/* A double, or a string that names one that cannot be written. */
static bool as_double(const struct cel_value *v, double *ret_value)
{
	static const struct {
		const char *name;
		double value;
	} named[] = { { "NaN", NAN }, { "Infinity", INFINITY }, { "-Infinity", -INFINITY } };

	if (v->kind == CEL_DOUBLE)
		*ret_value = v->d;
	for (size_t i = 0; i < ARRAY_SIZE(named) && v->kind == CEL_STRING; i++)
		if (str_eqz(v->s, named[i].name)) {
			*ret_value = named[i].value;
			return true;
		}
	return v->kind == CEL_DOUBLE;
}

static const char *special(double v)
{
	return isnan(v) ? "NaN" : v < 0 ? "-\xe2\x88\x9e" : "\xe2\x88\x9e";
}

/* Commas into the digits that begin at `from`. */
static void add_separators(struct cel_formatter *f, size_t from)
{
	char digits[400];
	size_t n = 0;

	while (from + n < f->out->n && str_is_digit(f->out->p[from + n]))
		n++;
	if (n <= 3 || n > sizeof(digits))
		return;
	memcpy(digits, f->out->p + from, n);
	if (buf_reserve(f->out, n / 3) < 0)
		return;
	memmove(f->out->p + from + n + (n - 1) / 3, f->out->p + from + n, f->out->n - from - n);
	f->out->n += (n - 1) / 3;
	for (size_t i = 0, to = from; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			f->out->p[to++] = ',';
		f->out->p[to++] = digits[i];
	}
}

static bool fixed_clause(struct cel_formatter *f, const struct cel_value *v)
{
	size_t from = f->out->n;
	double d;

	if (!as_double(v, &d))
		return cel_format_refuse(
			f, "fixed-point clause can only be used on doubles, was given", v);
	if (!isfinite(d)) {
		(void)buf_addz(f->out, special(d));
		return true;
	}
	cel_format_double(f, d == 0 ? 0 : d, 'f', f->precision);
	if (!f->out->overflow)
		add_separators(f, from + (f->out->p[from] == '-'));
	return true;
}

/* Digits and a minus, raised. */
static void add_superscript(struct cel_formatter *f, char c)
{
	static const char *const digits[] = {
		"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",     "\xe2\x81\xb4",
		"\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7", "\xe2\x81\xb8", "\xe2\x81\xb9",
	};

	if (str_is_digit(c))
		(void)buf_addz(f->out, digits[c - '0']);
	else if (c == '-')
		(void)buf_addz(f->out, "\xe2\x81\xbb");
}

static bool scientific_clause(struct cel_formatter *f, const struct cel_value *v)
{
	char text[40], *mark;
	double d;
	int width;

	if (!as_double(v, &d))
		return cel_format_refuse(
			f, "scientific clause can only be used on doubles, was given", v);
	width = snprintf(text, sizeof(text), "%.6e", d == 0 ? 0 : d);
	mark = strchr(text, 'e');
	/* "e+06" becomes four characters, a minus one more. */
	if (isfinite(d))
		width += 1 + (mark[1] == '-');
	else
		width = (int)str_characters(str_from(special(d)));
	for (; width < f->precision && !f->out->overflow; width++)
		(void)buf_addc(f->out, ' ');
	if (!isfinite(d)) {
		(void)buf_addz(f->out, special(d));
		return true;
	}
	(void)buf_add(f->out, text, (size_t)(mark - text));
	(void)buf_addz(f->out, "\xc3\x97"
			       "10");
	for (const char *p = mark + 1; *p; p++)
		add_superscript(f, *p);
	return true;
}

static bool decimal_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_integer(f, v, 10) ||
	       cel_format_refuse(f, "decimal clause can only be used on integers, was given", v);
}

static bool binary_clause(struct cel_formatter *f, const struct cel_value *v)
{
	if (v->kind == CEL_BOOL) {
		(void)buf_addc(f->out, v->b ? '1' : '0');
		return true;
	}
	return cel_format_integer(f, v, 2) ||
	       cel_format_refuse(f, "only integers and bools can be formatted as binary, was given",
				 v);
}

static bool hex_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_integer(f, v, 16) ||
	       cel_format_refuse(f,
				 "only integers, byte buffers, and strings can be formatted as "
				 "hex, was given",
				 v);
}

static bool octal_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_integer(f, v, 8) ||
	       cel_format_refuse(f, "octal clause can only be used on integers, was given", v);
}

/* --- text --------------------------------------------------------------------------- */

static bool is_text(struct cel_formatter *f, struct str s)
{
	if (str_is_utf8(s))
		return true;
	f->error = cel_errorf(f->ev,
			      "error during formatting: could not convert argument \"invalid UTF-8 "
			      "in bytes, cannot convert to string\" to string");
	return false;
}

static bool quoted(struct cel_formatter *f, const char *before, struct str s, const char *after)
{
	(void)buf_addz(f->out, before);
	(void)print_quoted(f->out, s);
	(void)buf_addz(f->out, after);
	return true;
}

static bool wrapped(struct cel_formatter *f, const char *function, const struct cel_value *v)
{
	(void)buf_printf(f->out, "%s(\"", function);
	cel_value_text(f->ev, v, f->out);
	(void)buf_addz(f->out, "\")");
	return true;
}

static bool list_clause(struct cel_formatter *f, const struct cel_value *v);
static bool map_clause(struct cel_formatter *f, const struct cel_value *v);

/* An element of a list or a map. */
static bool element_clause(struct cel_formatter *f, const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_STRING:
		return quoted(f, "", v->s, "");
	case CEL_BYTES:
		return is_text(f, v->s) && quoted(f, "b", v->s, "");
	case CEL_DOUBLE:
		if (isfinite(v->d))
			cel_format_double(f, v->d, 'f', FORMAT_PRECISION);
		else
			(void)buf_addz(f->out, isnan(v->d) ? "\"NaN\""
					       : v->d < 0  ? "\"-Inf\""
							   : "\"+Inf\"");
		return true;
	case CEL_DURATION:
		return wrapped(f, "duration", v);
	case CEL_TIMESTAMP:
		return wrapped(f, "timestamp", v);
	case CEL_LIST:
		return list_clause(f, v);
	case CEL_MAP:
		return map_clause(f, v);
	case CEL_TYPE:
		(void)buf_add_str(f->out, v->type->name);
		return true;
	case CEL_NULL:
	case CEL_BOOL:
	case CEL_INT:
	case CEL_UINT:
		cel_value_text(f->ev, v, f->out);
		return true;
	default:
		return cel_format_refuse(f, "no formatting function for", v);
	}
}

static bool key_clause(struct cel_formatter *f, const struct cel_value *v)
{
	if (v->kind == CEL_STRING || v->kind == CEL_BOOL || v->kind == CEL_INT ||
	    v->kind == CEL_UINT)
		return element_clause(f, v);
	return cel_format_refuse(f, "no formatting function for map key of type", v);
}

static bool list_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_list(f, v, element_clause);
}

static bool map_clause(struct cel_formatter *f, const struct cel_value *v)
{
	return cel_format_map(f, v, key_clause, ":", element_clause);
}

static bool string_clause(struct cel_formatter *f, const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_LIST:
		return list_clause(f, v);
	case CEL_MAP:
		return map_clause(f, v);
	case CEL_TYPE:
		(void)buf_add_str(f->out, v->type->name);
		return true;
	case CEL_BYTES:
		if (!is_text(f, v->s))
			return false;
		(void)buf_add_str(f->out, v->s);
		return true;
	case CEL_NULL:
	case CEL_BOOL:
	case CEL_INT:
	case CEL_UINT:
	case CEL_DOUBLE:
	case CEL_STRING:
	case CEL_TIMESTAMP:
	case CEL_DURATION:
		cel_value_text(f->ev, v, f->out);
		return true;
	default:
		return cel_format_refuse(
			f,
			"string clause can only be used on strings, bools, bytes, ints, doubles, "
			"maps, lists, types, durations, and timestamps, was given",
			v);
	}
}

static const struct cel_format_style style = {
	.string = string_clause,
	.decimal = decimal_clause,
	.fixed = fixed_clause,
	.scientific = scientific_clause,
	.binary = binary_clause,
	.hex = hex_clause,
	.octal = octal_clause,
};

static struct cel_value format(struct cel_eval *ev, const struct cel_value *args)
{
	return cel_format_text(ev, args, &style);
}

#define S &cel_string
#define I &cel_int

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "format", "string_format", S, { S, &cel_list_dyn }, 2, true, format },
	{ "indexOf", "string_index_of_string_int", I, { S, S, I }, 3, true, cel_index_of_from },
	{ "lastIndexOf", "string_last_index_of_string_int", I, { S, S, I }, 3, true,
	  cel_last_index_of_from },
};
/* clang-format on */

const struct cel_library cel_lib_strings_kubernetes = {
	.name = "strings, of Kubernetes",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
