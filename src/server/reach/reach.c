/*
 * An address is this machine's own if a socket can be bound to it; that needs no list of
 * interfaces.
 */
#include "server/reach/reach.h"

#include <netinet/in.h>
#include <unistd.h>

#include "api/schema/address.h"
#include "base/core/mem.h"

/* Whether the address belongs to this machine: then a socket can be bound to it. */
static bool reach_is_ours(const struct addr *a)
{
	struct sockaddr_storage at = a->sa;
	int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ours;

	if (at.ss_family == AF_INET)
		((struct sockaddr_in *)&at)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&at)->sin6_port = 0;
	ours = fd >= 0 && bind(fd, (const struct sockaddr *)&at, a->len) == 0;
	if (fd >= 0)
		(void)close(fd);
	return ours;
}

static bool is_in_a_range(const struct reach *r, const struct addr *a)
{
	struct address at;

	if (!address_read(str_from(a->host), &at))
		return false;
	for (size_t i = 0; i < r->nranges; i++) {
		if (address_contains(&r->ranges[i], &at))
			return true;
	}
	return false;
}

/* For a name, its addresses are checked once they are resolved. */
static bool allows(const struct addr_rule *rule, const struct addr *a)
{
	const struct reach_rule *r = CONTAINER_OF(rule, struct reach_rule, rule);

	if (r->global && !addr_is_global(a))
		return false;
	if (a->kind != ADDR_INET)
		return a->kind == ADDR_NAME;
	if (r->nodes && r->reach->nranges && !is_in_a_range(r->reach, a))
		return false;
	return a->port != atomic_load(&r->reach->port) || !reach_is_ours(a);
}

int reach_init(struct reach *r, const char *const *ranges, size_t n, struct error *err)
{
	*r = (struct reach){ .ranges = n ? xcalloc(n, sizeof(struct address)) : NULL,
			     .nranges = n };
	for (int i = 0; i < REACH_KINDS; i++)
		r->rules[i] = (struct reach_rule){ .rule = { allows },
						   .reach = r,
						   .nodes = i != REACH_PROXY,
						   .global = i != REACH_KUBELET };
	for (size_t i = 0; i < n; i++) {
		struct address *at = &r->ranges[i];

		if (!address_read_cidr(str_from(ranges[i]), at))
			return error_set(err, ERR_INVALID,
					 "--node-address-ranges: \"%s\" is not a range such as "
					 "10.0.0.0/8 or fd00::/8",
					 ranges[i]);
		*at = address_masked(at);
	}
	return 0;
}

void reach_release(struct reach *r)
{
	free(r->ranges);
	*r = (struct reach){ 0 };
}

const struct addr_rule *reach_rule(const struct reach *r, enum reach_to to)
{
	return &r->rules[to].rule;
}
