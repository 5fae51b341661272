/*
 * Rules of metadata for every kind, as in upstream's registry/rest: the path fills in what the body
 * leaves out, and clients cannot change what the server has set.
 */
#include "api/write/write_impl.h"

#include "base/core/random.h"

/* Upstream's alphabet for suffixes: no vowels, so no words. */
static const char suffix_letters[] = "bcdfghjklmnpqrstvwxz2456789";

enum { SUFFIX_LETTERS = 5, NAME_MAX_BYTES = 63 };

struct json *write_meta(struct arena *a, struct json *object)
{
	return json_need_object(a, object, "metadata");
}

void write_order_meta(struct arena *a, struct json *object)
{
	const struct schema_type *type = schema_object_meta();
	struct json *meta = json_getz(object, "metadata"), *ordered = json_make_object(a);

	for (size_t i = 0; i < type->nfields; i++) {
		struct json *member = json_get(meta, type->fields[i].name);

		if (member)
			json_add(ordered, type->fields[i].name, json_unlink(meta, member));
	}
	JSON_FOREACH_SAFE (rest, meta) {
		struct str key = json_key(rest);

		json_add(ordered, key, json_unlink(meta, rest));
	}
	json_setz(object, "metadata", ordered);
}

int write_check_namespace(struct write *w, struct json *object, struct error *err)
{
	struct json *meta = write_meta(w->arena, object);
	struct str given = json_text_at(meta, "namespace");
	struct str want = w->kind->storage->flags & SCHEMA_NAMESPACED ? w->ns : STR_NULL;

	if (want.n == 0) {
		json_remove(meta, STR("namespace"));
		return 0;
	}
	if (given.n == 0)
		json_put_str(w->arena, meta, "namespace", want);
	else if (!str_eq(given, want))
		return error_set(err, ERR_BAD_REQUEST,
				 "the namespace of the provided object does not match the "
				 "namespace sent on the request");
	return 0;
}

int write_check_name(struct write *w, const struct json *object, struct error *err)
{
	struct str name = json_text_at(json_getz(object, "metadata"), "name");

	if (name.n == 0)
		return error_set(err, ERR_BAD_REQUEST,
				 "the name of the object (%.*s based on URL) was undeterminable: "
				 "name must be provided",
				 STR_ARG(w->name));
	if (!str_eq(name, w->name))
		return error_set(err, ERR_BAD_REQUEST,
				 "the name of the object (%.*s) does not match the name on the "
				 "URL (%.*s)",
				 STR_ARG(name), STR_ARG(w->name));
	return 0;
}

static bool seen_before(const struct json *list, const struct json *item)
{
	for (const struct json *it = json_first(list); it != item; it = it->next)
		if (json_equal(it, item))
			return true;
	return false;
}

void write_dedup_owners(struct write *w, struct json *object)
{
	struct json *owners = json_getz(json_getz(object, "metadata"), "ownerReferences");
	struct buf uids = BUF_INIT(4096);

	JSON_FOREACH_SAFE (owner, owners) {
		if (!seen_before(owners, owner))
			continue;
		if (uids.n)
			(void)buf_addz(&uids, ", ");
		(void)buf_add_str(&uids, json_text_at(owner, "uid"));
		json_unlink(owners, owner);
	}
	if (uids.n)
		write_warn(w,
			   ".metadata.ownerReferences contains duplicate entries; API server "
			   "dedups owner references in 1.20+, and may reject such requests as "
			   "early as 1.24; please fix your requests; duplicate UID(s) observed: "
			   "%.*s",
			   (int)uids.n, uids.p);
	buf_release(&uids);
}

void write_keep_meta(struct arena *a, struct json *meta, const struct json *old_meta)
{
	if (json_text_at(meta, "uid").n == 0)
		tree_carry(a, meta, old_meta, "uid");
	if (json_getz(old_meta, "creationTimestamp"))
		tree_carry(a, meta, old_meta, "creationTimestamp");
	if (json_getz(old_meta, "deletionTimestamp"))
		tree_carry(a, meta, old_meta, "deletionTimestamp");
	if (!json_getz(meta, "deletionGracePeriodSeconds"))
		tree_carry(a, meta, old_meta, "deletionGracePeriodSeconds");
	tree_carry(a, meta, old_meta, "generation");
	json_remove(meta, STR("selfLink"));
}

struct str write_generate_name(struct write *w, struct str base)
{
	size_t n = MIN(base.n, (size_t)(NAME_MAX_BYTES - SUFFIX_LETTERS));
	char suffix[SUFFIX_LETTERS];

	for (size_t i = 0; i < SUFFIX_LETTERS; i++)
		suffix[i] = suffix_letters[prng_below(w->prng, sizeof(suffix_letters) - 1)];
	return str_from(arena_printf(w->arena, "%.*s%.*s", (int)n, base.p, SUFFIX_LETTERS, suffix));
}

static bool is_spec(struct str key)
{
	return !str_eq(key, STR("metadata")) && !str_eq(key, STR("status")) &&
	       !str_eq(key, STR("apiVersion")) && !str_eq(key, STR("kind"));
}

bool write_spec_changed(const struct json *object, const struct json *old)
{
	JSON_FOREACH (member, object) {
		const struct json *before = json_get(old, json_key(member));

		if (is_spec(json_key(member)) && !json_equal(member, before))
			return true;
	}
	JSON_FOREACH (member, old)
		if (is_spec(json_key(member)) && !json_get(object, json_key(member)))
			return true;
	return false;
}
