/*
 * Buckets are kept in the order of their last use. When there are `cacheSize` of them, the oldest
 * one is freed; later it begins anew, full, as upstream. A bucket is found by a hash of its key, so
 * its memory does not depend on the key.
 */
#include "server/plugins/event_limits.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "server/admission/config_file.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/server_limits.h"

#define GROUP "eventratelimit.admission.k8s.io/"

enum { CACHE_DEFAULT = 4096 };

enum limit_type { LIMIT_SERVER, LIMIT_NAMESPACE, LIMIT_USER, LIMIT_SOURCE, LIMIT_TYPES };

static const struct str types[LIMIT_TYPES] = { STR("Server"), STR("Namespace"), STR("User"),
					       STR("SourceAndObject") };

struct bucket {
	struct list link; /* in the order of use, the latest first */
	uint64_t key;
	int64_t at_ns; /* when `held` was right */
	double held;
};

struct event_limit {
	enum limit_type type;
	double qps, burst;
	size_t max; /* buckets */
	struct map buckets; /* by their keys' bytes */
	struct list order;
};

struct event_limits {
	const struct clock *clock;
	struct event_limit *v;
	size_t n;
};

/* The verdict on a write, however often it is decided. */
struct event_verdict {
	bool given;
	const char *denial; /* or NULL */
};

static const char memo_key;

/* --- buckets ------------------------------------------------------------------------ */

static struct str key_bytes(const struct bucket *b)
{
	return str_of((const char *)&b->key, sizeof(b->key));
}

static void drop_oldest(struct event_limit *l)
{
	struct bucket *b = LIST_ENTRY(l->order.prev, struct bucket, link);

	(void)map_remove(&l->buckets, key_bytes(b));
	list_remove(&b->link);
	free(b);
}

static struct bucket *bucket_of(struct event_limit *l, struct str text, int64_t now)
{
	const struct bucket wanted = { .key = hash_bytes(text, hash_process_seed()) };
	struct bucket *b = map_get(&l->buckets, key_bytes(&wanted));

	if (b) {
		list_remove(&b->link);
		list_push_front(&l->order, &b->link);
		return b;
	}
	if (l->buckets.n >= l->max)
		drop_oldest(l);
	b = XNEW(struct bucket);
	*b = (struct bucket){ .key = wanted.key, .at_ns = now, .held = l->burst };
	list_push_front(&l->order, &b->link);
	(void)map_put(&l->buckets, key_bytes(b), b);
	return b;
}

static bool bucket_take(struct event_limit *l, struct str text, int64_t now)
{
	struct bucket *b = bucket_of(l, text, now);
	double more = (double)(now - b->at_ns) / (double)CLOCK_SEC * l->qps;

	b->held = MIN(b->held + MAX(more, 0), l->burst);
	b->at_ns = now;
	if (b->held < 1)
		return false;
	b->held -= 1;
	return true;
}

/* --- the plugin --------------------------------------------------------------------- */

/* As upstream, a key joins the source of an event and the object that it is about. */
static struct str source_of(struct arena *a, const struct json *event)
{
	static const char *const of_source[] = { "component", "host" };
	static const char *const of_object[] = { "kind", "namespace", "name", "uid", "apiVersion" };
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX);
	const struct json *source = json_getz(event, "source");
	const struct json *object = json_getz(event, "involvedObject");

	/* The names in events.k8s.io. */
	source = source ? source : json_getz(event, "deprecatedSource");
	object = object ? object : json_getz(event, "regarding");

	for (size_t i = 0; i < ARRAY_SIZE(of_source); i++)
		(void)buf_add_str(&text, json_text_at(source, of_source[i]));
	for (size_t i = 0; i < ARRAY_SIZE(of_object); i++)
		(void)buf_add_str(&text, json_text_at(object, of_object[i]));
	return arena_str(a, buf_str(&text));
}

static struct str key_of(struct admission_request *req, enum limit_type type,
			 const struct json *event)
{
	switch (type) {
	case LIMIT_NAMESPACE:
		return req->ns;
	case LIMIT_USER:
		return req->user->name;
	case LIMIT_SOURCE:
		return source_of(req->work, event);
	default:
		return STR("");
	}
}

/* Each limit is asked, so that each counts the write. Several denials are a list. */
static const char *judge(struct admission_request *req, const struct json *event)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX);
	struct event_limits *all = req->server->event_limits;
	int64_t now = clock_monotonic(all->clock);
	size_t denials = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct event_limit *l = &all->v[i];
		struct str key = key_of(req, l->type, event);

		if (!bucket_take(l, key, now))
			(void)buf_printf(&text, "%slimit reached on type %.*s for key %.*s",
					 denials++ ? ", " : "", STR_ARG(types[l->type]),
					 STR_ARG(key));
	}
	if (!denials)
		return NULL;
	return arena_printf(req->work, denials > 1 ? "[%.*s]" : "%.*s", STR_ARG(buf_str(&text)));
}

bool admit_events_concerns(const struct admission_request *req)
{
	return req->server->event_limits && !req->dry_run && !req->foreign &&
	       !req->path_kind->group.n;
}

int admit_events(struct admission_request *req, const struct json *old UNUSED, struct json *event,
		 struct error *err)
{
	struct event_verdict *v = admission_memo(req, &memo_key, sizeof(*v));

	if (!v->given)
		v->denial = judge(req, event);
	v->given = true;
	return v->denial ? error_set(err, ERR_TOO_MANY_REQUESTS, "Too many requests: %s", v->denial)
			 : 0;
}

/* --- the configuration -------------------------------------------------------------- */

static int64_t read_number(const struct json *limit, const char *name, int64_t least,
			   const char *must, const struct field_path *parent,
			   struct field_errors *errs)
{
	struct field_path at = field_path_name(parent, name);
	const struct json *v = json_getz(limit, name);
	int64_t n = 0;

	if (v && !json_i64(v, &n))
		field_errors_add(errs, FIELD_TYPE_INVALID, &at, FIELD_OMITTED,
				 STR("must be an integer"));
	else if (n < least || n > INT32_MAX)
		field_errors_invalid(errs, &at, FIELD_I64(n), must);
	return n;
}

static void read_limit(const struct json *limit, const struct field_path *at,
		       struct field_errors *errs, struct event_limit *l)
{
	static const char *const known[] = { "type", "qps", "burst", "cacheSize" };
	struct field_path type_at = field_path_name(at, "type");
	struct field_path size_at = field_path_name(at, "cacheSize");
	int64_t size;
	struct str type;

	admission_config_object(errs, at, limit, known, ARRAY_SIZE(known));
	type = admission_config_text(errs, &type_at, json_getz(limit, "type"));
	while (l->type < LIMIT_TYPES && !str_eq(type, types[l->type]))
		l->type++;
	if (l->type == LIMIT_TYPES)
		field_errors_not_supported(errs, &type_at, FIELD_STR(type), types, LIMIT_TYPES);
	l->burst = (double)read_number(limit, "burst", 1, "must be positive", at, errs);
	l->qps = (double)read_number(limit, "qps", 1, "must be positive", at, errs);
	size = read_number(limit, "cacheSize", 0, "must not be negative", at, errs);
	if (size > EVENT_LIMIT_BUCKETS_MAX)
		field_errors_addf(errs, FIELD_INVALID, &size_at, FIELD_I64(size),
				  "must not be more than %d", EVENT_LIMIT_BUCKETS_MAX);
	l->max = size > 0 ? (size_t)size : CACHE_DEFAULT;
}

static void limit_init(struct event_limit *l)
{
	*l = (struct event_limit){ 0 };
	map_init(&l->buckets);
	list_init(&l->order);
}

static int read_section(const struct json *section, struct event_limits *all, struct error *err)
{
	static const char *const known[] = { "apiVersion", "kind", "limits" };
	struct field_path limits_at = field_path_name(NULL, "limits");
	CLEANUP(arena_release) struct arena a;
	const struct json *list;
	struct field_errors errs;

	arena_init(&a, MIB);
	field_errors_init(&errs, &a);
	admission_config_object(&errs, NULL, section, known, ARRAY_SIZE(known));
	list = admission_config_list(&errs, &limits_at, json_getz(section, "limits"));
	if (!json_count(list))
		field_errors_invalid(&errs, &limits_at, FIELD_STR(STR("")), "must not be empty");
	all->v = xcalloc(json_count(list) + 1, sizeof(*all->v));
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(&limits_at, all->n);

		limit_init(&all->v[all->n]);
		read_limit(it, &at, &errs, &all->v[all->n++]);
	}
	return admission_config_verdict(&errs, err);
}

int event_limits_of(const struct json *section, const struct clock *clock,
		    struct event_limits **ret_limits, struct error *err)
{
	struct event_limits *all;
	int r;

	if (!str_eqz(json_text_at(section, "apiVersion"), GROUP "v1alpha1") ||
	    !str_eqz(json_text_at(section, "kind"), "Configuration"))
		return error_set(err, ERR_INVALID, "expected a Configuration of " GROUP "v1alpha1");
	all = XNEW(struct event_limits);
	*all = (struct event_limits){ .clock = clock };
	r = read_section(section, all, err);
	if (r < 0)
		event_limits_free(all);
	else
		*ret_limits = all;
	return r;
}

int event_limits_new(const char *path, bool needed, const struct clock *clock,
		     struct event_limits **ret_limits, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct json *section = NULL;
	int r;

	*ret_limits = NULL;
	arena_init(&a, 4 * MIB);
	r = path ? admission_config_section(path, "EventRateLimit", &a, &section, err) : 0;
	if (r == 0 && section)
		r = event_limits_of(section, clock, ret_limits, err);
	else if (r == 0 && needed)
		r = error_set(err, ERR_INVALID, "EventRateLimit needs a configuration");
	return r < 0 ? error_wrap(err, r, "--admission-control-config-file") : 0;
}

void event_limits_free(struct event_limits *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->n; i++) {
		map_free_values(&all->v[i].buckets);
		map_release(&all->v[i].buckets);
	}
	free(all->v);
	free(all);
}
