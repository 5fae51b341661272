/*
 * The set of a client-side applier's entry moves to the entry of the server-side applier. A set
 * that cannot be read adds nothing.
 */
#include "api/managed/client_side.h"

#include "api/managed/set.h"
#include "base/json/json.h"

#define ANNOTATION "f:kubectl.kubernetes.io/last-applied-configuration"

static struct json *entries_of(const struct json *object)
{
	return json_getz(json_getz(object, "metadata"), "managedFields");
}

/* --- entries --------------------------------------------------------------------------------- */

/* An entry of the object itself, not of a subresource. */
static bool is_entry(const struct json *e, const char *operation, struct str manager)
{
	return str_eq(json_text_at(e, "operation"), str_from(operation)) &&
	       str_eq(json_text_at(e, "manager"), manager) && json_text_at(e, "subresource").n == 0;
}

static struct json *find_entry(const struct json *list, const char *operation, struct str manager)
{
	JSON_FOREACH (e, list) {
		if (is_entry(e, operation, manager))
			return e;
	}
	return NULL;
}

static bool owns_annotation(const struct json *e)
{
	const struct json *meta = json_getz(json_getz(e, "fieldsV1"), "f:metadata");

	return str_eq(json_text_at(e, "operation"), STR("Update")) &&
	       json_getz(json_getz(meta, "f:annotations"), ANNOTATION);
}

static bool is_owner(const struct json *e)
{
	return owns_annotation(e) && json_text_at(e, "subresource").n == 0;
}

static struct json *first_owner(const struct json *list)
{
	JSON_FOREACH (e, list) {
		if (is_owner(e))
			return e;
	}
	return NULL;
}

bool client_side_owns(const struct json *object, struct str manager)
{
	JSON_FOREACH (e, entries_of(object)) {
		if (owns_annotation(e) &&
		    (manager.n == 0 || str_eq(json_text_at(e, "manager"), manager)))
			return true;
	}
	return false;
}

/* --- handing over ---------------------------------------------------------------------------- */

static void add_set(struct arena *a, struct json *into, struct json *set)
{
	if (managed_set_read(a, into) && managed_set_read(a, set))
		(void)managed_set_unite(a, into, set);
}

/*
 * Sets of other versions than the receiver's are lost, because their meaning there is unknown here.
 */
static void managed_client_side_hand_over(struct arena *a, struct json *list, struct str from,
					  struct str to)
{
	struct json *receiver = find_entry(list, "Apply", to);
	bool united = false;

	if (!receiver) {
		receiver = find_entry(list, "Update", from);
		json_put_str(a, receiver, "operation", STR("Apply"));
		json_put_str(a, receiver, "manager", to);
	}
	JSON_FOREACH_SAFE (e, list) {
		if (!is_entry(e, "Update", from))
			continue;
		(void)json_unlink(list, e);
		if (united ||
		    !str_eq(json_text_at(e, "apiVersion"), json_text_at(receiver, "apiVersion")))
			continue;
		add_set(a, json_need_object(a, receiver, "fieldsV1"), json_getz(e, "fieldsV1"));
		united = true;
	}
}

bool client_side_hand_over(struct arena *a, struct json *object, struct str manager)
{
	struct json *list = entries_of(object), *owner;
	bool changed = false;

	while ((owner = first_owner(list))) {
		managed_client_side_hand_over(a, list, json_text_at(owner, "manager"), manager);
		changed = true;
	}
	return changed;
}

/* --- lost fields ----------------------------------------------------------------------------- */

/* Returns the fields of the client-side appliers, or those of all other managers. */
static struct json *fields_of(struct arena *a, const struct json *object, bool owners)
{
	struct json *all = json_make_object(a);

	JSON_FOREACH (e, entries_of(object)) {
		const struct json *set = json_getz(e, "fieldsV1");

		if (set && is_owner(e) == owners &&
		    str_eq(json_text_at(e, "apiVersion"), json_text_at(object, "apiVersion")))
			add_set(a, all, managed_set_copy(a, set));
	}
	return all;
}

struct json *client_side_fields(struct arena *a, const struct json *object)
{
	return first_owner(entries_of(object)) ? fields_of(a, object, true) : NULL;
}

/* Removes the annotation, and the map if it has nothing else: only fields may be empty in a set. */
static void forget_annotation(struct json *set)
{
	struct json *meta = json_getz(set, "f:metadata"), *notes = json_getz(meta, "f:annotations");

	if (!notes)
		return;
	(void)json_remove(notes, STR(ANNOTATION));
	if (!json_first(notes) || (json_getz(notes, ".") && json_count(notes) == 1))
		(void)json_remove(meta, STR("f:annotations"));
	if (!json_first(meta))
		(void)json_remove(set, STR("f:metadata"));
}

static void cut_below(struct json *field)
{
	JSON_FOREACH_SAFE (it, field)
		(void)json_unlink(field, it);
}

/*
 * Keeps only the topmost lost fields. A map or an element stays if others own a part of it; one
 * that is lost includes everything below it. Returns true if something is left.
 */
static bool keep_topmost(struct json *lost, const struct json *kept)
{
	JSON_FOREACH_SAFE (field, lost) {
		const struct json *other = json_get(kept, json_key(field));
		bool below = json_first(field) != NULL;

		if (!below && !other && !str_eqz(json_key(field), "."))
			continue;
		if (below && !other && json_getz(field, "."))
			cut_below(field);
		else if (!below || !keep_topmost(field, other))
			(void)json_unlink(lost, field);
	}
	return json_first(lost) != NULL;
}

void client_side_lost(struct arena *a, const struct json *object, struct json *fields,
		      bool (*found)(void *arg, struct str path), void *arg)
{
	const struct json *kept = fields_of(a, object, false);

	forget_annotation(fields);
	if (managed_set_subtract(a, fields, kept) && keep_topmost(fields, kept))
		managed_set_paths(a, fields, found, arg);
}
