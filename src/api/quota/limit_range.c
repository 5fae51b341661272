/*
 * Amounts are compared as upstream does: in thousandths if they are small enough, else in whole
 * units. Messages show them as written. Where upstream iterates over a map in random order, names
 * are sorted here.
 */
#include "api/quota/limit_range.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "api/quota/pod_resources.h"
#include "base/core/limits.h"
#include "base/json/json.h"

#define ANNOTATION "kubernetes.io/limit-ranger"

enum { MESSAGE_MAX = 16 * 1024 };

/* --- defaults ------------------------------------------------------------------------------- */

/* Defaults for containers. The nodes of all containers share the texts. */
struct initial {
	const char *list; /* "limits" */
	struct arena *arena;
	struct amount_list amounts;
	struct str *texts; /* of each amount */
	size_t *given; /* minimum number of bytes of text added to the pod, by both lists */
};

static struct str limit_range_shown(struct arena *a, const struct quantity *q)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(256);

	if (!q)
		return STR("0");
	(void)quantity_print(*q, &b);
	return arena_str(a, buf_str(&b));
}

static struct initial initial_read(struct arena *a, const struct json *item, const char *name,
				   const char *list, size_t *given)
{
	struct initial in = { .list = list,
			      .arena = a,
			      .amounts = amount_list_read(a, json_getz(item, name)),
			      .given = given };

	in.texts = arena_try_alloc(a, in.amounts.n * sizeof(*in.texts));
	if (!in.texts)
		in.amounts.n = 0;
	for (size_t i = 0; i < in.amounts.n; i++) {
		in.amounts.v[i].name = arena_str(a, in.amounts.v[i].name);
		in.texts[i] = limit_range_shown(a, &in.amounts.v[i].q);
	}
	return in;
}

/* Returns the sorted names of a map in a tree; their values may not be amounts. */
static bool read_names(struct arena *a, const struct json *map, struct str **ret_names,
		       size_t *ret_n)
{
	struct str *v = NULL;
	size_t n = 0;

	if (json_is(map, JSON_OBJECT) && map->n) {
		v = arena_try_alloc(a, map->n * sizeof(*v));
		if (!v)
			return false;
		JSON_FOREACH (it, map)
			v[n++] = json_key(it);
		qsort(v, n, sizeof(*v), str_order);
	}
	*ret_names = v;
	*ret_n = n;
	return true;
}

/*
 * Adds the amounts that the container lacks, and lists them in `b` as "cpu, memory". Both sides are
 * sorted. Many names times many containers is a large product, so it stops when the pod is too
 * large to be stored.
 */
static void give(const struct initial *in, struct json *container, struct buf *b)
{
	struct json *resources, *map = NULL;
	struct str *said;
	size_t n, at = 0;

	if (!in->amounts.n || *in->given > OBJECT_MAX)
		return;
	resources = json_need_object(in->arena, container, "resources");
	if (!read_names(in->arena, json_getz(resources, in->list), &said, &n))
		return;
	for (size_t i = 0; i < in->amounts.n; i++) {
		struct str name = in->amounts.v[i].name;

		while (at < n && str_cmp(said[at], name) < 0)
			at++;
		if (at < n && str_eq(said[at], name))
			continue;
		*in->given += name.n + in->texts[i].n;
		if (*in->given > OBJECT_MAX)
			return;
		if (!map)
			map = json_need_object(in->arena, resources, in->list);
		json_add(map, name, json_make_str(in->arena, in->texts[i]));
		(void)buf_printf(b, "%s%.*s", b->n ? ", " : "", STR_ARG(name));
	}
}

static void limit_range_note(struct buf *notes, const struct buf *names, const char *what,
			     const char *sort, const struct json *container)
{
	if (names->n)
		(void)buf_printf(notes, "%s%.*s %s for %s %.*s", notes->n ? "; " : "",
				 STR_ARG(buf_str(names)), what, sort,
				 STR_ARG(json_text_at(container, "name")));
}

/* Limits are filled in first; requests are listed first. */
static void fill_containers(const struct initial *limits, const struct initial *requests,
			    const struct json *containers, const char *sort, struct buf *notes)
{
	JSON_FOREACH (c, containers) {
		CLEANUP(buf_release) struct buf limited = BUF_INIT(MESSAGE_MAX);
		CLEANUP(buf_release) struct buf requested = BUF_INIT(MESSAGE_MAX);

		give(limits, c, &limited);
		give(requests, c, &requested);
		limit_range_note(notes, &requested, "request", sort, c);
		limit_range_note(notes, &limited, "limit", sort, c);
	}
}

static struct json *items_of(const struct json *range)
{
	return json_getz(json_getz(range, "spec"), "limits");
}

int limit_range_fill(const struct json *range, struct json *pod, struct arena *a, struct error *err)
{
	const struct json *item = json_find(items_of(range), "type", STR("Container"));
	CLEANUP(buf_release) struct buf notes = BUF_INIT(MESSAGE_MAX);
	struct json *spec = json_getz(pod, "spec"), *annotations;
	struct initial limits, requests;
	size_t given = 0;

	if (!item)
		return 0;
	limits = initial_read(a, item, "default", "limits", &given);
	requests = initial_read(a, item, "defaultRequest", "requests", &given);
	fill_containers(&limits, &requests, json_getz(spec, "containers"), "container", &notes);
	fill_containers(&limits, &requests, json_getz(spec, "initContainers"), "init container",
			&notes);
	if (given > OBJECT_MAX)
		return error_set(err, ERR_TOO_LARGE,
				 "with the defaults of limit range %.*s for its containers the pod "
				 "is larger than %lu KiB",
				 STR_ARG(json_text_at(json_getz(range, "metadata"), "name")),
				 OBJECT_MAX / KIB);
	if (!notes.n)
		return 0;
	annotations = json_need_object(a, json_need_object(a, pod, "metadata"), "annotations");
	json_put_str(a, annotations, ANNOTATION,
		     str_from(arena_printf(a, "LimitRanger plugin set: %.*s",
					   STR_ARG(buf_str(&notes)))));
	return 0;
}

/* --- limits --------------------------------------------------------------------------------- */

struct limits {
	struct str type; /* "Container" */
	struct amount_list min, max, ratio; /* of the item, read once for all containers */
	struct arena *arena; /* for temporary lists */
	const struct amount_list *requests, *used_limits; /* used_limits NULL: no limits */
	struct buf *faults; /* separated by NUL bytes */
	size_t nfaults;
};

static const struct quantity *request_of(const struct limits *l, struct str name)
{
	return amount_list_get(l->requests, name);
}

static const struct quantity *limit_of(const struct limits *l, struct str name)
{
	return l->used_limits ? amount_list_get(l->used_limits, name) : NULL;
}

struct values {
	int64_t request, limit, enforced;
};

static bool is_small(int64_t v)
{
	return v <= INT64_MAX / 1000;
}

static struct values values_of(const struct quantity *request, const struct quantity *limit,
			       struct quantity enforced)
{
	static const struct quantity zero;
	struct quantity r = request ? *request : zero, l = limit ? *limit : zero;
	struct values v = { quantity_value(r), quantity_value(l), quantity_value(enforced) };

	if (is_small(v.request) && is_small(v.limit) && is_small(v.enforced))
		v = (struct values){ quantity_milli(r), quantity_milli(l),
				     quantity_milli(enforced) };
	return v;
}

/* Adds an error, unless it was added before, as upstream's aggregates do. */
static void add_fault(struct limits *l, struct str text)
{
	struct str rest = buf_str(l->faults), fault;

	while (l->nfaults && str_split(&rest, '\0', &fault))
		if (str_eq(fault, text))
			return;
	if (l->nfaults++)
		(void)buf_addc(l->faults, '\0');
	(void)buf_add_str(l->faults, text);
}

#define FAULT(l, ...) add_fault((l), str_from(arena_printf((l)->arena, __VA_ARGS__)))

static void check_min(struct limits *l, struct str name, struct quantity enforced)
{
	const struct quantity *request = request_of(l, name), *limit = limit_of(l, name);
	struct values v = values_of(request, limit, enforced);
	struct str least = limit_range_shown(l->arena, &enforced);

	if (!request)
		FAULT(l, "minimum %.*s usage per %.*s is %.*s.  No request is specified",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(least));
	else if (v.request < v.enforced)
		FAULT(l, "minimum %.*s usage per %.*s is %.*s, but request is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(least),
		      STR_ARG(limit_range_shown(l->arena, request)));
	else if (limit && v.limit < v.enforced)
		FAULT(l, "minimum %.*s usage per %.*s is %.*s, but limit is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(least),
		      STR_ARG(limit_range_shown(l->arena, limit)));
}

static void check_max(struct limits *l, struct str name, struct quantity enforced)
{
	const struct quantity *request = request_of(l, name), *limit = limit_of(l, name);
	struct values v = values_of(request, limit, enforced);
	struct str most = limit_range_shown(l->arena, &enforced);

	if (l->used_limits && !limit)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s.  No limit is specified",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most));
	else if (!l->used_limits && !request)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s.  No request is specified",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most));
	else if (limit && v.limit > v.enforced)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s, but limit is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(most), STR_ARG(limit_range_shown(l->arena, limit)));
	else if (request && v.request > v.enforced)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s, but request is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(most),
		      STR_ARG(limit_range_shown(l->arena, request)));
}

static void check_ratio(struct limits *l, struct str name, struct quantity enforced)
{
	const struct quantity *request = request_of(l, name), *limit = limit_of(l, name);
	struct values v = values_of(request, limit, enforced);
	struct str most = limit_range_shown(l->arena, &enforced);
	double ratio, least;

	if (!request || v.request == 0) {
		FAULT(l,
		      "%.*s max limit to request ratio per %.*s is %.*s, but no request is "
		      "specified or request is 0",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most));
		return;
	}
	if (!limit || v.limit == 0) {
		FAULT(l,
		      "%.*s max limit to request ratio per %.*s is %.*s, but no limit is "
		      "specified or limit is 0",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most));
		return;
	}
	ratio = (double)v.limit / (double)v.request;
	least = is_small(quantity_value(enforced)) ? (double)quantity_milli(enforced) / 1000
						   : (double)quantity_value(enforced);
	if (ratio > least)
		FAULT(l,
		      "%.*s max limit to request ratio per %.*s is %.*s, but provided ratio is %f",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most), ratio);
}

static void check_each(struct limits *l, const struct amount_list *amounts,
		       void (*check)(struct limits *l, struct str name, struct quantity enforced))
{
	for (size_t i = 0; i < amounts->n && l->faults->n < MESSAGE_MAX / 2; i++)
		check(l, amounts->v[i].name, amounts->v[i].q);
}

static void read_item(struct limits *l, const struct json *item, struct arena *a)
{
	l->type = json_text_at(item, "type");
	l->min = amount_list_read(a, json_getz(item, "min"));
	l->max = amount_list_read(a, json_getz(item, "max"));
	l->ratio = amount_list_read(a, json_getz(item, "maxLimitRequestRatio"));
}

static void check_all(struct limits *l)
{
	check_each(l, &l->min, check_min);
	check_each(l, &l->max, check_max);
	if (l->used_limits)
		check_each(l, &l->ratio, check_ratio);
}

static void check_containers(struct limits *l, const struct json *containers, bool *refused)
{
	JSON_FOREACH (c, containers) {
		const struct json *resources = json_getz(c, "resources");
		struct amount_list requests, limits;

		requests = amount_list_read(l->arena, json_getz(resources, "requests"));
		limits = amount_list_read(l->arena, json_getz(resources, "limits"));
		l->requests = &requests;
		l->used_limits = &limits;
		check_all(l);
		*refused |= l->arena->refused;
		arena_clear(l->arena);
	}
}

static void check_pod(struct limits *l, const struct json *pod)
{
	struct amount_list requests, limits;

	requests = pod_resources_requests(pod, POD_RESOURCES_SPEC, l->arena);
	limits = pod_resources_limits(pod, POD_RESOURCES_SPEC, l->arena);
	l->requests = &requests;
	l->used_limits = &limits;
	check_all(l);
}

static int result(const struct limits *l, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2UL * MESSAGE_MAX);
	struct str rest = buf_str(l->faults), fault;

	if (!l->nfaults)
		return 0;
	while (str_split(&rest, '\0', &fault))
		(void)buf_printf(&text, "%s%.*s", text.n ? ", " : "", STR_ARG(fault));
	return error_set(err, ERR_FORBIDDEN, l->nfaults > 1 ? "[%s]" : "%s", text.p);
}

int limit_range_check_pod(const struct json *range, const struct json *pod, struct arena *a,
			  struct error *err)
{
	const struct json *spec = json_getz(pod, "spec");
	CLEANUP(buf_release) struct buf faults = BUF_INIT(MESSAGE_MAX);
	CLEANUP(arena_release) struct arena scratch;
	struct limits l = { .arena = &scratch, .faults = &faults };

	arena_init(&scratch, a->max);
	JSON_FOREACH (item, items_of(range)) {
		read_item(&l, item, a);
		if (str_eqz(l.type, "Container")) {
			check_containers(&l, json_getz(spec, "containers"), &a->refused);
			check_containers(&l, json_getz(spec, "initContainers"), &a->refused);
		} else if (str_eqz(l.type, "Pod")) {
			check_pod(&l, pod);
			a->refused |= scratch.refused;
			arena_clear(&scratch);
		}
	}
	return result(&l, err);
}

int limit_range_check_volume_claim(const struct json *range, const struct json *claim,
				   struct arena *a, struct error *err)
{
	const struct json *resources = json_getz(json_getz(claim, "spec"), "resources");
	struct amount_list requests = amount_list_read(a, json_getz(resources, "requests"));
	CLEANUP(buf_release) struct buf faults = BUF_INIT(MESSAGE_MAX);
	struct limits l = { .arena = a, .requests = &requests, .faults = &faults };

	JSON_FOREACH (item, items_of(range)) {
		read_item(&l, item, a);
		if (str_eqz(l.type, "PersistentVolumeClaim"))
			check_all(&l);
	}
	return result(&l, err);
}
