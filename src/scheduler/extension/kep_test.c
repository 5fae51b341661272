/*
 * The example of KEP-4187's text: a Filter that reads the resource through the handle, by the name
 * of the node; and other plugins that share its type. The plugins are tests/abi/plugin_kep.c and
 * plugin_share.c.
 */
#include <dlfcn.h>
#include <unistd.h>

#include "base/core/random.h"
#include "base/report/log.h"
#include "scheduler/extension/extension_fixture.h"
#include "scheduler/preemption/preemption.h"

static const char *folder;

static void *symbol_of(const char *plugin, const char *name)
{
	struct buf path = BUF_INIT(4096);
	void *library, *p;

	(void)buf_printf(&path, "%s/%s.so", folder, plugin);
	library = dlopen(path.p, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(library);
	p = dlsym(library, name);
	assert_non_null(p);
	dlclose(library);
	buf_release(&path);
	return p;
}

static void *symbol(const char *name)
{
	return symbol_of("plugin_kep", name);
}

/* The node has so much of the resource. */
static void set_amount(const char *node, int64_t amount)
{
	const struct dp_scheduler_host *host = *(const struct dp_scheduler_host **)symbol(
		"host_of_kep");
	struct dp_cache *cache = *(struct dp_cache **)symbol("cache_of_kep");
	void *(*make)(int64_t);

	*(void **)&make = symbol("new_fake");
	host->cache_set(cache, node, make(amount));
}

static int set_up(void **state)
{
	struct extension_world *w = XNEW(struct extension_world);

	extension_world_init(w, NULL);
	extension_world_start(w, folder, "plugin_kep", "Kep");
	scheduler_fixture_node(&w->f, "{'name':'n1','cpu':'4'}");
	scheduler_fixture_node(&w->f, "{'name':'n2','cpu':'4'}");
	set_amount("n1", 10);
	set_amount("n2", 5);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	extension_world_release(*state);
	free(*state);
	return 0;
}

#define POD(name, priority, amount, node)                                                   \
	"{'metadata':{'name':'" name "','namespace':'default','uid':'" name                 \
	"','annotations':{'fake':'" #amount "'}},'spec':{'containers':[],'nodeName':'" node \
	"','priority':" #priority "}}"

static struct cycle *tried(struct extension_world *w, const char *text,
			   struct cycle_result *ret_result)
{
	CLEANUP(podinfo_unref) struct podinfo *pod = scheduler_fixture_make_pod(&w->f, text);
	const struct snapshot *snapshot = nodecache_snapshot(w->f.services.nodes);
	struct cycle *c = cycle_new(w->f.profile, pod, 1);
	struct prng g;
	size_t start = 0;

	prng_init(&g, 1);
	extension_set_snapshot(w->e, snapshot);
	cycle_run(c, snapshot, &start, &g, ret_result);
	return c;
}

/* As the scheduler does: a cycle, and preemption if no node fits. */
static const char *decide(struct extension_world *w, const char *text)
{
	struct cycle_result result;
	CLEANUP(cycle_free) struct cycle *c = tried(w, text, &result);
	struct preemption p = { .cycle = c, .pdbs = &w->f.pdbs, .percentage = 10, .absolute = 100 };
	struct preemption_choice choice = { 0 };
	bool hopeless;

	if (result.verdict.code == VERDICT_SUCCESS) {
		extension_set_snapshot(w->e, NULL);
		return arena_strdup(&w->f.arena, result.node);
	}
	(void)preemption_decide(&p, &choice, &hopeless);
	extension_set_snapshot(w->e, NULL);
	if (!choice.node)
		return "nowhere";
	return arena_printf(&w->f.arena, "%.*s without %.*s of %zu", STR_ARG(choice.node->name),
			    STR_ARG(choice.victims[0]->name), choice.n);
}

static void the_filter_of_the_kep_preempts(void **state)
{
	struct extension_world *w = *state;

	assert_string_equal(decide(w, POD("p", 5, 10, "")), "n1");
	scheduler_fixture_pod(&w->f, POD("low", 1, 6, "n1"));
	scheduler_fixture_pod(&w->f, POD("lower", 0, 3, "n1"));
	assert_string_equal(decide(w, POD("p", 5, 5, "")), "n2");
	assert_string_equal(decide(w, POD("p", 5, 7, "")), "n1 without low of 1");
	assert_string_equal(decide(w, POD("p", 5, 10, "")), "n1 without low of 2");
	assert_string_equal(decide(w, POD("p", 5, 11, "")), "nowhere");
	assert_string_equal(decide(w, POD("p", 1, 10, "")), "nowhere");
}

static void the_filter_of_the_kep_counts_nominated_pods(void **state)
{
	struct extension_world *w = *state;
	CLEANUP(podinfo_unref)
	struct podinfo *first = scheduler_fixture_make_pod(&w->f, POD("first", 9, 8, ""));

	podqueue_add(w->f.services.queue, first, loop_now(w->loop));
	podqueue_nominate(w->f.services.queue, first, STR("n1"));
	assert_string_equal(decide(w, POD("p", 5, 6, "")), "nowhere");
	assert_string_equal(decide(w, POD("p", 10, 6, "")), "n1");
}

/* --- sharing ------------------------------------------------------------------------- */

/* A second profile with this plugin; its failure is in w->err. */
static int share(struct extension_world *w, const char *file, const char *plugin)
{
	profile_free(TAKE(w->second));
	assert_int_equal(extension_world_load(w, folder, file), 0);
	return extension_world_try_profile(w, plugin, NULL, &w->second);
}

static void a_plugin_with_the_same_layout_shares_the_type(void **state)
{
	struct extension_world *w = *state;

	assert_int_equal(share(w, "plugin_share_same", "same"), 0);
	assert_ptr_equal(*(void **)symbol_of("plugin_share_same", "handle_of_share"),
			 &extended_types_find(&w->types, STR("kep.example.com"))->handle);
	/* The functions are still those of the first. */
	assert_string_equal(decide(w, POD("p", 5, 10, "")), "n1");
}

static void a_plugin_with_another_layout_does_not_start(void **state)
{
	static const char first[] = "the type kep.example.com of extended resource has the layout "
				    "\"example.com/fake\" version 1, and this plugin has ";
	static const struct {
		const char *file, *plugin, *says;
	} cases[] = {
		{ "plugin_share_other", "other", "\"example.com/other\" version 1" },
		{ "plugin_share_newer", "newer", "\"example.com/fake\" version 2" },
		{ "plugin_share_silent", "silent", "\"\" version 0" },
	};
	struct extension_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(share(w, cases[i].file, cases[i].plugin) < 0);
		if (!strstr(w->err.msg, first) || !strstr(w->err.msg, cases[i].says) ||
		    !strstr(w->err.msg, cases[i].plugin))
			fail_msg("%s: %s", cases[i].plugin, w->err.msg);
	}
	assert_int_equal(w->types.v.n, 1);
}

static void plugins_that_share_without_a_layout_are_logged(void **state)
{
	struct extension_world *w = *state;
	char text[1024] = "";
	FILE *out = tmpfile();
	struct log log;

	assert_non_null(out);
	log_init(&log, &(struct log_options){ .level = LOG_LEVEL_WARN, .fd = fileno(out) });
	w->types.log = &log;
	assert_int_equal(share(w, "plugin_share_bare", "bare"), 0);
	/* Another profile of the same plugin is not another plugin. */
	profile_free(TAKE(w->second));
	assert_int_equal(extension_world_try_profile(w, "bare", NULL, &w->second), 0);
	assert_int_equal(pread(fileno(out), text, sizeof(text) - 1, 0), 0);
	assert_int_equal(share(w, "plugin_share_barer", "barer"), 0);
	assert_true(pread(fileno(out), text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "share an extended resource without naming its layout"));
	assert_non_null(strstr(text, "bare.example.com"));
	w->types.log = extended_types_find(&w->types, STR("bare.example.com"))->log = NULL;
	log_release(&log);
	(void)fclose(out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_filter_of_the_kep_preempts),
		TEST(the_filter_of_the_kep_counts_nominated_pods),
		TEST(a_plugin_with_the_same_layout_shares_the_type),
		TEST(a_plugin_with_another_layout_does_not_start),
		TEST(plugins_that_share_without_a_layout_are_logged),
	};

	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
