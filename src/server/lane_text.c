/* A piece ends where the next event would make it too long; a long event is one alone. */
#include "server/lane_text.h"

#include <stdlib.h>

#include "base/mem.h"

enum {
	PIECE = 32 * 1024,
	KEEP_BYTES = 2 * 1024 * 1024, /* of texts, per lane */
};

struct str lane_text_head(enum ring_type type)
{
	static const struct str heads[] = {
		[RING_ADDED] = { "{\"type\":\"ADDED\",\"object\":", 25 },
		[RING_MODIFIED] = { "{\"type\":\"MODIFIED\",\"object\":", 28 },
		[RING_DELETED] = { "{\"type\":\"DELETED\",\"object\":", 27 },
	};

	return heads[type];
}

static size_t line_size(const struct ring_event *e)
{
	return lane_text_head(e->type).n + e->object->json->n + LANE_TEXT_TAIL.n;
}

static char *line_put(char *to, const struct ring_event *e)
{
	struct str head = lane_text_head(e->type), tail = LANE_TEXT_TAIL;

	memcpy(to, head.p, head.n);
	to += head.n;
	memcpy(to, e->object->json->data, e->object->json->n);
	to += e->object->json->n;
	memcpy(to, tail.p, tail.n);
	return to + tail.n;
}

/* Where the piece that begins with event `from` ends, and how long it is. */
static uint32_t piece_end(const struct ring_chunk *c, uint32_t from, size_t *ret_bytes)
{
	size_t bytes = line_size(&c->events[from]);
	uint32_t to = from + 1;

	while (to < c->n && bytes + line_size(&c->events[to]) <= PIECE)
		bytes += line_size(&c->events[to++]);
	*ret_bytes = bytes;
	return to;
}

static struct bytes *piece_make(const struct ring_chunk *c, uint32_t from, uint32_t to, size_t n)
{
	struct bytes *b = bytes_new(n);
	char *at = b->data;

	for (uint32_t i = from; i < to; i++)
		at = line_put(at, &c->events[i]);
	return b;
}

static struct lane_text *text_make(const struct lane_feed *f, const struct ring_chunk *c)
{
	struct lane_text *t;
	uint32_t n = 0;
	size_t bytes;

	for (uint32_t at = 0; at < c->n; n++)
		at = piece_end(c, at, &bytes);
	t = xcalloc(1, sizeof(*t) + n * sizeof(t->pieces[0]));
	t->feed = f;
	t->seq = c->seq;
	for (uint32_t at = 0; at < c->n; t->n++) {
		uint32_t to = piece_end(c, at, &bytes);

		t->pieces[t->n] = (struct lane_piece){ piece_make(c, at, to, bytes), at, to };
		t->bytes += bytes;
		at = to;
	}
	return t;
}

static void text_drop(struct lane_texts *all, struct lane_text *t)
{
	list_remove(&t->link);
	all->bytes -= t->bytes;
	for (uint32_t i = 0; i < t->n; i++)
		bytes_unref(t->pieces[i].text);
	free(t);
}

void lane_texts_init(struct lane_texts *t)
{
	list_init(&t->list);
	t->bytes = 0;
}

void lane_texts_drop(struct lane_texts *t, const struct lane_feed *f)
{
	LIST_FOREACH_SAFE (node, &t->list) {
		struct lane_text *text = LIST_ENTRY(node, struct lane_text, link);

		if (!f || text->feed == f)
			text_drop(t, text);
	}
}

struct lane_text *lane_texts_get(struct lane_texts *all, const struct lane_feed *f,
				 const struct ring_chunk *c)
{
	struct lane_text *t;

	LIST_FOREACH (node, &all->list) {
		t = LIST_ENTRY(node, struct lane_text, link);
		if (t->feed == f && t->seq == c->seq)
			return t;
	}
	t = text_make(f, c);
	while (all->bytes && all->bytes + t->bytes > KEEP_BYTES)
		text_drop(all, LIST_ENTRY(all->list.prev, struct lane_text, link));
	list_push_front(&all->list, &t->link);
	all->bytes += t->bytes;
	return t;
}
