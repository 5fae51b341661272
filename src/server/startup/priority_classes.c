/*
 * Upstream's names, values and descriptions: other programs look for them.
 */
#include "server/startup/priority_classes.h"

#include "server/core/ensure.h"

static const struct priority_class {
	const char *name;
	int64_t value;
	const char *description;
} classes[] = {
	{ "system-node-critical", 2000001000,
	  "Used for system critical pods that must not be moved from their current node." },
	{ "system-cluster-critical", 2000000000,
	  "Used for system critical pods that must run in the cluster, but can be moved to "
	  "another node if necessary." },
};

void priority_classes_ensure(struct ensure *e)
{
	struct arena *a = ensure_arena(e);

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct json *body = json_make_object(a);

		json_put_str(a, body, "apiVersion", STR("scheduling.k8s.io/v1"));
		json_put_str(a, body, "kind", STR("PriorityClass"));
		json_put_str(a, json_need_object(a, body, "metadata"), "name",
			     str_from(classes[i].name));
		json_put_i64(a, body, "value", classes[i].value);
		json_put_str(a, body, "description", str_from(classes[i].description));
		ensure_create(e,
			      schema_find_resource(STR("scheduling.k8s.io"), STR("v1"),
						   STR("priorityclasses")),
			      body, ENSURE_MANAGER);
	}
}
