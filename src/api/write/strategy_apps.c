/*
 * Deployments and jobs. Their controllers rely on these rules, ours and upstream's.
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

/* As upstream's defaults, which see a stored job with the labels of its template. */
static void job_labels_fill(struct write *w, struct json *object)
{
	const struct json *spec = json_getz(object, "spec");
	const struct json *labels = json_pointer(spec, STR("/template/metadata/labels"));
	struct json *meta = json_need_object(w->arena, object, "metadata"), *copy;

	if (json_count(json_getz(meta, "labels")) == 0 && json_count(labels) > 0 &&
	    json_copy(w->arena, labels, &copy, NULL) == 0)
		json_setz(meta, "labels", copy);
}

static void job_selector_make(struct write *w, struct json *object)
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

void strategy_job_create(struct write *w, struct json *object)
{
	job_selector_make(w, object);
	job_labels_fill(w, object);
}
