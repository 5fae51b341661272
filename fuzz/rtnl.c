/*
 * Arbitrary bytes as what came out of a netlink socket: each message is read as each kind, and what
 * was read is within its bounds. Addresses are printed, and read back to the same.
 */
#include <string.h>

#include "base/core/mem.h"
#include "base/core/str.h"
#include "drivers/rtnl/message.h"
#include "target.h"

enum { IPV4 = 2, IPV6 = 10 };

static void check_ip(const struct rtnl_ip *ip)
{
	char text[RTNL_IP_TEXT], again[RTNL_IP_TEXT];
	struct rtnl_ip back;

	require(ip->family == IPV4 || ip->family == IPV6);
	require(ip->prefix <= (ip->family == IPV4 ? 32 : 128));
	rtnl_ip_print(ip, text);
	require(rtnl_ip_parse(str_from(text), false, &back));
	rtnl_ip_print(&back, again);
	require(strcmp(text, again) == 0);
	rtnl_ip_print_plain(ip, text);
	require(rtnl_ip_parse(str_from(text), true, &back));
}

static void check_name(void *arg UNUSED, struct str name)
{
	require(!memchr(name.p, 0, name.n));
}

static void check_link(const struct nlmsghdr *m)
{
	struct rtnl_link l;
	char mac[RTNL_MAC_TEXT], name[RTNL_NAME_TEXT];

	rtnl_message_altnames(m, check_name, NULL);
	if (!rtnl_message_read_link(m, &l))
		return;
	require(l.index > 0 && l.name[0] && strlen(l.name) < sizeof(l.name));
	require(strlen(l.kind) < sizeof(l.kind));
	require(l.up || !l.running);
	rtnl_name_print(l.name, name);
	require(str_is_utf8(str_from(name)));
	rtnl_mac_print(&l.mac, mac);
	rtnl_mac_print(&l.permanent, mac);
	require(rtnl_mac_equal(&l.mac, &l.mac));
}

static void check_routes(const struct nlmsghdr *m)
{
	struct rtnl_route t;

	for (unsigned hop = 0; rtnl_message_read_route(m, hop, &t); hop++) {
		check_ip(&t.to);
		if (t.via.family)
			check_ip(&t.via);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = xmalloc(MAX(size, 1)); /* exact, so that overreads show; and aligned */
	struct str rest = str_of(copy, size);
	const struct nlmsghdr *m;
	struct rtnl_address a;
	struct rtnl_verdict v;

	if (size)
		memcpy(copy, data, size);
	while ((m = rtnl_message_next(&rest))) {
		check_link(m);
		check_routes(m);
		if (rtnl_message_read_address(m, &a))
			check_ip(&a.ip);
		if (rtnl_message_read_verdict(m, &v))
			require(v.errnum >= 0 && strlen(v.text) < sizeof(v.text));
	}
	free(copy);
	return 0;
}
