/*
 * Requests are few: a node has about a hundred pods, and some of them request bandwidth. A sorted
 * array is enough.
 */
#include "drivers/disk/limits.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"

void disk_limits_init(struct disk_limits *l)
{
	vec_init(&l->pods, DISK_PODS_MAX);
}

void disk_limits_release(struct disk_limits *l)
{
	vec_release(&l->pods);
}

static struct disk_limits_pod *limits_find(const struct disk_limits *l, struct str uid)
{
	for (size_t i = 0; i < l->pods.n; i++)
		if (str_eqz(uid, l->pods.v[i].uid))
			return &l->pods.v[i];
	return NULL;
}

static int by_creation(const void *a, const void *b)
{
	const struct disk_limits_pod *x = a, *y = b;

	if (x->created != y->created)
		return x->created < y->created ? -1 : 1;
	return strcmp(x->uid, y->uid);
}

/* Grants on one device do not apply to another. */
void disk_limits_put(struct disk_limits *l, const struct disk_limits_pod *p)
{
	struct disk_limits_pod *old = limits_find(l, str_from(p->uid)), now = *p;
	bool same = old && strcmp(old->device, p->device) == 0;

	for (int x = 0; x < DISK_DIRECTIONS; x++)
		now.granted[x] = same ? old->granted[x] : 0;
	if (old)
		*old = now;
	else
		(void)vec_push(&l->pods, now);
	qsort(l->pods.v, l->pods.n, sizeof(*l->pods.v), by_creation);
}

void disk_limits_remove(struct disk_limits *l, struct str uid)
{
	struct disk_limits_pod *p = limits_find(l, uid);

	if (p)
		vec_remove(&l->pods, (size_t)(p - l->pods.v));
}

static bool means(const struct disk_limits_pod *p, const struct disk_limits_device *d)
{
	return p->device[0] ? strcmp(p->device, d->name) == 0 : d->primary;
}

/* Returns the remaining capacity. Reduced requests free capacity before others are granted more. */
static int64_t grant(struct disk_limits *l, const struct disk_limits_device *d, int x)
{
	int64_t left = d->capacity[x];
	struct disk_limits_pod *p;

	for (size_t i = 0; i < l->pods.n; i++) {
		p = &l->pods.v[i];
		if (!means(p, d))
			continue;
		p->granted[x] = MIN(MIN(p->granted[x], p->request[x]), left);
		left -= p->granted[x];
	}
	for (size_t i = 0; i < l->pods.n; i++) {
		int64_t more;

		p = &l->pods.v[i];
		if (!means(p, d))
			continue;
		more = MIN(p->request[x] - p->granted[x], left);
		p->granted[x] += more;
		left -= more;
	}
	return left;
}

void disk_limits_grant(struct disk_limits *l, struct disk_limits_device *d)
{
	for (int x = 0; x < DISK_DIRECTIONS; x++) {
		int64_t left = grant(l, d, x);

		d->limited[x] = left < d->capacity[x];
		d->each[x] = left / (int64_t)MAX(d->users[x], (size_t)1);
	}
}

int64_t disk_limits_of(const struct disk_limits *l, const struct disk_limits_device *d,
		       struct str uid, enum disk_direction x)
{
	const struct disk_limits_pod *p = limits_find(l, uid);
	int64_t limit = d->each[x];

	if (!d->limited[x])
		return 0;
	if (p && means(p, d))
		limit += p->granted[x];
	return MAX(limit, (int64_t)DISK_LIMIT_MIN);
}

unsigned disk_limits_weight(const struct disk_limits *l, const struct disk_limits_device *d,
			    struct str uid)
{
	int64_t weight = 0;

	for (int x = 0; x < DISK_DIRECTIONS; x++) {
		double limit = (double)disk_limits_of(l, d, uid, (enum disk_direction)x);

		if (limit > 0)
			weight = MAX(weight,
				     (int64_t)(limit / (double)d->capacity[x] * DISK_WEIGHT_MAX));
	}
	if (weight == 0 && !d->limited[DISK_READ] && !d->limited[DISK_WRITE])
		return 0;
	return (unsigned)MIN(MAX(weight, INT64_C(1)), (int64_t)DISK_WEIGHT_MAX);
}
