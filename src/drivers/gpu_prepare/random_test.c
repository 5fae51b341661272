/*
 * Crashes at every step, and random claims with failures and crashes against a model. After each
 * restart the GPUs have exactly the instances of the claims that are prepared, and those of others.
 *
 * A crash is a child process that ends in the middle of a call. The GPUs are in memory that it
 * shares with the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/core/random.h"
#include "drivers/gpu_prepare/prepare_fixture.h"

enum { CRASHED = 42, CLAIMS = 6, WANTS_MAX = 2, SEQUENCES = 10000, SEQUENCE_STEPS = 8 };
enum { MEDIA_PROFILE = 20 }; /* 1g.18gb+me */

/* A claim of the model. */
struct model_claim {
	char uid[16];
	struct gpu_want wants[WANTS_MAX];
	size_t n;
	bool prepared, /* its devices exist */
		maybe; /* a call for it failed or crashed */
};

struct model {
	struct world *w;
	struct prng g;
	struct model_claim claims[CLAIMS];
	uint64_t prepares, undos, failures, crashes, refused;
};

static int crash_at(void *arg, const char *step UNUSED, struct error *err UNUSED)
{
	int *left = arg;

	if (*left && --*left == 0)
		_exit(CRASHED);
	return 0;
}

static int count_steps(void *arg, const char *step UNUSED, struct error *err UNUSED)
{
	++*(int *)arg;
	return 0;
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool wants_instance(const struct model_claim *c, size_t gpu, const struct fake_instance *i)
{
	for (size_t k = 0; k < c->n; k++) {
		const struct gpu_device *d = c->wants[k].device;

		if (d->kind == GPU_MIG && d->source->gpu.minor == gpu &&
		    d->profile->id == i->profile && d->place.start == i->place.start)
			return true;
	}
	return false;
}

static const struct fake_instance *instance_of(const struct world *w, const struct gpu_device *d)
{
	const struct fake_gpu *g = &w->fake->gpus[d->source->gpu.minor];

	for (size_t i = 0; i < FAKE_INSTANCES; i++)
		if (g->v[i].there && g->v[i].profile == d->profile->id &&
		    g->v[i].place.start == d->place.start)
			return &g->v[i];
	return NULL;
}

static bool is_owned(const struct model *m, size_t gpu, const struct fake_instance *i)
{
	for (size_t c = 0; c < CLAIMS; c++)
		if (m->claims[c].prepared && wants_instance(&m->claims[c], gpu, i))
			return true;
	return i->foreign;
}

static bool is_exclusive(const struct model *m, size_t gpu)
{
	for (size_t c = 0; c < CLAIMS; c++)
		for (size_t k = 0; m->claims[c].prepared && k < m->claims[c].n; k++)
			if (m->claims[c].wants[k].exclusive &&
			    m->claims[c].wants[k].device->source->gpu.minor == gpu)
				return true;
	return false;
}

/* Nothing leaked: every instance is a foreign one, or of a claim of the model. */
static void check_no_leak(const struct model *m)
{
	for (size_t g = 0; g < FAKE_GPUS; g++) {
		const struct fake_gpu *gpu = &m->w->fake->gpus[g];
		size_t n = 0;

		for (size_t i = 0; i < FAKE_INSTANCES; i++) {
			n += gpu->v[i].there;
			assert_true(!gpu->v[i].there || is_owned(m, g, &gpu->v[i]));
		}
		/* Others only make instances where MIG is on, so it is ours. */
		assert_true(n > 0 || !gpu->on);
		assert_int_equal(gpu->compute, is_exclusive(m, g) ? NVML_COMPUTE_EXCLUSIVE
								  : NVML_COMPUTE_DEFAULT);
	}
}

static void check_claim(const struct model *m, const struct model_claim *c)
{
	for (size_t k = 0; k < c->n && c->prepared; k++) {
		const struct gpu_device *d = c->wants[k].device;
		const struct fake_instance *i;

		if (d->kind != GPU_MIG)
			continue;
		i = instance_of(m->w, d);
		if (!i || i->ncompute != 1 || i->foreign)
			fail_msg("claim %s has no usable %s", c->uid, d->name);
	}
}

static size_t count_foreign(const struct world *w)
{
	size_t n = 0;

	for (size_t g = 0; g < FAKE_GPUS; g++)
		for (size_t i = 0; i < FAKE_INSTANCES; i++)
			n += w->fake->gpus[g].v[i].there && w->fake->gpus[g].v[i].foreign;
	return n;
}

/* The book has the devices of prepared claims, each once, and nothing else. */
static void check_book(const struct model *m)
{
	struct gpu_holder h;
	size_t expected = 0, n;

	for (size_t c = 0; c < CLAIMS; c++)
		expected += m->claims[c].prepared ? m->claims[c].n : 0;
	for (n = 0; gpu_prepare_holder(m->w->prepare, n, &h); n++)
		assert_true(h.done);
	assert_int_equal(n, expected);
}

static void check_all(const struct model *m)
{
	check_no_leak(m);
	for (size_t c = 0; c < CLAIMS; c++)
		check_claim(m, &m->claims[c]);
	check_book(m);
}

/* --- a crash at every step ------------------------------------------------------------------- */

static int run_child(struct world *w, int at, bool undo, const struct model_claim *c)
{
	struct gpu_prepared ret[WANTS_MAX];
	int left = at, status;
	pid_t pid = fork();

	if (pid == 0) {
		gpu_prepare_close(TAKE(w->prepare));
		w->options.on_step = NULL;
		world_open(w);
		(void)world_start(w);
		gpu_prepare_close(TAKE(w->prepare));
		w->options.on_step = crash_at;
		w->options.arg = &left;
		left = 0;
		world_open(w);
		(void)world_start(w);
		left = at;
		_exit((undo ? world_undo(w, c->uid)
			    : world_prepare(w, c->uid, c->wants, c->n, ret)) < 0
			      ? 1
			      : 0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void set_claim(struct world *w, struct model_claim *c, const char *first, const char *second)
{
	(void)snprintf(c->uid, sizeof(c->uid), "c0");
	c->wants[0] = (struct gpu_want){ .device = world_device(w, first) };
	c->wants[1] = (struct gpu_want){ .device = world_device(w, second) };
	c->wants[1].exclusive = c->wants[1].device->kind == GPU_FULL;
	c->n = 2;
}

static int steps_of_prepare(struct world *w, const struct model_claim *c)
{
	struct gpu_prepared ret[WANTS_MAX];
	int steps = 0;

	w->options.on_step = count_steps;
	w->options.arg = &steps;
	world_restart(w);
	assert_int_equal(world_prepare(w, c->uid, c->wants, c->n, ret), 0);
	w->options.on_step = NULL;
	return steps;
}

static void crash_at_any_step_of_prepare(struct world *w, const char *second, int expected)
{
	struct model m = { .w = w };
	struct model_claim *c = &m.claims[0];
	struct gpu_prepared ret[WANTS_MAX];
	int steps;

	set_claim(w, c, "gpu-0-mig-1g18gb-19-6", second);
	steps = steps_of_prepare(w, c);
	assert_int_equal(steps, expected);
	world_restart(w);
	assert_int_equal(world_undo(w, c->uid), 0);
	for (int at = 1; at <= steps; at++) {
		assert_int_equal(run_child(w, at, false, c), CRASHED);
		/* Without a restart of the machine the next start undoes it. */
		c->prepared = false;
		world_restart(w);
		check_all(&m);
		/* Crash again, and the kubelet prepares at once. */
		assert_int_equal(run_child(w, at, false, c), CRASHED);
		world_restart(w);
		assert_int_equal(world_prepare(w, c->uid, c->wants, c->n, ret), 0);
		c->prepared = true;
		check_all(&m);
		assert_int_equal(world_undo(w, c->uid), 0);
	}
	assert_int_equal(run_child(w, steps + 1, false, c), 0);
	world_restart(w);
	c->prepared = true;
	check_all(&m);
}

static void a_crash_at_any_step_of_prepare_leaves_nothing(void **state)
{
	/* 2 saves, and mode, instance, compute instance of 2 devices. */
	crash_at_any_step_of_prepare(*state, "gpu-1-mig-3g71gb-9-4", 8);
}

static void a_crash_at_any_step_leaves_no_compute_mode(void **state)
{
	/* 2 saves, 3 steps of the partition, and the mode of the full GPU. */
	crash_at_any_step_of_prepare(*state, "gpu-1", 6);
}

static void crash_at_any_step_of_unprepare(struct world *w, const char *second)
{
	struct model m = { .w = w };
	struct model_claim *c = &m.claims[0];
	struct gpu_prepared ret[WANTS_MAX];
	int at;

	set_claim(w, c, "gpu-0-mig-1g18gb-19-6", second);
	for (at = 1;; at++) {
		int status;

		world_restart(w);
		assert_int_equal(world_prepare(w, c->uid, c->wants, c->n, ret), 0);
		status = run_child(w, at, true, c);
		world_restart(w);
		assert_int_equal(world_undo(w, c->uid), 0);
		c->prepared = false;
		check_all(&m);
		if (status != CRASHED)
			break;
	}
	assert_true(at > 5);
}

static void a_crash_at_any_step_of_unprepare_is_finished_by_the_next(void **state)
{
	crash_at_any_step_of_unprepare(*state, "gpu-1-mig-3g71gb-9-4");
	crash_at_any_step_of_unprepare(*state, "gpu-1");
}

/* --- random sequences ------------------------------------------------------------------------ */

static bool claims_clash(const struct gpu_device *a, const struct gpu_device *b)
{
	return a->source == b->source && (a->kind == GPU_FULL || b->kind == GPU_FULL ||
					  gpu_places_overlap(a->place, b->place));
}

static bool overlaps_claim(const struct gpu_device *d, const struct model_claim *c)
{
	for (size_t j = 0; j < c->n; j++)
		if (claims_clash(d, c->wants[j].device))
			return true;
	return false;
}

static bool overlaps_foreign(const struct model *m, const struct gpu_device *d)
{
	const struct fake_gpu *g = &m->w->fake->gpus[d->source->gpu.minor];

	for (size_t i = 0; i < FAKE_INSTANCES; i++)
		if (g->v[i].there && g->v[i].foreign &&
		    (d->kind == GPU_FULL || gpu_places_overlap(g->v[i].place, d->place) ||
		     (d->profile->instances == 1 && d->profile->id == g->v[i].profile)))
			return true;
	return false;
}

/* Whether a prepare must fail: another claim or somebody else has the place. */
static bool must_refuse(const struct model *m, const struct model_claim *c)
{
	for (size_t k = 0; k < c->n; k++) {
		for (size_t o = 0; o < CLAIMS; o++)
			if (&m->claims[o] != c && m->claims[o].prepared &&
			    overlaps_claim(c->wants[k].device, &m->claims[o]))
				return true;
		if (overlaps_foreign(m, c->wants[k].device))
			return true;
	}
	return false;
}

/* Whether it may fail: a failed call for another claim has left something. */
static bool may_refuse(const struct model *m, const struct model_claim *c)
{
	for (size_t k = 0; k < c->n; k++)
		for (size_t o = 0; o < CLAIMS; o++)
			if (&m->claims[o] != c && m->claims[o].maybe &&
			    overlaps_claim(c->wants[k].device, &m->claims[o]))
				return true;
	return false;
}

/* The media engines exist once, which places alone do not show. */
static bool media_clash(const struct model *m, const struct model_claim *c, bool maybe)
{
	size_t n[FAKE_GPUS] = { 0 };

	for (size_t o = 0; o < CLAIMS; o++)
		for (size_t j = 0; j < m->claims[o].n; j++) {
			const struct gpu_device *d = m->claims[o].wants[j].device;

			if ((m->claims[o].prepared || (maybe && m->claims[o].maybe) ||
			     &m->claims[o] == c) &&
			    d->profile && d->profile->id == MEDIA_PROFILE)
				n[d->source->gpu.minor]++;
		}
	return n[0] > 1 || n[1] > 1;
}

static void draw_claim(struct model *m, struct model_claim *c)
{
	c->n = 1 + prng_below(&m->g, WANTS_MAX);
	for (size_t k = 0; k < c->n; k++) {
		const struct gpu_device *d =
			&m->w->inventory.devices[prng_below(&m->g, m->w->inventory.n)];

		c->wants[k] = (struct gpu_want){
			.device = d,
			.exclusive = d->kind == GPU_FULL && prng_below(&m->g, 2),
		};
	}
	if (c->n == 2 && claims_clash(c->wants[0].device, c->wants[1].device))
		c->n = 1;
}

/* One call in this process: it may fail at a random NVML call. */
static int call_here(struct model *m, struct model_claim *c, bool undo)
{
	struct fake_nvml *f = m->w->fake;
	struct gpu_prepared ret[WANTS_MAX];
	int r;

	f->calls = 0;
	f->fail_at = prng_below(&m->g, 4) ? 0 : 1 + (uint32_t)prng_below(&m->g, 8);
	f->fail_late = prng_below(&m->g, 2);
	r = undo ? world_undo(m->w, c->uid) : world_prepare(m->w, c->uid, c->wants, c->n, ret);
	m->failures += r < 0;
	f->fail_at = 0;
	return r;
}

static void try_prepare(struct model *m, struct model_claim *c)
{
	bool refuse, may;
	int r;

	if (!c->prepared && !c->maybe)
		draw_claim(m, c);
	refuse = must_refuse(m, c) || media_clash(m, c, false);
	may = refuse || may_refuse(m, c) || media_clash(m, c, true);
	r = call_here(m, c, false);
	m->prepares++;
	m->refused += refuse;
	if (r == 0 && refuse && !c->prepared)
		fail_msg("claim %s was prepared, although %s is taken", c->uid,
			 c->wants[0].device->name);
	if (r < 0 && !may && !strstr(m->w->err.msg, "Unknown Error"))
		fail_msg("claim %s: %s", c->uid, m->w->err.msg);
	/* A failed call for a prepared claim leaves it prepared. */
	if (r == 0)
		c->prepared = true;
	c->maybe = r < 0 && !c->prepared;
}

static void try_undo(struct model *m, struct model_claim *c)
{
	int r = call_here(m, c, true);

	m->undos++;
	if (r < 0) {
		assert_non_null(strstr(m->w->err.msg, "Unknown Error"));
		assert_int_equal(world_undo(m->w, c->uid), 0);
	}
	c->prepared = c->maybe = false;
}

static void crash_somewhere(struct model *m, struct model_claim *c)
{
	bool undo = c->prepared;
	int status;

	if (!undo && !c->maybe)
		draw_claim(m, c);
	status = run_child(m->w, 1 + (int)prng_below(&m->g, 8), undo, c);
	m->crashes += status == CRASHED;
	world_restart(m->w);
	if (undo) {
		assert_int_equal(world_undo(m->w, c->uid), 0);
		c->prepared = false;
	} else {
		c->prepared = status == 0;
	}
	c->maybe = false;
}

/* Somebody else makes or removes an instance, anywhere where there is room. */
static void act_foreign(struct model *m)
{
	size_t gpu = prng_below(&m->g, FAKE_GPUS);
	struct fake_gpu *g = &m->w->fake->gpus[gpu];
	const struct nvml_profile *p =
		&gpu_fixture_profiles[prng_below(&m->g, GPU_FIXTURE_PROFILES)];

	for (size_t i = 0; i < FAKE_INSTANCES; i++)
		if (g->v[i].there && g->v[i].foreign) {
			g->v[i].there = false;
			return;
		}
	for (size_t c = 0; c < CLAIMS; c++)
		for (size_t k = 0; k < m->claims[c].n; k++)
			if ((m->claims[c].prepared || m->claims[c].maybe) &&
			    m->claims[c].wants[k].device->kind == GPU_FULL &&
			    m->claims[c].wants[k].device->source->gpu.minor == gpu)
				return;
	if (g->on)
		(void)fake_nvml_add(m->w->fake, gpu, p->id,
				    p->placements[prng_below(&m->g, p->nplacements)],
				    prng_below(&m->g, 2));
}

static void run_sequence(struct model *m)
{
	for (int step = 0; step < SEQUENCE_STEPS; step++) {
		struct model_claim *c = &m->claims[prng_below(&m->g, CLAIMS)];
		uint64_t what = prng_below(&m->g, 100);
		size_t foreign;

		if (what < 10)
			act_foreign(m);
		foreign = count_foreign(m->w);
		if (what >= 95)
			crash_somewhere(m, c);
		else if (what >= 92)
			world_restart(m->w);
		else if (c->prepared && what < 60)
			try_undo(m, c);
		else
			try_prepare(m, c);
		assert_int_equal(count_foreign(m->w), foreign);
	}
}

static void settle(struct model *m)
{
	for (size_t c = 0; c < CLAIMS; c++)
		if (m->claims[c].maybe) {
			assert_int_equal(world_undo(m->w, m->claims[c].uid), 0);
			m->claims[c].maybe = false;
		}
	world_restart(m->w);
	check_all(m);
}

static void random_claims_leak_nothing(void **state)
{
	struct model m = { .w = *state };

	prng_init(&m.g, 31);
	for (size_t c = 0; c < CLAIMS; c++)
		(void)snprintf(m.claims[c].uid, sizeof(m.claims[c].uid), "c%zu", c);
	for (int i = 0; i < SEQUENCES; i++) {
		run_sequence(&m);
		settle(&m);
	}
	print_message("# %" PRIu64 " prepares, %" PRIu64 " refused, %" PRIu64 " undone, %" PRIu64
		      " failures, %" PRIu64 " crashes\n",
		      m.prepares, m.refused, m.undos, m.failures, m.crashes);
	assert_true(m.crashes > 1000 && m.failures > 1000);
}

static int setup(void **state)
{
	*state = world_new();
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

#define RANDOM_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RANDOM_TEST(a_crash_at_any_step_of_prepare_leaves_nothing),
		RANDOM_TEST(a_crash_at_any_step_leaves_no_compute_mode),
		RANDOM_TEST(a_crash_at_any_step_of_unprepare_is_finished_by_the_next),
		RANDOM_TEST(random_claims_leak_nothing),
	};

	return cmocka_run_group_tests_name("drivers/gpu_prepare_random", tests, NULL, NULL);
}
