/*
 * Wall clocks that jump, as when somebody sets them or a machine's time is put right: forward and
 * back, by a second or a day, while monotonic time advances normally. For any clock readings,
 * acknowledged writes stay, there is only one leader, and everything settles.
 */
#include "cluster_world.h"

#include <stdlib.h>

#include "base/core/clock.h"

static int64_t some_jump(struct cluster *w)
{
	static const int64_t most[] = { 2, 60, 3600, 86400 };
	int64_t s = 1 + (int64_t)cluster_pick(w, (unsigned)most[cluster_pick(w, ARRAY_SIZE(most))]);

	return (cluster_chance(w, 0.5) ? s : -s) * CLOCK_SEC;
}

static void set_clock(struct cluster_role *role, int64_t skew_ns)
{
	role->skew_ns = skew_ns;
	if (role->state != CLUSTER_DOWN)
		sim_skew(role->loops[0], skew_ns);
}

/* A driver, and an attached agent, run on their node's machine. */
static void set_node(struct cluster *w, const struct cluster_role *role, int64_t skew_ns)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		if (role != &w->nodes[i])
			continue;
		set_clock(&w->drivers[i], skew_ns);
		if (w->parts & CLUSTER_ATTACH)
			set_clock(&w->attached[i], skew_ns);
	}
}

void cluster_clock_jump(struct cluster *w)
{
	size_t followers = w->parts & CLUSTER_ATTACH ? 3 * CLUSTER_NODES - 1 : CLUSTER_NODES;
	struct cluster_role *role = &w->roles[cluster_pick(w, (unsigned)(w->nroles - followers))];
	/* Half of them are put right. */
	int64_t skew = cluster_chance(w, 0.5) ? 0 : role->skew_ns + some_jump(w);

	cluster_tell(w, "the clock of %s jumps by %lld s", role->host,
		     (long long)((skew - role->skew_ns) / CLOCK_SEC));
	set_clock(role, skew);
	set_node(w, role, skew);
}
