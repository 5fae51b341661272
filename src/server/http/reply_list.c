/*
 * Lists. The reply is a sequence of pieces: a head, the items, a tail. In the plain form a piece is
 * an object's bytes after its apiVersion and kind, or the brace that begins an item and the comma
 * before it. In protobuf the same is true of an object's message and the item's head
 * (reply_message.h). Such a reply has a known length, and its pieces are put into the connection's
 * output when that is written, so nothing of it is queued. In other forms, made as the stream has
 * room, a piece is a buffer with a few printed items. Printing and compressing is done in limited
 * steps, and the next step waits for the loop's next turn, so other connections are served in
 * between.
 */
#include <assert.h>
#include <inttypes.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/gzip.h"
#include "net/loop/loop.h"
#include "net/loop/outbuf.h"
#include "net/net_limits.h"
#include "server/cache/snapshot.h"
#include "server/http/audit.h"
#include "server/http/reply.h"
#include "server/http/reply_form.h"
#include "server/http/reply_message.h"
#include "server/server_limits.h"

enum {
	GZIP_LEVEL = 1,
	PRINT_STEP = 16 * 1024, /* bytes to print before the piece is sent */
	GZIP_STATE = 256 * 1024, /* memory of a compressor */
	GZIP_STEP = 16 * 1024, /* bytes to compress before the next turn */
	INPUT_STEP = 128 * 1024, /* bytes that the compressor reads before the next turn */
};

struct list_reply {
	struct exchange *x;
	struct list_result list;
	struct reply_form form;
	bool plain; /* items are sent by reference */
	struct reply_messages *messages; /* for protobuf; else NULL */
	struct str meta; /* JSON text of the ListMeta */
	enum { LIST_HEAD, LIST_ITEMS, LIST_TAIL, LIST_END } phase;
	size_t at; /* index of the next item */
	bool begun; /* the brace of item `at` was sent */
	struct buf text; /* printed text, becomes a piece */
	struct buf packed; /* compressed output; the next pieces are printed meanwhile */
	struct arena scratch; /* for the trees of one step */
	struct gzip *gzip; /* NULL: not compressed */
	struct slice held; /* the last piece, if it is a reference of its own */
	struct slice rest; /* what was not sent or compressed of the last piece; no reference */
	struct http_supply supply; /* for a reply of known length */
	size_t left; /* bytes that it has not sent */
	bool failed;
};

/* Frees everything but the struct. */
static void list_reply_clear(struct list_reply *l)
{
	gzip_free(TAKE(l->gzip));
	if (l->messages)
		reply_messages_release(l->messages);
	free(TAKE(l->messages));
	slice_release(&l->held);
	l->held = (struct slice){ 0 };
	buf_release(&l->text);
	buf_release(&l->packed);
	arena_release(&l->scratch);
}

static void list_reply_drop(void *object)
{
	list_reply_clear(object);
	free(object);
}

/* --- pieces ----------------------------------------------------------------------- */

static struct slice text_piece(struct list_reply *l)
{
	return (struct slice){ .p = l->text.p, .n = l->text.n };
}

static bool is_empty(const struct list_reply *l)
{
	return l->list.n == 0;
}

/* A few items that are not sent as their own bytes. */
static struct slice print_items(struct list_reply *l)
{
	struct json *tree;
	int r = 0;

	while (r == 0 && l->at < l->list.n && l->text.n < PRINT_STEP) {
		arena_clear(&l->scratch);
		r = reply_form_tree(&l->form, &l->scratch, l->list.items[l->at], &tree, NULL);
		if (r == 0)
			r = reply_form_item(&l->form, &l->scratch, tree, l->at == 0, &l->text,
					    NULL);
		l->at++;
	}
	l->failed = l->failed || r < 0;
	return text_piece(l);
}

/* Items that must be encoded are sent several at a time, like text. */
static struct slice next_message(struct list_reply *l)
{
	int r;

	do {
		slice_release(&l->held);
		r = reply_messages_next(l->messages, &l->at, &l->held);
		l->failed = l->failed || r < 0;
		if (l->plain || r < 0)
			return l->held;
		(void)buf_add(&l->text, l->held.p, l->held.n);
	} while (l->at < l->list.n && l->text.n < PRINT_STEP);
	return text_piece(l);
}

static struct slice next_item(struct list_reply *l)
{
	const struct object *o;

	if (l->messages)
		return next_message(l);
	if (!l->plain)
		return print_items(l);
	if (!l->begun) {
		l->begun = true;
		return slice_static(l->at ? STR(",{") : STR("{"));
	}
	l->begun = false;
	resource_fetch_ahead(l->list.items, l->list.n, l->at);
	o = l->list.items[l->at++];
	return (struct slice){ o->json->data + o->item_at, object_item_size(o), o->json };
}

static struct slice head_piece(struct list_reply *l)
{
	if (l->messages)
		reply_messages_begin(l->messages, &l->text);
	else
		(void)reply_form_begin(&l->form, l->meta, is_empty(l), &l->text);
	return text_piece(l);
}

static struct slice tail_piece(struct list_reply *l)
{
	if (l->messages)
		return slice_static(PROTOBUF_TAIL);
	(void)reply_form_end(&l->form, &l->scratch, l->meta, is_empty(l), &l->text);
	return text_piece(l);
}

/* The next piece, without a reference: valid until the next call. n is 0 at the end. */
static struct slice next_piece(struct list_reply *l)
{
	slice_release(&l->held);
	buf_clear(&l->text);
	switch (l->phase) {
	case LIST_HEAD:
		l->phase = is_empty(l) ? LIST_TAIL : LIST_ITEMS;
		return head_piece(l);
	case LIST_ITEMS: {
		struct slice piece = next_item(l);

		if (l->at == l->list.n)
			l->phase = LIST_TAIL;
		return piece;
	}
	case LIST_TAIL:
		l->phase = LIST_END;
		return tail_piece(l);
	case LIST_END:
		break;
	}
	return (struct slice){ 0 };
}

/* --- sending ---------------------------------------------------------------------- */

/* The reply is encoded. */
static void list_made(struct list_reply *l)
{
	l->x->produce = NULL;
	list_reply_clear(l);
	exchange_made(l->x);
}

static void reply_list_finish(struct list_reply *l)
{
	struct error err;

	if (!l->failed) {
		(void)http_stream_end(l->x->stream, NULL, 0);
		list_made(l);
		return;
	}
	l->x->produce = NULL;
	list_reply_clear(l);
	(void)error_set(&err, ERR_INTERNAL, "the list cannot be printed");
	http_stream_reset(l->x->stream, &err);
}

/* The next step runs in another turn; without a loop (tests of protocols) immediately. */
static bool step_back(struct list_reply *l)
{
	if (!l->x->home)
		return false;
	loop_defer_last(l->x->home, &l->x->task);
	return true;
}

static void send_pieces(struct list_reply *l)
{
	struct http_stream *s = l->x->stream;
	struct slice piece;

	while (http_stream_room(s) > 0) {
		piece = next_piece(l);
		if (!l->failed)
			(void)http_stream_send_copy(s, str_of(piece.p, piece.n));
		if (l->failed || l->phase == LIST_END) {
			reply_list_finish(l);
			return;
		}
		if (step_back(l))
			return;
	}
}

/* A reference to the first n bytes of the piece, or a copy if they are few or soon overwritten. */
static void put_part(struct outbuf *o, struct slice piece, size_t n)
{
	if (n <= OUTBUF_COPY_MAX || !piece.owner)
		outbuf_add(o, piece.p, n);
	else
		outbuf_add_slice(o, (struct slice){ piece.p, n, bytes_ref(piece.owner) });
}

static void put_list(struct http_supply *u, struct outbuf *o, size_t n)
{
	struct list_reply *l = CONTAINER_OF(u, struct list_reply, supply);
	size_t part;

	l->left -= n;
	for (; n; n -= part) {
		assert(l->rest.n || l->phase != LIST_END);
		if (!l->rest.n)
			l->rest = next_piece(l);
		part = MIN(n, l->rest.n);
		put_part(o, l->rest, part);
		l->rest.p += part;
		l->rest.n -= part;
	}
	if (l->left == 0)
		list_made(l);
}

static void supply_list(struct list_reply *l, size_t length)
{
	l->supply.put = put_list;
	l->left = length;
	(void)http_stream_supply(l->x->stream, &l->supply, length);
}

/* Compresses some input; returns true at the end of the compressed stream. */
static bool compress(struct list_reply *l)
{
	size_t read = 0;
	struct str input;
	int r = 0;

	while (r == 0 && l->packed.n < GZIP_STEP && read < INPUT_STEP) {
		if (!l->rest.n && l->phase != LIST_END)
			l->rest = next_piece(l);
		input = str_of(l->rest.p, l->rest.n);
		r = gzip_step(l->gzip, &input, l->phase == LIST_END, &l->packed, GZIP_STEP, NULL);
		read += l->rest.n - input.n;
		l->rest.p = input.p;
		l->rest.n = input.n;
	}
	l->failed = l->failed || r < 0;
	return r == 1;
}

static void send_compressed(struct list_reply *l)
{
	struct http_stream *s = l->x->stream;
	bool done = false;

	while (!done && !l->failed && http_stream_room(s) > 0) {
		done = compress(l);
		if (!l->failed && l->packed.n) {
			struct bytes *b = bytes_copy(buf_str(&l->packed));

			buf_clear(&l->packed);
			(void)http_stream_send(s, (struct slice){ b->data, b->n, b });
		}
		if (!done && !l->failed && step_back(l))
			return;
	}
	if (done || l->failed)
		reply_list_finish(l);
}

static void produce(struct exchange *x)
{
	struct list_reply *l = x->data;

	if (l->gzip)
		send_compressed(l);
	else
		send_pieces(l);
}

/* --- beginning -------------------------------------------------------------------- */

static struct str print_meta(struct exchange *x, const struct list_result *list)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)buf_printf(&b, "{\"resourceVersion\":\"%" PRId64 "\"", list->revision);
	if (list->more) {
		struct str token = request_continue_print(x->arena, list->revision, list->last);

		(void)buf_printf(&b, ",\"continue\":\"%.*s\"", STR_ARG(token));
	}
	if (list->more && list->remaining >= 0)
		(void)buf_printf(&b, ",\"remainingItemCount\":%" PRId64, list->remaining);
	(void)buf_addc(&b, '}');
	return arena_str(x->arena, buf_str(&b));
}

static struct list_reply *list_reply_new(struct exchange *x, const struct list_result *list)
{
	struct list_reply *l = XNEW(struct list_reply);

	l->x = x;
	l->list = *list;
	l->form = reply_form_of(x);
	l->plain = reply_form_is_plain(&l->form);
	l->meta = print_meta(x, list);
	buf_init(&l->text, REPLY_MAX);
	buf_init(&l->packed, REPLY_MAX);
	arena_init(&l->scratch, SIZE_MAX);
	arena_hold(x->arena, list_reply_drop, l);
	return l;
}

/* Head and tail are small, and printed once to compute the length. */
static int64_t plain_length(struct list_reply *l, size_t items)
{
	size_t around;

	(void)reply_form_begin(&l->form, l->meta, is_empty(l), &l->text);
	(void)reply_form_end(&l->form, &l->scratch, l->meta, is_empty(l), &l->text);
	around = l->text.n;
	buf_clear(&l->text);
	return (int64_t)(around + items);
}

/* YAML of tables and partial objects is rare: it is made in one step, from the JSON. */
static void reply_whole(struct list_reply *l)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT(REPLY_MAX);
	struct slice piece;
	struct error err;

	l->form.yaml = l->form.pretty = false;
	while (l->phase != LIST_END && !l->failed) {
		piece = next_piece(l);
		(void)buf_add(&all, piece.p, piece.n);
	}
	if (l->failed || all.overflow) {
		(void)error_set(&err, ERR_INTERNAL, "the list is too large to be shown like this");
		reply_error(l->x, &err, NULL);
		return;
	}
	reply_json(l->x, 200, bytes_copy(buf_str(&all)));
}

/* As the audit log has it: the objects, in whatever form the client wants them. */
static int print_for_audit(struct list_reply *l, const struct reply_form *f, struct buf *out)
{
	bool plain = reply_form_is_plain(f);
	struct json *tree;
	int r = reply_form_begin(f, l->meta, is_empty(l), out);

	for (size_t i = 0; i < l->list.n && r == 0; i++) {
		const struct object *o = l->list.items[i];

		arena_clear(&l->scratch);
		if (plain) {
			(void)buf_addz(out, i ? ",{" : "{");
			r = buf_add(out, o->json->data + o->item_at, object_item_size(o));
			continue;
		}
		r = reply_form_tree(f, &l->scratch, o, &tree, NULL);
		if (r == 0)
			r = reply_form_item(f, &l->scratch, tree, i == 0, out, NULL);
	}
	return r == 0 ? reply_form_end(f, &l->scratch, l->meta, is_empty(l), out) : r;
}

static void audit_list(struct list_reply *l)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(AUDIT_OBJECT_MAX);
	CLEANUP(bytes_unref) struct bytes *text = NULL;
	struct reply_form f = l->form;

	if (!audit_wants_response(l->x))
		return;
	f.as = ACCEPT_OBJECT;
	f.yaml = f.pretty = f.protobuf = false;
	if (print_for_audit(l, &f, &out) < 0 || out.overflow) {
		audit_response_cut(l->x);
		return;
	}
	text = bytes_copy(buf_str(&out));
	audit_response(l->x, text);
}

static bool refuse_form(struct exchange *x, const struct reply_form *f)
{
	struct error err;

	if (f->as != ACCEPT_PARTIAL)
		return false;
	(void)error_set(&err, ERR_NOT_ACCEPTABLE,
			"you requested PartialObjectMetadata, but the requested object is a list "
			"(%.*s)",
			STR_ARG(f->kind->list_kind));
	reply_error(x, &err, NULL);
	return true;
}

/* `size`: of the items; `length`: of the reply, -1 if unknown. */
static void reply_list_begin(struct list_reply *l, size_t size, int64_t length)
{
	struct exchange *x = l->x;
	bool zipped = x->accept.gzip && size > GZIP_FROM;

	if (!reply_take(x, MIN(size, (size_t)HTTP_OUT_HIGH) + (zipped ? GZIP_STATE : 0)))
		return;
	if (zipped)
		l->gzip = gzip_deflate_new(GZIP_LEVEL);
	x->produce = produce;
	flow_note_size(&x->flow, size);
	if (!reply_head(x, 200, reply_content_type(x), zipped ? STR("gzip") : STR_NULL,
			zipped ? -1 : length))
		return;
	if (zipped || !l->plain)
		produce(x);
	else
		supply_list(l, (size_t)length);
}

/* Before the head: measures the messages, and makes those that are missing. */
static void reply_list_measure(struct exchange *x)
{
	struct list_reply *l = x->data;
	struct error err;
	int r;

	do {
		r = reply_messages_measure(l->messages, &err);
		if (r == 0 && step_back(l))
			return;
	} while (r == 0);
	x->produce = NULL;
	if (r < 0)
		reply_error(x, &err, NULL);
	else
		reply_list_begin(l, l->messages->size, (int64_t)reply_messages_length(l->messages));
}

static void reply_messages(struct list_reply *l)
{
	struct exchange *x = l->x;

	l->messages = XNEW(struct reply_messages);
	reply_messages_init(l->messages, &l->form, &l->list, l->meta);
	l->plain = reply_messages_are_kept(l->messages);
	x->produce = reply_list_measure;
	reply_list_measure(x);
}

void reply_list(struct exchange *x, const struct list_result *list)
{
	struct list_reply *l;
	size_t size;

	if (x->answered)
		return;
	l = list_reply_new(x, list);
	x->data = l;
	if (refuse_form(x, &l->form))
		return;
	audit_list(l);
	if (l->form.protobuf) {
		reply_messages(l);
		return;
	}
	if (l->form.as != ACCEPT_OBJECT && (l->form.yaml || l->form.pretty)) {
		reply_whole(l);
		return;
	}
	size = list->bytes + (list->n ? 2 * list->n - 1 : 0); /* braces, and commas between */
	reply_list_begin(l, size, l->plain ? plain_length(l, size) : -1);
}
