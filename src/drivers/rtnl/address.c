/*
 * Addresses and routes. IPv4 and IPv6 addresses come in one list. Routes are listed per family,
 * since a list of all would include multicast and MPLS.
 */
#include "drivers/rtnl/rtnl_impl.h"

#include <errno.h>
#include <libmnl/libmnl.h>

#include "base/core/vec.h"
#include "drivers/drivers_limits.h"
#include "drivers/rtnl/message.h"

/* --- addresses ---------------------------------------------------------------------------- */

struct addresses {
	VEC(struct rtnl_address) list;
	int index; /* kernels before 4.20 list all addresses */
};

static void clear_addresses(void *arg)
{
	((struct addresses *)arg)->list.n = 0;
}

static bool take_address(void *arg, const struct nlmsghdr *m)
{
	struct addresses *z = arg;
	struct rtnl_address a;

	if (!rtnl_message_read_address(m, &a) || (z->index && a.index != z->index))
		return true;
	return vec_push(&z->list, a);
}

int rtnl_addresses(struct rtnl *r, int index, int (*each)(void *arg, const struct rtnl_address *a),
		   void *arg, struct error *err)
{
	struct addresses z = { .index = index };
	struct rtnl_list list = { .clear = clear_addresses, .take = take_address, .arg = &z };
	struct rtnl_request q;
	char label[RTNL_LABEL] = "all interfaces";
	int rc;

	vec_init(&z.list, RTNL_LIST_MAX);
	rtnl_request_addresses(&q, index);
	rc = rtnl_ask_list(r, &q, &list, err);
	if (rc < 0) {
		if (index)
			rtnl_label(r, index, label);
		rc = error_wrap(err, rc, "list addresses of %s", label);
	}
	for (size_t i = 0; i < z.list.n && rc >= 0; i++)
		rc = each(arg, &z.list.v[i]);
	vec_release(&z.list);
	return MIN(rc, 0);
}

static int ask_address(struct rtnl *r, struct rtnl_request *q, const struct rtnl_address *a,
		       const char *verb, struct error *err)
{
	char label[RTNL_LABEL], ip[RTNL_IP_TEXT];
	int rc;

	rc = rtnl_ask(r, q, NULL, NULL, err);
	if (rc >= 0)
		return 0;
	rtnl_label(r, a->index, label);
	rtnl_ip_print(&a->ip, ip);
	return error_wrap(err, rc, "%s address %s of %s", verb, ip, label);
}

int rtnl_address_add(struct rtnl *r, const struct rtnl_address *a, struct error *err)
{
	struct rtnl_request q;

	rtnl_request_address_add(&q, a);
	return ask_address(r, &q, a, "add", err);
}

int rtnl_address_delete(struct rtnl *r, const struct rtnl_address *a, struct error *err)
{
	struct rtnl_request q;
	struct error why;
	int rc;

	err = err ? err : &why;
	rtnl_request_address_delete(&q, a);
	rc = ask_address(r, &q, a, "delete", err);
	/* In other requests it means that an address cannot be assigned, not that it is missing. */
	if (rc >= 0 || err->sys_errno != EADDRNOTAVAIL)
		return rc;
	err->code = ERR_NOT_FOUND;
	return -ERR_NOT_FOUND;
}

/* --- routes ------------------------------------------------------------------------------- */

struct routes {
	VEC(struct rtnl_route) list;
	size_t kept; /* routes of the other family, already listed */
	uint8_t family; /* without IPv6 the kernel lists other families */
};

static void clear_routes(void *arg)
{
	struct routes *z = arg;

	z->list.n = z->kept;
}

static bool take_route(void *arg, const struct nlmsghdr *m)
{
	struct routes *z = arg;
	struct rtnl_route t;

	for (unsigned hop = 0; rtnl_message_read_route(m, hop, &t); hop++)
		if (t.to.family == z->family && !vec_push(&z->list, t))
			return false;
	return true;
}

static int list_routes(struct rtnl *r, struct routes *z, uint8_t family, struct error *err)
{
	struct rtnl_list list = { .clear = clear_routes, .take = take_route, .arg = z };
	struct rtnl_request q;
	int rc;

	z->kept = z->list.n;
	z->family = family;
	rtnl_request_routes(&q, family);
	rc = rtnl_ask_list(r, &q, &list, err);
	/* The kernel creates the table with its first route. */
	return rc == -ERR_NOT_FOUND ? 0 : rc;
}

int rtnl_routes(struct rtnl *r, int (*each)(void *arg, const struct rtnl_route *t), void *arg,
		struct error *err)
{
	struct routes z = { .kept = 0 };
	int rc;

	vec_init(&z.list, RTNL_LIST_MAX);
	rc = list_routes(r, &z, AF_INET, err);
	if (rc >= 0)
		rc = list_routes(r, &z, AF_INET6, err);
	if (rc < 0)
		rc = error_wrap(err, rc, "list routes");
	for (size_t i = 0; i < z.list.n && rc >= 0; i++)
		rc = each(arg, &z.list.v[i]);
	vec_release(&z.list);
	return MIN(rc, 0);
}

int rtnl_route_add(struct rtnl *r, const struct rtnl_route *t, struct error *err)
{
	struct rtnl_request q;
	char label[RTNL_LABEL], to[RTNL_IP_TEXT], via[RTNL_IP_TEXT] = "";
	int rc;

	rtnl_request_route_add(&q, t);
	rc = rtnl_ask(r, &q, NULL, NULL, err);
	if (rc >= 0)
		return 0;
	rtnl_label(r, t->index, label);
	rtnl_ip_print(&t->to, to);
	if (t->via.family)
		rtnl_ip_print_plain(&t->via, via);
	return error_wrap(err, rc, "add route to %s%s%s on %s", to, via[0] ? " via " : "", via,
			  label);
}
