/*
 * Pending changes are text: they wait for seconds, and a tree would need an arena of its own.
 */
#include "controller/device_history/pool.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/time/timestamp.h"

struct history_pool *history_pool_new(struct device_history *owner, struct str key, struct str node)
{
	struct history_pool *p = xcalloc(1, sizeof(*p) + key.n + 1);

	str_put((char *)(p + 1), key);
	p->key = str_of((char *)(p + 1), key.n);
	p->owner = owner;
	p->node = node.n > 0 ? str_dup(node) : NULL;
	vec_init(&p->pending, HISTORY_POOL_PENDING_MAX);
	map_init(&p->missing);
	return p;
}

static void history_pending_free(struct history_pending *pending)
{
	free(pending->device);
	free(pending->text);
}

void history_pool_free(struct history_pool *p)
{
	if (!p)
		return;
	client_cancel(&p->request);
	map_free_values(&p->missing);
	for (size_t i = 0; i < p->pending.n; i++)
		history_pending_free(&p->pending.v[i]);
	vec_release(&p->pending);
	free(p->node);
	free(p);
}

/* --- changes --------------------------------------------------------------------------------- */

static void history_put(struct json_writer *w, const char *key, struct str text)
{
	if (text.n == 0)
		return;
	json_writer_keyz(w, key);
	json_writer_str(w, text);
}

static char *history_pool_text(const struct device_change *c, int64_t time)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	char stamp[TIMESTAMP_SIZE];
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	json_writer_begin_object(&w);
	history_put(&w, "time", timestamp_print(time, TIMESTAMP_SECONDS, stamp));
	history_put(&w, "field", str_from(c->field));
	history_put(&w, "from", c->from);
	history_put(&w, "to", c->to);
	history_put(&w, "reason", c->reason);
	history_put(&w, "message", c->message);
	history_put(&w, "holder", c->holder);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	return str_dup(buf_str(&text));
}

void history_pool_add(struct history_pool *p, const struct device_change *c, int64_t time)
{
	if (p->pending.n == HISTORY_POOL_PENDING_MAX) {
		/* A batch is smaller, so there is one. */
		history_pending_free(&p->pending.v[p->batch]);
		vec_remove(&p->pending, p->batch);
	}
	(void)vec_push(&p->pending, (struct history_pending){ .device = str_dup(c->device),
							      .text = history_pool_text(c, time) });
}

struct str history_pool_health(const struct history_pool *p, struct str device, struct arena *a)
{
	for (size_t i = p->pending.n; i > 0; i--) {
		const struct history_pending *c = &p->pending.v[i - 1];
		struct json *change;

		if (str_eqz(device, c->device) &&
		    json_parse(a, str_from(c->text), NULL, &change, NULL) == 0 &&
		    str_eqz(json_text_at(change, "field"), "health"))
			return json_text_at(change, "to");
	}
	return STR("");
}

void history_pool_written(struct history_pool *p, size_t n)
{
	p->batch = 0;
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		history_pending_free(&p->pending.v[i]);
	memmove(p->pending.v, p->pending.v + n, (p->pending.n - n) * sizeof(*p->pending.v));
	p->pending.n -= n;
}

/* --- missing devices ------------------------------------------------------------------------- */

static struct str history_keep(char **at, struct str text)
{
	struct str copy = str_of(*at, text.n);

	str_put(*at, text);
	*at += text.n;
	return copy;
}

void history_pool_lose(struct history_pool *p, const struct device_sight *last, int64_t now)
{
	struct history_missing *m;
	char *at;

	if (map_get(&p->missing, last->name) || p->missing.n >= HISTORY_POOL_MISSING_MAX)
		return;
	m = xcalloc(1, sizeof(*m) + last->name.n + last->state.n + last->reason.n + last->health.n +
			       last->holder.n + 1);
	at = (char *)(m + 1);
	m->since = now;
	m->last.name = history_keep(&at, last->name);
	m->last.state = history_keep(&at, last->state);
	m->last.reason = history_keep(&at, last->reason);
	m->last.health = history_keep(&at, last->health);
	m->last.holder = history_keep(&at, last->holder);
	(void)map_put(&p->missing, m->last.name, m);
}

struct history_missing *history_pool_find(struct history_pool *p, struct str device)
{
	return map_remove(&p->missing, device);
}
