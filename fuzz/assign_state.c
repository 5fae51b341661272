/*
 * The checkpoint of assignments, from an untrusted source. An accepted checkpoint is the same after
 * it is written and read again, and gives no device to two pods. If all its pods end, are forgotten
 * and their claims unprepared, nothing is left. A rejected checkpoint leaves the log empty.
 */
#include <stdint.h>

#include "assign_target.h"

static void unuse_all(struct assign *s, const struct assign_claim *c)
{
	for (size_t i = 0; i < c->npods; i++)
		(void)assign_claim_unuse(s, c->uid, c->pods[i]);
	assign_claim_forget(s, c->uid);
}

/* Everything that can be asked is asked, and everything ends. */
static void live(struct assign *s, struct arena *a)
{
	struct str uid = STR_NULL, at = STR_NULL;
	struct assign_request request;
	const struct assign_use *uses;
	struct assign_claim claim;
	bool ended;

	while (assign_next_pod(s, &uid, &ended)) {
		(void)assign_uses(s, uid, a, &uses);
		(void)assign_next_request(s, uid, a, &request);
		assign_end_pod(s, uid);
	}
	while (assign_claim_next(s, &at, a, &claim))
		unuse_all(s, &claim);
	for (uid = STR_NULL; assign_next_pod(s, &uid, &ended); uid = STR_NULL)
		assign_forget_pod(s, uid);
}

static void drop_all(struct assign *s)
{
	int64_t capacity, allocatable;

	for (struct str at = STR_NULL; assign_next_resource(s, &at, &capacity, &allocatable);
	     at = STR_NULL)
		assign_drop_resource(s, at);
}

static void try_state(struct str text, const struct machine *m, struct arena *a)
{
	struct assign *s = target_assign_new(m), *other = target_assign_new(m);
	struct str empty = target_assign_text(s, a), once;

	if (assign_decode(s, text, NULL) == 0) {
		once = target_assign_text(s, a);
		require(assign_decode(other, once, NULL) == 0);
		require(str_eq(once, target_assign_text(other, a)));
		live(s, a);
		drop_all(s);
	}
	require(str_eq(empty, target_assign_text(s, a)));
	assign_free(s);
	assign_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct machine m;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	machine_make(&m, 4, 1 << 30, 1);
	try_state(str_of(data, size), &m, &a);
	machine_release(&m);
	arena_release(&a);
	return 0;
}
