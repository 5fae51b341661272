/*
 * Charges are summed in two periods of QUOTA_SETTLED_MS each: the current and the previous one.
 * Together they cover at least the last QUOTA_SETTLED_MS, even for a quota that is charged all the
 * time.
 */
#include "controller/quota/tally.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/vec.h"

enum { NAMES_MAX = 100000 };

struct entry {
	struct str name; /* in the arena */
	struct quantity freed;
	struct quantity sent; /* freed, and part of the current write */
	struct quantity charged[2]; /* in the current period, and in the previous one */
};

struct quota_tally {
	struct arena arena;
	VEC(struct entry) entries;
	int64_t period; /* when the current one began */
	int64_t charged_at; /* the last charge */
};

struct quota_tally *quota_tally_new(void)
{
	struct quota_tally *t = XNEW(struct quota_tally);

	arena_init(&t->arena, SIZE_MAX);
	vec_init(&t->entries, NAMES_MAX);
	return t;
}

void quota_tally_free(struct quota_tally *t)
{
	if (!t)
		return;
	vec_release(&t->entries);
	arena_release(&t->arena);
	free(t);
}

/* The index of the name, or where to insert it. */
static size_t tally_place_of(const struct quota_tally *t, struct str name)
{
	size_t from = 0, to = t->entries.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (str_cmp(t->entries.v[mid].name, name) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct entry *tally_find(struct quota_tally *t, struct str name)
{
	size_t at = tally_place_of(t, name);

	return at < t->entries.n && str_eq(t->entries.v[at].name, name) ? &t->entries.v[at] : NULL;
}

/* NULL: too many names. */
static struct entry *tally_need(struct quota_tally *t, struct str name)
{
	struct entry *e = tally_find(t, name);
	size_t at = tally_place_of(t, name);

	if (e || !vec_reserve(&t->entries, 1))
		return e;
	e = &t->entries.v[at];
	memmove(e + 1, e, (t->entries.n++ - at) * sizeof(*e));
	*e = (struct entry){ .name = arena_str(&t->arena, name) };
	return e;
}

static struct quantity least(struct quantity a, struct quantity b)
{
	return quantity_cmp(a, b) < 0 ? a : b;
}

static struct quantity most(struct quantity a, struct quantity b)
{
	return quantity_cmp(a, b) > 0 ? a : b;
}

/* --- charges --------------------------------------------------------------------------------- */

static void begin_period(struct quota_tally *t, int64_t now_ms)
{
	bool adjoins = now_ms - t->period < 2 * QUOTA_SETTLED_MS;

	if (now_ms - t->period < QUOTA_SETTLED_MS)
		return;
	for (size_t i = 0; i < t->entries.n; i++) {
		struct entry *e = &t->entries.v[i];

		e->charged[1] = adjoins ? e->charged[0] : (struct quantity){ 0 };
		e->charged[0] = (struct quantity){ 0 };
	}
	t->period = adjoins ? t->period + QUOTA_SETTLED_MS : now_ms;
}

static void add_charge(struct quota_tally *t, const struct amount *a, struct quantity q,
		       int64_t now_ms)
{
	struct entry *e = tally_need(t, a->name);

	if (e)
		e->charged[0] = quantity_add(e->charged[0], q);
	t->charged_at = now_ms;
}

void quota_tally_see(struct quota_tally *t, const struct amount_list *before,
		     const struct amount_list *used, int64_t now_ms)
{
	begin_period(t, now_ms);
	if (!before) {
		t->entries.n = 0;
		arena_clear(&t->arena);
		t->period = now_ms;
	}
	for (size_t i = 0; i < used->n; i++) {
		const struct amount *a = &used->v[i];
		const struct quantity *was = before ? amount_list_get(before, a->name) : NULL;

		if (!was)
			add_charge(t, a, a->q, now_ms);
		else if (quantity_cmp(a->q, *was) > 0)
			add_charge(t, a, quantity_sub(a->q, *was), now_ms);
	}
}

/* --- decisions ------------------------------------------------------------------------------- */

void quota_tally_add_freed(struct quota_tally *t, struct str name, struct quantity q)
{
	struct entry *e = tally_need(t, name);

	if (e)
		e->freed = quantity_add(e->freed, q);
}

/* At least everything charged within QUOTA_SETTLED_MS. */
static struct quantity charged_lately(const struct quota_tally *t, const struct entry *e,
				      int64_t now_ms)
{
	if (now_ms - t->charged_at >= QUOTA_SETTLED_MS)
		return (struct quantity){ 0 };
	return quantity_add(e->charged[0], e->charged[1]);
}

/* The lowered `used`, given that it exceeds the count. */
static struct quantity lower(struct quota_tally *t, struct str name, struct quantity used,
			     struct quantity count, int64_t now_ms)
{
	struct entry *e = tally_need(t, name);

	if (!e)
		return used;
	/* More than that was not charged to this quota. */
	e->freed = least(e->freed, quantity_sub(used, count));
	return most(count, least(quantity_sub(used, e->freed),
				 quantity_add(count, charged_lately(t, e, now_ms))));
}

/* Nothing has to be lowered, so `used` does not include what was freed. */
static void forget_freed_of(struct quota_tally *t, struct str name)
{
	struct entry *e = tally_find(t, name);

	if (e)
		e->freed = (struct quantity){ 0 };
}

struct amount_list quota_tally_decide(struct quota_tally *t, const struct amount_list *used,
				      const struct amount_list *count, int64_t now_ms,
				      struct arena *a, int64_t *ret_wait_ms)
{
	struct amount_list result = amount_list_new(a);
	bool more = false;
	int64_t wait;

	begin_period(t, now_ms);
	for (size_t i = 0; i < count->n; i++) {
		const struct amount *c = &count->v[i];
		const struct quantity *u = amount_list_get(used, c->name);
		struct quantity q = c->q;

		if (u && quantity_cmp(*u, q) > 0)
			q = lower(t, c->name, *u, q, now_ms);
		else
			forget_freed_of(t, c->name);
		more |= quantity_cmp(q, c->q) > 0;
		amount_list_set(&result, c->name, q);
	}
	wait = MIN(t->period, t->charged_at) + QUOTA_SETTLED_MS - now_ms;
	*ret_wait_ms = more ? MAX(wait, (int64_t)1) : -1;
	return result;
}

/* --- writes ---------------------------------------------------------------------------------- */

void quota_tally_begin_write(struct quota_tally *t)
{
	for (size_t i = 0; i < t->entries.n; i++) {
		t->entries.v[i].sent = t->entries.v[i].freed;
		t->entries.v[i].freed = (struct quantity){ 0 };
	}
}

void quota_tally_end_write(struct quota_tally *t, bool again)
{
	for (size_t i = 0; i < t->entries.n; i++) {
		struct entry *e = &t->entries.v[i];

		if (again)
			e->freed = quantity_add(e->freed, e->sent);
		e->sent = (struct quantity){ 0 };
	}
}
