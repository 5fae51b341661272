/*
 * Plugins in shared objects: which are loaded and which refused, what they see and what is made of
 * their answers. The shared objects are those of tests/abi.
 */
#include <dlfcn.h>

#include "client/testing/fakeapi_world.h"
#include "scheduler/extension/extension_fixture.h"
#include "scheduler/framework/binding_fixture.h"

static const char *folder;

static int set_up(void **state)
{
	struct extension_world *w = XNEW(struct extension_world);

	extension_world_init(w, NULL);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	extension_world_release(*state);
	free(*state);
	return 0;
}

/* A variable of the plugin that takes part everywhere. */
static void *symbol(const char *name)
{
	struct buf path = BUF_INIT(4096);
	void *library, *p;

	(void)buf_printf(&path, "%s/plugin_every.so", folder);
	library = dlopen(path.p, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(library);
	p = dlsym(library, name);
	assert_non_null(p);
	dlclose(library);
	buf_release(&path);
	return p;
}

#define TRACE ((char *)symbol("trace"))
#define HOST  (*(const struct dp_scheduler_host **)symbol("host_of_plugin"))

static void start_every(struct extension_world *w)
{
	scheduler_fixture_node(&w->f, "{'name':'n1','cpu':'4'}");
	scheduler_fixture_node(&w->f, "{'name':'n2','cpu':'8'}");
	scheduler_fixture_node(&w->f, "{'name':'n3','cpu':'8'}");
	extension_world_start(w, folder, "plugin_every", "Every");
	assert_string_equal(TRACE, "init run");
	TRACE[0] = '\0';
}

/* --- loading ----------------------------------------------------------------------- */

static void an_unusable_plugin_is_rejected_with_a_message(void **state)
{
	static const struct {
		const char *file, *says;
	} cases[] = {
		{ "plugin_missing", "the file cannot be read: No such file or directory" },
		{ "plugin_refused_entry", "it does not export dp_scheduler_plugin_entry()" },
		{ "plugin_refused_null", "returned NULL" },
		{ "plugin_refused_abi",
		  "it was built for ABI 99 of scheduler plugins and this is 1" },
		{ "plugin_refused_size", "has 20 bytes, which is too few" },
		{ "plugin_refused_name", "its name \"no good\" is invalid" },
		{ "plugin_refused_taken",
		  "its name NodeName is that of a plugin of the scheduler's" },
	};
	struct extension_world *w = *state;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(extension_world_load(w, folder, cases[i].file) < 0);
		if (!strstr(w->err.msg, cases[i].says) || !strstr(w->err.msg, cases[i].file))
			fail_msg("%s: %s", cases[i].file, w->err.msg);
	}
	assert_true(extension_load(w->e, STR("/etc/passwd"), &w->err) < 0);
	assert_non_null(strstr(w->err.msg, "cannot load it as a shared object"));
	(void)extension_kinds(w->e, &n);
	assert_int_equal(n, 0);
}

static void a_name_is_taken_once(void **state)
{
	struct extension_world *w = *state;

	assert_int_equal(extension_world_load(w, folder, "plugin_oldest"), 0);
	assert_true(extension_world_load(w, folder, "plugin_oldest") < 0);
	assert_non_null(strstr(w->err.msg, "its name Oldest is that of the plugin in"));
}

static void a_plugin_of_the_first_header_works(void **state)
{
	struct extension_world *w = *state;

	scheduler_fixture_node(&w->f, "{'name':'n1'}");
	scheduler_fixture_node(&w->f, "{'name':'n2'}");
	extension_world_start(w, folder, "plugin_oldest", "Oldest");
	assert_string_equal(
		scheduler_fixture_filter(&w->f, "Oldest",
					 "{'metadata':{'name':'p','namespace':'x','uid':'u',"
					 "'annotations':{'avoid':'n1'}},'spec':{}}"),
		"n1:Unschedulable[avoided] n2");
	scheduler_fixture_pod(&w->f, "{'name':'a','nodeName':'n2'}");
	assert_string_equal(scheduler_fixture_filter(&w->f, "Oldest", "{'name':'p'}"),
			    "n1 n2:Unschedulable[taken]");
}

static void a_plugin_of_a_version_to_come_works(void **state)
{
	static const char fewer[] = "{'metadata':{'name':'p','namespace':'x','uid':'u',"
				    "'annotations':{'fewer':'2'}},'spec':{}}";
	struct extension_world *w = *state;

	scheduler_fixture_node(&w->f, "{'name':'n1'}");
	extension_world_start(w, folder, "plugin_larger", "Larger");
	assert_string_equal(scheduler_fixture_filter(&w->f, "Larger", fewer),
			    "n1:UnschedulableAndUnresolvable[too many]");
	extension_world_tell(w, NULL, "{'metadata':{'name':'n1'}}");
	scheduler_fixture_pod(&w->f, "{'name':'a','nodeName':'n1'}");
	assert_string_equal(scheduler_fixture_filter(&w->f, "Larger", fewer), "n1");
	scheduler_fixture_pod(&w->f, "{'name':'b','nodeName':'n1'}");
	assert_string_equal(scheduler_fixture_filter(&w->f, "Larger", fewer),
			    "n1:Unschedulable[too many]");
	/* Both rows of the longer struct are read. */
	assert_true(scheduler_fixture_node_wakes(&w->f, "Larger", fewer, EVENT_ADD, NULL,
						 "{'name':'n2'}"));
	assert_true(scheduler_fixture_pod_wakes(&w->f, "Larger", fewer, EVENT_DELETE,
						"{'name':'a','nodeName':'n1'}", NULL));
	assert_false(scheduler_fixture_pod_wakes(&w->f, "Larger", fewer, EVENT_ADD, NULL,
						 "{'name':'c','nodeName':'n1'}"));
}

static void callbacks_beyond_a_plugins_size_are_not_called(void **state)
{
	struct extension_world *w = *state;
	CLEANUP(podinfo_unref) struct podinfo *p = NULL;
	struct verdict v;

	extension_world_start(w, folder, "plugin_small", "Small");
	p = scheduler_fixture_make_pod(&w->f, "{'name':'p'}");
	v = profile_pre_enqueue(w->f.profile, p, &w->f.arena);
	assert_int_equal(v.code, VERDICT_UNSCHEDULABLE);
	assert_int_equal(v.n, 0);
	assert_null(scheduler_fixture_plugin(&w->f, "Small")->kind->filter);
}

static void a_failing_init_says_why(void **state)
{
	struct extension_world *w = *state;
	struct json *args = json_make_object(&w->f.arena);
	struct profile *p = NULL;

	json_put_bool(&w->f.arena, args, "fail", true);
	assert_int_equal(extension_world_load(w, folder, "plugin_every"), 0);
	assert_true(extension_world_try_profile(w, "Every", args, &p) < 0);
	assert_non_null(strstr(w->err.msg, "initializing plugin \"Every\": told to fail"));
	assert_true(list_empty(&w->e->instances));
}

static void all_is_closed_in_order(void **state)
{
	struct extension_world *w = *state;

	start_every(w);
	profile_free(TAKE(w->f.profile));
	assert_string_equal(TRACE, "close");
	nodecache_free(TAKE(w->f.services.nodes));
	extended_types_release(&w->types);
	assert_string_equal(TRACE, "close close_handle");
	assert_int_equal(*(int *)symbol("alive"), 0);
}

/* --- extension points ------------------------------------------------------------------ */

static void a_plugin_takes_part_at_every_point(void **state)
{
	struct extension_world *w = *state;
	CLEANUP(podinfo_unref) struct podinfo *p = NULL;
	struct plugin *pl;
	struct cycle *c, *what_if;
	struct str nominated = STR_NULL;
	int64_t timeout = 0;
	struct verdict v;

	start_every(w);
	pl = scheduler_fixture_plugin(&w->f, "Every");
	c = scheduler_fixture_cycle(&w->f, "{'name':'p','labels':{'gate':'shut'}}");
	p = podinfo_ref(c->pod);
	v = pl->kind->pre_enqueue(pl, p, &c->arena);
	assert_int_equal(v.code, VERDICT_UNRESOLVABLE);
	assert_true(str_eqz(v.reasons[0], "gated"));
	assert_int_equal(pl->kind->pre_filter(pl, c).code, VERDICT_SUCCESS);
	assert_int_equal(c->nonly, 2);
	assert_true(str_eqz(c->only[1], "n2"));
	v = pl->kind->filter(pl, c, c->feasible[0]);
	assert_int_equal(v.code, VERDICT_UNSCHEDULABLE);
	assert_true(str_eqz(v.reasons[0], "sum 1"));

	/* A what-if has the plugin's sum for itself. */
	what_if = cycle_what_if(c);
	pl->kind->add_pod(pl, what_if, p, c->feasible[0]);
	assert_int_equal(pl->kind->filter(pl, what_if, c->feasible[0]).code, VERDICT_SUCCESS);
	assert_int_equal(pl->kind->filter(pl, c, c->feasible[0]).code, VERDICT_UNSCHEDULABLE);
	cycle_free(what_if);

	assert_int_equal(pl->kind->post_filter(pl, c, &nominated).code, VERDICT_SUCCESS);
	assert_true(str_eqz(nominated, "n2"));
	v = pl->kind->reserve(pl, c, STR("n1"));
	assert_int_equal(v.code, VERDICT_ERROR);
	assert_true(str_eqz(v.reasons[0], "it answered 42, which is no code here"));
	pl->kind->unreserve(pl, c, STR("n1"));
	assert_int_equal(pl->kind->permit(pl, c, STR("n1"), &timeout).code, VERDICT_WAIT);
	assert_int_equal(timeout, 15 * 60 * 1000);
	pl->kind->post_bind(pl, c, STR("n1"));
	assert_string_equal(TRACE, "pre_enqueue pre_filter reserve n1 unreserve post_bind n1");
	cycle_free(c);
}

static void scores_are_normalised(void **state)
{
	struct extension_world *w = *state;

	start_every(w);
	assert_string_equal(scheduler_fixture_score(&w->f, "Every", "{'name':'p'}"),
			    "n1=4000/40 n2=8000/80 n3=8000/80");
}

/* --- reading --------------------------------------------------------------------------- */

static struct str value_at(const struct dp_object *o, const char *pointer)
{
	return extension_text(HOST->find(HOST->host, o, pointer));
}

static void objects_are_read_by_pointer(void **state)
{
	struct extension_world *w = *state;
	struct dp_object o = { NULL, NULL };
	int64_t value = 0;

	start_every(w);
	o.object = scheduler_fixture_object(
		&w->f, "{'metadata':{'name':'x','namespace':'y','uid':'z','labels':{'a/b.c':'1'},"
		       "'annotations':{'q':'say \\u0022hi\\u0022'}},"
		       "'spec':{'a/b':{'~':[1,{'c':'d\\n'},null]},'':7,'e':{}}}");
	assert_true(str_eqz(extension_text(HOST->name(HOST->host, &o)), "x"));
	assert_true(str_eqz(extension_text(HOST->ns(HOST->host, &o)), "y"));
	assert_true(str_eqz(extension_text(HOST->uid(HOST->host, &o)), "z"));
	assert_true(str_eqz(extension_text(HOST->label(HOST->host, &o, "a/b.c")), "1"));
	assert_null(HOST->label(HOST->host, &o, "a").p);
	assert_true(str_eqz(extension_text(HOST->annotation(HOST->host, &o, "q")), "say \"hi\""));
	assert_true(str_eqz(value_at(&o, "/spec/a~1b/~0/1/c"), "d\n"));
	assert_true(str_eqz(value_at(&o, "/spec/a~1b/~0/0"), "1"));
	assert_true(str_eqz(value_at(&o, "/spec/a~1b/~0/1"), "{\"c\":\"d\\n\"}"));
	assert_true(str_eqz(value_at(&o, "/spec/"), "7"));
	assert_null(value_at(&o, "/spec/a~1b/~0/2").p);
	assert_null(value_at(&o, "/spec/a~1b/~0/3").p);
	assert_null(value_at(&o, "/spec/a~1b/~0/x").p);
	assert_null(value_at(&o, "/spec/none/deeper").p);
	assert_null(value_at(&o, "spec").p);
	assert_null(HOST->path(HOST->host, "/~2"));
	assert_true(str_eqz(
		extension_text(HOST->get(HOST->host, &o, HOST->path(HOST->host, "/metadata/name"))),
		"x"));
	assert_int_equal(HOST->count(HOST->host, &o, "/spec/a~1b/~0"), 3);
	assert_int_equal(HOST->count(HOST->host, &o, "/spec/e"), 0);
	assert_int_equal(HOST->count(HOST->host, &o, ""), 2);
	assert_int_equal(HOST->count(HOST->host, &o, "/metadata/name"), -1);
	assert_int_equal(HOST->quantity(HOST->host, (struct dp_text){ "1500m", 5 }, &value), 0);
	assert_int_equal(value, 2);
	assert_int_equal(HOST->quantity(HOST->host, (struct dp_text){ "much", 4 }, &value), -1);
	cached_unref(o.object);
}

static void nodes_are_read_as_the_cycle_has_them(void **state)
{
	struct extension_world *w = *state;
	const struct dp_node_info *n;
	int64_t allocatable, requested;

	start_every(w);
	scheduler_fixture_pod(&w->f, "{'name':'a','nodeName':'n1','requests':{'cpu':'1',"
				     "'example.com/x':3}}");
	n = (const struct dp_node_info *)snapshot_find(nodecache_snapshot(w->f.services.nodes),
						       STR("n1"));
	assert_true(str_eqz(extension_text(HOST->node_name(HOST->host, n)), "n1"));
	assert_int_equal(HOST->node_pods(HOST->host, n), 1);
	assert_true(str_eqz(
		extension_text(HOST->name(HOST->host, HOST->node_pod(HOST->host, n, 0))), "a"));
	assert_null(HOST->node_pod(HOST->host, n, 1));
	assert_true(str_eqz(
		extension_text(HOST->name(HOST->host, HOST->node_object(HOST->host, n))), "n1"));
	HOST->node_amount(HOST->host, n, "cpu", &allocatable, &requested);
	assert_int_equal(allocatable, 4000);
	assert_int_equal(requested, 1000);
	HOST->node_amount(HOST->host, n, "pods", &allocatable, &requested);
	assert_int_equal(allocatable, 110);
	assert_int_equal(requested, 1);
	HOST->node_amount(HOST->host, n, "example.com/x", &allocatable, &requested);
	assert_int_equal(requested, 3);
}

static void a_type_without_admit_pod_admits_nobody(void **state)
{
	struct extension_world *w = *state;
	struct cycle *c;
	int64_t requested = 1, available = 1;

	start_every(w);
	c = scheduler_fixture_cycle(&w->f, "{'name':'p'}");
	assert_int_equal(HOST->admit(HOST->host, (const struct dp_node_info *)c->feasible[0],
				     "count.example.com",
				     HOST->cycle_pod(HOST->host, (struct dp_cycle *)c), &requested,
				     &available),
			 DP_ERROR);
	assert_int_equal(requested, 0);
	assert_int_equal(available, 0);
	cycle_free(c);
}

/* --- extended resources ------------------------------------------------------------------ */

static void *counter(int from)
{
	int *v = malloc(sizeof(*v));

	*v = from;
	++*(int *)symbol("alive");
	return v;
}

static void *change_to(void *arg, void *copy)
{
	if (copy)
		*(int *)copy += 100;
	return arg ? arg : copy;
}

static void *drop(void *arg UNUSED, void *copy UNUSED)
{
	return NULL;
}

static void the_cache_is_changed_in_steps(void **state)
{
	struct extension_world *w = *state;
	struct dp_cache *cache;

	start_every(w);
	cache = *(struct dp_cache **)symbol("cache_of_handle");
	scheduler_fixture_pod(&w->f, "{'name':'a','nodeName':'n1'}");
	assert_null(HOST->cache_get(cache, "n1"));
	HOST->cache_set(cache, "n1", counter(10));
	assert_int_equal(*(const int *)HOST->cache_get(cache, "n1"), 11);
	HOST->cache_update(cache, "n1", change_to, NULL);
	assert_int_equal(*(const int *)HOST->cache_get(cache, "n1"), 111);
	HOST->cache_update(cache, "n1", change_to, counter(50));
	assert_int_equal(*(const int *)HOST->cache_get(cache, "n1"), 51);
	HOST->cache_update(cache, "n1", drop, NULL);
	assert_null(HOST->cache_get(cache, "n1"));
	HOST->cache_update(cache, "n1", change_to, counter(5));
	HOST->cache_delete(cache, "n1");
	HOST->cache_delete(cache, "n1");
	assert_null(HOST->cache_get(cache, "n1"));
	nodecache_snapshot(w->f.services.nodes);
	assert_int_equal(*(int *)symbol("alive"), 0);
}

static void a_handle_shows_the_running_cycle_s_state(void **state)
{
	struct extension_world *w = *state;
	const struct dp_handle *handle;
	struct dp_cache *cache;
	const struct snapshot *s;

	start_every(w);
	cache = *(struct dp_cache **)symbol("cache_of_handle");
	handle = *(const struct dp_handle **)symbol("handle_of_plugin");
	HOST->cache_set(cache, "n1", counter(1));
	s = nodecache_snapshot(w->f.services.nodes);
	extension_set_snapshot(w->e, s);
	HOST->cache_set(cache, "n1", counter(2));
	assert_int_equal(*(const int *)HOST->handle_get(HOST->host, handle, "n1"), 1);
	assert_int_equal(*(const int *)HOST->node_resource(
				 HOST->host,
				 (const struct dp_node_info *)snapshot_find(s, STR("n1")),
				 "count.example.com"),
			 1);
	extension_set_snapshot(w->e, NULL);
	assert_int_equal(*(const int *)HOST->handle_get(HOST->host, handle, "n1"), 2);
}

static void profiles_share_a_handle(void **state)
{
	struct extension_world *w = *state;

	start_every(w);
	*(int *)symbol("handles_made") = 0;
	assert_int_equal(extension_world_try_profile(w, "Every", NULL, &w->second), 0);
	assert_int_equal(*(int *)symbol("handles_made"), 0);
	assert_int_equal(w->types.v.n, 1);
}

static void handles_and_watches_are_made_only_in_their_time(void **state)
{
	struct extension_world *w = *state;
	struct dp_reason why = { .size = sizeof(why) };
	struct dp_watch watch = { .size = sizeof(watch), .version = "v1", .resource = "pods" };

	start_every(w);
	assert_int_equal(HOST->register_handle(HOST->host, &(struct dp_resource_type){ 0 }, NULL,
					       NULL, NULL, &why),
			 -1);
	assert_string_equal(why.text, "register_handle is for init only");
	assert_int_equal(HOST->watch(HOST->host, &watch, &why), -1);
	assert_string_equal(why.text, "watch is for init and run only");
}

/* --- events ---------------------------------------------------------------------------- */

static void a_change_wakes_those_who_are_interested(void **state)
{
	struct extension_world *w = *state;
	struct dp_cache *cache;

	start_every(w);
	cache = *(struct dp_cache **)symbol("cache_of_handle");
	extension_world_reject_pod(w, "Every", "{'name':'p'}");
	HOST->cache_set(cache, "n1", counter(1)); /* an ADD: nobody is interested */
	sim_run_for(w->sim, 1);
	assert_int_equal(extension_world_waiting(w), 1);
	HOST->cache_set(cache, "n1", counter(2));
	sim_run_for(w->sim, 1);
	assert_int_equal(extension_world_waiting(w), 0);
}

static void wake_tries_pods_again(void **state)
{
	struct extension_world *w = *state;

	start_every(w);
	extension_world_reject_pod(w, "Every", "{'name':'p'}");
	HOST->wake(HOST->host, "none.example.com");
	sim_run_for(w->sim, 1);
	assert_int_equal(extension_world_waiting(w), 1);
	HOST->wake(HOST->host, "count.example.com");
	sim_run_for(w->sim, 1);
	assert_int_equal(extension_world_waiting(w), 0);
}

static void hints_are_asked_with_both_states(void **state)
{
	struct extension_world *w = *state;

	start_every(w);
	assert_false(scheduler_fixture_node_wakes(&w->f, "Every", "{'name':'p'}", EVENT_DELETE,
						  "{'name':'n1'}", NULL));
	assert_true(scheduler_fixture_node_wakes(&w->f, "Every", "{'name':'p'}",
						 EVENT_UPDATE_NODE_LABEL, "{'name':'n1'}",
						 "{'name':'n1'}"));
	assert_false(scheduler_fixture_node_wakes(&w->f, "Every", "{'name':'p'}", EVENT_ADD, NULL,
						  "{'name':'n1'}"));
	assert_string_equal(TRACE, "hint:old hint:both");
}

/* --- messages -------------------------------------------------------------------------- */

static void count_call(void *arg)
{
	++*(int *)arg;
}

static void pods_in_permit_are_told_later(void **state)
{
	struct extension_world *w = *state;

	start_every(w);
	assert_int_equal(HOST->allow(HOST->host, "uid-1"), 0);
	assert_string_equal(w->text, ""); /* not from within the plugin's call */
	sim_run_for(w->sim, 1);
	assert_string_equal(w->text, "allow uid-1 by Every");
	assert_int_equal(HOST->reject(HOST->host, "uid-2", "because"), 0);
	sim_run_for(w->sim, 1);
	assert_string_equal(w->text, "reject uid-2 by Every: because");
	HOST->binding_done(HOST->host, (struct dp_binding *)w, DP_SUCCESS, NULL); /* knows none */
	sim_run_for(w->sim, 1);
}

static void a_binding_may_end_later(void **state)
{
	struct extension_world *w = *state;
	struct plugin *pl;
	struct kept_binding b, left;
	struct dp_binding *under_way;

	start_every(w);
	pl = scheduler_fixture_plugin(&w->f, "Every");
	b = left = kept_binding_of(scheduler_fixture_cycle(&w->f, "{'name':'p'}"));
	pl->kind->pre_bind(pl, &b.binding);
	assert_string_equal(TRACE, "pre_bind n1");
	under_way = *(struct dp_binding **)symbol("binding_under_way");
	HOST->binding_done(HOST->host, under_way, DP_PENDING, "not now");
	assert_int_equal(b.ended, 0);
	sim_run_for(w->sim, 1);
	assert_int_equal(b.ended, 1);
	assert_int_equal(b.answer.code, VERDICT_PENDING);
	assert_true(str_eqz(b.answer.reasons[0], "not now"));
	HOST->binding_done(HOST->host, under_way, DP_SUCCESS, NULL); /* once is enough */
	sim_run_for(w->sim, 1);
	assert_int_equal(b.ended, 1);
	pl->kind->bind(pl, &b.binding);
	assert_int_equal(b.ended, 2);
	assert_int_equal(b.answer.code, VERDICT_SKIP);
	pl->kind->pre_bind(pl, &left.binding); /* never ends: goes with the plugin */
	pl->kind->pre_bind(pl, &b.binding);
	kept_binding_cancel(&b);
	assert_int_equal(b.ended, 3);
	assert_int_equal(b.answer.code, VERDICT_ERROR);
	under_way = *(struct dp_binding **)symbol("binding_under_way");
	HOST->binding_done(HOST->host, under_way, DP_SUCCESS, NULL); /* too late */
	sim_run_for(w->sim, 1);
	assert_int_equal(b.ended, 3);
	cycle_free(b.binding.cycle);
}

static void messages_of_a_plugin_that_is_gone_do_nothing(void **state)
{
	struct extension_world *w = *state;
	const struct dp_scheduler_host *h;
	int calls = 0;

	start_every(w);
	h = HOST;
	h->post(h->host, count_call, &calls);
	sim_run_for(w->sim, 1);
	assert_int_equal(calls, 1);
	h->post(h->host, count_call, &calls);
	h->allow(h->host, "uid-1");
	profile_free(TAKE(w->f.profile));
	sim_run_for(w->sim, 1);
	assert_int_equal(calls, 1);
	assert_string_equal(w->text, "");
}

/* --- metrics --------------------------------------------------------------------------- */

static void metrics_are_the_scheduler_s(void **state)
{
	struct extension_world *w = *state;
	struct buf out = BUF_INIT(65536);
	struct dp_metric *m;

	start_every(w);
	m = HOST->metric(HOST->host, DP_METRIC_COUNTER, "x_total", "Things", "kind", "good");
	HOST->metric_add(m, 2);
	HOST->metric_add(m, -1);
	assert_null(HOST->metric(HOST->host, DP_METRIC_GAUGE, "x_total", "Things", NULL, NULL));
	m = HOST->metric(HOST->host, DP_METRIC_GAUGE, "y", "Other", NULL, NULL);
	HOST->metric_set(m, 4);
	HOST->metric_add(m, -1);
	assert_int_equal(metrics_print(w->metrics, &out), 0);
	assert_non_null(strstr(out.p, "x_total{kind=\"good\"} 2\n"));
	assert_non_null(strstr(out.p, "\ny 3\n"));
	buf_release(&out);
}

/* --- watches --------------------------------------------------------------------------- */

static bool has_synced(void *arg UNUSED)
{
	return strstr(TRACE, "synced") != NULL;
}

static void a_watch_follows_any_resource(void **state UNUSED)
{
	struct sim *sim = sim_new(&(struct sim_opts){ .seed = 7 });
	struct fakeapi *api = fakeapi_new(sim, 7);
	struct extension_world w;
	struct client *client;
	struct informers *set;

	extension_world_init(&w, sim_loop_new(sim, "scheduler"));
	client = fakeapi_client(api, w.loop);
	set = informers_new(client, NULL);
	fakeapi_add(api, "widgets", "ns", "one", "", "");
	fakeapi_add(api, "widgets", "other", "two", "", "");
	assert_int_equal(extension_world_load(&w, folder, "plugin_every"), 0);
	assert_int_equal(extension_world_try_profile(&w, "Every", NULL, &w.f.profile), 0);
	assert_int_equal(extension_run(w.e, &w.f.services, set, &w.err), 0);
	assert_false(extension_synced(w.e));
	informers_start(set);
	assert_true(sim_run_until(sim, has_synced, NULL, 60000));
	assert_string_equal(TRACE, "init run add:one add:two synced");
	assert_true(extension_synced(w.e));
	informers_free(set);
	client_free(client);
	extension_world_release(&w);
	sim_run_for(sim, 1000);
	fakeapi_free(api);
	loop_free(w.loop);
	sim_free(sim);
}

/* --- threads --------------------------------------------------------------------------- */

struct waiter {
	struct loop_timer timer;
	const int *came;
};

static void on_look(struct loop_timer *t)
{
	struct waiter *w = CONTAINER_OF(t, struct waiter, timer);

	if (*w->came == 1000)
		loop_stop(t->loop);
	else
		loop_timer_start(t, 1);
}

static void a_plugin_may_have_threads(void **state UNUSED)
{
	struct buf path = BUF_INIT(4096);
	struct extension_world w;
	struct loop *loop = NULL;
	struct waiter look;
	struct error err;
	void *library;

	assert_int_equal(loop_new(&loop, &err), 0);
	extension_world_init(&w, loop);
	extension_world_start(&w, folder, "plugin_threads", "threads");
	(void)buf_printf(&path, "%s/plugin_threads.so", folder);
	library = dlopen(path.p, RTLD_NOW | RTLD_NOLOAD);
	look.came = dlsym(library, "posts_that_came");
	loop_timer_init(&look.timer, loop, on_look);
	loop_timer_start(&look.timer, 0);
	loop_run(loop);
	assert_int_equal(*look.came, 1000);
	dlclose(library);
	extension_world_release(&w);
	loop_free(loop);
	buf_release(&path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(an_unusable_plugin_is_rejected_with_a_message),
		TEST(a_name_is_taken_once),
		TEST(a_plugin_of_the_first_header_works),
		TEST(a_plugin_of_a_version_to_come_works),
		TEST(callbacks_beyond_a_plugins_size_are_not_called),
		TEST(a_failing_init_says_why),
		TEST(all_is_closed_in_order),
		TEST(a_plugin_takes_part_at_every_point),
		TEST(scores_are_normalised),
		TEST(objects_are_read_by_pointer),
		TEST(nodes_are_read_as_the_cycle_has_them),
		TEST(a_type_without_admit_pod_admits_nobody),
		TEST(the_cache_is_changed_in_steps),
		TEST(a_handle_shows_the_running_cycle_s_state),
		TEST(profiles_share_a_handle),
		TEST(handles_and_watches_are_made_only_in_their_time),
		TEST(a_change_wakes_those_who_are_interested),
		TEST(wake_tries_pods_again),
		TEST(hints_are_asked_with_both_states),
		TEST(pods_in_permit_are_told_later),
		TEST(a_binding_may_end_later),
		TEST(messages_of_a_plugin_that_is_gone_do_nothing),
		TEST(metrics_are_the_scheduler_s),
		cmocka_unit_test(a_watch_follows_any_resource),
		cmocka_unit_test(a_plugin_may_have_threads),
	};

	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
