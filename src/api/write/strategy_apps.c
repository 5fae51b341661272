/*
 * Deployments and jobs. This project has no controllers for them, but others may run against this
 * server and rely on these rules.
 */
#include "api/write/strategies.h"

#include "api/write/write_impl.h"

/* Annotations are copied to replica sets, so a change of them must raise the generation. */
void strategy_deployment_update(struct write *w, struct json *object, const struct json *old)
{
	struct json *meta = json_getz(object, "metadata");
	const struct json *old_meta = json_getz(old, "metadata");

	if (str_eq(w->subresource, STR("status"))) {
		tree_carry(w->arena, meta, old_meta, "labels");
		return;
	}
	if (!tree_same(meta, old_meta, "annotations"))
		json_put_i64(w->arena, meta, "generation",
			     json_i64_at(old_meta, "generation", 0) + 1);
}

static void set_when_absent(struct write *w, struct json *map, const char *key, struct str value)
{
	if (!json_getz(map, key))
		json_put_str(w->arena, map, key, value);
}

void strategy_job_create(struct write *w, struct json *object)
{
	static const char *const names[] = { "job-name", "batch.kubernetes.io/job-name" };
	static const char *const uids[] = { "controller-uid",
					    "batch.kubernetes.io/controller-uid" };
	const struct json *meta = json_getz(object, "metadata");
	struct json *spec = json_need_object(w->arena, object, "spec"), *labels, *match;
	struct str uid = json_text_at(meta, "uid");

	if (json_true_at(spec, "manualSelector"))
		return;
	labels = json_need_object(w->arena, spec, "template");
	labels = json_need_object(w->arena, json_need_object(w->arena, labels, "metadata"),
				  "labels");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		set_when_absent(w, labels, names[i], json_text_at(meta, "name"));
	for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
		set_when_absent(w, labels, uids[i], uid);
	match = json_need_object(w->arena, json_need_object(w->arena, spec, "selector"),
				 "matchLabels");
	set_when_absent(w, match, uids[1], uid);
}
