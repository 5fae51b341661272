/*
 * An entry is bad or good, since a given time. Whether it wants a rule follows from that, from
 * whether it has a rule, and from the number of tainted devices in its pool, which is updated as
 * entries change.
 */
#include "controller/health_taints/book.h"

#include "base/core/map.h"
#include "base/core/mem.h"

enum { AFTER_MS = 10 * 1000, CLEAR_MS = 60 * 1000, PERCENT = 50 };

struct pool {
	struct str key; /* stored after the struct */
	size_t entries, tainted;
};

struct entry {
	struct str id; /* stored after the struct */
	struct pool *pool;
	int64_t since; /* since when it is bad, or good */
	bool bad;
	bool rule; /* a rule exists */
	bool wanted;
	bool withheld;
};

struct health_taints_book {
	struct health_taints_limits limits;
	struct map entries, pools;
	size_t tainted, withheld;
};

struct health_taints_book *health_taints_book_new(const struct health_taints_limits *limits)
{
	struct health_taints_book *b = XNEW(struct health_taints_book);

	b->limits = *limits;
	if (b->limits.after_ms == 0)
		b->limits.after_ms = AFTER_MS;
	if (b->limits.clear_ms == 0)
		b->limits.clear_ms = CLEAR_MS;
	if (b->limits.percent == 0)
		b->limits.percent = PERCENT;
	map_init(&b->entries);
	map_init(&b->pools);
	return b;
}

/* --- entries --------------------------------------------------------------------------------- */

static struct pool *need_pool(struct health_taints_book *b, struct str key)
{
	struct pool *p = map_get(&b->pools, key);

	if (p)
		return p;
	p = xcalloc(1, sizeof(*p) + key.n);
	str_put(p + 1, key);
	p->key = str_of((char *)(p + 1), key.n);
	(void)map_put(&b->pools, p->key, p);
	return p;
}

static struct entry *need_entry(struct health_taints_book *b, struct str id, int64_t now)
{
	struct entry *e = map_get(&b->entries, id);
	struct str driver, pool, device;

	if (e || !device_health_split_id(id, &driver, &pool, &device))
		return e;
	e = xcalloc(1, sizeof(*e) + id.n);
	str_put(e + 1, id);
	e->id = str_of((char *)(e + 1), id.n);
	e->pool = need_pool(b, str_of(id.p, id.n - device.n - 1));
	e->pool->entries++;
	e->since = now;
	(void)map_put(&b->entries, e->id, e);
	return e;
}

static bool counts(const struct entry *e)
{
	return e->rule || e->wanted;
}

/* Sets the state of an entry; frees it if it is not bad and neither has nor wants a rule. */
static void set(struct health_taints_book *b, struct entry *e, bool rule, bool wanted,
		bool withheld)
{
	bool before = counts(e);

	b->withheld += withheld - e->withheld;
	e->rule = rule;
	e->wanted = wanted;
	e->withheld = withheld;
	b->tainted += counts(e) - before;
	e->pool->tainted += counts(e) - before;
	if (e->bad || counts(e))
		return;
	if (--e->pool->entries == 0) {
		(void)map_remove(&b->pools, e->pool->key);
		free(e->pool);
	}
	b->withheld -= e->withheld;
	(void)map_remove(&b->entries, e->id);
	free(e);
}

void health_taints_see(struct health_taints_book *b, struct str id, enum device_health health,
		       int64_t now)
{
	bool bad = health == DEVICE_UNHEALTHY;
	struct entry *e = bad ? need_entry(b, id, now) : map_get(&b->entries, id);

	if (!e || health == DEVICE_UNKNOWN || e->bad == bad)
		return;
	e->bad = bad;
	e->since = now;
	set(b, e, e->rule, e->wanted, e->withheld && bad);
}

void health_taints_rule(struct health_taints_book *b, struct str id, bool there, int64_t now)
{
	struct entry *e = there ? need_entry(b, id, now) : map_get(&b->entries, id);

	if (e)
		set(b, e, there, e->wanted || there, e->withheld);
}

/* --- decisions ------------------------------------------------------------------------------- */

bool health_taints_wants(struct health_taints_book *b, struct str id, size_t pool_devices,
			 int64_t now)
{
	struct entry *e = map_get(&b->entries, id);
	bool wanted, late, room;
	size_t most;

	if (!e)
		return false;
	if (!e->bad) {
		wanted = counts(e) && now - e->since < b->limits.clear_ms;
		set(b, e, e->rule, wanted, false);
		return wanted;
	}
	late = now - e->since >= b->limits.after_ms;
	most = MAX(pool_devices * b->limits.percent / 100, (size_t)1);
	room = counts(e) || e->pool->tainted < most;
	wanted = counts(e) || (late && room);
	set(b, e, e->rule, wanted, late && !room);
	return wanted;
}

size_t health_taints_ids(const struct health_taints_book *b, struct arena *a, struct str **ret_ids)
{
	size_t n = 0, at = 0;
	struct str id;
	void *e;

	*ret_ids = ARENA_ARRAY(a, struct str, b->entries.n);
	while (map_next(&b->entries, &at, &id, &e))
		(*ret_ids)[n++] = arena_str(a, id);
	return n;
}

size_t health_taints_tainted(const struct health_taints_book *b)
{
	return b->tainted;
}

size_t health_taints_withheld(const struct health_taints_book *b)
{
	return b->withheld;
}

struct str health_taints_name(struct str id, struct arena *a)
{
	return str_from(arena_printf(a, "device-health-%016llx%016llx",
				     (unsigned long long)hash_bytes(id, 1),
				     (unsigned long long)hash_bytes(id, 2)));
}

void health_taints_book_free(struct health_taints_book *b)
{
	if (!b)
		return;
	map_free_values(&b->entries);
	map_free_values(&b->pools);
	free(b);
}
