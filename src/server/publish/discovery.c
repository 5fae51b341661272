/*
 * The kinds are in discovery's order: by group, with the preferred version first. Each printer
 * iterates over that list, so there is no second list of groups to keep in sync. There are about
 * sixty documents, and two or more for each group of custom resources; they are found by
 * comparing paths.
 */
#include "server/publish/discovery.h"

#include "api/schema/schema.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/writer.h"
#include "base/text/base64.h"
#include "net/tls/pki_sign.h"
#include "server/publish/document_lazy.h"
#include "server/request/negotiate.h"
#include "server/server_limits.h"

#define V2_TYPE(version)                                           \
	"application/json;g=apidiscovery.k8s.io;v=" version ";as=" \
	"APIGroupDiscoveryList"

struct discovery;
struct entry;

typedef void (*print_fn)(const struct discovery *d, const struct entry *e, struct json_writer *w);

struct entry {
	char *path;
	const char *version; /* of the aggregated form; NULL: traditional form */
	const char *content_type;
	print_fn print;
	const struct schema_kind *first; /* first kind of the group or version; or NULL */
	struct document_lazy *document;
};

struct discovery {
	struct gates gates;
	const struct schema_kind *const *kinds;
	size_t nkinds;
	VEC(struct entry) entries;
};

/* --- parts that several documents share --------------------------------------------- */

static void discovery_put(struct json_writer *w, const char *key, struct str value)
{
	json_writer_keyz(w, key);
	json_writer_str(w, value);
}

static void put_texts(struct json_writer *w, const char *key, const struct str *texts)
{
	if (!texts)
		return;
	json_writer_keyz(w, key);
	json_writer_begin_array(w);
	for (; texts->p; texts++)
		json_writer_str(w, *texts);
	json_writer_end_array(w);
}

static void put_verbs(struct json_writer *w, unsigned verbs)
{
	static const struct {
		unsigned verb;
		const char *name;
	} names[] = {
		{ SCHEMA_CREATE, "create" },
		{ SCHEMA_DELETE, "delete" },
		{ SCHEMA_DELETE_COLLECTION, "deletecollection" },
		{ SCHEMA_GET, "get" },
		{ SCHEMA_LIST_VERB, "list" },
		{ SCHEMA_PATCH, "patch" },
		{ SCHEMA_UPDATE, "update" },
		{ SCHEMA_WATCH, "watch" },
	};

	json_writer_keyz(w, "verbs");
	json_writer_begin_array(w);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (verbs & names[i].verb)
			json_writer_strz(w, names[i].name);
	json_writer_end_array(w);
}

/*
 * Resources for rights only, without objects, such as KEP-4817's drivers. They must be listed, or
 * kubectl would not know their group: `kubectl auth can-i update-device-status
 * drivers.resource.k8s.io/NAME` needs a resource that it found here. Clients that look for
 * objects skip them, because they lack the usual verbs.
 */
static const struct bare {
	struct str api_version, resource, singular, kind;
	const char *verb;
	enum gate gate;
} bares[] = {
	{ STR("resource.k8s.io/v1"), STR("drivers"), STR("driver"), STR("Driver"),
	  "update-device-status", GATE_DRAResourceClaimDeviceStatus },
};

static void put_bare_verb(struct json_writer *w, const struct bare *b)
{
	json_writer_keyz(w, "verbs");
	json_writer_begin_array(w);
	json_writer_strz(w, b->verb);
	json_writer_end_array(w);
}

static bool same_version(const struct schema_kind *a, const struct schema_kind *b)
{
	return str_eq(a->api_version, b->api_version);
}

/* The next kind from *at on whose gate is on; NULL at the end. */
static const struct schema_kind *next_kind(const struct discovery *d, size_t *at)
{
	while (*at < d->nkinds) {
		const struct schema_kind *k = d->kinds[(*at)++];

		if (gates_on(&d->gates, k->gate))
			return k;
	}
	return NULL;
}

/* --- the old form ------------------------------------------------------------------- */

/*
 * Shows migrators when the stored version of a kind changes; only for stored kinds. The digest is
 * upstream's, but clients must not depend on that.
 */
static void put_storage_hash(struct json_writer *w, const struct schema_kind *k)
{
	const struct schema_kind *stored = k->storage;
	struct buf hash = BUF_INIT(64);
	uint8_t digest[PKI_SHA256_SIZE];
	char text[512];

	if (!(k->verbs & SCHEMA_WATCH))
		return;
	(void)snprintf(text, sizeof(text), "%.*s/%.*s/%.*s", STR_ARG(stored->group),
		       STR_ARG(stored->version), STR_ARG(stored->kind));
	pki_sha256(str_from(text), digest);
	(void)base64_encode(&hash, str_of(digest, 8), BASE64_STD);
	discovery_put(w, "storageVersionHash", buf_str(&hash));
	buf_release(&hash);
}

static void put_resource(struct json_writer *w, const struct schema_kind *k)
{
	json_writer_begin_object(w);
	discovery_put(w, "name", k->resource);
	discovery_put(w, "singularName", k->singular);
	json_writer_keyz(w, "namespaced");
	json_writer_bool(w, k->flags & SCHEMA_NAMESPACED);
	discovery_put(w, "kind", k->kind);
	put_verbs(w, k->verbs);
	put_texts(w, "shortNames", k->short_names);
	put_texts(w, "categories", k->categories);
	put_storage_hash(w, k);
	json_writer_end_object(w);
}

static void put_subresource(struct json_writer *w, const struct schema_kind *k,
			    const struct schema_subresource *s)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "%.*s/%.*s", STR_ARG(k->resource), STR_ARG(s->name));
	json_writer_begin_object(w);
	discovery_put(w, "name", str_from(name));
	discovery_put(w, "singularName", STR(""));
	json_writer_keyz(w, "namespaced");
	json_writer_bool(w, k->flags & SCHEMA_NAMESPACED);
	if (!str_eq(s->group, k->group) || !str_eq(s->version, k->version)) {
		discovery_put(w, "group", s->group);
		discovery_put(w, "version", s->version);
	}
	discovery_put(w, "kind", s->kind);
	put_verbs(w, s->verbs);
	json_writer_end_object(w);
}

static void put_bares(const struct discovery *d, const struct schema_kind *first,
		      struct json_writer *w)
{
	for (const struct bare *b = bares; b < bares + ARRAY_SIZE(bares); b++) {
		if (!str_eq(b->api_version, first->api_version) || !gates_on(&d->gates, b->gate))
			continue;
		json_writer_begin_object(w);
		discovery_put(w, "name", b->resource);
		discovery_put(w, "singularName", b->singular);
		json_writer_keyz(w, "namespaced");
		json_writer_bool(w, false);
		discovery_put(w, "kind", b->kind);
		put_bare_verb(w, b);
		json_writer_end_object(w);
	}
}

static void put_features(struct json_writer *w, const struct gates *gates)
{
	json_writer_keyz(w, "features");
	json_writer_begin_object(w);
	for (enum gate g = GATE_NONE + 1; g < GATE_COUNT; g++) {
		json_writer_keyz(w, gate_name(g));
		json_writer_bool(w, gates_on(gates, g));
	}
	json_writer_end_object(w);
}

static void print_resources(const struct discovery *d, const struct entry *e, struct json_writer *w)
{
	const struct schema_kind *k, *first = e->first;
	size_t at = 0;

	json_writer_begin_object(w);
	discovery_put(w, "kind", STR("APIResourceList"));
	if (first->group.n)
		discovery_put(w, "apiVersion", STR("v1"));
	discovery_put(w, "groupVersion", first->api_version);
	json_writer_keyz(w, "resources");
	json_writer_begin_array(w);
	while ((k = next_kind(d, &at))) {
		if (!same_version(k, first))
			continue;
		put_resource(w, k);
		for (size_t i = 0; i < k->nsubresources; i++)
			if (gates_on(&d->gates, k->subresources[i].gate))
				put_subresource(w, k, &k->subresources[i]);
	}
	put_bares(d, first, w);
	json_writer_end_array(w);
	if (!first->group.n)
		put_features(w, &d->gates);
	json_writer_end_object(w);
}

static void put_group_version(struct json_writer *w, const struct schema_kind *k)
{
	json_writer_begin_object(w);
	discovery_put(w, "groupVersion", k->api_version);
	discovery_put(w, "version", k->version);
	json_writer_end_object(w);
}

/* The members of an APIGroup; `first` is of its preferred version. */
static void put_group(const struct discovery *d, const struct schema_kind *first,
		      struct json_writer *w)
{
	const struct schema_kind *k, *last = NULL;
	size_t at = 0;

	discovery_put(w, "name", first->group);
	json_writer_keyz(w, "versions");
	json_writer_begin_array(w);
	while ((k = next_kind(d, &at))) {
		if (!str_eq(k->group, first->group) || (last && same_version(k, last)))
			continue;
		put_group_version(w, k);
		last = k;
	}
	json_writer_end_array(w);
	json_writer_keyz(w, "preferredVersion");
	put_group_version(w, first);
}

static void print_group(const struct discovery *d, const struct entry *e, struct json_writer *w)
{
	json_writer_begin_object(w);
	discovery_put(w, "kind", STR("APIGroup"));
	discovery_put(w, "apiVersion", STR("v1"));
	put_group(d, e->first, w);
	json_writer_end_object(w);
}

static void print_groups(const struct discovery *d, const struct entry *e UNUSED,
			 struct json_writer *w)
{
	const struct schema_kind *k, *last = NULL;
	size_t at = 0;

	json_writer_begin_object(w);
	discovery_put(w, "kind", STR("APIGroupList"));
	discovery_put(w, "apiVersion", STR("v1"));
	json_writer_keyz(w, "groups");
	json_writer_begin_array(w);
	while ((k = next_kind(d, &at))) {
		if (!k->group.n || (last && str_eq(k->group, last->group)))
			continue;
		json_writer_begin_object(w);
		put_group(d, k, w);
		json_writer_end_object(w);
		last = k;
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

/*
 * Upstream lists an address here for clients of 2015. Current clients ignore it: they use the
 * address at which they reached the server.
 */
static void print_versions(const struct discovery *d UNUSED, const struct entry *e UNUSED,
			   struct json_writer *w)
{
	json_writer_begin_object(w);
	discovery_put(w, "kind", STR("APIVersions"));
	json_writer_keyz(w, "versions");
	json_writer_begin_array(w);
	json_writer_strz(w, "v1");
	json_writer_end_array(w);
	json_writer_keyz(w, "serverAddressByClientCIDRs");
	json_writer_begin_array(w);
	json_writer_end_array(w);
	json_writer_end_object(w);
}

/* --- the aggregated form -------------------------------------------------------------- */

/* Group and version are empty if they are those of the enclosing list, except for custom kinds. */
static void put_response_kind(struct json_writer *w, const struct schema_kind *k, struct str group,
			      struct str version, struct str kind)
{
	bool own = !k->custom && str_eq(group, k->group) && str_eq(version, k->version);

	json_writer_keyz(w, "responseKind");
	json_writer_begin_object(w);
	discovery_put(w, "group", own ? STR("") : group);
	discovery_put(w, "version", own ? STR("") : version);
	discovery_put(w, "kind", kind);
	json_writer_end_object(w);
}

static void put_subresources(const struct discovery *d, const struct schema_kind *k,
			     struct json_writer *w)
{
	json_writer_keyz(w, "subresources");
	json_writer_begin_array(w);
	for (size_t i = 0; i < k->nsubresources; i++) {
		const struct schema_subresource *s = &k->subresources[i];

		if (!gates_on(&d->gates, s->gate))
			continue;
		json_writer_begin_object(w);
		discovery_put(w, "subresource", s->name);
		put_response_kind(w, k, s->group, s->version, s->kind);
		put_verbs(w, s->verbs);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
}

static void put_aggregated_resource(const struct discovery *d, const struct schema_kind *k,
				    struct json_writer *w)
{
	json_writer_begin_object(w);
	discovery_put(w, "resource", k->resource);
	put_response_kind(w, k, k->group, k->version, k->kind);
	discovery_put(w, "scope",
		      k->flags & SCHEMA_NAMESPACED ? STR("Namespaced") : STR("Cluster"));
	discovery_put(w, "singularResource", k->singular);
	put_verbs(w, k->verbs);
	put_texts(w, "shortNames", k->short_names);
	put_texts(w, "categories", k->categories);
	if (k->nsubresources)
		put_subresources(d, k, w);
	json_writer_end_object(w);
}

static void put_aggregated_bares(const struct discovery *d, const struct schema_kind *first,
				 struct json_writer *w)
{
	for (const struct bare *b = bares; b < bares + ARRAY_SIZE(bares); b++) {
		if (!str_eq(b->api_version, first->api_version) || !gates_on(&d->gates, b->gate))
			continue;
		json_writer_begin_object(w);
		discovery_put(w, "resource", b->resource);
		put_response_kind(w, first, first->group, first->version, b->kind);
		discovery_put(w, "scope", STR("Cluster"));
		discovery_put(w, "singularResource", b->singular);
		put_bare_verb(w, b);
		json_writer_end_object(w);
	}
}

static void put_aggregated_version(const struct discovery *d, const struct schema_kind *first,
				   struct json_writer *w)
{
	const struct schema_kind *k;
	size_t at = 0;

	json_writer_begin_object(w);
	discovery_put(w, "version", first->version);
	json_writer_keyz(w, "resources");
	json_writer_begin_array(w);
	while ((k = next_kind(d, &at)))
		if (same_version(k, first))
			put_aggregated_resource(d, k, w);
	put_aggregated_bares(d, first, w);
	json_writer_end_array(w);
	discovery_put(w, "freshness", STR("Current"));
	json_writer_end_object(w);
}

static void put_aggregated_group(const struct discovery *d, const struct schema_kind *first,
				 struct json_writer *w)
{
	const struct schema_kind *k, *last = NULL;
	size_t at = 0;

	json_writer_begin_object(w);
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	if (first->group.n)
		discovery_put(w, "name", first->group);
	json_writer_end_object(w);
	json_writer_keyz(w, "versions");
	json_writer_begin_array(w);
	while ((k = next_kind(d, &at))) {
		if (!str_eq(k->group, first->group) || (last && same_version(k, last)))
			continue;
		put_aggregated_version(d, k, w);
		last = k;
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

/* All groups, or the core group alone: each of the two endpoints has its part. */
static void print_aggregated(const struct discovery *d, const struct entry *e,
			     struct json_writer *w)
{
	const struct schema_kind *k, *last = NULL;
	bool core = strcmp(e->path, "/api") == 0;
	char api_version[64];
	size_t at = 0;

	(void)snprintf(api_version, sizeof(api_version), "apidiscovery.k8s.io/%s", e->version);
	json_writer_begin_object(w);
	discovery_put(w, "kind", STR("APIGroupDiscoveryList"));
	discovery_put(w, "apiVersion", str_from(api_version));
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	json_writer_end_object(w);
	json_writer_keyz(w, "items");
	json_writer_begin_array(w);
	while ((k = next_kind(d, &at))) {
		if (core != (k->group.n == 0) || (last && str_eq(k->group, last->group)))
			continue;
		put_aggregated_group(d, k, w);
		last = k;
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

/* --- the documents ------------------------------------------------------------------ */

static void add_entry(struct discovery *d, struct str path, print_fn print,
		      const struct schema_kind *first)
{
	(void)vec_push(&d->entries, (struct entry){ .path = str_dup(path),
						    .content_type = "application/json",
						    .print = print,
						    .first = first,
						    .document = document_lazy_new() });
}

static void add_aggregated(struct discovery *d, const char *path, const char *version,
			   const char *content_type)
{
	(void)vec_push(&d->entries, (struct entry){ .path = str_dup(str_from(path)),
						    .version = version,
						    .content_type = content_type,
						    .print = print_aggregated,
						    .document = document_lazy_new() });
}

/* The documents of the groups and of their versions. */
static void add_groups(struct discovery *d)
{
	const struct schema_kind *k, *last = NULL;
	char path[512];
	size_t at = 0;

	while ((k = next_kind(d, &at))) {
		if (last && same_version(k, last))
			continue;
		if (k->group.n && !(last && str_eq(k->group, last->group))) {
			(void)snprintf(path, sizeof(path), "/apis/%.*s", STR_ARG(k->group));
			add_entry(d, str_from(path), print_group, k);
		}
		(void)snprintf(path, sizeof(path), "%s/%.*s", k->group.n ? "/apis" : "/api",
			       STR_ARG(k->api_version));
		add_entry(d, str_from(path), print_resources, k);
		last = k;
	}
}

struct discovery *discovery_new(const struct gates *gates, const struct schema_kind *const *kinds,
				size_t nkinds)
{
	static const char *const roots[] = { "/api", "/apis" };
	struct discovery *d = xcalloc(1, sizeof(*d));

	d->gates = *gates;
	d->kinds = kinds;
	d->nkinds = nkinds;
	vec_init(&d->entries, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		add_aggregated(d, roots[i], "v2", V2_TYPE("v2"));
		add_aggregated(d, roots[i], "v2beta1", V2_TYPE("v2beta1"));
	}
	add_entry(d, STR("/api"), print_versions, NULL);
	add_entry(d, STR("/apis"), print_groups, NULL);
	add_groups(d);
	return d;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->entries.n; i++) {
		free(d->entries.v[i].path);
		document_lazy_unref(d->entries.v[i].document);
	}
	vec_release(&d->entries);
	free(d);
}

static const struct entry *publish_discovery_find(const struct discovery *d, struct str path,
						  struct str version)
{
	for (size_t i = 0; i < d->entries.n; i++) {
		const struct entry *e = &d->entries.v[i];

		if (str_eqz(path, e->path) && str_eq(version, str_from(e->version)))
			return e;
	}
	return NULL;
}

struct printing {
	const struct discovery *discovery;
	const struct entry *entry;
};

static void discovery_print(void *arg, struct buf *out)
{
	const struct printing *p = arg;
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	p->entry->print(p->discovery, p->entry, &w);
	(void)json_writer_finish(&w);
	(void)buf_addc(out, '\n');
}

int discovery_get(const struct discovery *d, struct str path, const struct accept *accept,
		  const struct document **ret_document, struct error *err)
{
	const struct entry *found = NULL;
	const struct document *made;

	if (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	if (accept->as == ACCEPT_DISCOVERY_V2) {
		bool beta = str_eqz(accept->as_version, "v2beta1");

		found = publish_discovery_find(d, path, beta ? STR("v2beta1") : STR("v2"));
	}
	if (!found)
		found = publish_discovery_find(d, path, STR_NULL);
	if (!found)
		return error_set(err, ERR_NOT_FOUND,
				 "the server could not find the requested resource");
	made = document_lazy_get(found->document, DISCOVERY_DOCUMENT_MAX, found->content_type,
				 discovery_print, &(struct printing){ d, found });
	if (!made)
		return error_set(err, ERR_TOO_LARGE, "limit is %lu", DISCOVERY_DOCUMENT_MAX);
	*ret_document = made;
	return 0;
}
