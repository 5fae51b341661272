/*
 * Requests are built with libmnl's bounds-checked setters, in a buffer that is far larger than any
 * request with valid names. The buffer is cleared first, so that padding does not leak our memory.
 */
#include "drivers/rtnl/request.h"

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

struct nlmsghdr *rtnl_request_header(struct rtnl_request *q)
{
	return (struct nlmsghdr *)(void *)q->bytes;
}

/* Returns the family's header: `size` zero bytes. */
static void *request_begin(struct rtnl_request *q, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *m;

	*q = (struct rtnl_request){ 0 };
	m = mnl_nlmsg_put_header(q->bytes);
	m->nlmsg_type = type;
	m->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	return mnl_nlmsg_put_extra_header(m, size);
}

static void request_put(struct rtnl_request *q, uint16_t type, const void *data, size_t n)
{
	if (!mnl_attr_put_check(rtnl_request_header(q), sizeof(q->bytes), type, n, data))
		q->too_long = true;
}

static void put_u32(struct rtnl_request *q, uint16_t type, uint32_t value)
{
	request_put(q, type, &value, sizeof(value));
}

static void request_put_text(struct rtnl_request *q, uint16_t type, const char *text)
{
	request_put(q, type, text, strlen(text) + 1);
}

static struct nlattr *nest(struct rtnl_request *q, uint16_t type)
{
	struct nlattr *a = mnl_attr_nest_start_check(rtnl_request_header(q), sizeof(q->bytes),
						     type);

	q->too_long = q->too_long || !a;
	return a;
}

static void end_nest(struct rtnl_request *q, struct nlattr *a)
{
	if (a)
		mnl_attr_nest_end(rtnl_request_header(q), a);
}

/* --- links ------------------------------------------------------------------------------ */

static struct ifinfomsg *begin_link(struct rtnl_request *q, uint16_t type, uint16_t flags,
				    int index)
{
	struct ifinfomsg *i = request_begin(q, type, flags, sizeof(*i));

	i->ifi_family = AF_UNSPEC;
	i->ifi_index = index;
	return i;
}

/* Counters are most of a reply, and not used here. */
static void put_filter(struct rtnl_request *q)
{
	put_u32(q, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
}

void rtnl_request_links(struct rtnl_request *q)
{
	(void)begin_link(q, RTM_GETLINK, NLM_F_DUMP, 0);
	put_filter(q);
}

void rtnl_request_link_by_name(struct rtnl_request *q, const char *name)
{
	(void)begin_link(q, RTM_GETLINK, NLM_F_ACK, 0);
	put_filter(q);
	request_put_text(q, IFLA_IFNAME, name);
}

void rtnl_request_link_by_index(struct rtnl_request *q, int index)
{
	(void)begin_link(q, RTM_GETLINK, NLM_F_ACK, index);
	put_filter(q);
}

static void put_peer(struct rtnl_request *q, const char *name)
{
	struct ifinfomsg zero = { 0 };
	struct nlmsghdr *m = rtnl_request_header(q);
	struct nlattr *peer = nest(q, VETH_INFO_PEER);

	/* The nested attribute begins with its own header, which is not an attribute. */
	if (!peer || m->nlmsg_len + sizeof(zero) > sizeof(q->bytes)) {
		q->too_long = true;
		return;
	}
	memcpy(mnl_nlmsg_get_payload_tail(m), &zero, sizeof(zero));
	m->nlmsg_len += sizeof(zero);
	request_put_text(q, IFLA_IFNAME, name);
	end_nest(q, peer);
}

static void put_info(struct rtnl_request *q, const struct rtnl_new_link *l)
{
	struct nlattr *info = nest(q, IFLA_LINKINFO), *data;

	request_put_text(q, IFLA_INFO_KIND, l->kind);
	data = nest(q, IFLA_INFO_DATA);
	if (strcmp(l->kind, "veth") == 0 && l->peer)
		put_peer(q, l->peer);
	else if (strcmp(l->kind, "macvlan") == 0)
		put_u32(q, IFLA_MACVLAN_MODE,
			l->macvlan_mode ? l->macvlan_mode : MACVLAN_MODE_BRIDGE);
	else if (strcmp(l->kind, "vlan") == 0)
		request_put(q, IFLA_VLAN_ID, &l->vlan, sizeof(l->vlan));
	end_nest(q, data);
	end_nest(q, info);
}

void rtnl_request_link_add(struct rtnl_request *q, const struct rtnl_new_link *l)
{
	(void)begin_link(q, RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, 0);
	request_put_text(q, IFLA_IFNAME, l->name);
	if (l->parent)
		put_u32(q, IFLA_LINK, (uint32_t)l->parent);
	if (l->mtu)
		put_u32(q, IFLA_MTU, l->mtu);
	if (l->mac && l->mac->n)
		request_put(q, IFLA_ADDRESS, l->mac->bytes, l->mac->n);
	if (l->ns_fd >= 0)
		put_u32(q, IFLA_NET_NS_FD, (uint32_t)l->ns_fd);
	put_info(q, l);
}

void rtnl_request_link_delete(struct rtnl_request *q, int index)
{
	(void)begin_link(q, RTM_DELLINK, NLM_F_ACK, index);
}

void rtnl_request_link_change(struct rtnl_request *q, int index, const struct rtnl_change *c)
{
	struct ifinfomsg *i = begin_link(q, RTM_NEWLINK, NLM_F_ACK, index);

	if (c->set_up) {
		i->ifi_change = IFF_UP;
		i->ifi_flags = c->up ? IFF_UP : 0;
	}
	if (c->name)
		request_put_text(q, IFLA_IFNAME, c->name);
	if (c->set_ns)
		put_u32(q, IFLA_NET_NS_FD, (uint32_t)c->ns_fd);
	if (c->set_master)
		put_u32(q, IFLA_MASTER, (uint32_t)c->master);
	if (c->mtu)
		put_u32(q, IFLA_MTU, c->mtu);
	if (c->mac && c->mac->n)
		request_put(q, IFLA_ADDRESS, c->mac->bytes, c->mac->n);
}

void rtnl_request_altname(struct rtnl_request *q, int index, const char *name, bool add)
{
	struct nlattr *list;

	(void)begin_link(q, add ? RTM_NEWLINKPROP : RTM_DELLINKPROP,
			 add ? NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL : NLM_F_ACK, index);
	list = nest(q, IFLA_PROP_LIST);
	request_put_text(q, IFLA_ALT_IFNAME, name);
	end_nest(q, list);
}

/* --- addresses -------------------------------------------------------------------------- */

static size_t ip_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

static void put_ip(struct rtnl_request *q, uint16_t type, const struct rtnl_ip *ip)
{
	request_put(q, type, ip->bytes, ip_bytes(ip->family));
}

void rtnl_request_addresses(struct rtnl_request *q, int index)
{
	struct ifaddrmsg *i = request_begin(q, RTM_GETADDR, NLM_F_DUMP, sizeof(*i));

	i->ifa_index = (uint32_t)index;
}

static void begin_address(struct rtnl_request *q, uint16_t type, uint16_t flags,
			  const struct rtnl_address *a)
{
	struct ifaddrmsg *i = request_begin(q, type, flags, sizeof(*i));

	i->ifa_family = a->ip.family;
	i->ifa_prefixlen = a->ip.prefix;
	i->ifa_scope = a->scope;
	i->ifa_index = (uint32_t)a->index;
	put_ip(q, IFA_LOCAL, &a->ip);
	put_ip(q, IFA_ADDRESS, &a->ip);
}

/* DHCP clients and ifconfig expect it; networks with two addresses have none (RFC 3021). */
static void put_broadcast(struct rtnl_request *q, const struct rtnl_ip *ip)
{
	unsigned char last[4];

	if (ip->family != AF_INET || ip->prefix > 30)
		return;
	for (unsigned i = 0; i < 4; i++) {
		unsigned kept = ip->prefix > 8 * i ? MIN(ip->prefix - 8 * i, 8U) : 0;

		last[i] = (unsigned char)(ip->bytes[i] | 0xffU >> kept);
	}
	request_put(q, IFA_BROADCAST, last, sizeof(last));
}

void rtnl_request_address_add(struct rtnl_request *q, const struct rtnl_address *a)
{
	uint32_t flags = a->flags | (a->ip.family == AF_INET6 ? IFA_F_NODAD : 0);

	begin_address(q, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, a);
	put_broadcast(q, &a->ip);
	put_u32(q, IFA_FLAGS, flags);
}

void rtnl_request_address_delete(struct rtnl_request *q, const struct rtnl_address *a)
{
	begin_address(q, RTM_DELADDR, NLM_F_ACK, a);
}

/* --- routes ----------------------------------------------------------------------------- */

void rtnl_request_routes(struct rtnl_request *q, uint8_t family)
{
	struct rtmsg *t = request_begin(q, RTM_GETROUTE, NLM_F_DUMP, sizeof(*t));

	t->rtm_family = family;
	t->rtm_table = RT_TABLE_MAIN;
}

/* IPv4 through an IPv6-only router (RFC 5549) has its own form. */
static void put_via(struct rtnl_request *q, const struct rtnl_route *t)
{
	unsigned char bytes[sizeof(struct rtvia) + 16];
	struct rtvia via = { .rtvia_family = t->via.family };

	if (t->via.family == t->to.family) {
		put_ip(q, RTA_GATEWAY, &t->via);
		return;
	}
	memcpy(bytes, &via, sizeof(via));
	memcpy(bytes + offsetof(struct rtvia, rtvia_addr), t->via.bytes, 16);
	request_put(q, RTA_VIA, bytes,
		    offsetof(struct rtvia, rtvia_addr) + ip_bytes(t->via.family));
}

void rtnl_request_route_add(struct rtnl_request *q, const struct rtnl_route *t)
{
	struct rtmsg *m = request_begin(q, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
					sizeof(*m));

	m->rtm_family = t->to.family;
	m->rtm_dst_len = t->to.prefix;
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = t->via.family ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	m->rtm_type = RTN_UNICAST;
	if (t->to.prefix)
		put_ip(q, RTA_DST, &t->to);
	if (t->via.family)
		put_via(q, t);
	put_u32(q, RTA_OIF, (uint32_t)t->index);
	if (t->metric)
		put_u32(q, RTA_PRIORITY, t->metric);
}
