/*
 * An informer calls on_synced once for each handler, so the last kind's call finds all of them.
 */
#include "controller/shared/followed.h"

#include <assert.h>

#include "client/work/workqueue.h"

void following_init(struct following *f, struct informers *informers)
{
	*f = (struct following){ .informers = informers };
	list_init(&f->kinds);
}

void following_hold(struct following *f, struct workqueue *queue)
{
	size_t i = 0;

	while (f->queues[i])
		i++;
	assert(i < FOLLOWING_QUEUES_MAX);
	f->queues[i] = queue;
	workqueue_hold(queue, true);
}

bool following_synced(const struct following *f)
{
	LIST_FOREACH (it, &f->kinds) {
		if (!LIST_ENTRY(it, struct followed, link)->handler.synced)
			return false;
	}
	return true;
}

static void followed_on_synced(struct informer_handler *h)
{
	struct following *f = CONTAINER_OF(h, struct followed, handler)->of;

	if (!following_synced(f))
		return;
	if (f->on_synced)
		f->on_synced(f);
	for (size_t i = 0; i < FOLLOWING_QUEUES_MAX && f->queues[i]; i++)
		workqueue_hold(f->queues[i], false);
}

void follow(struct following *f, struct followed *k)
{
	struct informer_spec spec = { .resource = &k->resource,
				      .ns = k->ns,
				      .label_selector = k->label_selector,
				      .slim = true };

	k->of = f;
	list_push_back(&f->kinds, &k->link);
	k->informer = informers_get(f->informers, &spec);
	for (const struct cache_index *i = k->indexes; i && i->name; i++)
		informer_add_index(k->informer, i);
	k->handler.on_synced = followed_on_synced;
	informer_add_handler(k->informer, &k->handler);
}

void following_end(struct following *f)
{
	LIST_FOREACH_SAFE (it, &f->kinds) {
		informer_remove_handler(&LIST_ENTRY(it, struct followed, link)->handler);
		list_remove(it);
	}
}

/* --- handlers -------------------------------------------------------------------------------- */

void followed_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	workqueue_add(CONTAINER_OF(h, struct followed, handler)->of->queues[0], o->key);
}

void followed_on_update(struct informer_handler *h, struct cached *old UNUSED, struct cached *o)
{
	followed_on_add(h, o, false);
}

void followed_on_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	followed_on_add(h, last, false);
}
