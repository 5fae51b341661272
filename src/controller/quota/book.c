/*
 * A record lists what one object adds to which sum. There are few quotas; each has one sum per
 * name that it limits.
 */
#include "controller/quota/book.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/json.h"

enum { QUOTAS_MAX = 100000 }; /* of a namespace */

struct counted {
	struct arena arena;
	struct json *spec; /* a copy: only this determines what is counted */
	struct quota quota;
	struct quantity *sums; /* for quota.wanted, in its order */
};

struct space {
	struct str ns; /* stored after the struct */
	VEC(struct counted *) quotas;
	struct map records; /* "kind/name" */
};

struct part {
	struct counted *to;
	size_t at; /* index of the sum */
	struct quantity q;
};

struct record {
	struct str key; /* stored after the parts */
	size_t n;
	struct part parts[];
};

struct quota_book {
	struct map spaces;
	struct arena scratch;
	size_t count;
};

struct quota_book *quota_book_new(void)
{
	struct quota_book *b = XNEW(struct quota_book);

	map_init(&b->spaces);
	arena_init(&b->scratch, REQUEST_WORK_MAX);
	return b;
}

static void counted_free(struct counted *c)
{
	arena_release(&c->arena);
	free(c);
}

static void forget_records(struct quota_book *b, struct space *s)
{
	b->count -= s->records.n;
	map_free_values(&s->records);
	for (size_t i = 0; i < s->quotas.n; i++)
		memset(s->quotas.v[i]->sums, 0,
		       sizeof(struct quantity) * s->quotas.v[i]->quota.wanted.n);
}

static void space_free(struct quota_book *b, struct space *s)
{
	forget_records(b, s);
	map_release(&s->records);
	for (size_t i = 0; i < s->quotas.n; i++)
		counted_free(s->quotas.v[i]);
	vec_release(&s->quotas);
	free(s);
}

void quota_book_free(struct quota_book *b)
{
	struct str key;
	void *s;

	if (!b)
		return;
	for (size_t at = 0; map_next(&b->spaces, &at, &key, &s);)
		space_free(b, s);
	map_release(&b->spaces);
	arena_release(&b->scratch);
	free(b);
}

bool quota_book_has(const struct quota_book *b, struct str ns)
{
	return map_get(&b->spaces, ns) != NULL;
}

size_t quota_book_count(const struct quota_book *b)
{
	return b->count;
}

/* --- quotas ---------------------------------------------------------------------------------- */

static struct space *space_of(struct quota_book *b, struct str ns)
{
	struct space *s = map_get(&b->spaces, ns);
	char *name;

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s) + ns.n);
	name = (char *)(s + 1);
	str_put(name, ns);
	s->ns = str_of(name, ns.n);
	vec_init(&s->quotas, QUOTAS_MAX);
	map_init(&s->records);
	(void)map_put(&b->spaces, s->ns, s);
	return s;
}

static size_t book_find(const struct space *s, struct str name)
{
	size_t i = 0;

	while (i < s->quotas.n && !str_eq(s->quotas.v[i]->quota.name, name))
		i++;
	return i;
}

/* Copies only what determines the counting, without the status, which changes often. */
static struct counted *counted_new(const struct json *object, struct str name)
{
	struct counted *c = XNEW(struct counted);
	struct json *copy, *meta;

	arena_init(&c->arena, SIZE_MAX);
	copy = json_make_object(&c->arena);
	meta = json_need_object(&c->arena, copy, "metadata");
	json_put_str(&c->arena, meta, "name", arena_str(&c->arena, name));
	(void)json_copy(&c->arena, json_getz(object, "spec"), &c->spec, NULL);
	if (c->spec)
		json_setz(copy, "spec", c->spec);
	quota_read(copy, &c->arena, &c->quota);
	c->sums = ARENA_ARRAY(&c->arena, struct quantity, c->quota.wanted.n + 1);
	return c;
}

static bool same_spec(const struct counted *c, const struct json *object)
{
	const struct json *spec = json_getz(object, "spec");

	return spec && c->spec ? json_equal(spec, c->spec) : !spec == !c->spec;
}

bool quota_book_set_quota(struct quota_book *b, struct str ns, struct str name,
			  const struct json *object)
{
	struct space *s = object ? space_of(b, ns) : map_get(&b->spaces, ns);
	size_t at;

	if (!s)
		return false;
	at = book_find(s, name);
	if (at == s->quotas.n && !object)
		return false;
	if (at < s->quotas.n && object && same_spec(s->quotas.v[at], object))
		return false;
	forget_records(b, s);
	if (at < s->quotas.n) {
		counted_free(s->quotas.v[at]);
		vec_remove_swap(&s->quotas, at);
	}
	if (object)
		(void)vec_push(&s->quotas, counted_new(object, name));
	if (s->quotas.n == 0) {
		(void)map_remove(&b->spaces, ns);
		space_free(b, s);
	}
	return true;
}

void quota_book_clear(struct quota_book *b, struct str ns)
{
	struct space *s = map_get(&b->spaces, ns);

	if (s)
		forget_records(b, s);
}

bool quota_book_sums(const struct quota_book *b, struct str ns, struct str name, struct arena *a,
		     struct amount_list *ret_sums)
{
	const struct space *s = map_get(&b->spaces, ns);
	size_t at = s ? book_find(s, name) : 0;
	const struct counted *c;
	struct amount_list sums;

	if (!s || at == s->quotas.n)
		return false;
	c = s->quotas.v[at];
	sums = amount_list_copy(&c->quota.wanted, a);
	for (size_t i = 0; i < sums.n; i++)
		sums.v[i].q = c->sums[i];
	*ret_sums = sums;
	return true;
}

/* --- objects --------------------------------------------------------------------------------- */

static bool counts_kind(const struct counted *c, const struct quota_kind *k,
			const struct quota_context *ctx)
{
	for (size_t i = 0; i < c->quota.wanted.n; i++)
		if (quota_kind_has(k, ctx, c->quota.wanted.v[i].name))
			return true;
	return false;
}

/* Computes what an item adds to one quota; both lists are sorted. Returns the number of parts. */
static size_t add_parts(struct counted *c, const struct quota_item *item, struct part *parts)
{
	const struct amount_list *wanted = &c->quota.wanted, *usage = &item->usage;
	size_t i = 0, j = 0, n = 0;

	while (i < wanted->n && j < usage->n) {
		int cmp = str_cmp(wanted->v[i].name, usage->v[j].name);

		if (cmp == 0 && quantity_sign(usage->v[j].q) != 0)
			parts[n++] = (struct part){ c, i, usage->v[j].q };
		i += cmp <= 0;
		j += cmp >= 0;
	}
	return n;
}

static struct record *record_new(struct str key, const struct part *parts, size_t n)
{
	struct record *r = xmalloc(sizeof(*r) + n * sizeof(*parts) + key.n);
	char *text = (char *)(r->parts + n);

	memcpy(r->parts, parts, n * sizeof(*parts));
	str_put(text, key);
	r->n = n;
	r->key = str_of(text, key.n);
	return r;
}

/* In the scratch arena; NULL: the object adds nothing. */
static struct record *book_measure(struct quota_book *b, const struct space *s, struct str key,
				   const struct quota_kind *k, const struct quota_context *ctx,
				   const struct json *object)
{
	struct quota_item item;
	struct part *parts;
	size_t n = 0, most = 0;

	quota_measure(k, ctx, object, &b->scratch, &item);
	for (size_t i = 0; i < s->quotas.n; i++)
		most += MIN(s->quotas.v[i]->quota.wanted.n, item.usage.n);
	parts = ARENA_ARRAY(&b->scratch, struct part, most + 1);
	for (size_t i = 0; i < s->quotas.n; i++) {
		struct counted *c = s->quotas.v[i];

		if (quota_covers(&c->quota, &item) && counts_kind(c, k, ctx))
			n += add_parts(c, &item, parts + n);
	}
	return n ? record_new(key, parts, n) : NULL;
}

static void book_apply(const struct record *r, bool add)
{
	for (size_t i = 0; r && i < r->n; i++) {
		const struct part *p = &r->parts[i];
		struct quantity *sum = &p->to->sums[p->at];

		if (sum->nano == 0)
			sum->format = p->q.format;
		*sum = add ? quantity_add(*sum, p->q) : quantity_sub(*sum, p->q);
	}
}

static struct quantity part_of(const struct record *r, const struct part *like)
{
	static const struct quantity zero;

	for (size_t i = 0; r && i < r->n; i++)
		if (r->parts[i].to == like->to && r->parts[i].at == like->at)
			return r->parts[i].q;
	return zero;
}

static void tell_freed(const struct space *s, const struct part *before, struct quantity now,
		       const struct quota_book_listener *l)
{
	const struct quota *q = &before->to->quota;
	struct amount a = { q->wanted.v[before->at].name, quantity_sub(before->q, now) };

	l->freed(l->arg, s->ns, q->name, &a);
}

/* Reports each part of `r` that differs from the other record; parts of one quota are adjacent. */
static void book_tell(const struct space *s, const struct record *r, const struct record *other,
		      bool r_is_new, const struct quota_book_listener *l)
{
	const struct counted *told[2] = { NULL, NULL };

	for (size_t i = 0; r && i < r->n; i++) {
		int cmp = quantity_cmp(r->parts[i].q, part_of(other, &r->parts[i]));
		bool less = r_is_new ? cmp < 0 : cmp > 0;

		if (!r_is_new && less)
			tell_freed(s, &r->parts[i], part_of(other, &r->parts[i]), l);
		if (cmp == 0 || told[less] == r->parts[i].to)
			continue;
		told[less] = r->parts[i].to;
		l->changed(l->arg, s->ns, r->parts[i].to->quota.name, less);
	}
}

void quota_book_put(struct quota_book *b, unsigned kind_id, const struct quota_kind *k,
		    const struct quota_context *ctx, struct str ns, struct str name,
		    const struct json *object, const struct quota_book_listener *listener)
{
	struct space *s = map_get(&b->spaces, ns);
	struct record *now = NULL, *before;
	struct str key;

	if (!s)
		return;
	key = str_from(arena_printf(&b->scratch, "%u/%.*s", kind_id, STR_ARG(name)));
	if (object)
		now = book_measure(b, s, key, k, ctx, object);
	before = now ? map_put(&s->records, now->key, now) : map_remove(&s->records, key);
	b->count += (now != NULL) - (before != NULL);
	book_apply(before, false);
	book_apply(now, true);
	book_tell(s, now, before, true, listener);
	book_tell(s, before, now, false, listener);
	free(before);
	arena_clear(&b->scratch);
}
