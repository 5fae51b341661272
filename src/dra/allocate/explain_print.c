/*
 * Prints one paragraph per request: how many devices it wants and how many fit, then one line per
 * reason and detail, for all devices that have these in common. Devices are named if there are few,
 * or if the detail differs from device to device.
 */
#include "dra/allocate/explain.h"

#include <inttypes.h>

#include "dra/availability/device_state.h"

/* The text of a reason, after "3 devices". `each`: the detail belongs to the single device. */
struct wording {
	const char *text;
	bool each;
	enum device_reason reason; /* if set, the text is the name of this reason */
};

static const struct wording wordings[EXPLAIN_REASONS] = {
	[EXPLAIN_FITS] = { "fit", true },
	[EXPLAIN_IN_USE] = { "in use", true },
	[EXPLAIN_CLASS_SELECTOR] = { "selector of the class is false", false },
	[EXPLAIN_REQUEST_SELECTOR] = { "selector of the request is false", false },
	[EXPLAIN_SELECTOR_ERROR] = { "selector fails", false },
	[EXPLAIN_OTHER_NODE] = { "for other nodes", true },
	[EXPLAIN_NODE_GONE] = { NULL, true, DEVICE_NODE_GONE },
	[EXPLAIN_NODE_UNREACHABLE] = { NULL, true, DEVICE_NODE_UNREACHABLE },
	[EXPLAIN_CAPACITY] = { "too small", true },
	[EXPLAIN_COUNTERS] = { NULL, true, DEVICE_COUNTERS_EXHAUSTED },
	[EXPLAIN_TAINT] = { NULL, true, DEVICE_TAINTED },
	[EXPLAIN_CONSTRAINT] = { "ruled out by a constraint", false },
	[EXPLAIN_POOL_INCOMPLETE] = { NULL, true, DEVICE_POOL_INCOMPLETE },
	[EXPLAIN_POOL_INVALID] = { NULL, true, DEVICE_POOL_INVALID },
	[EXPLAIN_ADMIN_ACCESS] = { "held by the same claim", true },
};

static bool same_line(const struct explain_device *a, const struct explain_device *b)
{
	return a->reason == b->reason && (wordings[a->reason].each || str_eq(a->detail, b->detail));
}

static bool of_pool(const struct explain_device *d)
{
	return d->reason == EXPLAIN_POOL_INCOMPLETE || d->reason == EXPLAIN_POOL_INVALID;
}

static void explain_print_name(const struct explain_device *d, struct buf *out)
{
	if (of_pool(d))
		(void)buf_printf(out, "%.*s/%.*s", STR_ARG(d->driver), STR_ARG(d->pool));
	else
		(void)buf_add_str(out, d->device);
	if (wordings[d->reason].each && d->detail.n)
		(void)buf_printf(out, " (%.*s)", STR_ARG(d->detail));
}

/* Prints the line for device i and all later devices with the same text. Device i is the first. */
static void explain_print_line(const struct explain_request *r, size_t i, size_t devices_max,
			       struct buf *out)
{
	const struct explain_device *first = &r->devices[i];
	const struct wording *w = &wordings[first->reason];
	const char *what = of_pool(first) ? "pool" : "device";
	size_t n = 0, told = 0;

	for (size_t k = i; k < r->n; k++)
		n += same_line(first, &r->devices[k]);
	(void)buf_printf(out, "  %zu %s%s%s %s", n, what, n == 1 ? "" : "s", w->each ? "" : ":",
			 w->reason ? device_reason_name(w->reason) : w->text);
	if (!w->each) {
		(void)buf_printf(out, ": %.*s", STR_ARG(first->detail));
		if (first->error.n && devices_max)
			(void)buf_printf(out, " (%.*s)", STR_ARG(first->error));
		(void)buf_addc(out, '\n');
		return;
	}
	for (size_t k = i; k < r->n && told < devices_max; k++) {
		if (!same_line(first, &r->devices[k]))
			continue;
		(void)buf_addz(out, told++ ? ", " : ": ");
		explain_print_name(&r->devices[k], out);
	}
	if (told && n > told)
		(void)buf_printf(out, " and %zu more", n - told);
	(void)buf_addc(out, '\n');
}

static void print_reasons(const struct explain_request *r, size_t devices_max, struct buf *out)
{
	for (size_t i = 0; i < r->n; i++) {
		size_t k = 0;

		while (!same_line(&r->devices[k], &r->devices[i]))
			k++;
		if (k == i && r->devices[i].reason != EXPLAIN_FITS)
			explain_print_line(r, i, devices_max, out);
	}
}

/* With several claims, each request is printed with its claim's name. */
static bool one_claim(const struct explain *e)
{
	for (size_t i = 1; i < e->n; i++)
		if (!str_eq(e->requests[i].claim, e->requests[0].claim))
			return false;
	return true;
}

static void print_request(const struct explain_request *r, struct str claim,
			  const struct allocate_node *node, size_t devices_max, struct buf *out)
{
	(void)buf_printf(out, "node %.*s: ", STR_ARG(node->name));
	if (claim.n)
		(void)buf_printf(out, "claim %.*s, ", STR_ARG(claim));
	(void)buf_printf(out, "request \"%.*s\" wants ", STR_ARG(r->request));
	if (r->wanted < 0)
		(void)buf_addz(out, "all devices");
	else
		(void)buf_printf(out, "%" PRId64 " device%s", r->wanted, r->wanted == 1 ? "" : "s");
	if (r->class_name.n)
		(void)buf_printf(out, " of class %.*s", STR_ARG(r->class_name));
	if (r->fault.n) {
		(void)buf_printf(out, "\n  %.*s\n", STR_ARG(r->fault));
		return;
	}
	(void)buf_printf(out, ", %" PRId64 " fit%s\n", r->fitting, r->fitting == 1 ? "s" : "");
	print_reasons(r, devices_max, out);
}

void explain_print(const struct explain *e, const struct allocate_node *node, size_t devices_max,
		   struct buf *out)
{
	bool one = one_claim(e);

	for (size_t i = 0; i < e->n; i++)
		print_request(&e->requests[i], one ? STR_NULL : e->requests[i].claim, node,
			      devices_max, out);
	if (e->between.n)
		(void)buf_printf(out, "node %.*s: %.*s\n", STR_ARG(node->name),
				 STR_ARG(e->between));
}
