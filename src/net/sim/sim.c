/*
 * The world's time and its turns.
 *
 * Everything that can happen on a loop is a source with the time when it is due, in addition to the
 * loop's own timers and deferred tasks. A step moves the clock to the earliest of all, and draws
 * one of the loops that have something due. It gives that loop a turn like the real loop's: timers,
 * deferred tasks, a random part of the other due sources in random order, deferred tasks again.
 *
 * A turn takes some microseconds. So a loop that never rests does not stop the time of the others,
 * and timeouts end what would otherwise go on for ever.
 */
#include "net/sim/sim_impl.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/core/limits.h"
#include "base/core/mem.h"

enum {
	START_MONOTONIC_S = 1000, /* not 0, as on any real machine */
	START_WALL_S = 1704067200, /* 2024-01-01 */
	TURN_MIN_NS = 1000,
	TURN_MAX_NS = 9000,
	TRACE_LINE_MAX = 256,
	FIRST_PORT = 32768,
	FIRST_PID = 1000,
};

/* --- chance ------------------------------------------------------------------------- */

bool sim_chance(struct sim *s, double chance)
{
	return chance > 0 && prng_unit(&s->prng) < chance;
}

bool sim_coin(struct sim *s)
{
	return prng_below(&s->prng, 2) == 0;
}

int64_t sim_between(struct sim *s, int64_t min, int64_t max)
{
	return min + (int64_t)prng_below(&s->prng, (uint64_t)(max - min) + 1);
}

/* --- tracing ------------------------------------------------------------------------ */

void sim_trace(struct sim *s, const struct sim_loop *l, const char *fmt, ...)
{
	int64_t us = sim_elapsed_ms(s) * 1000 + s->now / 1000 % 1000;
	char line[TRACE_LINE_MAX];
	va_list ap;
	int n;

	if (!s->opts.trace)
		return;
	n = snprintf(line, sizeof(line), "%lld.%06lld %s/%u ", (long long)us / 1000000,
		     (long long)us % 1000000, l ? l->host->name : "-", l ? l->thread : 0);
	n = MIN(n, (int)sizeof(line) - 1);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	s->opts.trace(s->opts.arg, str_of(line, (size_t)MIN(n, (int)sizeof(line) - 1)));
}

/* --- sources ------------------------------------------------------------------------ */

void sim_source_add(struct sim_source *src, struct sim_loop *l)
{
	src->loop = l;
	src->due = SIM_NEVER;
	src->at = l->sources.n;
	list_init(&src->grave);
	(void)vec_push(&l->sources, src);
}

void sim_source_set(struct sim_source *src, int64_t due)
{
	struct sim_loop *l = src->loop;

	if (src->due == l->next && due > l->next)
		l->stale = true;
	src->due = due;
	l->next = MIN(l->next, due);
}

void sim_source_close(struct sim_source *src)
{
	struct sim_loop *l = src->loop;

	if (l) {
		sim_source_set(src, SIM_NEVER);
		vec_remove_swap(&l->sources, src->at);
		if (src->at < l->sources.n)
			l->sources.v[src->at]->at = src->at;
		src->loop = NULL;
		list_push_back(&l->sim->graves, &src->grave);
		return;
	}
	src->destroy(src);
}

void sim_destroy_closed(struct sim *s)
{
	struct list *node;

	while ((node = list_pop_front(&s->graves))) {
		struct sim_source *src = LIST_ENTRY(node, struct sim_source, grave);

		src->destroy(src);
	}
}

static int64_t earliest_source(struct sim_loop *l)
{
	if (l->stale) {
		l->next = SIM_NEVER;
		for (size_t i = 0; i < l->sources.n; i++)
			l->next = MIN(l->next, l->sources.v[i]->due);
		l->stale = false;
	}
	return l->next;
}

/* --- turns -------------------------------------------------------------------------- */

static void set_now(struct sim *s, int64_t now)
{
	assert(now >= s->now);
	s->now = now;
	for (size_t i = 0; i < s->loops.n; i++)
		s->loops.v[i]->loop.now = now / CLOCK_MS;
}

/* The earliest time of the loop's next turn. */
static int64_t turn_due(struct sim_loop *l)
{
	int64_t due;

	if (l->stopped || l->crashed)
		return SIM_NEVER;
	due = earliest_source(l);
	due = MIN(due, l->timer_due);
	if (loop_has_deferred(&l->loop))
		due = 0;
	return due == SIM_NEVER ? due : MAX(due, l->held_until);
}

static int64_t earliest_turn(struct sim *s)
{
	int64_t earliest = SIM_NEVER, due;

	for (size_t i = 0; i < s->loops.n; i++) {
		due = turn_due(s->loops.v[i]);
		earliest = MIN(earliest, due);
	}
	return earliest;
}

/* One of the loops that may have a turn now; there must be one. */
static struct sim_loop *draw_loop(struct sim *s)
{
	struct sim_loop *drawn = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < s->loops.n; i++)
		if (turn_due(s->loops.v[i]) <= s->now && prng_below(&s->prng, ++n) == 0)
			drawn = s->loops.v[i];
	return drawn;
}

static void gather_ready(struct sim_loop *l)
{
	struct sim *s = l->sim;

	s->ready.n = 0;
	for (size_t i = 0; i < l->sources.n; i++)
		if (l->sources.v[i]->due <= s->now)
			(void)vec_push(&s->ready, l->sources.v[i]);
}

/* Fires all or some ready sources, in any order, except those closed meanwhile. */
static void fire_some(struct sim *s)
{
	size_t n = s->ready.n, at;

	if (sim_coin(s))
		n = 1 + (size_t)prng_below(&s->prng, n);
	for (size_t i = 0; i < n; i++) {
		struct sim_source *src;

		at = i + (size_t)prng_below(&s->prng, s->ready.n - i);
		src = s->ready.v[at];
		s->ready.v[at] = s->ready.v[i];
		if (src->due <= s->now)
			src->fire(src);
	}
}

static void turn(struct sim_loop *l)
{
	struct sim *s = l->sim;
	bool timers, others;

	assert(!s->running && !l->crashed);
	gather_ready(l);
	timers = l->timer_due <= s->now && (s->ready.n == 0 || sim_coin(s));
	others = s->ready.n > 0 && (!timers || sim_coin(s));
	s->running = l;
	s->turns++;
	if (timers) {
		sim_trace(s, l, "timers");
		loop_turn_timers(&l->loop);
	}
	loop_turn_deferred(&l->loop);
	if (others)
		fire_some(s);
	(void)loop_turn_end(&l->loop);
	s->running = NULL;
	sim_destroy_closed(s);
	if (sim_chance(s, s->opts.stall))
		l->held_until = s->now + sim_between(s, 0, s->opts.stall_max_ms * CLOCK_MS);
	set_now(s, s->now + sim_between(s, TURN_MIN_NS, TURN_MAX_NS));
}

bool sim_step(struct sim *s)
{
	int64_t due = earliest_turn(s);

	if (due == SIM_NEVER)
		return false;
	set_now(s, MAX(due, s->now));
	turn(draw_loop(s));
	return true;
}

void sim_run_for(struct sim *s, int64_t ms)
{
	int64_t end = s->now + ms * CLOCK_MS;

	while (earliest_turn(s) <= end && s->now <= end)
		(void)sim_step(s);
	set_now(s, MAX(end, s->now));
}

bool sim_run_until(struct sim *s, bool (*holds)(void *arg), void *arg, int64_t max_ms)
{
	int64_t end = s->now + max_ms * CLOCK_MS;

	while (!holds(arg)) {
		if (s->now > end || earliest_turn(s) > end) {
			set_now(s, MAX(end, s->now));
			return false;
		}
		(void)sim_step(s);
	}
	return true;
}

int64_t sim_elapsed_ms(const struct sim *s)
{
	return s->now / CLOCK_MS - (int64_t)START_MONOTONIC_S * 1000;
}

uint64_t sim_turns(const struct sim *s)
{
	return s->turns;
}

/* --- the loop's verbs --------------------------------------------------------------- */

static int64_t loop_monotonic(const struct clock *c)
{
	return CONTAINER_OF(c, struct sim_loop, clock)->sim->now;
}

static int64_t loop_wall(const struct clock *c)
{
	const struct sim_loop *l = CONTAINER_OF(c, struct sim_loop, clock);

	return l->sim->now + (START_WALL_S - START_MONOTONIC_S) * CLOCK_SEC + l->host->skew;
}

static void sim_run(struct loop *loop)
{
	struct sim_loop *l = sim_loop_of(loop);

	while (!l->stopped && sim_step(l->sim))
		;
	l->stopped = false;
}

static void sim_stop(struct loop *loop)
{
	sim_loop_of(loop)->stopped = true;
}

static void sim_wake(struct loop *loop)
{
	struct sim_loop *l = sim_loop_of(loop);

	sim_source_set(&l->inbox, l->sim->now);
}

static void sim_arm(struct loop *loop, int64_t due)
{
	struct sim_loop *l = sim_loop_of(loop);

	sim_check_thread(l);
	l->timer_due = due > SIM_NEVER / CLOCK_MS ? SIM_NEVER : due * CLOCK_MS;
}

static void free_loop(struct loop *loop)
{
	struct sim_loop *l = sim_loop_of(loop);
	struct sim *s = l->sim;

	assert(!s->running);
	if (!l->crashed)
		loop_turn_inbox(loop);
	while (loop_turn_end(loop))
		;
	sim_handovers_drop(l);
	sim_source_close(&l->inbox);
	assert(l->crashed || l->sources.n == 0);
	while (l->sources.n)
		sim_source_close(l->sources.v[0]);
	sim_destroy_closed(s);
	for (size_t i = 0; i < s->loops.n; i++)
		if (s->loops.v[i] == l)
			vec_remove(&s->loops, i);
	vec_release(&l->sources);
	loop_release_common(loop);
	free(l);
}

static const struct loop_ops sim_loop_ops = {
	.run = sim_run,
	.stop = sim_stop,
	.wake = sim_wake,
	.arm = sim_arm,
	.free = free_loop,
	.connect = sim_connect,
	.listen = sim_listen,
	.signal_new = sim_signal_new,
	.watch_new = sim_watch_new,
	.fd_new = sim_fd_new,
	.child_new = sim_child_new,
};

static void fire_inbox(struct sim_source *src)
{
	struct sim_loop *l = src->loop;

	sim_trace(l->sim, l, "inbox");
	sim_source_set(src, SIM_NEVER);
	loop_turn_inbox(&l->loop);
}

static void destroy_nothing(struct sim_source *src UNUSED)
{
}

struct loop *sim_loop_new(struct sim *s, const char *name)
{
	struct sim_loop *l = XNEW(struct sim_loop);

	loop_init_common(&l->loop, &sim_loop_ops, &l->clock, prng_u64(&s->prng));
	l->loop.now = s->now / CLOCK_MS;
	l->clock = (struct clock){ .monotonic = loop_monotonic, .wall = loop_wall };
	l->sim = s;
	l->host = sim_host_get(s, name);
	l->thread = l->host->nloops++;
	l->timer_due = l->next = SIM_NEVER;
	l->inbox = (struct sim_source){ .fire = fire_inbox, .destroy = destroy_nothing };
	vec_init(&l->sources, SIZE_MAX / sizeof(void *));
	list_init(&l->handovers);
	sim_source_add(&l->inbox, l);
	(void)vec_push(&s->loops, l);
	if (l->host->down)
		sim_host_restart(s, l->host);
	return &l->loop;
}

/* --- the world ---------------------------------------------------------------------- */

static struct sim_opts fill_opts(const struct sim_opts *opts)
{
	struct sim_opts o = opts ? *opts : (struct sim_opts){ 0 };

	o.latency_min_us = o.latency_min_us ? o.latency_min_us : 50;
	o.latency_max_us = MAX(o.latency_max_us ? o.latency_max_us : 2000, o.latency_min_us);
	o.pipe_max = o.pipe_max ? o.pipe_max : 64 * KIB;
	o.stall_max_ms = o.stall_max_ms ? o.stall_max_ms : 100;
	o.give_up_ms = o.give_up_ms ? o.give_up_ms : 900 * 1000;
	return o;
}

struct sim *sim_new(const struct sim_opts *opts)
{
	struct sim *s = XNEW(struct sim);

	s->opts = fill_opts(opts);
	s->now = START_MONOTONIC_S * CLOCK_SEC;
	s->next_port = FIRST_PORT;
	s->next_pid = FIRST_PID;
	prng_init(&s->prng, s->opts.seed);
	vec_init(&s->loops, SIZE_MAX / sizeof(void *));
	vec_init(&s->ready, SIZE_MAX / sizeof(void *));
	vec_init(&s->cuts, SIZE_MAX / sizeof(struct sim_cut));
	vec_init(&s->removed, SIZE_MAX / sizeof(void *));
	list_init(&s->hosts);
	list_init(&s->ports);
	list_init(&s->ends);
	list_init(&s->graves);
	return s;
}

void sim_free(struct sim *s)
{
	struct list *node;

	if (!s)
		return;
	assert(s->loops.n == 0);
	sim_destroy_closed(s);
	assert(list_empty(&s->ends));
	while ((node = list_pop_front(&s->ports)))
		free(LIST_ENTRY(node, struct sim_port, link));
	while ((node = list_pop_front(&s->hosts))) {
		free(LIST_ENTRY(node, struct sim_host, link)->name);
		free(LIST_ENTRY(node, struct sim_host, link));
	}
	for (size_t i = 0; i < s->removed.n; i++)
		free(s->removed.v[i]);
	vec_release(&s->removed);
	vec_release(&s->cuts);
	vec_release(&s->ready);
	vec_release(&s->loops);
	free(s);
}
