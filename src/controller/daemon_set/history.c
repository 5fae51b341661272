/*
 * Templates are compared as trees. Upstream compares the bytes of the patch, so a snapshot has its
 * members sorted, as Go writes them.
 */
#include "controller/daemon_set/history.h"

#include "controller/daemon_set/rules.h"
#include "controller/pods/owned.h"
#include "controller/pods/pod_template.h"

#include <stdlib.h>

static struct json *history_copy(struct arena *a, const struct json *v)
{
	struct json *to = json_make_object(a);

	(void)json_copy(a, v, &to, NULL);
	return to;
}

static const struct json *template_of(const struct json *set)
{
	return json_getz(json_getz(set, "spec"), "template");
}

/* --- reading --------------------------------------------------------------------------------- */

/* pod_template_equal() without the directive of the patch. */
bool daemon_history_matches(struct arena *a, const struct json *set, const struct json *revision)
{
	const struct json *held = template_of(json_getz(revision, "data"));
	struct json *bare;

	if (!json_is(held, JSON_OBJECT) || !template_of(set))
		return false;
	bare = json_make_object(a);
	JSON_FOREACH (it, held) {
		if (!str_eqz(json_key(it), "$patch"))
			json_set(bare, json_key(it), json_alias(a, it));
	}
	return pod_template_equal(bare, template_of(set));
}

static int compare_revisions(const void *a, const void *b)
{
	const struct daemon_revision *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return str_cmp(x->name, y->name);
}

static void read_revision(struct arena *a, const struct json *set, struct json *tree,
			  struct daemon_revision *r)
{
	const struct json *meta = json_getz(tree, "metadata");

	*r = (struct daemon_revision){
		.tree = tree,
		.name = json_text_at(meta, "name"),
		.uid = json_text_at(meta, "uid"),
		.hash = json_str(json_get(json_getz(meta, "labels"), DAEMON_HASH_LABEL)),
		.number = json_i64_at(tree, "revision", 0),
		.current = daemon_history_matches(a, set, tree),
	};
}

void daemon_history_read(struct arena *a, const struct json *set, struct json *const *trees,
			 size_t n, struct daemon_history *ret)
{
	struct daemon_history h = { .v = ARENA_ARRAY(a, struct daemon_revision, n), .n = n };
	int64_t highest = 0;

	for (size_t i = 0; i < n; i++)
		read_revision(a, set, trees[i], &h.v[i]);
	if (n > 1)
		qsort(h.v, n, sizeof(*h.v), compare_revisions);
	for (size_t i = 0; i < n; i++) {
		if (h.v[i].current)
			h.current = &h.v[i];
		else
			highest = MAX(highest, h.v[i].number);
	}
	h.number = highest < INT64_MAX ? highest + 1 : highest;
	*ret = h;
}

/* --- writing --------------------------------------------------------------------------------- */

static struct json *patch_of(struct arena *a, const struct json *set)
{
	struct json *patch = json_make_object(a), *spec = json_need_object(a, patch, "spec");
	struct json *template = history_copy(a, template_of(set));

	json_put_str(a, template, "$patch", STR("replace"));
	json_setz(spec, "template", template);
	json_sort(a, patch);
	return patch;
}

struct json *daemon_history_snapshot(struct arena *a, const struct json *set,
				     const struct owner *owner, int64_t number)
{
	const struct json *count = json_getz(json_getz(set, "status"), "collisionCount");
	const struct json *labels = json_getz(json_getz(template_of(set), "metadata"), "labels");
	const struct json *annotations = json_getz(json_getz(set, "metadata"), "annotations");
	int64_t collisions = 0;
	bool has_count = json_i64(count, &collisions);
	struct str hash = pod_template_hash(a, template_of(set), has_count ? &collisions : NULL);
	struct json *made = json_make_object(a), *meta;

	json_put_str(a, made, "apiVersion", STR("apps/v1"));
	json_put_str(a, made, "kind", STR("ControllerRevision"));
	meta = json_need_object(a, made, "metadata");
	json_put_str(a, meta, "name",
		     str_from(arena_printf(a, "%.*s-%.*s", STR_ARG(owner->name), STR_ARG(hash))));
	json_put_str(a, meta, "namespace", owner->ns);
	if (json_count(labels) > 0)
		json_setz(meta, "labels", history_copy(a, labels));
	json_set(json_need_object(a, meta, "labels"), DAEMON_HASH_LABEL, json_make_str(a, hash));
	if (json_count(annotations) > 0)
		json_setz(meta, "annotations", history_copy(a, annotations));
	json_append(json_need_array(a, meta, "ownerReferences"),
		    pod_template_controller_ref(a, owner));
	json_setz(made, "data", patch_of(a, set));
	json_put_i64(a, made, "revision", number);
	return made;
}

struct json *daemon_history_renumber(struct arena *a, const struct json *revision, int64_t number)
{
	struct json *v = history_copy(a, revision);

	json_put_i64(a, v, "revision", number);
	return v;
}

struct json *daemon_history_label(struct arena *a, const struct json *revision)
{
	struct json *v = history_copy(a, revision), *meta = json_need_object(a, v, "metadata");

	json_set(json_need_object(a, meta, "labels"), DAEMON_HASH_LABEL,
		 json_make_str(a, json_text_at(meta, "name")));
	return v;
}

/* --- the limit ------------------------------------------------------------------------------- */

size_t daemon_history_excess(struct arena *a, const struct daemon_history *h, int64_t limit,
			     bool (*used)(void *arg, struct str hash), void *arg,
			     const struct daemon_revision ***ret_list)
{
	const struct daemon_revision **list = ARENA_ARRAY(a, const struct daemon_revision *, h->n);
	size_t n = 0, old = 0, keep = (size_t)MAX(limit, 0);

	for (size_t i = 0; i < h->n; i++)
		old += !h->v[i].current;
	for (size_t i = 0; i < h->n && old > keep; i++) {
		const struct daemon_revision *r = &h->v[i];

		if (r->current || (r->hash.n > 0 && used(arg, r->hash)))
			continue;
		list[n++] = r;
		old--;
	}
	*ret_list = list;
	return n;
}
