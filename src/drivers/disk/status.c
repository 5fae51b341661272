/* Compares the published tree with the new one, so no other state is needed. */
#include "drivers/disk/status.h"

#include <math.h>

#include "base/time/timestamp.h"
#include "drivers/drivers_limits.h"

/* Smaller changes are noise, whatever the share. */
enum { NOISE_BYTES = 64 * 1024, NOISE_OPERATIONS = 16, NOISE_PERCENT = 2 };

static const char read_key[] = "readBytesPerSecond", write_key[] = "writeBytesPerSecond";

struct disk_capacity disk_status_capacity(const struct disk_spec *spec,
					  const struct disk_book *book, const char *device)
{
	const struct disk_capacity *said = disk_spec_capacity(spec, device);
	const struct disk_book_entry *e = disk_book_find(book, device);
	struct disk_capacity c = e ? e->capacity : (struct disk_capacity){ 0 };

	if (said && said->read)
		c.read = said->read;
	if (said && said->write)
		c.write = said->write;
	(void)snprintf(c.device, sizeof(c.device), "%s", device);
	return c;
}

/* --- the tree -------------------------------------------------------------------------------- */

const struct disk_device *disk_status_primary(const struct disk_status_input *in)
{
	const struct disk_device *best = NULL;
	struct disk_capacity most = { 0 };

	if (in->spec->primary)
		return disk_meter_find(in->meter, in->spec->primary);
	for (size_t i = 0; i < in->meter->devices.n; i++) {
		const struct disk_device *d = &in->meter->devices.v[i];
		struct disk_capacity c = disk_status_capacity(in->spec, in->book, d->stat.name);

		if (!best || c.write > most.write ||
		    (c.write == most.write && c.read > most.read)) {
			best = d;
			most = c;
		}
	}
	return best;
}

/* "1.5Mi": three digits, for people. */
static struct str rate_text(struct arena *a, double v)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
	size_t unit = 0;

	while (v >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		unit++;
	}
	return str_from(arena_printf(a, v < 9.95 && unit > 0 && v != floor(v) ? "%.1f%s" : "%.0f%s",
				     v, units[unit]));
}

static struct str time_text(struct arena *a, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	return arena_str(a, timestamp_print(ns, TIMESTAMP_SECONDS, text));
}

/* null removes the old value: the status is sent as a merge patch. */
static void status_put_text(struct arena *a, struct json *into, const char *key, struct str text)
{
	json_setz(into, key, text.n > 0 ? json_make_str(a, text) : json_make_null(a));
}

static void put_rate(struct arena *a, struct json *into, const char *key, int64_t rate)
{
	json_setz(into, key, rate ? json_make_i64(a, rate) : json_make_null(a));
}

static void put_capacity(struct arena *a, struct json *into, const struct disk_capacity *c)
{
	if (c->read)
		json_put_i64(a, into, read_key, c->read);
	if (c->write)
		json_put_i64(a, into, write_key, c->write);
}

/* Clamps: counters that jump may give any rate. */
static int64_t whole(double v)
{
	return v < 1e18 ? llround(v) : INT64_C(1000000000000000000);
}

static void put_used(struct arena *a, struct json *into, const struct disk_rates *r)
{
	json_put_i64(a, into, read_key, whole(r->read_bytes));
	json_put_i64(a, into, write_key, whole(r->write_bytes));
	json_put_i64(a, into, "readOperationsPerSecond", whole(r->reads));
	json_put_i64(a, into, "writeOperationsPerSecond", whole(r->writes));
	json_put_i64(a, into, "utilizationPercent", whole(r->busy * 100));
}

struct busy_pods {
	const struct disk_pod *v[DISK_STATUS_PODS_MAX];
	size_t n;
};

static double use_of(const struct disk_pod *p)
{
	return p->read + p->write;
}

/* Adds the pod, replacing the least busy one if the list is full. */
static void keep_busiest(struct busy_pods *b, const struct disk_pod *p)
{
	size_t least = 0;

	if (b->n < ARRAY_SIZE(b->v)) {
		b->v[b->n++] = p;
		return;
	}
	for (size_t i = 1; i < b->n; i++)
		if (use_of(b->v[i]) < use_of(b->v[least]))
			least = i;
	if (use_of(p) > use_of(b->v[least]))
		b->v[least] = p;
}

static int by_uid(const void *a, const void *b)
{
	const struct disk_pod *const *x = a, *const *y = b;

	return strcmp((*x)->uid, (*y)->uid);
}

static void put_pods(struct arena *a, const struct disk_meter *m, const struct disk_device *d,
		     struct json *device)
{
	struct disk_pod_walk w = { 0 };
	struct busy_pods busy = { .n = 0 };
	const struct disk_pod *p;
	struct json *list;

	while ((p = disk_meter_next_pod(m, d, &w)))
		if (p->read >= 0.5 || p->write >= 0.5)
			keep_busiest(&busy, p);
	if (busy.n == 0)
		return;
	qsort(busy.v, busy.n, sizeof(*busy.v), by_uid);
	list = json_need_array(a, device, "pods");
	for (size_t i = 0; i < busy.n; i++) {
		struct json *pod = json_make_object(a);

		json_put_str(a, pod, "uid", arena_str(a, str_from(busy.v[i]->uid)));
		json_put_i64(a, pod, read_key, whole(busy.v[i]->read));
		json_put_i64(a, pod, write_key, whole(busy.v[i]->write));
		json_append(list, pod);
	}
}

static struct json *device_tree(struct arena *a, const struct disk_status_input *in,
				const struct disk_device *d, bool primary)
{
	struct json *v = json_make_object(a);
	struct disk_capacity c = disk_status_capacity(in->spec, in->book, d->stat.name);
	struct disk_pod_walk w = { 0 };

	json_put_str(a, v, "name", arena_str(a, str_from(d->stat.name)));
	json_put_bool(a, v, "primary", primary);
	json_put_bool(a, v, "attributed", disk_meter_next_pod(in->meter, d, &w) != NULL);
	put_capacity(a, json_need_object(a, v, "capacity"), &c);
	put_used(a, json_need_object(a, v, "used"), &d->rates);
	put_pods(a, in->meter, d, v);
	return v;
}

static void put_summary(struct arena *a, const struct disk_status_input *in,
			const struct disk_device *d, struct json *status)
{
	struct json *s = json_need_object(a, status, "summary");
	struct disk_capacity c = disk_status_capacity(in->spec, in->book, d->stat.name);

	json_put_str(a, s, "device", arena_str(a, str_from(d->stat.name)));
	status_put_text(a, s, "readCapacity", c.read ? rate_text(a, (double)c.read) : STR_NULL);
	json_put_str(a, s, "readUsed", rate_text(a, d->rates.read_bytes));
	status_put_text(a, s, "writeCapacity", c.write ? rate_text(a, (double)c.write) : STR_NULL);
	json_put_str(a, s, "writeUsed", rate_text(a, d->rates.write_bytes));
}

static void put_probe(struct arena *a, const struct disk_probe_answer *p, struct json *status)
{
	struct json *v;

	if (!p || !p->state)
		return;
	v = json_need_object(a, status, "probe");
	json_put_str(a, v, "device", arena_str(a, str_from(p->device)));
	json_put_str(a, v, "state", str_from(p->state));
	status_put_text(a, v, "message", arena_str(a, str_from(p->message)));
	put_rate(a, v, read_key, p->found.read);
	put_rate(a, v, write_key, p->found.write);
	json_put_str(a, v, "startTime", time_text(a, p->started));
	status_put_text(a, v, "completionTime", p->ended ? time_text(a, p->ended) : STR_NULL);
}

struct json *disk_status_tree(struct arena *a, const struct disk_status_input *in)
{
	const struct disk_device *primary = disk_status_primary(in);
	struct json *status = json_make_object(a), *list;

	json_put_str(a, status, "observedTime", time_text(a, in->wall));
	json_put_i64(a, status, "deviceCount", (int64_t)in->meter->devices.n);
	if (primary)
		put_summary(a, in, primary, status);
	list = json_need_array(a, status, "devices");
	for (size_t i = 0; i < in->meter->devices.n; i++) {
		const struct disk_device *d = &in->meter->devices.v[i];

		json_append(list, device_tree(a, in, d, d == primary));
	}
	put_probe(a, in->probe, status);
	return status;
}

/* --- news ------------------------------------------------------------------------------------ */

static int64_t number_at(const struct json *v, const char *key)
{
	return json_i64_at(v, key, 0);
}

static bool status_differs(int64_t old, int64_t now, int64_t whole, double share, int64_t noise)
{
	int64_t by = old > now ? old - now : now - old;
	double bound = share * (double)(whole > 0 ? whole : MAX(old, now));

	return by > noise && (double)by > bound;
}

static bool bytes_differ(const struct json *old, const struct json *now,
			 const struct json *capacity, double share)
{
	static const char *const keys[] = { read_key, write_key };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (status_differs(number_at(old, keys[i]), number_at(now, keys[i]),
				   number_at(capacity, keys[i]), share, NOISE_BYTES))
			return true;
	return false;
}

static bool use_differs(const struct json *old, const struct json *now, const struct json *capacity,
			double share)
{
	static const char *const keys[] = { "readOperationsPerSecond", "writeOperationsPerSecond" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (status_differs(number_at(old, keys[i]), number_at(now, keys[i]), 0, share,
				   NOISE_OPERATIONS) &&
		    json_count(capacity) == 0)
			return true;
	return bytes_differ(old, now, capacity, share) ||
	       status_differs(number_at(old, "utilizationPercent"),
			      number_at(now, "utilizationPercent"), 100, share, NOISE_PERCENT);
}

/* Whether a pod of `from` has different rates in `in`. A missing pod counts as idle. */
static bool pods_differ(const struct json *from, const struct json *in, const struct json *capacity,
			double share)
{
	JSON_FOREACH (it, from) {
		const struct json *other = json_find(in, "uid", json_text_at(it, "uid"));

		if (bytes_differ(it, other, capacity, share))
			return true;
	}
	return false;
}

static bool device_differs(const struct json *old, const struct json *now, double share)
{
	const struct json *capacity = json_getz(now, "capacity");
	const struct json *was = json_getz(old, "pods"), *is = json_getz(now, "pods");

	return !old || json_true_at(old, "primary") != json_true_at(now, "primary") ||
	       json_true_at(old, "attributed") != json_true_at(now, "attributed") ||
	       !json_equal(json_getz(old, "capacity"), capacity) ||
	       use_differs(json_getz(old, "used"), json_getz(now, "used"), capacity, share) ||
	       pods_differ(was, is, capacity, share) || pods_differ(is, was, capacity, share);
}

static bool probe_differs(const struct json *old, const struct json *now)
{
	return (old || now) && !(old && now && json_equal(old, now));
}

bool disk_status_changed(const struct json *published, const struct json *now, double share)
{
	const struct json *old = json_getz(published, "devices"), *devices;

	devices = json_getz(now, "devices");
	if (!published || json_count(old) != json_count(devices) ||
	    probe_differs(json_getz(published, "probe"), json_getz(now, "probe")))
		return true;
	JSON_FOREACH (it, devices)
		if (device_differs(json_find(old, "name", json_text_at(it, "name")), it, share))
			return true;
	return false;
}
