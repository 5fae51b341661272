/*
 * Values are found once, before the sort. The index makes the order complete, so that qsort() is
 * stable.
 */
#include "cli/output/object_sort.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/json/quantity.h"

struct sortable {
	struct json *element;
	const struct json *value; /* or NULL */
	struct quantity quantity;
	bool amount; /* all values are quantities: text of two kinds has no one order */
	size_t index;
};

static int cmp_values(const struct json *a, const struct json *b)
{
	double x, y;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	if (json_f64(a, &x) && json_f64(b, &y))
		return x < y ? -1 : x > y;
	return str_cmp(json_str(a), json_str(b));
}

static int cmp_sortables(const void *a, const void *b)
{
	const struct sortable *x = a, *y = b;
	int c = x->amount && y->amount ? quantity_cmp(x->quantity, y->quantity)
				       : cmp_values(x->value, y->value);

	return c != 0 ? c : x->index < y->index ? -1 : x->index > y->index;
}

/* Fails if values are neither all numbers nor all text. */
static int check_values(const struct sortable *v, size_t n, struct error *err)
{
	const struct json *first = NULL;
	double number;

	for (size_t i = 0; i < n; i++) {
		const struct json *value = v[i].value;

		if (!value)
			continue;
		first = first ? first : value;
		if (!json_is(value, JSON_STRING) && !json_f64(value, &number))
			return error_set(err, ERR_BAD_REQUEST,
					 "--sort-by: the values are neither numbers nor text");
		if (json_is(value, JSON_STRING) != json_is(first, JSON_STRING))
			return error_set(err, ERR_BAD_REQUEST,
					 "--sort-by: some values are numbers and others are text");
	}
	if (n > 0 && !first)
		return error_set(err, ERR_BAD_REQUEST,
				 "--sort-by: none of the objects has this field");
	return 0;
}

static void read_quantities(struct sortable *v, size_t n)
{
	bool all = true;

	for (size_t i = 0; i < n; i++)
		all = all && (!v[i].value ||
			      quantity_parse(json_str(v[i].value), &v[i].quantity, NULL) == 0);
	for (size_t i = 0; i < n; i++)
		v[i].amount = all && v[i].value;
}

int object_sort(struct json *list, const char *member, const struct jsonpath *path,
		struct error *err)
{
	size_t n = json_count(list), i = 0;
	struct sortable *v = xcalloc(n + 1, sizeof(*v));
	int r;

	JSON_FOREACH (it, list) {
		v[i] = (struct sortable){ .element = it, .index = i };
		v[i++].value = jsonpath_first(path, member ? json_getz(it, member) : it);
	}
	r = check_values(v, n, err);
	if (r == 0) {
		read_quantities(v, n);
		qsort(v, n, sizeof(*v), cmp_sortables);
		while (json_first(list))
			(void)json_unlink(list, json_first(list));
		for (i = 0; i < n; i++)
			json_append(list, v[i].element);
	}
	free(v);
	return r;
}
