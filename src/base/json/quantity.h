/*
 * quantity - Kubernetes' numbers with suffixes: "100m", "1.5Gi", "12e6".
 *
 * Parsed exactly into a mantissa and a decimal exponent or binary suffix;
 * compared exactly; printed in upstream's canonical form.
 */
#ifndef BASE_JSON_QUANTITY_H
#define BASE_JSON_QUANTITY_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct json;

enum quantity_format { QUANTITY_DECIMAL_SI, QUANTITY_BINARY_SI, QUANTITY_DECIMAL_EXPONENT };

/*
 * value = units * 10^-9 (nano), in 128 bits: upstream keeps no smaller parts (it rounds away from
 * zero). Binary suffixes end at 2^63-1 units, like there; the others at 10^29.
 */
struct quantity {
	__int128 nano;
	enum quantity_format format;
	/*
	 * How upstream stores the same value: as a 64-bit number times 10^scale, or, if `wide`,
	 * with more digits. There "1" is an integer, "1000m" and "1.0" are not.
	 */
	int8_t scale;
	bool wide;
};

/* -ERR_INVALID with upstream's text. */
int quantity_parse(struct str s, struct quantity *ret_q, struct error *err);
/* Reads a JSON value: text or an integer. Returns false for anything else. */
bool quantity_read(const struct json *v, struct quantity *ret_q);

/* A quantity of whole units, or of thousandths. */
struct quantity quantity_of(int64_t units, enum quantity_format format);
struct quantity quantity_of_milli(int64_t milli);

/* -1, 0, 1. */
int quantity_cmp(struct quantity a, struct quantity b);
struct quantity quantity_add(struct quantity a, struct quantity b); /* a's format; saturates */
struct quantity quantity_sub(struct quantity a, struct quantity b);

int quantity_sign(struct quantity q); /* -1, 0, 1 */

/*
 * The value if upstream treats it as an integer: written without a fraction and, by its number of
 * digits, small enough for 64 bits. Returns false otherwise, even for "1000m".
 */
bool quantity_integer(struct quantity q, int64_t *ret_value);

/* The approximate value, with upstream's rounding error: "0.3" is 0.30000000000000004. */
double quantity_double(struct quantity q);

/* Rounded up to whole units, or thousandths; saturates. */
int64_t quantity_value(struct quantity q);
int64_t quantity_milli(struct quantity q);

/* Appends the canonical form. */
int quantity_print(struct quantity q, struct buf *out);

/* A quick check whether the text is canonical. False may also mean that it does not know. */
bool quantity_is_canonical(struct str text);

#endif
