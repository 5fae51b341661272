/*
 * Prints values in two forms. cel_value_text() gives the result of string(x), which is also used
 * where JSON has no type of its own. cel_value_print() uses CEL syntax: text in quotes, bytes in
 * octal, lists and maps in full. Maps are sorted by their printed keys, so that messages are
 * reproducible.
 */
#include <math.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/text/print.h"
#include "base/time/timestamp.h"
#include "cel/cel_limits.h"
#include "cel/core/ip.h"
#include "cel/core/named_format.h"
#include "cel/core/semver.h"
#include "cel/core/url.h"
#include "cel/core/value.h"

static void print_duration(int64_t ns, struct buf *out)
{
	/* Like upstream, use a double, which loses digits of durations longer than some months. */
	int64_t seconds = ns / 1000000000, rest = ns % 1000000000;

	(void)print_f64_fixed(out, (double)seconds + (double)rest / 1e9);
	(void)buf_addc(out, 's');
}

void cel_value_text(struct cel_eval *ev, const struct cel_value *v, struct buf *out)
{
	char time[TIMESTAMP_SIZE], address[CEL_ADDRESS_TEXT];

	switch (v->kind) {
	case CEL_STRING:
	case CEL_BYTES:
		(void)buf_add_str(out, v->s);
		return;
	case CEL_UINT:
		(void)buf_add_u64(out, v->u);
		return;
	case CEL_DOUBLE:
		(void)print_f64(out, v->d);
		return;
	case CEL_TIMESTAMP:
		(void)buf_add_str(
			out, timestamp_print_wide((struct timestamp){ v->i, v->nanos, v->offset },
						  time));
		return;
	case CEL_DURATION:
		print_duration(v->i, out);
		return;
	case CEL_QUANTITY:
		(void)quantity_print(*v->quantity, out);
		return;
	case CEL_IP:
		(void)buf_add_str(out, cel_ip_print(v->address, address));
		return;
	case CEL_CIDR:
		(void)buf_add_str(out, cel_cidr_print(v->address, address));
		return;
	case CEL_SEMVER:
		cel_semver_print(v->semver, out);
		return;
	case CEL_URL:
		(void)buf_add_str(out, v->url->text);
		return;
	case CEL_FORMAT:
		(void)buf_addz(out, v->format->name);
		return;
	default:
		cel_value_print(ev, v, out);
		return;
	}
}

static void print_f64_literal(double v, struct buf *out)
{
	size_t from;

	if (!isfinite(v)) {
		(void)buf_printf(out, "double(\"%s\")",
				 isnan(v) ? "NaN"
				 : v > 0  ? "Infinity"
					  : "-Infinity");
		return;
	}
	from = out->n;
	(void)print_f64_fixed(out, v);
	if (str_chr(str_skip(buf_str(out), from), '.') < 0)
		(void)buf_addz(out, ".0");
}

static void print_bytes(struct str s, struct buf *out)
{
	(void)buf_addz(out, "b\"");
	for (size_t i = 0; i < s.n && !out->overflow; i++)
		(void)buf_printf(out, "\\%03o", (unsigned char)s.p[i]);
	(void)buf_addc(out, '"');
}

/* Recursion ends at CEL_DEPTH_MAX: values that are deeper are cut. */
static void print_at(struct cel_eval *ev, const struct cel_value *v, struct buf *out,
		     unsigned depth);

static void print_list(struct cel_eval *ev, const struct cel_value *v, struct buf *out,
		       unsigned depth)
{
	size_t n = cel_list_size(v);
	struct cel_value item;

	(void)buf_addc(out, '[');
	for (size_t i = 0; i < n && !out->overflow; i++) {
		if (i > 0)
			(void)buf_addz(out, ", ");
		item = cel_list_at(ev, v, i);
		print_at(ev, &item, out, depth);
	}
	(void)buf_addc(out, ']');
}

/* Prints the entries one after the other, then sorts the printed pieces. */
static void print_map(struct cel_eval *ev, const struct cel_value *v, struct buf *out,
		      unsigned depth)
{
	size_t n = cel_map_size(v), at = 0, count = 0;
	size_t *ends = xcalloc(n + 1, sizeof(*ends));
	struct str *entries = xcalloc(n + 1, sizeof(*entries));
	struct buf text = BUF_INIT(out->max);
	struct cel_value key, value;

	while (count < n && !text.overflow && cel_map_next(ev, v, &at, &key, &value)) {
		print_at(ev, &key, &text, depth);
		(void)buf_addz(&text, ": ");
		print_at(ev, &value, &text, depth);
		ends[++count] = text.n;
	}
	for (size_t i = 0; i < count; i++)
		entries[i] = str_of(text.p + ends[i], ends[i + 1] - ends[i]);
	qsort(entries, count, sizeof(*entries), str_order);
	(void)buf_addc(out, '{');
	for (size_t i = 0; i < count; i++) {
		(void)buf_addz(out, i > 0 ? ", " : "");
		(void)buf_add_str(out, entries[i]);
	}
	(void)buf_addc(out, '}');
	out->overflow |= text.overflow;
	buf_release(&text);
	free(entries);
	free(ends);
}

static void print_object(struct cel_eval *ev, const struct cel_value *v, struct buf *out,
			 unsigned depth)
{
	const struct cel_type *type = cel_value_type(v);
	const char *before = "{";
	struct cel_value value;

	(void)buf_add_str(out, type->name);
	for (size_t i = 0; i < type->nfields && !out->overflow; i++) {
		value = v->object.class->get(ev, v->object.self, type->fields[i].name);
		if (cel_is_error(value))
			continue;
		(void)buf_printf(out, "%s%.*s: ", before, STR_ARG(type->fields[i].name));
		print_at(ev, &value, out, depth);
		before = ", ";
	}
	(void)buf_addz(out, before[0] == '{' ? "{}" : "}");
}

static void print_call(const char *function, struct cel_eval *ev, const struct cel_value *v,
		       struct buf *out)
{
	(void)buf_printf(out, "%s(\"", function);
	cel_value_text(ev, v, out);
	(void)buf_addz(out, "\")");
}

static void print_optional(struct cel_eval *ev, const struct cel_value *v, struct buf *out,
			   unsigned depth)
{
	if (!v->optional) {
		(void)buf_addz(out, "optional.none()");
		return;
	}
	(void)buf_addz(out, "optional.of(");
	print_at(ev, v->optional, out, depth);
	(void)buf_addc(out, ')');
}

/* Prints values without parts. */
static void print_simple(struct cel_eval *ev, const struct cel_value *v, struct buf *out)
{
	switch (v->kind) {
	case CEL_NULL:
		(void)buf_addz(out, "null");
		return;
	case CEL_BOOL:
		(void)buf_addz(out, v->b ? "true" : "false");
		return;
	case CEL_INT:
		(void)buf_add_i64(out, v->i);
		return;
	case CEL_UINT:
		(void)buf_add_u64(out, v->u);
		(void)buf_addc(out, 'u');
		return;
	case CEL_DOUBLE:
		print_f64_literal(v->d, out);
		return;
	case CEL_STRING:
		(void)print_quoted(out, v->s);
		return;
	case CEL_BYTES:
		print_bytes(v->s, out);
		return;
	case CEL_TIMESTAMP:
		print_call("timestamp", ev, v, out);
		return;
	case CEL_DURATION:
		print_call("duration", ev, v, out);
		return;
	case CEL_TYPE:
		(void)buf_add_str(out, v->type->name);
		return;
	default:
		(void)buf_addz(out, v->error ? v->error : "nothing");
		return;
	}
}

/* Of opaque kinds by the function that makes them of a text. */
static const char *const makers[CEL_KINDS] = {
	[CEL_QUANTITY] = "quantity", [CEL_SEMVER] = "semver", [CEL_IP] = "ip",
	[CEL_CIDR] = "cidr",         [CEL_URL] = "url",       [CEL_FORMAT] = "format.named",
};

static void print_at(struct cel_eval *ev, const struct cel_value *v, struct buf *out,
		     unsigned depth)
{
	if (depth > CEL_DEPTH_MAX) {
		(void)buf_addz(out, "...");
		return;
	}
	switch (v->kind) {
	case CEL_LIST:
		print_list(ev, v, out, depth + 1);
		return;
	case CEL_MAP:
		print_map(ev, v, out, depth + 1);
		return;
	case CEL_OBJECT:
		print_object(ev, v, out, depth + 1);
		return;
	case CEL_OPTIONAL:
		print_optional(ev, v, out, depth + 1);
		return;
	default:
		break;
	}
	if (makers[v->kind])
		print_call(makers[v->kind], ev, v, out);
	else
		print_simple(ev, v, out);
}

void cel_value_print(struct cel_eval *ev, const struct cel_value *v, struct buf *out)
{
	print_at(ev, v, out, 0);
}
