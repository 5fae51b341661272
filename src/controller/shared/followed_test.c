/*
 * Two kinds of one controller: the queues are held until both have their state.
 */
#include "controller/shared/followed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "client/work/workqueue.h"
#include "controller/run/controller_world.h"

struct followed_bench {
	struct controller_world *w;
	struct workqueue *queue, *other;
	struct following following;
	struct followed pods, histories; /* histories are served once they are defined */
	unsigned synced, handled;
	char last[64];
};

static void followed_handle(void *arg, struct str key)
{
	struct followed_bench *b = arg;

	b->handled++;
	(void)snprintf(b->last, sizeof(b->last), "%.*s", STR_ARG(key));
	workqueue_finish(str_eqz(key, "x") ? b->other : b->queue, key, false);
}

static void on_all_synced(struct following *f)
{
	struct followed_bench *b = CONTAINER_OF(f, struct followed_bench, following);

	assert_true(following_synced(f));
	assert_int_equal(b->handled, 0);
	b->synced++;
}

static struct workqueue *followed_queue(struct followed_bench *b)
{
	return workqueue_new(&(struct workqueue_opts){
		.loop = b->w->loop, .handle = followed_handle, .arg = b });
}

static struct followed_bench *followed_bench_new(void)
{
	static const struct cache_index by_node[] = { { "node", NULL, "spec.nodeName" }, { 0 } };
	struct followed_bench *b = XNEW(struct followed_bench);

	b->w = controller_world_new(5);
	controller_world_start(b->w);
	fakeapi_add(b->w->api, "pods", "n", "p", "", ",\"spec\":{\"nodeName\":\"one\"}");
	b->queue = followed_queue(b);
	b->other = followed_queue(b);
	following_init(&b->following, b->w->ctx.informers);
	following_hold(&b->following, b->queue);
	following_hold(&b->following, b->other);
	b->following.on_synced = on_all_synced;
	b->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = by_node,
		.handler = { .on_add = followed_on_add,
			     .on_update = followed_on_update,
			     .on_delete = followed_on_delete },
	};
	b->histories.resource = (struct resource){ .group = STR("devplane.dev"),
						   .version = STR("v1alpha1"),
						   .resource = STR("devicehistories") };
	follow(&b->following, &b->pods);
	follow(&b->following, &b->histories);
	informers_start(b->w->ctx.informers);
	return b;
}

static void define_histories(struct followed_bench *b)
{
	fakeapi_add(b->w->api, "customresourcedefinitions", "", "devicehistories.devplane.dev", "",
		    "");
}

static void followed_bench_free(struct followed_bench *b)
{
	following_end(&b->following);
	workqueue_free(b->queue);
	workqueue_free(b->other);
	controller_world_stop(b->w);
	controller_world_free(b->w);
	free(b);
}

static void queues_wait_for_all_kinds(void **state UNUSED)
{
	struct followed_bench *b = followed_bench_new();

	controller_world_run(b->w, 5000);
	assert_true(b->pods.handler.synced);
	assert_false(following_synced(&b->following));
	assert_int_equal(workqueue_len(b->queue), 1);
	assert_int_equal(b->synced + b->handled, 0);
	workqueue_add(b->other, STR("x"));
	define_histories(b);
	controller_world_run(b->w, 60000);
	assert_int_equal(b->synced, 1);
	assert_int_equal(b->handled, 2);
	assert_int_equal(workqueue_len(b->other), 0);
	followed_bench_free(b);
}

static void every_change_of_an_object_queues_its_key(void **state UNUSED)
{
	struct followed_bench *b = followed_bench_new();
	struct cache_walk walk = { 0 };

	define_histories(b);
	controller_world_run(b->w, 5000);
	assert_int_equal(b->handled, 1);
	assert_string_equal(b->last, "n/p");
	assert_non_null(cache_next_by(informer_cache(b->pods.informer), "node", STR("one"), &walk));
	cache_walk_end(&walk);
	assert_int_equal(fakeapi_call(b->w->api, "PUT", "/api/v1/namespaces/n/pods/p",
				      STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}}"),
				      NULL),
			 200);
	controller_world_run(b->w, 1000);
	assert_int_equal(b->handled, 2);
	(void)fakeapi_call(b->w->api, "DELETE", "/api/v1/namespaces/n/pods/p", STR_NULL, NULL);
	controller_world_run(b->w, 1000);
	assert_int_equal(b->handled, 3);
	following_end(&b->following);
	fakeapi_add(b->w->api, "pods", "n", "q", "", "");
	controller_world_run(b->w, 1000);
	assert_int_equal(b->handled, 3);
	followed_bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_wait_for_all_kinds),
		cmocka_unit_test(every_change_of_an_object_queues_its_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
