/*
 * Builds status.allocation of a claim: the device for each request, the configuration that applies,
 * and the nodes that can use the devices. Fields are in upstream's order. Text is copied, because
 * results outlive the inventory's next change.
 *
 * A class's configuration is listed once, with all requests of that class. Then comes the claim's
 * configuration, if it names a request or the chosen alternative. A list that names all requests is
 * left out, which means the same.
 */
#include "dra/allocate/allocate_impl.h"

#include <stdio.h>

static struct json *text(struct arena *a, struct str s)
{
	return json_make_str(a, arena_str(a, s));
}

static void put_texts(struct arena *a, struct json *object, const char *key, const struct str *v,
		      size_t n)
{
	struct json *list = json_make_array(a);

	for (size_t i = 0; i < n; i++)
		json_append(list, text(a, v[i]));
	if (n)
		json_setz(object, key, list);
}

static int put_copy(struct arena *a, struct json *object, const char *key, const struct json *v,
		    struct error *err)
{
	struct json *copy;
	int r;

	if (json_count(v) == 0)
		return 0;
	r = json_copy(a, v, &copy, err);
	if (r == 0)
		json_setz(object, key, copy);
	return r;
}

/* --- devices ------------------------------------------------------------------------ */

static void put_share(struct allocate_plan *plan, const struct allocate_place *p,
		      struct json *result)
{
	const struct allocate_options *o = &plan->options;
	char id[37];

	if (o->share_id)
		o->share_id(o->ctx, id);
	else
		(void)snprintf(id, sizeof(id), "00000000-0000-0000-0000-%012u",
			       (unsigned)(p - plan->places) + 1);
	json_setz(result, "shareID", text(plan->arena, str_from(id)));
}

/* Returns the next capacity by name after `after`, or NULL. */
static const struct inventory_capacity *capacity_after(const struct inventory_device *d,
						       const struct inventory_capacity *after)
{
	const struct inventory_capacity *best = NULL;

	for (size_t i = 0; i < d->view.ncapacity; i++) {
		const struct inventory_capacity *c = &d->capacities[i];

		if ((!after || str_cmp(c->name, after->name) > 0) &&
		    (!best || str_cmp(c->name, best->name) < 0))
			best = c;
	}
	return best;
}

static void put_consumed(struct allocate_plan *plan, const struct allocate_place *p,
			 struct json *result)
{
	struct json *consumed = json_make_object(plan->arena);
	const struct inventory_device *d = p->at.device;
	const struct inventory_capacity *c = NULL;

	while ((c = capacity_after(d, c))) {
		struct buf b = BUF_INIT(128);
		struct quantity q = { 0 };

		(void)allocate_consumption(plan, &plan->requests[p->request], d,
					   (size_t)(c - d->capacities), &q, NULL);
		(void)quantity_print(q, &b);
		json_add(consumed, arena_str(plan->arena, c->name), text(plan->arena, buf_str(&b)));
		buf_release(&b);
	}
	if (consumed->n)
		json_setz(result, "consumedCapacity", consumed);
}

static int result_add_device(struct allocate_plan *plan, const struct allocate_place *p,
			     struct json *results, struct error *err)
{
	const struct allocate_request *r = &plan->requests[p->request];
	const struct inventory_device *d = p->at.device;
	struct arena *a = plan->arena;
	struct json *v = json_make_object(a);
	int e;

	json_append(results, v);
	json_setz(v, "request", text(a, r->full));
	json_setz(v, "driver", text(a, d->slice->pool->driver));
	json_setz(v, "pool", text(a, d->slice->pool->name));
	json_setz(v, "device", text(a, d->name));
	if (r->admin)
		json_put_bool(a, v, "adminAccess", true);
	e = put_copy(a, v, "tolerations", r->tolerations, err);
	if (e < 0)
		return e;
	if (plan->features.binding_conditions) {
		put_texts(a, v, "bindingConditions", d->binding, d->nbinding);
		put_texts(a, v, "bindingFailureConditions", d->binding_failure,
			  d->nbinding_failure);
	}
	if (p->shared) {
		put_share(plan, p, v);
		put_consumed(plan, p, v);
	}
	return 0;
}

/* --- configuration ------------------------------------------------------------------ */

/* Adds a copy of `from` with its list of requests replaced by `requests` (or left out, if NULL). */
static int add_config(struct allocate_plan *plan, struct json *list, const char *source,
		      struct json *requests, const struct json *from, struct error *err)
{
	struct json *v = json_make_object(plan->arena), *copy;

	json_put_str(plan->arena, v, "source", str_from(source));
	if (json_count(requests))
		json_setz(v, "requests", requests);
	JSON_FOREACH (it, from) {
		int r;

		if (str_eqz(json_key(it), "requests"))
			continue;
		r = json_copy(plan->arena, it, &copy, err);
		if (r < 0)
			return r;
		json_set(v, arena_str(plan->arena, json_key(it)), copy);
	}
	json_append(list, v);
	return 0;
}

static const struct allocate_request *chosen(const struct allocate_plan *plan, uint32_t group)
{
	return &plan->requests[plan->chosen[group]];
}

/* Returns the request's name without the alternative. */
static struct str main_name(const struct allocate_plan *plan, const struct allocate_request *r)
{
	bool sub = plan->groups[r->group].alternatives;

	return sub ? str_of(r->full.p, r->full.n - r->name.n - 1) : r->full;
}

/*
 * Returns the names of the requests that use the class of `group`; empty if an earlier group uses
 * it.
 */
static struct json *users_of_class(struct allocate_plan *plan, const struct allocate_claim *c,
				   uint32_t group)
{
	struct json *names = json_make_array(plan->arena);

	for (uint32_t i = c->first; i < c->first + c->n; i++) {
		if (chosen(plan, i)->class != chosen(plan, group)->class)
			continue;
		if (i < group)
			return NULL;
		json_append(names, text(plan->arena, chosen(plan, i)->full));
	}
	return names;
}

static int add_class_config(struct allocate_plan *plan, const struct allocate_claim *c,
			    struct json *list, struct error *err)
{
	for (uint32_t i = c->first; i < c->first + c->n; i++) {
		struct json *names = users_of_class(plan, c, i), *copy;

		JSON_FOREACH (it, names ? chosen(plan, i)->class->config : NULL) {
			int r = json_copy(plan->arena, names, &copy, err);

			if (r == 0)
				r = add_config(plan, list, "FromClass", copy, it, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Whether the list names the request, or the alternative chosen for it. */
static bool names_group(const struct allocate_plan *plan, const struct json *names, uint32_t group)
{
	const struct allocate_request *r = chosen(plan, group);

	return json_has_text(names, main_name(plan, r)) ||
	       (plan->groups[group].alternatives && json_has_text(names, r->full));
}

static int add_claim_config(struct allocate_plan *plan, const struct allocate_claim *c,
			    struct json *list, struct error *err)
{
	const struct json *spec = json_getz(json_getz(c->object, "spec"), "devices");

	JSON_FOREACH (it, json_getz(spec, "config")) {
		const struct json *names = json_getz(it, "requests");
		bool applies = json_count(names) == 0;
		struct json *copy = NULL;
		int r = 0;

		for (uint32_t i = c->first; !applies && i < c->first + c->n; i++)
			applies = names_group(plan, names, i);
		if (!applies)
			continue;
		if (names)
			r = json_copy(plan->arena, names, &copy, err);
		if (r == 0)
			r = add_config(plan, list, "FromClaim", copy, it, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void shorten(const struct allocate_plan *plan, const struct allocate_claim *c,
		    struct json *list)
{
	JSON_FOREACH (it, list) {
		const struct json *names = json_getz(it, "requests");
		bool all = names != NULL;

		for (uint32_t i = c->first; all && i < c->first + c->n; i++)
			all = names_group(plan, names, i);
		if (all)
			(void)json_remove(it, STR("requests"));
	}
}

/* --- nodes -------------------------------------------------------------------------- */

static bool result_has_value(const struct selector_term *t, struct str value)
{
	for (size_t i = 0; i < t->nvalues; i++)
		if (str_eq(t->values[i], value))
			return true;
	return false;
}

/* Whether the requirements are equal, with values in any order. */
static bool same_requirement(const struct selector_term *a, const struct selector_term *b)
{
	if (!str_eq(a->key, b->key) || a->op != b->op)
		return false;
	for (size_t i = 0; i < a->nvalues; i++)
		if (!result_has_value(b, a->values[i]))
			return false;
	for (size_t i = 0; i < b->nvalues; i++)
		if (!result_has_value(a, b->values[i]))
			return false;
	return true;
}

/* Requirements of all devices, each once. */
struct requirements {
	const struct selector_term **v;
	size_t n, room;
};

static void add_requirements(struct arena *a, struct requirements *to, const struct selector *from)
{
	for (size_t i = 0; i < from->n; i++) {
		size_t k = 0;

		while (k < to->n && !same_requirement(to->v[k], &from->terms[i]))
			k++;
		if (k < to->n)
			continue;
		if (to->n == to->room) {
			const struct selector_term **v;

			to->room = to->room ? to->room * 2 : 8;
			v = ARENA_ARRAY(a, const struct selector_term *, to->room);
			if (to->n)
				memcpy(v, to->v, sizeof(*v) * to->n);
			to->v = v;
		}
		to->v[to->n++] = &from->terms[i];
	}
}

static void put_requirements(struct arena *a, struct json *term, const char *key,
			     const struct requirements *r)
{
	struct json *list = json_make_array(a), *copy;

	for (size_t i = 0; i < r->n; i++) {
		struct json *v = node_selector_requirement(a, r->v[i]);

		/* Copy it, since the slice owns the text. */
		if (json_copy(a, v, &copy, NULL) == 0)
			json_append(list, copy);
	}
	if (r->n)
		json_setz(term, key, list);
}

static void put_node_selector(struct arena *a, struct json *result, struct json *term)
{
	struct json *selector = json_make_object(a), *terms = json_make_array(a);

	json_append(terms, term);
	json_setz(selector, "nodeSelectorTerms", terms);
	json_setz(result, "nodeSelector", selector);
}

static void put_this_node(struct allocate_plan *plan, struct json *result)
{
	struct arena *a = plan->arena;
	struct json *term = json_make_object(a), *field = json_make_object(a);
	struct json *values = json_make_array(a), *fields = json_make_array(a);

	json_append(values, text(a, plan->node.name));
	json_put_str(a, field, "key", STR("metadata.name"));
	json_put_str(a, field, "operator", STR("In"));
	json_setz(field, "values", values);
	json_append(fields, field);
	json_setz(term, "matchFields", fields);
	put_node_selector(a, result, term);
}

static int put_nodes(struct allocate_plan *plan, uint32_t claim, uint32_t first, uint32_t end,
		     struct json *result, struct error *err)
{
	struct requirements labels = { 0 }, fields = { 0 };
	struct json *term = json_make_object(plan->arena);

	for (uint32_t i = first; i < end; i++) {
		const struct inventory_device *d = plan->places[i].at.device;
		const struct inventory_nodes *n = inventory_device_nodes(d);

		if (n->kind == INVENTORY_NODES_NAME || d->binds_to_node) {
			put_this_node(plan, result);
			return 0;
		}
		if (n->kind != INVENTORY_NODES_SELECTOR || n->selector->n == 0)
			continue;
		if (n->selector->n > 1)
			return error_set(
				err, ERR_INVALID,
				"create NodeSelector for claim %.*s: unsupported "
				"ResourceSlice.NodeSelector with %zu terms",
				STR_ARG(json_text_at(
					json_getz(plan->claims[claim].object, "metadata"), "name")),
				n->selector->n);
		add_requirements(plan->work, &labels, &n->selector->terms[0].labels);
		add_requirements(plan->work, &fields, &n->selector->terms[0].fields);
	}
	put_requirements(plan->arena, term, "matchExpressions", &labels);
	put_requirements(plan->arena, term, "matchFields", &fields);
	if (term->n)
		put_node_selector(plan->arena, result, term);
	return 0;
}

/* --- all of it ---------------------------------------------------------------------- */

static int put_configs(struct allocate_plan *plan, const struct allocate_claim *c,
		       struct json *devices, struct error *err)
{
	struct json *list = json_make_array(plan->arena);
	int r = add_class_config(plan, c, list, err);

	if (r == 0)
		r = add_claim_config(plan, c, list, err);
	if (r < 0)
		return r;
	shorten(plan, c, list);
	if (list->n)
		json_setz(devices, "config", list);
	return 0;
}

int allocate_result(struct allocate_plan *plan, uint32_t claim, struct json **ret_result,
		    struct error *err)
{
	struct json *result = json_make_object(plan->arena);
	struct json *devices = json_make_object(plan->arena);
	struct json *results = json_make_array(plan->arena);
	uint32_t first = 0, end;
	int r;

	while (first < plan->nplaces && plan->requests[plan->places[first].request].claim < claim)
		first++;
	for (end = first; end < plan->nplaces; end++) {
		const struct allocate_place *p = &plan->places[end];

		if (plan->requests[p->request].claim != claim)
			break;
		r = result_add_device(plan, p, results, err);
		if (r < 0)
			return r;
	}
	if (results->n)
		json_setz(devices, "results", results);
	r = put_configs(plan, &plan->claims[claim], devices, err);
	json_setz(result, "devices", devices);
	if (r == 0)
		r = put_nodes(plan, claim, first, end, result, err);
	if (r == 0)
		*ret_result = result;
	return r;
}
