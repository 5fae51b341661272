#include "server/engine/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "net/sim/sim.h"
#include "server/engine/watch.h"
#include "server/testing/state_world.h"

static const struct state_world_opts local = { .store = { .local = true }, .seed = 1 };
static const struct state_world_opts slow = { .store = { .local = true, .delay_ms = 10 },
					      .seed = 2 };
static const struct state_world_opts shared = { .store = { .delay_ms = 5 }, .seed = 3 };

/* --- writes ----------------------------------------------------------------------- */

static void a_write_is_committed_before_the_writer_gets_a_reply(void **state UNUSED)
{
	struct state_world w;
	struct object *o;
	int64_t revision;

	state_world_init(&w, &slow);
	revision = state_world_write(&w, "pods", "a", "p",
				     state_world_pod(&w.arena, "a", "p", NULL, "n1"));
	assert_true(revision > 0);
	assert_int_equal(state_revision(w.state), revision);
	o = resource_get(state_world_resource(&w, "pods"), STR("a"), STR("p"));
	assert_non_null(o);
	assert_int_equal(o->revision, revision);
	assert_non_null(strstr(o->json->data, "\"resourceVersion\":\""));
	assert_int_equal(resource_count(state_world_resource(&w, "pods")), 1);
	state_world_release(&w);
}

static void a_deleted_object_is_answered_with_its_last_state(void **state UNUSED)
{
	struct state_world w;
	int64_t made, gone;

	state_world_init(&w, &slow);
	made = state_world_write(
		&w, "nodes", "", "n",
		state_world_object(&w.arena, state_world_kind(STR("nodes")), "", "n", NULL));
	gone = state_world_write(&w, "nodes", "", "n", NULL);
	assert_true(made > 0 && gone > made);
	assert_null(resource_get(state_world_resource(&w, "nodes"), STR(""), STR("n")));
	state_world_release(&w);
}

enum { CHAIN = 4 };

struct chain {
	struct job job;
	struct state_world *world;
	struct state_write writes[CHAIN];
	int results[CHAIN];
	int64_t revisions[CHAIN];
	size_t done;
	bool deletes; /* every second one deletes */
};

static void chain_done(struct state_write *w, struct object *o, const struct error *err)
{
	struct chain *c = w->arg;
	size_t i = (size_t)(w - c->writes);

	assert_int_equal(i, c->done); /* in order */
	c->results[i] = err ? -(int)err->code : 0;
	c->revisions[i] = o ? o->revision : 0;
	c->done++;
}

static void chain_run(struct state *st, struct job *j)
{
	struct chain *c = CONTAINER_OF(j, struct chain, job);
	struct resource *r = state_world_resource(c->world, "pods");
	struct arena *a = &c->world->arena;

	for (size_t i = 0; i < CHAIN; i++) {
		struct object *tip = resource_tip(r, STR("a"), STR("p"));
		bool gone = c->deletes && i % 2;

		assert_true((tip != NULL) == (i > 0 && !(c->deletes && i % 2 == 0)));
		c->writes[i] = (struct state_write){ .done = chain_done, .arg = c };
		assert_int_equal(state_write(&c->writes[i], r, STR("a"), STR("p"), tip,
					     gone ? NULL : state_world_pod(a, "a", "p", NULL, "n"),
					     a, NULL),
				 0);
	}
	job_finish(j);
}

static void chain_home(struct job *j UNUSED)
{
}

static bool chain_over(void *arg)
{
	return ((struct chain *)arg)->done == CHAIN;
}

static void run_chain(struct state_world *w, struct chain *c)
{
	c->world = w;
	c->job = (struct job){ .home = w->loop, .run = chain_run, .done = chain_home };
	state_submit(w->state, &c->job);
	assert_true(sim_run_until(w->sim, chain_over, c, 10000));
}

static void writes_of_one_key_build_on_each_other(void **state UNUSED)
{
	for (int deletes = 0; deletes < 2; deletes++) {
		struct chain c = { .deletes = deletes };
		struct state_world w;

		state_world_init(&w, &slow);
		run_chain(&w, &c);
		for (size_t i = 0; i < CHAIN; i++) {
			assert_int_equal(c.results[i], 0);
			assert_true(i == 0 || c.revisions[i] > c.revisions[i - 1]);
		}
		assert_int_equal(resource_count(state_world_resource(&w, "pods")), !deletes);
		state_world_release(&w);
	}
}

static void a_failed_write_fails_those_after_it_and_leaves_the_tip(void **state UNUSED)
{
	struct chain c = { 0 };
	struct state_world w;

	state_world_init(&w, &slow);
	fake_store_fail(w.store, 1, ERR_UNAVAILABLE);
	run_chain(&w, &c);
	assert_int_equal(c.results[0], -ERR_UNAVAILABLE);
	for (size_t i = 1; i < CHAIN; i++)
		assert_int_equal(c.results[i], -ERR_CONFLICT);
	assert_null(resource_tip(state_world_resource(&w, "pods"), STR("a"), STR("p")));
	assert_true(state_world_write(&w, "pods", "a", "p",
				      state_world_pod(&w.arena, "a", "p", NULL, NULL)) > 0);
	state_world_release(&w);
}

static void refuse_run(struct state *st UNUSED, struct job *j)
{
	struct chain *c = CONTAINER_OF(j, struct chain, job);
	struct resource *r = state_world_resource(c->world, "pods");
	struct arena *a = &c->world->arena;

	for (int i = 0; i < 2; i++) {
		struct json *pod = state_world_pod(a, i ? "b" : "a", i ? "p" : "q", NULL, "n");
		struct error err;

		c->writes[i] = (struct state_write){ .done = chain_done, .arg = c };
		assert_int_equal(
			state_write(&c->writes[i], r, STR("a"), STR("p"), NULL, pod, a, &err),
			-ERR_INTERNAL);
		assert_non_null(strstr(err.msg, "but was to be written as \"p\""));
	}
	c->done = CHAIN;
	job_finish(j);
}

static void a_tree_is_not_written_under_the_key_of_another(void **state UNUSED)
{
	struct chain c = { 0 };
	struct state_world w;

	state_world_init(&w, &slow);
	c.world = &w;
	c.job = (struct job){ .home = w.loop, .run = refuse_run, .done = chain_home };
	state_submit(w.state, &c.job);
	assert_true(sim_run_until(w.sim, chain_over, &c, 10000));
	assert_null(resource_tip(state_world_resource(&w, "pods"), STR("a"), STR("p")));
	state_world_release(&w);
}

/* The tip of a key whose write is held back; then another writer is first. */
static void a_write_that_lost_the_race_is_a_conflict(void **state UNUSED)
{
	struct state_world w;
	struct bytes *stored;
	int64_t r;

	state_world_init(&w, &shared);
	assert_int_equal(
		object_encode(state_world_pod(&w.arena, "a", "p", NULL, "other"), &stored, NULL),
		0);
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("p"), bytes_str(stored));
	/* It is not committed yet. */
	r = state_world_write(&w, "pods", "a", "p",
			      state_world_pod(&w.arena, "a", "p", NULL, "mine"));
	assert_int_equal(r, -ERR_CONFLICT);
	sim_run_for(w.sim, 100);
	assert_non_null(resource_get(state_world_resource(&w, "pods"), STR("a"), STR("p")));
	bytes_unref(stored);
	state_world_release(&w);
}

/* --- guards ----------------------------------------------------------------------- */

static const struct str guards[] = { STR("gpu.example.com/n1/gpu-0"), STR("other") };

struct guarded {
	struct job job;
	struct state_world *world;
	struct state_write write;
	struct state_wait wait;
	int result;
	bool done, waited;
};

static void guarded_done(struct state_write *w, struct object *o UNUSED, const struct error *err)
{
	struct guarded *g = w->arg;

	assert_null(state_guard_owner(g->world->state, guards[0]));
	assert_false(g->waited);
	g->result = err ? -(int)err->code : 0;
	g->done = true;
}

static void guarded_over(struct state_wait *wait)
{
	struct guarded *g = CONTAINER_OF(wait, struct guarded, wait);

	assert_true(g->done);
	g->waited = true;
}

static void guarded_run(struct state *st, struct job *j)
{
	struct guarded *g = CONTAINER_OF(j, struct guarded, job);
	struct arena *a = &g->world->arena;

	g->write = (struct state_write){ .done = guarded_done,
					 .arg = g,
					 .terms = { .guards = guards, .nguards = 2 } };
	assert_null(state_guard_owner(st, guards[0]));
	assert_int_equal(state_write(&g->write, state_world_resource(g->world, "pods"), STR("a"),
				     STR("p"), NULL, state_world_pod(a, "a", "p", NULL, "n"), a,
				     NULL),
			 0);
	assert_ptr_equal(state_guard_owner(st, guards[0]), &g->write);
	assert_ptr_equal(state_guard_owner(st, guards[1]), &g->write);
	g->wait.over = guarded_over;
	state_write_wait(&g->write, &g->wait);
	job_finish(j);
}

static bool guarded_waited(void *arg)
{
	return ((struct guarded *)arg)->waited;
}

static void guarded_start(struct state_world *w, struct guarded *g)
{
	*g = (struct guarded){ .world = w,
			       .job = { .home = w->loop, .run = guarded_run, .done = chain_home } };
	state_submit(w->state, &g->job);
}

static void a_guard_is_owned_until_its_write_is_over(void **state UNUSED)
{
	static const enum error_code codes[] = { ERR_OK, ERR_UNAVAILABLE };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct state_world w;
		struct guarded g;

		state_world_init(&w, &slow);
		if (codes[i])
			fake_store_fail(w.store, 1, codes[i]);
		guarded_start(&w, &g);
		assert_true(sim_run_until(w.sim, guarded_waited, &g, 10000));
		assert_int_equal(g.result, -(int)codes[i]);
		state_world_release(&w);
	}
}

static void a_guard_that_another_server_touched_is_a_conflict_that_the_feed_explains(
	void **state UNUSED)
{
	struct state_world w;
	struct guarded g;
	int64_t touched;

	state_world_init(&w, &shared);
	fake_store_hold(w.store, true);
	guarded_start(&w, &g);
	sim_run_for(w.sim, 100);
	touched = fake_data_put_guarded(w.data,
					&(struct store_key){ STR("core/pods"), STR("a"), STR("q") },
					STR(""), guards[1]);
	fake_store_hold(w.store, false);
	assert_true(sim_run_until(w.sim, guarded_waited, &g, 10000));
	assert_int_equal(g.result, -ERR_CONFLICT);
	assert_true(state_revision(w.state) >= touched);
	/* It has seen that write by now. */
	guarded_start(&w, &g);
	assert_true(sim_run_until(w.sim, guarded_waited, &g, 10000));
	assert_int_equal(g.result, 0);
	state_world_release(&w);
}

static void an_object_that_is_too_large_is_refused_at_once(void **state UNUSED)
{
	struct state_world w;
	char *big = xcalloc(1, OBJECT_MAX + 100);
	char *rest;

	memset(big, 'x', OBJECT_MAX + 10);
	state_world_init(&w, &local);
	rest = arena_printf(&w.arena, "\"data\":{\"x\":\"%s\"}", big);
	assert_int_equal(
		state_world_write(&w, "configmaps", "a", "c",
				  state_world_object(&w.arena, state_world_kind(STR("configmaps")),
						     "a", "c", rest)),
		-ERR_TOO_LARGE);
	assert_null(resource_tip(state_world_resource(&w, "configmaps"), STR("a"), STR("c")));
	free(big);
	state_world_release(&w);
}

/* --- reads that wait -------------------------------------------------------------- */

struct read {
	struct job job;
	int64_t wanted, saw;
	int result;
	struct error err;
	bool over;
};

static void read_synced(struct state *st, struct job *j, const struct error *err)
{
	struct read *r = CONTAINER_OF(j, struct read, job);

	r->result = err ? -(int)err->code : 0;
	if (err)
		r->err = *err;
	r->saw = state_revision(st);
	r->over = true;
	job_finish(j);
}

static void read_run(struct state *st, struct job *j)
{
	state_sync(st, j, CONTAINER_OF(j, struct read, job)->wanted, read_synced);
}

static void read_start(struct state_world *w, struct read *r, int64_t wanted)
{
	*r = (struct read){ .job = { .home = w->loop, .run = read_run, .done = chain_home },
			    .wanted = wanted };
	r->job.named = wanted > 0;
	state_submit(w->state, &r->job);
}

static bool read_over(void *arg)
{
	return ((struct read *)arg)->over;
}

static void a_read_of_local_data_asks_nobody(void **state UNUSED)
{
	struct state_world w;
	struct read r;

	state_world_init(&w, &slow);
	read_start(&w, &r, 0);
	assert_true(sim_run_until(w.sim, read_over, &r, 0));
	assert_int_equal(r.result, 0);
	assert_int_equal(fake_store_asked(w.store), 0);
	state_world_release(&w);
}

static void reads_that_wait_share_one_question(void **state UNUSED)
{
	struct state_world w;
	struct read r[20];
	int64_t newest;

	state_world_init(&w, &shared);
	newest = fake_data_put(w.data, STR("core/other"), STR("a"), STR("p"), STR("{}"));
	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		read_start(&w, &r[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		assert_true(sim_run_until(w.sim, read_over, &r[i], 1000));
		assert_int_equal(r[i].result, 0);
		assert_true(r[i].saw >= newest);
	}
	assert_true(fake_store_asked(w.store) <= 2);
	state_world_release(&w);
}

static void a_revision_of_the_future_is_waited_for_and_given_up(void **state UNUSED)
{
	struct state_world w;
	struct read soon, never;

	state_world_init(&w, &local);
	read_start(&w, &soon, 3);
	read_start(&w, &never, 1000);
	assert_true(state_world_write(&w, "pods", "a", "p",
				      state_world_pod(&w.arena, "a", "p", NULL, NULL)) > 0);
	assert_false(soon.over);
	assert_true(state_world_write(&w, "pods", "a", "q",
				      state_world_pod(&w.arena, "a", "q", NULL, NULL)) > 0);
	assert_true(soon.over);
	assert_int_equal(soon.result, 0);
	sim_run_for(w.sim, 2900);
	assert_false(never.over);
	sim_run_for(w.sim, 200);
	assert_true(never.over);
	assert_int_equal(never.result, -ERR_TIMEOUT);
	assert_non_null(strstr(never.err.msg, "Too large resource version: 1000, current: "));
	state_world_release(&w);
}

/* --- writes of others, and lost feeds --------------------------------------------- */

static struct str stored_pod(struct state_world *w, const char *ns, const char *name)
{
	struct bytes *b;
	struct str s;

	assert_int_equal(object_encode(state_world_pod(&w->arena, ns, name, NULL, "n"), &b, NULL),
			 0);
	s = arena_str(&w->arena, bytes_str(b));
	bytes_unref(b);
	return s;
}

/* A read whose reply is delayed, and its state when the state had stopped. */
struct traveller {
	struct read read;
	bool home, stopped, home_by_then;
};

static void come_home(struct job *j)
{
	CONTAINER_OF(j, struct traveller, read.job)->home = true;
}

static void note_stop(void *arg)
{
	struct traveller *t = arg;

	t->stopped = true;
	t->home_by_then = t->home;
}

static bool has_stopped(void *arg)
{
	return ((struct traveller *)arg)->stopped;
}

static void stop_with_a_traveller(uint64_t seed)
{
	struct state_world_opts opts = { .nlanes = 2, .seed = seed, .store = { .local = true } };
	struct traveller t = { .home = false };
	struct state_world w;

	state_world_init(&w, &opts);
	t.read.wanted = state_revision(w.state) + 1000;
	t.read.job = (struct job){ .home = w.lanes[1], .run = read_run, .done = come_home };
	state_submit(w.state, &t.read.job);
	sim_run_for(w.sim, 100);
	watch_stop(w.state);
	sim_run_for(w.sim, 100);
	assert_false(t.read.over);
	state_stop(w.state, note_stop, &t);
	assert_true(sim_run_until(w.sim, has_stopped, &t, 1000));
	assert_int_equal(t.read.result, -ERR_UNAVAILABLE);
	assert_true(t.home_by_then);
	assert_false(state_is_shared(w.state)); /* the store is freed: a late job may ask */
	state_free(w.state);
	w.store = NULL;
	state_world_start(&w);
	state_world_release(&w);
}

/* Found in the simulated cluster with SIM_SEED=2000291: the server was freed too early. */
static void jobs_are_home_when_the_state_has_stopped(void **state UNUSED)
{
	for (uint64_t seed = 1; seed < 20; seed++)
		stop_with_a_traveller(seed);
}

static void writes_of_other_servers_are_seen(void **state UNUSED)
{
	struct state_world w;
	struct resource *pods;

	state_world_init(&w, &shared);
	pods = state_world_resource(&w, "pods");
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("p"), stored_pod(&w, "a", "p"));
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("bad"), STR("not an object"));
	(void)fake_data_put(w.data, STR("unknown/things"), STR("a"), STR("x"), STR("{}"));
	sim_run_for(w.sim, 100);
	assert_int_equal(resource_count(pods), 1);
	assert_int_equal(state_revision(w.state), fake_data_revision(w.data));
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("p"), STR(""));
	sim_run_for(w.sim, 100);
	assert_int_equal(resource_count(pods), 0);
	state_world_release(&w);
}

static void after_a_lost_feed_all_is_read_again(void **state UNUSED)
{
	struct state_world w;
	struct resource *pods;

	state_world_init(&w, &shared);
	pods = state_world_resource(&w, "pods");
	assert_true(state_world_write(&w, "pods", "a", "old",
				      state_world_pod(&w.arena, "a", "old", NULL, NULL)) > 0);
	fake_store_lose(w.store);
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("old"), STR(""));
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("new"),
			    stored_pod(&w, "a", "new"));
	sim_run_for(w.sim, 500);
	assert_null(resource_get(pods, STR("a"), STR("old")));
	assert_non_null(resource_get(pods, STR("a"), STR("new")));
	assert_int_equal(state_revision(w.state), fake_data_revision(w.data));
	assert_true(state_world_write(&w, "pods", "a", "more",
				      state_world_pod(&w.arena, "a", "more", NULL, NULL)) > 0);
	state_world_release(&w);
}

static void a_store_that_does_not_answer_is_waited_for(void **state UNUSED)
{
	struct state_world w;

	state_world_init(&w, &shared);
	assert_true(state_world_write(&w, "pods", "a", "p",
				      state_world_pod(&w.arena, "a", "p", NULL, NULL)) > 0);
	state_world_stop(&w);
	state_world_begin(&w);
	fake_store_fail_reads(w.store, 100, ERR_UNAVAILABLE);
	sim_run_for(w.sim, 60 * 1000);
	assert_false(w.ready);
	assert_true(w.waits > 10);
	fake_store_fail_reads(w.store, 0, ERR_OK);
	sim_run_for(w.sim, 2000);
	assert_true(w.ready);
	assert_int_equal(w.err.code, ERR_OK);
	assert_int_equal(resource_count(state_world_resource(&w, "pods")), 1);
	state_world_release(&w);
}

static void a_history_that_ends_while_all_is_read_is_said(void **state UNUSED)
{
	struct state_world w;
	struct error err;

	state_world_init(&w, &shared);
	state_world_stop(&w);
	state_world_begin(&w);
	fake_store_fail_reads(w.store, 3, ERR_EXPIRED);
	while (w.waits < 3)
		sim_run_for(w.sim, 1);
	assert_false(w.ready);
	assert_true(state_health(w.state, &err) < 0);
	assert_non_null(strstr(err.msg, "configure etcd to keep a longer history"));
	sim_run_for(w.sim, 2000);
	assert_true(w.ready);
	state_world_release(&w);
}

/* A client that named no revision gets no error about a revision. */
static void a_read_waits_while_all_is_read_again(void **state UNUSED)
{
	struct state_world w;
	struct read soon, late;

	state_world_init(&w, &shared);
	fake_store_lose(w.store);
	(void)fake_data_put(w.data, STR("core/pods"), STR("a"), STR("p"), stored_pod(&w, "a", "p"));
	fake_store_fail_reads(w.store, 1, ERR_UNAVAILABLE);
	sim_run_for(w.sim, 500);
	assert_int_equal(w.waits, 1);
	read_start(&w, &soon, 0);
	soon.job.limit_ms = 20 * 1000;
	read_start(&w, &late, 0);
	late.job.limit_ms = 6 * 1000;
	sim_run_for(w.sim, 200);
	fake_store_fail_reads(w.store, 10, ERR_UNAVAILABLE);
	assert_true(sim_run_until(w.sim, read_over, &late, 8000));
	assert_int_equal(late.result, -ERR_TIMEOUT);
	assert_null(strstr(late.err.msg, "resource version"));
	assert_false(soon.over);
	assert_true(sim_run_until(w.sim, read_over, &soon, 12 * 1000));
	assert_int_equal(soon.result, 0);
	state_world_release(&w);
}

static void an_unreadable_object_at_startup_is_reported(void **state UNUSED)
{
	struct fake_data *data = fake_data_new();
	struct state_world_opts opts = local;
	struct state_world w;

	(void)fake_data_put(data, STR("core/pods"), STR("a"), STR("bad"), STR("not an object"));
	opts.data = data;
	state_world_init(&w, &opts);
	assert_int_equal(w.err.code, ERR_INTERNAL);
	assert_non_null(strstr(w.err.msg, "bad"));
	assert_true(state_health(w.state, NULL) < 0);
	state_world_release(&w);
	fake_data_free(data);
}

/* --- observers -------------------------------------------------------------------- */

/* An observer's view: the node of each pod. */
struct known {
	int pods, changes, resets;
	int on_n1, on_n2;
	bool ready; /* the state was ready when the first pod came */
	struct state_world *world;
};

static void count(struct known *k, struct object *o, int by)
{
	struct object_source source = { o, state_world_kind(STR("pods")) };
	struct str node;

	if (!o)
		return;
	node = object_field(&source, STR("spec.nodeName"));
	k->pods += by;
	k->on_n1 += str_eqz(node, "n1") ? by : 0;
	k->on_n2 += str_eqz(node, "n2") ? by : 0;
}

static void known_changed(void *arg, struct object *now, struct object *before)
{
	struct known *k = arg;

	if (k->changes++ == 0)
		k->ready = k->world->ready;
	count(k, before, -1);
	count(k, now, 1);
}

static void known_reset(void *arg)
{
	struct known *k = arg;

	k->pods = k->on_n1 = k->on_n2 = 0;
	k->resets++;
}

static void put_pod(struct state_world *w, const char *name, const char *node)
{
	assert_true(state_world_write(w, "pods", "a", name,
				      state_world_pod(&w->arena, "a", name, NULL, node)) > 0);
}

static void an_observer_knows_what_is_committed(void **state UNUSED)
{
	struct state_world w;
	struct known k = { .world = &w };
	const struct state_observer observer = { .resource = STR("pods"),
						 .changed = known_changed,
						 .reset = known_reset,
						 .early = true,
						 .arg = &k };
	struct state_world_opts opts = slow;

	opts.observers = &observer;
	opts.nobservers = 1;
	state_world_init(&w, &opts);
	put_pod(&w, "p", "n1");
	put_pod(&w, "q", "n1");
	put_pod(&w, "p", "n2");
	assert_int_equal(k.pods, 2);
	assert_int_equal(k.on_n1, 1);
	assert_int_equal(k.on_n2, 1);
	assert_true(state_world_write(&w, "pods", "a", "q", NULL) > 0);
	assert_int_equal(k.on_n1, 0);
	state_world_stop(&w);

	/* Everything again, before any other job runs. */
	k = (struct known){ .world = &w };
	state_world_start(&w);
	assert_int_equal(k.pods, 1);
	assert_int_equal(k.on_n2, 1);
	assert_false(k.ready);
	assert_int_equal(k.resets, 1);

	fake_store_lose(w.store);
	sim_run_for(w.sim, 5000);
	assert_int_equal(k.resets, 2);
	assert_int_equal(k.pods, 1);
	put_pod(&w, "r", "n2");
	assert_int_equal(k.on_n2, 2);
	state_world_release(&w);
}

/* --- expiry ----------------------------------------------------------------------- */

static void events_go_after_their_time(void **state UNUSED)
{
	struct state_world_opts opts = slow;
	struct state_world w;
	struct resource *events;
	const struct schema_kind *kind = state_world_kind(STR("events"));

	opts.event_ttl_ms = 60 * 1000;
	state_world_init(&w, &opts);
	events = state_world_resource(&w, "events");
	for (int i = 0; i < 600; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "e%d", i);
		assert_true(state_world_write(&w, "events", "a", name,
					      state_world_object(&w.arena, kind, "a", name, NULL)) >
			    0);
	}
	assert_int_equal(resource_count(events), 600);
	sim_run_for(w.sim, 40 * 1000);
	assert_true(state_world_write(&w, "events", "a", "e7",
				      state_world_object(&w.arena, kind, "a", "e7", NULL)) > 0);
	fake_store_fail(w.store, 20, ERR_UNAVAILABLE); /* retried */
	sim_run_for(w.sim, 35 * 1000);
	assert_int_equal(resource_count(events), 1);
	assert_non_null(resource_get(events, STR("a"), STR("e7")));
	sim_run_for(w.sim, 40 * 1000);
	assert_int_equal(resource_count(events), 0);
	state_world_release(&w);
}

static void age_counts_from_creation_after_a_restart(void **state UNUSED)
{
	struct state_world_opts opts = slow;
	struct state_world w;

	opts.event_ttl_ms = 60 * 1000;
	state_world_init(&w, &opts);
	/*
	 * The simulated cluster begins in 2024, as the object does: it is young, or long expired.
	 */
	assert_true(state_world_write(&w, "events", "a", "e",
				      state_world_object(&w.arena, state_world_kind(STR("events")),
							 "a", "e", NULL)) > 0);
	state_world_stop(&w);
	state_world_start(&w);
	assert_int_equal(resource_count(state_world_resource(&w, "events")), 1);
	sim_run_for(w.sim, 61 * 1000);
	assert_int_equal(resource_count(state_world_resource(&w, "events")), 0);
	state_world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_is_committed_before_the_writer_gets_a_reply),
		cmocka_unit_test(a_deleted_object_is_answered_with_its_last_state),
		cmocka_unit_test(writes_of_one_key_build_on_each_other),
		cmocka_unit_test(a_failed_write_fails_those_after_it_and_leaves_the_tip),
		cmocka_unit_test(a_tree_is_not_written_under_the_key_of_another),
		cmocka_unit_test(a_write_that_lost_the_race_is_a_conflict),
		cmocka_unit_test(a_guard_is_owned_until_its_write_is_over),
		cmocka_unit_test(
			a_guard_that_another_server_touched_is_a_conflict_that_the_feed_explains),
		cmocka_unit_test(an_object_that_is_too_large_is_refused_at_once),
		cmocka_unit_test(a_read_of_local_data_asks_nobody),
		cmocka_unit_test(reads_that_wait_share_one_question),
		cmocka_unit_test(a_revision_of_the_future_is_waited_for_and_given_up),
		cmocka_unit_test(jobs_are_home_when_the_state_has_stopped),
		cmocka_unit_test(writes_of_other_servers_are_seen),
		cmocka_unit_test(after_a_lost_feed_all_is_read_again),
		cmocka_unit_test(a_store_that_does_not_answer_is_waited_for),
		cmocka_unit_test(a_history_that_ends_while_all_is_read_is_said),
		cmocka_unit_test(a_read_waits_while_all_is_read_again),
		cmocka_unit_test(an_unreadable_object_at_startup_is_reported),
		cmocka_unit_test(an_observer_knows_what_is_committed),
		cmocka_unit_test(events_go_after_their_time),
		cmocka_unit_test(age_counts_from_creation_after_a_restart),
	};

	return cmocka_run_group_tests_name("server/state", tests, NULL, NULL);
}
