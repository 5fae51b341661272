/*
 * Entries are in the order of insertion, which is nearly the order of expiry.
 */
#include "client/reviews/review_cache.h"

#include <stdlib.h>

#include "base/core/mem.h"

struct entry {
	struct list link;
	char *key, *text;
	size_t nkey, ntext;
	int64_t until_ms;
	bool yes;
};

void review_cache_init(struct review_cache *c)
{
	map_init(&c->entries);
	list_init(&c->order);
}

static void review_cache_drop(struct review_cache *c, struct entry *e)
{
	(void)map_remove(&c->entries, str_of(e->key, e->nkey));
	list_remove(&e->link);
	free(e->key);
	free(e->text);
	free(e);
}

void review_cache_release(struct review_cache *c)
{
	LIST_FOREACH_SAFE (it, &c->order)
		review_cache_drop(c, LIST_ENTRY(it, struct entry, link));
	map_release(&c->entries);
}

bool review_cache_get(struct review_cache *c, struct str key, int64_t now_ms, bool *ret_yes,
		      struct str *ret_text)
{
	struct entry *e = map_get(&c->entries, key);

	if (!e)
		return false;
	if (e->until_ms <= now_ms) {
		review_cache_drop(c, e);
		return false;
	}
	*ret_yes = e->yes;
	*ret_text = str_of(e->text, e->ntext);
	return true;
}

void review_cache_put(struct review_cache *c, struct str key, bool yes, struct str text,
		      int64_t until_ms)
{
	struct entry *e = map_get(&c->entries, key);

	if (e)
		review_cache_drop(c, e);
	if (c->entries.n >= REVIEW_CACHE_MAX)
		review_cache_drop(c, LIST_ENTRY(c->order.next, struct entry, link));
	e = XNEW(struct entry);
	e->key = str_dup(key);
	e->nkey = key.n;
	e->text = str_dup(text);
	e->ntext = text.n;
	e->yes = yes;
	e->until_ms = until_ms;
	list_push_back(&c->order, &e->link);
	(void)map_put(&c->entries, str_of(e->key, e->nkey), e);
}
