/*
 * Tests dra_state with decisions, writes and events in any order that a slow watch and slow replies
 * can cause. A model of an API server has the true state; the state under test gets it late.
 */
#include "scheduler/dra/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/json/json.h"
#include "client/informer/cached.h"
#include "dra/allocate/allocate.h"
#include "dra/inventory/content.h"
#include "scheduler/cache/cluster_event.h"

enum { CLAIMS = 12, DEVICES = 5, STEPS = 1500, SEEDS = 60, NOBODY = -1 };

/* --- objects ---------------------------------------------------------------------------------- */

struct truth {
	bool exists;
	unsigned uid;
	uint64_t revision;
	int device; /* NOBODY: not allocated; from DEVICES on: one of the other node */
};

static struct cached *claim_object(int claim, const struct truth *t)
{
	struct buf b = BUF_INIT(4096);
	struct cached *o;

	(void)buf_printf(
		&b,
		"{\"metadata\":{\"namespace\":\"d\",\"name\":\"c%d\",\"uid\":\"u%u\","
		"\"resourceVersion\":\"%llu\"},\"spec\":{\"devices\":{\"requests\":[{"
		"\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"any\",\"allocationMode\":"
		"\"ExactCount\",\"count\":1}}]}}",
		claim, t->uid, (unsigned long long)t->revision);
	if (t->device != NOBODY)
		(void)buf_printf(&b,
				 ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{"
				 "\"request\":\"r\",\"driver\":\"x.example.com\",\"pool\":\"n%d\","
				 "\"device\":\"dev-%d\"}]}}}",
				 t->device / DEVICES, t->device % DEVICES);
	(void)buf_addz(&b, "}");
	assert_int_equal(cached_new(buf_str(&b), NULL, &o, NULL), 0);
	buf_release(&b);
	return o;
}

static struct cached *object(const char *text)
{
	struct cached *o;

	assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
	return o;
}

static struct cached *slice_object(int node)
{
	struct buf b = BUF_INIT(4096);
	struct cached *o;

	(void)buf_printf(&b,
			 "{\"metadata\":{\"name\":\"s%d\",\"uid\":\"s%d\"},\"spec\":{\"driver\":"
			 "\"x.example.com\",\"nodeName\":\"n%d\",\"pool\":{\"name\":\"n%d\","
			 "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[",
			 node, node, node, node);
	for (int i = 0; i < DEVICES; i++)
		(void)buf_printf(&b, "%s{\"name\":\"dev-%d\"}", i ? "," : "", i);
	(void)buf_addz(&b, "]}}");
	assert_int_equal(cached_new(buf_str(&b), NULL, &o, NULL), 0);
	buf_release(&b);
	return o;
}

static void fill(struct dra_state *s)
{
	struct cached *class = object("{\"metadata\":{\"name\":\"any\"},\"spec\":{}}");

	dra_state_put_class(s, class);
	cached_unref(class);
	for (int i = 0; i < 2; i++) {
		struct cached *slice = slice_object(i);

		dra_state_put_slice(s, slice);
		cached_unref(slice);
	}
}

/* --- the model -------------------------------------------------------------------------------- */

struct event {
	struct cached *object;
	bool removed;
};

/* Our work on one claim. */
enum phase { IDLE, DECIDED, WRITING, ANSWERED, REREAD };
struct work {
	enum phase phase;
	int device;
	char uid[16];
	uint64_t base; /* version that is written on */
	bool written; /* the answer says so */
	struct cached *answer;
};

struct model {
	struct prng prng;
	struct dra_state *state;
	struct truth truth[CLAIMS];
	struct work work[CLAIMS];
	VEC(struct event) log;
	size_t told; /* of the log */
	uint64_t revision;
	unsigned uids;
};

static bool chance(struct model *m, unsigned percent)
{
	return prng_below(&m->prng, 100) < percent;
}

static void changed(struct model *m, int claim, bool removed)
{
	m->truth[claim].revision = ++m->revision;
	(void)vec_push(&m->log, (struct event){ claim_object(claim, &m->truth[claim]), removed });
	if (removed)
		m->truth[claim] = (struct truth){ .device = NOBODY };
}

/* Others: another scheduler, which has the other node, the controller, users. */
static void others_act(struct model *m, int claim)
{
	struct truth *t = &m->truth[claim];
	int device = DEVICES + (int)prng_below(&m->prng, DEVICES);

	if (!t->exists) {
		*t = (struct truth){ .exists = true, .uid = ++m->uids, .device = NOBODY };
		changed(m, claim, false);
	} else if (chance(m, 15)) {
		changed(m, claim, true);
	} else if (t->device != NOBODY && chance(m, 60)) {
		t->device = NOBODY;
		changed(m, claim, false);
	} else if (t->device == NOBODY && chance(m, 40)) {
		for (int i = 0; i < CLAIMS; i++)
			if (m->truth[i].device == device)
				return;
		t->device = device;
		changed(m, claim, false);
	} else {
		changed(m, claim, false); /* a label, say */
	}
}

/* The server processes our write. */
static void server_writes(struct model *m, int claim)
{
	struct work *w = &m->work[claim];
	struct truth *t = &m->truth[claim];
	char uid[16];

	(void)snprintf(uid, sizeof(uid), "u%u", t->uid);
	w->written = t->exists && t->revision == w->base && strcmp(uid, w->uid) == 0;
	if (w->written) {
		assert_int_equal(t->device, NOBODY);
		t->device = w->device;
		changed(m, claim, false);
		w->answer = claim_object(claim, t);
	}
	w->phase = ANSWERED;
}

static void decide(struct model *m, int claim)
{
	struct work *w = &m->work[claim];
	struct inventory *inv = dra_state_inventory(m->state);
	struct allocate_node node = { .name = STR("n0") };
	struct json *tree, *result;
	const struct json *claims[1];
	struct dra_claim known;
	struct arena a;
	char key[16];

	(void)snprintf(key, sizeof(key), "d/c%d", claim);
	if (!dra_state_find(m->state, str_from(key), &known) || known.allocated || known.decided)
		return;
	arena_init(&a, 1UL << 20);
	assert_int_equal(cached_tree(known.object, &a, &tree, NULL), 0);
	claims[0] = tree;
	if (allocate(inv, &node, claims, 1, NULL, &a, &result, NULL) == 1) {
		const struct json *first = json_at(
			json_getz(json_getz(result, "devices"), "results"), 0);

		assert_int_equal(dra_state_decide(m->state, tree, result, NULL), 0);
		*w = (struct work){ .phase = DECIDED,
				    .device = json_text_at(first, "device").p[4] - '0',
				    .base = known.object->revision };
		(void)snprintf(w->uid, sizeof(w->uid), "%.*s", STR_ARG(known.object->uid));
	}
	arena_release(&a);
}

/* After a conflict: what is stored now may still be written on. */
static void reread(struct model *m, int claim)
{
	struct work *w = &m->work[claim];
	const struct truth *t = &m->truth[claim];
	char uid[16];

	(void)snprintf(uid, sizeof(uid), "u%u", t->uid);
	if (t->exists && t->device == NOBODY && strcmp(uid, w->uid) == 0) {
		w->base = t->revision;
		w->phase = WRITING;
		return;
	}
	(void)dra_state_drop(m->state, str_from(w->uid));
	w->phase = IDLE;
}

/* The answer to our write: devices that the claim has given back by then are said to be free. */
static void take_over(struct model *m, int claim)
{
	struct work *w = &m->work[claim];
	bool freed = dra_state_stored(m->state, w->answer, str_from(w->uid), false);
	struct cached *v = dra_state_claim(m->state, w->answer->key);
	struct str now = v ? cached_field(v, "status.allocation", NULL) : STR_NULL;

	assert_int_equal(freed,
			 !v || !str_eq(v->uid, w->answer->uid) ||
				 !str_eq(now, cached_field(w->answer, "status.allocation", NULL)));
	cached_unref(w->answer);
}

static void we_act(struct model *m, int claim)
{
	struct work *w = &m->work[claim];

	switch (w->phase) {
	case IDLE:
		decide(m, claim);
		break;
	case DECIDED:
		w->phase = WRITING;
		if (!chance(m, 15))
			break;
		/* The pod was refused before anything was written. */
		assert_true(dra_state_drop(m->state, str_from(w->uid)));
		w->phase = IDLE;
		break;
	case WRITING:
		server_writes(m, claim);
		break;
	case ANSWERED:
		w->phase = REREAD;
		if (!w->written)
			break;
		take_over(m, claim);
		w->phase = IDLE;
		/* Binding may still fail, and leaves the claim allocated. */
		if (chance(m, 80))
			dra_state_settle(m->state, str_from(w->uid));
		else
			assert_false(dra_state_drop(m->state, str_from(w->uid)));
		break;
	case REREAD:
		reread(m, claim);
		break;
	}
}

static void watch_tells(struct model *m)
{
	const struct event *e;

	if (m->told == m->log.n)
		return;
	e = &m->log.v[m->told++];
	if (e->removed)
		dra_state_remove_claim(m->state, e->object);
	else
		dra_state_put_claim(m->state, e->object);
}

/* --- what must hold --------------------------------------------------------------------------- */

/* No two claims may have the same device, allocated or pending. */
static void check_exclusive(const struct model *m)
{
	int holder[2 * DEVICES];

	for (int i = 0; i < 2 * DEVICES; i++)
		holder[i] = NOBODY;
	for (int i = 0; i < CLAIMS; i++) {
		const struct work *w = &m->work[i];
		int stored = m->truth[i].device;
		int ours = w->phase != IDLE && w->phase != ANSWERED ? w->device : NOBODY;

		if (stored != NOBODY) {
			assert_int_equal(holder[stored], NOBODY);
			holder[stored] = i;
		}
		if (ours != NOBODY && ours != stored) {
			assert_int_equal(holder[ours], NOBODY);
			holder[ours] = i;
		}
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Prints the holders as text. */
static void print_inventory(const struct inventory *inv, struct buf *out)
{
	char *lines[2 * CLAIMS] = { 0 };
	const struct inventory_claim *c;
	size_t at = 0, n = 0;

	while (inventory_next_claim(inv, &at, &c)) {
		struct buf b = BUF_INIT(1024);

		(void)buf_printf(&b, "%.*s %.*s:", STR_ARG(c->key), STR_ARG(c->uid));
		for (uint32_t i = 0; i < c->n; i++)
			(void)buf_printf(&b, " %.*s/%.*s", STR_ARG(c->holders[i].use->pool->name),
					 STR_ARG(c->holders[i].use->name));
		assert_true(n < sizeof(lines) / sizeof(lines[0]));
		lines[n++] = str_dup(buf_str(&b));
		buf_release(&b);
	}
	qsort(lines, n, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
}

/*
 * When all events and replies have arrived, the state must equal a fresh one with the true claims.
 */
static void check_settled(struct model *m)
{
	struct dra_state *fresh = dra_state_new(NULL, NULL);
	struct buf have = BUF_INIT(1UL << 16), want = BUF_INIT(1UL << 16);

	fill(fresh);
	for (int i = 0; i < CLAIMS; i++) {
		struct cached *o;

		if (!m->truth[i].exists)
			continue;
		o = claim_object(i, &m->truth[i]);
		dra_state_put_claim(fresh, o);
		cached_unref(o);
	}
	print_inventory(dra_state_inventory(m->state), &have);
	print_inventory(dra_state_inventory(fresh), &want);
	(void)buf_add(&have, "", 1);
	(void)buf_add(&want, "", 1);
	assert_string_equal(have.p, want.p);
	buf_release(&have);
	buf_release(&want);
	dra_state_free(fresh);
}

static void settle(struct model *m)
{
	for (int i = 0; i < CLAIMS; i++)
		while (m->work[i].phase != IDLE)
			we_act(m, i);
	while (m->told < m->log.n)
		watch_tells(m);
}

static void run(uint64_t seed)
{
	struct model m = { .state = dra_state_new(NULL, NULL) };

	prng_init(&m.prng, seed);
	vec_init(&m.log, SIZE_MAX);
	fill(m.state);
	for (int i = 0; i < CLAIMS; i++)
		m.truth[i].device = NOBODY;
	for (int i = 0; i < STEPS; i++) {
		int claim = (int)prng_below(&m.prng, CLAIMS);
		uint64_t what = prng_below(&m.prng, 100);

		if (what < 20)
			others_act(&m, claim);
		else if (what < 65)
			we_act(&m, claim);
		else
			watch_tells(&m);
		check_exclusive(&m);
		if (i % 500 == 499) {
			settle(&m);
			check_settled(&m);
		}
	}
	for (size_t i = 0; i < m.log.n; i++)
		cached_unref(m.log.v[i].object);
	vec_release(&m.log);
	dra_state_free(m.state);
}

static void no_device_is_given_out_twice_whatever_comes_late(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(seed);
}

/* --- by hand ---------------------------------------------------------------------------------- */

static struct truth truth_of(unsigned uid, uint64_t revision, int device)
{
	return (struct truth){ true, uid, revision, device };
}

static void put(struct dra_state *s, int claim, struct truth t)
{
	struct cached *o = claim_object(claim, &t);

	dra_state_put_claim(s, o);
	cached_unref(o);
}

static void the_schedulers_write_counts_until_the_watch_shows_it(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);
	struct truth wrote = truth_of(1, 12, 0);
	struct cached *answer = claim_object(0, &wrote);
	struct dra_claim c;

	fill(s);
	put(s, 0, truth_of(1, 10, NOBODY));
	(void)dra_state_stored(s, answer, STR_NULL, false);
	put(s, 0, truth_of(1, 11, NOBODY)); /* the finalizer, late */
	assert_true(dra_state_find(s, STR("d/c0"), &c));
	assert_true(c.allocated);
	assert_int_equal(c.object->revision, 12);
	put(s, 0, truth_of(1, 13, NOBODY));
	assert_true(dra_state_find(s, STR("d/c0"), &c));
	assert_false(c.allocated);
	/* An answer that comes after that says nothing any more. */
	(void)dra_state_stored(s, answer, STR_NULL, false);
	assert_true(dra_state_find(s, STR("d/c0"), &c));
	assert_false(c.allocated);
	cached_unref(answer);
	dra_state_free(s);
}

static void a_claim_that_is_gone_does_not_come_back_by_an_answer(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);
	struct truth first = truth_of(1, 10, NOBODY), wrote = truth_of(1, 12, 0);
	struct cached *seen = claim_object(0, &first), *answer = claim_object(0, &wrote);
	struct inventory_device *d;

	fill(s);
	dra_state_put_claim(s, seen);
	dra_state_remove_claim(s, seen);
	(void)dra_state_stored(s, answer, STR_NULL, false);
	assert_null(dra_state_claim(s, STR("d/c0")));
	d = inventory_device(dra_state_inventory(s), STR("x.example.com"), STR("n0"), STR("dev-0"));
	assert_false(inventory_device_in_use(d));
	/* But one that we made may be unknown to the watch yet. */
	(void)dra_state_stored(s, answer, STR_NULL, true);
	d = inventory_device(dra_state_inventory(s), STR("x.example.com"), STR("n0"), STR("dev-0"));
	assert_true(inventory_device_in_use(d));
	dra_state_gone(s, STR("d/c0"), STR("u1"));
	assert_null(dra_state_claim(s, STR("d/c0")));
	cached_unref(seen);
	cached_unref(answer);
	dra_state_free(s);
}

/* Puts the new version, and returns the change between the two. */
static struct dra_change change(struct dra_state *s, struct truth old, struct truth now)
{
	struct cached *before = claim_object(0, &old), *after = claim_object(0, &now);
	struct cluster_event e = { .kind = EVENT_CLAIM, .old_object = before, .object = after };
	struct dra_change c;

	dra_state_put_claim(s, after);
	c = dra_state_change(s, &e);
	cached_unref(before);
	cached_unref(after);
	return c;
}

static void a_claim_frees_devices_also_when_the_watch_never_saw_them_held(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);
	struct truth wrote = truth_of(1, 12, 0);
	struct cached *answer = claim_object(0, &wrote);

	fill(s);
	put(s, 0, truth_of(1, 10, NOBODY));
	(void)dra_state_stored(s, answer, STR_NULL, false);
	assert_false(change(s, truth_of(1, 10, NOBODY), truth_of(1, 11, NOBODY)).freed);
	/* Allocation and deallocation came as one event. */
	assert_true(change(s, truth_of(1, 11, NOBODY), truth_of(1, 13, NOBODY)).freed);
	assert_false(change(s, truth_of(1, 13, NOBODY), truth_of(1, 14, NOBODY)).freed);
	assert_true(change(s, truth_of(1, 14, NOBODY), truth_of(1, 15, 3)).status);
	assert_true(change(s, truth_of(1, 15, 3), truth_of(1, 16, NOBODY)).freed);
	cached_unref(answer);
	dra_state_free(s);
}

/*
 * We got allocation and deallocation from the server's replies, and the watch restarted after both.
 */
static void a_claim_frees_devices_also_when_the_watch_passes_over_it(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);
	struct truth wrote = truth_of(1, 12, 0), freed = truth_of(1, 13, NOBODY);
	struct cached *first = claim_object(0, &wrote), *then = claim_object(0, &freed);

	fill(s);
	put(s, 0, truth_of(1, 10, NOBODY));
	(void)dra_state_stored(s, first, STR_NULL, false);
	(void)dra_state_stored(s, then, STR_NULL, false);
	assert_true(change(s, truth_of(1, 10, NOBODY), truth_of(1, 15, NOBODY)).freed);
	assert_false(change(s, truth_of(1, 15, NOBODY), truth_of(1, 16, NOBODY)).freed);
	cached_unref(first);
	cached_unref(then);
	dra_state_free(s);
}

static void a_claim_that_took_the_place_of_another_is_created(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);

	fill(s);
	assert_false(change(s, truth_of(1, 10, NOBODY), truth_of(1, 11, NOBODY)).created);
	assert_true(change(s, truth_of(1, 11, NOBODY), truth_of(2, 12, NOBODY)).created);
	/* The old claim's devices are free, although the new claim holds some, too. */
	assert_true(change(s, truth_of(2, 12, 0), truth_of(3, 13, 1)).freed);
	dra_state_free(s);
}

static void a_claim_of_ours_that_came_and_went_unseen_is_lost(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);
	struct truth made = truth_of(1, 12, 0), other = truth_of(2, 13, 1);
	struct cached *answer = claim_object(0, &made), *shown = claim_object(1, &other), *lost;
	struct inventory_device *d;

	fill(s);
	(void)dra_state_stored(s, answer, STR_NULL, true);
	(void)dra_state_stored(s, shown, STR_NULL, true);
	d = inventory_device(dra_state_inventory(s), STR("x.example.com"), STR("n0"), STR("dev-0"));
	assert_null(dra_state_take_lost(s, 11)); /* the watch is not that far */
	assert_true(inventory_device_in_use(d));
	dra_state_put_claim(s, shown);
	lost = dra_state_take_lost(s, 20);
	assert_ptr_equal(lost, answer);
	cached_unref(lost);
	assert_null(dra_state_take_lost(s, 20)); /* the other one was shown */
	assert_null(dra_state_claim(s, STR("d/c0")));
	assert_non_null(dra_state_claim(s, STR("d/c1")));
	assert_false(inventory_device_in_use(d));
	cached_unref(answer);
	cached_unref(shown);
	dra_state_free(s);
}

struct counting {
	struct dra_waiter waiter;
	int calls;
	bool once;
};

static void count(struct dra_waiter *w)
{
	struct counting *c = CONTAINER_OF(w, struct counting, waiter);

	c->calls++;
	if (c->once)
		dra_state_unwait(w);
}

static void waiters_are_called_for_every_change_until_they_leave(void **state)
{
	struct dra_state *s = dra_state_new(NULL, NULL);
	struct counting all = { .waiter.fn = count }, once = { .waiter.fn = count, .once = true };
	struct truth last = truth_of(1, 11, 0);
	struct cached *o = claim_object(0, &last);

	put(s, 0, truth_of(1, 10, NOBODY));
	dra_state_wait(s, STR("d/c0"), &once.waiter);
	dra_state_wait(s, STR("d/c0"), &all.waiter);
	dra_state_put_claim(s, o);
	dra_state_remove_claim(s, o);
	assert_int_equal(once.calls, 1);
	assert_int_equal(all.calls, 2);
	put(s, 0, truth_of(2, 12, NOBODY));
	assert_int_equal(all.calls, 3);
	dra_state_unwait(&all.waiter);
	cached_unref(o);
	dra_state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_device_is_given_out_twice_whatever_comes_late),
		cmocka_unit_test(the_schedulers_write_counts_until_the_watch_shows_it),
		cmocka_unit_test(a_claim_that_is_gone_does_not_come_back_by_an_answer),
		cmocka_unit_test(a_claim_frees_devices_also_when_the_watch_never_saw_them_held),
		cmocka_unit_test(a_claim_frees_devices_also_when_the_watch_passes_over_it),
		cmocka_unit_test(a_claim_that_took_the_place_of_another_is_created),
		cmocka_unit_test(a_claim_of_ours_that_came_and_went_unseen_is_lost),
		cmocka_unit_test(waiters_are_called_for_every_change_until_they_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
