/*
 * The example plugin, loaded as a shared object, in a profile of the scheduler's.
 */
#include "base/json/writer.h"
#include "scheduler/extension/extension_fixture.h"

static const char *folder;

static int set_up(void **state)
{
	struct extension_world *w = XNEW(struct extension_world);

	extension_world_init(w, NULL);
	extension_world_start(w, folder, "node_fake_resource", "NodeFakeResource");
	scheduler_fixture_node(&w->f, "{'name':'n1','cpu':'4'}");
	scheduler_fixture_node(&w->f, "{'name':'n2','cpu':'4'}");
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	extension_world_release(*state);
	free(*state);
	return 0;
}

#define STATUS(node, amount)                                                                     \
	"{'metadata':{'name':'s-" node "'},'spec':{'nodeName':'" node "','fakeResource':" amount \
	"}}"
#define POD(name, amount)                                                   \
	"{'metadata':{'name':'" name "','namespace':'default','uid':'" name \
	"','annotations':{'ioi.example.com/fake-resource':'" amount         \
	"'}},'spec':{'containers':[]}}"
#define BOUND(name, amount)                                                 \
	"{'metadata':{'name':'" name "','namespace':'default','uid':'" name \
	"','annotations':{'ioi.example.com/fake-resource':'" amount         \
	"'}},'spec':{'nodeName':'n1','containers':[]}}"

static void expect(struct extension_world *w, const char *amount, const char *nodes)
{
	struct buf pod = BUF_INIT(1024);

	(void)buf_printf(&pod, POD("asks", "%s"), amount);
	assert_string_equal(scheduler_fixture_filter(&w->f, "NodeFakeResource", pod.p), nodes);
	buf_release(&pod);
}

#define NEVER(n) n ":UnschedulableAndUnresolvable[Insufficient fake resource]"
#define TAKEN(n) n ":Unschedulable[Insufficient fake resource]"

static void a_pod_goes_where_enough_is_left(void **state)
{
	struct extension_world *w = *state;

	expect(w, "3", NEVER("n1") " " NEVER("n2"));
	extension_world_tell(w, NULL, STATUS("n1", "10"));
	expect(w, "3", "n1 " NEVER("n2"));
	scheduler_fixture_pod(&w->f, BOUND("a", "8"));
	expect(w, "3", TAKEN("n1") " " NEVER("n2"));
	expect(w, "2", "n1 " NEVER("n2"));
	expect(w, "11", NEVER("n1") " " NEVER("n2"));
	extension_world_tell(w, STATUS("n1", "10"), STATUS("n1", "20"));
	expect(w, "3", "n1 " NEVER("n2"));
	extension_world_tell(w, STATUS("n1", "20"), STATUS("n2", "20"));
	expect(w, "3", NEVER("n1") " n2");
	extension_world_tell(w, STATUS("n2", "20"), NULL);
	expect(w, "3", NEVER("n1") " " NEVER("n2"));
}

static void a_pod_that_asks_for_nothing_is_not_looked_at(void **state)
{
	struct extension_world *w = *state;

	assert_string_equal(scheduler_fixture_filter(&w->f, "NodeFakeResource", "{'name':'p'}"),
			    "skip");
	expect(w, "nonsense", "skip");
}

static void a_status_that_comes_late_knows_of_the_pods(void **state)
{
	struct extension_world *w = *state;

	scheduler_fixture_pod(&w->f, BOUND("a", "8"));
	extension_world_tell(w, NULL, STATUS("n1", "10"));
	expect(w, "3", TAKEN("n1") " " NEVER("n2"));
	expect(w, "2", "n1 " NEVER("n2"));
}

/* As another plugin would ask: through the host. */
static void expect_admit(struct extension_world *w, const char *node, const char *type,
			 uint32_t code, int64_t requested, int64_t available)
{
	struct extension_instance *i = LIST_ENTRY(w->e->instances.next, struct extension_instance,
						  link);
	const struct dp_scheduler_host *h = &i->host.table;
	struct cycle *c = scheduler_fixture_cycle(&w->f, POD("asks", "3"));
	const struct dp_node_info *n = (const struct dp_node_info *)snapshot_find(c->snapshot,
										  str_from(node));
	const struct dp_object *pod = h->cycle_pod(h->host, (struct dp_cycle *)c);
	int64_t asked = -1, left = -1;

	assert_true(DP_HAS(h, admit));
	assert_int_equal(h->admit(h->host, n, type, pod, &asked, &left), code);
	assert_int_equal(asked, requested);
	assert_int_equal(left, available);
	assert_int_equal(h->admit(h->host, n, type, pod, NULL, NULL), code);
	cycle_free(c);
}

static void any_plugin_can_ask_whether_a_pod_is_admitted(void **state)
{
	struct extension_world *w = *state;

	extension_world_tell(w, NULL, STATUS("n1", "10"));
	expect_admit(w, "n1", "fake.ioi.example.com", DP_SUCCESS, 3, 10);
	scheduler_fixture_pod(&w->f, BOUND("a", "8"));
	expect_admit(w, "n1", "fake.ioi.example.com", DP_UNSCHEDULABLE, 3, 2);
	expect_admit(w, "n2", "fake.ioi.example.com", DP_UNRESOLVABLE, 0, 0);
	expect_admit(w, "n1", "other.example.com", DP_ERROR, 0, 0);
}

static void a_node_that_returns_has_its_amount(void **state)
{
	struct extension_world *w = *state;

	extension_world_tell(w, NULL, STATUS("n1", "10"));
	assert_true(nodecache_remove_node(w->f.services.nodes, STR("n1")));
	expect(w, "3", NEVER("n2"));
	scheduler_fixture_node(&w->f, "{'name':'n1','cpu':'4'}");
	expect(w, "3", "n1 " NEVER("n2"));
	/* The status goes while the node is away, and the amount goes with it. */
	assert_true(nodecache_remove_node(w->f.services.nodes, STR("n1")));
	extension_world_tell(w, STATUS("n1", "10"), NULL);
	scheduler_fixture_node(&w->f, "{'name':'n1','cpu':'4'}");
	expect(w, "3", NEVER("n1") " " NEVER("n2"));
}

static void room_wakes_the_pods_that_wait_for_it(void **state)
{
	struct extension_world *w = *state;

	extension_world_reject_pod(w, "NodeFakeResource", POD("asks", "3"));
	extension_world_tell(w, NULL, STATUS("n1", "10"));
	assert_int_equal(extension_world_waiting(w), 1); /* at the turn's end */
	sim_run_for(w->sim, 1);
	assert_int_equal(extension_world_waiting(w), 0);
}

static void the_cache_shows_it(void **state)
{
	struct extension_world *w = *state;
	struct buf out = BUF_INIT(65536);
	struct json_writer writer;

	extension_world_tell(w, NULL, STATUS("n1", "10"));
	scheduler_fixture_pod(&w->f, BOUND("a", "8"));
	json_writer_init(&writer, &out, NULL);
	nodecache_dump(w->f.services.nodes, &w->f.names, &writer);
	assert_non_null(strstr(out.p, "\"fake.ioi.example.com\":{\"total\":10,\"requested\":8}"));
	buf_release(&out);
}

static void a_second_profile_shares_the_handle(void **state)
{
	struct extension_world *w = *state;

	if (extension_world_try_profile(w, "NodeFakeResource", NULL, &w->second) < 0)
		fail_msg("%s", w->err.msg);
	assert_int_equal(w->types.v.n, 1);
	assert_int_equal(w->e->watches.n, 1);
}

static void arguments_are_refused(void **state)
{
	struct extension_world *w = *state;
	struct profile *p = NULL;

	assert_true(extension_world_try_profile(w, "NodeFakeResource",
						json_make_object(&w->f.arena), &p) < 0);
	assert_non_null(strstr(w->err.msg, "NodeFakeResource takes no arguments"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pod_goes_where_enough_is_left),
		TEST(a_pod_that_asks_for_nothing_is_not_looked_at),
		TEST(a_status_that_comes_late_knows_of_the_pods),
		TEST(any_plugin_can_ask_whether_a_pod_is_admitted),
		TEST(a_node_that_returns_has_its_amount),
		TEST(room_wakes_the_pods_that_wait_for_it),
		TEST(the_cache_shows_it),
		TEST(a_second_profile_shares_the_handle),
		TEST(arguments_are_refused),
	};

	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
