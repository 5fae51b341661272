/*
 * The store on a real etcd: several stores at once, a crash during writes, compaction,
 * certificates, and what else changes etcd's revision.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "store/contract_fixture.h"
#include "store/etcd/client.h"
#include "store/etcd/etcd_fixture.h"
#include "store/etcd/store.h"
#include "store/store_limits.h"

#define PODS "core/pods"

/* --- a store on the etcd of the test ------------------------------------------------------- */

static void *no_place(void)
{
	return NULL;
}

static int open_at(void *place, struct loop *l, struct store **ret_store, struct error *err)
{
	const struct etcd_fixture *etcd = place;
	const char *endpoints[] = { etcd->url };
	struct store_etcd_opts opts = { .endpoints = endpoints,
					.nendpoints = 1,
					.ca_file = etcd->tls ? etcd->ca_file : NULL,
					.cert_file = etcd->tls ? etcd->cert_file : NULL,
					.key_file = etcd->tls ? etcd->key_file : NULL,
					.history_ms = -1 };

	return store_etcd_open(l, &opts, ret_store, err);
}

static void keep_place(void *place UNUSED)
{
}

static const struct store_contract_backend backend = { .make = no_place,
						       .destroy = keep_place,
						       .open = open_at };

/* Opens another store on the same etcd; on another one's loop, if given. */
static void join(struct store_contract *c, struct etcd_fixture *etcd, struct loop *l)
{
	*c = (struct store_contract){ .backend = &backend, .place = etcd, .loop = l };
	arena_init(&c->arena, SIZE_MAX);
	vec_init(&c->events, 1 << 20);
	if (!l)
		assert_int_equal(loop_new(&c->loop, NULL), 0);
	store_contract_open(c);
}

static void leave(struct store_contract *c, bool with_loop)
{
	store_contract_close(c);
	if (with_loop)
		loop_free(c->loop);
	vec_release(&c->events);
	arena_release(&c->arena);
}

static int start_etcd(void **state)
{
	struct etcd_fixture *etcd = XNEW(struct etcd_fixture);

	if (!etcd_fixture_init(etcd)) {
		free(etcd);
		etcd = NULL;
	}
	*state = etcd;
	return 0;
}

static int stop_etcd(void **state)
{
	struct etcd_fixture *etcd = *state;

	if (etcd)
		etcd_fixture_release(etcd);
	free(etcd);
	return 0;
}

/* The etcd of all tests; without it they are skipped. */
static struct etcd_fixture *etcd_of(void **state)
{
	if (!*state)
		skip();
	return *state;
}

struct goal {
	struct store_contract *c;
	int64_t revision;
};

static bool has_delivered(void *arg)
{
	const struct goal *g = arg;

	return g->c->delivered >= g->revision;
}

static void wait_for(struct store_contract *c, int64_t revision)
{
	store_contract_until(c, has_delivered, &(struct goal){ c, revision });
}

/* --- several stores ------------------------------------------------------------------------ */

static void two_stores_see_each_others_writes_in_one_order(void **state)
{
	enum { N = 100 };
	struct store_contract a, b;
	char name[16];

	join(&a, etcd_of(state), NULL);
	join(&b, etcd_of(state), a.loop);
	store_contract_follow(&a, store_contract_current(&a));
	store_contract_follow(&b, a.delivered);
	for (int i = 0; i < N; i++) {
		(void)snprintf(name, sizeof(name), "a-%d", i);
		(void)store_contract_put(&a, PODS, "ns", name, STR("of a"), 0);
		(void)snprintf(name, sizeof(name), "b-%d", i);
		(void)store_contract_put(&b, PODS, "ns", name, STR("of b"), 0);
	}
	store_contract_settle(&a);
	store_contract_settle(&b);
	wait_for(&a, b.delivered);
	wait_for(&b, a.delivered);
	assert_int_equal(a.events.n, 2 * N);
	assert_int_equal(b.events.n, 2 * N);
	for (size_t i = 0; i < a.events.n; i++) {
		bool of_a = str_eqz(a.events.v[i].value, "of a");

		assert_true(str_eq(a.events.v[i].name, b.events.v[i].name));
		assert_int_equal(a.events.v[i].revision, b.events.v[i].revision);
		assert_true(of_a ? !b.events.v[i].write : !a.events.v[i].write);
	}
	leave(&b, false);
	leave(&a, true);
}

static void of_two_writers_one_wins(void **state)
{
	struct store_contract a, b;
	struct store_contract_write *wa, *wb;

	join(&a, etcd_of(state), NULL);
	join(&b, etcd_of(state), a.loop);
	store_contract_follow(&a, store_contract_current(&a));
	store_contract_follow(&b, a.delivered);
	wa = store_contract_put(&a, PODS, "race", "x", STR("of a"), 0);
	wb = store_contract_put(&b, PODS, "race", "x", STR("of b"), 0);
	(void)store_contract_wait(wa);
	(void)store_contract_wait(wb);
	assert_int_equal(wa->result + wb->result, -ERR_CONFLICT);
	/* The loser has seen the conflicting event by now. */
	assert_int_equal((wa->result ? wa : wb)->events_before, 1);
	leave(&b, false);
	leave(&a, true);
}

/* --- a crash ------------------------------------------------------------------------------- */

#define CRASH "test/crash"

enum { CRASH_WRITES = 1500, CRASH_FLIGHT = 64 };

struct crash {
	struct store_contract c;
	struct store_contract_write *w[CRASH_WRITES];
	size_t begun, acked;
	size_t until; /* number of writes to finish */
};

static size_t count_done(const struct crash *z)
{
	size_t n = 0;

	for (size_t i = 0; i < z->begun; i++)
		n += z->w[i]->done;
	return n;
}

/* Keeps writes in flight: a creation, then an update of its key, and so on. */
static bool is_far_enough(void *arg)
{
	struct crash *z = arg;
	size_t done = count_done(z);
	char name[16];

	while (z->begun < CRASH_WRITES && z->begun - done < CRASH_FLIGHT) {
		struct store_contract_write *last = z->begun ? z->w[z->begun - 1] : NULL;

		(void)snprintf(name, sizeof(name), "%05zu", z->begun);
		z->w[z->begun] = z->begun % 2 && !last->done
					 ? store_contract_after(last, name)
					 : store_contract_put(&z->c, CRASH, "ns", name,
							      str_from(name), 0);
		z->begun++;
	}
	return done >= z->until;
}

/* The state that the feed has delivered: the last event of each key. */
static const struct store_contract_event *last_event(const struct store_contract *c,
						     struct str name)
{
	for (size_t i = c->events.n; i > 0; i--)
		if (str_eq(c->events.v[i - 1].name, name))
			return &c->events.v[i - 1];
	return NULL;
}

static void check_crash(struct crash *z)
{
	struct store_range all = { .resource = STR(CRASH) };
	struct store_contract_read *r = store_contract_range(&z->c, &all);
	const struct store_contract_event *e;
	size_t lost = 0;

	wait_for(&z->c, r->got.revision);
	for (size_t i = 0; i < r->got.n; i++) {
		e = last_event(&z->c, r->got.items[i].key.name);
		assert_non_null(e);
		assert_int_equal(e->revision, r->got.items[i].revision);
	}
	for (size_t i = 0; i < z->begun; i++) {
		const struct store_contract_write *w = z->w[i];

		e = last_event(&z->c, w->write.key.name);
		assert_true(w->result == 0 || w->result == -ERR_TIMEOUT ||
			    w->result == -ERR_UNAVAILABLE || w->result == -ERR_CONFLICT);
		if (w->result == 0)
			assert_true(e && e->revision >= w->write.revision);
		if (w->result == -ERR_UNAVAILABLE)
			assert_true(!e || e->write != &w->write);
		lost += w->result != 0;
	}
	/* Only creations in flight, and the writes after them, may have an unknown outcome. */
	assert_true(lost <= 3 * CRASH_FLIGHT);
	assert_false(z->c.lost);
}

static void no_acknowledged_write_is_lost_when_etcd_is_killed(void **state)
{
	struct etcd_fixture *etcd = etcd_of(state);
	struct crash *z = XNEW(struct crash);

	join(&z->c, etcd, NULL);
	store_contract_follow(&z->c, store_contract_current(&z->c));
	for (int round = 1; round <= 3; round++) {
		z->until = (size_t)round * CRASH_WRITES / 4;
		store_contract_until(&z->c, is_far_enough, z);
		etcd_fixture_kill(etcd);
		etcd_fixture_start(etcd);
	}
	z->until = CRASH_WRITES;
	store_contract_until(&z->c, is_far_enough, z);
	check_crash(z);
	leave(&z->c, true);
	free(z);
}

/* --- compaction ---------------------------------------------------------------------------- */

static void compaction_while_disconnected_loses_the_feed(void **state)
{
	struct etcd_fixture *etcd = etcd_of(state);
	struct store_contract a, b;
	int64_t last;

	join(&a, etcd, NULL);
	store_contract_follow(&a, store_contract_current(&a));
	(void)store_contract_must_put(&a, PODS, "ns", "lost-1", "1", 0);
	etcd_fixture_kill(etcd);
	etcd_fixture_start(etcd);
	/* On a separate loop, because the first one's does not run meanwhile. */
	join(&b, etcd, NULL);
	(void)store_contract_must_put(&b, PODS, "ns", "lost-2", "2", 0);
	last = store_contract_must_put(&b, PODS, "ns", "lost-3", "3", 0);
	store_contract_compact(&b, last);
	while (!a.lost)
		loop_run(a.loop);
	a.lost = false;
	a.events.n = 0;
	store_contract_follow(&a, last);
	(void)store_contract_must_put(&a, PODS, "ns", "lost-4", "4", 0);
	assert_int_equal(a.events.n, 1);
	leave(&b, true);
	leave(&a, true);
}

static void etcd_is_compacted_by_itself(void **state)
{
	struct etcd_fixture *etcd = etcd_of(state);
	const char *endpoints[] = { etcd->url };
	struct store_etcd_opts opts = { .endpoints = endpoints, .nendpoints = 1, .history_ms = 50 };
	struct store_range past = { .resource = STR(PODS) };
	struct store_contract c;
	struct store *compactor;
	int r = 0;

	join(&c, etcd, NULL);
	past.revision = store_contract_must_put(&c, PODS, "ns", "old", "1", 0);
	(void)store_contract_must_put(&c, PODS, "ns", "old", "2", past.revision);
	assert_int_equal(store_contract_range(&c, &past)->result, 0);
	assert_int_equal(store_etcd_open(c.loop, &opts, &compactor, NULL), 0);
	while (r == 0)
		r = store_contract_range(&c, &past)->result;
	assert_int_equal(r, -ERR_EXPIRED);
	/* Closes the store of c. */
	store_contract_close(&c);
	c.store = compactor;
	leave(&c, true);
}

/* --- certificates -------------------------------------------------------------------------- */

static void certificates_are_shown_and_checked(void **state UNUSED)
{
	struct etcd_fixture etcd;
	struct store_contract c;

	if (!etcd_fixture_init_tls(&etcd))
		skip();
	join(&c, &etcd, NULL);
	store_contract_follow(&c, store_contract_current(&c));
	(void)store_contract_must_put(&c, PODS, "ns", "a", "1", 0);
	assert_int_equal(c.events.n, 1);
	leave(&c, true);
	etcd_fixture_release(&etcd);
}

struct asked {
	struct loop *loop;
	bool done;
	int result;
};

static void on_current(void *arg, int64_t revision UNUSED, const struct error *err)
{
	struct asked *a = arg;

	a->done = true;
	a->result = err ? -(int)err->code : 0;
	loop_stop(a->loop);
}

static void on_closed(void *arg)
{
	struct asked *a = arg;

	a->done = true;
	loop_stop(a->loop);
}

static void run_until_done(struct asked *a)
{
	while (!a->done)
		loop_run(a->loop);
	a->done = false;
}

static void without_a_certificate_there_is_no_connection(void **state UNUSED)
{
	CLEANUP(loop_free) struct loop *l = NULL;
	struct etcd_fixture etcd;
	const char *endpoints[] = { etcd.url };
	struct store_etcd_opts opts = { .endpoints = endpoints, .nendpoints = 1 };
	struct asked a = { 0 };
	struct error err;
	struct store *s;

	if (!etcd_fixture_init_tls(&etcd))
		skip();
	opts.ca_file = etcd.ca_file;
	assert_int_equal(loop_new(&l, NULL), 0);
	a.loop = l;
	assert_int_equal(store_etcd_open(l, &opts, &s, NULL), 0);
	store_current(s, on_current, &a);
	run_until_done(&a);
	assert_int_equal(a.result, -ERR_UNAVAILABLE);
	assert_int_equal(store_health(s, &err), -ERR_UNAVAILABLE);
	store_close(s, on_closed, &a);
	run_until_done(&a);
	etcd_fixture_release(&etcd);
}

/* --- revisions ----------------------------------------------------------------------------- */

/* A raw etcd call that the store has no function for; made and awaited. */
struct raw {
	struct etcd_call call;
	struct loop *loop;
	bool done;
	int64_t number; /* of a lease */
};

static void on_raw(struct etcd_call *c, const struct etcd_answer *a)
{
	struct raw *z = CONTAINER_OF(c, struct raw, call);

	assert_int_equal(a->outcome, ETCD_ANSWERED);
	if (c->op == ETCD_LEASE_GRANT)
		z->number = ((const Etcd__LeaseGrantResponse *)a->reply)->id;
	z->done = true;
	loop_stop(z->loop);
}

static int64_t raw_call(struct etcd_client *client, enum etcd_op op, const ProtobufCMessage *m)
{
	struct raw z = { .call = { .op = op, .done = on_raw }, .loop = etcd_client_loop(client) };

	etcd_client_call(client, &z.call, m);
	while (!z.done)
		loop_run(z.loop);
	return z.number;
}

/* Puts, or deletes, two keys in one transaction. */
static void raw_txn(struct etcd_client *client, bool put, int64_t lease)
{
	static const char *const keys[] = { "/registry/core/pods/ns raw-1", "raw-2" };
	Etcd__TxnRequest txn = ETCD__TXN_REQUEST__INIT;
	Etcd__RequestOp op[2], *ops[2];
	Etcd__PutRequest puts[2];
	Etcd__DeleteRangeRequest deletes[2];

	for (size_t i = 0; i < 2; i++) {
		etcd__request_op__init(&op[i]);
		etcd__put_request__init(&puts[i]);
		etcd__delete_range_request__init(&deletes[i]);
		puts[i].key = deletes[i].key = etcd_data(str_from(keys[i]));
		puts[i].lease = lease;
		op[i].request_case = put ? ETCD__REQUEST_OP__REQUEST_REQUEST_PUT
					 : ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
		if (put)
			op[i].request_put = &puts[i];
		else
			op[i].request_delete_range = &deletes[i];
		ops[i] = &op[i];
	}
	txn.n_success = 2;
	txn.success = ops;
	(void)raw_call(client, ETCD_TXN, &txn.base);
}

/* The premise of the feed: everything that raises etcd's revision is an event of its watch. */
static void expect_feed_at_current(struct store_contract *c, int64_t moved, int64_t *revision)
{
	int64_t now = store_contract_current(c);

	assert_int_equal(now, *revision + moved);
	wait_for(c, now);
	assert_int_equal(c->delivered, now);
	*revision = now;
}

static void the_feed_sees_every_change_of_the_revision(void **state)
{
	struct etcd_fixture *etcd = etcd_of(state);
	const char *endpoints[] = { etcd->url };
	struct store_etcd_opts opts = { .endpoints = endpoints, .nendpoints = 1 };
	Etcd__LeaseGrantRequest grant = ETCD__LEASE_GRANT_REQUEST__INIT;
	Etcd__LeaseRevokeRequest revoke = ETCD__LEASE_REVOKE_REQUEST__INIT;
	Etcd__CompactionRequest compact = ETCD__COMPACTION_REQUEST__INIT;
	struct etcd_client *client = NULL;
	struct store_contract c;
	int64_t revision;

	join(&c, etcd, NULL);
	assert_int_equal(etcd_client_new(c.loop, &opts, &client, NULL), 0);
	revision = store_contract_current(&c);
	store_contract_follow(&c, revision);
	raw_txn(client, true, 0);
	expect_feed_at_current(&c, 1, &revision);
	raw_txn(client, false, 0);
	expect_feed_at_current(&c, 1, &revision);
	/* Nothing there to delete. */
	raw_txn(client, false, 0);
	expect_feed_at_current(&c, 0, &revision);
	grant.ttl = 60;
	revoke.id = raw_call(client, ETCD_LEASE_GRANT, &grant.base);
	expect_feed_at_current(&c, 0, &revision);
	raw_txn(client, true, revoke.id);
	expect_feed_at_current(&c, 1, &revision);
	(void)raw_call(client, ETCD_LEASE_REVOKE, &revoke.base);
	expect_feed_at_current(&c, 1, &revision);
	compact.revision = revision;
	(void)raw_call(client, ETCD_COMPACT, &compact.base);
	expect_feed_at_current(&c, 0, &revision);
	assert_int_equal(c.events.n, 4);
	etcd_client_free(client);
	leave(&c, true);
}

/* --- ranges -------------------------------------------------------------------------------- */

static void a_range_of_many_pages_is_one_snapshot(void **state)
{
	enum { N = 2 * ETCD_PAGE_MAX + 7 };
	struct store_range all = { .resource = STR("test/many") };
	struct store_contract_read *r;
	struct store_contract c;
	char name[16];

	join(&c, etcd_of(state), NULL);
	for (int i = 0; i < N; i++) {
		(void)snprintf(name, sizeof(name), "%05d", i);
		(void)store_contract_put(&c, "test/many", "ns", name, str_from(name), 0);
	}
	store_contract_settle(&c);
	r = store_contract_range(&c, &all);
	assert_int_equal(r->got.n, N);
	assert_false(r->got.more);
	for (size_t i = 1; i < N; i++)
		assert_true(str_cmp(r->got.items[i - 1].key.name, r->got.items[i].key.name) < 0);
	all.limit = N - 1;
	r = store_contract_range(&c, &all);
	assert_int_equal(r->got.n, N - 1);
	assert_true(r->got.more);
	leave(&c, true);
}

/* Together they exceed our limit for one response. */
static void a_range_of_large_objects_comes_in_smaller_pages(void **state)
{
	enum { N = ETCD_RESPONSE_MAX / MIB + 6 };
	struct store_range all = { .resource = STR("test/large") };
	struct bytes *big = bytes_new(MIB);
	struct store_contract_read *r;
	struct store_contract c;
	int64_t before;
	char name[16];

	memset(big->data, 'x', big->n);
	join(&c, etcd_of(state), NULL);
	before = store_contract_current(&c);
	for (int i = 0; i < N; i++) {
		(void)snprintf(name, sizeof(name), "%05d", i);
		(void)store_contract_put(&c, "test/large", "ns", name, bytes_str(big), 0);
	}
	store_contract_settle(&c);
	r = store_contract_range(&c, &all);
	assert_int_equal(r->result, 0);
	assert_int_equal(r->got.n, N);
	assert_int_equal(r->got.items[N - 1].value.n, MIB);
	/* A feed that has to catch up with all of them gets them in fragments. */
	store_contract_follow(&c, before);
	wait_for(&c, r->got.revision);
	assert_int_equal(c.events.n, N);
	bytes_unref(big);
	leave(&c, true);
}

/* etcd's own limit is 1.5 MiB; that of its gRPC server half a MiB more. */
static void a_value_that_is_too_large_for_etcd_is_rejected(void **state)
{
	static const size_t sizes[] = { MIB + 768 * KIB, 3 * MIB };
	struct store_contract_write *w;
	struct store_contract c;
	struct bytes *big;

	join(&c, etcd_of(state), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		big = bytes_new(sizes[i]);
		memset(big->data, 'x', big->n);
		w = store_contract_put(&c, PODS, "ns", "huge", bytes_str(big), 0);
		assert_int_equal(store_contract_wait(w), -ERR_TOO_LARGE);
		bytes_unref(big);
	}
	leave(&c, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_stores_see_each_others_writes_in_one_order),
		cmocka_unit_test(of_two_writers_one_wins),
		cmocka_unit_test(no_acknowledged_write_is_lost_when_etcd_is_killed),
		cmocka_unit_test(compaction_while_disconnected_loses_the_feed),
		cmocka_unit_test(etcd_is_compacted_by_itself),
		cmocka_unit_test(certificates_are_shown_and_checked),
		cmocka_unit_test(without_a_certificate_there_is_no_connection),
		cmocka_unit_test(the_feed_sees_every_change_of_the_revision),
		cmocka_unit_test(a_range_of_many_pages_is_one_snapshot),
		cmocka_unit_test(a_range_of_large_objects_comes_in_smaller_pages),
		cmocka_unit_test(a_value_that_is_too_large_for_etcd_is_rejected),
	};

	return cmocka_run_group_tests_name("store/etcd_live", tests, start_etcd, stop_etcd);
}
