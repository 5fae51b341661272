/*
 * A range is read from the inner store and opened item by item. If an item's key must be asked for
 * first, the range is parked, and goes on there later. Ranges that come before the plugins have
 * answered once wait for that: a server that starts needs no second try.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "store/sealed/sealed_impl.h"

struct sealed_read {
	struct list link; /* in `parked` */
	struct sealed_store *store;
	struct store_range range; /* its texts are in the arena */
	struct arena *arena;
	struct store_range_result result;
	bool begun; /* the inner store has answered */
	size_t next; /* the item to open */
	void (*done)(void *arg, const struct store_range_result *result, const struct error *err);
	void *arg;
};

/* Opens a value into the arena. Returns 1 if its key was asked for. */
static int open_slice(struct sealed_store *s, const struct store_key *key, struct slice *value,
		      uint32_t *ret_seal, struct arena *a, struct error *err)
{
	struct sealed_found found;
	char *out;
	int r = sealed_value_find(sealed_rule_of(s, key->resource), str_of(value->p, value->n),
				  &found, err);

	*ret_seal = 0;
	if (r != 0 || !found.key)
		return r;
	out = arena_alloc(a, found.n + 1);
	r = sealed_value_open(&found, key, out, err);
	if (r < 0)
		return r;
	out[found.n] = '\0';
	*value = (struct slice){ .p = out, .n = found.n };
	*ret_seal = found.seal;
	return 0;
}

static void read_end(struct sealed_read *job, const struct error *err)
{
	list_remove(&job->link);
	job->done(job->arg, err ? NULL : &job->result, err);
	free(job);
}

static void read_go_on(struct sealed_read *job)
{
	struct error err;
	int r = 0;

	for (; job->next < job->result.n; job->next++) {
		struct store_item *it = &job->result.items[job->next];

		r = open_slice(job->store, &it->key, &it->value, &it->seal, job->arena, &err);
		if (r != 0)
			break;
	}
	if (r == 0) {
		read_end(job, NULL);
	} else if (r < 0) {
		(void)sealed_blame(&job->result.items[job->next].key, r, &err);
		read_end(job, &err);
	}
}

static void read_on_range(void *arg, const struct store_range_result *result,
			  const struct error *err)
{
	struct sealed_read *job = arg;

	if (err) {
		read_end(job, err);
		return;
	}
	job->begun = true;
	job->result = *result;
	list_push_back(&job->store->parked, &job->link);
	read_go_on(job);
}

static void read_begin(struct sealed_read *job)
{
	store_range(job->store->inner, &job->range, job->arena, read_on_range, job);
}

void sealed_ranges_resume(struct sealed_store *s)
{
	struct list now, *node;
	struct error err;

	list_init(&now);
	list_splice_back(&now, &s->parked);
	while ((node = list_pop_front(&now))) {
		struct sealed_read *job = LIST_ENTRY(node, struct sealed_read, link);

		if (s->closing) {
			(void)error_set(&err, ERR_CANCELED, "the store is closing");
			read_end(job, &err);
			continue;
		}
		if (job->begun || !sealed_plugins_settled(s))
			list_push_back(&s->parked, &job->link);
		if (job->begun)
			read_go_on(job);
		else if (sealed_plugins_settled(s))
			read_begin(job);
	}
}

void sealed_range(struct store *base, const struct store_range *range, struct arena *arena,
		  void (*done)(void *arg, const struct store_range_result *result,
			       const struct error *err),
		  void *arg)
{
	struct sealed_store *s = sealed_of(base);
	struct sealed_read *job = XNEW(struct sealed_read);

	*job = (struct sealed_read){
		.store = s, .range = *range, .arena = arena, .done = done, .arg = arg
	};
	list_init(&job->link);
	if (sealed_plugins_settled(s)) {
		read_begin(job);
		return;
	}
	job->range.resource = arena_str(arena, range->resource);
	job->range.ns = arena_str(arena, range->ns);
	job->range.after_ns = arena_str(arena, range->after_ns);
	job->range.after_name = arena_str(arena, range->after_name);
	list_push_back(&s->parked, &job->link);
}

/* Opens both values of a change; false if one of them cannot be opened now. */
static bool open_change(struct sealed_store *s, struct store_change *c, struct arena *a)
{
	uint32_t seal;

	if (c->value.p && open_slice(s, &c->key, &c->value, &seal, a, NULL) != 0)
		return false;
	return !c->prev.p || open_slice(s, &c->key, &c->prev, &seal, a, NULL) == 0;
}

int sealed_history(struct store *base, struct str resource, int64_t revision, size_t max_bytes,
		   struct arena *arena, struct store_past *ret_past, struct error *err)
{
	struct sealed_store *s = sealed_of(base);
	size_t first = 0;
	int r = store_history(s->inner, resource, revision, max_bytes, arena, ret_past, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ret_past->n; i++)
		if (!open_change(s, &ret_past->changes[i], arena)) {
			first = i + 1;
			ret_past->from = ret_past->changes[i].revision;
		}
	if (first > 0) {
		ret_past->changes += first;
		ret_past->n -= first;
	}
	return 0;
}
