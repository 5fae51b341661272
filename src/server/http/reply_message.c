/*
 * Each call does a limited amount of work: new messages are limited by the bytes of JSON that
 * they are made from, existing ones by their number.
 */
#include "server/http/reply_message.h"

#include "api/codec/protobuf.h"
#include "api/codec/protobuf_wire.h"
#include "api/object/message.h"
#include "base/core/limits.h"
#include "server/http/reply.h"

enum {
	MAKE_STEP = 32 * 1024, /* bytes of JSON encoded before the next turn */
	LOOK_STEP = 8192, /* existing messages measured before the next turn */
	AHEAD = 8, /* items that are prefetched into the cache */
};

static bool is_partial(const struct reply_form *f)
{
	return f->as == ACCEPT_PARTIAL || f->as == ACCEPT_PARTIAL_LIST;
}

/* Whether messages are kept with the objects. */
static bool is_kept(const struct reply_form *f)
{
	return is_partial(f) || f->kind == f->kind->storage;
}

static struct protobuf_frame frame_of(const struct reply_form *f, bool list)
{
	if (is_partial(f))
		return protobuf_frame_partial(f->version, list);
	return (struct protobuf_frame){ .api_version = f->kind->api_version,
					.kind = list ? f->kind->list_kind : f->kind->kind };
}

/* --- one object ------------------------------------------------------------------- */

static int encode_converted(const struct reply_form *f, const struct object *o,
			    struct slice *ret_message, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf out = BUF_INIT(REPLY_MAX);
	struct json *tree;
	struct bytes *b;
	int r;

	arena_init(&a, SIZE_MAX);
	r = reply_form_tree(f, &a, o, &tree, err);
	if (r < 0)
		return r;
	(void)protobuf_encode(f->kind->type, tree, &out, NULL);
	b = bytes_copy(buf_str(&out));
	*ret_message = (struct slice){ b->data, b->n, b };
	return 0;
}

/* The bare message of a committed object; a new reference. -ERR_INTERNAL. */
static int reply_message_of(const struct reply_form *f, const struct object *o,
			    struct slice *ret_message, struct error *err)
{
	struct bytes *message;

	if (!is_kept(f))
		return encode_converted(f, o, ret_message, err);
	message = object_message(o, f->kind);
	if (!message)
		return error_set(err, ERR_INTERNAL, "a stored object is not JSON");
	*ret_message = is_partial(f) ? slice_part(message, 0, object_message_meta_size(message))
				     : slice_of(message);
	return 0;
}

/* Takes over the message. */
static void send_message(struct exchange *x, int status, const struct protobuf_frame *frame,
			 struct slice message)
{
	size_t n = protobuf_head_size(frame, message.n);
	struct bytes *head;

	if (!reply_take(x, message.n) ||
	    !reply_head(x, status, negotiate_media_type(ACCEPT_PROTOBUF), STR_NULL,
			(int64_t)protobuf_frame_size(frame, message.n))) {
		slice_release(&message);
		return;
	}
	head = bytes_new(n);
	(void)protobuf_put_head(frame, message.n, head->data);
	(void)http_stream_send(x->stream, (struct slice){ head->data, head->n, head });
	(void)http_stream_send(x->stream, message);
	(void)http_stream_send(x->stream, slice_static(PROTOBUF_TAIL));
	(void)http_stream_end(x->stream, NULL, 0);
	exchange_made(x);
}

void reply_message_object(struct exchange *x, int status, const struct reply_form *f,
			  const struct object *o)
{
	struct protobuf_frame frame = frame_of(f, false);
	struct slice message;
	struct error err;

	if (reply_message_of(f, o, &message, &err) < 0)
		reply_error(x, &err, NULL);
	else
		send_message(x, status, &frame, message);
}

int reply_message_tree(struct exchange *x, int status, const struct reply_form *f,
		       const struct json *tree, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(REPLY_MAX);
	struct protobuf_frame frame = { .api_version = json_text_at(tree, "apiVersion"),
					.kind = json_text_at(tree, "kind") };
	const struct schema_kind *kind;
	struct bytes *b;
	int r;

	/* A Status is never partial. */
	if (is_partial(f) && !str_eq(frame.kind, STR("Status")))
		frame = protobuf_frame_partial(f->version, false);
	kind = is_partial(f) ? schema_find_kind(STR("meta.k8s.io/v1"), frame.kind) : NULL;
	if (!kind)
		kind = schema_find_kind(frame.api_version, frame.kind);
	if (!kind)
		return error_set(err, ERR_INTERNAL, "this kind has no protobuf encoding");
	r = protobuf_encode(kind->type, tree, &out, err);
	if (r < 0)
		return r;
	b = bytes_copy(buf_str(&out));
	send_message(x, status, &frame, (struct slice){ b->data, b->n, b });
	return 0;
}

/* --- lists ------------------------------------------------------------------------ */

static void encode_meta(struct reply_messages *m, struct str meta)
{
	CLEANUP(arena_release) struct arena a;
	const struct schema_type *type = schema_type_find(
		STR("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"));
	struct json *tree;
	size_t mark;

	arena_init(&a, SIZE_MAX);
	mark = wire_open(&m->meta, m->meta_number);
	if (json_parse(&a, meta, NULL, &tree, NULL) == 0)
		(void)protobuf_encode(type, tree, &m->meta, NULL);
	wire_close(&m->meta, mark);
}

void reply_messages_init(struct reply_messages *m, const struct reply_form *f,
			 const struct list_result *list, struct str meta)
{
	/* Upstream's older list has the two field numbers swapped. */
	bool old = is_partial(f) && !str_eq(f->version, STR("v1"));

	*m = (struct reply_messages){
		.form = f,
		.list = list,
		.frame = frame_of(f, true),
		.meta_number = old ? 2 : 1,
		.item_number = old ? 1 : 2,
	};
	buf_init(&m->measuring, SIZE_MAX);
	buf_init(&m->meta, MIB);
	encode_meta(m, meta);
}

void reply_messages_release(struct reply_messages *m)
{
	buf_release(&m->measuring);
	buf_release(&m->meta);
	bytes_unref(m->heads);
	m->heads = NULL;
}

bool reply_messages_are_kept(const struct reply_messages *m)
{
	return is_kept(m->form);
}

/* Prefetches: objects and their messages are scattered in memory. */
static void fetch_ahead(const struct list_result *list, size_t at)
{
	if (at + 2 * AHEAD < list->n)
		__builtin_prefetch(list->items[at + 2 * AHEAD]);
	if (at + AHEAD < list->n)
		__builtin_prefetch(object_message_made(list->items[at + AHEAD]), 1);
}

/* *ret_work: bytes of JSON that were encoded. */
static int measure_item(struct reply_messages *m, const struct object *o, size_t *ret_work,
			struct error *err)
{
	struct slice message;
	bool made = is_kept(m->form) && object_message_made(o);
	int r = reply_message_of(m->form, o, &message, err);

	if (r < 0)
		return r;
	*ret_work = made ? 0 : o->json->n;
	wire_put_varint(&m->measuring, m->item_number << 3 | WIRE_BYTES);
	wire_put_varint(&m->measuring, message.n);
	m->size += message.n;
	slice_release(&message);
	return 0;
}

int reply_messages_measure(struct reply_messages *m, struct error *err)
{
	size_t until = m->measured + LOOK_STEP, work = 0, more;
	int r;

	for (; m->measured < m->list->n; m->measured++) {
		if (m->measured >= until || work >= MAKE_STEP)
			return 0;
		fetch_ahead(m->list, m->measured);
		r = measure_item(m, m->list->items[m->measured], &more, err);
		if (r < 0)
			return r;
		work += more;
	}
	m->heads = bytes_copy(buf_str(&m->measuring));
	m->size += m->heads->n;
	buf_release(&m->measuring);
	return 1;
}

size_t reply_messages_length(const struct reply_messages *m)
{
	return protobuf_frame_size(&m->frame, m->meta.n + m->size);
}

void reply_messages_begin(const struct reply_messages *m, struct buf *out)
{
	size_t n = m->meta.n + m->size, head = protobuf_head_size(&m->frame, n);

	if (buf_reserve(out, head) < 0)
		return;
	(void)protobuf_put_head(&m->frame, n, out->p + out->n);
	out->n += head;
	(void)buf_add_str(out, buf_str(&m->meta));
}

/* A tag and a varint: it ends with the first byte after the tag whose high bit is not set. */
static size_t head_size(const struct reply_messages *m)
{
	const char *p = m->heads->data + m->head_at;
	size_t n = 1;

	while ((unsigned char)p[n] & 0x80)
		n++;
	return n + 1;
}

int reply_messages_next(struct reply_messages *m, size_t *at, struct slice *ret_piece)
{
	size_t n;

	if (!m->head_sent) {
		n = head_size(m);
		*ret_piece = slice_part(m->heads, m->head_at, n);
		m->head_at += n;
		m->head_sent = true;
		return 0;
	}
	m->head_sent = false;
	fetch_ahead(m->list, *at);
	return reply_message_of(m->form, m->list->items[(*at)++], ret_piece, NULL);
}
