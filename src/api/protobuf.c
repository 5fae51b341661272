/*
 * The envelope, both ways. It is read field by field and borrowed from, so that
 * to look into a body costs nothing; it is written as upstream does, its two
 * empty texts included.
 */
#include "api/protobuf.h"

#include "api/protobuf_impl.h"

/* Fields of the envelope, and of the TypeMeta in it, whose order is not that of meta/v1. */
enum { TYPE_META = 1, RAW = 2, CONTENT_ENCODING = 3, CONTENT_TYPE = 4 };
enum { API_VERSION = 1, KIND = 2 };
/* Of WatchEvent, and of the RawExtension in it. */
enum { EVENT_TYPE = 1, EVENT_OBJECT = 2, EVENT_RAW = 1 };

/* --- decoding --------------------------------------------------------------------- */

static int take_str(const struct wire_field *w, const char *name, struct str *ret,
		    struct error *err)
{
	if (w->type != WIRE_BYTES)
		return error_set(err, ERR_BAD_REQUEST, "proto: wrong wireType = %d for field %s",
				 (int)w->type, name);
	*ret = w->bytes;
	return 0;
}

static int read_type_meta(struct str message, struct protobuf_envelope *e, struct error *err)
{
	struct wire_field w;
	int r;

	while ((r = wire_next(&message, &w, err)) > 0) {
		if (w.number == API_VERSION)
			r = take_str(&w, "APIVersion", &e->api_version, err);
		else if (w.number == KIND)
			r = take_str(&w, "Kind", &e->kind, err);
		if (r < 0)
			return r;
	}
	return r;
}

static int read_envelope_field(const struct wire_field *w, struct protobuf_envelope *e,
			       struct error *err)
{
	struct str meta;
	int r;

	switch (w->number) {
	case TYPE_META:
		r = take_str(w, "TypeMeta", &meta, err);
		return r < 0 ? r : read_type_meta(meta, e, err);
	case RAW:
		return take_str(w, "Raw", &e->message, err);
	case CONTENT_ENCODING:
		return take_str(w, "ContentEncoding", &e->content_encoding, err);
	case CONTENT_TYPE:
		return take_str(w, "ContentType", &e->content_type, err);
	default:
		return 0;
	}
}

static int check_envelope(const struct protobuf_envelope *e, struct error *err)
{
	if (!str_is_utf8(e->api_version) || !str_is_utf8(e->kind))
		return error_set(err, ERR_BAD_REQUEST, "the body's type is not UTF-8");
	if (e->content_encoding.n)
		return error_set(err, ERR_BAD_REQUEST,
				 "the body's content is encoded in a way that is not understood");
	if (e->content_type.n && !str_eq(e->content_type, STR("application/json")) &&
	    !str_eq(e->content_type, STR("application/vnd.kubernetes.protobuf")))
		return error_set(err, ERR_BAD_REQUEST,
				 "the body's content is of a type that is not understood");
	return 0;
}

int protobuf_open(struct str body, struct protobuf_envelope *ret_envelope, struct error *err)
{
	struct protobuf_envelope e = { 0 };
	struct str rest = str_skip(body, PROTOBUF_MAGIC.n);
	struct wire_field w;
	int r;

	if (body.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "empty data");
	if (!str_starts(body, PROTOBUF_MAGIC))
		return error_set(err, ERR_BAD_REQUEST,
				 "provided data does not appear to be a protobuf message, expected "
				 "prefix [107 56 115 0]");
	if (rest.n == 0)
		return error_set(err, ERR_BAD_REQUEST, "empty body");
	while ((r = wire_next(&rest, &w, err)) > 0) {
		r = read_envelope_field(&w, &e, err);
		if (r < 0)
			return r;
	}
	if (r == 0)
		r = check_envelope(&e, err);
	if (r == 0)
		*ret_envelope = e;
	return r;
}

static struct json *type_meta(struct arena *a, const struct protobuf_envelope *e)
{
	struct json *tree = json_make_object(a);

	json_add(tree, STR("apiVersion"), json_make_str(a, e->api_version));
	json_add(tree, STR("kind"), json_make_str(a, e->kind));
	return tree;
}

/* The content is JSON: it has what the envelope says, or nothing of the kind. */
static int decode_json(struct arena *a, const struct protobuf_envelope *e, struct json **ret_tree,
		       struct error *err)
{
	struct json *tree;
	int r = json_parse(a, e->message, NULL, &tree, err);

	if (r < 0)
		return r;
	if (tree->type != JSON_OBJECT)
		return error_set(err, ERR_BAD_REQUEST, "the body's content is no object");
	json_setz(tree, "apiVersion", json_make_str(a, e->api_version));
	json_setz(tree, "kind", json_make_str(a, e->kind));
	*ret_tree = tree;
	return 0;
}

int protobuf_decode_body(struct arena *a, const struct schema_kind *kind, struct str body,
			 size_t *ret_unknown, struct json **ret_tree, struct error *err)
{
	const struct schema_kind *given;
	struct protobuf_envelope e;
	struct json *tree;
	int r = protobuf_open(body, &e, err);

	if (r < 0)
		return r;
	e.api_version = e.api_version.n ? e.api_version : kind->api_version;
	e.kind = e.kind.n ? e.kind : kind->kind;
	if (ret_unknown)
		*ret_unknown = 0;
	*ret_tree = type_meta(a, &e);
	if (str_eq(e.content_type, STR("application/json")))
		return decode_json(a, &e, ret_tree, err);
	given = schema_find_kind(e.api_version, e.kind);
	if (!given)
		return 0;
	tree = type_meta(a, &e);
	r = protobuf_read_message(a, given->type, e.message, ret_unknown, tree, err);
	if (r == 0)
		*ret_tree = tree;
	return r;
}

/* --- encoding --------------------------------------------------------------------- */

static int finish(const struct buf *b)
{
	return b->overflow ? -ERR_TOO_LARGE : 0;
}

/* All of the envelope that stands before the object's message. */
static void put_head(struct buf *b, struct str api_version, struct str kind)
{
	size_t meta;

	(void)buf_add_str(b, PROTOBUF_MAGIC);
	meta = wire_open(b, TYPE_META);
	wire_put_bytes(b, API_VERSION, api_version);
	wire_put_bytes(b, KIND, kind);
	wire_close(b, meta);
}

static void put_tail(struct buf *b)
{
	wire_put_bytes(b, CONTENT_ENCODING, STR(""));
	wire_put_bytes(b, CONTENT_TYPE, STR(""));
}

int protobuf_wrap(struct str api_version, struct str kind, struct str message, struct buf *b)
{
	put_head(b, api_version, kind);
	wire_put_bytes(b, RAW, message);
	put_tail(b);
	return finish(b);
}

int protobuf_encode_object(const struct schema_kind *kind, const struct json *tree, struct buf *b,
			   struct error *err)
{
	size_t message;
	int r;

	put_head(b, kind->api_version, kind->kind);
	message = wire_open(b, RAW);
	r = protobuf_encode(kind->type, tree, b, err);
	if (r < 0)
		return r;
	wire_close(b, message);
	put_tail(b);
	return b->overflow ? protobuf_too_large(b, err) : 0;
}

int protobuf_encode_event(struct str type, struct str object, struct buf *b)
{
	size_t begin = b->n, raw, n;

	(void)buf_add(b, "\0\0\0", 4);
	wire_put_bytes(b, EVENT_TYPE, type);
	raw = wire_open(b, EVENT_OBJECT);
	wire_put_bytes(b, EVENT_RAW, object);
	wire_close(b, raw);
	if (b->overflow)
		return -ERR_TOO_LARGE;
	n = b->n - begin - 4;
	if (n > UINT32_MAX)
		return -ERR_TOO_LARGE;
	for (unsigned i = 0; i < 4; i++)
		b->p[begin + i] = (char)(n >> (24 - 8 * i));
	return 0;
}
