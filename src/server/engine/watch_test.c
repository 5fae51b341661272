#include "server/engine/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "net/http/server.h"
#include "net/sim/sim.h"
#include "server/testing/state_world.h"
#include "server/testing/watch_guest_fixture.h"

enum { SOON_MS = 5000 };

/* One server, and a loop for the guests. */
struct scene {
	struct state_world world;
	struct state_world *servers[1];
	struct loop *outside;
};

static void scene_init(struct scene *s, const struct state_world_opts *opts)
{
	struct state_world_opts o = *opts;

	o.http = true;
	state_world_init(&s->world, &o);
	s->servers[0] = &s->world;
	s->outside = sim_loop_new(s->world.sim, "outside");
}

static void scene_release(struct scene *s)
{
	state_world_stop(&s->world);
	sim_run_for(s->world.sim, 2000);
	loop_free(s->outside);
	state_world_release(&s->world);
}

static const struct state_world_opts plain = { .store.local = true, .seed = 1 };
static const struct state_world_opts lanes = {
	.store = { .local = true, .delay_ms = 3 }, .seed = 2, .nlanes = 3, .apart = true
};

static void guest(struct scene *s, struct watch_guest *g, struct watch_guest_opts opts)
{
	opts.protocol = opts.protocol ? opts.protocol : HTTP_PROTOCOL_1;
	opts.seed = 11;
	if (!opts.kind)
		opts.kind = "pods";
	watch_guest_init(g, s->outside, s->servers, 1, &opts);
}

static int64_t pod(struct scene *s, const char *ns, const char *name, const char *labels,
		   const char *node)
{
	int64_t r = state_world_write(&s->world, "pods", ns, name,
				      state_world_pod(&s->world.arena, ns, name, labels, node));

	assert_true(r > 0);
	return r;
}

static int64_t pod_delete(struct scene *s, const char *ns, const char *name)
{
	int64_t r = state_world_write(&s->world, "pods", ns, name, NULL);

	assert_true(r > 0);
	return r;
}

struct agreement {
	struct watch_guest *guest;
	struct state_world *world;
};

static bool agrees(void *arg)
{
	struct agreement *a = arg;

	return a->guest->synced && watch_guest_agrees(a->guest, a->world);
}

static void await(struct scene *s, struct watch_guest *g)
{
	struct agreement a = { g, &s->world };

	if (!sim_run_until(s->world.sim, agrees, &a, SOON_MS))
		fail_msg("never told all: %zu events, last %s", g->events, g->last);
}

static bool has_status(void *arg)
{
	return ((struct watch_guest *)arg)->status != 0;
}

static bool has_closed(void *arg)
{
	struct watch_guest *g = arg;

	return g->status != 0 && !g->stream;
}

/* --- events ----------------------------------------------------------------------- */

static void the_head_comes_at_once_and_events_follow(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;

	scene_init(&s, &plain);
	guest(&s, &g, (struct watch_guest_opts){ .revision = 1 });
	assert_true(sim_run_until(s.world.sim, has_status, &g, SOON_MS));
	assert_int_equal(g.status, 200);
	assert_true(str_eqz(http_fields_get(&g.stream->in.fields, STR("content-type")),
			    "application/json"));
	assert_int_equal(watch_count(s.world.state), 1);
	(void)pod(&s, "a", "p", NULL, "n1");
	(void)pod(&s, "a", "p", NULL, "n2");
	(void)pod_delete(&s, "a", "p");
	sim_run_for(s.world.sim, 100);
	assert_int_equal(g.added, 1);
	assert_int_equal(g.modified, 1);
	assert_int_equal(g.deleted, 1);
	assert_non_null(strstr(g.last, "{\"type\":\"DELETED\",\"object\":{\"apiVersion\":\"v1\","));
	watch_guest_release(&g);
	scene_release(&s);
	assert_int_equal(s.world.overs, 1);
}

static void the_state_comes_first_and_its_end_is_marked(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;

	scene_init(&s, &lanes);
	for (int i = 0; i < 500; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)pod(&s, i % 2 ? "a" : "b", name, NULL, NULL);
	}
	guest(&s, &g, (struct watch_guest_opts){ .ns = "a", .slow_ms = 20 });
	await(&s, &g);
	assert_int_equal(g.added, 250);
	assert_int_equal(g.marks, 1);
	(void)pod_delete(&s, "a", "p1");
	await(&s, &g);
	assert_int_equal(g.deleted, 1);
	watch_guest_release(&g);
	scene_release(&s);
}

static void a_selector_turns_changes_into_comings_and_goings(void **state UNUSED)
{
	struct watch_guest by_label, by_node, by_name, by_label_h2;
	struct scene s;

	scene_init(&s, &lanes);
	guest(&s, &by_label, (struct watch_guest_opts){ .labels = "app=web" });
	guest(&s, &by_label_h2,
	      (struct watch_guest_opts){ .labels = "app!=web", .protocol = HTTP_PROTOCOL_2 });
	guest(&s, &by_node, (struct watch_guest_opts){ .fields = "spec.nodeName=n1" });
	guest(&s, &by_name, (struct watch_guest_opts){ .ns = "a", .fields = "metadata.name=p" });
	await(&s, &by_label);
	await(&s, &by_label_h2);
	await(&s, &by_node);
	await(&s, &by_name);
	(void)pod(&s, "a", "p", "{\"app\":\"web\"}", NULL);
	(void)pod(&s, "a", "p", "{\"app\":\"web\"}", "n1");
	(void)pod(&s, "a", "p", "{\"app\":\"db\"}", "n1");
	(void)pod(&s, "a", "p", "{\"app\":\"web\"}", "n2");
	(void)pod(&s, "b", "p", "{\"app\":\"db\"}", "n1");
	(void)pod_delete(&s, "a", "p");
	await(&s, &by_label);
	await(&s, &by_label_h2);
	await(&s, &by_node);
	await(&s, &by_name);
	assert_int_equal(by_label.added, 2);
	assert_int_equal(by_label.modified, 1);
	assert_int_equal(by_label.deleted, 2);
	assert_int_equal(by_node.added, 2);
	assert_int_equal(by_node.modified, 1);
	assert_int_equal(by_node.deleted, 1);
	assert_int_equal(by_name.added, 1);
	assert_int_equal(by_name.modified, 3);
	assert_int_equal(by_name.deleted, 1);
	assert_int_equal(by_label_h2.added, 2);
	assert_int_equal(by_label_h2.deleted, 1);
	watch_guest_release(&by_label);
	watch_guest_release(&by_label_h2);
	watch_guest_release(&by_node);
	watch_guest_release(&by_name);
	scene_release(&s);
}

/* As upstream: the previous state, at the revision of the change. */
static void an_object_that_stops_matching_is_shown_as_it_was(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;
	int64_t revision;
	char want[64];

	scene_init(&s, &plain);
	guest(&s, &g, (struct watch_guest_opts){ .labels = "app=web" });
	(void)pod(&s, "a", "p", "{\"app\":\"web\"}", NULL);
	await(&s, &g);
	revision = pod(&s, "a", "p", "{\"app\":\"db\"}", NULL);
	await(&s, &g);
	(void)snprintf(want, sizeof(want), "\"resourceVersion\":\"%lld\"", (long long)revision);
	assert_non_null(strstr(g.last, "\"DELETED\""));
	assert_non_null(strstr(g.last, want));
	assert_non_null(strstr(g.last, "\"app\":\"web\""));
	watch_guest_release(&g);
	scene_release(&s);
}

static void other_forms_are_made_per_event(void **state UNUSED)
{
	struct watch_guest table, partial;
	struct scene s;

	scene_init(&s, &lanes);
	guest(&s, &table, (struct watch_guest_opts){ .form = "table", .revision = 1 });
	guest(&s, &partial, (struct watch_guest_opts){ .form = "partial", .revision = 1 });
	assert_true(sim_run_until(s.world.sim, has_status, &table, SOON_MS));
	assert_true(sim_run_until(s.world.sim, has_status, &partial, SOON_MS));
	(void)pod(&s, "a", "p", NULL, "n1");
	sim_run_for(s.world.sim, 100);
	assert_non_null(strstr(table.last, "\"kind\":\"Table\""));
	assert_non_null(strstr(table.last, "columnDefinitions\":[{"));
	assert_non_null(strstr(partial.last, "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Partial"));
	assert_null(strstr(partial.last, "nodeName"));
	(void)pod(&s, "a", "p", NULL, "n2");
	sim_run_for(s.world.sim, 100);
	assert_non_null(strstr(table.last, "{\"type\":\"MODIFIED\""));
	assert_null(strstr(table.last, "columnDefinitions\":[{"));
	watch_guest_release(&table);
	watch_guest_release(&partial);
	scene_release(&s);
}

/* --- where a watch begins --------------------------------------------------------- */

static void a_watch_begins_behind_its_revision(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;
	int64_t from;

	scene_init(&s, &lanes);
	(void)pod(&s, "a", "p1", NULL, NULL);
	from = pod(&s, "a", "p2", NULL, NULL);
	(void)pod(&s, "a", "p3", NULL, NULL);
	(void)pod(&s, "a", "p4", NULL, NULL);
	guest(&s, &g, (struct watch_guest_opts){ .revision = from });
	assert_true(sim_run_until(s.world.sim, has_status, &g, SOON_MS));
	sim_run_for(s.world.sim, 100);
	assert_int_equal(g.added, 2);
	watch_guest_release(&g);
	scene_release(&s);
}

static void a_watch_goes_on_after_a_restart(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;
	int64_t from;

	scene_init(&s, &lanes);
	(void)pod(&s, "a", "p1", NULL, NULL);
	from = pod(&s, "a", "p2", NULL, "n1");
	(void)pod(&s, "a", "p2", NULL, "n2");
	(void)pod(&s, "a", "p3", NULL, NULL);
	(void)pod_delete(&s, "a", "p1");
	state_world_stop(&s.world);
	state_world_start(&s.world);
	guest(&s, &g, (struct watch_guest_opts){ .form = "partial", .revision = from });
	assert_true(sim_run_until(s.world.sim, has_status, &g, SOON_MS));
	sim_run_for(s.world.sim, 100);
	assert_int_equal(g.events, 3);
	assert_non_null(strstr(g.last, "DELETED"));
	watch_guest_release(&g);
	scene_release(&s);
}

static void a_watch_from_a_revision_that_is_too_old_is_gone(void **state UNUSED)
{
	struct state_world_opts opts = lanes;
	struct watch_guest g;
	struct scene s;

	opts.ring_bytes = 2000;
	scene_init(&s, &opts);
	for (int i = 0; i < 50; i++)
		(void)pod(&s, "a", "p", NULL, i % 2 ? "n1" : "n2");
	guest(&s, &g, (struct watch_guest_opts){ .revision = 3, .once = true });
	assert_true(sim_run_until(s.world.sim, has_closed, &g, SOON_MS));
	assert_int_equal(g.status, 410);
	assert_non_null(strstr(g.line.p, "\"reason\":\"Expired\""));
	assert_non_null(strstr(g.line.p, "too old resource version: 3 ("));
	watch_guest_release(&g);
	scene_release(&s);
}

static void a_watch_from_a_future_revision_times_out(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;

	scene_init(&s, &lanes);
	guest(&s, &g, (struct watch_guest_opts){ .revision = 1000, .once = true });
	assert_true(sim_run_until(s.world.sim, has_closed, &g, SOON_MS));
	assert_int_equal(g.status, 504);
	assert_non_null(strstr(g.line.p, "ResourceVersionTooLarge"));
	assert_non_null(strstr(g.line.p, "\"retryAfterSeconds\":1"));
	assert_non_null(strstr(g.line.p, "Timeout: Too large resource version: 1000, current: "));
	watch_guest_release(&g);
	scene_release(&s);
}

static void every_field_of_the_head_is_sent(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;
	size_t n = 0;

	scene_init(&s, &plain);
	guest(&s, &g, (struct watch_guest_opts){ .revision = 1, .head = 30 });
	assert_true(sim_run_until(s.world.sim, has_status, &g, SOON_MS));
	assert_int_equal(g.status, 200);
	for (size_t i = 0; i < g.stream->in.fields.n; i++)
		n += str_starts(g.stream->in.fields.v[i].name, STR("x-field-"));
	assert_int_equal(n, 30);
	watch_guest_release(&g);
	scene_release(&s);
}

/* --- how a watch ends ------------------------------------------------------------- */

static void a_watch_ends_at_its_time(void **state UNUSED)
{
	struct watch_guest g;
	struct scene s;

	scene_init(&s, &lanes);
	guest(&s, &g, (struct watch_guest_opts){ .timeout_ms = 1500, .once = true });
	assert_true(sim_run_until(s.world.sim, has_status, &g, SOON_MS));
	assert_false(sim_run_until(s.world.sim, has_closed, &g, 1400));
	assert_true(sim_run_until(s.world.sim, has_closed, &g, 200));
	assert_int_equal(g.ends, 1);
	assert_int_equal(watch_count(s.world.state), 0);
	watch_guest_release(&g);
	scene_release(&s);
}

static void bookmarks_come_every_minute_and_before_the_end(void **state UNUSED)
{
	struct watch_guest g, without;
	struct scene s;
	int64_t newest;

	scene_init(&s, &lanes);
	guest(&s, &g,
	      (struct watch_guest_opts){ .bookmarks = true, .timeout_ms = 200000, .once = true });
	guest(&s, &without, (struct watch_guest_opts){ .timeout_ms = 200000, .once = true });
	await(&s, &g);
	/* Another resource advances the revision. */
	newest = state_world_write(
		&s.world, "nodes", "", "n",
		state_world_object(&s.world.arena, state_world_kind(STR("nodes")), "", "n", NULL));
	sim_run_for(s.world.sim, 80 * 1000);
	assert_in_range(g.marks, 2, 2);
	assert_int_equal(g.revision, newest);
	sim_run_for(s.world.sim, 121 * 1000);
	assert_null(g.stream);
	assert_in_range(g.marks, 4, 6);
	assert_int_equal(without.marks, 1);
	watch_guest_release(&g);
	watch_guest_release(&without);
	scene_release(&s);
}

static void a_watch_that_reads_too_late_is_told_so(void **state UNUSED)
{
	struct state_world_opts opts = lanes;
	struct watch_guest stalled, quick, matching;
	struct scene s;
	char labels[2200];
	char *fill = labels;

	opts.ring_bytes = 50 * 1000;
	scene_init(&s, &opts);
	fill += snprintf(fill, 16, "{\"app\":\"");
	memset(fill, 'x', 2000);
	(void)snprintf(fill + 2000, 16, "\"}");
	guest(&s, &stalled, (struct watch_guest_opts){ .stalled = true, .once = true });
	guest(&s, &matching,
	      (struct watch_guest_opts){
		      .stalled = true, .once = true, .ns = "a", .labels = "app" });
	guest(&s, &quick, (struct watch_guest_opts){ 0 });
	await(&s, &stalled);
	await(&s, &matching);
	await(&s, &quick);
	for (int i = 0; i < 400; i++)
		(void)pod(&s, "a", "p", labels, i % 2 ? "n1" : "n2");
	await(&s, &quick);
	assert_int_equal(quick.added + quick.modified, 400);
	assert_int_equal(quick.expired, 0);
	assert_true(stalled.stream && stalled.events < 300);
	watch_guest_read(&stalled);
	watch_guest_read(&matching);
	assert_true(sim_run_until(s.world.sim, has_closed, &stalled, SOON_MS));
	assert_true(sim_run_until(s.world.sim, has_closed, &matching, SOON_MS));
	assert_int_equal(stalled.expired, 1);
	assert_int_equal(matching.expired, 1);
	watch_guest_release(&stalled);
	watch_guest_release(&matching);
	watch_guest_release(&quick);
	scene_release(&s);
}

static void a_slow_watch_within_the_bound_misses_nothing(void **state UNUSED)
{
	struct watch_guest slow, picky;
	struct scene s;
	char labels[2200];
	char *fill = labels;

	scene_init(&s, &lanes);
	fill += snprintf(fill, 16, "{\"app\":\"");
	memset(fill, 'x', 2000);
	(void)snprintf(fill + 2000, 16, "\"}");
	guest(&s, &slow, (struct watch_guest_opts){ .stalled = true, .once = true });
	guest(&s, &picky, (struct watch_guest_opts){ .stalled = true, .once = true, .ns = "a" });
	await(&s, &slow);
	await(&s, &picky);
	for (int i = 0; i < 400; i++)
		(void)pod(&s, "a", "p", labels, i % 2 ? "n1" : "n2");
	assert_true(slow.events < 400);
	watch_guest_read(&slow);
	watch_guest_read(&picky);
	await(&s, &slow);
	await(&s, &picky);
	assert_int_equal(slow.added + slow.modified, 400);
	assert_int_equal(picky.added + picky.modified, 400);
	watch_guest_release(&slow);
	watch_guest_release(&picky);
	scene_release(&s);
}

static void a_lost_feed_ends_all_watches(void **state UNUSED)
{
	struct state_world_opts opts = lanes;
	struct watch_guest g;
	struct scene s;

	opts.store.local = false;
	scene_init(&s, &opts);
	guest(&s, &g, (struct watch_guest_opts){ 0 });
	await(&s, &g);
	(void)pod(&s, "a", "p", NULL, NULL);
	fake_store_lose(s.world.store);
	(void)fake_data_put(s.world.data, STR("core/pods"), STR("a"), STR("p"), STR(""));
	sim_run_for(s.world.sim, 1000);
	assert_true(g.expired >= 1);
	await(&s, &g);
	assert_int_equal(g.model.n, 0);
	watch_guest_release(&g);
	scene_release(&s);
}

static void stopping_ends_watches_and_refuses_new_ones(void **state UNUSED)
{
	struct watch_guest g, stalled;
	struct scene s;

	scene_init(&s, &lanes);
	guest(&s, &g, (struct watch_guest_opts){ .once = true });
	guest(&s, &stalled, (struct watch_guest_opts){ .once = true, .stalled = true });
	await(&s, &g);
	await(&s, &stalled);
	state_world_stop(&s.world);
	assert_true(sim_run_until(s.world.sim, has_closed, &g, SOON_MS));
	assert_int_equal(g.ends, 1);
	watch_guest_release(&g);
	watch_guest_release(&stalled);
	sim_run_for(s.world.sim, 2000);
	assert_int_equal(s.world.overs, 2);
	state_world_start(&s.world);
	scene_release(&s);
}

/*
 * A watch is being opened when all watches are stopped. Its lane's other watch has left by then,
 * and the state no longer sends the lane a message to drop the feed. (SIM_SEED=1001017.)
 */
static void a_watch_that_opens_while_all_are_stopped_is_refused(void **state UNUSED)
{
	struct state_world_opts one = { .store.local = true, .nlanes = 1, .apart = true };

	for (unsigned steps = 0; steps < 600; steps++) {
		struct watch_guest g, late;
		struct scene s;
		int64_t before;

		one.seed = steps;
		scene_init(&s, &one);
		before = pod(&s, "a", "p1", NULL, "n");
		guest(&s, &g, (struct watch_guest_opts){ .once = true });
		await(&s, &g);
		(void)pod(&s, "a", "p2", NULL, "n");
		await(&s, &g);
		guest(&s, &late, (struct watch_guest_opts){ .once = true, .revision = before });
		for (unsigned i = 0; i < steps % 60; i++)
			(void)sim_step(s.world.sim);
		watch_stop(s.world.state);
		sim_run_for(s.world.sim, 500);
		watch_guest_release(&g);
		watch_guest_release(&late);
		scene_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_comes_at_once_and_events_follow),
		cmocka_unit_test(the_state_comes_first_and_its_end_is_marked),
		cmocka_unit_test(a_selector_turns_changes_into_comings_and_goings),
		cmocka_unit_test(an_object_that_stops_matching_is_shown_as_it_was),
		cmocka_unit_test(other_forms_are_made_per_event),
		cmocka_unit_test(a_watch_begins_behind_its_revision),
		cmocka_unit_test(a_watch_goes_on_after_a_restart),
		cmocka_unit_test(a_watch_from_a_revision_that_is_too_old_is_gone),
		cmocka_unit_test(a_watch_from_a_future_revision_times_out),
		cmocka_unit_test(every_field_of_the_head_is_sent),
		cmocka_unit_test(a_watch_ends_at_its_time),
		cmocka_unit_test(bookmarks_come_every_minute_and_before_the_end),
		cmocka_unit_test(a_watch_that_reads_too_late_is_told_so),
		cmocka_unit_test(a_slow_watch_within_the_bound_misses_nothing),
		cmocka_unit_test(a_lost_feed_ends_all_watches),
		cmocka_unit_test(stopping_ends_watches_and_refuses_new_ones),
		cmocka_unit_test(a_watch_that_opens_while_all_are_stopped_is_refused),
	};

	return cmocka_run_group_tests_name("server/watch", tests, NULL, NULL);
}
