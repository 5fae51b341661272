/*
 * Two lists: those that wait for the current refresh, and those that arrived after it began and
 * wait for the next.
 */
#include "controller/shared/served.h"

#include "base/core/mem.h"
#include "client/api/discovery.h"

struct served {
	struct discovery *discovery;
	struct list now, next; /* struct served_wait */
	bool looking;
};

static void shared_served_look(struct served *s);

static void served_on_looked(void *arg, const struct error *err)
{
	struct served *s = arg;
	struct list told;

	list_init(&told);
	list_splice_back(&told, &s->now);
	s->looking = false;
	if (!list_empty(&s->next))
		shared_served_look(s);
	for (struct list *l; (l = list_pop_front(&told)) != NULL;) {
		struct served_wait *w = LIST_ENTRY(l, struct served_wait, link);

		w->link.next = NULL;
		w->done(w, err);
	}
}

static void shared_served_look(struct served *s)
{
	s->looking = true;
	list_splice_back(&s->now, &s->next);
	discovery_refresh(s->discovery, served_on_looked, s);
}

struct served *served_new(struct client *c)
{
	struct served *s = XNEW(struct served);

	s->discovery = discovery_open(c);
	list_init(&s->now);
	list_init(&s->next);
	return s;
}

static void served_forget(struct list *waits)
{
	for (struct list *l; (l = list_pop_front(waits)) != NULL;)
		LIST_ENTRY(l, struct served_wait, link)->link.next = NULL;
}

void served_free(struct served *s)
{
	if (!s)
		return;
	served_forget(&s->now);
	served_forget(&s->next);
	discovery_close(s->discovery);
	free(s);
}

void served_look(struct served *s, struct served_wait *w)
{
	list_push_back(&s->next, &w->link);
	if (!s->looking)
		shared_served_look(s);
}

void served_cancel(struct served_wait *w)
{
	if (!w->link.next)
		return;
	list_remove(&w->link);
	w->link.next = NULL;
}

const struct discovery *served_discovery(const struct served *s)
{
	return s->discovery;
}
