/*
 * As the scheduler does it (scheduler/dra/extended.c), except for nodes that offer such a resource
 * by a device plugin. These are not distinguished, and a note says so.
 */
#include "cli/fit/extended.h"

#include "api/schema/names.h"
#include "base/json/quantity.h"
#include "dra/inventory/content.h"

static const char *const container_lists[] = { "initContainers", "containers" };

struct making {
	const struct inventory *inventory;
	struct json *requests, *notes;
	struct arena *arena;
	size_t container; /* its index, over both lists */
};

static bool may_be_devices(struct str name)
{
	return names_is_extended_resource(name) ||
	       str_starts(name, STR("deviceclass.resource.kubernetes.io/"));
}

static const struct json *requests_of(const struct json *container)
{
	const struct json *resources = json_getz(container, "resources");
	const struct json *requests = json_getz(resources, "requests");

	return requests ? requests : json_getz(resources, "limits");
}

bool fit_extended_asked(const struct json *pod)
{
	for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
		JSON_FOREACH (c, json_getz(json_getz(pod, "spec"), container_lists[i])) {
			JSON_FOREACH (r, requests_of(c))
				if (may_be_devices(json_key(r)))
					return true;
		}
	}
	return false;
}

static void extended_note(struct making *m, struct str resource, struct str class)
{
	struct str text = str_from(arena_printf(
		m->arena,
		"%.*s is taken for devices of class %.*s on every node; nodes that offer it by a "
		"device plugin are not told apart",
		STR_ARG(resource), STR_ARG(class)));

	JSON_FOREACH (it, m->notes)
		if (str_eq(json_str(it), text))
			return;
	json_append(m->notes, json_make_str(m->arena, text));
}

static void add_request(struct making *m, const struct json *resource, size_t at)
{
	const struct inventory_class *class;
	struct json *request, *exactly;
	struct quantity q = { 0 };

	if (!may_be_devices(json_key(resource)) || !quantity_read(resource, &q) || q.nano <= 0)
		return;
	class = inventory_class_of_resource(m->inventory, json_key(resource));
	if (!class)
		return;
	request = json_make_object(m->arena);
	json_put_str(
		m->arena, request, "name",
		str_from(arena_printf(m->arena, "container-%zu-request-%zu", m->container, at)));
	exactly = json_need_object(m->arena, request, "exactly");
	json_put_str(m->arena, exactly, "deviceClassName", arena_str(m->arena, class->name));
	json_put_str(m->arena, exactly, "allocationMode", STR("ExactCount"));
	json_put_i64(m->arena, exactly, "count", quantity_value(q));
	json_append(m->requests, request);
	extended_note(m, json_key(resource), class->name);
}

struct json *fit_extended_claim(const struct inventory *inv, const struct json *pod,
				struct json *notes, struct arena *a)
{
	const struct json *meta = json_getz(pod, "metadata");
	struct json *claim = json_make_object(a), *own = json_need_object(a, claim, "metadata");
	struct making m = { .inventory = inv, .notes = notes, .arena = a };

	json_put_str(a, own, "namespace", json_text_at(meta, "namespace"));
	json_put_str(a, own, "name", STR("<extended-resources>"));
	m.requests = json_need_array(
		a, json_need_object(a, json_need_object(a, claim, "spec"), "devices"), "requests");
	for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++) {
		JSON_FOREACH (c, json_getz(json_getz(pod, "spec"), container_lists[i])) {
			size_t at = 0;

			JSON_FOREACH (r, requests_of(c))
				add_request(&m, r, at++);
			m.container++;
		}
	}
	return m.requests->n > 0 ? claim : NULL;
}
