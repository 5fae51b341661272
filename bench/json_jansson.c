/*
 * Thin wrappers: what is measured is json_loadb, json_decref and json_dumpb.
 */
#include "json_jansson.h"

#include <jansson.h>

void *jansson_parse(const char *text, size_t n)
{
	return json_loadb(text, n, 0, NULL);
}

void jansson_release(void *tree)
{
	json_decref(tree);
}

bool jansson_print(const void *tree, char *room, size_t size)
{
	size_t n = json_dumpb(tree, room, size, JSON_COMPACT);

	return n > 0 && n <= size;
}
