/*
 * nic_config - parses the net driver's opaque parameters, from a claim or a class.
 *
 *	{ "apiVersion": "net.devplane.dev/v1", "kind": "InterfaceConfig",     both optional
 *	  "network": "blue",                    its network, for readers of the status
 *	  "interfaceName": "net1",              in the pod; default: the next free of net1, net2, ..
 *	  "addresses": ["192.0.2.5/24", "2001:db8::5/64"],
 *	  "routes": [{"to": "198.51.100.0/24", "via": "192.0.2.1", "metric": 100}],
 *	  "mtu": 1400, "hardwareAddress": "02:00:00:00:00:05",
 *	  "cni": { .. a CNI plugin's configuration .. } }
 *
 * If there are several (of the class, then of the claim), later members replace earlier ones of the
 * same name. Parsing is strict: unknown and duplicate members, wrong types and invalid values
 * return -ERR_INVALID, with the path and a suggestion ("parameters.adresses: unknown field, did you
 * mean addresses?"; for a class: "device class: parameters.."). `cni` replaces everything except
 * network and interfaceName, so addresses, routes, mtu and hardwareAddress are rejected with it.
 * Limits: 16 addresses, 64 routes, mtu 68 to 65535. The interface name must be valid for the kernel
 * and not "lo" or "eth0"; the network must be a DNS label.
 *
 * A CNI plugin runs as root on the node, with the configuration from the parameters. So a claim may
 * use only the types that `claim_cni` allows: a list "a,b", or "none", or "*" for all. With a list,
 * a claim's `ipam` must be host-local, static, dhcp or one of the list, and its plugin must not
 * delegate to others (`delegate`). A class may use any type, since an administrator writes it. The
 * rule applies to whoever wrote the effective `cni`. No I/O.
 */
#ifndef DRIVERS_NIC_INVENTORY_CONFIG_H
#define DRIVERS_NIC_INVENTORY_CONFIG_H

#include "base/core/arena.h"
#include "base/json/json.h"
#include "drivers/rtnl/rtnl.h"

struct dp_result;

struct nic_config {
	char interface_name[RTNL_NAME]; /* "": the next free */
	const char *network; /* or NULL */
	const struct rtnl_ip *addresses;
	size_t naddresses;
	const struct rtnl_route *routes; /* index is not set */
	size_t nroutes;
	uint32_t mtu; /* 0: unchanged */
	struct rtnl_mac mac; /* n 0: unchanged */
	const struct json *cni; /* has a "type"; or NULL */
};

/* Everything is allocated in the arena. The configs of `result` are read in their order. */
int nic_config_read(struct arena *a, const struct dp_result *result, const char *claim_cni,
		    struct nic_config *ret_config, struct error *err);

/* Reads one tree, such as one made by nic_config_tree(). */
int nic_config_from_tree(struct arena *a, const struct json *tree, struct nic_config *ret_config,
			 struct error *err);
struct json *nic_config_tree(const struct nic_config *c, struct arena *a);

#endif
