/*
 * Whose an object is, as a table; adoption and release against a fake API server.
 */
#include "controller/pods/owned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define SETS "/apis/apps/v1/namespaces/n/replicasets"
#define REF(u)                                                                                    \
	"\"ownerReferences\":[{\"kind\":\"X\",\"name\":\"x\",\"uid\":\"other\"},{\"apiVersion\":" \
	"\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"web\",\"uid\":\"" u                       \
	"\",\"controller\":true}]"
#define LABELS "\"labels\":{\"app\":\"web\"}"
#define GOING  "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\""

static struct selector app_web(struct arena *a)
{
	struct selector s;

	assert_int_equal(selector_parse_labels(a, STR("app=web"), &s, NULL), 0);
	return s;
}

static void the_reference_and_the_labels_decide(void **state UNUSED)
{
	static const struct {
		const char *ns, *meta;
		bool deleting;
		enum owned_verdict verdict;
	} cases[] = {
		{ "n", LABELS "," REF("u1"), false, OWNED_KEPT },
		{ "n", LABELS "," REF("u1"), true, OWNED_KEPT },
		{ "n", LABELS "," GOING "," REF("u1"), false, OWNED_KEPT },
		{ "n", REF("u1"), false, OWNED_RELEASE },
		{ "n", REF("u1"), true, OWNED_OTHERS },
		{ "n", GOING "," REF("u1"), false, OWNED_OTHERS },
		{ "n", LABELS "," REF("u2"), false, OWNED_OTHERS },
		{ "n", REF("u2"), false, OWNED_OTHERS },
		{ "n", LABELS, false, OWNED_ADOPT },
		{ "n", LABELS ",\"ownerReferences\":[{\"uid\":\"u2\",\"controller\":false}]", false,
		  OWNED_ADOPT },
		{ "n", LABELS, true, OWNED_OTHERS },
		{ "n", LABELS "," GOING, false, OWNED_OTHERS },
		{ "m", LABELS, false, OWNED_OTHERS },
		{ "n", "\"labels\":{\"app\":\"other\"}", false, OWNED_OTHERS },
		{ "n", "\"labels\":{}", false, OWNED_OTHERS },
	};
	struct arena a;
	struct selector selector;

	arena_init(&a, MIB);
	selector = app_web(&a);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct owner owner = { .ns = STR("n"),
				       .uid = STR("u1"),
				       .selector = &selector,
				       .deleting = cases[i].deleting };
		const char *text = arena_printf(
			&a, "{\"metadata\":{\"name\":\"p\",\"namespace\":\"%s\",%s}}", cases[i].ns,
			cases[i].meta);
		struct cached *o;

		assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
		if (owned_judge(&owner, o, &a) != cases[i].verdict)
			fail_msg("case %zu: %d", i, owned_judge(&owner, o, &a));
		cached_unref(o);
	}
	arena_release(&a);
}

/* --- owners ---------------------------------------------------------------------------------- */

static struct cached *owned_made(struct arena *a, const char *ns, const char *name,
				 const char *meta)
{
	const char *text = arena_printf(
		a, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"%s}}", name, ns, meta);
	struct cached *o = NULL;

	assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
	return o;
}

static void the_controller_has_the_kind_the_name_and_the_uid(void **state UNUSED)
{
	static const struct {
		const char *ns, *kind, *meta;
		bool orphan, found;
	} cases[] = {
		{ "n", "ReplicaSet", "," REF("u1"), false, true },
		{ "n", "ReplicaSet", "," REF("u2"), false, false },
		{ "m", "ReplicaSet", "," REF("u1"), false, false },
		{ "n", "Deployment", "," REF("u1"), false, false },
		{ "n", "ReplicaSet", ",\"ownerReferences\":[{\"uid\":\"u1\"}]", true, false },
		{ "n", "ReplicaSet", "", true, false },
	};
	struct arena a, scratch;
	struct cache sets;

	arena_init(&a, MIB);
	arena_init(&scratch, MIB);
	cache_init(&sets);
	assert_null(cache_put(&sets, owned_made(&a, "n", "web", ",\"uid\":\"u1\"")));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cached *o = owned_made(&a, cases[i].ns, "p", cases[i].meta);
		struct cached *set = owned_controller_in(&sets, cases[i].kind, o, &scratch);

		if ((set != NULL) != cases[i].found ||
		    owned_is_orphan(o, &scratch) != cases[i].orphan)
			fail_msg("case %zu", i);
		cached_unref(o);
	}
	cache_release(&sets);
	arena_release(&scratch);
	arena_release(&a);
}

/* --- claiming -------------------------------------------------------------------------------- */

struct owned_bench {
	struct controller_world *w;
	struct arena arena;
	struct resource pods;
	struct selector selector;
	struct owner owner;
	struct informer *informer;
	struct owned_claim claim;
	unsigned done;
	bool at_once;
	struct error err;
	const char *method; /* of the requests that get the fault */
	const char *path;
	int fault;
};

static int owned_fault(void *arg, const struct fakeapi_query *q)
{
	const struct owned_bench *b = arg;

	if (!b->method || !str_eqz(q->method, b->method) ||
	    str_find(q->path, str_from(b->path)) < 0)
		return FAKEAPI_WELL;
	return b->fault;
}

static void on_claimed(struct owned_claim *c, const struct error *err)
{
	struct owned_bench *b = c->arg;

	b->done++;
	if (err)
		b->err = *err;
}

static void owned_add(struct owned_bench *b, const char *name, const char *meta)
{
	fakeapi_add(
		b->w->api, "pods", "n", name,
		arena_printf(&b->arena, ",\"uid\":\"u-%s\"%s%s", name, meta[0] ? "," : "", meta),
		",\"spec\":{}");
}

static struct owned_bench *owned_bench_new(void)
{
	static const struct cache_index indexes[] = {
		{ OWNED_BY_CONTROLLER, owned_index_controller, NULL },
		{ OWNED_ORPHANS, owned_index_orphan, NULL },
	};
	struct owned_bench *b = XNEW(struct owned_bench);

	b->w = controller_world_new(7);
	controller_world_start(b->w);
	arena_init(&b->arena, 64 * MIB);
	b->w->api->fault = owned_fault;
	b->w->api->fault_arg = b;
	b->pods = resource_builtin("", "v1", "pods");
	b->selector = app_web(&b->arena);
	b->owner = (struct owner){ .resource = resource_builtin("apps", "v1", "replicasets"),
				   .api_version = STR("apps/v1"),
				   .kind = STR("ReplicaSet"),
				   .ns = STR("n"),
				   .name = STR("web"),
				   .uid = STR("u1"),
				   .selector = &b->selector };
	fakeapi_add(b->w->api, "replicasets", "n", "web", ",\"uid\":\"u1\"", "");
	b->informer = informers_get(b->w->ctx.informers,
				    &(struct informer_spec){ .resource = &b->pods });
	informer_add_index(b->informer, &indexes[0]);
	informer_add_index(b->informer, &indexes[1]);
	return b;
}

static void owned_bench_free(struct owned_bench *b)
{
	owned_claim_release(&b->claim);
	controller_world_stop(b->w);
	controller_world_free(b->w);
	arena_release(&b->arena);
	free(b);
}

static void claim(struct owned_bench *b)
{
	if (b->done == 0) {
		informers_start(b->w->ctx.informers);
		controller_world_run(b->w, 1000);
		assert_true(informer_synced(b->informer));
	} else {
		owned_claim_release(&b->claim);
	}
	b->done = 0;
	b->claim = (struct owned_claim){ .ctx = &b->w->ctx,
					 .owner = &b->owner,
					 .cache = informer_cache(b->informer),
					 .resource = &b->pods,
					 .finalizer = b->claim.finalizer,
					 .leave = b->claim.leave,
					 .arena = &b->arena,
					 .done = on_claimed,
					 .arg = b };
	owned_claim(&b->claim);
	b->at_once = b->done == 1;
	controller_world_run(b->w, 3000);
	assert_int_equal(b->done, 1);
}

/* The names of the claimed objects, joined by ' '. */
static void assert_owned(struct owned_bench *b, const char *want)
{
	struct buf text = BUF_INIT(KIB);

	for (size_t i = 0; i < b->claim.owned.n; i++)
		(void)buf_printf(&text, "%s%.*s", i ? " " : "",
				 STR_ARG(cached_name(b->claim.owned.v[i])));
	assert_string_equal(text.n > 0 ? text.p : "", want);
	buf_release(&text);
}

static bool is_controlled(const struct owned_bench *b, const char *name)
{
	return fakeapi_has(b->w->api, "pods", "n", name, "\"uid\":\"u1\"");
}

static void what_is_ours_needs_no_request(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	owned_add(b, "b", LABELS "," REF("u1"));
	owned_add(b, "a", LABELS "," REF("u1"));
	owned_add(b, "c", LABELS "," REF("u2"));
	claim(b);
	assert_true(b->at_once);
	assert_owned(b, "a b");
	assert_int_equal(b->w->api->writes, 0);
	owned_bench_free(b);
}

static void orphans_are_adopted_and_strays_released(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	owned_add(b, "a", LABELS);
	owned_add(b, "b", LABELS "," REF("u1"));
	owned_add(b, "c", REF("u1"));
	owned_add(b, "d", "");
	claim(b);
	assert_int_equal(b->err.code, ERR_OK);
	assert_owned(b, "a b");
	assert_true(is_controlled(b, "a"));
	assert_true(fakeapi_has(b->w->api, "pods", "n", "a", "\"blockOwnerDeletion\":true"));
	assert_false(is_controlled(b, "c"));
	/* The other reference stays. */
	assert_true(fakeapi_has(b->w->api, "pods", "n", "c", "\"uid\":\"other\""));
	claim(b);
	assert_true(b->at_once);
	assert_owned(b, "a b");
	owned_bench_free(b);
}

static void a_finalizer_comes_and_goes_with_the_reference(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	b->claim.finalizer = STR("batch.kubernetes.io/job-tracking");
	owned_add(b, "a", LABELS ",\"finalizers\":[\"x/y\"]");
	owned_add(b, "c",
		  REF("u1") ",\"finalizers\":[\"x/y\",\"batch.kubernetes.io/job-tracking\"]");
	claim(b);
	assert_int_equal(b->err.code, ERR_OK);
	assert_true(fakeapi_has(b->w->api, "pods", "n", "a", "job-tracking"));
	assert_true(fakeapi_has(b->w->api, "pods", "n", "a", "x/y"));
	assert_false(fakeapi_has(b->w->api, "pods", "n", "c", "job-tracking"));
	assert_true(fakeapi_has(b->w->api, "pods", "n", "c", "x/y"));
	owned_bench_free(b);
}

static bool leave_finished(const struct cached *o)
{
	return str_eq(cached_field(o, "metadata.annotations.finished", NULL), STR("true"));
}

static void some_are_left_as_they_are(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	b->claim.leave = leave_finished;
	owned_add(b, "a", LABELS ",\"annotations\":{\"finished\":\"true\"}");
	owned_add(b, "b", LABELS ",\"annotations\":{\"finished\":\"true\"}," REF("u1"));
	owned_add(b, "c", "\"annotations\":{\"finished\":\"true\"}," REF("u1"));
	claim(b);
	assert_true(b->at_once);
	assert_owned(b, "b");
	owned_bench_free(b);
}

static void an_owner_that_is_gone_adopts_nothing(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	owned_add(b, "a", LABELS);
	owned_add(b, "b", LABELS "," REF("u1"));
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", SETS "/web", STR_NULL, NULL), 200);
	claim(b);
	assert_int_equal(b->err.code, ERR_NOT_FOUND);
	assert_owned(b, "b");

	/* Another one of that name. */
	fakeapi_add(b->w->api, "replicasets", "n", "web",
		    ",\"uid\":\"u2\",\"finalizers\":[\"x/y\"]", "");
	claim(b);
	assert_int_equal(b->err.code, ERR_CONFLICT);
	assert_false(is_controlled(b, "a"));

	/* It is being deleted, and our copy does not show it yet. */
	b->owner.uid = STR("u2");
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", SETS "/web", STR_NULL, NULL), 200);
	claim(b);
	assert_int_equal(b->err.code, ERR_CONFLICT);
	assert_false(fakeapi_has(b->w->api, "pods", "n", "a", "\"uid\":\"u2\""));
	owned_bench_free(b);
}

static void an_object_that_is_gone_is_skipped(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	owned_add(b, "a", LABELS);
	owned_add(b, "b", LABELS);
	owned_add(b, "c", REF("u1"));
	informers_start(b->w->ctx.informers);
	controller_world_run(b->w, 1000);
	fakeapi_hold_back(b->w->api, "pods");
	for (const char *const *p = (const char *const[]){ "a", "c", NULL }; *p; p++)
		assert_int_equal(
			fakeapi_call(b->w->api, "DELETE",
				     arena_printf(&b->arena, "/api/v1/namespaces/n/pods/%s", *p),
				     STR_NULL, NULL),
			200);
	claim(b);
	assert_int_equal(b->err.code, ERR_OK);
	assert_owned(b, "b");
	owned_bench_free(b);
}

/* The pod "a" was replaced, and our copy does not show it yet. */
static void another_object_of_that_name_is_not_adopted(void **state UNUSED)
{
	struct owned_bench *b = owned_bench_new();

	owned_add(b, "a", LABELS);
	owned_add(b, "b", LABELS);
	informers_start(b->w->ctx.informers);
	controller_world_run(b->w, 1000);
	fakeapi_hold_back(b->w->api, "pods");
	assert_int_equal(
		fakeapi_call(b->w->api, "DELETE", "/api/v1/namespaces/n/pods/a", STR_NULL, NULL),
		200);
	fakeapi_add(b->w->api, "pods", "n", "a", ",\"uid\":\"u-new\"", "");
	claim(b);
	assert_int_equal(b->err.code, ERR_CONFLICT);
	assert_owned(b, "b");
	assert_false(is_controlled(b, "a"));
	fakeapi_catch_up(b->w->api);
	owned_bench_free(b);
}

static void failures_are_reported_and_repaired_later(void **state UNUSED)
{
	static const struct {
		int fault;
		enum error_code code;
		bool done; /* in spite of it */
	} cases[] = {
		{ FAKEAPI_CUT, ERR_OK, false }, { FAKEAPI_DO_AND_CUT, ERR_OK, true },
		{ 403, ERR_FORBIDDEN, false },  { 429, ERR_TOO_MANY_REQUESTS, false },
		{ 500, ERR_INTERNAL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct owned_bench *b = owned_bench_new();

		b->method = "PATCH";
		b->path = "/pods/";
		b->fault = cases[i].fault;
		owned_add(b, "a", LABELS);
		owned_add(b, "c", REF("u1"));
		claim(b);
		assert_true(b->err.code != ERR_OK);
		if (cases[i].code)
			assert_int_equal(b->err.code, cases[i].code);
		assert_owned(b, "");
		assert_int_equal(is_controlled(b, "a"), cases[i].done);
		b->method = NULL;
		b->err.code = ERR_OK;
		claim(b);
		assert_int_equal(b->err.code, ERR_OK);
		assert_owned(b, "a");
		assert_false(is_controlled(b, "c"));
		owned_bench_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reference_and_the_labels_decide),
		cmocka_unit_test(the_controller_has_the_kind_the_name_and_the_uid),
		cmocka_unit_test(what_is_ours_needs_no_request),
		cmocka_unit_test(orphans_are_adopted_and_strays_released),
		cmocka_unit_test(a_finalizer_comes_and_goes_with_the_reference),
		cmocka_unit_test(some_are_left_as_they_are),
		cmocka_unit_test(an_owner_that_is_gone_adopts_nothing),
		cmocka_unit_test(an_object_that_is_gone_is_skipped),
		cmocka_unit_test(another_object_of_that_name_is_not_adopted),
		cmocka_unit_test(failures_are_reported_and_repaired_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
