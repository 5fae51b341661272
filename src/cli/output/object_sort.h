/*
 * object_sort - sorts objects by the value of a path, for `--sort-by`.
 *
 * As kubectl does: numbers by value, quantities by theirs, other text by its bytes, objects without
 * a value first. Objects of equal value keep their order.
 */
#ifndef CLI_OUTPUT_OBJECT_SORT_H
#define CLI_OUTPUT_OBJECT_SORT_H

#include "api/table/jsonpath.h"

/*
 * Sorts the elements of a list. `member` is where an element has its object ("object" for the rows
 * of a Table); NULL: it is the object. Returns -ERR_BAD_REQUEST, and leaves the order, if no
 * element of a list has a value, or if the values cannot be compared.
 */
int object_sort(struct json *list, const char *member, const struct jsonpath *path,
		struct error *err);

#endif
