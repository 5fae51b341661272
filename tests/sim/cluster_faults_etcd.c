/*
 * Faults of etcd itself. Its members are roles, too: they are killed, stopped, paused and cut off
 * from servers as all others (cluster_faults.c).
 */
#include "cluster_world.h"

#include "store/etcd/log.h"

static unsigned some_member(struct cluster *w)
{
	return cluster_pick(w, CLUSTER_ETCD_MEMBERS);
}

static void last(struct cluster *w)
{
	w->etcd_ms = sim_elapsed_ms(w->sim) + cluster_faults_ms(w);
}

static void depose(struct cluster *w)
{
	cluster_tell(w, "etcd's leader is deposed");
	cluster_etcd_depose(w->etcd);
}

/* From its peers, and in half of the cases from all others. */
static void isolate(struct cluster *w)
{
	unsigned i = some_member(w);

	last(w);
	cluster_tell(w, "etcd-%u is cut off from its peers", i);
	cluster_etcd_isolate(w->etcd, i);
	if (cluster_chance(w, 0.5))
		return;
	sim_cut(w->sim, w->members[i].host, NULL);
	w->heal_ms = w->etcd_ms;
}

static void compact(struct cluster *w)
{
	cluster_tell(w, "etcd is compacted");
	cluster_etcd_compact(w->etcd);
}

static void lose_answers(struct cluster *w)
{
	static const double chances[] = { 0.05, 0.3, 1 };
	unsigned i = cluster_pick(w, ARRAY_SIZE(chances));

	last(w);
	cluster_tell(w, "etcd loses answers, %.0f of 100", chances[i] * 100);
	cluster_etcd_lose_answers(w->etcd, chances[i]);
}

static void delay(struct cluster *w)
{
	unsigned i = some_member(w), ms = 1 + cluster_pick(w, 5000);

	last(w);
	cluster_tell(w, "etcd-%u is %u ms behind", i, ms);
	cluster_etcd_delay(w->etcd, i, ms);
}

/* Together with a compaction a feed is outrun. */
static void hold_events(struct cluster *w)
{
	unsigned i = some_member(w);
	int64_t ms = cluster_faults_ms(w);

	cluster_tell(w, "etcd-%u sends no events for %lld ms", i, (long long)ms);
	cluster_etcd_hold_events(w->etcd, i, ms);
}

static void fill(struct cluster *w)
{
	last(w);
	cluster_tell(w, "etcd's space is used up");
	cluster_etcd_fill(w->etcd, true);
}

void cluster_faults_etcd_step(struct cluster *w)
{
	static void (*const faults[])(struct cluster *) = {
		depose,       depose, isolate, isolate,     compact, lose_answers,
		lose_answers, delay,  delay,   hold_events, compact, fill,
	};

	faults[cluster_pick(w, ARRAY_SIZE(faults))](w);
}
