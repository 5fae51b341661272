/*
 * Amounts are compared as upstream does, in thousandths where they are small enough, else in whole
 * units, and told as they were written. Where upstream goes through a map in any order, names
 * come sorted here.
 */
#include "api/limit_range.h"

#include "api/pod_resources.h"
#include "base/json.h"

#define ANNOTATION "kubernetes.io/limit-ranger"

enum { MESSAGE_MAX = 16 * 1024 };

/* --- defaults ------------------------------------------------------------------------------- */

/* Those of `initial` that the container lacks: put in, and named in `b` as "cpu, memory". */
static void give(struct json *container, const char *list, const struct amount_list *initial,
		 struct arena *a, struct buf *b)
{
	for (size_t i = 0; i < initial->n; i++) {
		struct json *resources = json_need_object(a, container, "resources"), *map;
		CLEANUP(buf_release) struct buf text = BUF_INIT(256);
		struct str name = initial->v[i].name;

		if (json_get(json_getz(resources, list), name))
			continue;
		map = json_need_object(a, resources, list);
		(void)quantity_print(initial->v[i].q, &text);
		json_add(map, arena_str(a, name), json_make_str(a, arena_str(a, buf_str(&text))));
		(void)buf_printf(b, "%s%.*s", b->n ? ", " : "", STR_ARG(name));
	}
}

static void note(struct buf *notes, const struct buf *names, const char *what, const char *sort,
		 const struct json *container)
{
	if (names->n)
		(void)buf_printf(notes, "%s%.*s %s for %s %.*s", notes->n ? "; " : "",
				 STR_ARG(buf_str(names)), what, sort,
				 STR_ARG(json_text_at(container, "name")));
}

static void fill_container(const struct json *item, struct json *container, const char *sort,
			   struct arena *a, struct buf *notes)
{
	CLEANUP(buf_release) struct buf requests = BUF_INIT(MESSAGE_MAX);
	CLEANUP(buf_release) struct buf limits = BUF_INIT(MESSAGE_MAX);
	struct amount_list initial = amount_list_read(a, json_getz(item, "default"));

	give(container, "limits", &initial, a, &limits);
	initial = amount_list_read(a, json_getz(item, "defaultRequest"));
	give(container, "requests", &initial, a, &requests);
	note(notes, &requests, "request", sort, container);
	note(notes, &limits, "limit", sort, container);
}

static struct json *items_of(const struct json *range)
{
	return json_getz(json_getz(range, "spec"), "limits");
}

void limit_range_fill(const struct json *range, struct json *pod, struct arena *a)
{
	const struct json *item = json_find(items_of(range), "type", STR("Container"));
	CLEANUP(buf_release) struct buf notes = BUF_INIT(MESSAGE_MAX);
	struct json *spec = json_getz(pod, "spec"), *annotations;

	if (!item)
		return;
	JSON_FOREACH (c, json_getz(spec, "containers"))
		fill_container(item, c, "container", a, &notes);
	JSON_FOREACH (c, json_getz(spec, "initContainers"))
		fill_container(item, c, "init container", a, &notes);
	if (!notes.n)
		return;
	annotations = json_need_object(a, json_need_object(a, pod, "metadata"), "annotations");
	json_put_str(a, annotations, ANNOTATION,
		     str_from(arena_printf(a, "LimitRanger plugin set: %.*s",
					   STR_ARG(buf_str(&notes)))));
}

/* --- limits --------------------------------------------------------------------------------- */

struct limits {
	struct str type; /* "Container" */
	struct arena *arena;
	const struct amount_list *requests, *used_limits; /* the latter NULL: there are none */
	struct buf *faults; /* ", " between them */
	size_t nfaults;
};

static struct str shown(const struct limits *l, const struct quantity *q)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(256);

	if (!q)
		return STR("0");
	(void)quantity_print(*q, &b);
	return arena_str(l->arena, buf_str(&b));
}

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

/* The same fault is told once, as upstream's aggregates have it. */
static void add_fault(struct limits *l, struct str text)
{
	struct str all = buf_str(l->faults);
	ptrdiff_t at = text.n ? str_find(all, text) : -1;

	if (at >= 0 && ((size_t)at + text.n == all.n || all.p[(size_t)at + text.n] == ','))
		return;
	(void)buf_printf(l->faults, "%s%.*s", l->nfaults++ ? ", " : "", STR_ARG(text));
}

#define FAULT(l, ...) add_fault((l), str_from(arena_printf((l)->arena, __VA_ARGS__)))

static void check_min(struct limits *l, struct str name, struct quantity enforced)
{
	const struct quantity *request = request_of(l, name), *limit = limit_of(l, name);
	struct values v = values_of(request, limit, enforced);
	struct str least = shown(l, &enforced);

	if (!request)
		FAULT(l, "minimum %.*s usage per %.*s is %.*s.  No request is specified",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(least));
	else if (v.request < v.enforced)
		FAULT(l, "minimum %.*s usage per %.*s is %.*s, but request is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(least), STR_ARG(shown(l, request)));
	else if (limit && v.limit < v.enforced)
		FAULT(l, "minimum %.*s usage per %.*s is %.*s, but limit is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(least), STR_ARG(shown(l, limit)));
}

static void check_max(struct limits *l, struct str name, struct quantity enforced)
{
	const struct quantity *request = request_of(l, name), *limit = limit_of(l, name);
	struct values v = values_of(request, limit, enforced);
	struct str most = shown(l, &enforced);

	if (l->used_limits && !limit)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s.  No limit is specified",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most));
	else if (!l->used_limits && !request)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s.  No request is specified",
		      STR_ARG(name), STR_ARG(l->type), STR_ARG(most));
	else if (limit && v.limit > v.enforced)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s, but limit is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(most), STR_ARG(shown(l, limit)));
	else if (request && v.request > v.enforced)
		FAULT(l, "maximum %.*s usage per %.*s is %.*s, but request is %.*s", STR_ARG(name),
		      STR_ARG(l->type), STR_ARG(most), STR_ARG(shown(l, request)));
}

static void check_ratio(struct limits *l, struct str name, struct quantity enforced)
{
	const struct quantity *request = request_of(l, name), *limit = limit_of(l, name);
	struct values v = values_of(request, limit, enforced);
	struct str most = shown(l, &enforced);
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

static void check_each(struct limits *l, const struct json *item, const char *list,
		       void (*check)(struct limits *l, struct str name, struct quantity enforced))
{
	struct amount_list amounts = amount_list_read(l->arena, json_getz(item, list));

	for (size_t i = 0; i < amounts.n && l->faults->n < MESSAGE_MAX / 2; i++)
		check(l, amounts.v[i].name, amounts.v[i].q);
}

static void check_all(struct limits *l, const struct json *item)
{
	check_each(l, item, "min", check_min);
	check_each(l, item, "max", check_max);
	if (l->used_limits)
		check_each(l, item, "maxLimitRequestRatio", check_ratio);
}

static void check_containers(struct limits *l, const struct json *item,
			     const struct json *containers)
{
	JSON_FOREACH (c, containers) {
		const struct json *resources = json_getz(c, "resources");
		struct amount_list requests, limits;

		requests = amount_list_read(l->arena, json_getz(resources, "requests"));
		limits = amount_list_read(l->arena, json_getz(resources, "limits"));
		l->requests = &requests;
		l->used_limits = &limits;
		check_all(l, item);
	}
}

static int result(const struct limits *l, struct error *err)
{
	struct str all = buf_str(l->faults);

	if (!l->nfaults)
		return 0;
	return error_set(err, ERR_FORBIDDEN, l->nfaults > 1 ? "[%.*s]" : "%.*s", STR_ARG(all));
}

int limit_range_check_pod(const struct json *range, const struct json *pod, struct arena *a,
			  struct error *err)
{
	const struct json *spec = json_getz(pod, "spec");
	CLEANUP(buf_release) struct buf faults = BUF_INIT(MESSAGE_MAX);
	struct limits l = { .arena = a, .faults = &faults };

	JSON_FOREACH (item, items_of(range)) {
		l.type = json_text_at(item, "type");
		if (str_eqz(l.type, "Container")) {
			check_containers(&l, item, json_getz(spec, "containers"));
			check_containers(&l, item, json_getz(spec, "initContainers"));
		} else if (str_eqz(l.type, "Pod")) {
			struct amount_list requests, limits;

			requests = pod_resources_requests(pod, POD_RESOURCES_SPEC, a);
			limits = pod_resources_limits(pod, POD_RESOURCES_SPEC, a);
			l.requests = &requests;
			l.used_limits = &limits;
			check_all(&l, item);
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
		l.type = json_text_at(item, "type");
		if (str_eqz(l.type, "PersistentVolumeClaim"))
			check_all(&l, item);
	}
	return result(&l, err);
}
