/*
 * The entry of who applied on the client's side becomes one of who applies now, with its set; a set
 * that nobody can read adds nothing.
 */
#include "api/client_side.h"

#include "api/managed_set.h"
#include "base/json.h"

#define ANNOTATION "f:kubectl.kubernetes.io/last-applied-configuration"

static struct json *entries_of(const struct json *object)
{
	return json_getz(json_getz(object, "metadata"), "managedFields");
}

/* --- entries --------------------------------------------------------------------------------- */

/* Of the object itself, not of a subresource. */
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

static struct json *first_owner(const struct json *list)
{
	JSON_FOREACH (e, list) {
		if (owns_annotation(e) && json_text_at(e, "subresource").n == 0)
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

/* Sets of other versions than the receiver's are lost: what they mean there, nobody here knows. */
static void hand_over(struct arena *a, struct json *list, struct str from, struct str to)
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
		hand_over(a, list, json_text_at(owner, "manager"), manager);
		changed = true;
	}
	return changed;
}
