/*
 * A number of pods or a share of them, as updates of Deployments and DaemonSets have it.
 */
#include "api/check/checks.h"

#include "base/json/json.h"

static bool amount_read_share(struct str text, int64_t *ret_percent)
{
	struct str digits = str_of(text.p, text.n ? text.n - 1 : 0);

	*ret_percent = 0;
	if (digits.n == 0 || !str_ends(text, STR("%")))
		return false;
	for (size_t i = 0; i < digits.n; i++) {
		if (!str_is_digit(digits.p[i]))
			return false;
	}
	if (!str_to_i64(digits, ret_percent))
		*ret_percent = INT64_MAX;
	return true;
}

int64_t check_amount_of(const struct json *value)
{
	int64_t n = 0;
	bool known;

	if (json_is(value, JSON_STRING))
		known = amount_read_share(json_str(value), &n) || str_to_i64(json_str(value), &n);
	else
		known = json_i64(value, &n);
	return known ? n : 0;
}

void check_amount(struct validation *v, const struct json *value, const struct field_path *at)
{
	int64_t percent;

	if (json_is(value, JSON_STRING)) {
		if (!amount_read_share(json_str(value), &percent))
			field_errors_invalid(v->errs, at, FIELD_STR(json_str(value)),
					     "a valid percent string must be a numeric string "
					     "followed by an ending '%' (e.g. '1%', or '93%', "
					     "regex used for validation is '[0-9]+%')");
	} else if (check_amount_of(value) < 0) {
		field_errors_invalid(v->errs, at, validate_shown(v, value),
				     "must be greater than or equal to 0");
	}
}

void check_amount_at_most_all(struct validation *v, const struct json *value,
			      const struct field_path *at)
{
	int64_t percent;

	if (json_is(value, JSON_STRING) && amount_read_share(json_str(value), &percent) &&
	    percent > 100)
		field_errors_invalid(v->errs, at, FIELD_STR(json_str(value)),
				     "must not be greater than 100%");
}
