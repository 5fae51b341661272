/*
 * Checks the devices of a cluster: pools that provide nothing, devices that cannot be allocated
 * and why, unhealthy devices, outdated statuses. The counts are those of all other views
 * (devices/fact.h).
 */
#include "base/core/limits.h"
#include "cli/devices/pools.h"
#include "cli/doctor/doctor.h"

enum {
	NAMED_MAX = 3, /* reasons, and devices, named in a line */
	REASONS_MAX = 16, /* reasons that are distinguished */
};

struct reason {
	struct str text;
	size_t n;
	struct str device; /* the first, "DRIVER/POOL/DEVICE" */
};

struct survey {
	struct doctor *doctor;
	const struct device_pool *pools;
	size_t n;
	struct device_counts counts;
	struct reason reasons[REASONS_MAX]; /* of unavailable devices */
	size_t nreasons;
	/* The first unhealthy devices, with their reports. */
	struct str broken_free[NAMED_MAX], broken[NAMED_MAX];
	size_t nbroken_free, nbroken;
};

/* --- collecting ------------------------------------------------------------------------------- */

static struct str devices_id_of(struct survey *s, const struct device_pool *p, struct str device)
{
	return str_from(arena_printf(s->doctor->arena, "%.*s/%.*s/%.*s", STR_ARG(p->driver),
				     STR_ARG(p->name), STR_ARG(device)));
}

static void note_reason(struct survey *s, const struct device_pool *p, struct str device,
			struct str text)
{
	for (size_t i = 0; i < s->nreasons; i++) {
		if (!str_eq(s->reasons[i].text, text))
			continue;
		s->reasons[i].n++;
		return;
	}
	if (s->nreasons < REASONS_MAX)
		s->reasons[s->nreasons++] = (struct reason){ text, 1, devices_id_of(s, p, device) };
}

static void note_broken(struct survey *s, const struct device_pool *p, struct str device,
			const struct device_fact *f)
{
	bool is_free = f->state == DEVICE_AVAILABLE;
	size_t at = is_free ? s->nbroken_free++ : s->nbroken++;

	if (at < NAMED_MAX)
		(is_free ? s->broken_free : s->broken)[at] = str_from(arena_printf(
			s->doctor->arena, "%.*s%s%.*s%s", STR_ARG(devices_id_of(s, p, device)),
			f->message.n ? " (" : "", STR_ARG(f->message), f->message.n ? ")" : ""));
}

static void look_at_pool(struct survey *s, const struct device_pool *p)
{
	device_counts_sum(&s->counts, &p->counts);
	for (size_t i = 0; i < p->n; i++) {
		if (p->slices[i].older)
			continue;
		JSON_FOREACH (it, json_getz(p->slices[i].spec, "devices")) {
			struct str name = json_text_at(it, "name");
			struct device_fact f = device_view_fact(&p->slices[i], name);

			if (f.state == DEVICE_UNAVAILABLE)
				note_reason(s, p, name, f.reason);
			if (f.unhealthy)
				note_broken(s, p, name, &f);
		}
	}
}

/* --- findings --------------------------------------------------------------------------------- */

static bool lacks(const struct device_pool *p, const char *condition)
{
	return str_eqz(device_pools_condition(p, condition), "False");
}

static void tell_pools(struct survey *s)
{
	size_t incomplete = 0, invalid = 0;
	const struct device_pool *first = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const struct device_pool *p = &s->pools[i];

		incomplete += lacks(p, "Complete");
		invalid += !lacks(p, "Complete") && lacks(p, "Valid");
		if (!first && (lacks(p, "Complete") || lacks(p, "Valid")))
			first = p;
	}
	if (!first) {
		doctor_say(s->doctor, DOCTOR_OK, "pools", NULL, "%zu with %zu devices, all valid",
			   s->n, s->counts.devices);
		return;
	}
	doctor_say(s->doctor, DOCTOR_FAIL, "pools",
		   arena_printf(s->doctor->arena, "see `devplane describe pool %.*s`",
				STR_ARG(first->name)),
		   "%zu of %zu cannot be allocated from: %zu incomplete, %zu invalid; %.*s/%.*s is "
		   "%s",
		   incomplete + invalid, s->n, incomplete, invalid, STR_ARG(first->driver),
		   STR_ARG(first->name), lacks(first, "Complete") ? "incomplete" : "invalid");
}

static void tell_counts(struct survey *s)
{
	const struct device_counts *c = &s->counts;
	size_t unknown = c->by_state[DEVICE_FACT_UNKNOWN];

	doctor_say(s->doctor, unknown ? DOCTOR_WARN : DOCTOR_OK, "devices", NULL,
		   "%zu: %zu free, %zu partial, %zu allocated, %zu unavailable%s; %zu unhealthy",
		   c->devices, c->by_state[DEVICE_AVAILABLE],
		   c->by_state[DEVICE_PARTIALLY_ALLOCATED], c->by_state[DEVICE_ALLOCATED],
		   c->by_state[DEVICE_UNAVAILABLE],
		   unknown ? arena_printf(s->doctor->arena, ", %zu unknown", unknown) : "",
		   c->unhealthy);
}

/* Others hold the resources it is made of: that is normal use, with nothing to repair. */
static bool is_use(struct str reason)
{
	return str_eqz(reason, device_reason_name(DEVICE_COUNTERS_EXHAUSTED)) ||
	       str_eqz(reason, device_reason_name(DEVICE_CAPACITY_EXHAUSTED));
}

static void tell_unavailable(struct survey *s)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	bool bad = false;

	for (size_t i = 0; i < s->nreasons; i++) {
		const struct reason *r = &s->reasons[i];

		bad |= !is_use(r->text);
		if (i < NAMED_MAX)
			(void)buf_printf(&text, "%s%zu %.*s (%.*s%s)", i ? ", " : "", r->n,
					 STR_ARG(r->text), STR_ARG(r->device),
					 r->n > 1 ? ", .." : "");
	}
	if (s->nreasons > NAMED_MAX)
		(void)buf_addz(&text, " and others");
	if (s->nreasons > 0)
		doctor_say(s->doctor, bad ? DOCTOR_WARN : DOCTOR_OK, "unavailable",
			   bad ? "see `devplane get devices --state Unavailable`" : NULL, "%.*s",
			   STR_ARG(buf_str(&text)));
}

static void add_names(struct buf *text, const struct str *v, size_t n)
{
	for (size_t i = 0; i < MIN(n, (size_t)NAMED_MAX); i++)
		(void)buf_printf(text, "%s%.*s", i ? ", " : "", STR_ARG(v[i]));
	if (n > NAMED_MAX)
		(void)buf_printf(text, " and %zu more", n - NAMED_MAX);
}

static void tell_unhealthy(struct survey *s)
{
	CLEANUP(buf_release) struct buf free = BUF_INIT(64 * KIB);
	CLEANUP(buf_release) struct buf rest = BUF_INIT(64 * KIB);
	const char *hint = "see `devplane get devices --unhealthy`";

	add_names(&free, s->broken_free, s->nbroken_free);
	add_names(&rest, s->broken, s->nbroken);
	if (s->nbroken_free > 0)
		doctor_say(s->doctor, DOCTOR_FAIL, "unhealthy, free",
			   "taint them with a DeviceTaintRule, so that no claim gets them",
			   "%zu: %.*s", s->nbroken_free, STR_ARG(buf_str(&free)));
	if (s->nbroken > 0)
		doctor_say(s->doctor, DOCTOR_WARN, "unhealthy", hint, "%zu: %.*s", s->nbroken,
			   STR_ARG(buf_str(&rest)));
	if (s->counts.unsure > 0)
		doctor_say(s->doctor, DOCTOR_WARN, "health", NULL, "unknown for %zu devices",
			   s->counts.unsure);
}

static void tell_statuses(struct doctor *d, const struct device_view *v)
{
	const struct device_view_slice *first = NULL;
	size_t stale = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (!v->slices[i].stale || v->slices[i].older)
			continue;
		stale++;
		first = first ? first : &v->slices[i];
	}
	if (stale > 0)
		doctor_say(d, DOCTOR_WARN, "statuses",
			   "check that a controller runs; see `devplane describe resourceslice`",
			   "%zu of %zu slices changed since their status was written; %.*s is one",
			   stale, v->n, STR_ARG(first->name));
	if (v->note.n > 0)
		doctor_say(d, DOCTOR_WARN, "statuses", NULL, "%.*s", STR_ARG(v->note));
}

/* --- the whole check -------------------------------------------------------------------------- */

static void survey(struct doctor *d, const struct device_view *v, const struct device_pool *pools,
		   size_t n)
{
	struct survey s = { .doctor = d, .pools = pools, .n = n };
	size_t drivers = 0;

	for (size_t i = 0; i < n; i++) {
		drivers += i == 0 || !str_eq(pools[i].driver, pools[i - 1].driver);
		look_at_pool(&s, &pools[i]);
	}
	doctor_say(d, DOCTOR_OK, "drivers", NULL, "%zu publish devices", drivers);
	tell_pools(&s);
	tell_counts(&s);
	tell_unhealthy(&s);
	tell_unavailable(&s);
	tell_statuses(d, v);
}

void doctor_check_devices(struct doctor *d, struct kube *k)
{
	struct device_view_query q = { 0 };
	struct device_pool *pools;
	struct device_view view;
	struct error err;
	size_t n;

	if (device_view_load(k, &q, &view, &err) < 0) {
		doctor_say(d, DOCTOR_WARN, "pools", NULL, "%s", err.msg);
		return;
	}
	n = device_pools_make(d->arena, &view, &pools);
	if (n == 0)
		doctor_say(d, DOCTOR_OK, "drivers", NULL, "no driver publishes devices");
	else
		survey(d, &view, pools, n);
}
