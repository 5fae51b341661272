/*
 * The quota controller against a fake API server: it releases at once what objects stop using, and
 * releases a charge without an object only when its write can no longer arrive.
 */
#include "controller/quota/resource_quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/quota/quota.h"
#include "base/core/mem.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define QUOTA  "/api/v1/namespaces/a/resourcequotas/q"
#define STATUS QUOTA "/status"

enum { SOON_MS = 3000 };

struct bench {
	struct controller_world *w;
	struct resource_quotas *quotas;
	unsigned lost; /* number of replies to writes of the quota to lose */
};

static int set_up(void **state)
{
	struct bench *b = XNEW(struct bench);

	b->w = controller_world_new(1);
	controller_world_start(b->w);
	b->quotas = resource_quotas_new(&b->w->ctx);
	informers_start(b->w->ctx.informers);
	fakeapi_add(b->w->api, "configmaps", "a", "m1", "", "");
	fakeapi_add(b->w->api, "configmaps", "a", "m2", "", "");
	fakeapi_add(b->w->api, "resourcequotas", "a", "q", "",
		    ",\"spec\":{\"hard\":{\"configmaps\":\"9\"}}");
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	resource_quotas_free(b->quotas);
	controller_world_stop(b->w);
	controller_world_free(b->w);
	free(b);
	return 0;
}

static void run(struct bench *b, int64_t ms)
{
	controller_world_run(b->w, ms);
}

static void assert_used(struct bench *b, int want)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "resourcequotas", "a", "q");
	char text[64];

	(void)snprintf(text, sizeof(text), "\"used\":{\"configmaps\":\"%d\"}", want);
	if (!strstr(o->text, text))
		fail_msg("%s is not in %s", text, o->text);
}

/* As a server does before it writes an object. */
static void charge(struct bench *b, int used)
{
	char body[96];

	(void)snprintf(body, sizeof(body), "{\"status\":{\"used\":{\"configmaps\":\"%d\"}}}", used);
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", STATUS, str_from(body), NULL), 200);
}

static void delete_map(struct bench *b, const char *name)
{
	char target[96];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/a/configmaps/%s", name);
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
}

static void a_charge_waits_for_its_object(void **state)
{
	struct bench *b = *state;

	run(b, SOON_MS);
	assert_used(b, 2);
	charge(b, 3);
	run(b, QUOTA_CHARGE_MS + QUOTA_WRITE_MS);
	assert_used(b, 3);
	/* A deletion meanwhile is released, and the charge is kept. */
	delete_map(b, "m1");
	run(b, SOON_MS);
	assert_used(b, 2);
	fakeapi_add(b->w->api, "configmaps", "a", "m3", "", "");
	run(b, 2 * QUOTA_SETTLED_MS);
	assert_used(b, 2);
}

static void a_charge_without_an_object_is_taken_back(void **state)
{
	struct bench *b = *state;

	run(b, SOON_MS);
	charge(b, 5);
	run(b, QUOTA_SETTLED_MS - SOON_MS);
	assert_used(b, 5);
	run(b, 2 * SOON_MS);
	assert_used(b, 2);
}

static void an_object_that_was_not_charged_is_counted(void **state)
{
	struct bench *b = *state;

	run(b, SOON_MS);
	fakeapi_add(b->w->api, "configmaps", "a", "m3", "", "");
	run(b, SOON_MS);
	assert_used(b, 3);
}

static int lose_answer(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (!b->lost || !str_eqz(q->path, STATUS) || !str_eqz(q->method, "PUT"))
		return FAKEAPI_WELL;
	b->lost--;
	return FAKEAPI_DO_AND_CUT;
}

/*
 * Deletes a map of a quota with that much used, while a fault disturbs the next write of its
 * status.
 */
static void release_with(struct bench *b, int used,
			 int (*fault)(void *arg, const struct fakeapi_query *q))
{
	run(b, SOON_MS);
	charge(b, used);
	run(b, SOON_MS);
	b->w->api->fault = fault;
	b->w->api->fault_arg = b;
	b->lost = 1;
	delete_map(b, "m1");
	run(b, SOON_MS);
}

static void a_release_whose_answer_was_lost_is_not_made_twice(void **state)
{
	struct bench *b = *state;

	release_with(b, 4, lose_answer);
	assert_int_equal(b->lost, 0);
	assert_used(b, 3); /* m2, and two charges */
	run(b, 4 * SOON_MS);
	assert_used(b, 3);
}

static int conflict(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (!b->lost || !str_eqz(q->path, STATUS) || !str_eqz(q->method, "PUT"))
		return FAKEAPI_WELL;
	charge(b, 4); /* a server is first */
	b->lost--;
	return FAKEAPI_WELL;
}

static void a_release_that_conflicts_with_a_charge_is_made_on_top_of_it(void **state)
{
	struct bench *b = *state;

	release_with(b, 3, conflict);
	assert_used(b, 3);
}

static void an_object_that_was_replaced_unseen_is_released(void **state)
{
	struct bench *b = *state;

	run(b, SOON_MS);
	charge(b, 3);
	run(b, SOON_MS);
	fakeapi_hold_back(b->w->api, "configmaps");
	delete_map(b, "m1");
	fakeapi_add(b->w->api, "configmaps", "a", "m1", "", "");
	fakeapi_forget_past(b->w->api);
	fakeapi_catch_up(b->w->api);
	run(b, 2 * SOON_MS);
	assert_used(b, 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_charge_waits_for_its_object),
		T(a_charge_without_an_object_is_taken_back),
		T(an_object_that_was_not_charged_is_counted),
		T(a_release_whose_answer_was_lost_is_not_made_twice),
		T(a_release_that_conflicts_with_a_charge_is_made_on_top_of_it),
		T(an_object_that_was_replaced_unseen_is_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
