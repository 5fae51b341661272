/*
 * Webhook services without a cluster IP are rare: their endpoints are searched.
 */
#include "server/webhooks/target.h"

#include "server/engine/state.h"
#include "server/reach/endpoints.h"
#include "server/webhooks/config.h"

static int target_parse(struct str host, int64_t port, struct arena *a, struct addr *ret_to,
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

int webhook_target(struct state *st, const struct webhook *h, struct prng *prng, struct arena *a,
		   struct addr *ret_to, struct error *err)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("services"));
	struct endpoints_query q = { .ns = h->service_ns, .service = h->service };
	struct object *o;
	struct json *tree, *spec;
	const struct json *port;
	struct str ip;

	if (h->unusable.code)
		return error_copy(err, &h->unusable);
	*ret_to = h->to;
	if (!h->service.n)
		return 0;
	o = resource_get(state_resource(st, kind), h->service_ns, h->service);
	if (!o || object_tree(o, a, &tree, NULL) < 0)
		return error_set(err, ERR_UNAVAILABLE, "service \"%.*s\" not found",
				 STR_ARG(h->service));
	spec = json_getz(tree, "spec");
	if (str_eqz(json_text_at(spec, "type"), "ExternalName"))
		return target_parse(json_text_at(spec, "externalName"), h->port, a, ret_to, err);
	port = find_port(json_getz(spec, "ports"), h->port);
	if (!port)
		return error_set(err, ERR_UNAVAILABLE,
				 "no service port %u found for service \"%.*s\"", h->port,
				 STR_ARG(h->service));
	ip = json_text_at(spec, "clusterIP");
	if (ip.n && !str_eqz(ip, "None"))
		return target_parse(ip, h->port, a, ret_to, err);
	q.port = json_text_at(port, "name");
	q.family = json_str(json_first(json_getz(spec, "ipFamilies")));
	return endpoints_pick(st, &q, prng, a, ret_to, err);
}
