/*
 * json_index - finds the children of one value by a text.
 *
 * For loops that look up values from a client: lists and maps may be long, and a linear search for
 * each element of another list would take seconds. Members of an object are found by their names;
 * elements of an array by their own text, or by the text of one of their members. Children without
 * such a text have the empty one. If several have the same text, the first is found.
 *
 * A few children are searched linearly, without memory; for more a map is built at the first
 * lookup. Texts and children are borrowed: the value must outlive the index; children added later
 * may not be found.
 * Threads: one at a time.
 */
#ifndef BASE_JSON_INDEX_H
#define BASE_JSON_INDEX_H

#include "base/core/map.h"
#include "base/json/json.h"

struct json_index {
	const struct json *of;
	const char *member; /* NULL: names of members, or texts of elements */
	struct map map; /* struct json by text */
	bool mapped;
};

/* `of` may be NULL or not a container: then nothing is found. `member` must outlive the index. */
void json_index_init(struct json_index *x, const struct json *of, const char *member);

void json_index_release(struct json_index *x);

/* The first with that text, or NULL. */
struct json *json_index_get(struct json_index *x, struct str text);

/* Whether an earlier child has the same text. */
bool json_index_came_before(struct json_index *x, const struct json *child);

static inline void json_index_release_cleanup(struct json_index *x)
{
	json_index_release(x);
}

#endif
