/*
 * A piece ends before the event that would make it too long. A long event is a piece of its own.
 */
#include "server/engine/lane_text.h"

#include <stdlib.h>

#include "api/object/message.h"
#include "base/core/mem.h"
#include "server/engine/lane.h"

enum {
	PIECE = 32 * 1024,
	KEEP_BYTES = 2 * 1024 * 1024, /* limit for texts, per lane */
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

struct str lane_text_type(enum ring_type type)
{
	static const struct str types[] = {
		[RING_ADDED] = { "ADDED", 5 },
		[RING_MODIFIED] = { "MODIFIED", 8 },
		[RING_DELETED] = { "DELETED", 7 },
	};

	return types[type];
}

/* --- one event -------------------------------------------------------------------- */

/*
 * An object with damaged text cannot be encoded, and an event must not be skipped. So the watch
 * gets this Status, and its client lists again. Fields: status (2), message (3), reason (4), code
 * (6).
 */
#define DAMAGED                                   \
	STR("\x12\x07"                            \
	    "Failure\x1a\x1b"                     \
	    "a stored object is not JSON\x22\x0d" \
	    "InternalError\x30\xf4\x03")

static struct lane_line message_line(enum lane_form form, const struct schema_kind *kind,
				     enum ring_type type, const struct object *o)
{
	struct bytes *message = object_message(o, kind);
	struct lane_line l = {
		.frame = { lane_text_type(type), STR("meta.k8s.io/v1"),
			   STR("PartialObjectMetadata") },
		.owner = message,
		.tail = PROTOBUF_TAIL,
	};

	if (!message) {
		l.frame = (struct protobuf_frame){ STR("ERROR"), STR("v1"), STR("Status") };
		l.body = DAMAGED;
		return l;
	}
	l.body = bytes_str(message);
	if (form == LANE_PARTIAL) {
		l.body.n = object_message_meta_size(message);
	} else {
		l.frame.api_version = kind->api_version;
		l.frame.kind = kind->kind;
	}
	return l;
}

struct lane_line lane_line_of(enum lane_form form, const struct schema_kind *kind,
			      enum ring_type type, const struct object *o)
{
	if (form != LANE_JSON)
		return message_line(form, kind, type, o);
	return (struct lane_line){ .head = lane_text_head(type),
				   .body = bytes_str(o->json),
				   .owner = o->json,
				   .tail = LANE_TEXT_TAIL };
}

size_t lane_line_size(const struct lane_line *l)
{
	if (l->head.n)
		return l->head.n + l->body.n + l->tail.n;
	return protobuf_frame_size(&l->frame, l->body.n);
}

char *lane_line_put(const struct lane_line *l, char *to)
{
	if (!l->head.n)
		return protobuf_put_frame(&l->frame, l->body, to);
	str_put(to, l->head);
	to += l->head.n;
	str_put(to, l->body);
	to += l->body.n;
	str_put(to, l->tail);
	return to + l->tail.n;
}

/* --- chunks ----------------------------------------------------------------------- */

/* Identifies a text: its feed, chunk and form. */
struct wanted {
	const struct lane_feed *feed;
	const struct ring_chunk *chunk;
	enum lane_form form;
};

static struct lane_line line_at(const struct wanted *w, uint32_t at)
{
	const struct ring_event *e = &w->chunk->events[at];

	return lane_line_of(w->form, w->feed->kind, e->type, e->object);
}

static size_t size_at(const struct wanted *w, uint32_t at)
{
	struct lane_line l = line_at(w, at);

	return lane_line_size(&l);
}

/* The end of the piece that begins with event `from`, and its length in bytes. */
static uint32_t piece_end(const struct wanted *w, uint32_t from, size_t *ret_bytes)
{
	size_t bytes = size_at(w, from), more;
	uint32_t to = from + 1;

	for (; to < w->chunk->n; to++, bytes += more) {
		more = size_at(w, to);
		if (bytes + more > PIECE)
			break;
	}
	*ret_bytes = bytes;
	return to;
}

static struct bytes *piece_make(const struct wanted *w, uint32_t from, uint32_t to, size_t n)
{
	struct bytes *b = bytes_new(n);
	char *at = b->data;

	for (uint32_t i = from; i < to; i++) {
		struct lane_line l = line_at(w, i);

		at = lane_line_put(&l, at);
	}
	return b;
}

static struct lane_text *text_make(const struct wanted *w)
{
	struct lane_text *t;
	uint32_t n = 0;
	size_t bytes;

	for (uint32_t at = 0; at < w->chunk->n; n++)
		at = piece_end(w, at, &bytes);
	t = xcalloc(1, sizeof(*t) + n * sizeof(t->pieces[0]));
	t->feed = w->feed;
	t->form = w->form;
	t->seq = w->chunk->seq;
	for (uint32_t at = 0; at < w->chunk->n; t->n++) {
		uint32_t to = piece_end(w, at, &bytes);

		t->pieces[t->n] = (struct lane_piece){ piece_make(w, at, to, bytes), at, to };
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
				 const struct ring_chunk *c, enum lane_form form)
{
	const struct wanted w = { f, c, form };
	struct lane_text *t;

	LIST_FOREACH (node, &all->list) {
		t = LIST_ENTRY(node, struct lane_text, link);
		if (t->feed == f && t->seq == c->seq && t->form == form)
			return t;
	}
	t = text_make(&w);
	while (all->bytes && all->bytes + t->bytes > KEEP_BYTES)
		text_drop(all, LIST_ENTRY(all->list.prev, struct lane_text, link));
	list_push_front(&all->list, &t->link);
	all->bytes += t->bytes;
	return t;
}
