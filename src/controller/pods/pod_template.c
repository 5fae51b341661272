/*
 * Templates are compared as upstream compares them: an empty list or map counts as absent.
 */
#include "controller/pods/pod_template.h"

#include "controller/pods/owned.h"

#define HASH_LABEL "pod-template-hash"

enum { POD_NAME_MAX = 253 };

/* --- pods ------------------------------------------------------------------------------------ */

struct json *pod_template_controller_ref(struct arena *a, const struct owner *owner)
{
	struct json *ref = json_make_object(a);

	json_put_str(a, ref, "apiVersion", owner->api_version);
	json_put_str(a, ref, "kind", owner->kind);
	json_put_str(a, ref, "name", owner->name);
	json_put_str(a, ref, "uid", owner->uid);
	json_put_bool(a, ref, "controller", true);
	json_put_bool(a, ref, "blockOwnerDeletion", true);
	return ref;
}

static void copy_member(struct arena *a, struct json *to, const struct json *from, const char *name)
{
	const struct json *v = json_getz(from, name);
	struct json *copy;

	if (json_count(v) > 0 && json_copy(a, v, &copy, NULL) == 0)
		json_setz(to, name, copy);
}

static struct json *make_head(struct arena *a, const struct json *template,
			      const struct owner *owner)
{
	const struct json *from = json_getz(template, "metadata");
	struct json *pod = json_make_object(a), *meta = json_need_object(a, pod, "metadata");
	bool dash = owner->name.n < POD_NAME_MAX;

	json_put_str(a, pod, "apiVersion", STR("v1"));
	json_put_str(a, pod, "kind", STR("Pod"));
	json_put_str(a, meta, "generateName",
		     str_from(arena_printf(a, "%.*s%s", STR_ARG(owner->name), dash ? "-" : "")));
	copy_member(a, meta, from, "labels");
	copy_member(a, meta, from, "annotations");
	copy_member(a, meta, from, "finalizers");
	json_append(json_need_array(a, meta, "ownerReferences"),
		    pod_template_controller_ref(a, owner));
	return pod;
}

struct json *pod_template_make(struct arena *a, const struct json *template,
			       const struct owner *owner)
{
	struct json *pod = make_head(a, template, owner);

	copy_member(a, pod, template, "spec");
	return pod;
}

struct json *pod_template_share(struct arena *a, const struct json *template,
				const struct owner *owner)
{
	struct json *pod = make_head(a, template, owner);
	const struct json *spec = json_getz(template, "spec");

	if (json_count(spec) > 0)
		json_setz(pod, "spec", json_alias(a, spec));
	return pod;
}

/* --- comparing ------------------------------------------------------------------------------- */

/*
 * Whether an empty object counts as absent: for maps and for parts that every pod has. Elsewhere
 * it has a meaning: `labelSelector: {}` selects everything.
 */
static bool may_be_empty(struct str key)
{
	static const char *const names[] = { "annotations", "labels",   "limits",
					     "matchLabels", "metadata", "nodeSelector",
					     "overhead",    "requests", "resources" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_eqz(key, names[i]))
			return true;
	}
	return false;
}

static bool is_nothing(const struct json *v)
{
	if (!v || v->type == JSON_NULL)
		return true;
	if (!json_is(v, JSON_OBJECT) || !may_be_empty(json_key(v)))
		return json_is(v, JSON_ARRAY) && v->n == 0;
	JSON_FOREACH (it, v) {
		if (!is_nothing(it))
			return false;
	}
	return true;
}

static bool same(const struct json *a, const struct json *b, const char *except);

/* Whether all that `a` has is in `b`. */
static bool has_all(const struct json *a, const struct json *b, const char *except)
{
	JSON_FOREACH (it, a) {
		if (except && str_eqz(json_key(it), except))
			continue;
		if (!same(it, json_get(b, json_key(it)), NULL))
			return false;
	}
	return true;
}

/* The depth is that of a PodTemplate, whose type does not nest. */
static bool same(const struct json *a, const struct json *b, const char *except)
{
	const struct json *y;

	if (!except && (is_nothing(a) || is_nothing(b)))
		return is_nothing(a) && is_nothing(b);
	if (except || (json_is(a, JSON_OBJECT) && json_is(b, JSON_OBJECT)))
		return has_all(a, b, except) && has_all(b, a, except);
	if (!json_is(a, JSON_ARRAY) || !json_is(b, JSON_ARRAY))
		return json_equal(a, b);
	if (a->n != b->n)
		return false;
	y = json_first(b);
	JSON_FOREACH (x, a) {
		if (!same(x, y, NULL))
			return false;
		y = y->next;
	}
	return true;
}

bool pod_template_equal(const struct json *a, const struct json *b)
{
	const struct json *ma = json_getz(a, "metadata"), *mb = json_getz(b, "metadata");

	return same(json_getz(a, "spec"), json_getz(b, "spec"), NULL) &&
	       same(json_getz(ma, "annotations"), json_getz(mb, "annotations"), NULL) &&
	       same(json_getz(ma, "finalizers"), json_getz(mb, "finalizers"), NULL) &&
	       same(json_getz(ma, "labels"), json_getz(mb, "labels"), HASH_LABEL);
}

/* --- hashing --------------------------------------------------------------------------------- */

static uint32_t fnv32(uint32_t h, const void *p, size_t n)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 16777619U;
	return h;
}

/* Visits members in the order of their names, and leaves out what counts as absent. */
static uint32_t hash_value(struct arena *a, uint32_t h, const struct json *v)
{
	struct buf text = BUF_INIT(SIZE_MAX);
	struct json **members;

	if (json_is(v, JSON_OBJECT)) {
		members = json_sorted(a, v);
		for (size_t i = 0; i < v->n; i++) {
			if (is_nothing(members[i]))
				continue;
			h = fnv32(h, members[i]->key, members[i]->key_n);
			h = hash_value(a, fnv32(h, ":", 1), members[i]);
		}
		return fnv32(h, "}", 1);
	}
	if (json_is(v, JSON_ARRAY)) {
		JSON_FOREACH (it, v)
			h = hash_value(a, h, it);
		return fnv32(h, "]", 1);
	}
	(void)json_print(&text, v, NULL);
	h = fnv32(h, text.p, text.n);
	buf_release(&text);
	return fnv32(h, ",", 1);
}

/* Letters without vowels, so that no words appear; upstream's alphabet. */
static struct str safe_encode(struct arena *a, uint32_t h)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	char *text = arena_printf(a, "%u", h);
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		text[i] = letters[(unsigned char)text[i] % (sizeof(letters) - 1)];
	return str_of(text, n);
}

struct str pod_template_hash(struct arena *a, const struct json *template,
			     const int64_t *collision_count)
{
	uint32_t h = hash_value(a, 2166136261U, template);

	if (collision_count) {
		uint32_t n = (uint32_t)*collision_count;
		unsigned char bytes[8] = { n & 0xff, n >> 8 & 0xff, n >> 16 & 0xff, n >> 24 };

		h = fnv32(h, bytes, sizeof(bytes));
	}
	return safe_encode(a, h);
}
