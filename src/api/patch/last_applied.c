/*
 * Printed as Go prints a map: members sorted by bytes, HTML escaped, a newline at the end.
 * kubectl's text has an annotations member even if the manifest has none.
 */
#include "api/patch/last_applied.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/json/json.h"

int last_applied_print(struct arena *a, const struct json *tree, struct str *ret_text,
		       struct error *err)
{
	static const struct json_style style = { .html = true };
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct json *copy;
	int r;

	r = json_copy(a, tree, &copy, err);
	if (r < 0)
		return r;
	(void)json_remove(json_getz(json_getz(copy, "metadata"), "annotations"),
			  STR(LAST_APPLIED_ANNOTATION));
	json_sort(a, copy);
	(void)json_print(&text, copy, &style);
	(void)buf_addc(&text, '\n');
	if (text.overflow)
		return error_set(err, ERR_TOO_LARGE, "the object is larger than %lu KiB",
				 OBJECT_MAX / KIB);
	*ret_text = arena_str(a, buf_str(&text));
	return 0;
}

int last_applied_put(struct arena *a, struct json *tree, struct error *err)
{
	struct json *meta = json_need_object(a, tree, "metadata");
	struct json *annotations = json_need_object(a, meta, "annotations");
	struct str text;
	int r;

	r = last_applied_print(a, tree, &text, err);
	if (r == 0)
		json_put_str(a, annotations, LAST_APPLIED_ANNOTATION, text);
	return r;
}

struct json *last_applied_get(struct arena *a, const struct json *live)
{
	struct str text = json_text_at(json_getz(json_getz(live, "metadata"), "annotations"),
				       LAST_APPLIED_ANNOTATION);
	struct json *tree = NULL;
	struct error ignored;

	if (text.n == 0 || json_parse(a, text, NULL, &tree, &ignored) < 0)
		return NULL;
	return json_is(tree, JSON_OBJECT) ? tree : NULL;
}
