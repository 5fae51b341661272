/*
 * The contract of store.h with sealed values, on LMDB; and what sealing adds: nothing readable
 * below, keys that come and go, values that were moved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/sealed/sealed_world.h"
#include "store/sealed/value.h"

#define SECRETS "core/secrets"
#define HEAD    SEALED_WORLD_HEAD
#define RULE    SEALED_WORLD_RULE
#define K1      SEALED_WORLD_KEY("aesgcm", "k1", SEALED_WORLD_A)
#define K2      SEALED_WORLD_KEY("aesgcm", "k2", SEALED_WORLD_B)
#define BOX     SEALED_WORLD_KEY("secretbox", "box", SEALED_WORLD_B)
#define CLEAR   "{identity: {}}"

static void reopen(struct store_contract *c, const char *config)
{
	store_contract_close(c);
	sealed_world_configure(sealed_world_of(c), config);
	store_contract_open(c);
}

/* The value of SECRETS ns/`name` as the inner store has it, in the arena of `bare`. */
static struct str below(struct store_contract *bare, const char *name)
{
	const struct store_range range = { .resource = STR(SECRETS), .ns = STR("ns") };
	struct store_contract_read *r = store_contract_range(bare, &range);

	for (size_t i = 0; i < r->got.n; i++)
		if (str_eqz(r->got.items[i].key.name, name))
			return str_of(r->got.items[i].value.p, r->got.items[i].value.n);
	fail_msg("%s is not there", name);
	return STR_NULL;
}

static void end_bare(struct store_contract *c, struct store_contract *bare)
{
	store_contract_close(bare);
	vec_release(&bare->events);
	arena_release(&bare->arena);
	store_contract_open(c);
}

static void check_below(struct store_contract *c, const char *name, const char *prefix)
{
	struct store_contract bare;
	struct str value;

	store_contract_close(c);
	sealed_world_bare(c, &bare);
	value = below(&bare, name);
	assert_true(str_starts(value, str_from(prefix)));
	assert_int_equal(str_find(value, STR("hidden")), *prefix ? -1 : 0);
	end_bare(c, &bare);
}

static const char *values(struct store_contract *c)
{
	const struct store_range range = { .resource = STR(SECRETS) };
	struct store_contract_read *r = store_contract_range(c, &range);

	if (r->result < 0)
		return arena_strdup(&c->arena, str_from(r->err.msg));
	return store_contract_values(c, &r->got);
}

static void the_store_below_sees_no_value(struct store_contract *c)
{
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	check_below(c, "a", "k8s:enc:aesgcm:v1:k1:");
	assert_string_equal(values(c), "ns/a=hidden");
}

static void secretbox_seals_too(struct store_contract *c)
{
	reopen(c, HEAD RULE("secrets", BOX));
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	check_below(c, "a", "k8s:enc:secretbox:v1:box:");
	assert_string_equal(values(c), "ns/a=hidden");
}

static void other_resources_stay_clear(struct store_contract *c)
{
	reopen(c, HEAD RULE("configmaps", K1));
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	check_below(c, "a", "");
}

static void a_new_first_key_seals_and_the_old_one_opens(struct store_contract *c)
{
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	reopen(c, HEAD RULE("secrets", K2 ", " K1));
	(void)store_contract_must_put(c, SECRETS, "ns", "b", "hidden", 0);
	assert_string_equal(values(c), "ns/a=hidden ns/b=hidden");
	check_below(c, "b", "k8s:enc:aesgcm:v1:k2:");
	check_below(c, "a", "k8s:enc:aesgcm:v1:k1:");
}

static void a_missing_key_is_named(struct store_contract *c)
{
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	reopen(c, HEAD RULE("secrets", K2));
	assert_non_null(strstr(values(c), "core/secrets ns/a"));
	assert_non_null(strstr(values(c), "aesgcm key \"k1\""));
	reopen(c, HEAD RULE("secrets", SEALED_WORLD_KEY("aesgcm", "k1", SEALED_WORLD_B)));
	assert_non_null(strstr(values(c), "another aesgcm key named \"k1\""));
	reopen(c, HEAD RULE("configmaps", K1));
	assert_non_null(strstr(values(c), "aesgcm key \"k1\""));
	reopen(c, HEAD RULE("secrets", K1));
	assert_string_equal(values(c), "ns/a=hidden");
}

static void clear_values_need_the_provider_identity(struct store_contract *c)
{
	reopen(c, HEAD RULE("secrets", CLEAR));
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	reopen(c, HEAD RULE("secrets", K1));
	assert_non_null(strstr(values(c), "identity"));
	reopen(c, HEAD RULE("secrets", K1 ", " CLEAR));
	assert_string_equal(values(c), "ns/a=hidden");
}

static void a_moved_value_does_not_open(struct store_contract *c)
{
	struct store_contract bare;
	char *copy;

	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	store_contract_close(c);
	sealed_world_bare(c, &bare);
	copy = arena_strdup(&c->arena, below(&bare, "a"));
	assert_int_equal(store_contract_wait(store_contract_put(
				 &bare, SECRETS, "ns", "b", str_of(copy, below(&bare, "a").n), 0)),
			 0);
	end_bare(c, &bare);
	assert_non_null(strstr(values(c), "core/secrets ns/b: the sealed value is damaged"));
}

static void events_and_chains_carry_clear_values(struct store_contract *c)
{
	struct store_contract_write *w, *next;

	store_contract_follow(c, store_contract_current(c));
	w = store_contract_put(c, SECRETS, "ns", "a", STR("one"), 0);
	next = store_contract_after(w, "two");
	assert_int_equal(store_contract_wait(next), 0);
	assert_int_equal(c->events.n, 2);
	assert_true(str_eqz(c->events.v[0].value, "one"));
	assert_true(str_eqz(c->events.v[1].value, "two"));
	assert_ptr_equal(c->events.v[1].write, &next->write);
}

static void history_begins_after_a_change_that_cannot_be_opened(struct store_contract *c)
{
	struct store_past past;
	int64_t at, later;

	at = store_contract_must_put(c, SECRETS, "ns", "a", "one", 0);
	at = store_contract_must_put(c, SECRETS, "ns", "a", "two", at);
	reopen(c, HEAD RULE("secrets", K2 ", " K1));
	at = store_contract_must_put(c, SECRETS, "ns", "a", "three", at);
	later = store_contract_must_put(c, SECRETS, "ns", "a", "four", at);
	reopen(c, HEAD RULE("secrets", K2));
	assert_int_equal(store_history(c->store, STR(SECRETS), 0, 1 << 20, &c->arena, &past, NULL),
			 0);
	assert_int_equal(past.from, at); /* "three" replaced a value of k1 */
	assert_int_equal(past.n, 1);
	assert_int_equal(past.changes[0].revision, later);
	assert_true(str_eqz(str_of(past.changes[0].value.p, past.changes[0].value.n), "four"));
	assert_true(str_eqz(str_of(past.changes[0].prev.p, past.changes[0].prev.n), "three"));
}

/* --- seals and reload --------------------------------------------------------------------- */

static bool was_reported(void *arg)
{
	return ((struct sealed_world *)arg)->reported != NULL;
}

static void reload(struct store_contract *c, const char *config)
{
	struct sealed_world *w = sealed_world_of(c);

	w->reported = NULL;
	sealed_world_configure(w, config);
	store_contract_until(c, was_reported, w);
}

static uint32_t seal_of(struct store_contract *c, const char *name)
{
	const struct store_range range = { .resource = STR(SECRETS) };
	struct store_contract_read *r = store_contract_range(c, &range);

	for (size_t i = 0; i < r->got.n; i++)
		if (str_eqz(r->got.items[i].key.name, name))
			return r->got.items[i].seal;
	fail_msg("%s is not there", name);
	return 0;
}

static void a_reload_changes_the_seal_of_new_values(struct store_contract *c)
{
	static atomic_uint now, other; /* outlive the store, which the fixture closes */
	unsigned before;

	store_note_seal(c->store, STR(SECRETS), &now);
	store_note_seal(c->store, STR("core/pods"), &other);
	before = atomic_load(&now);
	assert_int_not_equal(before, 0);
	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	assert_int_equal(seal_of(c, "a"), before);
	reload(c, HEAD RULE("secrets", K2 ", " K1));
	(void)store_contract_current(c);
	assert_int_not_equal(atomic_load(&now), before);
	assert_int_equal(atomic_load(&other), 0);
	assert_int_equal(seal_of(c, "a"), before);
	(void)store_contract_must_put(c, SECRETS, "ns", "b", "hidden", 0);
	assert_int_equal(seal_of(c, "b"), atomic_load(&now));
}

static void a_wrong_file_changes_nothing(struct store_contract *c)
{
	struct sealed_world *w = sealed_world_of(c);

	(void)store_contract_must_put(c, SECRETS, "ns", "a", "hidden", 0);
	reload(c, HEAD RULE("secrets", "{aescbc: {}}"));
	assert_non_null(strstr(w->reported, "the old one stays"));
	assert_non_null(strstr(w->why.msg, "aescbc"));
	assert_string_equal(values(c), "ns/a=hidden");
	reload(c, HEAD RULE("secrets", K2 ", " K1));
	assert_non_null(strstr(w->reported, "was reloaded"));
}

static void a_wrong_file_is_refused_at_the_start(struct store_contract *c)
{
	struct sealed_world *w = sealed_world_of(c);
	struct store *s = NULL;
	struct error err = { 0 };

	store_contract_close(c);
	sealed_world_configure(w, HEAD);
	assert_int_equal(sealed_world_open(w, c->loop, &s, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "--encryption-provider-config"));
	sealed_world_configure(w, HEAD RULE("secrets", K1));
	store_contract_open(c);
}

static const struct store_contract_case cases[] = {
	{ "the_store_below_sees_no_value", the_store_below_sees_no_value },
	{ "secretbox_seals_too", secretbox_seals_too },
	{ "other_resources_stay_clear", other_resources_stay_clear },
	{ "a_new_first_key_seals_and_the_old_one_opens",
	  a_new_first_key_seals_and_the_old_one_opens },
	{ "a_missing_key_is_named", a_missing_key_is_named },
	{ "clear_values_need_the_provider_identity", clear_values_need_the_provider_identity },
	{ "a_moved_value_does_not_open", a_moved_value_does_not_open },
	{ "events_and_chains_carry_clear_values", events_and_chains_carry_clear_values },
	{ "history_begins_after_a_change_that_cannot_be_opened",
	  history_begins_after_a_change_that_cannot_be_opened },
	{ "a_reload_changes_the_seal_of_new_values", a_reload_changes_the_seal_of_new_values },
	{ "a_wrong_file_changes_nothing", a_wrong_file_changes_nothing },
	{ "a_wrong_file_is_refused_at_the_start", a_wrong_file_is_refused_at_the_start },
	{ NULL, NULL },
};

int main(void)
{
	struct store_contract_backend threaded = sealed_world_threaded;
	const struct store_contract_backend *const all[] = { &threaded, &sealed_world_inline,
							     &sealed_world_journal, NULL };

	threaded.extra = cases;
	return store_contract_run_all("store/sealed", all);
}
