/*
 * A service's endpoints are listed from committed, which is at hand: the list is made while it is
 * asked for. Services without a cluster IP are rare behind webhooks.
 */
#include "server/webhook_target.h"

#include "base/random.h"
#include "server/state.h"
#include "server/webhook_config.h"

/* An endpoint was looked for, and perhaps found. */
struct search {
	struct str port_name; /* of the service's port */
	struct arena *arena;
	struct prng *prng;
	struct addr *to;
	bool found;
};

static int parse(struct str host, int64_t port, struct arena *a, struct addr *ret_to,
		 struct error *err)
{
	bool six = str_chr(host, ':') >= 0;
	const char *text = arena_printf(a, six ? "[%.*s]:%lld" : "%.*s:%lld", STR_ARG(host),
					(long long)port);

	return addr_parse(ret_to, str_from(text), 0, err);
}

static const struct json *find_port(const struct json *ports, uint16_t port)
{
	JSON_FOREACH (it, ports)
		if (json_i64_at(it, "port", 0) == port)
			return it;
	return NULL;
}

/* --- endpoints -------------------------------------------------------------------- */

static bool is_ready(const struct json *endpoint)
{
	bool ready = true;

	(void)json_bool(json_getz(json_getz(endpoint, "conditions"), "ready"), &ready);
	return ready && json_count(json_getz(endpoint, "addresses"));
}

/* One that is ready, beginning anywhere. */
static struct str pick_endpoint(const struct json *endpoints, struct prng *prng)
{
	size_t n = json_count(endpoints);
	size_t at = n ? (size_t)prng_below(prng, n) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct json *endpoint = json_at(endpoints, (at + i) % n);

		if (is_ready(endpoint))
			return json_str(json_at(json_getz(endpoint, "addresses"), 0));
	}
	return STR_NULL;
}

static void look_into(struct search *s, const struct json *slice)
{
	JSON_FOREACH (port, json_getz(slice, "ports")) {
		int64_t number = json_i64_at(port, "port", 0);
		struct str host;

		if (!number || !str_eq(json_text_at(port, "name"), s->port_name))
			continue;
		host = pick_endpoint(json_getz(slice, "endpoints"), s->prng);
		if (host.n && parse(host, number, s->arena, s->to, NULL) == 0)
			s->found = true;
		return;
	}
}

static void on_slices(void *arg, const struct list_result *list, const struct error *err)
{
	struct search *s = arg;

	for (size_t i = 0; !err && i < list->n && !s->found; i++) {
		struct json *slice;

		if (object_tree(list->items[i], s->arena, &slice, NULL) == 0)
			look_into(s, slice);
	}
}

static int find_endpoint(struct state *st, const struct webhook *h, struct search *s,
			 struct error *err)
{
	const struct schema_kind *kind = schema_find_resource(STR("discovery.k8s.io"), STR("v1"),
							      STR("endpointslices"));
	struct list_query q = { .ns = h->service_ns };
	const char *text = arena_printf(s->arena, "kubernetes.io/service-name=%.*s",
					STR_ARG(h->service));

	if (selector_parse_labels(s->arena, str_from(text), &q.labels, NULL) == 0)
		resource_list(state_resource(st, kind), &q, s->arena, on_slices, s);
	if (s->found)
		return 0;
	return error_set(err, ERR_UNAVAILABLE, "no endpoints available for service \"%.*s\"",
			 STR_ARG(h->service));
}

/* --- services --------------------------------------------------------------------- */

int webhook_target(struct state *st, const struct webhook *h, struct prng *prng, struct arena *a,
		   struct addr *ret_to, struct error *err)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("services"));
	struct search s = { .arena = a, .prng = prng, .to = ret_to };
	struct object *o;
	struct json *tree, *spec;
	const struct json *port;
	struct str ip;

	if (h->unusable.code) {
		*err = h->unusable;
		return -(int)err->code;
	}
	*ret_to = h->to;
	if (!h->service.n)
		return 0;
	o = resource_get(state_resource(st, kind), h->service_ns, h->service);
	if (!o || object_tree(o, a, &tree, NULL) < 0)
		return error_set(err, ERR_UNAVAILABLE, "service \"%.*s\" not found",
				 STR_ARG(h->service));
	spec = json_getz(tree, "spec");
	if (str_eqz(json_text_at(spec, "type"), "ExternalName"))
		return parse(json_text_at(spec, "externalName"), h->port, a, ret_to, err);
	port = find_port(json_getz(spec, "ports"), h->port);
	if (!port)
		return error_set(err, ERR_UNAVAILABLE,
				 "no service port %u found for service \"%.*s\"", h->port,
				 STR_ARG(h->service));
	ip = json_text_at(spec, "clusterIP");
	if (ip.n && !str_eqz(ip, "None"))
		return parse(ip, h->port, a, ret_to, err);
	s.port_name = json_text_at(port, "name");
	return find_endpoint(st, h, &s, err);
}
