/*
 * nic_config - what a claim or class wants of a network device: the driver's opaque parameters.
 *
 *	{ "apiVersion": "net.devplane.dev/v1", "kind": "InterfaceConfig",     both optional
 *	  "network": "blue",                    which network it is on, for readers of the status
 *	  "interfaceName": "net1",              in the pod; default: the next free of net1, net2, ..
 *	  "addresses": ["192.0.2.5/24", "2001:db8::5/64"],
 *	  "routes": [{"to": "198.51.100.0/24", "via": "192.0.2.1", "metric": 100}],
 *	  "mtu": 1400, "hardwareAddress": "02:00:00:00:00:05",
 *	  "cni": { .. a CNI plugin's configuration .. } }
 *
 * Of several (class, then claim) a member that comes later replaces the same of an earlier one.
 * Strict: a member that there is not, one that is there twice, a wrong type or a value that
 * cannot be is -ERR_INVALID, with the path and a suggestion ("parameters.adresses: unknown field,
 * did you mean addresses?"; of a class's: "device class: parameters.."). `cni` stands for
 * everything but network and interfaceName: with it addresses, routes, mtu and hardwareAddress
 * are refused. Limits: 16 addresses, 64 routes, mtu 68 to 65535, the name as the kernel wants it
 * and not "lo" or "eth0", the network a DNS label.
 *
 * A plugin is run as root on the node, with what the parameters say. So a claim may name only
 * some: types of a list, "a,b", or "none", or "*", which are all. With a list a claim's `ipam` is
 * host-local, static, dhcp or one of the list, and its plugin has no others below it
 * (`delegate`). A class may name any: it is an administrator's. Who wrote the `cni` that counts is
 * who counts. Pure.
 */
#ifndef DRIVERS_NIC_INVENTORY_CONFIG_H
#define DRIVERS_NIC_INVENTORY_CONFIG_H

#include "base/core/arena.h"
#include "base/json/json.h"
#include "drivers/rtnl/rtnl.h"

struct dp_result;

struct nic_config {
	char interface_name[RTNL_NAME]; /* "": the next free */
	const char *network; /* NULL: not said */
	const struct rtnl_ip *addresses;
	size_t naddresses;
	const struct rtnl_route *routes; /* index is not set */
	size_t nroutes;
	uint32_t mtu; /* 0: left as it is */
	struct rtnl_mac mac; /* n 0: left as it is */
	const struct json *cni; /* NULL: none; has "type" */
};

/* What a claim may name when nobody says otherwise; a DeviceClass may name any. */
#define NIC_CLAIM_CNI "none"

/* Everything lives in the arena. `result`'s configs are read in their order. */
int nic_config_read(struct arena *a, const struct dp_result *result, const char *claim_cni,
		    struct nic_config *ret_config, struct error *err);

/* A list of types as above can be. */
int nic_config_check_types(const char *claim_cni, struct error *err);

/* From one tree, such as nic_config_tree() made. */
int nic_config_from_tree(struct arena *a, const struct json *tree, struct nic_config *ret_config,
			 struct error *err);
struct json *nic_config_tree(const struct nic_config *c, struct arena *a);

#endif
