/*
 * The list of documents is fixed by the schema: one slot for each, empty until
 * somebody asks. A slot is filled by compare-and-swap; whoever loses the race
 * frees its copy. /openapi/v3 needs the hash of every document that it
 * names: it makes them all, which takes some tens of milliseconds, once.
 */
#include "server/openapi.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/document.h"
#include "server/openapi_impl.h"

#define TYPE_JSON "application/json"
/* '@' may not stand in a media type, so it was spelt anew; clients ask for the old one. */
#define TYPE_V2_PROTOBUF     "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define TYPE_V2_PROTOBUF_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

enum form { FORM_V2_JSON, FORM_V2_PROTOBUF, FORM_V3_ROOT, FORM_V3 };

struct slot {
	char *path;
	enum form form;
	struct str api_version; /* of FORM_V3 */
	const char *content_type;
	_Atomic(struct document *) document;
};

struct openapi {
	struct gates gates;
	VEC(struct slot *) slots; /* pointers: a slot with an atomic in it does not move */
};

/* --- making -------------------------------------------------------------------------- */

static const struct document *made(struct openapi *o, struct slot *s);

static void print_document(const struct openapi *o, const struct slot *s, struct buf *out)
{
	struct json_writer w;
	struct openapi_print p = {
		.w = &w, .gates = &o->gates, .api_version = s->api_version, .v3 = s->form == FORM_V3
	};

	json_writer_init(&w, out, NULL);
	openapi_print_document(&p);
	(void)json_writer_finish(&w);
}

static void print_protobuf(struct openapi *o, const struct slot *s, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OPENAPI_DOCUMENT_MAX);
	CLEANUP(arena_release) struct arena arena;
	struct json *tree = NULL;

	arena_init(&arena, OPENAPI_DOCUMENT_MAX);
	print_document(o, s, &text);
	/* What we printed ourselves parses. */
	if (json_parse(&arena, buf_str(&text), NULL, &tree, NULL) < 0)
		out->overflow = true;
	else
		(void)openapi_v2_to_protobuf(tree, out);
}

/* {"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=.."},..}} */
static void print_root(struct openapi *o, struct buf *out)
{
	const size_t prefix = strlen("/openapi/v3/");
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "paths");
	json_writer_begin_object(&w);
	for (size_t i = 0; i < o->slots.n; i++) {
		struct slot *s = o->slots.v[i];
		char url[512];

		if (s->form != FORM_V3)
			continue;
		(void)snprintf(url, sizeof(url), "%s?hash=%.*s", s->path,
			       STR_ARG(document_hash(made(o, s))));
		json_writer_keyz(&w, s->path + prefix);
		json_writer_begin_object(&w);
		json_writer_keyz(&w, "serverRelativeURL");
		json_writer_strz(&w, url);
		json_writer_end_object(&w);
	}
	json_writer_end_object(&w);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
}

static struct document *make(struct openapi *o, struct slot *s)
{
	struct document *d = xcalloc(1, sizeof(*d));
	struct buf out = BUF_INIT(OPENAPI_DOCUMENT_MAX);

	switch (s->form) {
	case FORM_V3_ROOT:
		print_root(o, &out);
		break;
	case FORM_V2_PROTOBUF:
		print_protobuf(o, s, &out);
		break;
	default:
		print_document(o, s, &out);
	}
	assert(!out.overflow);
	document_init(d, &out, s->content_type);
	return d;
}

static void document_free(struct document *d)
{
	if (!d)
		return;
	document_release(d);
	free(d);
}

static const struct document *made(struct openapi *o, struct slot *s)
{
	struct document *there = atomic_load_explicit(&s->document, memory_order_acquire);
	struct document *mine;

	if (there)
		return there;
	mine = make(o, s);
	if (atomic_compare_exchange_strong_explicit(&s->document, &there, mine,
						    memory_order_acq_rel, memory_order_acquire))
		return mine;
	document_free(mine);
	return there;
}

/* --- the list ------------------------------------------------------------------------ */

static void add_slot(struct openapi *o, const char *path, enum form form, struct str api_version,
		     const char *content_type)
{
	struct slot *s = xcalloc(1, sizeof(*s));

	s->path = str_dup(str_from(path));
	s->form = form;
	s->api_version = api_version;
	s->content_type = content_type;
	atomic_init(&s->document, NULL);
	(void)vec_push(&o->slots, s);
}

struct openapi *openapi_new(const struct gates *gates)
{
	struct openapi *o = xcalloc(1, sizeof(*o));
	struct str last = STR_NULL;
	char path[512];
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	o->gates = *gates;
	vec_init(&o->slots, SIZE_MAX);
	add_slot(o, "/openapi/v2", FORM_V2_JSON, STR_NULL, TYPE_JSON);
	add_slot(o, "/openapi/v2", FORM_V2_PROTOBUF, STR_NULL, TYPE_V2_PROTOBUF);
	add_slot(o, "/openapi/v3", FORM_V3_ROOT, STR_NULL, TYPE_JSON);
	for (size_t i = 0; i < n; i++) {
		if (!gates_on(gates, kinds[i]->gate) || str_eq(kinds[i]->api_version, last))
			continue;
		last = kinds[i]->api_version;
		(void)snprintf(path, sizeof(path), "/openapi/v3/%s/%.*s",
			       kinds[i]->group.n ? "apis" : "api", STR_ARG(last));
		add_slot(o, path, FORM_V3, last, TYPE_JSON);
	}
	return o;
}

void openapi_free(struct openapi *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->slots.n; i++) {
		free(o->slots.v[i]->path);
		document_free(atomic_load(&o->slots.v[i]->document));
		free(o->slots.v[i]);
	}
	vec_release(&o->slots);
	free(o);
}

/* --- asking -------------------------------------------------------------------------- */

/* Whether a range of an Accept header takes this content type; parameters are not looked at. */
static bool takes(struct str range, const char *content_type)
{
	struct str media;

	(void)str_split(&range, ';', &media);
	media = str_trim(media);
	if (str_eqz(media, "*/*") || str_ieq(media, str_from(content_type)))
		return true;
	if (strcmp(content_type, TYPE_JSON) == 0)
		return str_ieq(media, STR("application/*"));
	return str_ieq(media, STR(TYPE_V2_PROTOBUF_OLD));
}

/* kubectl lists what it takes in its order of preference and gives no q; so first come first. */
static struct slot *choose(struct openapi *o, struct str path, struct str accept, bool *ret_known)
{
	struct str range;

	while (str_split(&accept, ',', &range))
		for (size_t i = 0; i < o->slots.n; i++) {
			struct slot *s = o->slots.v[i];

			if (!str_eqz(path, s->path))
				continue;
			*ret_known = true;
			if (takes(range, s->content_type))
				return s;
		}
	return NULL;
}

int openapi_get(struct openapi *o, struct str path, struct str accept,
		const struct document **ret_document, struct error *err)
{
	struct slot *s;
	bool known = false;

	if (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	s = choose(o, path, accept.n ? accept : STR("*/*"), &known);
	if (!s && known)
		return error_set(err, ERR_NOT_ACCEPTABLE,
				 "only the following media types are accepted: " TYPE_JSON
				 ", and " TYPE_V2_PROTOBUF " for /openapi/v2");
	if (!s)
		return error_set(err, ERR_NOT_FOUND,
				 "the server could not find the requested resource");
	*ret_document = made(o, s);
	return 0;
}
