/*
 * Plugins and drivers that appear, go, hang, fail and are recreated, on a network that breaks, in
 * any order. When all of that ends, the agent and the remaining plugins agree: each is registered,
 * only the newest instance of each driver is watched, and events came in a sensible order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "node/plugins/plugins_world.h"

enum { SEEDS = 30, STEPS = 60, FAKES = 6, DRIVERS = 2 };

static const char *const names[DRIVERS] = { "a.example.com", "b.example.com" };
static const char *const versions[] = { "v1.DRAPlugin", "v1.DRAResourceHealth", NULL };

struct chaos {
	struct plugins_world w;
	struct prng prng;
	struct fake_plugin *fakes[FAKES]; /* NULL: none now */
	unsigned made; /* number of all fakes: part of their file names */
	unsigned asked, answered; /* prepare calls and replies */
};

static void on_claims(void *arg, const struct plugin_claim_result *v UNUSED, size_t n UNUSED,
		      const struct error *err UNUSED)
{
	((struct chaos *)arg)->answered++;
}

static void make_fake(struct chaos *c, unsigned i)
{
	char file[32];

	(void)snprintf(file, sizeof(file), "%u.sock", c->made++);
	c->fakes[i] = fake_driver_new(&c->w, file, names[i % DRIVERS], FAKE_DRA | FAKE_HEALTH,
				      versions);
}

static void prepare(struct chaos *c, unsigned i)
{
	static const struct plugin_claim claim = { .uid = { "u", 1 } };

	c->asked++;
	plugins_prepare(c->w.plugins, str_from(names[i % DRIVERS]), &claim, 1, on_claims, c);
}

static void step(struct chaos *c)
{
	unsigned i = (unsigned)prng_below(&c->prng, FAKES);
	struct fake_plugin *f = c->fakes[i];

	if (!f) {
		make_fake(c, i);
		return;
	}
	switch (prng_below(&c->prng, 8)) {
	case 0:
		fake_plugin_stop(f, true);
		c->fakes[i] = NULL;
		break;
	case 1:
		fake_plugin_renew_file(f);
		break;
	case 2:
		(void)sim_break_conns(c->w.sim, 0.5);
		break;
	case 3:
		f->hang_info = !f->hang_info;
		break;
	case 4:
		f->hang_notify = !f->hang_notify;
		break;
	case 5:
		f->fail_health = f->fail_health ? GRPC_OK : GRPC_UNAVAILABLE;
		break;
	case 6:
		f->fail_notify = f->fail_notify ? GRPC_OK : GRPC_INTERNAL;
		break;
	default:
		prepare(c, i);
	}
}

static void calm(struct chaos *c)
{
	for (unsigned i = 0; i < FAKES; i++) {
		struct fake_plugin *f = c->fakes[i];

		if (!f)
			continue;
		f->hang_info = f->hang_notify = false;
		f->fail_notify = f->fail_health = GRPC_OK;
	}
	/*
	 * Longer than any back-off and any call. In this world, unlike with unix sockets, a
	 * connection may be lost silently; the next call notices that.
	 */
	plugins_world_run(&c->w, 300 * 1000);
	for (unsigned i = 0; i < DRIVERS; i++)
		prepare(c, i);
	plugins_world_run(&c->w, 60 * 1000);
}

/* A driver is registered and gone in turns; reports come only in between. */
static void check_event(struct str line, bool *there)
{
	if (str_ends(line, STR(" registered"))) {
		assert_false(*there);
		*there = true;
	} else {
		assert_true(*there);
		*there = !str_ends(line, STR(" gone"));
	}
}

static void check_events(struct chaos *c)
{
	bool there[DRIVERS] = { false };
	struct str rest = buf_str(&c->w.lines), line;

	while (str_split(&rest, '\n', &line)) {
		for (unsigned i = 0; i < DRIVERS; i++) {
			if (str_find(line, str_from(names[i])) >= 0)
				check_event(line, &there[i]);
		}
	}
	for (unsigned i = 0; i < DRIVERS; i++)
		assert_int_equal(there[i], plugins_has_driver(c->w.plugins, str_from(names[i])));
}

static unsigned count_lines(const struct chaos *c, const char *begin)
{
	struct str rest = buf_str(&c->w.lines), line;
	unsigned n = 0;

	while (str_split(&rest, '\n', &line))
		n += str_starts(line, str_from(begin));
	return n;
}

/* All are registered; only one instance's reports are used per driver. */
static void check_drivers(struct chaos *c)
{
	bool any[DRIVERS] = { false };

	buf_clear(&c->w.lines);
	for (unsigned i = 0; i < FAKES; i++) {
		struct fake_plugin *f = c->fakes[i];

		if (!f)
			continue;
		any[i % DRIVERS] = true;
		assert_true(f->registered);
		/* A stream whose connection was lost silently may still seem open. */
		if (f->health[0])
			fake_plugin_send_health(f, 0, "p/d:Healthy");
	}
	plugins_world_settle(&c->w);
	for (unsigned d = 0; d < DRIVERS; d++) {
		char begin[64];

		(void)snprintf(begin, sizeof(begin), "health %s p/d", names[d]);
		assert_int_equal(plugins_has_driver(c->w.plugins, str_from(names[d])), any[d]);
		assert_int_equal(count_lines(c, begin), any[d]);
	}
}

static void play(uint64_t seed)
{
	struct chaos *c = XNEW(struct chaos);

	prng_init(&c->prng, seed);
	plugins_world_init(&c->w, seed);
	plugins_world_start(&c->w);
	for (unsigned i = 0; i < STEPS; i++) {
		step(c);
		plugins_world_run(&c->w, (int64_t)prng_below(&c->prng, 3000));
	}
	calm(c);
	check_events(c);
	check_drivers(c);
	assert_int_equal(c->asked, c->answered);
	plugins_world_release(&c->w);
	free(c);
}

static void the_agent_and_its_drivers_always_agree_in_the_end(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		play(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_agent_and_its_drivers_always_agree_in_the_end),
	};

	return cmocka_run_group_tests_name("node/plugins_chaos", tests, NULL, NULL);
}
