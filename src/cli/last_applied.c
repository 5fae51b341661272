/*
 * kubectl prints it as Go prints a map: members in byte order, HTML escaped, a newline at the end,
 * and with an annotations member even when the manifest has none.
 */
#include "cli/last_applied.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"

#define ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

static int by_key(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return str_cmp(json_key(*x), json_key(*y));
}

static void sort_members(struct arena *a, struct json *object)
{
	struct json **v = ARENA_ARRAY(a, struct json *, json_count(object) + 1);
	size_t n = 0;

	JSON_FOREACH_SAFE (member, object)
		v[n++] = json_unlink(object, member);
	qsort(v, n, sizeof(struct json *), by_key);
	for (size_t i = 0; i < n; i++)
		json_add(object, json_key(v[i]), v[i]);
}

/* Deeper ones no server takes: they stay as they are. */
static void sort_tree(struct arena *a, struct json *v, unsigned depth)
{
	if (depth > OBJECT_DEPTH_MAX || !json_is_container(v))
		return;
	if (v->type == JSON_OBJECT)
		sort_members(a, v);
	JSON_FOREACH (child, v)
		sort_tree(a, child, depth + 1);
}

int last_applied_put(struct arena *a, struct json *tree, struct error *err)
{
	static const struct json_style style = { .html = true };
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct json *annotations, *copy;
	int r;

	annotations = json_need_object(a, json_need_object(a, tree, "metadata"), "annotations");
	(void)json_remove(annotations, STR(ANNOTATION));
	r = json_copy(a, tree, &copy, err);
	if (r < 0)
		return r;
	sort_tree(a, copy, 0);
	(void)json_print(&text, copy, &style);
	(void)buf_addc(&text, '\n');
	if (text.overflow)
		return error_set(err, ERR_TOO_LARGE, "the object is larger than %lu KiB",
				 OBJECT_MAX / KIB);
	json_put_str(a, annotations, ANNOTATION, arena_str(a, buf_str(&text)));
	return 0;
}

struct json *last_applied_get(struct arena *a, const struct json *live)
{
	struct str text = json_text_at(json_getz(json_getz(live, "metadata"), "annotations"),
				       ANNOTATION);
	struct json *tree = NULL;
	struct error ignored;

	if (text.n == 0 || json_parse(a, text, NULL, &tree, &ignored) < 0)
		return NULL;
	return json_is(tree, JSON_OBJECT) ? tree : NULL;
}
