/*
 * Two bands, each scanned once from a random start.
 */
#include "server/services/range.h"

#include "base/core/compiler.h"

enum { LOWER_MIN = 16, LOWER_MAX = 256, LOWER_PART = 16 };

/* The size of the lower part, for a range of that many addresses, unusable ones included. */
static uint64_t lower_of(uint64_t all)
{
	if (all <= LOWER_MIN)
		return 0;
	return MIN(MAX(all / LOWER_PART, (uint64_t)LOWER_MIN), (uint64_t)LOWER_MAX);
}

bool service_range_init(struct service_range *r, const struct address *cidr)
{
	int bits = (cidr->is4 ? 32 : 128) - cidr->prefix;
	uint64_t all = bits >= 63 ? UINT64_MAX >> 1 : UINT64_C(1) << bits;
	struct address network = address_masked(cidr);
	/* The network's own address is not usable, nor is IPv4's broadcast. */
	uint64_t unusable = cidr->is4 ? 2 : 1;

	if (all <= unusable)
		return false;
	r->cidr = network;
	r->size = all - unusable;
	r->first = address_add(&network, 1);
	r->last = address_add(&network, r->size);
	r->lower = lower_of(all);
	return true;
}

bool service_range_has(const struct service_range *r, const struct address *ip)
{
	return address_contains(&r->cidr, ip) && address_compare(ip, &r->first) >= 0 &&
	       address_compare(ip, &r->last) <= 0;
}

static bool pick_among(const struct service_range *r, uint64_t from, uint64_t n, struct prng *prng,
		       bool (*taken)(void *arg, const struct address *ip), void *arg,
		       struct address *ret_ip)
{
	uint64_t start = n ? prng_below(prng, n) : 0;

	for (uint64_t i = 0; i < n; i++) {
		struct address ip = address_add(&r->first, from + (start + i) % n);

		if (taken(arg, &ip))
			continue;
		*ret_ip = ip;
		ret_ip->prefix = ip.is4 ? 32 : 128;
		return true;
	}
	return false;
}

bool service_range_pick(const struct service_range *r, struct prng *prng,
			bool (*taken)(void *arg, const struct address *ip), void *arg,
			struct address *ret_ip)
{
	return pick_among(r, r->lower, r->size - r->lower, prng, taken, arg, ret_ip) ||
	       pick_among(r, 0, r->lower, prng, taken, arg, ret_ip);
}
