/*
 * Matching, and functions that the two parsers share. There are few values, mostly one, so they are
 * compared one by one.
 */
#include "api/selector/selector.h"

static bool selector_has_value(const struct selector_term *t, struct str value)
{
	for (size_t i = 0; i < t->nvalues; i++)
		if (str_eq(t->values[i], value))
			return true;
	return false;
}

/*
 * Compares a label's value with the term's as integers: -1, 0, 1; also 0 if it is not an integer.
 */
static int compare_numbers(struct str value, const struct selector_term *t)
{
	int64_t given, bound;

	if (!str_to_i64(value, &given) || !str_to_i64(t->values[0], &bound))
		return 0;
	return (given > bound) - (given < bound);
}

static bool term_matches(const struct selector_term *t, struct str value)
{
	switch (t->op) {
	case SELECTOR_EQUALS:
	case SELECTOR_IN:
		return value.p && selector_has_value(t, value);
	case SELECTOR_NOT_EQUALS:
	case SELECTOR_NOT_IN:
		return !value.p || !selector_has_value(t, value);
	case SELECTOR_EXISTS:
		return value.p != NULL;
	case SELECTOR_NOT_EXISTS:
		return value.p == NULL;
	case SELECTOR_GREATER:
		return value.p && compare_numbers(value, t) > 0;
	case SELECTOR_LESS:
		return value.p && compare_numbers(value, t) < 0;
	}
	return false;
}

bool selector_matches(const struct selector *s,
		      struct str (*get)(const void *source, struct str key), const void *source)
{
	for (size_t i = 0; i < s->n; i++)
		if (!term_matches(&s->terms[i], get(source, s->terms[i].key)))
			return false;
	return true;
}

size_t selector_weight(const struct selector *s)
{
	size_t n = s->n;

	for (size_t i = 0; i < s->n; i++)
		n += s->terms[i].nvalues;
	return n;
}

struct str selector_required_value(const struct selector *s, struct str key)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = &s->terms[i];

		if ((t->op == SELECTOR_EQUALS || t->op == SELECTOR_IN) && t->nvalues == 1 &&
		    str_eq(t->key, key))
			return t->values[0];
	}
	return STR_NULL;
}

struct selector selector_copy(struct arena *a, const struct selector *s)
{
	struct selector_term *terms = ARENA_ARRAY(a, struct selector_term, s->n);

	for (size_t i = 0; i < s->n; i++) {
		struct str *values = ARENA_ARRAY(a, struct str, s->terms[i].nvalues);

		for (size_t k = 0; k < s->terms[i].nvalues; k++)
			values[k] = arena_str(a, s->terms[i].values[k]);
		terms[i] = s->terms[i];
		terms[i].key = arena_str(a, s->terms[i].key);
		terms[i].values = values;
	}
	return (struct selector){ terms, s->n };
}
