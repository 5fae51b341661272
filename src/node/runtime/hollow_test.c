/*
 * Hollow pods in a simulated world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/runtime/hollow.h"

struct world {
	struct sim *sim;
	struct loop *loop;
	struct runtime *r;
	struct arena arena;
	struct runtime_pair annotation;
	/* Replies. */
	int answers, changes;
	char id[64], error[512], changed[32];
	struct runtime_pod *pod; /* the first of the last list */
	size_t npods;
	bool has_image;
};

static void on_change(void *arg, struct str uid)
{
	struct world *w = arg;

	w->changes++;
	(void)snprintf(w->changed, sizeof(w->changed), "%.*s", STR_ARG(uid));
}

static struct world *world_new(const char *key, const char *value)
{
	struct world *w = XNEW(struct world);

	w->sim = sim_new(NULL);
	w->loop = sim_loop_new(w->sim, "node");
	w->r = runtime_hollow_new(w->loop, 7);
	w->r->on_change = on_change;
	w->r->arg = w;
	w->annotation = (struct runtime_pair){ str_from(key), str_from(value) };
	arena_init(&w->arena, MIB);
	return w;
}

static void world_free(struct world *w)
{
	runtime_free(w->r);
	loop_free(w->loop);
	sim_free(w->sim);
	arena_release(&w->arena);
	free(w);
}

static void note(struct world *w, const struct error *err)
{
	w->answers++;
	(void)snprintf(w->error, sizeof(w->error), "%s", err ? err->msg : "");
}

static void on_done(void *arg, const struct error *err)
{
	note(arg, err);
}

static void on_id(void *arg, struct str id, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	(void)snprintf(w->id, sizeof(w->id), "%.*s", STR_ARG(id));
}

static void on_pods(void *arg, const struct runtime_pods *pods, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	w->npods = pods->n;
	w->pod = pods->n > 0 ? runtime_pod_copy(&w->arena, &pods->v[0]) : NULL;
}

static void on_image(void *arg, const struct runtime_image *image, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	w->has_image = image->ref.n > 0;
}

static void on_exec(void *arg, const struct runtime_exec *result, const struct error *err)
{
	note(arg, err);
	if (result)
		assert_int_equal(result->exit_code, 0);
}

/* Exactly one reply, and not from within the call. */
static void answered(struct world *w)
{
	assert_int_equal(w->answers, 0);
	sim_run_for(w->sim, 0);
	assert_int_equal(w->answers, 1);
	w->answers = 0;
}

static struct sandbox_spec spec_of(struct world *w, const char *uid)
{
	return (struct sandbox_spec){ .uid = str_from(uid),
				      .ns = STR("a"),
				      .name = STR("web"),
				      .annotations = { &w->annotation, w->annotation.key.n > 0 } };
}

static char *run(struct world *w, const char *uid)
{
	struct sandbox_spec spec = spec_of(w, uid);

	w->r->ops->run_sandbox(w->r, &spec, on_id, w);
	answered(w);
	return arena_strdup(&w->arena, str_from(w->id));
}

static char *begin(struct world *w, const char *sandbox, const char *name)
{
	struct sandbox_spec spec = spec_of(w, "u1");
	struct container_spec c = { .name = str_from(name), .image = STR("busybox"), .attempt = 3 };
	char *id;

	w->r->ops->create(w->r, str_from(sandbox), &spec, &c, on_id, w);
	answered(w);
	id = arena_strdup(&w->arena, str_from(w->id));
	w->r->ops->start(w->r, str_from(id), on_done, w);
	answered(w);
	assert_string_equal(w->error, "");
	return id;
}

static const struct runtime_container *look(struct world *w)
{
	w->r->ops->list(w->r, on_pods, w);
	answered(w);
	return w->pod && w->pod->ncontainers > 0 ? &w->pod->containers[0] : NULL;
}

static void a_pod_runs_until_it_is_stopped_and_removed(void **state UNUSED)
{
	struct world *w = world_new(NULL, NULL);
	char *sandbox = run(w, "u1");
	char *id = begin(w, sandbox, "c");
	const struct runtime_container *c = look(w);

	assert_int_equal(c->state, RUNTIME_RUNNING);
	assert_int_equal(c->attempt, 3);
	assert_true(str_eqz(c->id, id));
	assert_true(str_eqz(c->image, "busybox"));
	assert_true(c->started_ns > 0);
	assert_true(str_eqz(w->pod->uid, "u1"));
	assert_true(str_eqz(w->pod->sandboxes[0].ips[0], "10.7.0.1"));
	sim_run_for(w->sim, 3600000);
	assert_int_equal(look(w)->state, RUNTIME_RUNNING);
	assert_int_equal(w->changes, 0);
	w->r->ops->exec(w->r, str_from(id), &(struct runtime_strs){ 0 }, 1000, on_exec, w);
	answered(w);
	assert_string_equal(w->error, "");

	w->r->ops->stop(w->r, str_from(id), 30, on_done, w);
	answered(w);
	c = look(w);
	assert_int_equal(c->state, RUNTIME_EXITED);
	assert_int_equal(c->exit_code, 143);
	assert_true(str_eqz(c->reason, "Error"));
	w->r->ops->stop_sandbox(w->r, str_from(sandbox), on_done, w);
	answered(w);
	(void)look(w);
	assert_false(w->pod->sandboxes[0].ready);
	w->r->ops->remove_sandbox(w->r, str_from(sandbox), on_done, w);
	answered(w);
	(void)look(w);
	assert_int_equal(w->npods, 0);
	world_free(w);
}

static void stopping_a_sandbox_stops_its_containers(void **state UNUSED)
{
	struct world *w = world_new(NULL, NULL);
	char *sandbox = run(w, "u1");

	(void)begin(w, sandbox, "c");
	w->r->ops->stop_sandbox(w->r, str_from(sandbox), on_done, w);
	answered(w);
	assert_int_equal(look(w)->state, RUNTIME_EXITED);
	world_free(w);
}

static void the_newest_comes_first(void **state UNUSED)
{
	struct world *w = world_new(NULL, NULL);
	char *first = run(w, "u1"), *second = run(w, "u1");

	(void)begin(w, second, "old");
	(void)begin(w, second, "new");
	assert_true(str_eqz(look(w)->name, "new"));
	assert_int_equal(w->npods, 1);
	assert_true(str_eqz(w->pod->sandboxes[0].id, second));
	assert_true(str_eqz(w->pod->sandboxes[1].id, first));
	assert_true(str_eqz(w->pod->sandboxes[0].ips[0], "10.7.0.2"));
	world_free(w);
}

static void an_annotation_ends_a_container(void **state UNUSED)
{
	struct world *w = world_new(RUNTIME_HOLLOW_EXIT ".c", "3 after 1m30s");
	const struct runtime_container *c;
	char *sandbox = run(w, "u1");

	(void)begin(w, sandbox, "c");
	sim_run_for(w->sim, 89000);
	assert_int_equal(look(w)->state, RUNTIME_RUNNING);
	sim_run_for(w->sim, 1000);
	assert_int_equal(w->changes, 1);
	assert_string_equal(w->changed, "u1");
	c = look(w);
	assert_int_equal(c->state, RUNTIME_EXITED);
	assert_int_equal(c->exit_code, 3);
	assert_true(llabs(c->finished_ns - c->started_ns - 90 * CLOCK_SEC) < CLOCK_MS);
	(void)begin(w, sandbox, "other");
	sim_run_for(w->sim, 100000);
	assert_int_equal(look(w)->state, RUNTIME_RUNNING);
	world_free(w);
}

static void zero_is_completed_and_nonsense_is_told(void **state UNUSED)
{
	struct world *w = world_new(RUNTIME_HOLLOW_EXIT ".c", "0");
	char *sandbox = run(w, "u1");

	(void)begin(w, sandbox, "c");
	sim_run_for(w->sim, 1);
	assert_true(str_eqz(look(w)->reason, "Completed"));
	w->annotation.value = STR("soon");
	(void)begin(w, sandbox, "c");
	sim_run_for(w->sim, 1);
	assert_int_equal(look(w)->exit_code, 128);
	assert_true(str_find(look(w)->message, STR("hollow-exit")) > 0);
	world_free(w);
}

static void a_pull_fails_as_told_and_other_images_are_there(void **state UNUSED)
{
	struct world *w = world_new(RUNTIME_HOLLOW_PULL_ERROR, "bad:1 no such image");

	(void)run(w, "u1");
	w->r->ops->image(w->r, STR("bad:1"), on_image, w);
	answered(w);
	assert_false(w->has_image);
	w->r->ops->image(w->r, STR("bad"), on_image, w);
	answered(w);
	assert_true(w->has_image);
	w->r->ops->pull(w->r, STR("bad:1"), NULL, NULL, on_id, w);
	answered(w);
	assert_string_equal(w->error, "no such image");
	w->r->ops->pull(w->r, STR("good"), NULL, NULL, on_id, w);
	answered(w);
	assert_string_equal(w->error, "");
	world_free(w);
}

static void a_missing_container_is_an_error_or_already_done(void **state UNUSED)
{
	struct world *w = world_new(NULL, NULL);
	struct sandbox_spec spec = spec_of(w, "u1");

	w->r->ops->create(w->r, STR("x"), &spec, &(struct container_spec){ 0 }, on_id, w);
	answered(w);
	assert_string_equal(w->error, "no sandbox x");
	w->r->ops->start(w->r, STR("x"), on_done, w);
	answered(w);
	assert_string_not_equal(w->error, "");
	w->r->ops->stop(w->r, STR("x"), 1, on_done, w);
	answered(w);
	assert_string_equal(w->error, "");
	w->r->ops->remove(w->r, STR("x"), on_done, w);
	answered(w);
	w->r->ops->remove_sandbox(w->r, STR("x"), on_done, w);
	answered(w);
	assert_string_equal(w->error, "");
	world_free(w);
}

static void cpus_are_remembered(void **state UNUSED)
{
	struct world *w = world_new(NULL, NULL);
	char *id = begin(w, run(w, "u1"), "c");
	struct runtime_limits limits = { .cpus = STR("2-3") };

	assert_int_equal(runtime_hollow_cpus(w->r, str_from(id)).n, 0);
	w->r->ops->update(w->r, str_from(id), &limits, on_done, w);
	answered(w);
	assert_string_equal(w->error, "");
	assert_true(str_eqz(runtime_hollow_cpus(w->r, str_from(id)), "2-3"));
	w->r->ops->stop(w->r, str_from(id), 0, on_done, w);
	answered(w);
	w->r->ops->update(w->r, str_from(id), &limits, on_done, w);
	answered(w);
	assert_string_not_equal(w->error, "");
	world_free(w);
}

static void on_done_freeing(void *arg, const struct error *err UNUSED)
{
	struct world *w = arg;

	w->answers++;
	runtime_free(TAKE(w->r));
}

static void it_can_be_freed_while_it_answers(void **state UNUSED)
{
	struct world *w = world_new(NULL, NULL);

	(void)begin(w, run(w, "u1"), "c");
	w->r->ops->reopen_log(w->r, STR("x"), on_done_freeing, w);
	w->r->ops->list(w->r, on_pods, w);
	sim_run_for(w->sim, 10);
	assert_int_equal(w->answers, 1);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_runs_until_it_is_stopped_and_removed),
		cmocka_unit_test(stopping_a_sandbox_stops_its_containers),
		cmocka_unit_test(the_newest_comes_first),
		cmocka_unit_test(an_annotation_ends_a_container),
		cmocka_unit_test(zero_is_completed_and_nonsense_is_told),
		cmocka_unit_test(a_pull_fails_as_told_and_other_images_are_there),
		cmocka_unit_test(a_missing_container_is_an_error_or_already_done),
		cmocka_unit_test(cpus_are_remembered),
		cmocka_unit_test(it_can_be_freed_while_it_answers),
	};

	return cmocka_run_group_tests_name("node/runtime_hollow", tests, NULL, NULL);
}
