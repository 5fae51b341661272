/*
 * Few have more than one source, so insertion keeps them sorted.
 */
#include "controller/taint_eviction/eviction.h"

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"

/* The index of a source, or where to insert it. */
static size_t eviction_place(const struct str *sources, size_t n, struct str source,
			     bool *ret_there)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_cmp(sources[middle], source) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_there = low < n && str_eq(sources[low], source);
	return low;
}

static void eviction_grow(struct eviction_draft *d)
{
	size_t room = d->room ? d->room * 2 : 4;
	struct str *larger = ARENA_ARRAY(d->arena, struct str, room);

	for (size_t i = 0; i < d->n; i++)
		larger[i] = d->sources[i];
	d->sources = larger;
	d->room = room;
}

void eviction_add(struct eviction_draft *d, int64_t when, struct str source)
{
	bool there;
	size_t at = eviction_place(d->sources, d->n, source, &there);

	if (d->n == 0 || when < d->when)
		d->when = when;
	if (there)
		return;
	if (d->n == d->room)
		eviction_grow(d);
	for (size_t i = d->n; i > at; i--)
		d->sources[i] = d->sources[i - 1];
	d->sources[at] = arena_str(d->arena, source);
	d->n++;
}

void eviction_add_at_once(struct eviction_draft *d, int64_t since, struct str source)
{
	d->at_once = true;
	eviction_add(d, since, source);
}

bool eviction_is_due(const struct eviction *e, int64_t now)
{
	return e->at_once || e->when <= now;
}

void eviction_join(struct eviction_draft *d, const struct eviction *e)
{
	d->at_once |= e->at_once;
	for (size_t i = 0; i < e->n; i++)
		eviction_add(d, e->when, e->sources[i]);
}

struct eviction *eviction_new(const struct eviction_draft *d)
{
	size_t bytes = sizeof(struct eviction) + d->n * sizeof(struct str);
	struct eviction *e;
	char *text;

	if (d->n == 0)
		return NULL;
	for (size_t i = 0; i < d->n; i++)
		bytes += d->sources[i].n;
	e = xmalloc(bytes);
	e->when = d->when;
	e->at_once = d->at_once;
	e->n = d->n;
	text = (char *)&e->sources[e->n];
	for (size_t i = 0; i < e->n; i++) {
		str_put(text, d->sources[i]);
		e->sources[i] = str_of(text, d->sources[i].n);
		text += d->sources[i].n;
	}
	return e;
}

bool eviction_equal(const struct eviction *a, const struct eviction *b)
{
	if (!a || !b)
		return a == b;
	if (a->when != b->when || a->at_once != b->at_once || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!str_eq(a->sources[i], b->sources[i]))
			return false;
	return true;
}

bool eviction_has(const struct eviction *e, struct str source)
{
	bool there;

	(void)eviction_place(e->sources, e->n, source, &there);
	return there;
}

struct str eviction_print(const struct eviction *e, struct arena *a)
{
	struct buf b = BUF_INIT(64 * KIB);
	struct str text;

	for (size_t i = 0; i < e->n; i++) {
		bool rule = str_starts(e->sources[i], STR(EVICTION_RULE));
		struct str name = str_skip(e->sources[i], 2);

		(void)buf_printf(&b, "%s%s %.*s", i ? ", " : "",
				 rule ? "DeviceTaintRule" : "ResourceSlice", STR_ARG(name));
	}
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}
