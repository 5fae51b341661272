/*
 * A map for lookups and a list for eviction.
 */
#include "controller/pod_claims/gone.h"

#include "base/core/mem.h"

struct gone {
	struct list link;
	struct str uid;
	char text[];
};

void pod_claims_gone_init(struct pod_claims_gone *g)
{
	map_init(&g->entries);
	list_init(&g->oldest_first);
}

static void forget_oldest(struct pod_claims_gone *g)
{
	struct gone *e = LIST_ENTRY(list_pop_front(&g->oldest_first), struct gone, link);

	(void)map_remove(&g->entries, e->uid);
	free(e);
}

void pod_claims_gone_release(struct pod_claims_gone *g)
{
	while (!list_empty(&g->oldest_first))
		forget_oldest(g);
	map_release(&g->entries);
}

bool pod_claims_gone_has(struct pod_claims_gone *g, struct str uid)
{
	struct gone *e = map_get(&g->entries, uid);

	if (!e)
		return false;
	list_remove(&e->link);
	list_push_back(&g->oldest_first, &e->link);
	return true;
}

void pod_claims_gone_add(struct pod_claims_gone *g, struct str uid)
{
	struct gone *e;

	if (uid.n == 0 || pod_claims_gone_has(g, uid))
		return;
	e = xmalloc(sizeof(*e) + uid.n);
	str_put(e->text, uid);
	e->uid = str_of(e->text, uid.n);
	(void)map_put(&g->entries, e->uid, e);
	list_push_back(&g->oldest_first, &e->link);
	if (g->entries.n > POD_CLAIMS_GONE_MAX)
		forget_oldest(g);
}
