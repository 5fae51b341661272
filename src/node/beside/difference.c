/*
 * A pod has few devices with differences, so the list is searched from its beginning.
 */
#include "node/beside/difference.h"

#include "base/core/mem.h"
#include "node/status/device_evidence.h"

struct comparing {
	struct beside_differences *d;
	const struct json *ours;
	int64_t now_ms;
	beside_difference_tell *tell;
	void *arg;
};

/* --- devices of a status --------------------------------------------------------------------- */

/* Calls fn with each device's entry until it returns false. Returns false in that case. */
static bool each_entry(const struct json *entries, bool (*fn)(void *arg, const struct json *device),
		       void *arg)
{
	JSON_FOREACH (entry, entries) {
		JSON_FOREACH (device, json_getz(entry, "resources")) {
			if (!fn(arg, device))
				return false;
		}
	}
	return true;
}

/* Containers that have ended are left out: ours is the health at their end. */
static bool each_device(const struct json *status, bool (*fn)(void *arg, const struct json *device),
			void *arg)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (container, json_getz(status, lists[i])) {
			if (json_getz(json_getz(container, "state"), "terminated"))
				continue;
			if (!each_entry(json_getz(container, "allocatedResourcesStatus"), fn, arg))
				return false;
		}
	}
	return each_entry(json_getz(status, "allocatedResourcesStatus"), fn, arg);
}

struct search {
	struct str id;
	const struct json *found;
};

static bool is_other(void *arg, const struct json *device)
{
	struct search *s = arg;

	if (str_eq(json_text_at(device, "resourceID"), s->id))
		s->found = device;
	return !s->found;
}

/* --- the list -------------------------------------------------------------------------------- */

static struct beside_difference *difference_of(struct beside_differences *d, struct str id)
{
	for (size_t i = 0; i < d->n; i++) {
		if (str_eqz(id, d->v[i].id))
			return &d->v[i];
	}
	d->v = xrealloc(d->v, (d->n + 1) * sizeof(*d->v));
	d->v[d->n] = (struct beside_difference){ .id = str_dup(id),
						 .kubelet = ASSIGN_HEALTHY,
						 .driver = ASSIGN_HEALTHY };
	return &d->v[d->n++];
}

static bool compare_device(void *arg, const struct json *device)
{
	struct comparing *c = arg;
	struct search s = { .id = json_text_at(device, "resourceID") };
	enum assign_health kubelet = device_evidence_health(device), driver;
	struct beside_difference *x;

	(void)each_device(c->ours, is_other, &s);
	if (!s.found)
		return true;
	driver = device_evidence_health(s.found);
	if (kubelet == driver)
		return true;
	x = difference_of(c->d, s.id);
	x->seen = true;
	if (x->kubelet == kubelet && x->driver == driver)
		return true;
	c->d->counted -= x->counted;
	x->counted = false;
	x->kubelet = kubelet;
	x->driver = driver;
	x->since_ms = c->now_ms;
	return true;
}

static void difference_drop(struct comparing *c, size_t at)
{
	struct beside_difference gone = c->d->v[at];

	c->d->v[at] = c->d->v[--c->d->n];
	c->d->counted -= gone.counted;
	if (gone.counted)
		c->tell(c->arg, &gone, true);
	free(gone.id);
}

void beside_differences_compare(struct beside_differences *d, const struct json *kubelet,
				const struct json *ours, int64_t now_ms,
				beside_difference_tell *tell, void *arg)
{
	struct comparing c = { d, ours, now_ms, tell, arg };

	for (size_t i = 0; i < d->n; i++)
		d->v[i].seen = false;
	(void)each_device(kubelet, compare_device, &c);
	for (size_t i = d->n; i-- > 0;) {
		if (!d->v[i].seen)
			difference_drop(&c, i);
	}
}

int64_t beside_differences_due(struct beside_differences *d, int64_t grace_ms, int64_t now_ms,
			       beside_difference_tell *tell, void *arg)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < d->n; i++) {
		struct beside_difference *x = &d->v[i];

		if (!x->counted && x->since_ms + grace_ms > now_ms) {
			next = MIN(next, x->since_ms + grace_ms);
		} else if (!x->counted) {
			x->counted = true;
			d->counted++;
			tell(arg, x, false);
		}
	}
	return next;
}

void beside_differences_release(struct beside_differences *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].id);
	free(d->v);
	*d = (struct beside_differences){ 0 };
}
