/*
 * Selectors in objects: matchLabels and matchExpressions.
 */
#include "api/selector/selector.h"

#include "base/json/json.h"

static enum selector_op op_of(struct str name)
{
	static const struct {
		const char *name;
		enum selector_op op;
	} ops[] = { { "In", SELECTOR_IN },
		    { "NotIn", SELECTOR_NOT_IN },
		    { "Exists", SELECTOR_EXISTS },
		    { "DoesNotExist", SELECTOR_NOT_EXISTS } };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (str_eqz(name, ops[i].name))
			return ops[i].op;
	return SELECTOR_IN; /* validation allows no other; without values it matches nothing */
}

static struct selector_term term_of(struct arena *a, const struct json *expression)
{
	const struct json *values = json_getz(expression, "values");
	struct str *v = ARENA_ARRAY(a, struct str, json_count(values) + 1);
	size_t n = 0;

	JSON_FOREACH (it, values)
		v[n++] = arena_str(a, json_str(it));
	return (struct selector_term){ .key = arena_str(a, json_text_at(expression, "key")),
				       .op = op_of(json_text_at(expression, "operator")),
				       .values = v,
				       .nvalues = n };
}

struct selector selector_of_tree(struct arena *a, const struct json *tree)
{
	const struct json *labels = json_getz(tree, "matchLabels");
	const struct json *expressions = json_getz(tree, "matchExpressions");
	struct selector_term *terms = ARENA_ARRAY(a, struct selector_term,
						  json_count(labels) + json_count(expressions) + 1);
	size_t n = 0;

	JSON_FOREACH (it, labels) {
		struct str *value = ARENA_NEW(a, struct str);

		*value = arena_str(a, json_str(it));
		terms[n++] = (struct selector_term){ .key = arena_str(a, json_key(it)),
						     .op = SELECTOR_EQUALS,
						     .values = value,
						     .nvalues = 1 };
	}
	JSON_FOREACH (it, expressions)
		terms[n++] = term_of(a, it);
	return (struct selector){ terms, n };
}
