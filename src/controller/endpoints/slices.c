/*
 * Every slice becomes a `struct network_held`, in the list of its group or, if no group needs it,
 * among the spare ones. Then each group places its endpoints. The remaining work follows from the
 * held ones.
 */
#include "controller/endpoints/slices.h"

#include "controller/endpoints/decide.h"

struct network_held {
	struct network_held *next; /* in its group, or among the spare ones */
	struct json *tree;
	size_t n; /* number of endpoints that it will have */
	bool changed, created;
};

struct plan {
	struct network_wanted *w;
	struct arena *a;
	struct json *labels; /* for all slices */
	/* spare: ours to reuse; strangers: those of another Service, to delete. */
	struct network_held *spare, *strangers;
	struct network_held *placeholders; /* of families without endpoints */
	struct network_write *first, **last;
};

/* --- parts of a slice ------------------------------------------------------------------------ */

static const struct json *service_meta(const struct plan *p)
{
	return json_getz(p->w->service, "metadata");
}

static bool is_reserved(struct str label)
{
	return str_eq(label, NETWORK_SERVICE_NAME_LABEL) ||
	       str_eq(label, NETWORK_MANAGED_BY_LABEL) ||
	       str_eqz(label, "service.kubernetes.io/headless");
}

/* The Service's labels, and those that mark the slices as its own. */
static struct json *make_labels(const struct plan *p)
{
	struct json *labels = json_make_object(p->a);

	JSON_FOREACH (it, json_getz(service_meta(p), "labels")) {
		if (!is_reserved(json_key(it)))
			json_set(labels, json_key(it), json_make_str(p->a, json_str(it)));
	}
	if (p->w->says.headless)
		json_put_str(p->a, labels, "service.kubernetes.io/headless", STR(""));
	json_set(labels, NETWORK_SERVICE_NAME_LABEL,
		 json_make_str(p->a, json_text_at(service_meta(p), "name")));
	json_set(labels, NETWORK_MANAGED_BY_LABEL, json_make_str(p->a, p->w->manager));
	return labels;
}

static struct json *slices_copy(struct arena *a, const struct json *v)
{
	struct json *to = json_make_null(a);

	(void)json_copy(a, v, &to, NULL);
	return to;
}

static struct json *make_owners(const struct plan *p)
{
	struct json *list = json_make_array(p->a), *owner = json_make_object(p->a);

	json_put_str(p->a, owner, "apiVersion", STR("v1"));
	json_put_str(p->a, owner, "kind", STR("Service"));
	json_put_str(p->a, owner, "name", json_text_at(service_meta(p), "name"));
	json_put_str(p->a, owner, "uid", json_text_at(service_meta(p), "uid"));
	json_put_bool(p->a, owner, "controller", true);
	json_put_bool(p->a, owner, "blockOwnerDeletion", true);
	json_append(list, owner);
	return list;
}

/* Hints that the Service's trafficDistribution asks for; only ready endpoints have some. */
static void add_hints(const struct plan *p, struct json *v, const struct network_endpoint *e)
{
	struct arena *a = p->a;
	bool zone = p->w->hints != NETWORK_HINTS_NONE && e->zone.n > 0;
	bool node = p->w->hints == NETWORK_HINTS_NODE && e->node.n > 0;
	struct json *hints, *it;

	if (!e->ready || !(zone || node))
		return;
	hints = json_need_object(a, v, "hints");
	if (zone) {
		it = json_make_object(a);
		json_put_str(a, it, "name", e->zone);
		json_append(json_need_array(a, hints, "forZones"), it);
	}
	if (node) {
		it = json_make_object(a);
		json_put_str(a, it, "name", e->node);
		json_append(json_need_array(a, hints, "forNodes"), it);
	}
}

static struct json *make_endpoint(const struct plan *p, const struct network_endpoint *e)
{
	struct arena *a = p->a;
	struct json *v = json_make_object(a), *part;

	json_append(json_need_array(a, v, "addresses"), json_make_str(a, e->address));
	part = json_need_object(a, v, "conditions");
	json_put_bool(a, part, "ready", e->ready);
	json_put_bool(a, part, "serving", e->serving);
	json_put_bool(a, part, "terminating", e->terminating);
	if (e->hostname.n > 0)
		json_put_str(a, v, "hostname", e->hostname);
	part = json_need_object(a, v, "targetRef");
	json_put_str(a, part, "kind", STR("Pod"));
	json_put_str(a, part, "namespace", json_text_at(service_meta(p), "namespace"));
	json_put_str(a, part, "name", e->pod);
	json_put_str(a, part, "uid", e->uid);
	if (e->node.n > 0)
		json_put_str(a, v, "nodeName", e->node);
	if (e->zone.n > 0)
		json_put_str(a, v, "zone", e->zone);
	add_hints(p, v, e);
	return v;
}

/* "NAME-", or the name alone where that would be too long. */
static struct str name_prefix(const struct plan *p)
{
	struct str name = json_text_at(service_meta(p), "name");

	return str_from(arena_printf(p->a, "%.*s%s", STR_ARG(name), name.n < 253 ? "-" : ""));
}

static struct network_held *make_slice(struct plan *p, const char *address_type,
				       const struct json *ports)
{
	struct network_held *h = ARENA_NEW(p->a, struct network_held);
	struct json *meta;

	h->created = true;
	h->tree = json_make_object(p->a);
	json_put_str(p->a, h->tree, "apiVersion", STR("discovery.k8s.io/v1"));
	json_put_str(p->a, h->tree, "kind", STR("EndpointSlice"));
	meta = json_need_object(p->a, h->tree, "metadata");
	json_put_str(p->a, meta, "generateName", name_prefix(p));
	json_put_str(p->a, meta, "namespace", json_text_at(service_meta(p), "namespace"));
	json_setz(meta, "labels", slices_copy(p->a, p->labels));
	json_setz(meta, "ownerReferences", make_owners(p));
	json_put_str(p->a, h->tree, "addressType", str_from(address_type));
	json_setz(h->tree, "ports", slices_copy(p->a, ports));
	json_setz(h->tree, "endpoints", json_make_array(p->a));
	return h;
}

/* --- existing slices ------------------------------------------------------------------------- */

static bool is_owned(const struct plan *p, const struct json *slice)
{
	const struct json *owners = json_getz(json_getz(slice, "metadata"), "ownerReferences");
	const struct json *owner = json_find(owners, "uid", json_text_at(service_meta(p), "uid"));

	return owner && str_eqz(json_text_at(owner, "kind"), "Service");
}

static void slices_push(struct network_held **list, struct network_held *h)
{
	while (*list)
		list = &(*list)->next;
	h->next = NULL;
	*list = h;
}

static void hold_slice(struct plan *p, struct json *slice)
{
	struct network_held *h = ARENA_NEW(p->a, struct network_held);
	struct network_group *g;

	h->tree = slice;
	if (!is_owned(p, slice)) {
		slices_push(&p->strangers, h);
		return;
	}
	g = map_get(&p->w->groups, network_group_key(p->a, json_text_at(slice, "addressType"),
						     json_getz(slice, "ports")));
	slices_push(g ? &g->slices : &p->spare, h);
}

/* --- endpoints that stay --------------------------------------------------------------------- */

static struct network_endpoint *find_wanted(struct plan *p, const struct network_group *g,
					    const struct json *endpoint)
{
	struct str address = json_str(json_first(json_getz(endpoint, "addresses")));
	struct str pod = json_text_at(json_getz(endpoint, "targetRef"), "name");

	return map_get(&p->w->endpoints, str_from(arena_printf(p->a, "%zu %.*s %.*s", g->number,
							       STR_ARG(address), STR_ARG(pod))));
}

/* Keeps endpoints that are still wanted, updated; removes a second copy of one. */
static void keep_endpoints(struct plan *p, struct network_group *g, struct network_held *h)
{
	struct json *list = json_need_array(p->a, h->tree, "endpoints");

	JSON_FOREACH_SAFE (it, list) {
		struct network_endpoint *e = find_wanted(p, g, it);
		struct json *now;

		if (!e || e->placed || h->n == NETWORK_SLICE_MAX) {
			(void)json_unlink(list, it);
			h->changed = true;
			continue;
		}
		e->placed = true;
		h->n++;
		now = make_endpoint(p, e);
		if (!json_equal(it, now)) {
			json_assign(it, now);
			h->changed = true;
		}
	}
}

static void keep_labels(struct plan *p, struct network_held *h)
{
	struct json *meta = json_getz(h->tree, "metadata");

	if (json_equal(json_getz(meta, "labels"), p->labels))
		return;
	json_setz(meta, "labels", slices_copy(p->a, p->labels));
	h->changed = true;
}

/* Empty slices may serve any group, including this one. */
static void drop_empty(struct plan *p, struct network_group *g)
{
	for (struct network_held **at = &g->slices; *at;) {
		struct network_held *h = *at;

		if (h->n > 0) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		slices_push(&p->spare, h);
	}
}

static void keep_slices(struct plan *p, struct network_group *g)
{
	for (struct network_held *h = g->slices; h; h = h->next) {
		keep_endpoints(p, g, h);
		keep_labels(p, h);
	}
	drop_empty(p, g);
}

/* --- endpoints that are added ---------------------------------------------------------------- */

static struct network_endpoint *slices_fill(struct plan *p, struct network_held *h,
					    struct network_endpoint *e)
{
	struct json *list = json_need_array(p->a, h->tree, "endpoints");

	for (; e && h->n < NETWORK_SLICE_MAX; e = e->next) {
		if (e->placed)
			continue;
		e->placed = true;
		json_append(list, make_endpoint(p, e));
		h->n++;
		h->changed = true;
	}
	return e;
}

/* The fullest slice that has room and is written anyway; or NULL. */
static struct network_held *fullest_changed(const struct network_group *g)
{
	struct network_held *best = NULL;

	for (struct network_held *h = g->slices; h; h = h->next) {
		if (h->changed && h->n < NETWORK_SLICE_MAX && (!best || h->n > best->n))
			best = h;
	}
	return best;
}

/* The fullest slice with room for `n` more. */
static struct network_held *best_fit(const struct network_group *g, size_t n)
{
	struct network_held *best = NULL;

	for (struct network_held *h = g->slices; h; h = h->next) {
		if (h->n + n <= NETWORK_SLICE_MAX && (!best || h->n > best->n))
			best = h;
	}
	return best;
}

/* Reuses a slice that would be deleted; only the address type cannot be changed. */
static struct network_held *reuse(struct plan *p, const struct network_group *g)
{
	for (struct network_held **at = &p->spare; *at; at = &(*at)->next) {
		struct network_held *h = *at;

		if (!str_eqz(json_text_at(h->tree, "addressType"), g->address_type))
			continue;
		*at = h->next;
		json_setz(h->tree, "ports", slices_copy(p->a, g->ports));
		json_setz(h->tree, "endpoints", json_make_array(p->a));
		h->n = 0;
		h->changed = true;
		keep_labels(p, h);
		return h;
	}
	return NULL;
}

static void place_rest(struct plan *p, struct network_group *g)
{
	struct network_endpoint *e = g->first;
	struct network_held *h;
	size_t placed = 0;

	for (struct network_endpoint *it = e; it; it = it->next)
		placed += it->placed;
	while (placed < g->n) {
		size_t before;

		h = fullest_changed(g);
		h = h ? h : best_fit(g, g->n - placed);
		if (!h) {
			h = reuse(p, g);
			h = h ? h : make_slice(p, g->address_type, g->ports);
			slices_push(&g->slices, h);
		}
		before = h->n;
		e = slices_fill(p, h, e);
		placed += h->n - before;
	}
}

/* --- placeholders ---------------------------------------------------------------------------- */

static bool has_slices(const struct plan *p, const char *type)
{
	for (const struct network_group *g = p->w->first; g; g = g->next) {
		if (g->slices && strcmp(g->address_type, type) == 0)
			return true;
	}
	return false;
}

static bool is_blank(const struct network_held *h)
{
	return !h->changed && json_count(json_getz(h->tree, "endpoints")) == 0 &&
	       json_count(json_getz(h->tree, "ports")) == 0;
}

/* One that is blank already is left as it is. */
static struct network_held *take_spare(struct plan *p, const char *type, bool blank)
{
	for (struct network_held **at = &p->spare; *at; at = &(*at)->next) {
		struct network_held *h = *at;

		if (!str_eqz(json_text_at(h->tree, "addressType"), type) || (blank && !is_blank(h)))
			continue;
		*at = h->next;
		return h;
	}
	return NULL;
}

/* So that consumers know that the Service was looked at, and has no endpoints. */
static void keep_placeholder(struct plan *p, const char *type)
{
	struct network_held *h;

	if (has_slices(p, type))
		return;
	h = take_spare(p, type, true);
	h = h ? h : take_spare(p, type, false);
	if (!h) {
		h = make_slice(p, type, json_make_array(p->a));
	} else if (!is_blank(h)) {
		json_setz(h->tree, "ports", json_make_array(p->a));
		json_setz(h->tree, "endpoints", json_make_array(p->a));
		h->changed = true;
	}
	if (!h->created)
		keep_labels(p, h);
	slices_push(&p->placeholders, h);
}

/* --- writes ---------------------------------------------------------------------------------- */

/* The time of the change that caused the write, for those who measure delays. */
static void note_trigger(struct plan *p, struct json *slice)
{
	struct json *meta = json_need_object(p->a, slice, "metadata");

	if (!p->w->triggers)
		return;
	if (p->w->trigger.n > 0)
		json_set(json_need_object(p->a, meta, "annotations"), NETWORK_TRIGGER_ANNOTATION,
			 json_make_str(p->a, p->w->trigger));
	else if (json_is(json_getz(meta, "annotations"), JSON_OBJECT))
		(void)json_remove(json_getz(meta, "annotations"), NETWORK_TRIGGER_ANNOTATION);
}

static void add_write(struct plan *p, enum network_verb verb, const struct network_held *h)
{
	struct network_write *w = ARENA_NEW(p->a, struct network_write);

	if (verb != NETWORK_DELETE)
		note_trigger(p, h->tree);
	w->verb = verb;
	w->slice = h->tree;
	*p->last = w;
	p->last = &w->next;
}

static void list_held(struct plan *p, const struct network_held *h, bool ending)
{
	for (; h; h = h->next) {
		if (h->created && !ending)
			add_write(p, NETWORK_CREATE, h);
		else if (h->changed && !h->created)
			add_write(p, NETWORK_UPDATE, h);
	}
}

/*
 * If the Service is being deleted, no slices are created: the garbage collector removes the rest.
 */
static void list_writes(struct plan *p)
{
	bool ending = json_getz(service_meta(p), "deletionTimestamp") != NULL;

	for (struct network_group *g = p->w->first; g; g = g->next)
		list_held(p, g->slices, ending);
	list_held(p, p->placeholders, ending);
	for (const struct network_held *h = p->spare; h; h = h->next)
		add_write(p, NETWORK_DELETE, h);
	for (const struct network_held *h = p->strangers; h; h = h->next)
		add_write(p, NETWORK_DELETE, h);
}

struct network_write *network_slices_plan(struct network_wanted *wanted, struct json *const *slices,
					  size_t n)
{
	struct plan p = { .w = wanted, .a = wanted->arena };

	p.last = &p.first;
	p.labels = make_labels(&p);
	for (size_t i = 0; i < n; i++) {
		if (!json_getz(json_getz(slices[i], "metadata"), "deletionTimestamp"))
			hold_slice(&p, slices[i]);
	}
	/* First find all spare slices, before anything new is created. */
	for (struct network_group *g = wanted->first; g; g = g->next)
		keep_slices(&p, g);
	for (struct network_group *g = wanted->first; g; g = g->next)
		place_rest(&p, g);
	if (wanted->placeholders && wanted->says.ipv4)
		keep_placeholder(&p, "IPv4");
	if (wanted->placeholders && wanted->says.ipv6)
		keep_placeholder(&p, "IPv6");
	list_writes(&p);
	return p.first;
}
