/*
 * Both phases walk over the same places: containers of all kinds, and volumes.
 */
#include "server/plugins/pull.h"

#include "base/core/map.h"
#include "server/admission/request.h"

static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };

static void add_images(struct map *images, const struct json *pod)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		JSON_FOREACH (it, json_getz(json_getz(pod, "spec"), lists[i]))
			(void)map_put(images, json_text_at(it, "image"), it);
}

/* Whether the write is an update without an image that no container had before. */
static bool has_no_new_image(const struct json *old, const struct json *pod)
{
	struct map before, both;
	bool same;

	if (!old)
		return false;
	map_init(&before);
	map_init(&both);
	add_images(&before, old);
	add_images(&both, old);
	add_images(&both, pod);
	same = before.n == both.n;
	map_release(&before);
	map_release(&both);
	return same;
}

int admit_pull(struct admission_request *req, const struct json *old, struct json *pod,
	       struct error *err UNUSED)
{
	struct arena *a = req->write->arena;
	const struct json *spec = json_getz(pod, "spec");

	if (has_no_new_image(old, pod))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		JSON_FOREACH (it, json_getz(spec, lists[i]))
			json_put_str(a, it, "imagePullPolicy", STR("Always"));
	JSON_FOREACH (it, json_getz(spec, "volumes"))
		if (json_is(json_getz(it, "image"), JSON_OBJECT))
			json_put_str(a, json_getz(it, "image"), "pullPolicy", STR("Always"));
	return 0;
}

/* --- checking ----------------------------------------------------------------------- */

static void check_policy(struct field_errors *errs, const struct field_path *at, struct str policy)
{
	static const struct str always = { "Always", 6 };

	if (!str_eq(policy, always))
		field_errors_not_supported(errs, at, FIELD_STR(policy), &always, 1);
}

static void check_containers(struct field_errors *errs, const struct field_path *spec_at,
			     const char *name, const struct json *list)
{
	struct field_path list_at = field_path_name(spec_at, name);
	size_t i = 0;

	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(&list_at, i++);
		struct field_path policy_at = field_path_name(&at, "imagePullPolicy");

		check_policy(errs, &policy_at, json_text_at(it, "imagePullPolicy"));
	}
}

static void check_volumes(struct field_errors *errs, const struct field_path *spec_at,
			  const struct json *list)
{
	struct field_path list_at = field_path_name(spec_at, "volumes");
	size_t i = 0;

	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(&list_at, i++);
		struct field_path image_at = field_path_name(&at, "image");
		struct field_path policy_at = field_path_name(&image_at, "pullPolicy");
		const struct json *image = json_getz(it, "image");

		if (json_is(image, JSON_OBJECT))
			check_policy(errs, &policy_at, json_text_at(image, "pullPolicy"));
	}
}

int admit_pull_check(struct admission_request *req, const struct json *old, struct json *pod,
		     struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);
	struct field_path spec_at = field_path_name(NULL, "spec");
	const struct json *spec = json_getz(pod, "spec");
	struct field_errors errs;

	if (has_no_new_image(old, pod))
		return 0;
	field_errors_init(&errs, req->write->arena);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		check_containers(&errs, &spec_at, lists[i], json_getz(spec, lists[i]));
	check_volumes(&errs, &spec_at, json_getz(spec, "volumes"));
	if (!field_errors_any(&errs))
		return 0;
	(void)field_errors_aggregate(&errs, &text);
	return error_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(buf_str(&text)));
}
