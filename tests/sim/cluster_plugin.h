/*
 * cluster_plugin - device plugins of a simulated cluster: each offers a few cards, an extended
 * resource, to its node's agent, by the sockets that a kubelet and its plugins have.
 *
 * It registers again whenever the agent does not listen to it, as after a restart of either. An
 * unhealthy card stays unhealthy when the plugin restarts: it is the hardware.
 */
#ifndef SIM_CLUSTER_PLUGIN_H
#define SIM_CLUSTER_PLUGIN_H

#include "cluster_role.h"

#define CLUSTER_CARD "sim.devplane.dev/card"
/* As a part of a JSON pointer. */
#define CLUSTER_CARD_POINTER "sim.devplane.dev~1card"

enum { CLUSTER_CARDS = 3 };

/* role->arg of a plugin. */
struct cluster_cards {
	char root[192]; /* the agent's folder */
	bool sick[CLUSTER_CARDS];
};

extern const struct cluster_role_ops cluster_plugin_ops;

void cluster_plugin_set_sick(struct cluster_role *role, unsigned card, bool sick);

#endif
