/*
 * The slices of a service are listed from committed objects, which is immediate. Each slice is
 * parsed in memory of its own: a service may have many, and usually the first one is enough. An
 * endpoint of the less preferred family is kept until all others were examined.
 */
#include "server/reach/endpoints.h"

#include "base/core/random.h"
#include "base/json/json.h"
#include "server/engine/state.h"
#include "server/reach/kubelets.h"

struct search {
	const struct endpoints_query *query;
	struct prng *prng;
	struct arena *arena;
	struct addr to;
	bool found; /* `to` is set .. */
	bool best; /* .. and nothing better can follow */
};

/* An endpoint without the condition is ready. */
static bool endpoints_is_ready(const struct json *endpoint)
{
	bool ready = true;

	(void)json_bool(json_getz(json_getz(endpoint, "conditions"), "ready"), &ready);
	return ready;
}

/* Only the first of its addresses counts. */
static bool endpoints_take(struct search *s, const struct json *endpoint, int port)
{
	const struct endpoints_query *q = s->query;
	struct str host = json_str(json_first(json_getz(endpoint, "addresses")));
	struct addr to;

	if (!endpoints_is_ready(endpoint) || !host.n || kubelets_address(host, port, &to, NULL) < 0)
		return false;
	if (q->accepts && !q->accepts(q->arg, endpoint, &to))
		return false;
	s->to = to;
	return true;
}

static bool take_any(struct search *s, const struct json *endpoints, int port)
{
	size_t n = json_count(endpoints);
	const struct json *it = n ? json_at(endpoints, prng_below(s->prng, n)) : NULL;

	for (size_t i = 0; i < n; i++) {
		if (endpoints_take(s, it, port))
			return true;
		it = it->next ? it->next : json_first(endpoints);
	}
	return false;
}

static bool take_from(struct search *s, const struct json *slice)
{
	JSON_FOREACH (port, json_getz(slice, "ports")) {
		int64_t number = json_i64_at(port, "port", 0);

		if (number > 0 && number <= UINT16_MAX &&
		    str_eq(json_text_at(port, "name"), s->query->port) &&
		    take_any(s, json_getz(slice, "endpoints"), (int)number))
			return true;
	}
	return false;
}

static void look_into(struct search *s, const struct object *o)
{
	struct str family = s->query->family;
	struct json *slice;
	struct arena scratch;
	bool first;

	arena_init(&scratch, SIZE_MAX);
	if (object_tree(o, &scratch, &slice, NULL) == 0) {
		first = !family.n || str_eq(json_text_at(slice, "addressType"), family);
		if ((first || !s->found) && take_from(s, slice)) {
			s->found = true;
			s->best = first;
		}
	}
	arena_release(&scratch);
}

static void on_slices(void *arg, const struct list_result *list, const struct error *err)
{
	struct search *s = arg;
	size_t n = err ? 0 : list->n;
	struct object **v = ARENA_ARRAY(s->arena, struct object *, n);

	for (size_t i = 0; i < n; i++)
		v[i] = list->items[i];
	for (size_t i = 0; i < n && !s->best; i++) {
		size_t at = i + (size_t)prng_below(s->prng, n - i);
		struct object *o = v[at];

		v[at] = v[i];
		look_into(s, o);
	}
}

int endpoints_pick(struct state *st, const struct endpoints_query *q, struct prng *prng,
		   struct arena *a, struct addr *ret_to, struct error *err)
{
	const struct schema_kind *kind = schema_find_resource(STR("discovery.k8s.io"), STR("v1"),
							      STR("endpointslices"));
	struct selector_term of_service = { .key = STR("kubernetes.io/service-name"),
					    .op = SELECTOR_EQUALS,
					    .values = &q->service,
					    .nvalues = 1 };
	struct list_query slices = { .ns = q->ns, .labels = { &of_service, 1 } };
	struct search s = { .query = q, .prng = prng, .arena = a };

	resource_list(state_resource(st, kind), &slices, a, on_slices, &s);
	if (!s.found)
		return error_set(err, ERR_UNAVAILABLE,
				 "no endpoints available for service \"%.*s\"",
				 STR_ARG(q->service));
	*ret_to = s.to;
	return 0;
}
