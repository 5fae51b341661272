/*
 * matchLabels are equalities. In matchExpressions, NotIn and DoesNotExist hold for absent labels.
 */
#include "api/selector/label_selector.h"

#include "base/json/json.h"

static bool expression_holds(const struct json *e, const struct json *labels)
{
	const struct json *label = json_get(labels, json_text_at(e, "key"));
	struct str op = json_text_at(e, "operator");
	bool listed = false;

	JSON_FOREACH (value, json_getz(e, "values"))
		listed = listed || (label && str_eq(json_str(value), json_str(label)));
	if (str_eqz(op, "In"))
		return listed;
	if (str_eqz(op, "NotIn"))
		return !listed;
	if (str_eqz(op, "Exists"))
		return label;
	return str_eqz(op, "DoesNotExist") && !label;
}

bool label_selector_matches(const struct json *selector, const struct json *labels)
{
	if (!selector)
		return false;
	JSON_FOREACH (want, json_getz(selector, "matchLabels")) {
		const struct json *label = json_get(labels, json_key(want));

		if (!label || !str_eq(json_str(label), json_str(want)))
			return false;
	}
	JSON_FOREACH (e, json_getz(selector, "matchExpressions"))
		if (!expression_holds(e, labels))
			return false;
	return true;
}

bool label_selector_is_empty(const struct json *selector)
{
	return json_count(json_getz(selector, "matchLabels")) == 0 &&
	       json_count(json_getz(selector, "matchExpressions")) == 0;
}
