/*
 * services/proxy: picks one of the service's endpoints. It must be a pod in the same namespace,
 * and the pod itself must have the address: otherwise writers of EndpointSlices could direct the
 * server to any address. A numeric port is a port of the service. It is mapped to its name, which
 * is often empty, and slices map the name to the number that the pods listen on.
 */
#include "base/json/cursor.h"
#include "server/connect/connect_impl.h"
#include "server/core/parts.h"
#include "server/reach/endpoints.h"
#include "server/services/services.h"
#include "server/verbs/mutation.h"

struct pods {
	const struct schema_kind *kind;
	struct resource *all;
	struct str ns;
};

/* Whether status.podIPs has the address; reads the text, because many pods may be checked. */
static bool has_ip(const struct object *pod, struct str ip)
{
	struct json_cursor c = json_cursor_compact(object_from_status(pod));
	enum json_cursor_type type;
	bool found = false;
	struct str raw;

	if (!json_cursor_find(&c, STR("podIPs")) || !json_cursor_enter(&c, '['))
		return false;
	while (!found && json_cursor_element(&c) && json_cursor_value(&c, &raw, &type)) {
		struct json_cursor one = json_cursor_of(raw);

		found = type == JSON_CURSOR_NESTED && json_cursor_find(&one, STR("ip")) &&
			json_cursor_value(&one, &raw, &type) &&
			str_eq(json_cursor_text(raw, type, NULL), ip);
	}
	return found;
}

static bool is_pod(void *arg, const struct json *endpoint, const struct addr *to)
{
	const struct pods *pods = arg;
	const struct json *ref = json_getz(endpoint, "targetRef");
	struct str ip = json_str(json_first(json_getz(endpoint, "addresses")));
	struct object_source pod = { .kind = pods->kind };

	if (!str_eq(json_text_at(ref, "namespace"), pods->ns) || to->kind != ADDR_INET ||
	    !addr_is_global(to))
		return false;
	pod.object = resource_get(pods->all, pods->ns, json_text_at(ref, "name"));
	if (!pod.object)
		return false;
	return str_eq(object_field(&pod, STR("status.podIP")), ip) || has_ip(pod.object, ip);
}

/* Converts a number to the name of the service's port. Any other text is a name already. */
static int name_port(struct connect *c, struct state *st, struct proxy_id *id)
{
	struct json *service;
	int64_t number;
	int r;

	if (request_read_i64(id->port, &number, NULL) < 0)
		return 0;
	r = connect_get(c, st, "services", c->x->request.ns, id->name, &service);
	if (r < 0)
		return r;
	JSON_FOREACH (port, json_getz(json_getz(service, "spec"), "ports")) {
		if (json_i64_at(port, "port", 0) != number)
			continue;
		id->port = json_text_at(port, "name");
		return 0;
	}
	return error_set(&c->err, ERR_UNAVAILABLE,
			 "no service port %lld found for service \"%.*s\"", (long long)number,
			 STR_ARG(id->name));
}

int connect_locate_service(struct connect *c, struct state *st, struct proxy_id *id)
{
	const struct service_families *families = services_families(c->x->server->services);
	struct pods pods = { .kind = schema_find_resource(STR(""), STR("v1"), STR("pods")),
			     .ns = c->x->request.ns };
	struct endpoints_query q = { .ns = pods.ns,
				     .service = id->name,
				     .family = families->first6 ? STR("IPv6") : STR("IPv4"),
				     .accepts = is_pod,
				     .arg = &pods };
	int r = name_port(c, st, id);

	pods.all = state_resource(st, pods.kind);
	q.port = id->port;
	c->clear = !str_eqz(id->scheme, "https");
	if (r == 0)
		r = endpoints_pick(st, &q, c->m->write.prng, &c->x->work, &c->to, &c->err);
	c->nobody = r == -ERR_UNAVAILABLE;
	return r;
}
