/*
 * Node ports. A try takes the ports that it had before; the set is final when all are chosen. If
 * several servers share the store, the ports are then locked in the common record. If a try loses
 * a port there, an update is decided again. A creation stays as decided, except for the lost
 * ports.
 */
#include <stdlib.h>

#include "api/services/service.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "server/core/parts.h"
#include "server/services/admit_impl.h"

enum {
	HEALTH_PLACE = 0, /* the place of the health check port; then come those of the ports */
	PORTS_PLACE = 1,
};

/* --- waiting for the record ----------------------------------------------------------------- */

static void on_ports(struct port_lock *l, const struct error *err)
{
	struct held *h = l->arg;

	h->locking_ports = false;
	if (err)
		h->err = *err;
	else
		write_ports_locked(&h->ports, &l->wanted);
	held_close(h);
}

static void lock_ports(struct held *h, const struct port_set *ports)
{
	struct admission_request *req = h->req;

	if (!h->port_lock)
		h->port_lock = ARENA_NEW(req->work, struct port_lock);
	*h->port_lock = (struct port_lock){
		.wanted = *ports,
		.deadline_ns = req->deadline_ns,
		.done = on_ports,
		.arg = h,
	};
	h->locking_ports = true;
	h->open++;
	services_lock_ports(h->services, h->port_lock);
}

/*
 * Before a rejection: the record may still have a port (0: any) that was released. Waits once for
 * that. Returns 0 if there is nothing to wait for.
 */
static int wait_for_port(struct held *h, int64_t port, struct error *err)
{
	if (h->err.code != ERR_OK)
		return error_copy(err, &h->err);
	/*
	 * A rejection that is not current waits for the writes of other servers, and comes here
	 * again.
	 */
	if (h->waited_for_port || h->locking_ports || !admission_is_current(h->req) ||
	    !services_is_port_left(h->services, port))
		return 0;
	h->waited_for_port = true;
	lock_ports(h, &(struct port_set){ 0 });
	if (!h->open)
		return 0;
	h->parked = true;
	return admission_park(h->req, err);
}

/* --- choosing ------------------------------------------------------------------------------- */

/*
 * One try to choose the node ports of a service. A body may have many ports: each is visited
 * once.
 */
struct choosing {
	struct held *held;
	const struct json *before; /* spec; NULL: the service is new */
	struct json *spec;
	struct port_set had; /* node ports that it already has */
	/*
	 * For a new service, by port: its node port, either the first requested one or the chosen
	 * one.
	 */
	uint16_t wanted[PORT_SET_MAX + 1];
	struct port_set got; /* ports that have a node port */
};

static int64_t number_of(const struct json *port)
{
	return json_i64_at(port, "port", 0);
}

static int64_t node_port_of(const struct json *port)
{
	return json_i64_at(port, "nodePort", 0);
}

static struct choosing *choosing_new(struct held *h, const struct json *before, struct json *spec)
{
	struct choosing *c = xcalloc(1, sizeof(*c));

	c->held = h;
	c->before = before;
	c->spec = spec;
	JSON_FOREACH (port, json_getz(before, "ports"))
		port_set_add(&c->had, node_port_of(port));
	JSON_FOREACH (port, json_getz(spec, "ports"))
		if (!before && port_set_takes(number_of(port)) &&
		    port_set_takes(node_port_of(port)) && !c->wanted[number_of(port)])
			c->wanted[number_of(port)] = (uint16_t)node_port_of(port);
	return c;
}

/*
 * Ports with the same number but different protocols may share a node port. In a new service only
 * ports of the same number may share; in a changed service any of its ports may.
 */
static bool may_share(const struct choosing *c, const struct json *port, int64_t node_port)
{
	int64_t number = number_of(port);

	return write_ports_uses(&c->held->ports, node_port) &&
	       (c->before || (port_set_has(&c->got, number) && c->wanted[number] == node_port));
}

static int choose_port(struct choosing *c, struct json *port, size_t place)
{
	struct write_ports *ports = &c->held->ports;
	int64_t number = number_of(port), node_port = node_port_of(port);

	if (!node_port && !service_wants_ports(c->spec))
		return 0;
	if (!node_port && !c->before && port_set_takes(number))
		node_port = c->wanted[number];
	if (!node_port) {
		node_port = write_ports_take_any(ports, place);
		if (!node_port)
			return -ERR_INTERNAL;
	} else if (!port_set_has(&c->had, node_port) && !may_share(c, port, node_port) &&
		   !write_ports_take(ports, node_port)) {
		return -ERR_INVALID;
	}
	if (port_set_takes(number) && !port_set_has(&c->got, number)) {
		c->wanted[number] = (uint16_t)node_port;
		port_set_add(&c->got, number);
	}
	json_put_i64(c->held->req->write->arena, port, "nodePort", node_port);
	return 0;
}

static int refuse_health_port(struct held *h, int64_t port, struct error *err)
{
	bool has = services_has_port(h->services, port);
	int r = wait_for_port(h, port, err);

	if (r < 0)
		return r;
	if (!port)
		return error_set(err, ERR_INTERNAL,
				 "failed to allocate a HealthCheck NodePort 0: range is full");
	return error_set(err, ERR_INTERNAL,
			 "failed to allocate requested HealthCheck NodePort %lld: %s%s",
			 (long long)port,
			 has ? "provided port is already allocated"
			     : "provided port is not in the valid range. The range of valid ports "
			       "is ",
			 has ? "" : services_ports_text(h->services));
}

static int choose_health_port(struct held *h, const struct json *before, struct json *spec,
			      struct error *err)
{
	int64_t port = json_i64_at(spec, "healthCheckNodePort", 0);

	if (!service_wants_health_port(spec) || service_wants_health_port(before))
		return 0;
	if (!port) {
		port = write_ports_take_any(&h->ports, HEALTH_PLACE);
		if (!port)
			return refuse_health_port(h, 0, err);
	} else if (!write_ports_take(&h->ports, port)) {
		return refuse_health_port(h, port, err);
	}
	json_put_i64(h->req->write->arena, spec, "healthCheckNodePort", port);
	return 0;
}

static int refuse_port(struct admission_request *req, size_t i, int64_t port, struct error *err)
{
	const struct services *sv = req->server->services;
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path list = field_path_name(&spec_at, "ports");
	struct field_path item = field_path_index(&list, i);
	struct field_path at = field_path_name(&item, "nodePort");

	if (services_has_port(sv, port))
		field_errors_invalid(&req->write->errs, &at, FIELD_I64(port),
				     "provided port is already allocated");
	else
		field_errors_addf(&req->write->errs, FIELD_INVALID, &at, FIELD_I64(port),
				  "provided port is not in the valid range. The range of valid "
				  "ports is %s",
				  services_ports_text(sv));
	return held_refuse(err);
}

/* Rejects the i-th port: its node port is not available; 0: none is. */
static int refuse_node_port(struct held *h, size_t i, int64_t node_port, struct error *err)
{
	int r = wait_for_port(h, node_port, err);

	if (r < 0)
		return r;
	if (node_port)
		return refuse_port(h->req, i, node_port, err);
	return error_set(err, ERR_INTERNAL, "failed to allocate a nodePort: range is full");
}

static int choose_each(struct choosing *c, struct error *err)
{
	size_t i = 0;

	JSON_FOREACH (port, json_getz(c->spec, "ports")) {
		int r = choose_port(c, port, PORTS_PLACE + i);

		if (r < 0)
			return refuse_node_port(c->held, i,
						r == -ERR_INVALID ? node_port_of(port) : 0, err);
		i++;
	}
	return 0;
}

int held_choose_ports(struct held *h, const struct json *old, struct json *service,
		      struct error *err)
{
	struct json *spec = json_getz(service, "spec");
	const struct json *before = json_getz(old, "spec");
	int r = 0;

	write_ports_begin(&h->ports, PORTS_PLACE + json_count(json_getz(spec, "ports")));
	if (service_has_ports(spec)) {
		struct choosing *c = choosing_new(h, before, spec);

		r = choose_each(c, err);
		free(c);
	}
	if (r == 0)
		r = choose_health_port(h, before, spec, err);
	write_ports_settle(&h->ports);
	return r;
}

/* --- locking -------------------------------------------------------------------------------- */

/*
 * While it waits, a creation stays as it was decided. Its lost ports are replaced, unless the
 * client requested them.
 */
struct replacing {
	struct held *held;
	struct json *spec;
	uint16_t others[PORT_SET_MAX + 1]; /* by number: the replacement of a lost port */
};

/*
 * Returns false if the port was chosen for this place and no other is free. A requested one may
 * be free again.
 */
static bool find_other(struct replacing *r, size_t place, int64_t port)
{
	struct write_ports *ports = &r->held->ports;

	if (!port_set_has(&ports->lost, port) || r->others[port])
		return true;
	if (write_ports_chose(ports, place, port)) {
		r->others[port] = (uint16_t)write_ports_take_any(ports, place);
		return r->others[port] != 0;
	}
	if (write_ports_take(ports, port))
		r->others[port] = (uint16_t)port;
	return true;
}

static void put_other_port(struct replacing *r, struct json *at, const char *name)
{
	int64_t lost = json_i64_at(at, name, 0);

	if (port_set_takes(lost) && r->others[lost])
		json_put_i64(r->held->req->write->arena, at, name, r->others[lost]);
}

/* A replaced port is no longer lost. Returns false if there are not enough free ports. */
static bool replace_ports(struct replacing *r)
{
	struct json *ports = json_getz(r->spec, "ports");
	bool enough = find_other(r, HEALTH_PLACE, json_i64_at(r->spec, "healthCheckNodePort", 0));
	size_t place = PORTS_PLACE;

	JSON_FOREACH (port, ports)
		enough = enough && find_other(r, place++, node_port_of(port));
	JSON_FOREACH (port, ports)
		put_other_port(r, port, "nodePort");
	put_other_port(r, r->spec, "healthCheckNodePort");
	PORT_SET_FOREACH (port, &r->held->ports.lost)
		if (r->others[port])
			port_set_remove(&r->held->ports.lost, port);
	return enough;
}

/* Rejects requested ports that were lost. */
static int refuse_lost(struct held *h, const struct json *spec, struct error *err)
{
	int64_t health = json_i64_at(spec, "healthCheckNodePort", 0);
	size_t i = 0;

	JSON_FOREACH (port, json_getz(spec, "ports")) {
		if (port_set_has(&h->ports.lost, node_port_of(port)))
			return refuse_node_port(h, i, node_port_of(port), err);
		i++;
	}
	return port_set_has(&h->ports.lost, health) ? refuse_health_port(h, health, err) : 0;
}

static int replace_lost_ports(struct held *h, struct json *service, struct error *err)
{
	struct replacing *r = xcalloc(1, sizeof(*r));
	bool enough;

	r->held = h;
	r->spec = json_getz(service, "spec");
	enough = replace_ports(r);
	free(r);
	return enough ? refuse_lost(h, json_getz(service, "spec"), err)
		      : refuse_node_port(h, 0, 0, err);
}

int held_lock_ports(struct held *h, struct json *service, struct error *err)
{
	struct port_set ports;
	int r;

	if (h->locking_ports || h->err.code != ERR_OK || !services_locks_ports(h->services))
		return 0;
	ports = write_ports_to_lock(&h->ports);
	if (!port_set_empty(&h->ports.lost)) {
		r = replace_lost_ports(h, service, err);
		if (r < 0)
			return r;
		ports = write_ports_to_lock(&h->ports);
	}
	if (!port_set_empty(&ports))
		lock_ports(h, &ports);
	return 0;
}
