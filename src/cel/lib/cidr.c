/*
 * Prefixes of IP addresses. Text where a prefix or address is wanted is read as one first.
 */
#include "cel/core/ip.h"
#include "cel/lib/libraries.h"

static struct cel_value cidr_wrap(const struct cel_address *cidr)
{
	return (struct cel_value){ .kind = CEL_CIDR, .address = cidr };
}

/* Like upstream, the message has its prefix twice. */
static struct cel_value parse_error(struct cel_eval *ev, const struct error *err)
{
	return cel_errorf(ev, "network address parse error during conversion from string: %s",
			  err->msg);
}

static struct cel_value cidr_make(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_address *cidr = cel_alloc(ev, sizeof(*cidr));
	struct error err;

	if (!cidr)
		return cel_too_large();
	if (cel_cidr_parse(args[0].s, cidr, &err) < 0)
		return parse_error(ev, &err);
	return cidr_wrap(cidr);
}

static struct cel_value cidr_is(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_address cidr;

	(void)ev;
	return CEL_BOOL_V(cel_cidr_parse(args[0].s, &cidr, NULL) == 0);
}

static struct cel_value cidr_string(struct cel_eval *ev, const struct cel_value *args)
{
	char *text = cel_alloc(ev, CEL_ADDRESS_TEXT);

	return text ? CEL_STRING_V(cel_cidr_print(args[0].address, text)) : cel_too_large();
}

static struct cel_value contains_ip(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_address *cidr = args[0].address;

	(void)ev;
	return CEL_BOOL_V(cel_address_matches(cidr, args[1].address, cidr->bits));
}

static struct cel_value contains_ip_text(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_address *cidr = args[0].address;
	struct cel_address ip;

	/* Like upstream, drop the parser's message. */
	if (cel_ip_parse(args[1].s, false, &ip, NULL) < 0)
		return cel_no_overload(ev);
	return CEL_BOOL_V(cel_address_matches(cidr, &ip, cidr->bits));
}

static struct cel_value contains(const struct cel_address *outer, const struct cel_address *inner)
{
	return CEL_BOOL_V(outer->bits <= inner->bits &&
			  cel_address_matches(outer, inner, outer->bits));
}

static struct cel_value contains_cidr(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return contains(args[0].address, args[1].address);
}

static struct cel_value contains_cidr_text(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_address cidr;
	struct error err;

	if (cel_cidr_parse(args[1].s, &cidr, &err) < 0)
		return parse_error(ev, &err);
	return contains(args[0].address, &cidr);
}

static struct cel_value cidr_ip(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return (struct cel_value){ .kind = CEL_IP, .address = args[0].address };
}

static struct cel_value cidr_prefix_length(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(args[0].address->bits);
}

static struct cel_value cidr_masked(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_address *cidr = args[0].address;
	struct cel_address *masked;

	if (cidr->masked)
		return args[0];
	masked = cel_alloc(ev, sizeof(*masked));
	if (!masked)
		return cel_too_large();
	*masked = *cidr;
	for (unsigned bit = cidr->bits; bit < sizeof(cidr->bytes) * 8; bit++)
		masked->bytes[bit / 8] &= (unsigned char)~(0x80U >> bit % 8);
	masked->masked = true;
	return cidr_wrap(masked);
}

static const struct cel_overload overloads[] = {
	{ "cidr", "string_to_cidr", &cel_cidr, { &cel_string }, 1, false, cidr_make },
	{ "containsCIDR",
	  "cidr_contains_cidr_string",
	  &cel_bool,
	  { &cel_cidr, &cel_string },
	  2,
	  true,
	  contains_cidr_text },
	{ "containsCIDR",
	  "cidr_contains_cidr",
	  &cel_bool,
	  { &cel_cidr, &cel_cidr },
	  2,
	  true,
	  contains_cidr },
	{ "containsIP",
	  "cidr_contains_ip_string",
	  &cel_bool,
	  { &cel_cidr, &cel_string },
	  2,
	  true,
	  contains_ip_text },
	{ "containsIP",
	  "cidr_contains_ip_ip",
	  &cel_bool,
	  { &cel_cidr, &cel_ip },
	  2,
	  true,
	  contains_ip },
	{ "ip", "cidr_ip", &cel_ip, { &cel_cidr }, 1, true, cidr_ip },
	{ "isCIDR", "is_cidr", &cel_bool, { &cel_string }, 1, false, cidr_is },
	{ "masked", "cidr_masked", &cel_cidr, { &cel_cidr }, 1, true, cidr_masked },
	{ "prefixLength",
	  "cidr_prefix_length",
	  &cel_int,
	  { &cel_cidr },
	  1,
	  true,
	  cidr_prefix_length },
	{ "string", "cidr_to_string", &cel_string, { &cel_cidr }, 1, false, cidr_string },
};

static const struct cel_type *const types[] = { &cel_cidr, NULL };

const struct cel_library cel_lib_cidr = {
	.name = "kubernetes.net.cidr",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.types = types,
};
