/*
 * The same groups of devices as in the text (explain_print.c), for programs.
 */
#include "dra/allocate/explain.h"

/* `each`: the detail belongs to the single device, and does not tell entries apart. */
static const struct {
	const char *name;
	bool each;
} tree_reasons[EXPLAIN_REASONS] = {
	[EXPLAIN_FITS] = { "Fits", true },
	[EXPLAIN_IN_USE] = { "InUse", true },
	[EXPLAIN_CLASS_SELECTOR] = { "ClassSelector", false },
	[EXPLAIN_REQUEST_SELECTOR] = { "RequestSelector", false },
	[EXPLAIN_SELECTOR_ERROR] = { "SelectorError", false },
	[EXPLAIN_OTHER_NODE] = { "OtherNode", true },
	[EXPLAIN_NODE_GONE] = { "NodeGone", true },
	[EXPLAIN_NODE_UNREACHABLE] = { "NodeUnreachable", true },
	[EXPLAIN_CAPACITY] = { "TooSmall", true },
	[EXPLAIN_COUNTERS] = { "CountersExhausted", true },
	[EXPLAIN_TAINT] = { "Tainted", true },
	[EXPLAIN_CONSTRAINT] = { "Constraint", false },
	[EXPLAIN_POOL_INCOMPLETE] = { "PoolIncomplete", true },
	[EXPLAIN_POOL_INVALID] = { "PoolInvalid", true },
	[EXPLAIN_ADMIN_ACCESS] = { "AdminAccess", true },
};

static void tree_put(struct arena *a, struct json *o, const char *name, struct str text)
{
	if (text.n > 0)
		json_put_str(a, o, name, arena_str(a, text));
}

static bool same_entry(const struct explain_device *x, const struct explain_device *y)
{
	return x->reason == y->reason &&
	       (tree_reasons[x->reason].each || str_eq(x->detail, y->detail));
}

static struct json *device_tree(const struct explain_device *d, struct arena *a)
{
	struct json *o = json_make_object(a);

	tree_put(a, o, "driver", d->driver);
	tree_put(a, o, "pool", d->pool);
	tree_put(a, o, "device", d->device);
	if (tree_reasons[d->reason].each)
		tree_put(a, o, "detail", d->detail);
	return o;
}

/* The entry for device i, the first of its kind, and all later ones. */
static struct json *entry_tree(const struct explain_request *r, size_t i, size_t devices_max,
			       struct arena *a)
{
	const struct explain_device *first = &r->devices[i];
	struct json *o = json_make_object(a), *list = json_make_array(a);
	int64_t count = 0;

	for (size_t k = i; k < r->n; k++) {
		if (!same_entry(first, &r->devices[k]))
			continue;
		count++;
		if (json_count(list) < devices_max)
			json_append(list, device_tree(&r->devices[k], a));
	}
	json_put_str(a, o, "reason", str_from(tree_reasons[first->reason].name));
	json_put_i64(a, o, "count", count);
	if (!tree_reasons[first->reason].each)
		tree_put(a, o, "detail", first->detail);
	if (devices_max > 0)
		json_setz(o, "devices", list);
	return o;
}

static struct json *request_tree(const struct explain_request *r, size_t devices_max,
				 struct arena *a)
{
	struct json *o = json_make_object(a), *reasons = json_make_array(a);

	tree_put(a, o, "claim", r->claim);
	tree_put(a, o, "request", r->request);
	tree_put(a, o, "deviceClass", r->class_name);
	if (r->wanted < 0)
		json_put_bool(a, o, "wantsAll", true);
	else
		json_put_i64(a, o, "wants", r->wanted);
	tree_put(a, o, "fault", r->fault);
	if (r->fault.n > 0)
		return o;
	json_put_i64(a, o, "fits", r->fitting);
	for (size_t i = 0; i < r->n; i++) {
		size_t k = 0;

		while (!same_entry(&r->devices[k], &r->devices[i]))
			k++;
		if (k == i && r->devices[i].reason != EXPLAIN_FITS)
			json_append(reasons, entry_tree(r, i, devices_max, a));
	}
	json_setz(o, "reasons", reasons);
	return o;
}

struct json *explain_tree(const struct explain *e, size_t devices_max, struct arena *a)
{
	struct json *list = json_make_array(a);

	for (size_t i = 0; i < e->n; i++)
		json_append(list, request_tree(&e->requests[i], devices_max, a));
	return list;
}
