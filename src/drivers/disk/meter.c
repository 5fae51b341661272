/*
 * Devices are few and kept sorted. The key of a pod begins with its device, so that the pods of a
 * device are a range. A round marks what it sees, and its end removes the rest.
 */
#include "drivers/disk/meter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"

#define HALF_32 (UINT64_C(1) << 31)
#define FULL_32 (UINT64_C(1) << 32)

void disk_meter_init(struct disk_meter *m, int64_t smoothing_ns)
{
	*m = (struct disk_meter){ .smoothing_ns = smoothing_ns };
	vec_init(&m->devices, DISK_DEVICES_MAX);
	omap_init(&m->pods);
}

void disk_meter_release(struct disk_meter *m)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&m->pods, &c); ok; ok = omap_next(&c))
		free(omap_value(&c));
	omap_release(&m->pods);
	vec_release(&m->devices);
}

/* --- counters -------------------------------------------------------------------------------- */

static bool may_have_wrapped(uint64_t old, uint64_t now)
{
	return now < old && old >= HALF_32 && old < FULL_32 && now < HALF_32;
}

/* The increase of a counter. `anew`: it restarted at 0. */
static double grown(uint64_t old, uint64_t now, bool anew)
{
	if (anew)
		return (double)now;
	if (now < old)
		return (double)(now + FULL_32 - old);
	return (double)(now - old);
}

/* Several counters cannot wrap at the same moment, so all of them were reset. */
static bool began_anew(const struct disk_stat *a, const struct disk_stat *b)
{
	const uint64_t old[] = { a->reads, a->read_sectors, a->writes, a->write_sectors };
	const uint64_t new[] = { b->reads, b->read_sectors, b->writes, b->write_sectors };
	size_t fell = 0;
	bool wrapped = true;

	for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
		fell += new[i] < old[i];
		wrapped = wrapped && (new[i] >= old[i] || may_have_wrapped(old[i], new[i]));
	}
	return fell > 1 || (fell == 1 && !wrapped);
}

/* Milliseconds have 32 bits: they wrap after 49 days. */
static double busy_of(uint64_t old, uint64_t now, bool anew, double seconds)
{
	double share;

	if (!anew && now < old && !may_have_wrapped(old, now))
		anew = true;
	share = grown(old, now, anew) / 1000 / seconds;
	return share > 1 ? 1 : share;
}

/* --- means ----------------------------------------------------------------------------------- */

static double seconds_of(const struct disk_meter *m)
{
	return (double)(m->now - m->before) / (double)CLOCK_SEC;
}

static void blend(const struct disk_meter *m, double *mean, double value, bool rated)
{
	double weight = 1;

	if (rated && m->smoothing_ns > 0)
		weight = 1 - exp(-(double)(m->now - m->before) / (double)m->smoothing_ns);
	*mean += weight * (value - *mean);
}

static void rate_device(const struct disk_meter *m, struct disk_device *d,
			const struct disk_stat *s)
{
	const struct disk_stat *o = &d->stat;
	bool anew = began_anew(o, s);
	double t = seconds_of(m);
	struct disk_rates r = {
		.read_bytes = grown(o->read_sectors, s->read_sectors, anew) * DISK_SECTOR / t,
		.write_bytes = grown(o->write_sectors, s->write_sectors, anew) * DISK_SECTOR / t,
		.reads = grown(o->reads, s->reads, anew) / t,
		.writes = grown(o->writes, s->writes, anew) / t,
		.busy = busy_of(o->busy_ms, s->busy_ms, anew, t),
	};

	blend(m, &d->rates.read_bytes, r.read_bytes, d->rated);
	blend(m, &d->rates.write_bytes, r.write_bytes, d->rated);
	blend(m, &d->rates.reads, r.reads, d->rated);
	blend(m, &d->rates.writes, r.writes, d->rated);
	blend(m, &d->rates.busy, r.busy, d->rated);
	d->rated = true;
}

/* --- devices --------------------------------------------------------------------------------- */

/* Its index, or the index where it belongs. */
static size_t meter_place_of(const struct disk_meter *m, const char *name, bool *ret_found)
{
	size_t low = 0, high = m->devices.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(m->devices.v[mid].stat.name, name);

		if (order == 0) {
			*ret_found = true;
			return mid;
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_found = false;
	return low;
}

const struct disk_device *disk_meter_find(const struct disk_meter *m, const char *name)
{
	bool found;
	size_t at = meter_place_of(m, name, &found);

	return found ? &m->devices.v[at] : NULL;
}

void disk_meter_begin(struct disk_meter *m, int64_t now)
{
	struct omap_cursor c;

	m->now = now;
	for (size_t i = 0; i < m->devices.n; i++)
		m->devices.v[i].seen = false;
	for (bool ok = omap_first(&m->pods, &c); ok; ok = omap_next(&c)) {
		struct disk_pod *p = omap_value(&c);

		p->seen = false;
		p->new_read = p->new_write = 0;
	}
}

static void meter_insert(struct disk_meter *m, size_t at, const struct disk_stat *s)
{
	if (!vec_push(&m->devices, (struct disk_device){ 0 }))
		return;
	memmove(&m->devices.v[at + 1], &m->devices.v[at],
		(m->devices.n - 1 - at) * sizeof(*m->devices.v));
	m->devices.v[at] = (struct disk_device){ .stat = *s, .seen = true };
}

void disk_meter_device(struct disk_meter *m, const struct disk_stat *s)
{
	struct disk_device *d;
	bool found;
	size_t at = meter_place_of(m, s->name, &found);

	if (!found) {
		meter_insert(m, at, s);
		return;
	}
	d = &m->devices.v[at];
	if (d->seen)
		return;
	/* A different device of that name. */
	if (d->stat.major != s->major || d->stat.minor != s->minor)
		*d = (struct disk_device){ .stat = *s };
	else if (m->now > m->before)
		rate_device(m, d, s);
	d->stat = *s;
	d->seen = true;
}

/* --- pods ------------------------------------------------------------------------------------ */

static bool is_device(const struct disk_meter *m, uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < m->devices.n; i++) {
		const struct disk_stat *s = &m->devices.v[i].stat;

		if (s->major == major && s->minor == minor)
			return m->devices.v[i].seen;
	}
	return false;
}

static int device_prefix(char *out, size_t size, uint32_t major, uint32_t minor)
{
	return snprintf(out, size, "%" PRIu32 ":%" PRIu32 "/", major, minor);
}

static struct disk_pod *pod_new(struct disk_meter *m, const char *key, size_t uid_at)
{
	struct disk_pod *p;

	if (m->pods.n >= DISK_PODS_MAX)
		return NULL;
	p = XNEW(struct disk_pod);
	(void)snprintf(p->key, sizeof(p->key), "%s", key);
	p->uid = p->key + uid_at;
	/* Except in the first round, a new pod's average starts at 0. */
	p->rated = m->before > 0;
	(void)omap_put(&m->pods, str_from(p->key), p);
	return p;
}

void disk_meter_pod(struct disk_meter *m, const char *uid, const struct disk_group_stat *s)
{
	char key[sizeof(((struct disk_pod *)NULL)->key)];
	int at = device_prefix(key, sizeof(key), s->major, s->minor);
	struct disk_pod *p;

	if (!is_device(m, s->major, s->minor))
		return;
	(void)snprintf(key + at, sizeof(key) - (size_t)at, "%s", uid);
	p = omap_get(&m->pods, str_from(key));
	if (!p)
		p = pod_new(m, key, (size_t)at);
	if (!p)
		return;
	p->new_read += s->read_bytes;
	p->new_write += s->write_bytes;
	p->seen = true;
}

/* If a container's group is removed, the sum may decrease. The increase is then unknown: 0. */
static double pod_grown(uint64_t old, uint64_t now)
{
	return now >= old ? (double)(now - old) : 0;
}

static void sweep_pods(struct disk_meter *m)
{
	struct str last = STR_NULL;
	struct omap_cursor c;
	double t = seconds_of(m);

	for (bool ok = omap_first(&m->pods, &c); ok;) {
		struct disk_pod *p = omap_value(&c);

		if (!p->seen) {
			(void)omap_remove(&m->pods, str_from(p->key));
			free(p);
			ok = last.p ? omap_seek_after(&m->pods, &c, last)
				    : omap_first(&m->pods, &c);
			continue;
		}
		/*
		 * In the very first round the start of the counters is unknown. Later, a new pod's
		 * counters started at 0 in this round.
		 */
		if (m->before > 0 && m->now > m->before) {
			blend(m, &p->read, pod_grown(p->read_bytes, p->new_read) / t, p->rated);
			blend(m, &p->write, pod_grown(p->write_bytes, p->new_write) / t, p->rated);
			p->rated = true;
		}
		p->read_bytes = p->new_read;
		p->write_bytes = p->new_write;
		last = str_from(p->key);
		ok = omap_next(&c);
	}
}

void disk_meter_end(struct disk_meter *m)
{
	for (size_t i = m->devices.n; i-- > 0;)
		if (!m->devices.v[i].seen)
			vec_remove(&m->devices, i);
	sweep_pods(m);
	m->before = m->now;
}

const struct disk_pod *disk_meter_next_pod(const struct disk_meter *m, const struct disk_device *d,
					   struct disk_pod_walk *w)
{
	bool ok;

	if (!w->begun) {
		(void)device_prefix(w->prefix, sizeof(w->prefix), d->stat.major, d->stat.minor);
		ok = omap_seek_prefix(&m->pods, &w->cursor, str_from(w->prefix));
		w->begun = true;
	} else {
		ok = omap_next_prefix(&w->cursor, str_from(w->prefix));
	}
	return ok ? omap_value(&w->cursor) : NULL;
}
