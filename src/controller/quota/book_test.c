/*
 * Sums of quotas: whatever is added, changed and removed, they equal a recount.
 */
#include "controller/quota/book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/json/json.h"

#define TERMINATING                                                    \
	"{\"spec\":{\"hard\":{\"pods\":\"5\",\"requests.cpu\":\"9\"}," \
	"\"scopes\":[\"Terminating\"]}}"

enum { PODS = 40, STEPS = 4000, SEEDS = 5, QUOTAS = 3 };

struct world {
	struct arena arena;
	struct quota_book *book;
	struct quota_kind pods;
	const char *objects[PODS]; /* the current objects; NULL: none */
	const char *quotas[QUOTAS];
	struct prng prng;
	int less, more, freed; /* number of calls */
};

static struct json *parsed(struct arena *a, const char *text)
{
	struct json *tree = NULL;

	assert_int_equal(json_parse(a, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

static void on_changed(void *arg, struct str ns, struct str quota, bool less)
{
	struct world *w = arg;

	assert_true(str_eqz(ns, "n") && quota.n);
	w->less += less;
	w->more += !less;
}

static void on_freed(void *arg, struct str ns, struct str quota, const struct amount *amount)
{
	struct world *w = arg;

	assert_true(str_eqz(ns, "n") && quota.n && amount->name.n);
	assert_true(quantity_sign(amount->q) > 0);
	w->freed++;
}

static unsigned below(struct world *w, unsigned n)
{
	return (unsigned)prng_below(&w->prng, n);
}

static void put(struct world *w, unsigned i)
{
	CLEANUP(arena_release) struct arena a;
	struct quota_book_listener listener = { on_changed, on_freed, w };
	struct quota_context ctx = { .arena = &a };
	const char *name;

	arena_init(&a, SIZE_MAX);
	name = arena_printf(&a, "p%u", i);
	quota_book_put(w->book, 0, &w->pods, &ctx, STR("n"), str_from(name),
		       w->objects[i] ? parsed(&a, w->objects[i]) : NULL, &listener);
}

static const char *random_pod(struct world *w)
{
	static const char *const phases[] = { "Pending", "Running", "Failed", "Succeeded" };
	static const char *const amounts[] = { "100m", "1", "0", "2500u", "3" };

	return arena_printf(
		&w->arena,
		"{\"spec\":{%s\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
		"\"cpu\":\"%s\",\"example.com/x\":\"%u\"}}}]},\"status\":{\"phase\":\"%s\"}}",
		below(w, 2) ? "\"activeDeadlineSeconds\":1," : "",
		amounts[below(w, ARRAY_SIZE(amounts))], below(w, 4),
		phases[below(w, ARRAY_SIZE(phases))]);
}

static const char *random_quota(struct world *w)
{
	static const char *const specs[] = {
		"{\"spec\":{\"hard\":{\"pods\":\"5\",\"cpu\":\"9\"}}}",
		"{\"spec\":{\"hard\":{\"count/pods\":\"5\",\"requests.example.com/x\":\"9\"}}}",
		TERMINATING,
		"{\"spec\":{\"hard\":{\"services\":\"5\"}}}",
	};

	return specs[below(w, ARRAY_SIZE(specs))];
}

static void set_quota(struct world *w, unsigned i, const char *spec)
{
	CLEANUP(arena_release) struct arena a;
	const char *name;

	arena_init(&a, SIZE_MAX);
	name = arena_printf(&a, "q%u", i);
	w->quotas[i] = spec;
	if (quota_book_set_quota(w->book, STR("n"), str_from(name), spec ? parsed(&a, spec) : NULL))
		for (unsigned j = 0; j < PODS; j++)
			put(w, j);
}

/* Counts the same from scratch. */
static struct amount_list recount(struct world *w, const char *spec, struct arena *a)
{
	struct quota_context ctx = { .arena = a };
	struct amount_list sums = amount_list_new(a), masked = sums;
	struct quota_item item;
	struct quota q;

	quota_read(parsed(a, spec), a, &q);
	for (size_t i = 0; i < PODS; i++) {
		if (!w->objects[i])
			continue;
		quota_measure(&w->pods, &ctx, parsed(a, w->objects[i]), a, &item);
		if (quota_covers(&q, &item))
			amount_list_add(&sums, &item.usage);
	}
	for (size_t i = 0; i < q.wanted.n; i++) {
		const struct quantity *v = amount_list_get(&sums, q.wanted.v[i].name);
		static const struct quantity zero;

		amount_list_set(&masked, q.wanted.v[i].name, v ? *v : zero);
	}
	return masked;
}

static void assert_sums(struct world *w)
{
	for (unsigned i = 0; i < QUOTAS; i++) {
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf want = BUF_INIT(KIB);
		CLEANUP(buf_release) struct buf got = BUF_INIT(KIB);
		struct amount_list sums, again;
		const char *name;

		arena_init(&a, SIZE_MAX);
		name = arena_printf(&a, "q%u", i);
		assert_int_equal(quota_book_sums(w->book, STR("n"), str_from(name), &a, &sums),
				 w->quotas[i] != NULL);
		if (!w->quotas[i])
			continue;
		again = recount(w, w->quotas[i], &a);
		amount_list_print(&again, &want);
		amount_list_print(&sums, &got);
		if (!amount_list_equal(&again, &sums))
			fail_msg("sums %s, recounted %s", got.p, want.p);
	}
}

static void step(struct world *w)
{
	unsigned i = below(w, PODS);

	if (below(w, 50) == 0) {
		set_quota(w, below(w, QUOTAS), below(w, 4) ? random_quota(w) : NULL);
		return;
	}
	w->objects[i] = below(w, 3) ? random_pod(w) : NULL;
	put(w, i);
}

static void run_seed(uint64_t seed)
{
	struct world w = { .book = quota_book_new() };

	arena_init(&w.arena, SIZE_MAX);
	prng_init(&w.prng, seed);
	assert_true(quota_kind_of(STR(""), STR("pods"), &w.pods));
	for (int i = 0; i < STEPS; i++) {
		step(&w);
		if (i % 16 == 0)
			assert_sums(&w);
	}
	assert_sums(&w);
	assert_true(w.less > 0 && w.more > 0);
	for (unsigned i = 0; i < QUOTAS; i++)
		set_quota(&w, i, NULL);
	assert_int_equal(quota_book_count(w.book), 0);
	assert_false(quota_book_has(w.book, STR("n")));
	quota_book_free(w.book);
	arena_release(&w.arena);
}

static void sums_are_what_a_recount_says(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run_seed(seed);
}

static void a_status_of_its_own_is_no_change(void **state)
{
	struct world w = { .book = quota_book_new() };

	(void)state;
	arena_init(&w.arena, SIZE_MAX);
	assert_true(
		quota_book_set_quota(w.book, STR("n"), STR("q"),
				     parsed(&w.arena, "{\"spec\":{\"hard\":{\"pods\":\"1\"}}}")));
	assert_false(
		quota_book_set_quota(w.book, STR("n"), STR("q"),
				     parsed(&w.arena, "{\"spec\":{\"hard\":{\"pods\":\"1\"}},"
						      "\"status\":{\"used\":{\"pods\":\"1\"}}}")));
	quota_book_free(w.book);
	arena_release(&w.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_what_a_recount_says),
		cmocka_unit_test(a_status_of_its_own_is_no_change),
	};

	return cmocka_run_group_tests_name("controller/quota_book", tests, NULL, NULL);
}
