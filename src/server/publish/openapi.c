/*
 * The kinds determine the list of documents: one slot for each, empty until it is requested.
 * /openapi/v3 needs the hash of every document, so it makes all of them, which takes some tens of
 * milliseconds, once. Documents of unchanged group versions are kept when definitions change.
 */
#include "server/publish/openapi.h"

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "server/publish/document_lazy.h"
#include "server/publish/openapi_impl.h"
#include "server/server_limits.h"

#define TYPE_JSON "application/json"
/* '@' is not allowed in a media type, so it was respelled; clients request the old one. */
#define TYPE_V2_PROTOBUF     "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define TYPE_V2_PROTOBUF_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

enum form { FORM_V2_JSON, FORM_V2_PROTOBUF, FORM_V3_ROOT, FORM_V3 };

struct slot {
	char *path;
	enum form form;
	struct str api_version; /* for FORM_V3 */
	const char *content_type;
	struct document_lazy *document;
};

struct openapi {
	struct gates gates;
	const struct schema_kind *const *kinds;
	size_t nkinds;
	VEC(struct slot) slots;
};

struct making {
	const struct openapi *openapi;
	const struct slot *slot;
};

/* --- making -------------------------------------------------------------------------- */

static const struct document *made(const struct openapi *o, const struct slot *s);

static void print_document(const struct openapi *o, const struct slot *s, struct buf *out)
{
	struct json_writer w;
	struct openapi_print p = {
		.w = &w,
		.gates = &o->gates,
		.kinds = o->kinds,
		.nkinds = o->nkinds,
		.api_version = s->api_version,
		.v3 = s->form == FORM_V3,
	};

	json_writer_init(&w, out, NULL);
	openapi_print_document(&p);
	(void)json_writer_finish(&w);
}

static void print_protobuf(const struct openapi *o, const struct slot *s, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OPENAPI_DOCUMENT_MAX);
	CLEANUP(arena_release) struct arena arena;
	struct json *tree = NULL;

	arena_init(&arena, OPENAPI_DOCUMENT_MAX);
	print_document(o, s, &text);
	/* Our own output always parses. */
	if (json_parse(&arena, buf_str(&text), NULL, &tree, NULL) < 0)
		out->overflow = true;
	else
		(void)openapi_v2_to_protobuf(tree, out);
}

/* {"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=.."},..}} */
static void print_root(const struct openapi *o, struct buf *out)
{
	const size_t prefix = strlen("/openapi/v3/");
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "paths");
	json_writer_begin_object(&w);
	for (size_t i = 0; i < o->slots.n; i++) {
		const struct slot *s = &o->slots.v[i];
		const struct document *d = s->form == FORM_V3 ? made(o, s) : NULL;
		char url[512];

		if (!d)
			continue;
		(void)snprintf(url, sizeof(url), "%s?hash=%.*s", s->path,
			       STR_ARG(document_hash(d)));
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

static void publish_openapi_print(void *arg, struct buf *out)
{
	const struct making *m = arg;

	switch (m->slot->form) {
	case FORM_V3_ROOT:
		print_root(m->openapi, out);
		break;
	case FORM_V2_PROTOBUF:
		print_protobuf(m->openapi, m->slot, out);
		break;
	default:
		print_document(m->openapi, m->slot, out);
	}
}

/* NULL if it is too large. */
static const struct document *made(const struct openapi *o, const struct slot *s)
{
	return document_lazy_get(s->document, OPENAPI_DOCUMENT_MAX, s->content_type,
				 publish_openapi_print, &(struct making){ o, s });
}

/* --- the list ------------------------------------------------------------------------ */

static void add_slot(struct openapi *o, const char *path, enum form form, struct str api_version,
		     const char *content_type)
{
	(void)vec_push(&o->slots, (struct slot){ .path = str_dup(str_from(path)),
						 .form = form,
						 .api_version = api_version,
						 .content_type = content_type });
}

/* The next kind of a group version from *at on; NULL at the end. */
static const struct schema_kind *next_kind(const struct openapi *o, struct str api_version,
					   size_t *at)
{
	while (*at < o->nkinds) {
		const struct schema_kind *k = o->kinds[(*at)++];

		if (gates_on(&o->gates, k->gate) && str_eq(k->api_version, api_version))
			return k;
	}
	return NULL;
}

static bool same_kinds(const struct openapi *a, const struct openapi *b, struct str api_version)
{
	const struct schema_kind *x, *y;
	size_t i = 0, j = 0;

	do {
		x = next_kind(a, api_version, &i);
		y = next_kind(b, api_version, &j);
		if (x != y)
			return false;
	} while (x);
	return true;
}

/* The existing document; otherwise an empty slot for it. */
static struct document_lazy *openapi_place(const struct openapi *o, const struct slot *s,
					   const struct openapi *before)
{
	for (size_t i = 0; before && s->form == FORM_V3 && i < before->slots.n; i++) {
		const struct slot *old = &before->slots.v[i];

		if (old->form == FORM_V3 && str_eq(old->api_version, s->api_version))
			return same_kinds(o, before, s->api_version)
				       ? document_lazy_ref(old->document)
				       : document_lazy_new();
	}
	return document_lazy_new();
}

struct openapi *openapi_new(const struct gates *gates, const struct schema_kind *const *kinds,
			    size_t nkinds, const struct openapi *before)
{
	struct openapi *o = xcalloc(1, sizeof(*o));
	struct str last = STR_NULL;
	char path[512];

	o->gates = *gates;
	o->kinds = kinds;
	o->nkinds = nkinds;
	vec_init(&o->slots, SIZE_MAX);
	add_slot(o, "/openapi/v2", FORM_V2_JSON, STR_NULL, TYPE_JSON);
	add_slot(o, "/openapi/v2", FORM_V2_PROTOBUF, STR_NULL, TYPE_V2_PROTOBUF);
	add_slot(o, "/openapi/v3", FORM_V3_ROOT, STR_NULL, TYPE_JSON);
	for (size_t i = 0; i < nkinds; i++) {
		if (!gates_on(gates, kinds[i]->gate) || str_eq(kinds[i]->api_version, last))
			continue;
		last = kinds[i]->api_version;
		(void)snprintf(path, sizeof(path), "/openapi/v3/%s/%.*s",
			       kinds[i]->group.n ? "apis" : "api", STR_ARG(last));
		add_slot(o, path, FORM_V3, last, TYPE_JSON);
	}
	for (size_t i = 0; i < o->slots.n; i++)
		o->slots.v[i].document = openapi_place(o, &o->slots.v[i], before);
	return o;
}

void openapi_free(struct openapi *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->slots.n; i++) {
		free(o->slots.v[i].path);
		document_lazy_unref(o->slots.v[i].document);
	}
	vec_release(&o->slots);
	free(o);
}

/* --- requests ------------------------------------------------------------------------ */

/* Whether a range of an Accept header matches this content type; parameters are ignored. */
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

/* kubectl lists its types in order of preference without q, so the first one wins. */
static const struct slot *openapi_choose(struct openapi *o, struct str path, struct str accept,
					 bool *ret_known)
{
	struct str range;

	while (str_split(&accept, ',', &range))
		for (size_t i = 0; i < o->slots.n; i++) {
			const struct slot *s = &o->slots.v[i];

			if (!str_eqz(path, s->path))
				continue;
			*ret_known = true;
			/* Upstream's list is JSON, whatever the client accepts. */
			if (s->form == FORM_V3_ROOT || takes(range, s->content_type))
				return s;
		}
	return NULL;
}

int openapi_get(struct openapi *o, struct str path, struct str accept,
		const struct document **ret_document, struct error *err)
{
	const struct slot *s;
	bool known = false;

	if (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	s = openapi_choose(o, path, accept.n ? accept : STR("*/*"), &known);
	if (!s && known)
		return error_set(err, ERR_NOT_ACCEPTABLE,
				 "only the following media types are accepted: " TYPE_JSON
				 ", and " TYPE_V2_PROTOBUF " for /openapi/v2");
	if (!s)
		return error_set(err, ERR_NOT_FOUND,
				 "the server could not find the requested resource");
	*ret_document = made(o, s);
	if (!*ret_document)
		return error_set(err, ERR_TOO_LARGE, "limit is %lu", OPENAPI_DOCUMENT_MAX);
	return 0;
}
