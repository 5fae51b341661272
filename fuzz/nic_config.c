/*
 * Any text as the parameters of a network device: a class's, and behind a NUL a claim's. Accepted
 * parameters are within their limits, and are the same after they are written and read back.
 */
#include "base/core/limits.h"
#include "devplane/driver.h"
#include "drivers/drivers_limits.h"
#include "drivers/nic_inventory/config.h"
#include "drivers/nic_inventory/spec.h"
#include "target.h"

static struct str print(struct arena *a, const struct nic_config *c)
{
	struct buf text = BUF_INIT(4 * MIB);
	struct str copy;

	require(json_print(&text, nic_config_tree(c, a), NULL) == 0);
	copy = arena_str(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

static void check_limits(const struct nic_config *c)
{
	require(c->naddresses <= NIC_ADDRESSES_MAX && c->nroutes <= NIC_ROUTES_MAX);
	require(c->mtu == 0 || (c->mtu >= NIC_MTU_MIN && c->mtu <= NIC_MTU_MAX));
	require(c->mac.n == 0 || c->mac.n == 6);
	require(memchr(c->interface_name, 0, sizeof(c->interface_name)) != NULL);
	require(!c->cni || (c->naddresses == 0 && c->nroutes == 0 && c->mtu == 0));
	for (size_t i = 0; i < c->nroutes; i++)
		require(c->routes[i].to.family != 0 && c->routes[i].index == 0);
}

static void check_taken(struct arena *a, const struct nic_config *c)
{
	struct str text = print(a, c);
	struct nic_config again;
	struct json *back;

	check_limits(c);
	require(json_parse(a, text, NULL, &back, NULL) == 0);
	require(nic_config_from_tree(a, back, &again, NULL) == 0);
	require(str_eq(print(a, &again), text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dp_opaque v[2] = { { sizeof(v[0]), DP_FROM_CLASS, NULL },
				  { sizeof(v[0]), DP_FROM_CLAIM, NULL } };
	const struct dp_opaque *all[2] = { &v[0], &v[1] };
	struct dp_result r = { .size = sizeof(r), .configs = all, .nconfigs = 1 };
	struct nic_config c;
	struct error err;
	struct arena a;
	size_t n;

	arena_init(&a, 16 * MIB);
	v[0].parameters = arena_strdup(&a, str_of(data, size));
	n = strlen(v[0].parameters);
	if (n < size) {
		v[1].parameters = v[0].parameters + n + 1;
		r.nconfigs = 2;
	}
	if (nic_config_read(&a, &r, size % 2 ? NIC_CLAIM_CNI : "*", &c, &err) == 0)
		check_taken(&a, &c);
	else
		require(err.msg[0] != 0);
	arena_release(&a);
	return 0;
}
