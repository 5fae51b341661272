/*
 * Hosts and their crashes. A crash takes effect between turns: conns and listeners show it to the
 * network, and the loops get no further turns. Burying runs the rest of their work without the
 * world.
 */
#include "net/sim/sim_impl.h"

#include "base/core/mem.h"

struct sim_host *sim_host_get(struct sim *s, const char *name)
{
	struct sim_host *host;
	unsigned n = 0;

	if (!name)
		return NULL;
	LIST_FOREACH (it, &s->hosts) {
		host = LIST_ENTRY(it, struct sim_host, link);
		if (strcmp(host->name, name) == 0)
			return host;
		n++;
	}
	host = XNEW(struct sim_host);
	host->name = xstrdup(name);
	host->number = n + 1;
	list_push_back(&s->hosts, &host->link);
	return host;
}

void sim_skew(struct loop *l, int64_t ns)
{
	sim_loop_of(l)->host->skew = ns;
}

void sim_pause(struct loop *l, int64_t ms)
{
	struct sim *s = sim_loop_of(l)->sim;

	sim_trace(s, sim_loop_of(l), "pause %lld", (long long)ms);
	for (size_t i = 0; i < s->loops.n; i++)
		if (s->loops.v[i]->host == sim_loop_of(l)->host)
			s->loops.v[i]->held_until = s->now + ms * CLOCK_MS;
}

void sim_calm(struct sim *s)
{
	s->opts.refuse = s->opts.lose = s->opts.stall = 0;
	for (size_t i = 0; i < s->loops.n; i++)
		s->loops.v[i]->held_until = s->now;
}

void sim_loop_crash(struct loop *loop, enum sim_crash how)
{
	struct sim_loop *dead = sim_loop_of(loop);
	struct sim *s = dead->sim;

	assert(!s->running || s->running->host != dead->host);
	sim_trace(s, dead, "crash %s", how == SIM_CRASH_MACHINE ? "machine" : "process");
	dead->host->down = how == SIM_CRASH_MACHINE;
	for (size_t i = 0; i < s->loops.n; i++) {
		struct sim_loop *l = s->loops.v[i];

		if (l->host != dead->host || l->crashed)
			continue;
		l->crashed = true;
		sim_handovers_crash(l, how);
		for (size_t k = 0; k < l->sources.n; k++)
			if (l->sources.v[k]->crash)
				l->sources.v[k]->crash(l->sources.v[k], how);
	}
}

/* Returns true if the source got the chance to be freed. */
static bool bury_source(struct sim_source *src)
{
	void (*bury)(struct sim_source *) = src->bury;

	src->bury = NULL;
	if (bury)
		bury(src);
	return bury != NULL;
}

/* Returns true if it had work, which may have made work for others. */
static bool bury_loop(struct sim_loop *l)
{
	bool any = l->inbox.due != SIM_NEVER || loop_has_deferred(&l->loop);
	size_t i = 0;

	l->sim->running = l;
	sim_source_set(&l->inbox, SIM_NEVER);
	loop_turn_inbox(&l->loop);
	while (i < l->sources.n) {
		bool buried = bury_source(l->sources.v[i]);

		any = any || buried;
		i = buried ? 0 : i + 1;
	}
	while (loop_turn_end(&l->loop))
		;
	l->sim->running = NULL;
	return any;
}

void sim_loop_bury(struct loop *loop)
{
	struct sim_loop *dead = sim_loop_of(loop);
	struct sim *s = dead->sim;
	bool again = true;

	assert(!s->running && dead->crashed);
	while (again) {
		again = false;
		for (size_t i = 0; i < s->loops.n; i++) {
			struct sim_loop *l = s->loops.v[i];

			if (l->host == dead->host && l->crashed && bury_loop(l))
				again = true;
		}
	}
	sim_destroy_closed(s);
}

static struct sim_loop *next_timer(const struct sim_loop *dead)
{
	struct sim_loop *first = NULL;

	for (size_t i = 0; i < dead->sim->loops.n; i++) {
		struct sim_loop *l = dead->sim->loops.v[i];

		if (l->host == dead->host && l->crashed && l->timer_due != SIM_NEVER &&
		    (!first || l->timer_due < first->timer_due))
			first = l;
	}
	return first;
}

bool sim_loop_bury_timer(struct loop *loop)
{
	struct sim_loop *dead = sim_loop_of(loop), *l = next_timer(dead);
	struct sim *s = dead->sim;

	assert(!s->running && dead->crashed);
	if (!l)
		return false;
	for (size_t i = 0; i < s->loops.n; i++)
		if (s->loops.v[i]->host == dead->host && s->loops.v[i]->crashed)
			s->loops.v[i]->loop.now = MAX(s->loops.v[i]->loop.now,
						      l->timer_due / CLOCK_MS);
	s->running = l;
	loop_turn_timers(&l->loop);
	s->running = NULL;
	sim_loop_bury(loop);
	return true;
}
