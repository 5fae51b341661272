/*
 * service_range - a range of addresses for services, and which one is taken next. Pure.
 *
 * As upstream, addresses that nobody asked for by number come from the upper part of a range, at
 * random, and from its lower part only when that is full: so whoever asks for low numbers most
 * often finds them free.
 */
#ifndef SERVER_SERVICES_RANGE_H
#define SERVER_SERVICES_RANGE_H

#include "api/schema/address.h"
#include "base/core/random.h"

struct service_range {
	struct address cidr;
	struct address first, last; /* that services may have */
	uint64_t size; /* how many these are; UINT64_MAX when more */
	uint64_t lower; /* of the lower part */
};

/* False when there is no address in it. */
bool service_range_init(struct service_range *r, const struct address *cidr);

bool service_range_has(const struct service_range *r, const struct address *ip);

/* One that `taken` does not know; false when all are taken. */
bool service_range_pick(const struct service_range *r, struct prng *prng,
			bool (*taken)(void *arg, const struct address *ip), void *arg,
			struct address *ret_ip);

#endif
