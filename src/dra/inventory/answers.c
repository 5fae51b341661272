/*
 * A set-associative cache: a hash of selector and slice selects a set of a few places, and the
 * oldest entry of a set is evicted. IDs are never reused, so answers about a removed slice or
 * program are never found again, and need no invalidation.
 */
#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "dra/inventory/store.h"

enum {
	SETS = 1024, /* a power of two */
	WAYS = 8,
	WORDS = (SLICE_DEVICES_MAX + 63) / 64,
};

struct answer {
	uint64_t selector, slice; /* IDs; 0: unused */
	uint64_t known[WORDS], yes[WORDS]; /* bits by device */
};

struct inventory_answers {
	struct answer places[SETS][WAYS];
	uint8_t next[SETS]; /* the place to evict next */
};

static size_t set_of(uint64_t selector, uint64_t slice)
{
	const uint64_t ids[] = { selector, slice };

	return hash_bytes(str_of((const char *)ids, sizeof(ids)), 1) & (SETS - 1);
}

static struct answer *answers_find(struct inventory_answers *all, uint64_t selector, uint64_t slice)
{
	struct answer *set = all->places[set_of(selector, slice)];

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].selector == selector && set[i].slice == slice)
			return &set[i];
	return NULL;
}

int inventory_answer(const struct inventory *inv, uint64_t selector,
		     const struct inventory_device *d)
{
	size_t i = (size_t)(d - d->slice->devices);
	const struct answer *a = inv->answers ? answers_find(inv->answers, selector, d->slice->id)
					      : NULL;

	if (!a || i >= SLICE_DEVICES_MAX || !(a->known[i / 64] >> (i % 64) & 1))
		return -1;
	return (int)(a->yes[i / 64] >> (i % 64) & 1);
}

void inventory_remember(struct inventory *inv, uint64_t selector, const struct inventory_device *d,
			bool yes)
{
	size_t i = (size_t)(d - d->slice->devices), set = set_of(selector, d->slice->id);
	struct answer *a;

	if (i >= SLICE_DEVICES_MAX)
		return;
	if (!inv->answers) {
		inv->answers = XNEW(struct inventory_answers);
		inv->bytes += sizeof(*inv->answers);
	}
	a = answers_find(inv->answers, selector, d->slice->id);
	if (!a) {
		a = &inv->answers->places[set][inv->answers->next[set]++ % WAYS];
		*a = (struct answer){ .selector = selector, .slice = d->slice->id };
	}
	a->known[i / 64] |= UINT64_C(1) << (i % 64);
	a->yes[i / 64] |= (uint64_t)yes << (i % 64);
}

void inventory_answers_release(struct inventory *inv)
{
	free(inv->answers);
	inv->answers = NULL;
}
