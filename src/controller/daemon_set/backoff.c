/*
 * One entry per node that had a failed pod. Old ones are dropped once a minute.
 */
#include "controller/daemon_set/backoff.h"

#include "base/core/mem.h"

enum { SWEEP_MS = 60 * 1000 };

struct interval {
	int64_t ms, since_ms;
	unsigned count;
	char node[];
};

void daemon_backoff_init(struct daemon_backoff *b)
{
	map_init(&b->by_node);
	b->swept_ms = 0;
}

void daemon_backoff_clear(struct daemon_backoff *b)
{
	map_free_values(&b->by_node);
}

void daemon_backoff_release(struct daemon_backoff *b)
{
	daemon_backoff_clear(b);
}

static bool interval_is_over(const struct interval *i, int64_t now_ms)
{
	return now_ms - i->since_ms > 2 * (int64_t)DAEMON_BACKOFF_MAX_MS;
}

static void sweep(struct daemon_backoff *b, int64_t now_ms)
{
	struct map kept;
	size_t at = 0;
	struct str node;
	void *v;

	if (now_ms - b->swept_ms < SWEEP_MS)
		return;
	b->swept_ms = now_ms;
	map_init(&kept);
	while (map_next(&b->by_node, &at, &node, &v)) {
		if (interval_is_over(v, now_ms))
			free(v);
		else
			(void)map_put(&kept, node, v);
	}
	map_release(&b->by_node);
	b->by_node = kept;
}

int64_t daemon_backoff_take(struct daemon_backoff *b, struct str node, int64_t now_ms)
{
	struct interval *i;

	sweep(b, now_ms);
	i = map_get(&b->by_node, node);
	if (!i) {
		i = xmalloc(sizeof(*i) + node.n);
		*i = (struct interval){ 0 };
		str_put(i->node, node);
		(void)map_put(&b->by_node, str_of(i->node, node.n), i);
	} else if (!interval_is_over(i, now_ms) && now_ms - i->since_ms < i->ms) {
		return i->since_ms + i->ms - now_ms;
	} else if (interval_is_over(i, now_ms)) {
		i->ms = 0;
		i->count = 0;
	}
	i->ms = i->ms ? MIN(2 * i->ms, (int64_t)DAEMON_BACKOFF_MAX_MS) : DAEMON_BACKOFF_MS;
	i->since_ms = now_ms;
	i->count++;
	return 0;
}

unsigned daemon_backoff_count(const struct daemon_backoff *b, struct str node)
{
	const struct interval *i = map_get(&b->by_node, node);

	return i ? i->count : 0;
}
