/*
 * From reserve to post_bind in a whole scheduler, with two plugins of tests/abi that do as the test
 * says: the order of calls, and that whatever fails is undone.
 */
#include <dlfcn.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "scheduler/run/scheduler_world.h"
#include "steps.h"

static const char *folder;

/* The verdict of a plugin at an extension point. */
struct rule {
	const char *where; /* "First.permit"; NULL: unused */
	uint32_t code;
	unsigned times; /* remaining uses */
	int64_t timeout_ms;
};

struct steps_world {
	struct scheduler_world *w;
	struct rule rules[4];
	char trace[4096]; /* "First.reserve Second.reserve .." */
	void *libraries[2];
	/* Set by the last step that waits or ends later. */
	const struct dp_scheduler_host *host;
	struct dp_binding *binding;
	char uid[64];
};

static const char config_text[] =
	"leaderElection: {leaderElect: false}\n"
	"profiles:\n"
	"- schedulerName: default-scheduler\n"
	"  plugins:\n"
	"    multiPoint: {enabled: [{name: First}, {name: Second}]}\n"
	"    bind: {disabled: [{name: DefaultBinder}],\n"
	"           enabled: [{name: First}, {name: Second}, {name: DefaultBinder}]}\n"
	"devplane: {plugins: [{path: %s/plugin_steps_first.so},\n"
	"                     {path: %s/plugin_steps_second.so}]}\n";

static uint32_t answer(struct steps_world *v, const char *where, const struct step *s)
{
	struct dp_text uid = s->host->uid(s->host->host, s->pod);

	for (size_t i = 0; i < ARRAY_SIZE(v->rules); i++) {
		struct rule *r = &v->rules[i];

		if (!r->where || strcmp(r->where, where) != 0 || r->times == 0)
			continue;
		r->times--;
		v->host = s->host;
		v->binding = s->binding;
		(void)snprintf(v->uid, sizeof(v->uid), "%.*s", (int)uid.n, uid.p);
		if (s->timeout_ms)
			*s->timeout_ms = r->timeout_ms;
		if (s->why)
			(void)snprintf(s->why->text, sizeof(s->why->text), "as told");
		return r->code;
	}
	return strcmp(s->point, "bind") == 0 ? DP_SKIP : DP_SUCCESS;
}

static uint32_t ask(void *arg, const struct step *s)
{
	struct steps_world *v = arg;
	size_t n = strlen(v->trace);
	char where[64];

	(void)snprintf(where, sizeof(where), "%s.%s", s->plugin, s->point);
	assert_string_equal(s->node, "n1");
	(void)snprintf(v->trace + n, sizeof(v->trace) - n, "%s%s", n > 0 ? " " : "", where);
	return answer(v, where, s);
}

static void *connect_plugin(struct steps_world *v, const char *name)
{
	struct buf path = BUF_INIT(4096);
	void *library;
	struct steps *s;

	(void)buf_printf(&path, "%s/plugin_steps_%s.so", folder, name);
	library = dlopen(path.p, RTLD_NOW);
	assert_non_null(library);
	s = dlsym(library, "steps");
	assert_non_null(s);
	*s = (struct steps){ ask, v };
	buf_release(&path);
	return library;
}

static int set_up(void **state)
{
	struct steps_world *v = XNEW(struct steps_world);
	struct buf text = BUF_INIT(16384);

	(void)buf_printf(&text, config_text, folder, folder);
	v->libraries[0] = connect_plugin(v, "first");
	v->libraries[1] = connect_plugin(v, "second");
	v->w = scheduler_world_new(1, text.p);
	scheduler_world_node(v->w, "n1", 4);
	scheduler_world_start(v->w);
	buf_release(&text);
	*state = v;
	return 0;
}

static int tear_down(void **state)
{
	struct steps_world *v = *state;

	scheduler_world_free(v->w);
	dlclose(v->libraries[0]);
	dlclose(v->libraries[1]);
	free(v);
	return 0;
}

static void rule(struct steps_world *v, const char *where, uint32_t code, int64_t timeout_ms)
{
	size_t i = 0;

	while (v->rules[i].where)
		assert_true(++i < ARRAY_SIZE(v->rules));
	v->rules[i] = (struct rule){ where, code, 1, timeout_ms };
}

#define RESERVE   "First.reserve Second.reserve"
#define PERMIT    " First.permit Second.permit"
#define PRE_BIND  " First.pre_bind Second.pre_bind"
#define BIND      " First.bind Second.bind"
#define POST_BIND " First.post_bind Second.post_bind"
#define UNDO      " Second.unreserve First.unreserve"
#define ALL       RESERVE PERMIT PRE_BIND BIND POST_BIND

/* The pod "a" failed once as `trace` says, left its room to others, and is bound in the end. */
static void expect_undone(struct steps_world *v, const char *trace)
{
	struct scheduler_world *w = v->w;

	assert_string_equal(v->trace, trace);
	assert_int_equal(scheduler_world_taken(w, "n1"), 0);
	assert_true(scheduler_world_is_on(w, "a", ""));
	assert_int_equal(podqueue_count(w->scheduler->queue, QUEUE_BACKOFF) +
				 podqueue_count(w->scheduler->queue, QUEUE_UNSCHEDULABLE),
			 1);
	scheduler_world_check_quiet(w);
	assert_int_equal(scheduler_world_events(w, "FailedScheduling"), 1);
	v->trace[0] = '\0';
	/* An event on the node wakes the pod, unless it only waits for time. */
	scheduler_world_pod(w, "other", 3);
	scheduler_world_run(w, 300);
	assert_true(scheduler_world_is_on(w, "other", "n1"));
	scheduler_world_remove_pod(w, "other");
	scheduler_world_run(w, 30000);
	assert_string_equal(v->trace, ALL " " ALL);
	assert_true(scheduler_world_is_on(w, "a", "n1"));
	scheduler_world_check_quiet(w);
}

static void begin(struct steps_world *v, int64_t ms)
{
	scheduler_world_pod(v->w, "a", 3);
	scheduler_world_run(v->w, ms);
}

/* --- the order ---------------------------------------------------------------------------- */

static void all_points_are_asked_in_order(void **state)
{
	struct steps_world *v = *state;

	begin(v, 1000);
	assert_string_equal(v->trace, ALL);
	assert_true(scheduler_world_is_on(v->w, "a", "n1"));
	scheduler_world_check_quiet(v->w);
}

static void a_plugin_may_bind_by_itself(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.bind", DP_SUCCESS, 0);
	begin(v, 1000);
	assert_string_equal(v->trace, RESERVE PERMIT PRE_BIND " First.bind" POST_BIND);
	assert_int_equal(v->w->bindings, 0);
	/* It says that it did: the room is taken until the server shows it. */
	assert_int_equal(scheduler_world_taken(v->w, "n1"), 3000);
	assert_int_equal(scheduler_world_bind(v->w, "a", "n1"), 201);
	scheduler_world_run(v->w, 1000);
	scheduler_world_check_quiet(v->w);
}

/* --- failures ----------------------------------------------------------------------------- */

static void a_failed_attempt_is_undone_in_reverse_order(void **state)
{
	static const struct {
		const char *where, *trace;
	} cases[] = {
		{ "First.reserve", "First.reserve" UNDO },
		{ "Second.reserve", RESERVE UNDO },
		{ "First.permit", RESERVE " First.permit" UNDO },
		{ "Second.permit", RESERVE PERMIT UNDO },
		{ "First.pre_bind", RESERVE PERMIT " First.pre_bind" UNDO },
		{ "Second.pre_bind", RESERVE PERMIT PRE_BIND UNDO },
		{ "First.bind", RESERVE PERMIT PRE_BIND " First.bind" UNDO },
		{ "Second.bind", RESERVE PERMIT PRE_BIND BIND UNDO },
	};
	static const uint32_t codes[] = { DP_ERROR, DP_UNSCHEDULABLE, DP_UNRESOLVABLE };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases) * ARRAY_SIZE(codes); i++) {
		struct steps_world *v = NULL;

		set_up((void **)&v);
		rule(v, cases[i / 3].where, codes[i % 3], 0);
		begin(v, 500);
		assert_true(fakeapi_has(v->w->api, "pods", "default", "a", "as told"));
		expect_undone(v, cases[i / 3].trace);
		tear_down((void **)&v);
	}
}

static void a_binding_that_the_server_refused_is_undone(void **state)
{
	struct steps_world *v = *state;

	v->w->on_bind = 403;
	v->w->fault_count = 1;
	begin(v, 500);
	expect_undone(v, RESERVE PERMIT PRE_BIND BIND UNDO);
}

static void a_binding_whose_answer_was_lost_is_kept_reserved(void **state)
{
	struct steps_world *v = *state;

	v->w->on_bind = FAKEAPI_DO_AND_CUT;
	v->w->fault_count = 1;
	begin(v, 60000);
	assert_string_equal(v->trace, ALL);
	assert_true(scheduler_world_is_on(v->w, "a", "n1"));
	assert_int_equal(v->w->bindings, 1);
	scheduler_world_check_quiet(v->w);
}

/* --- permit ------------------------------------------------------------------------------- */

static void a_pod_waits_for_permission(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.permit", DP_WAIT, 60000);
	begin(v, 30000);
	assert_string_equal(v->trace, RESERVE PERMIT);
	assert_int_equal(scheduler_world_taken(v->w, "n1"), 3000);
	v->host->allow(v->host->host, v->uid);
	scheduler_world_run(v->w, 1000);
	assert_string_equal(v->trace, ALL);
	assert_true(scheduler_world_is_on(v->w, "a", "n1"));
	scheduler_world_check_quiet(v->w);
}

static void all_that_asked_to_wait_must_allow_it(void **state)
{
	struct steps_world *v = *state;
	const struct dp_scheduler_host *second;

	rule(v, "First.permit", DP_WAIT, 60000);
	begin(v, 0);
	rule(v, "Second.permit", DP_WAIT, 10000);
	scheduler_world_run(v->w, 5000);
	second = v->host;
	second->allow(second->host, v->uid);
	scheduler_world_run(v->w, 20000); /* its timeout no longer counts */
	assert_string_equal(v->trace, RESERVE PERMIT);
	second->allow(second->host, v->uid);
	scheduler_world_run(v->w, 1000);
	assert_string_equal(v->trace, RESERVE PERMIT);
	scheduler_world_run(v->w, 40000);
	assert_true(fakeapi_has(v->w->api, "pods", "default", "a",
				"rejected due to timeout after waiting 60s at plugin First"));
	expect_undone(v, RESERVE PERMIT UNDO);
}

static void a_pod_is_rejected_while_it_waits(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.permit", DP_WAIT, 60000);
	begin(v, 500);
	v->host->reject(v->host->host, v->uid, "no more");
	scheduler_world_run(v->w, 500);
	assert_true(fakeapi_has(v->w->api, "pods", "default", "a", "no more"));
	expect_undone(v, RESERVE PERMIT UNDO);
}

static void a_pod_that_waits_too_long_is_rejected(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.permit", DP_WAIT, 20000);
	begin(v, 19000);
	assert_string_equal(v->trace, RESERVE PERMIT);
	scheduler_world_run(v->w, 1500);
	expect_undone(v, RESERVE PERMIT UNDO);
}

/* --- what is ended later ------------------------------------------------------------------ */

static void steps_may_end_later(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.pre_bind", DP_SCHED_LATER, 0);
	rule(v, "Second.bind", DP_SCHED_LATER, 0);
	begin(v, 100000);
	assert_string_equal(v->trace, RESERVE PERMIT " First.pre_bind");
	v->host->binding_done(v->host->host, v->binding, DP_SUCCESS, NULL);
	scheduler_world_run(v->w, 1000);
	assert_string_equal(v->trace, RESERVE PERMIT PRE_BIND BIND);
	v->host->binding_done(v->host->host, v->binding, DP_SKIP, NULL);
	scheduler_world_run(v->w, 1000);
	assert_string_equal(v->trace, ALL);
	assert_true(scheduler_world_is_on(v->w, "a", "n1"));
	scheduler_world_check_quiet(v->w);
}

static void steps_may_fail_later(void **state)
{
	static const char *const where[] = { "First.pre_bind", "First.bind" };
	static const char *const traces[] = { RESERVE PERMIT " First.pre_bind" UNDO,
					      RESERVE PERMIT PRE_BIND " First.bind" UNDO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct steps_world *v = NULL;

		set_up((void **)&v);
		rule(v, where[i], DP_SCHED_LATER, 0);
		begin(v, 5000);
		v->host->binding_done(v->host->host, v->binding, DP_ERROR, "as told");
		scheduler_world_run(v->w, 500);
		assert_true(fakeapi_has(v->w->api, "pods", "default", "a", "as told"));
		expect_undone(v, traces[i]);
		tear_down((void **)&v);
	}
}

/* --- a pod that goes on its way ----------------------------------------------------------- */

static void a_pod_that_is_deleted_on_its_way_is_undone(void **state)
{
	static const struct {
		const char *where, *trace;
		uint32_t code;
	} cases[] = {
		{ "Second.permit", RESERVE PERMIT UNDO, DP_WAIT },
		{ "First.pre_bind", RESERVE PERMIT " First.pre_bind" UNDO, DP_SCHED_LATER },
		{ "Second.bind", RESERVE PERMIT PRE_BIND BIND UNDO, DP_SCHED_LATER },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct steps_world *v = NULL;

		set_up((void **)&v);
		rule(v, cases[i / 2].where, cases[i / 2].code, 60000);
		begin(v, 1000);
		assert_int_equal(scheduler_world_taken(v->w, "n1"), 3000);
		scheduler_world_remove_pod(v->w, "a");
		if (i % 2)
			scheduler_world_pod(v->w, "a", 1);
		scheduler_world_run(v->w, 1000);
		assert_int_equal(scheduler_world_taken(v->w, "n1"), i % 2 ? 1000 : 0);
		v->trace[strlen(cases[i / 2].trace)] = '\0'; /* of the first one */
		assert_string_equal(v->trace, cases[i / 2].trace);
		/* The plugin's result is ignored now. */
		if (v->binding)
			v->host->binding_done(v->host->host, v->binding, DP_SUCCESS, NULL);
		else
			v->host->allow(v->host->host, v->uid);
		scheduler_world_run(v->w, 100000);
		assert_int_equal(scheduler_world_is_on(v->w, "a", "n1"), i % 2);
		assert_int_equal(scheduler_world_events(v->w, "FailedScheduling"), 0);
		scheduler_world_check_quiet(v->w);
		tear_down((void **)&v);
	}
}

static void a_pod_that_another_bound_elsewhere_is_undone(void **state)
{
	static const char *const where[] = { "First.permit", "First.pre_bind" };
	static const char *const traces[] = { RESERVE PERMIT UNDO,
					      RESERVE PERMIT " First.pre_bind" UNDO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct steps_world *v = NULL;

		set_up((void **)&v);
		rule(v, where[i], i == 0 ? DP_WAIT : DP_SCHED_LATER, 60000);
		begin(v, 1000);
		scheduler_world_node(v->w, "n2", 4);
		assert_int_equal(scheduler_world_bind(v->w, "a", "n2"), 201);
		scheduler_world_run(v->w, 100000);
		assert_string_equal(v->trace, traces[i]);
		assert_int_equal(scheduler_world_taken(v->w, "n1"), 0);
		assert_int_equal(scheduler_world_taken(v->w, "n2"), 3000);
		assert_int_equal(v->w->bindings, 0);
		scheduler_world_check_quiet(v->w);
		tear_down((void **)&v);
	}
}

static void a_pod_that_another_bound_here_is_left_alone(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.permit", DP_WAIT, 60000);
	begin(v, 1000);
	assert_int_equal(scheduler_world_bind(v->w, "a", "n1"), 201);
	scheduler_world_run(v->w, 1000);
	v->host->reject(v->host->host, v->uid, "no more");
	scheduler_world_run(v->w, 60000);
	assert_string_equal(v->trace, RESERVE PERMIT UNDO);
	assert_int_equal(scheduler_world_taken(v->w, "n1"), 3000);
	assert_int_equal(v->w->patches, 0);
	assert_int_equal(scheduler_world_events(v->w, "FailedScheduling"), 0);
	scheduler_world_check_quiet(v->w);
}

static void a_node_that_goes_does_not_stop_a_pod_that_waits(void **state)
{
	struct steps_world *v = *state;

	rule(v, "First.permit", DP_WAIT, 60000);
	begin(v, 1000);
	scheduler_world_remove_node(v->w, "n1");
	scheduler_world_run(v->w, 1000);
	scheduler_world_node(v->w, "n1", 4);
	scheduler_world_run(v->w, 1000);
	assert_int_equal(scheduler_world_taken(v->w, "n1"), 3000);
	v->host->allow(v->host->host, v->uid);
	scheduler_world_run(v->w, 1000);
	assert_string_equal(v->trace, ALL);
	scheduler_world_check_quiet(v->w);
}

static void a_running_step_is_undone_when_it_ends(void **state)
{
	static const char *const where[] = { "First.permit", "First.pre_bind", "First.bind", NULL };
	static const char *const traces[] = { RESERVE PERMIT UNDO,
					      RESERVE PERMIT " First.pre_bind" UNDO,
					      RESERVE PERMIT PRE_BIND " First.bind" UNDO,
					      RESERVE PERMIT PRE_BIND BIND UNDO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		struct steps_world *v = NULL;

		set_up((void **)&v);
		if (where[i])
			rule(v, where[i], i == 0 ? DP_WAIT : DP_SCHED_LATER, 60000);
		else
			v->w->on_bind = FAKEAPI_HOLD;
		begin(v, 1000);
		scheduler_world_stop(v->w);
		assert_string_equal(v->trace, traces[i]);
		tear_down((void **)&v);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(all_points_are_asked_in_order),
		TEST(a_plugin_may_bind_by_itself),
		cmocka_unit_test(a_failed_attempt_is_undone_in_reverse_order),
		TEST(a_binding_that_the_server_refused_is_undone),
		TEST(a_binding_whose_answer_was_lost_is_kept_reserved),
		TEST(a_pod_waits_for_permission),
		TEST(all_that_asked_to_wait_must_allow_it),
		TEST(a_pod_is_rejected_while_it_waits),
		TEST(a_pod_that_waits_too_long_is_rejected),
		TEST(steps_may_end_later),
		cmocka_unit_test(steps_may_fail_later),
		cmocka_unit_test(a_pod_that_is_deleted_on_its_way_is_undone),
		cmocka_unit_test(a_pod_that_another_bound_elsewhere_is_undone),
		TEST(a_pod_that_another_bound_here_is_left_alone),
		TEST(a_node_that_goes_does_not_stop_a_pod_that_waits),
		cmocka_unit_test(a_running_step_is_undone_when_it_ends),
	};

	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
