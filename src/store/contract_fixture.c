/*
 * The harness of the contract: a store on a real loop, writes and reads that record their outcome,
 * and a feed that is recorded. Callbacks stop the loop, so that a waiting test checks its condition
 * after each of them. A timer stops it, too, in case nothing calls back.
 */
#include "store/contract_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "base/core/buf.h"

enum { WAIT_MS = 20000, CASES_MAX = 256, EVENTS_MAX = 1 << 20 };

/* --- the loop ------------------------------------------------------------------ */

struct patience {
	struct loop_timer timer;
	struct loop *loop;
	bool over;
};

static void on_impatient(struct loop_timer *t)
{
	struct patience *p = CONTAINER_OF(t, struct patience, timer);

	p->over = true;
	loop_stop(p->loop);
}

void store_contract_until(struct store_contract *c, bool (*holds)(void *arg), void *arg)
{
	struct patience p = { .loop = c->loop };

	loop_timer_init(&p.timer, c->loop, on_impatient);
	loop_timer_start(&p.timer, WAIT_MS);
	while (!holds(arg) && !p.over)
		loop_run(c->loop);
	loop_timer_stop(&p.timer);
	if (p.over)
		fail_msg("nothing came within %d s", WAIT_MS / 1000);
}

static bool contract_fixture_is_set(void *arg)
{
	return *(bool *)arg;
}

/* --- life ------------------------------------------------------------------------ */

struct closing {
	struct loop *loop;
	bool closed;
};

static void contract_fixture_on_closed(void *arg)
{
	struct closing *z = arg;

	z->closed = true;
	loop_stop(z->loop);
}

void store_contract_close(struct store_contract *c)
{
	struct closing z = { .loop = c->loop };

	store_close(TAKE(c->store), contract_fixture_on_closed, &z);
	assert_false(z.closed);
	store_contract_until(c, contract_fixture_is_set, &z.closed);
}

void store_contract_open(struct store_contract *c)
{
	struct error err = { 0 };

	if (c->backend->open(c->place, c->loop, &c->store, &err) < 0)
		fail_msg("cannot open: %s", err.msg);
	c->events.n = 0;
	c->delivered = 0;
	c->batches = 0;
}

bool store_contract_begin(struct store_contract *c, const struct store_contract_backend *b)
{
	*c = (struct store_contract){ .backend = b, .place = b->make() };
	if (!c->place)
		return false;
	arena_init(&c->arena, SIZE_MAX);
	vec_init(&c->events, EVENTS_MAX);
	assert_int_equal(loop_new(&c->loop, NULL), 0);
	store_contract_open(c);
	return true;
}

void store_contract_end(struct store_contract *c)
{
	if (!c->place)
		return;
	if (c->store)
		store_contract_close(c);
	loop_free(c->loop);
	vec_release(&c->events);
	arena_release(&c->arena);
	c->backend->destroy(c->place);
}

/* --- the feed ----------------------------------------------------------------------- */

static void on_events(void *arg, const struct store_event *events, size_t n, int64_t revision)
{
	struct store_contract *c = arg;
	const struct store_event *e;

	for (size_t i = 0; i < n; i++) {
		e = &events[i];
		assert_true(e->revision > c->delivered);
		assert_true(e->revision <= revision);
		(void)vec_push(&c->events,
			       (struct store_contract_event){
				       .resource = arena_str(&c->arena, e->key.resource),
				       .ns = arena_str(&c->arena, e->key.ns),
				       .name = arena_str(&c->arena, e->key.name),
				       .value = e->value ? arena_str(&c->arena, bytes_str(e->value))
							 : STR_NULL,
				       .deleted = !e->value,
				       .revision = e->revision,
				       .write = e->write });
		c->delivered = e->revision;
	}
	assert_true(revision >= c->delivered);
	c->delivered = revision;
	c->batches++;
	loop_stop(c->loop);
}

static void contract_fixture_on_lost(void *arg, const struct error *err)
{
	struct store_contract *c = arg;

	assert_non_null(err);
	c->lost = true;
	loop_stop(c->loop);
}

void store_contract_follow(struct store_contract *c, int64_t revision)
{
	struct store_feed feed = { .on_events = on_events,
				   .on_lost = contract_fixture_on_lost,
				   .arg = c };

	c->delivered = revision;
	store_follow(c->store, revision, &feed);
}

/* --- writes -------------------------------------------------------------------------- */

static void contract_fixture_on_done(struct store_write *w, const struct error *err)
{
	struct store_contract_write *z = CONTAINER_OF(w, struct store_contract_write, write);

	assert_false(z->done);
	z->done = true;
	z->events_before = z->contract->events.n;
	z->result = err ? -(int)err->code : 0;
	if (err)
		z->err = *err;
	loop_stop(z->contract->loop);
}

static void drop_bytes(void *b)
{
	bytes_unref(b);
}

static struct store_contract_write *submit(struct store_contract *c, const struct store_key *key,
					   struct bytes *value, int64_t expected,
					   struct store_contract_write *after)
{
	struct store_contract_write *z = ARENA_NEW(&c->arena, struct store_contract_write);

	z->contract = c;
	z->write = (struct store_write){ .key = { arena_str(&c->arena, key->resource),
						  arena_str(&c->arena, key->ns),
						  arena_str(&c->arena, key->name) },
					 .value = value,
					 .expected = expected,
					 .after = after ? &after->write : NULL,
					 .done = contract_fixture_on_done };
	if (value)
		arena_hold(&c->arena, drop_bytes, value);
	store_write(c->store, &z->write);
	assert_false(z->done);
	return z;
}

struct store_contract_write *store_contract_put(struct store_contract *c, const char *resource,
						const char *ns, const char *name, struct str value,
						int64_t expected)
{
	struct store_key key = { str_from(resource), str_from(ns), str_from(name) };

	return submit(c, &key, bytes_copy(value), expected, NULL);
}

struct store_contract_write *store_contract_delete(struct store_contract *c, const char *resource,
						   const char *ns, const char *name,
						   int64_t expected)
{
	struct store_key key = { str_from(resource), str_from(ns), str_from(name) };

	return submit(c, &key, NULL, expected, NULL);
}

struct store_contract_write *store_contract_after(struct store_contract_write *after,
						  const char *value)
{
	return submit(after->contract, &after->write.key,
		      value ? bytes_copy(str_from(value)) : NULL, -1, after);
}

int store_contract_wait(struct store_contract_write *w)
{
	store_contract_until(w->contract, contract_fixture_is_set, &w->done);
	return w->result;
}

static bool is_idle(void *arg)
{
	const struct store_contract *c = arg;

	return store_pending(c->store) == 0;
}

void store_contract_settle(struct store_contract *c)
{
	store_contract_until(c, is_idle, c);
}

static int64_t must(struct store_contract_write *w)
{
	if (store_contract_wait(w) < 0)
		fail_msg("%.*s/%.*s: %s", STR_ARG(w->write.key.ns), STR_ARG(w->write.key.name),
			 w->err.msg);
	assert_true(w->write.revision > 0);
	return w->write.revision;
}

int64_t store_contract_must_put(struct store_contract *c, const char *resource, const char *ns,
				const char *name, const char *value, int64_t expected)
{
	return must(store_contract_put(c, resource, ns, name, str_from(value), expected));
}

int64_t store_contract_must_delete(struct store_contract *c, const char *resource, const char *ns,
				   const char *name, int64_t expected)
{
	return must(store_contract_delete(c, resource, ns, name, expected));
}

/* --- reads ----------------------------------------------------------------------------- */

static void on_range(void *arg, const struct store_range_result *result, const struct error *err)
{
	struct store_contract_read *z = arg;

	assert_false(z->done);
	z->done = true;
	z->result = err ? -(int)err->code : 0;
	if (err)
		z->err = *err;
	else
		z->got = *result;
	loop_stop(z->contract->loop);
}

struct store_contract_read *store_contract_range(struct store_contract *c,
						 const struct store_range *range)
{
	struct store_contract_read *z = ARENA_NEW(&c->arena, struct store_contract_read);

	z->contract = c;
	store_range(c->store, range, &c->arena, on_range, z);
	assert_false(z->done);
	store_contract_until(c, contract_fixture_is_set, &z->done);
	return z;
}

struct asked {
	struct loop *loop;
	bool done;
	int64_t revision;
	int result;
};

static void on_current(void *arg, int64_t revision, const struct error *err)
{
	struct asked *a = arg;

	a->done = true;
	a->revision = revision;
	a->result = err ? -(int)err->code : 0;
	loop_stop(a->loop);
}

int64_t store_contract_current(struct store_contract *c)
{
	struct asked a = { .loop = c->loop };

	store_current(c->store, on_current, &a);
	assert_false(a.done);
	store_contract_until(c, contract_fixture_is_set, &a.done);
	assert_int_equal(a.result, 0);
	return a.revision;
}

static void on_compacted(void *arg, const struct error *err)
{
	struct asked *a = arg;

	a->done = true;
	a->result = err ? -(int)err->code : 0;
	loop_stop(a->loop);
}

void store_contract_compact(struct store_contract *c, int64_t revision)
{
	struct asked a = { .loop = c->loop };

	store_compact(c->store, revision, on_compacted, &a);
	assert_false(a.done);
	store_contract_until(c, contract_fixture_is_set, &a.done);
	assert_int_equal(a.result, 0);
}

static const char *contract_fixture_describe(struct store_contract *c,
					     const struct store_range_result *got, bool revisions)
{
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	const struct store_item *it;
	char *text;

	for (size_t i = 0; i < got->n; i++) {
		it = &got->items[i];
		(void)buf_printf(&b, "%s%.*s/%.*s=%.*s", i ? " " : "", STR_ARG(it->key.ns),
				 STR_ARG(it->key.name), (int)it->value.n, it->value.p);
		if (revisions)
			(void)buf_printf(&b, "@%" PRId64, it->revision);
	}
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

const char *store_contract_items(struct store_contract *c, const struct store_range_result *got)
{
	return contract_fixture_describe(c, got, true);
}

const char *store_contract_values(struct store_contract *c, const struct store_range_result *got)
{
	return contract_fixture_describe(c, got, false);
}

/* --- all cases --------------------------------------------------------------------------- */

struct planned {
	const struct store_contract_backend *backend;
	const struct store_contract_case *row;
};

static void run_case(void **state)
{
	const struct planned *p = *state;
	struct store_contract c;

	if (!store_contract_begin(&c, p->backend)) {
		skip();
		return;
	}
	p->row->run(&c);
	store_contract_end(&c);
}

struct plan {
	struct planned planned[CASES_MAX];
	struct CMUnitTest tests[CASES_MAX];
	size_t n;
};

static void add_cases(struct plan *p, const struct store_contract_backend *b,
		      const struct store_contract_case *rows)
{
	for (; rows && rows->name; rows++, p->n++) {
		assert_true(p->n < CASES_MAX);
		p->planned[p->n] = (struct planned){ b, rows };
		p->tests[p->n] = (struct CMUnitTest){ .name = rows->name,
						      .test_func = run_case,
						      .initial_state = &p->planned[p->n] };
	}
}

int store_contract_run_all(const char *name, const struct store_contract_backend *const *backends)
{
	struct plan plan = { .n = 0 };

	for (; *backends; backends++) {
		add_cases(&plan, *backends, store_contract_write_cases);
		add_cases(&plan, *backends, store_contract_read_cases);
		add_cases(&plan, *backends, (*backends)->extra);
	}
	return _cmocka_run_group_tests(name, plan.tests, plan.n, NULL, NULL);
}

int store_contract_run(const struct store_contract_backend *b)
{
	return store_contract_run_all(b->name,
				      (const struct store_contract_backend *[]){ b, NULL });
}
