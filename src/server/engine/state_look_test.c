/*
 * Lanes read committed objects themselves. First in a simulation: when they may, and that they see
 * every acknowledged write. Then on threads, for race detectors: readers on every lane while the
 * state creates, replaces and deletes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "net/loop/io_threads.h"
#include "net/sim/sim.h"
#include "server/engine/looks.h"
#include "server/engine/sequencer.h"
#include "server/testing/state_world.h"
#include "store/lmdb/store.h"

enum { HANG_MS = 60 * 1000 };

/* --- in a simulation ---------------------------------------------------------------- */

static struct json *pod(struct state_world *w, const char *name, const char *node)
{
	return state_world_pod(&w->arena, "a", name, NULL, node);
}

/* The revision that each lane finds for a pod; 0: not found. */
static int64_t looked(struct state_world *w, const char *name)
{
	const struct resource *r = state_world_resource(w, "pods");
	int64_t revision = -1;

	for (size_t lane = 0; lane < w->nlanes; lane++) {
		struct object *o = resource_look(r, lane, STR("a"), str_from(name));
		int64_t found = o ? o->revision : 0;

		assert_true(revision < 0 || revision == found);
		revision = found;
		object_unref(o);
	}
	return revision;
}

static void a_lane_sees_what_was_acknowledged(void **state UNUSED)
{
	static const struct state_world_opts opts[] = {
		{ .store.local = true, .nlanes = 1 },
		{ .store.local = true, .nlanes = 1, .apart = true },
		{ .store.local = true, .nlanes = STATE_WORLD_LANES },
		{ .store.local = true, .nlanes = STATE_WORLD_LANES, .apart = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(opts); i++) {
		struct state_world w;
		int64_t revision;

		state_world_init(&w, &opts[i]);
		assert_true(state_lets_look(w.state) && state_lets_draft(w.state));
		assert_int_equal(looked(&w, "p"), 0);
		revision = state_world_write(&w, "pods", "a", "p", pod(&w, "p", NULL));
		assert_true(revision > 0);
		assert_int_equal(looked(&w, "p"), revision);
		revision = state_world_write(&w, "pods", "a", "p", pod(&w, "p", "n1"));
		assert_int_equal(looked(&w, "p"), revision);
		assert_true(state_world_write(&w, "pods", "a", "p", NULL) > 0);
		assert_int_equal(looked(&w, "p"), 0);
		state_world_release(&w);
	}
}

static void only_lanes_on_other_loops_cost_an_index(void **state UNUSED)
{
	struct state_world w;

	state_world_init(&w, &(struct state_world_opts){ .nlanes = 1 });
	assert_null(w.state->reclaim);
	assert_null(state_world_resource(&w, "pods")->index);
	state_world_release(&w);
	state_world_init(&w, &(struct state_world_opts){ .nlanes = 2 });
	assert_non_null(state_world_resource(&w, "pods")->index);
	state_world_release(&w);
}

static void a_lane_finds_loaded_objects(void **state UNUSED)
{
	struct state_world w;
	int64_t revision;

	state_world_init(&w, &(struct state_world_opts){ .nlanes = 2, .store.local = true });
	revision = state_world_write(&w, "pods", "a", "p", pod(&w, "p", NULL));
	state_world_stop(&w);
	state_world_begin(&w);
	assert_false(state_lets_look(w.state) || state_lets_draft(w.state));
	assert_int_equal(looked(&w, "p"), 0);
	while (!w.ready)
		sim_run_for(w.sim, 1);
	assert_true(state_lets_look(w.state));
	assert_int_equal(looked(&w, "p"), revision);
	state_world_release(&w);
}

static void note_stopped(void *arg)
{
	((struct state_world *)arg)->stopped = true;
}

static void no_lane_reads_once_the_state_stops(void **state UNUSED)
{
	struct state_world w;

	state_world_init(&w, &(struct state_world_opts){ .nlanes = 2, .store.local = true });
	assert_true(state_lets_look(w.state) && state_lets_draft(w.state));
	state_stop(w.state, note_stopped, &w);
	assert_false(state_lets_look(w.state) || state_lets_draft(w.state));
	while (!w.stopped)
		sim_run_for(w.sim, 1);
	state_free(TAKE(w.state));
	w.store = NULL;
	state_world_release(&w);
}

static void a_shared_store_lets_lanes_draft_only(void **state UNUSED)
{
	struct state_world w;
	int64_t revision;

	state_world_init(&w, &(struct state_world_opts){ .nlanes = 2 });
	assert_false(state_lets_look(w.state));
	assert_true(state_lets_draft(w.state));
	revision = state_world_write(&w, "pods", "a", "p", pod(&w, "p", NULL));
	assert_int_equal(looked(&w, "p"), revision);
	fake_store_lose(w.store);
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("p"), STR(""));
	fake_store_fail_reads(w.store, 1, ERR_UNAVAILABLE);
	for (size_t i = 0; state_lets_draft(w.state); i++) {
		assert_true(i < HANG_MS);
		sim_run_for(w.sim, 1);
	}
	assert_int_equal(looked(&w, "p"), revision);
	for (size_t i = 0; !state_lets_draft(w.state); i++) {
		assert_true(i < HANG_MS);
		sim_run_for(w.sim, 1);
	}
	assert_int_equal(looked(&w, "p"), 0);
	assert_int_equal(w.waits, 1);
	state_world_release(&w);
}

/* --- on threads --------------------------------------------------------------------- */

enum {
	LANES = 3,
	WRITERS = 4 * LANES,
	OWN = 20, /* pods of a writer */
	PODS = WRITERS * OWN,
	STEPS = 100,
	GLANCES = 30, /* lookups of any pods for each one that is checked exactly */
	POLL_MS = 5,
};

struct scene;

/*
 * A writer on one lane, which alone writes its pods. After each acknowledgement it visits all
 * lanes, and looks there for what it wrote.
 */
struct writer {
	struct scene *scene;
	size_t home, at; /* numbers of lanes */
	struct job job;
	struct state_write write;
	struct arena arena;
	struct prng prng;
	struct loop_msg hop;
	size_t pod; /* that it writes */
	bool deletes;
	bool exists[OWN];
	int64_t revision; /* of its last write; 0: it deleted the pod */
	unsigned step;
};

struct scene {
	struct state_world world;
	const struct resource *pods;
	struct writer writers[WRITERS];
	int64_t seen[LANES][PODS]; /* revisions that were seen on a lane */
	struct loop_timer poll;
	int64_t deadline;
	bool begun;
	atomic_size_t writing; /* writers that have not finished */
	atomic_size_t lists; /* that lanes have read */
	atomic_size_t wrong; /* asserts are for the main thread */
};

static void begin_step(struct writer *w);

static void check(struct scene *s, bool right)
{
	if (!right)
		(void)atomic_fetch_add(&s->wrong, 1);
}

static const char *pod_name(char buffer[16], size_t pod)
{
	(void)snprintf(buffer, 16, "pod-%zu", pod);
	return buffer;
}

/* Whether it is that pod, whole, and its text has the revision of its header. */
static bool is_intact(const struct object *o, size_t pod)
{
	char expected[128];
	int n = snprintf(
		expected, sizeof(expected),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%zu\","
		"\"namespace\":\"a\",\"uid\":\"u-pod-%zu\",\"resourceVersion\":\"%lld\"",
		pod, pod, (long long)o->revision);
	struct str text = bytes_str(o->json);

	return text.n > (size_t)n && !memcmp(text.p, expected, (size_t)n) &&
	       text.p[text.n - 1] == '}';
}

/* The revision of a pod as this lane sees it; 0: not found. */
static int64_t look(struct scene *s, size_t lane, size_t pod)
{
	char name[16];
	struct object *o = resource_look(s->pods, lane, STR("a"), str_from(pod_name(name, pod)));
	int64_t revision = o ? o->revision : 0;

	check(s, !o || (is_intact(o, pod) && revision >= s->seen[lane][pod]));
	s->seen[lane][pod] = MAX(revision, s->seen[lane][pod]);
	object_unref(o);
	return revision;
}

/* If the state shows a list, it is one: in order, and each pod is whole. */
static void look_at_list(struct scene *s, size_t lane)
{
	struct looks l = { .lane = lane };
	struct object *const *v;
	size_t n = looks_list(&l, s->pods, STR("a"), &v);

	for (size_t i = 0; i < n; i++) {
		uint64_t number = PODS;

		check(s, i == 0 || str_cmp(v[i - 1]->key, v[i]->key) < 0);
		check(s, str_to_u64(str_skip(object_name(v[i]), strlen("pod-")), &number));
		check(s, is_intact(v[i], number));
	}
	if (!l.failed)
		(void)atomic_fetch_add(&s->lists, 1);
	looks_release(&l);
}

/* It has visited all lanes. */
static void on_home(struct loop_msg *m)
{
	struct writer *w = CONTAINER_OF(m, struct writer, hop);

	if (++w->step < STEPS)
		begin_step(w);
	else
		(void)atomic_fetch_sub(&w->scene->writing, 1);
}

/* On the lane that it visits. */
static void on_hop(struct loop_msg *m)
{
	struct writer *w = CONTAINER_OF(m, struct writer, hop);
	struct scene *s = w->scene;

	check(s, state_lets_look(s->world.state));
	check(s, look(s, w->at, w->pod) == w->revision);
	for (size_t i = 0; i < GLANCES; i++)
		(void)look(s, w->at, prng_below(&w->prng, PODS));
	look_at_list(s, w->at);
	w->at = (w->at + 1) % LANES;
	m->fn = w->at == w->home ? on_home : on_hop;
	loop_post(s->world.lanes[w->at], m);
}

static void on_acknowledged(struct job *j)
{
	struct writer *w = CONTAINER_OF(j, struct writer, job);

	arena_clear(&w->arena);
	on_hop(&w->hop);
}

static void on_written(struct state_write *write, struct object *o, const struct error *err)
{
	struct writer *w = CONTAINER_OF(write, struct writer, write);

	check(w->scene, !err);
	w->revision = err || w->deletes ? 0 : o->revision;
	job_finish(&w->job);
}

static void run_write(struct state *st UNUSED, struct job *j)
{
	struct writer *w = CONTAINER_OF(j, struct writer, job);
	struct resource *r = state_world_resource(&w->scene->world, "pods");
	char buffer[16];
	struct str name = str_from(pod_name(buffer, w->pod));
	struct json *tree = state_world_pod(&w->arena, "a", buffer, NULL, NULL);

	resource_show(r);
	w->write = (struct state_write){ .done = on_written };
	if (state_write(&w->write, r, STR("a"), name, resource_tip(r, STR("a"), name),
			w->deletes ? NULL : tree, &w->arena, NULL) == 0)
		return;
	check(w->scene, false);
	job_finish(j);
}

/* Creates or replaces a pod, or deletes one. */
static void begin_step(struct writer *w)
{
	size_t own = prng_below(&w->prng, OWN), number = (size_t)(w - w->scene->writers);

	w->pod = number * OWN + own;
	w->deletes = w->exists[own] && prng_below(&w->prng, 3) == 0;
	w->exists[own] = !w->deletes;
	w->job = (struct job){ .home = w->scene->world.lanes[w->home],
			       .writes = true,
			       .run = run_write,
			       .done = on_acknowledged };
	state_submit(w->scene->world.state, &w->job);
}

static void on_begin(struct loop_msg *m)
{
	begin_step(CONTAINER_OF(m, struct writer, hop));
}

static void begin_writers(struct scene *s)
{
	s->begun = true;
	s->pods = state_world_resource(&s->world, "pods");
	atomic_store(&s->writing, WRITERS);
	for (size_t i = 0; i < WRITERS; i++) {
		struct writer *w = &s->writers[i];

		w->scene = s;
		w->home = w->at = i % LANES;
		arena_init(&w->arena, SIZE_MAX);
		prng_init(&w->prng, i);
		w->hop.fn = on_begin;
		loop_post(s->world.lanes[w->home], &w->hop);
	}
}

static void on_stopped(void *arg)
{
	((struct scene *)arg)->world.stopped = true;
}

/* Step by step: ready, written, stopped. */
static void on_poll(struct loop_timer *t)
{
	struct scene *s = CONTAINER_OF(t, struct scene, poll);

	if (s->world.stopped || loop_now(t->loop) > s->deadline) {
		loop_stop(t->loop);
		return;
	}
	if (!s->begun && s->world.ready) {
		begin_writers(s);
	} else if (s->begun && !s->world.stopping && atomic_load(&s->writing) == 0) {
		s->world.stopping = true;
		state_stop(s->world.state, on_stopped, s);
		check(s, !state_lets_look(s->world.state) && !state_lets_draft(s->world.state));
	}
	loop_timer_start(t, POLL_MS);
}

static void begin_scene(struct scene *s, struct io_threads *threads, const char *dir)
{
	/* A small map: a race detector has little address space. */
	struct store_lmdb_opts lmdb = { .dir = dir, .map_size = 64 * 1024 * 1024 };

	s->world.nlanes = LANES;
	for (size_t i = 0; i < LANES; i++)
		s->world.lanes[i] = io_threads_loops(threads)[i];
	s->world.loop = s->world.lanes[0];
	gates_init(&s->world.gates);
	arena_init(&s->world.arena, SIZE_MAX);
	assert_int_equal(store_lmdb_open(s->world.loop, &lmdb, &s->world.store, NULL), 0);
	state_world_begin(&s->world);
	loop_timer_init(&s->poll, s->world.loop, on_poll);
	s->deadline = loop_now(s->world.loop) + HANG_MS;
	loop_timer_start(&s->poll, 0);
}

static void every_lane_sees_acknowledged_writes_on_threads(void **state UNUSED)
{
	char dir[] = "/tmp/state-look-XXXXXX";
	struct scene *s = XNEW(struct scene);
	struct io_threads *threads;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(io_threads_new(LANES, &threads, NULL), 0);
	begin_scene(s, threads, dir);
	assert_int_equal(io_threads_run(threads, NULL), 0);
	assert_true(s->world.stopped);
	assert_int_equal(atomic_load(&s->wrong), 0);
	assert_true(atomic_load(&s->lists) > 0);

	state_free(s->world.state);
	for (size_t i = 0; i < WRITERS; i++)
		arena_release(&s->writers[i].arena);
	arena_release(&s->world.arena);
	io_threads_free(threads);
	state_world_remove(dir);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lane_sees_what_was_acknowledged),
		cmocka_unit_test(only_lanes_on_other_loops_cost_an_index),
		cmocka_unit_test(a_lane_finds_loaded_objects),
		cmocka_unit_test(no_lane_reads_once_the_state_stops),
		cmocka_unit_test(a_shared_store_lets_lanes_draft_only),
		cmocka_unit_test(every_lane_sees_acknowledged_writes_on_threads),
	};

	return cmocka_run_group_tests_name("server/state_look", tests, NULL, NULL);
}
