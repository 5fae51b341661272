/*
 * A zone exists while it has nodes, also ones that do not count. Its bucket holds one token, as
 * upstream's. A new rate does not give a token that the old one would have refused.
 */
#include "controller/node_lifecycle/node_zones.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "client/api/bucket.h"

enum zone_state { ZONE_NEW, ZONE_NORMAL, ZONE_PARTLY, ZONE_FULLY };

struct zone {
	struct str name;
	size_t nodes; /* all */
	size_t ready, lost; /* those that count */
	enum zone_state state;
	struct bucket bucket;
	double rate; /* 0: none goes */
	struct list waiting;
	char text[];
};

void zone_node_init(struct zone_node *n)
{
	list_init(&n->waiting);
}

void node_zones_init(struct node_zones *z, const struct zone_limits *limits)
{
	*z = (struct node_zones){ .limits = *limits };
	map_init(&z->by_name);
}

void node_zones_release(struct node_zones *z)
{
	map_release(&z->by_name);
}

/* --- nodes ----------------------------------------------------------------------------------- */

static struct zone *zone_need(struct node_zones *z, struct str name)
{
	struct zone *zone = map_get(&z->by_name, name);

	if (zone)
		return zone;
	zone = xcalloc(1, sizeof(*zone) + name.n);
	str_put(zone->text, name);
	zone->name = str_of(zone->text, name.n);
	zone->rate = z->limits.rate;
	bucket_init(&zone->bucket, zone->rate, 1);
	list_init(&zone->waiting);
	(void)map_put(&z->by_name, zone->name, zone);
	return zone;
}

static void zone_count(struct zone_node *n, size_t by)
{
	if (n->counted && n->ready)
		n->zone->ready += by;
	else if (n->counted)
		n->zone->lost += by;
}

void node_zones_remove(struct node_zones *z, struct zone_node *n)
{
	struct zone *zone = n->zone;

	if (!zone)
		return;
	zone_count(n, SIZE_MAX);
	list_remove(&n->waiting);
	n->zone = NULL;
	if (--zone->nodes > 0)
		return;
	(void)map_remove(&z->by_name, zone->name);
	free(zone);
}

void node_zones_put(struct node_zones *z, struct zone_node *n, struct str name, bool counted,
		    bool ready)
{
	bool waits = node_zones_waits(n);

	if (!n->zone || !str_eq(n->zone->name, name)) {
		node_zones_remove(z, n);
		n->zone = zone_need(z, name);
		n->zone->nodes++;
		if (waits)
			node_zones_wait(n);
	} else {
		zone_count(n, SIZE_MAX);
	}
	n->counted = counted;
	n->ready = ready;
	zone_count(n, 1);
}

struct str node_zones_name(const struct zone_node *n)
{
	return n->zone->name;
}

void node_zones_wait(struct zone_node *n)
{
	if (n->zone && !node_zones_waits(n))
		list_push_back(&n->zone->waiting, &n->waiting);
}

void node_zones_spare(struct zone_node *n)
{
	list_remove(&n->waiting);
}

/* --- states ---------------------------------------------------------------------------------- */

static enum zone_state zone_state_of(const struct zone_limits *l, const struct zone *zone)
{
	size_t all = zone->ready + zone->lost;

	if (zone->ready == 0 && zone->lost > 0)
		return ZONE_FULLY;
	if (zone->lost > 2 && (double)zone->lost / (double)all >= l->unhealthy)
		return ZONE_PARTLY;
	return ZONE_NORMAL;
}

static void zone_set_rate(struct zone *zone, double rate, int64_t now_ns)
{
	bool drained;

	if (zone->rate == rate)
		return;
	drained = zone->rate <= 0 || !bucket_take(&zone->bucket, now_ns);
	zone->rate = rate;
	bucket_init(&zone->bucket, rate, 1);
	if (drained && rate > 0)
		(void)bucket_take(&zone->bucket, now_ns);
}

static void zone_enter(const struct zone_limits *l, struct zone *zone, enum zone_state state,
		       int64_t now_ns)
{
	double rate = l->rate;

	if (state == ZONE_PARTLY)
		rate = zone->ready + zone->lost > l->large ? l->secondary_rate : 0;
	zone->state = state;
	zone_set_rate(zone, rate, now_ns);
}

/* Whether there are nodes that count, and no zone has one that is ready. */
static bool all_are_lost(const struct node_zones *z)
{
	size_t at = 0, lost = 0;
	struct str name;
	void *value;

	while (map_next(&z->by_name, &at, &name, &value)) {
		const struct zone *zone = value;

		if (zone->ready > 0)
			return false;
		lost += zone->lost;
	}
	return lost > 0;
}

enum node_zones_change node_zones_settle(struct node_zones *z, int64_t now_ns)
{
	bool stopped = all_are_lost(z), was = z->stopped;
	size_t at = 0;
	struct str name;
	void *value;

	z->stopped = stopped;
	while (map_next(&z->by_name, &at, &name, &value)) {
		struct zone *zone = value;
		enum zone_state state = zone_state_of(&z->limits, zone);

		if (stopped) {
			zone->state = ZONE_FULLY;
			zone_set_rate(zone, 0, now_ns);
		} else if (was || zone->state != state) {
			zone_enter(&z->limits, zone, state, now_ns);
		}
	}
	if (stopped == was)
		return ZONES_AS_BEFORE;
	return stopped ? ZONES_STOPPED : ZONES_RESUMED;
}

/* --- the queues ------------------------------------------------------------------------------ */

struct zone_node *node_zones_next(struct node_zones *z, int64_t now_ns, int64_t *ret_wait_ns)
{
	size_t at = 0;
	struct str name;
	void *value;

	*ret_wait_ns = INT64_MAX;
	while (map_next(&z->by_name, &at, &name, &value)) {
		struct zone *zone = value;
		double missing;

		if (list_empty(&zone->waiting) || zone->rate <= 0)
			continue;
		if (bucket_take(&zone->bucket, now_ns))
			return LIST_ENTRY(list_pop_front(&zone->waiting), struct zone_node,
					  waiting);
		missing = (1 - zone->bucket.tokens) / zone->rate;
		*ret_wait_ns = MIN(*ret_wait_ns, (int64_t)(MIN(missing, 3600.0) * CLOCK_SEC) + 1);
	}
	return NULL;
}
