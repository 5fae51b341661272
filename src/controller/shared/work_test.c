/*
 * The life of the work for a key: it ends, is retried, or is canceled with its controller.
 */
#include "controller/shared/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/work/workqueue.h"
#include "controller/run/controller_world.h"

struct work_bench {
	struct controller_world *w;
	struct workqueue *queue;
	struct works works;
	struct resource pods;
	unsigned begun, released, answered;
};

struct work_of_test {
	struct work work;
	struct work_bench *owner;
	char *extra;
};

static void on_release(struct work *w)
{
	struct work_of_test *t = CONTAINER_OF(w, struct work_of_test, work);

	t->owner->released++;
	free(t->extra);
}

/* The first try fails. */
static void on_read(struct client_request *r, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	struct work_of_test *t = r->arg;

	t->owner->answered++;
	assert_null(err);
	if (t->owner->answered == 1)
		work_fail(&t->work, "not yet", &(struct error){ .code = ERR_CONFLICT });
	else
		work_end(&t->work, false);
}

static void work_handle(void *arg, struct str key)
{
	struct work_bench *b = arg;
	struct work_of_test *t = work_new(&b->works, sizeof(*t), key);

	b->begun++;
	t->owner = b;
	t->extra = str_dup(key);
	assert_true(str_eqz(t->work.key, "p"));
	t->work.request.on_done = on_read;
	client_get(b->w->ctx.client, &t->work.request, &b->pods, STR("n"),
		   arena_str(&t->work.arena, key));
}

static struct work_bench *work_bench_new(void)
{
	struct work_bench *b = XNEW(struct work_bench);

	b->w = controller_world_new(3);
	controller_world_start(b->w);
	b->pods = resource_builtin("", "v1", "pods");
	fakeapi_add(b->w->api, "pods", "n", "p", "", "");
	b->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = b->w->loop, .handle = work_handle, .arg = b });
	works_init(&b->works, b->queue, b->w->ctx.log, "pod", on_release);
	workqueue_add(b->queue, STR("p"));
	return b;
}

static void work_bench_free(struct work_bench *b)
{
	works_release(&b->works);
	workqueue_free(b->queue);
	controller_world_stop(b->w);
	controller_world_free(b->w);
	free(b);
}

static void failed_work_is_tried_again(void **state UNUSED)
{
	struct work_bench *b = work_bench_new();

	controller_world_run(b->w, 5000);
	assert_int_equal(b->begun, 2);
	assert_int_equal(b->answered, 2);
	assert_int_equal(b->released, 2);
	assert_int_equal(workqueue_running(b->queue), 0);
	assert_int_equal(workqueue_num_requeues(b->queue, STR("p")), 0);
	work_bench_free(b);
}

static void work_under_way_is_canceled(void **state UNUSED)
{
	struct work_bench *b = work_bench_new();

	for (int i = 0; i < 1000 && b->begun == 0; i++)
		controller_world_run(b->w, 1);
	assert_int_equal(b->begun, 1);
	works_release(&b->works);
	controller_world_run(b->w, 5000);
	assert_int_equal(b->answered, 0);
	assert_int_equal(b->released, 1);
	assert_int_equal(workqueue_running(b->queue), 1);
	work_bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_work_is_tried_again),
		cmocka_unit_test(work_under_way_is_canceled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
