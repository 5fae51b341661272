/*
 * json_number - doubles to and from decimal text, exactly.
 *
 * For all code that reads or writes numbers as text. Independent of the locale and, except for rare
 * slow cases, of the C library.
 */
#ifndef BASE_TEXT_NUMBER_H
#define BASE_TEXT_NUMBER_H

#include "base/core/str.h"

enum { JSON_NUMBER_MAX = 32 }; /* bytes that a printed number needs at most */

/*
 * The double nearest to `text`: an optional sign, digits with at most one point among or around
 * them, an optional exponent. The caller must have checked that grammar. Returns false if the value
 * is too large for a double; values that are too small become zero.
 */
bool json_number_parse(struct str text, double *ret_value);

/* The shortest digits that read back as the same value: 0.d1d2d3... * 10^point. */
struct json_digits {
	char digits[20]; /* '1' to '9' first and last, unless the value is zero: "0" */
	int count;
	int point;
	bool negative; /* also for -0 */
};

/* Both take finite values only. */
void json_digits_f64(double v, struct json_digits *ret_digits);
void json_digits_f32(float v, struct json_digits *ret_digits);

/*
 * Writes v as Go's encoding/json does: without an exponent from 1e-6 up to,
 * not including, 1e21. Returns the length.
 */
size_t json_number_print(double v, char out[static JSON_NUMBER_MAX]);

/*
 * Writes the digits in Go's 'g' format, which upstream uses for YAML: without an exponent from 1e-4
 * up to, not including, 1e6.
 */
size_t json_digits_print_general(const struct json_digits *d, char out[static JSON_NUMBER_MAX]);

#endif
