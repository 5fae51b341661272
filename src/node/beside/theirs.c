/*
 * Upstream's kubelet names a device of a claim by its first CDI id, if the driver gave any. In our
 * statuses it is DRIVER/POOL/DEVICE.
 */
#include "base/core/mem.h"
#include "node/beside/beside_impl.h"

struct renaming {
	struct arena *arena;
	const struct assign_use *uses;
	size_t n;
};

static const struct assign_claim_device *device_of(const struct renaming *r, struct str cdi)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct assign_claim_device *d = &r->uses[i].device;

		for (size_t j = 0; j < d->ncdi; j++) {
			if (str_eq(d->cdi[j], cdi))
				return d;
		}
	}
	return NULL;
}

static void rename_entries(const struct renaming *r, struct json *entries)
{
	JSON_FOREACH (entry, entries) {
		JSON_FOREACH (it, json_getz(entry, "resources")) {
			const struct assign_claim_device *d = device_of(
				r, json_text_at(it, "resourceID"));

			if (d)
				json_put_str(r->arena, it, "resourceID",
					     str_from(arena_printf(
						     r->arena, "%.*s/%.*s/%.*s", STR_ARG(d->driver),
						     STR_ARG(d->pool), STR_ARG(d->device))));
		}
	}
}

struct json *beside_theirs(const struct pod *pod, const struct assign_use *uses, size_t n,
			   struct arena *a)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	static const char field[] = "allocatedResourcesStatus";
	const struct renaming r = { a, uses, n };
	struct json *status = NULL;

	if (json_copy(a, pod->status, &status, NULL) < 0)
		return NULL;
	rename_entries(&r, json_getz(status, field));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (container, json_getz(status, lists[i]))
			rename_entries(&r, json_getz(container, field));
	}
	return status;
}
