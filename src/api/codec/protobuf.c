/*
 * Decodes and encodes the envelope. It is read field by field and borrowed from the body, so
 * reading it costs no allocation. It is written as upstream does, with its two empty strings
 * (protobuf_frame.c).
 */
#include "api/codec/protobuf.h"

#include "api/codec/protobuf_frame.h"
#include "api/codec/protobuf_impl.h"

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
		if (w.number == PROTOBUF_API_VERSION)
			r = take_str(&w, "APIVersion", &e->api_version, err);
		else if (w.number == PROTOBUF_KIND)
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
	case PROTOBUF_TYPE_META:
		r = take_str(w, "TypeMeta", &meta, err);
		return r < 0 ? r : read_type_meta(meta, e, err);
	case PROTOBUF_RAW:
		return take_str(w, "Raw", &e->message, err);
	case PROTOBUF_CONTENT_ENCODING:
		return take_str(w, "ContentEncoding", &e->content_encoding, err);
	case PROTOBUF_CONTENT_TYPE:
		return take_str(w, "ContentType", &e->content_type, err);
	default:
		return 0;
	}
}

static int check_envelope(const struct protobuf_envelope *e, struct error *err)
{
	if (!str_is_utf8(e->api_version) || !str_is_utf8(e->kind))
		return error_set(err, ERR_BAD_REQUEST,
				 "apiVersion or kind of the body is not UTF-8");
	if (e->content_encoding.n)
		return error_set(err, ERR_BAD_REQUEST,
				 "the body has a contentEncoding, which is not supported; send it "
				 "without one");
	if (e->content_type.n && !str_eq(e->content_type, STR("application/json")) &&
	    !str_eq(e->content_type, STR("application/vnd.kubernetes.protobuf")))
		return error_set(
			err, ERR_BAD_REQUEST,
			"the body's contentType is not supported; send application/json or "
			"application/vnd.kubernetes.protobuf");
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

/* The content is JSON. Sets its apiVersion and kind to the envelope's. */
static int decode_json(struct arena *a, const struct protobuf_envelope *e, struct json **ret_tree,
		       struct error *err)
{
	struct json *tree;
	int r = json_parse(a, e->message, NULL, &tree, err);

	if (r < 0)
		return r;
	if (tree->type != JSON_OBJECT)
		return error_set(err, ERR_BAD_REQUEST, "the body's content is not an object");
	json_put_str(a, tree, "apiVersion", e->api_version);
	json_put_str(a, tree, "kind", e->kind);
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

int protobuf_encode_object(const struct schema_kind *kind, const struct json *tree, struct buf *b,
			   struct error *err)
{
	struct protobuf_frame f = { .api_version = kind->api_version, .kind = kind->kind };
	CLEANUP(buf_release) struct buf message = BUF_INIT(b->max);
	int r = protobuf_encode(kind->type, tree, &message, err);

	if (r < 0)
		return r;
	if (protobuf_frame_add(&f, buf_str(&message), b) < 0)
		return protobuf_too_large(b, err);
	return 0;
}

bool protobuf_has_kind(const struct schema_kind *kind)
{
	const struct schema_field *metadata = schema_field(kind->type, STR("metadata"));

	return !kind->custom && (!metadata || metadata->number);
}
