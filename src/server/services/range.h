/*
 * service_range - a range of addresses for services, and the choice of the next one. No side
 * effects.
 *
 * As upstream, addresses that are not requested explicitly are chosen at random from the upper
 * part of the range, and from the lower part only if the upper part is full. So explicitly
 * requested low addresses are usually free.
 */
#ifndef SERVER_SERVICES_RANGE_H
#define SERVER_SERVICES_RANGE_H

#include "api/schema/address.h"
#include "base/core/random.h"

struct service_range {
	struct address cidr;
	struct address first, last; /* the usable addresses */
	uint64_t size; /* number of usable addresses; at most UINT64_MAX */
	uint64_t lower; /* size of the lower part */
};

/* Returns false if the range has no usable address. */
bool service_range_init(struct service_range *r, const struct address *cidr);

bool service_range_has(const struct service_range *r, const struct address *ip);

/* Picks an address for which `taken` returns false. Returns false if all are taken. */
bool service_range_pick(const struct service_range *r, struct prng *prng,
			bool (*taken)(void *arg, const struct address *ip), void *arg,
			struct address *ret_ip);

#endif
