/*
 * Requirements become terms of a label selector, which match with the same meaning: NotIn and
 * DoesNotExist hold without the label, Gt and Lt compare integers.
 */
#include "api/selector/node_selector.h"

static const struct {
	const char *name;
	enum selector_op op;
} operators[] = {
	{ "In", SELECTOR_IN },         { "NotIn", SELECTOR_NOT_IN },
	{ "Exists", SELECTOR_EXISTS }, { "DoesNotExist", SELECTOR_NOT_EXISTS },
	{ "Gt", SELECTOR_GREATER },    { "Lt", SELECTOR_LESS },
};

static int read_operator(struct str name, enum selector_op *ret_op, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (!str_eqz(name, operators[i].name))
			continue;
		*ret_op = operators[i].op;
		return 0;
	}
	return error_set(err, ERR_INVALID, "\"%.*s\" is not a valid node selector operator",
			 STR_ARG(name));
}

static bool values_fit(const struct selector_term *t)
{
	int64_t number;

	switch (t->op) {
	case SELECTOR_IN:
	case SELECTOR_NOT_IN:
		return t->nvalues > 0;
	case SELECTOR_GREATER:
	case SELECTOR_LESS:
		return t->nvalues == 1 && str_to_i64(t->values[0], &number);
	default:
		return t->nvalues == 0;
	}
}

static int read_requirement(struct arena *a, const struct json *v, struct selector_term *t,
			    struct error *err)
{
	const struct json *list = json_getz(v, "values");
	struct str *values = ARENA_ARRAY(a, struct str, json_count(list));
	int r = read_operator(json_text_at(v, "operator"), &t->op, err);

	if (r < 0)
		return r;
	t->key = arena_str(a, json_text_at(v, "key"));
	t->values = values;
	JSON_FOREACH (value, list)
		values[t->nvalues++] = arena_str(a, json_str(value));
	if (!values_fit(t))
		return error_set(err, ERR_INVALID, "values of key %.*s do not fit operator %.*s",
				 STR_ARG(t->key), STR_ARG(json_text_at(v, "operator")));
	return 0;
}

static int read_requirements(struct arena *a, const struct json *list, struct selector *s,
			     struct error *err)
{
	struct selector_term *terms = ARENA_ARRAY(a, struct selector_term, json_count(list));

	*s = (struct selector){ .terms = terms };
	JSON_FOREACH (v, list) {
		int r = read_requirement(a, v, &terms[s->n++], err);

		if (r < 0)
			return r;
	}
	return 0;
}

int node_selector_read(struct arena *a, const struct json *v, struct node_selector *ret_selector,
		       struct error *err)
{
	const struct json *list = json_getz(v, "nodeSelectorTerms");
	struct node_selector_term *terms = ARENA_ARRAY(a, struct node_selector_term,
						       json_count(list));
	size_t n = 0;

	JSON_FOREACH (term, list) {
		int r = read_requirements(a, json_getz(term, "matchExpressions"), &terms[n].labels,
					  err);

		if (r == 0)
			r = read_requirements(a, json_getz(term, "matchFields"), &terms[n].fields,
					      err);
		if (r < 0)
			return r;
		n++;
	}
	*ret_selector = (struct node_selector){ terms, n };
	return 0;
}

static struct str get_label(const void *source, struct str key)
{
	return json_str(json_get(source, key));
}

static struct str get_field(const void *source, struct str key)
{
	const struct str *node = source;

	return str_eqz(key, "metadata.name") ? *node : STR_NULL;
}

bool node_selector_matches(const struct node_selector *s, struct str node,
			   const struct json *labels)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct node_selector_term *t = &s->terms[i];

		if (t->labels.n + t->fields.n > 0 &&
		    selector_matches(&t->labels, get_label, labels) &&
		    selector_matches(&t->fields, get_field, &node))
			return true;
	}
	return false;
}

static const char *operator_name(enum selector_op op)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (operators[i].op == op)
			return operators[i].name;
	return "In";
}

struct json *node_selector_requirement(struct arena *a, const struct selector_term *t)
{
	struct json *v = json_make_object(a);
	struct json *values;

	json_put_str(a, v, "key", t->key);
	json_put_str(a, v, "operator", str_from(operator_name(t->op)));
	if (t->nvalues == 0)
		return v;
	values = json_need_array(a, v, "values");
	for (size_t i = 0; i < t->nvalues; i++)
		json_append(values, json_make_str(a, t->values[i]));
	return v;
}
