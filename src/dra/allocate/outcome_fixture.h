/*
 * outcome_fixture - checks that hold for every outcome of the allocator, for tests.
 */
#ifndef DRA_ALLOCATE_OUTCOME_FIXTURE_H
#define DRA_ALLOCATE_OUTCOME_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "dra/allocate/allocate.h"
#include "dra/inventory/excess.h"

enum { OUTCOME_CLAIMS = 8, OUTCOME_RESULTS = 64 };

/* A prepared plan must give the same answer, on a second node, too. */
static inline void outcome_prepared(struct inventory *inv, const struct json *const *claims,
				    size_t n, struct arena *a, int verdict,
				    struct json *const *results)
{
	struct allocate_node node = { .name = STR("n1") }, other = { .name = STR("n2") };
	struct allocate_plan *plan = allocate_prepare(inv, claims, n, NULL, a);
	struct json *again[OUTCOME_CLAIMS] = { 0 };

	assert_true(n <= OUTCOME_CLAIMS);
	assert_int_equal(allocate_on(plan, &node, NULL, NULL, NULL), verdict);
	(void)allocate_on(plan, &other, NULL, NULL, NULL);
	assert_int_equal(allocate_on(plan, &node, a, again, NULL), verdict);
	for (size_t i = 0; verdict > 0 && i < n; i++)
		assert_true(json_equal(results[i], again[i]));
}

/*
 * The API server must accept the results, one claim after the other. The claims need names. The
 * inventory is afterwards as before.
 */
static inline void outcome_accepted(struct inventory *inv, const struct json *const *claims,
				    size_t n, struct arena *a, struct json *const *results)
{
	bool added[OUTCOME_RESULTS];

	for (size_t i = 0; i < OUTCOME_RESULTS; i++)
		added[i] = true;
	for (size_t i = 0; i < n; i++) {
		const struct json *meta = json_getz(claims[i], "metadata");
		const struct inventory_wish wish = {
			.namespace = json_text_at(meta, "namespace"),
			.name = json_text_at(meta, "name"),
			.results = json_getz(json_getz(results[i], "devices"), "results"),
			.added = added,
		};
		struct inventory_excess x;

		assert_true(json_count(wish.results) <= OUTCOME_RESULTS);
		if (inventory_exceeds(inv, &wish, a, &x))
			fail_msg("claim %.*s exceeds %.*s %.*s", STR_ARG(wish.name), STR_ARG(x.set),
				 STR_ARG(x.name));
		assert_int_equal(inventory_assume(inv, claims[i], results[i], NULL), 0);
	}
	for (size_t i = 0; i < n; i++)
		inventory_forget(inv, json_text_at(json_getz(claims[i], "metadata"), "namespace"),
				 json_text_at(json_getz(claims[i], "metadata"), "name"));
}

#endif
