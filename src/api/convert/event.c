/*
 * Events are stored as core/v1. events.k8s.io/v1 has the same fields under other names, and prints
 * different ones when they are empty.
 */
#include "api/convert/convert.h"

#include "base/json/json.h"

static const struct {
	struct str core, v1;
} names[] = {
	{ { "involvedObject", 14 }, { "regarding", 9 } },
	{ { "source", 6 }, { "deprecatedSource", 16 } },
	{ { "message", 7 }, { "note", 4 } },
	{ { "firstTimestamp", 14 }, { "deprecatedFirstTimestamp", 24 } },
	{ { "lastTimestamp", 13 }, { "deprecatedLastTimestamp", 23 } },
	{ { "count", 5 }, { "deprecatedCount", 15 } },
	{ { "reportingComponent", 18 }, { "reportingController", 19 } },
};

/* Renames a member, which keeps its place. */
static void rename_member(struct json *object, struct str from, struct str to)
{
	struct json *v = json_get(object, from);

	if (!v)
		return;
	v->key = to.p;
	v->key_n = (uint32_t)to.n;
}

static void add_empty_text(struct arena *a, struct json *object, struct str name)
{
	if (!json_get(object, name))
		json_add(object, name, json_make_str(a, STR("")));
}

static void drop_empty_text(struct json *object, struct str name)
{
	const struct json *v = json_get(object, name);

	if (json_is(v, JSON_STRING) && v->n == 0)
		(void)json_remove(object, name);
}

void convert_event_to_core(struct arena *a, struct json *object)
{
	struct json *series = json_getz(object, "series");
	int64_t count;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		rename_member(object, names[i].v1, names[i].core);
	add_empty_text(a, object, STR("reportingComponent"));
	add_empty_text(a, object, STR("reportingInstance"));
	if (json_i64(json_getz(series, "count"), &count) && count == 0)
		(void)json_remove(series, STR("count"));
}

void convert_event_from_core(struct arena *a, struct json *object)
{
	struct json *series = json_getz(object, "series");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		rename_member(object, names[i].core, names[i].v1);
	drop_empty_text(object, STR("reportingController"));
	drop_empty_text(object, STR("reportingInstance"));
	if (json_is(series, JSON_OBJECT) && !json_getz(series, "count"))
		json_add(series, STR("count"), json_make_i64(a, 0));
}
