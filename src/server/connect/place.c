/*
 * Finds the destination of a proxied request: from the pod or the node, or from a service's
 * endpoints (connect/service.c). Error texts are upstream's, because kubectl and people match
 * them. Users who may write a node's or a pod's status could otherwise direct the server to any
 * address; reach.h limits that. For a name, its addresses are checked when the server connects.
 */
#include "base/core/buf.h"
#include "net/net_limits.h"
#include "server/connect/connect_impl.h"
#include "server/core/parts.h"
#include "server/reach/kubelets.h"
#include "server/reach/reach.h"
#include "server/verbs/mutation.h"

/* --- objects ---------------------------------------------------------------------- */

int connect_get(struct connect *c, struct state *st, const char *resource, struct str ns,
		struct str name, struct json **ret_tree)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      str_from(resource));
	struct object *o = resource_get(state_resource(st, kind), ns, name);

	if (!o) {
		c->err = (struct error){ .code = ERR_NOT_FOUND };
		return mutation_blame(c->m, kind, name, -ERR_NOT_FOUND);
	}
	return object_tree(o, &c->x->work, ret_tree, &c->err);
}

/* Applies the rule, which is checked again for each address that a name resolves to. */
static int reach(struct connect *c, enum reach_to to)
{
	c->to.rule = reach_rule(c->x->server->reach, to);
	if (!addr_allows(&c->to, &c->to))
		return error_set(&c->err, ERR_BAD_REQUEST, "address not allowed");
	return 0;
}

static int locate_kubelet(struct connect *c, struct state *st, struct str node)
{
	struct json *tree;
	int r = connect_get(c, st, "nodes", STR_NULL, node, &tree);

	if (r == 0)
		r = kubelets_locate(c->x->server->kubelets, tree, &c->to, &c->err);
	c->kubelet = true;
	if (c->x->server->opts.kubelet_names)
		c->kubelet_name = arena_strdup(&c->x->work, node);
	return r < 0 ? r : reach(c, REACH_KUBELET);
}

/* --- containers ------------------------------------------------------------------- */

static const char *const container_lists[] = { "initContainers", "containers",
					       "ephemeralContainers" };

static bool has_container(const struct json *spec, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++)
		if (json_find(json_getz(spec, container_lists[i]), "name", name))
			return true;
	return false;
}

static int must_choose(struct connect *c, const struct json *spec)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(400);

	for (size_t i = 0; i < ARRAY_SIZE(container_lists); i++)
		for (const struct json *k = json_first(json_getz(spec, container_lists[i])); k;
		     k = k->next)
			(void)buf_printf(&names, "%s%.*s", names.n ? " " : "",
					 STR_ARG(json_text_at(k, "name")));
	return error_set(&c->err, ERR_BAD_REQUEST,
			 "a container name must be specified for pod %.*s, choose one of: [%.*s]",
			 STR_ARG(c->x->request.name), STR_ARG(buf_str(&names)));
}

static int choose_container(struct connect *c, const struct json *spec)
{
	const struct json *containers = json_getz(spec, "containers");

	if (!c->query.container.n && json_count(containers) != 1)
		return must_choose(c, spec);
	if (!c->query.container.n)
		c->query.container = json_text_at(json_first(containers), "name");
	else if (!has_container(spec, c->query.container))
		return error_set(&c->err, ERR_BAD_REQUEST,
				 "container %.*s is not valid for pod %.*s",
				 STR_ARG(c->query.container), STR_ARG(c->x->request.name));
	return 0;
}

/* --- the kubelet's paths ---------------------------------------------------------- */

static struct str kubelet_target(const struct connect *c)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(8 * HTTP_TARGET_MAX);
	const struct request *r = &c->x->request;
	bool forward = str_eqz(r->subresource, "portforward");

	(void)buf_addc(&out, '/');
	if (c->log)
		(void)buf_addz(&out, "containerLogs");
	else if (forward)
		(void)buf_addz(&out, "portForward");
	else
		(void)buf_add_str(&out, r->subresource);
	(void)buf_addc(&out, '/');
	connect_escape(&out, r->ns, false);
	(void)buf_addc(&out, '/');
	connect_escape(&out, r->name, false);
	if (!forward) {
		(void)buf_addc(&out, '/');
		connect_escape(&out, c->query.container, false);
	}
	if (c->query.kubelet.n)
		(void)buf_addc(&out, '?');
	(void)buf_add_str(&out, c->query.kubelet);
	return arena_str(&c->x->work, buf_str(&out));
}

static int find_container(struct connect *c, struct state *st)
{
	const struct request *r = &c->x->request;
	const struct json *spec;
	struct json *pod;
	struct str node;
	int ret = connect_get(c, st, "pods", r->ns, r->name, &pod);

	if (ret < 0)
		return ret;
	spec = json_getz(pod, "spec");
	if (!str_eqz(r->subresource, "portforward"))
		ret = choose_container(c, spec);
	if (ret < 0)
		return ret;
	node = json_text_at(spec, "nodeName");
	if (!node.n && c->log) {
		c->nowhere = true;
		return 0;
	}
	if (!node.n)
		return error_set(&c->err, ERR_BAD_REQUEST, "pod %.*s does not have a host assigned",
				 STR_ARG(r->name));
	c->target = kubelet_target(c);
	return locate_kubelet(c, st, node);
}

/* --- proxies ---------------------------------------------------------------------- */

static bool split_id(struct str id, struct proxy_id *ret_id)
{
	struct str parts[4];
	size_t n = 0;

	while (n < ARRAY_SIZE(parts) && str_split(&id, ':', &parts[n]))
		n++;
	if (n == 0 || n > 3)
		return false;
	*ret_id = (struct proxy_id){ .name = parts[n == 3] };
	if (n > 1)
		ret_id->port = parts[n - 1];
	if (n == 3)
		ret_id->scheme = parts[0];
	return ret_id->name.n && (!ret_id->scheme.n || str_eqz(ret_id->scheme, "http") ||
				  str_eqz(ret_id->scheme, "https"));
}

/* The same host with another port. */
static int set_place(struct connect *c, struct str host, const struct proxy_id *id)
{
	bool tls = str_eqz(id->scheme, "https");
	uint64_t port = tls ? 443 : 80;

	c->clear = !tls;
	if ((id->port.n && (!str_to_u64(id->port, &port) || port > UINT16_MAX)) ||
	    kubelets_address(host, (int)port, &c->to, NULL) < 0)
		return error_set(&c->err, ERR_BAD_REQUEST, "address not allowed");
	return 0;
}

static int locate_node(struct connect *c, struct state *st, struct proxy_id *id)
{
	char port[8], host[NET_ADDRESS_MAX];
	int r = locate_kubelet(c, st, id->name);

	if (r < 0)
		return r;
	(void)snprintf(port, sizeof(port), "%u", c->to.port);
	if (!id->port.n || str_eqz(id->port, port))
		return 0;
	c->kubelet = false;
	(void)snprintf(host, sizeof(host), "%s", c->to.host);
	return set_place(c, str_from(host), id);
}

static struct str first_port(const struct json *pod, struct arena *a)
{
	const struct json *k = json_first(json_getz(json_getz(pod, "spec"), "containers"));

	for (; k; k = k->next) {
		int64_t port = json_i64_at(json_first(json_getz(k, "ports")), "containerPort", 0);

		if (port > 0)
			return str_from(arena_printf(a, "%d", (int)port));
	}
	return STR_NULL;
}

static int locate_pod(struct connect *c, struct state *st, struct proxy_id *id)
{
	const struct json *ips;
	struct json *pod;
	int r = connect_get(c, st, "pods", c->x->request.ns, id->name, &pod);

	if (r < 0)
		return r;
	if (!id->port.n)
		id->port = first_port(pod, &c->x->work);
	ips = json_getz(json_getz(pod, "status"), "podIPs");
	r = set_place(c, json_text_at(json_first(ips), "ip"), id);
	if (r == 0 && c->to.kind != ADDR_INET)
		r = error_set(&c->err, ERR_BAD_REQUEST, "address not allowed");
	return r;
}

static const struct proxy {
	const char *resource, *singular;
	enum reach_to reach;
	int (*locate)(struct connect *c, struct state *st, struct proxy_id *id);
} proxies[] = {
	{ "nodes", "node", REACH_NODE, locate_node },
	{ "pods", "pod", REACH_PROXY, locate_pod },
	{ "services", "service", REACH_PROXY, connect_locate_service },
};

static int find_proxy(struct connect *c, struct state *st)
{
	const struct request *r = &c->x->request;
	const struct http_head *in = &c->x->stream->in;
	const struct proxy *p = proxies;
	struct proxy_id id;
	int ret;

	while (p < proxies + ARRAY_SIZE(proxies) - 1 && !str_eqz(r->resource, p->resource))
		p++;
	if (!split_id(r->name, &id))
		return error_set(&c->err, ERR_BAD_REQUEST, "invalid %s request \"%.*s\"",
				 p->singular, STR_ARG(r->name));
	c->target = str_from(arena_printf(&c->x->work, "%.*s%s%.*s",
					  STR_ARG(c->tail.n ? c->tail : STR("/")),
					  in->query.n ? "?" : "", STR_ARG(in->query)));
	ret = p->locate(c, st, &id);
	return ret < 0 ? ret : reach(c, p->reach);
}

int connect_find(struct connect *c, struct state *st)
{
	return c->proxy ? find_proxy(c, st) : find_container(c, st);
}
