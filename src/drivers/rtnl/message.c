/*
 * Messages have a fixed header and attributes, some of which contain attributes again. Each level
 * is sorted into a table by type; then each field is read if its attribute has the right size.
 *
 * libmnl's macros for whole messages round the length up to four bytes, and could read beyond the
 * end of a truncated one. So only its iterators over an exact number of bytes are used here.
 */
#include "drivers/rtnl/message.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "base/core/compiler.h"

const struct nlmsghdr *rtnl_message_next(struct str *rest)
{
	const struct nlmsghdr *m = (const void *)rest->p;

	/* mnl_nlmsg_ok() would take a length beyond INT_MAX for a negative one, and accept it. */
	if (rest->n < sizeof(*m) || m->nlmsg_len < sizeof(*m) || m->nlmsg_len > rest->n)
		return NULL;
	*rest = str_skip(*rest, MNL_ALIGN((size_t)m->nlmsg_len));
	return m;
}

static size_t payload_size(const struct nlmsghdr *m)
{
	return m->nlmsg_len - MNL_NLMSG_HDRLEN;
}

/* Sorts the attributes by type; the last one of a type wins. Types from `max` on are ignored. */
static void sort(const void *p, size_t n, const struct nlattr **tb, unsigned max)
{
	const struct nlattr *attr;

	mnl_attr_for_each_payload(p, n)
	{
		unsigned type = mnl_attr_get_type(attr);

		if (type < max)
			tb[type] = attr;
	}
}

/*
 * The same for a whole message, after a header of `size` bytes. Returns false if that is missing.
 */
static bool sort_message(const struct nlmsghdr *m, size_t size, const struct nlattr **tb,
			 unsigned max)
{
	size_t at = MNL_ALIGN(size);

	if (payload_size(m) < size)
		return false;
	if (payload_size(m) > at)
		sort((const char *)mnl_nlmsg_get_payload(m) + at, payload_size(m) - at, tb, max);
	return true;
}

static void sort_nested(const struct nlattr *a, const struct nlattr **tb, unsigned max)
{
	if (a)
		sort(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a), tb, max);
}

/* Copies exactly n bytes. Returns false, and copies nothing, if it is missing or shorter. */
static bool message_get(const struct nlattr *a, void *out, size_t n)
{
	if (!a || mnl_attr_get_payload_len(a) < n)
		return false;
	memcpy(out, mnl_attr_get_payload(a), n);
	return true;
}

static uint32_t get_u32(const struct nlattr *a, uint32_t otherwise)
{
	uint32_t v = otherwise;

	(void)message_get(a, &v, sizeof(v));
	return v;
}

static uint8_t get_u8(const struct nlattr *a, uint8_t otherwise)
{
	uint8_t v = otherwise;

	(void)message_get(a, &v, sizeof(v));
	return v;
}

/* Cut at `size`; empty if missing. */
static void get_text(const struct nlattr *a, char *out, size_t size)
{
	size_t n = a ? strnlen(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a)) : 0;

	n = MIN(n, size - 1);
	if (n)
		memcpy(out, mnl_attr_get_payload(a), n);
	out[n] = '\0';
}

/* --- links ------------------------------------------------------------------------------ */

static void get_mac(const struct nlattr *a, struct rtnl_mac *mac)
{
	size_t n = a ? mnl_attr_get_payload_len(a) : 0;

	mac->n = n <= RTNL_MAC ? (unsigned)n : 0;
	if (mac->n)
		memcpy(mac->bytes, mnl_attr_get_payload(a), mac->n);
}

static void get_info(const struct nlattr *a, struct rtnl_link *l)
{
	const struct nlattr *info[IFLA_INFO_DATA + 1] = { 0 };
	const struct nlattr *data[IFLA_VLAN_ID + 1] = { 0 };

	sort_nested(a, info, ARRAY_SIZE(info));
	get_text(info[IFLA_INFO_KIND], l->kind, sizeof(l->kind));
	if (strcmp(l->kind, "vlan") != 0)
		return;
	sort_nested(info[IFLA_INFO_DATA], data, ARRAY_SIZE(data));
	(void)message_get(data[IFLA_VLAN_ID], &l->vlan, sizeof(l->vlan));
}

static bool has_carrier(unsigned flags, const struct nlattr **tb)
{
	uint8_t state = get_u8(tb[IFLA_OPERSTATE], IF_OPER_UNKNOWN);

	return (flags & IFF_LOWER_UP) && get_u8(tb[IFLA_CARRIER], 1) &&
	       (state == IF_OPER_UP || state == IF_OPER_UNKNOWN);
}

bool rtnl_message_read_link(const struct nlmsghdr *m, struct rtnl_link *ret_link)
{
	const struct nlattr *tb[IFLA_PERM_ADDRESS + 1] = { 0 };
	struct rtnl_link l = { 0 };
	struct ifinfomsg i;

	if (m->nlmsg_type != RTM_NEWLINK && m->nlmsg_type != RTM_DELLINK)
		return false;
	if (!sort_message(m, sizeof(i), tb, ARRAY_SIZE(tb)))
		return false;
	memcpy(&i, mnl_nlmsg_get_payload(m), sizeof(i));
	get_text(tb[IFLA_IFNAME], l.name, sizeof(l.name));
	if (i.ifi_family != AF_UNSPEC || i.ifi_index <= 0 || l.name[0] == '\0')
		return false;
	l.index = i.ifi_index;
	l.up = i.ifi_flags & IFF_UP;
	l.running = l.up && has_carrier(i.ifi_flags, tb);
	l.loopback = i.ifi_flags & IFF_LOOPBACK;
	l.mtu = get_u32(tb[IFLA_MTU], 0);
	l.parent = (int)get_u32(tb[IFLA_LINK], 0);
	l.parent_nsid = (int)get_u32(tb[IFLA_LINK_NETNSID], (uint32_t)-1);
	l.master = (int)get_u32(tb[IFLA_MASTER], 0);
	get_mac(tb[IFLA_ADDRESS], &l.mac);
	get_mac(tb[IFLA_PERM_ADDRESS], &l.permanent);
	get_info(tb[IFLA_LINKINFO], &l);
	*ret_link = l;
	return true;
}

void rtnl_message_altnames(const struct nlmsghdr *m, void (*each)(void *arg, struct str name),
			   void *arg)
{
	const struct nlattr *tb[IFLA_PROP_LIST + 1] = { 0 };
	const struct nlattr *list, *attr;

	if ((m->nlmsg_type != RTM_NEWLINK && m->nlmsg_type != RTM_DELLINK) ||
	    !sort_message(m, sizeof(struct ifinfomsg), tb, ARRAY_SIZE(tb)))
		return;
	list = tb[IFLA_PROP_LIST];
	if (!list)
		return;
	mnl_attr_for_each_payload(mnl_attr_get_payload(list), mnl_attr_get_payload_len(list))
	{
		const char *text = mnl_attr_get_payload(attr);

		if (mnl_attr_get_type(attr) == IFLA_ALT_IFNAME)
			each(arg, str_of(text, strnlen(text, mnl_attr_get_payload_len(attr))));
	}
}

/* --- addresses -------------------------------------------------------------------------- */

static size_t ip_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

static bool is_ip(uint8_t family, unsigned prefix)
{
	return (family == AF_INET || family == AF_INET6) && prefix <= 8 * ip_bytes(family);
}

bool rtnl_message_read_address(const struct nlmsghdr *m, struct rtnl_address *ret_address)
{
	const struct nlattr *tb[IFA_FLAGS + 1] = { 0 };
	struct rtnl_address a = { 0 };
	struct ifaddrmsg i;
	size_t n;

	if (m->nlmsg_type != RTM_NEWADDR && m->nlmsg_type != RTM_DELADDR)
		return false;
	if (!sort_message(m, sizeof(i), tb, ARRAY_SIZE(tb)))
		return false;
	memcpy(&i, mnl_nlmsg_get_payload(m), sizeof(i));
	if (!is_ip(i.ifa_family, i.ifa_prefixlen))
		return false;
	n = ip_bytes(i.ifa_family);
	/* On a point-to-point link IFA_ADDRESS is the peer's address; ours is IFA_LOCAL. */
	if (!message_get(tb[IFA_LOCAL], a.ip.bytes, n) &&
	    !message_get(tb[IFA_ADDRESS], a.ip.bytes, n))
		return false;
	a.index = (int)i.ifa_index;
	a.ip.family = i.ifa_family;
	a.ip.prefix = i.ifa_prefixlen;
	a.scope = i.ifa_scope;
	a.flags = get_u32(tb[IFA_FLAGS], i.ifa_flags);
	*ret_address = a;
	return true;
}

/* --- routes ----------------------------------------------------------------------------- */

static void set_via(struct rtnl_ip *via, uint8_t family)
{
	via->family = family;
	via->prefix = (uint8_t)(8 * ip_bytes(family));
}

static void get_via(const struct nlattr **tb, uint8_t family, struct rtnl_ip *via)
{
	const struct nlattr *other = tb[RTA_VIA];
	struct rtvia v;
	size_t n = other ? mnl_attr_get_payload_len(other) : 0;

	if (message_get(tb[RTA_GATEWAY], via->bytes, ip_bytes(family))) {
		set_via(via, family);
		return;
	}
	if (!message_get(other, &v, sizeof(v)) || !is_ip((uint8_t)v.rtvia_family, 0) ||
	    n < sizeof(v) + ip_bytes((uint8_t)v.rtvia_family))
		return;
	memcpy(via->bytes, (const char *)mnl_attr_get_payload(other) + sizeof(v),
	       ip_bytes((uint8_t)v.rtvia_family));
	set_via(via, (uint8_t)v.rtvia_family);
}

/* The link and router of the given hop, for a route with several. */
static bool get_hop(const struct nlattr *a, unsigned hop, struct rtnl_route *t)
{
	const char *p = mnl_attr_get_payload(a);
	size_t left = mnl_attr_get_payload_len(a);
	const struct nlattr *tb[RTA_VIA + 1] = { 0 };
	struct rtnexthop h;

	for (;; hop--) {
		size_t size;

		if (left < sizeof(h))
			return false;
		memcpy(&h, p, sizeof(h));
		if (h.rtnh_len < sizeof(h) || h.rtnh_len > left)
			return false;
		if (hop == 0)
			break;
		size = MIN(MNL_ALIGN((size_t)h.rtnh_len), left);
		p += size;
		left -= size;
	}
	sort(p + sizeof(h), h.rtnh_len - sizeof(h), tb, ARRAY_SIZE(tb));
	t->index = h.rtnh_ifindex;
	get_via(tb, t->to.family, &t->via);
	return true;
}

bool rtnl_message_read_route(const struct nlmsghdr *m, unsigned hop, struct rtnl_route *ret_route)
{
	const struct nlattr *tb[RTA_VIA + 1] = { 0 };
	struct rtnl_route t = { 0 };
	struct rtmsg i;

	if (m->nlmsg_type != RTM_NEWROUTE || !sort_message(m, sizeof(i), tb, ARRAY_SIZE(tb)))
		return false;
	memcpy(&i, mnl_nlmsg_get_payload(m), sizeof(i));
	if (!is_ip(i.rtm_family, i.rtm_dst_len) || i.rtm_type != RTN_UNICAST ||
	    (i.rtm_flags & RTM_F_CLONED) || get_u32(tb[RTA_TABLE], i.rtm_table) != RT_TABLE_MAIN)
		return false;
	t.to.family = i.rtm_family;
	t.to.prefix = i.rtm_dst_len;
	if (i.rtm_dst_len && !message_get(tb[RTA_DST], t.to.bytes, ip_bytes(i.rtm_family)))
		return false;
	t.metric = get_u32(tb[RTA_PRIORITY], 0);
	if (tb[RTA_MULTIPATH]) {
		if (!get_hop(tb[RTA_MULTIPATH], hop, &t))
			return false;
	} else if (hop > 0) {
		return false;
	} else {
		t.index = (int)get_u32(tb[RTA_OIF], 0);
		get_via(tb, i.rtm_family, &t.via);
	}
	*ret_route = t;
	return true;
}

/* --- verdicts ---------------------------------------------------------------------------- */

/* Where the extended part begins: after the repeated request, unless that was cut. */
static size_t after_request(const struct nlmsghdr *m)
{
	struct nlmsgerr e;

	memcpy(&e, mnl_nlmsg_get_payload(m), sizeof(e));
	if ((m->nlmsg_flags & NLM_F_CAPPED) || e.msg.nlmsg_len < MNL_NLMSG_HDRLEN)
		return sizeof(e);
	return sizeof(e) + MNL_ALIGN((size_t)e.msg.nlmsg_len) - MNL_NLMSG_HDRLEN;
}

bool rtnl_message_read_verdict(const struct nlmsghdr *m, struct rtnl_verdict *ret_verdict)
{
	const struct nlattr *tb[NLMSGERR_ATTR_MSG + 1] = { 0 };
	struct rtnl_verdict v = { 0 };
	size_t at = m->nlmsg_type == NLMSG_ERROR ? sizeof(struct nlmsgerr) : sizeof(int);
	int32_t code;

	if ((m->nlmsg_type != NLMSG_ERROR && m->nlmsg_type != NLMSG_DONE) || payload_size(m) < at)
		return false;
	memcpy(&code, mnl_nlmsg_get_payload(m), sizeof(code));
	/* DONE has a positive number on success; errors are not below -4095. */
	if (code < 0)
		v.errnum = code > -4096 ? -code : EIO;
	if (m->nlmsg_type == NLMSG_ERROR)
		at = after_request(m);
	if ((m->nlmsg_flags & NLM_F_ACK_TLVS) && sort_message(m, at, tb, ARRAY_SIZE(tb)))
		get_text(tb[NLMSGERR_ATTR_MSG], v.text, sizeof(v.text));
	*ret_verdict = v;
	return true;
}
