/*
 * Three bounded tables: events by everything that identifies them, groups by everything but the
 * message, and one token bucket per object.
 */
#include "client/events/correlator.h"

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "client/api/bucket.h"

enum {
	ALIKE_MAX = 9, /* different messages written separately; further ones are combined */
};

#define ALIKE_NS (600 * CLOCK_SEC) /* quiet time after which the count restarts */
#define BURST    25
#define PER_S    (1.0 / 300)

/* A bounded map from text to the `link` of an entry. */
struct table {
	struct map by_key;
	struct list recent; /* least recent first */
	size_t max;
};

struct group {
	struct list link;
	char *key;
	uint64_t messages[ALIKE_MAX]; /* hashes of the distinct messages */
	unsigned n;
	int64_t last_ns;
};

struct spring {
	struct list link;
	char *key;
	struct bucket bucket;
};

struct correlator {
	struct table events, groups, springs;
	void (*forget)(void *data);
};

static void table_init(struct table *t, size_t max)
{
	t->max = max;
	map_init(&t->by_key);
	list_init(&t->recent);
}

static void *table_find(struct table *t, struct str key)
{
	struct list *l = map_get(&t->by_key, key);

	if (!l)
		return NULL;
	list_remove(l);
	list_push_back(&t->recent, l);
	return l;
}

/* Returns the entry to evict for a new one, or NULL. */
static void *table_evict(struct table *t)
{
	return t->by_key.n < t->max ? NULL : t->recent.next;
}

static void table_remove(struct table *t, struct list *l, char *key)
{
	map_remove(&t->by_key, str_from(key));
	list_remove(l);
	free(key);
}

static void table_put(struct table *t, struct list *l, const char *key)
{
	map_put(&t->by_key, str_from(key), l);
	list_push_back(&t->recent, l);
}

/* --- the three tables ------------------------------------------------------------------------ */

static void event_free(struct correlator *c, struct correlated *e)
{
	table_remove(&c->events, &e->link, e->key);
	if (e->data)
		c->forget(e->data);
	free(e);
}

static void group_free(struct correlator *c, struct group *g)
{
	table_remove(&c->groups, &g->link, g->key);
	free(g);
}

static void spring_free(struct correlator *c, struct spring *s)
{
	table_remove(&c->springs, &s->link, s->key);
	free(s);
}

static struct correlated *event_of(struct correlator *c, struct str key)
{
	struct list *l = table_find(&c->events, key);
	struct correlated *e;

	if (l)
		return LIST_ENTRY(l, struct correlated, link);
	l = table_evict(&c->events);
	if (l)
		event_free(c, LIST_ENTRY(l, struct correlated, link));
	e = XNEW(struct correlated);
	e->key = str_dup(key);
	table_put(&c->events, &e->link, e->key);
	return e;
}

static struct group *group_of(struct correlator *c, struct str key)
{
	struct group *g = table_find(&c->groups, key);

	if (g)
		return g;
	g = table_evict(&c->groups);
	if (g)
		group_free(c, g);
	g = XNEW(struct group);
	g->key = str_dup(key);
	table_put(&c->groups, &g->link, g->key);
	return g;
}

static struct spring *spring_of(struct correlator *c, struct str key)
{
	struct spring *s = table_find(&c->springs, key);

	if (s)
		return s;
	s = table_evict(&c->springs);
	if (s)
		spring_free(c, s);
	s = XNEW(struct spring);
	s->key = str_dup(key);
	bucket_init(&s->bucket, PER_S, BURST);
	table_put(&c->springs, &s->link, s->key);
	return s;
}

/* --- deciding -------------------------------------------------------------------------------- */

/* Whether there are too many distinct messages, so that this one is combined. */
static bool is_combined(struct group *g, struct str message, int64_t now_ns)
{
	uint64_t hash = hash_bytes(message, hash_process_seed());
	bool stale = g->last_ns != 0 && now_ns - g->last_ns > ALIKE_NS;

	if (stale)
		g->n = 0;
	g->last_ns = now_ns;
	for (unsigned i = 0; i < g->n; i++) {
		if (g->messages[i] == hash)
			return false;
	}
	if (g->n == ALIKE_MAX)
		return true;
	g->messages[g->n++] = hash;
	return false;
}

struct correlated *correlator_observe(struct correlator *c, const struct correlator_event *e,
				      int64_t now_ns)
{
	struct buf key = BUF_INIT(MIB);
	struct correlated *seen;
	bool combined;

	(void)buf_printf(&key, "%.*s %.*s", STR_ARG(e->about), STR_ARG(e->kind));
	combined = is_combined(group_of(c, buf_str(&key)), e->message, now_ns);
	if (!combined)
		(void)buf_printf(&key, " %.*s", STR_ARG(e->message));
	seen = event_of(c, buf_str(&key));
	buf_release(&key);
	seen->count++;
	seen->combined = combined;
	return bucket_take(&spring_of(c, e->about)->bucket, now_ns) ? seen : NULL;
}

/* --- life ------------------------------------------------------------------------------------ */

struct correlator *correlator_new(size_t known_max, void (*forget)(void *data))
{
	struct correlator *c = XNEW(struct correlator);

	c->forget = forget;
	table_init(&c->events, known_max);
	table_init(&c->groups, known_max);
	table_init(&c->springs, known_max);
	return c;
}

void correlator_free(struct correlator *c)
{
	if (!c)
		return;
	while (!list_empty(&c->events.recent))
		event_free(c, LIST_ENTRY(c->events.recent.next, struct correlated, link));
	while (!list_empty(&c->groups.recent))
		group_free(c, LIST_ENTRY(c->groups.recent.next, struct group, link));
	while (!list_empty(&c->springs.recent))
		spring_free(c, LIST_ENTRY(c->springs.recent.next, struct spring, link));
	map_release(&c->events.by_key);
	map_release(&c->groups.by_key);
	map_release(&c->springs.by_key);
	free(c);
}
