/*
 * json_index - the children of one value, found by a text.
 *
 * For loops that look something up in what a client sent: lists and maps may be
 * long, and a search through one for each element of another takes seconds.
 * Members of an object go by their names; elements of an array by their own text, or by
 * that of one of their members. What has no such text goes by the empty one. Of
 * several the first is found.
 *
 * A few are searched one by one and cost no memory; for more a map is made when
 * the first is asked for. Texts and children are borrowed: the value must
 * outlive the index; children that are added later may not be found.
 * Threads: one at a time.
 */
#ifndef BASE_JSON_INDEX_H
#define BASE_JSON_INDEX_H

#include "base/core/map.h"
#include "base/json/json.h"

struct json_index {
	const struct json *of;
	const char *member; /* NULL: names of members, or texts of elements */
	struct map map; /* struct json, by their texts */
	bool mapped;
};

/* `of` may be NULL or no container: then it has nothing. `member` outlives the index. */
void json_index_init(struct json_index *x, const struct json *of, const char *member);

void json_index_release(struct json_index *x);

/* The first with that text, or NULL. */
struct json *json_index_get(struct json_index *x, struct str text);

/* Whether one before this child has the same text. */
bool json_index_came_before(struct json_index *x, const struct json *child);

static inline void json_index_release_cleanup(struct json_index *x)
{
	json_index_release(x);
}

#endif
