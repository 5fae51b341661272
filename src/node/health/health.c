/*
 * Drivers and their devices are ordered maps, so encoding is a walk. Expiry is a binary heap of all
 * devices. Each entry knows its index, so a report moves it in O(log n) steps, and the earliest is
 * always at the top.
 *
 * A report is applied in two passes. The first finds or creates the entries, moves each to the end
 * of its driver's list, and records its last index in the report. The second walks that list, so a
 * device listed twice changes once. In between, entries that are still at the front of the list are
 * dropped: the report did not have them.
 *
 * An Unknown entry without a message reads like a missing one, so it is safe to forget it.
 */
#include "node/health/health.h"

#include "base/core/mem.h"
#include "node/health/health_impl.h"
#include "node/node_limits.h"

/* --- the heap ------------------------------------------------------------------------ */

static bool expires_earlier(const void *a, const void *b)
{
	const struct health_entry *x = a, *y = b;

	return x->expires_ms < y->expires_ms;
}

static void set_expiry(struct health *h, struct health_entry *e, int64_t expires_ms)
{
	e->expires_ms = expires_ms;
	if (expires_ms == INT64_MAX)
		heap_remove(&h->heap, e);
	else if (e->at == SIZE_MAX)
		heap_push(&h->heap, e);
	else
		heap_fix(&h->heap, e);
}

/* --- entries ------------------------------------------------------------------------- */

static bool health_fits(struct str s)
{
	return s.n > 0 && s.n <= HEALTH_NAME_MAX;
}

bool health_name_ok(struct str s)
{
	return health_fits(s) && str_chr(s, '\0') < 0 && str_is_utf8(s);
}

static struct str health_key_of(struct str pool, struct str device, char out[static HEALTH_KEY_MAX])
{
	str_put(out, pool);
	out[pool.n] = '\0';
	str_put(out + pool.n + 1, device);
	return str_of(out, pool.n + 1 + device.n);
}

struct health_driver *health_driver_of(struct health *h, struct str name)
{
	struct health_driver *d = omap_get(&h->drivers, name);

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d) + name.n);
	str_put(d + 1, name);
	d->name = str_of(d + 1, name.n);
	omap_init(&d->devices);
	list_init(&d->order);
	(void)omap_put(&h->drivers, d->name, d);
	return d;
}

struct health_entry *health_entry_of(struct health *h, struct health_driver *d, struct str pool,
				     struct str device)
{
	char text[HEALTH_KEY_MAX];
	struct health_entry *e;
	struct str key;

	if (!health_fits(pool) || !health_fits(device))
		return NULL;
	/* Keys contain one NUL, so a name with a NUL finds nothing, and is checked below. */
	key = health_key_of(pool, device, text);
	e = omap_get(&d->devices, key);
	if (e || d->devices.n >= HEALTH_DEVICES_MAX)
		return e;
	if (!health_name_ok(pool) || !health_name_ok(device))
		return NULL;
	e = xcalloc(1, sizeof(*e) + key.n);
	str_put(e + 1, key);
	e->key = str_of(e + 1, key.n);
	e->pool = str_of(e->key.p, pool.n);
	e->device = str_skip(e->key, pool.n + 1);
	e->driver = d;
	e->health = ASSIGN_UNKNOWN;
	e->expires_ms = INT64_MAX;
	e->at = SIZE_MAX;
	(void)omap_put(&d->devices, e->key, e);
	list_push_back(&d->order, &e->link);
	h->count++;
	return e;
}

void health_set_unconfirmed(struct health *h, struct health_entry *e, bool unconfirmed)
{
	h->unconfirmed += (size_t)unconfirmed - (size_t)e->unconfirmed;
	e->unconfirmed = unconfirmed;
}

static void health_entry_free(struct health *h, struct health_entry *e)
{
	heap_remove(&h->heap, e);
	health_set_unconfirmed(h, e, false);
	list_remove(&e->link);
	(void)omap_remove(&e->driver->devices, e->key);
	h->count--;
	free(e->message);
	free(e);
}

bool health_entry_set(struct health *h, struct health_entry *e, enum assign_health health,
		      struct str message, int64_t expires_ms)
{
	bool same_message = str_eq(str_of(e->message, e->message_n), message);
	bool same = same_message && e->health == health;

	if (!same_message) {
		free(e->message);
		e->message = message.n > 0 ? str_dup(message) : NULL;
		e->message_n = message.n;
	}
	e->health = health;
	set_expiry(h, e, expires_ms);
	return !same;
}

static struct health_device view(const struct health_entry *e)
{
	return (struct health_device){
		.driver = e->driver->name,
		.pool = e->pool,
		.device = e->device,
		.message = str_of(e->message, e->message_n),
		.health = e->health,
		.updated_s = e->updated_s,
		.expires_ms = e->expires_ms,
	};
}

static void health_change(struct health *h, struct health_entry *e, enum assign_health health,
			  struct str message, int64_t expires_ms)
{
	enum assign_health before = e->health;
	struct health_device now;

	if (!health_entry_set(h, e, health, message, expires_ms))
		return;
	now = view(e);
	if (h->opts.on_change)
		h->opts.on_change(h->opts.arg, &now, before);
}

/* --- life ---------------------------------------------------------------------------- */

struct health *health_new(const struct health_opts *opts)
{
	struct health *h = XNEW(struct health);

	h->opts = *opts;
	omap_init(&h->drivers);
	heap_init(&h->heap, struct health_entry, at, expires_earlier);
	return h;
}

/* Removes the driver; with `tell`, reports the change of its devices. */
static void drop_driver(struct health *h, struct health_driver *d, bool tell)
{
	LIST_FOREACH_SAFE (it, &d->order) {
		struct health_entry *e = LIST_ENTRY(it, struct health_entry, link);

		if (tell)
			health_change(h, e, ASSIGN_UNKNOWN, STR_NULL, INT64_MAX);
		health_entry_free(h, e);
	}
	(void)omap_remove(&h->drivers, d->name);
	omap_release(&d->devices);
	free(d);
}

void health_clear(struct health *h)
{
	struct omap_cursor c;

	while (omap_first(&h->drivers, &c))
		drop_driver(h, omap_value(&c), false);
}

void health_free(struct health *h)
{
	if (!h)
		return;
	health_clear(h);
	omap_release(&h->drivers);
	heap_release(&h->heap);
	free(h);
}

/* --- reports ------------------------------------------------------------------------- */

int64_t health_after(int64_t now_ms, int64_t ms)
{
	return ms > INT64_MAX - 1 - now_ms ? INT64_MAX - 1 : now_ms + ms;
}

/* A report nearly always has its devices in the order of the last one; then no search is needed. */
static struct health_entry *expected(const struct health_driver *d, const struct list *at,
				     const struct plugin_health *p)
{
	struct health_entry *e = LIST_ENTRY(at, struct health_entry, link);

	if (at == &d->order || !str_eq(e->device, p->device) || !str_eq(e->pool, p->pool))
		return NULL;
	return e;
}

static size_t health_gather(struct health *h, struct health_driver *d,
			    const struct plugin_health *v, size_t n)
{
	const struct list *at = d->order.next;
	struct health_entry *e;
	size_t left_out = 0;

	for (size_t i = 0; i < n; i++) {
		e = expected(d, at, &v[i]);
		if (!e)
			e = health_entry_of(h, d, v[i].pool, v[i].device);
		if (!e) {
			left_out++;
			continue;
		}
		e->pick = i;
		if (e->round == d->round)
			continue;
		e->round = d->round;
		at = e->link.next;
		list_remove(&e->link);
		list_push_back(&d->order, &e->link);
	}
	return left_out;
}

static void health_apply(struct health *h, struct health_entry *e, const struct plugin_health *p,
			 int64_t now_ms)
{
	int64_t timeout_s = p->timeout_s > 0 ? p->timeout_s : HEALTH_TIMEOUT_DEFAULT_S;

	e->updated_s = p->updated_s;
	e->timeout_ms = timeout_s > INT64_MAX / 1000 ? INT64_MAX : timeout_s * 1000;
	health_set_unconfirmed(h, e, false);
	health_change(h, e, p->health, p->message, health_after(now_ms, e->timeout_ms));
}

/* Entries that the newest report did not have are at the front. */
static void drop_unreported(struct health *h, struct health_driver *d)
{
	LIST_FOREACH_SAFE (it, &d->order) {
		struct health_entry *e = LIST_ENTRY(it, struct health_entry, link);

		if (e->round == d->round)
			break;
		health_change(h, e, ASSIGN_UNKNOWN, STR_NULL, INT64_MAX);
		health_entry_free(h, e);
	}
}

size_t health_report(struct health *h, struct str driver, const struct plugin_health *v, size_t n,
		     int64_t now_ms)
{
	struct health_driver *d = health_driver_of(h, driver);
	size_t left_out;

	d->round++;
	left_out = health_gather(h, d, v, n);
	drop_unreported(h, d);
	/* Dropped devices may have made room. */
	if (left_out > 0 && d->devices.n < HEALTH_DEVICES_MAX)
		left_out = health_gather(h, d, v, n);
	LIST_FOREACH (it, &d->order) {
		struct health_entry *e = LIST_ENTRY(it, struct health_entry, link);

		health_apply(h, e, &v[e->pick], now_ms);
	}
	return left_out;
}

void health_driver_gone(struct health *h, struct str driver)
{
	struct health_driver *d = omap_get(&h->drivers, driver);

	if (d)
		drop_driver(h, d, true);
}

/* --- expiry -------------------------------------------------------------------------- */

int64_t health_next_expiry(const struct health *h)
{
	const struct health_entry *first = heap_first(&h->heap);

	return first ? first->expires_ms : INT64_MAX;
}

void health_expire(struct health *h, int64_t now_ms)
{
	while (health_next_expiry(h) <= now_ms) {
		struct health_entry *e = heap_first(&h->heap);

		health_set_unconfirmed(h, e, false);
		health_change(h, e, ASSIGN_UNKNOWN, STR_NULL, INT64_MAX);
	}
}

/* --- reading ------------------------------------------------------------------------- */

bool health_get(const struct health *h, struct str driver, struct str pool, struct str device,
		struct health_device *ret_device)
{
	const struct health_driver *d = omap_get(&h->drivers, driver);
	const struct health_entry *e = NULL;
	char text[HEALTH_KEY_MAX];

	if (d && pool.n <= HEALTH_NAME_MAX && device.n <= HEALTH_NAME_MAX)
		e = omap_get(&d->devices, health_key_of(pool, device, text));
	if (e)
		*ret_device = view(e);
	else
		*ret_device = (struct health_device){ .driver = driver,
						      .pool = pool,
						      .device = device,
						      .health = ASSIGN_UNKNOWN,
						      .expires_ms = INT64_MAX };
	return e != NULL;
}

size_t health_count(const struct health *h)
{
	return h->count;
}

size_t health_unconfirmed(const struct health *h)
{
	return h->unconfirmed;
}

static bool first_of(const struct health_driver *d, struct str after, struct health_device *at)
{
	struct omap_cursor c;
	const struct health_entry *e;

	if (!omap_seek_after(&d->devices, &c, after))
		return false;
	e = omap_value(&c);
	*at = (struct health_device){ .driver = d->name,
				      .pool = e->pool,
				      .device = e->device,
				      .message = str_of(e->message, e->message_n),
				      .health = e->health,
				      .updated_s = e->updated_s,
				      .expires_ms = e->expires_ms };
	return true;
}

/* Relies on a device's key beginning with its pool. */
bool health_next(const struct health *h, struct health_device *at)
{
	const struct health_driver *d = omap_get(&h->drivers, at->driver);
	struct str key = str_of(at->pool.p, at->pool.n + 1 + at->device.n);
	struct omap_cursor c;

	if (at->driver.n > 0 && d && first_of(d, key, at))
		return true;
	for (bool ok = omap_seek_after(&h->drivers, &c, at->driver); ok; ok = omap_next(&c)) {
		if (first_of(omap_value(&c), STR_NULL, at))
			return true;
	}
	return false;
}
