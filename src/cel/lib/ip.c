/*
 * Addresses of IP. Reading them is Kubernetes' or the specification's, which differ in one
 * point; the rest is the same library.
 */
#include "cel/core/ip.h"

#include "cel/lib/libraries.h"

/* --- reading ------------------------------------------------------------------------ */

static struct cel_value lib_ip_make(struct cel_eval *ev, struct str text, bool unmaps)
{
	struct cel_address *ip = cel_alloc(ev, sizeof(*ip));
	struct error err;

	if (!ip)
		return cel_too_large();
	if (cel_ip_parse(text, unmaps, ip, &err) < 0)
		return cel_errorf(ev, "%s", err.msg);
	return (struct cel_value){ .kind = CEL_IP, .address = ip };
}

static struct cel_value is_canonical(struct cel_eval *ev, struct str text, bool unmaps)
{
	char canonical[CEL_ADDRESS_TEXT];
	struct cel_address ip;
	struct error err;

	if (cel_ip_parse(text, unmaps, &ip, &err) < 0)
		return cel_errorf(ev, "%s", err.msg);
	return CEL_BOOL_V(str_eq(cel_ip_print(&ip, canonical), text));
}

static struct cel_value is_ip(struct str text, bool unmaps)
{
	struct cel_address ip;

	return CEL_BOOL_V(cel_ip_parse(text, unmaps, &ip, NULL) == 0);
}

static struct cel_value ip_make(struct cel_eval *ev, const struct cel_value *args)
{
	return lib_ip_make(ev, args[0].s, false);
}

static struct cel_value ip_make_unmapped(struct cel_eval *ev, const struct cel_value *args)
{
	return lib_ip_make(ev, args[0].s, true);
}

static struct cel_value ip_is(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return is_ip(args[0].s, false);
}

static struct cel_value ip_is_unmapped(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return is_ip(args[0].s, true);
}

static struct cel_value ip_is_canonical(struct cel_eval *ev, const struct cel_value *args)
{
	return is_canonical(ev, args[0].s, false);
}

static struct cel_value ip_is_canonical_unmapped(struct cel_eval *ev, const struct cel_value *args)
{
	return is_canonical(ev, args[0].s, true);
}

#define FROM_TEXT(function, id, type, call)                                \
	{                                                                  \
		function, id, &cel_##type, { &cel_string }, 1, false, call \
	}

static const struct cel_overload kubernetes[] = {
	FROM_TEXT("ip", "string_to_ip", ip, ip_make),
	FROM_TEXT("ip.isCanonical", "ip_is_canonical", bool, ip_is_canonical),
	FROM_TEXT("isIP", "is_ip", bool, ip_is),
};

static const struct cel_overload specification[] = {
	FROM_TEXT("ip", "string_to_ip", ip, ip_make_unmapped),
	FROM_TEXT("ip.isCanonical", "ip_is_canonical", bool, ip_is_canonical_unmapped),
	FROM_TEXT("isIP", "is_ip", bool, ip_is_unmapped),
};

const struct cel_library cel_lib_ip_kubernetes = {
	.name = "kubernetes.net.ip",
	.overloads = kubernetes,
	.n = ARRAY_SIZE(kubernetes),
};

const struct cel_library cel_lib_ip_specification = {
	.name = "cel.net.ip",
	.overloads = specification,
	.n = ARRAY_SIZE(specification),
};

/* --- the rest ----------------------------------------------------------------------- */

static struct cel_value ip_string(struct cel_eval *ev, const struct cel_value *args)
{
	char *text = cel_alloc(ev, CEL_ADDRESS_TEXT);

	return text ? CEL_STRING_V(cel_ip_print(args[0].address, text)) : cel_too_large();
}

static struct cel_value ip_family(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(args[0].address->v6 ? 6 : 4);
}

/* Whether all bytes are zero, but for the last one, which is `last`. */
static bool is_only(const struct cel_address *ip, unsigned char last)
{
	size_t n = ip->v6 ? 16 : 4;

	for (size_t i = 0; i + 1 < n; i++) {
		if (ip->bytes[i])
			return false;
	}
	return ip->bytes[n - 1] == last;
}

static bool is_loopback(const struct cel_address *ip)
{
	return ip->v6 ? is_only(ip, 1) : ip->bytes[0] == 127;
}

static bool is_link_local_unicast(const struct cel_address *ip)
{
	const unsigned char *b = ip->bytes;

	return ip->v6 ? b[0] == 0xfe && (b[1] & 0xc0) == 0x80 : b[0] == 169 && b[1] == 254;
}

static bool is_multicast(const struct cel_address *ip)
{
	return ip->v6 ? ip->bytes[0] == 0xff : (ip->bytes[0] & 0xf0) == 0xe0;
}

static bool is_broadcast(const struct cel_address *ip)
{
	return !ip->v6 && memcmp(ip->bytes, "\xff\xff\xff\xff", 4) == 0;
}

static struct cel_value ip_is_unspecified(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(is_only(args[0].address, 0));
}

static struct cel_value ip_is_loopback(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(is_loopback(args[0].address));
}

static struct cel_value ip_is_local_multicast(struct cel_eval *ev, const struct cel_value *args)
{
	const unsigned char *b = args[0].address->bytes;

	(void)ev;
	return CEL_BOOL_V(args[0].address->v6 ? b[0] == 0xff && (b[1] & 0x0f) == 2
					      : b[0] == 224 && b[1] == 0 && b[2] == 0);
}

static struct cel_value ip_is_local_unicast(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(is_link_local_unicast(args[0].address));
}

static struct cel_value ip_is_global_unicast(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_address *ip = args[0].address;

	(void)ev;
	return CEL_BOOL_V(!is_only(ip, 0) && !is_broadcast(ip) && !is_loopback(ip) &&
			  !is_multicast(ip) && !is_link_local_unicast(ip));
}

#define OF_IP(function, id, type, call)                               \
	{                                                             \
		function, id, &cel_##type, { &cel_ip }, 1, true, call \
	}

static const struct cel_overload overloads[] = {
	OF_IP("family", "ip_family", int, ip_family),
	OF_IP("isGlobalUnicast", "ip_is_global_unicast", bool, ip_is_global_unicast),
	OF_IP("isLinkLocalMulticast", "ip_is_link_local_multicast", bool, ip_is_local_multicast),
	OF_IP("isLinkLocalUnicast", "ip_is_link_local_unicast", bool, ip_is_local_unicast),
	OF_IP("isLoopback", "ip_is_loopback", bool, ip_is_loopback),
	OF_IP("isUnspecified", "ip_is_unspecified", bool, ip_is_unspecified),
	{ "string", "ip_to_string", &cel_string, { &cel_ip }, 1, false, ip_string },
};

static const struct cel_type *const types[] = { &cel_ip, NULL };

const struct cel_library cel_lib_ip = {
	.name = "net.ip",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.types = types,
};
