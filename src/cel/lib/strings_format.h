/*
 * lib_strings_format - text.format(values): common code of its two styles.
 *
 * A style defines how a clause prints a value. There are two: that of the specification, and that
 * of earlier versions of cel-go, which Kubernetes keeps.
 */
#ifndef CEL_LIB_STRINGS_FORMAT_H
#define CEL_LIB_STRINGS_FORMAT_H

#include "cel/core/value.h"

struct cel_formatter {
	struct cel_eval *ev;
	struct buf *out;
	int precision; /* of the clause; default FORMAT_PRECISION */
	bool upper; /* hexadecimal digits */
	struct cel_value error; /* set when a clause returned false */
};

enum { FORMAT_PRECISION = 6 };

/* Appends a value; false if it cannot be printed. */
typedef bool (*cel_format_clause)(struct cel_formatter *f, const struct cel_value *v);

struct cel_format_style {
	cel_format_clause string, decimal, fixed, scientific, binary, hex, octal;
	int precision_max; /* 0: no limit */
};

/* args[0].format(args[1]). */
struct cel_value cel_format_text(struct cel_eval *ev, const struct cel_value *args,
				 const struct cel_format_style *style);

/* For clauses: reports a value of an unsupported type. `what` is the beginning of the message. */
bool cel_format_refuse(struct cel_formatter *f, const char *what, const struct cel_value *v);

/* Lists as [a, b], maps as {k: v}, sorted by the text of their keys. */
bool cel_format_list(struct cel_formatter *f, const struct cel_value *list,
		     cel_format_clause element);
bool cel_format_map(struct cel_formatter *f, const struct cel_value *map, cel_format_clause key,
		    const char *colon, cel_format_clause value);

/*
 * Prints integers, and bytes in base 16. Returns false, without setting an error, for other values.
 */
bool cel_format_integer(struct cel_formatter *f, const struct cel_value *v, unsigned base);

/* Prints finite doubles like printf's %f and %e, with any precision. */
void cel_format_double(struct cel_formatter *f, double v, char form, int precision);

#endif
