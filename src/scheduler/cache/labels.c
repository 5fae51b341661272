/*
 * Labels are short lists, searched as they are.
 */
#include "scheduler/cache/labels.h"

static struct str get_label(const void *source, struct str key)
{
	return labels_get(source, key);
}

bool labels_match(const struct selector *s, const struct json *labels)
{
	return selector_matches(s, get_label, labels);
}

static bool expression_holds(const struct json *e, const struct json *labels)
{
	struct str value = labels_get(labels, json_text_at(e, "key"));
	bool listed = value.p && json_has_text(json_getz(e, "values"), value);
	enum selector_op op;

	if (!labels_operator(json_text_at(e, "operator"), &op))
		return false;
	switch (op) {
	case SELECTOR_IN:
		return listed;
	case SELECTOR_NOT_IN:
		return !listed;
	case SELECTOR_EXISTS:
		return value.p;
	default:
		return !value.p;
	}
}

bool labels_selected(const struct json *labels, const struct json *selector)
{
	JSON_FOREACH (member, json_getz(selector, "matchLabels")) {
		struct str value = labels_get(labels, json_key(member));

		if (!value.p || !str_eq(value, json_str(member)))
			return false;
	}
	JSON_FOREACH (e, json_getz(selector, "matchExpressions")) {
		if (!expression_holds(e, labels))
			return false;
	}
	return true;
}

bool labels_operator(struct str name, enum selector_op *ret_op)
{
	static const struct {
		const char *name;
		enum selector_op op;
	} operators[] = {
		{ "In", SELECTOR_IN },
		{ "NotIn", SELECTOR_NOT_IN },
		{ "Exists", SELECTOR_EXISTS },
		{ "DoesNotExist", SELECTOR_NOT_EXISTS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (!str_eqz(name, operators[i].name))
			continue;
		*ret_op = operators[i].op;
		return true;
	}
	return false;
}
