/*
 * cluster_endpoints - which endpoints a Service has on the cluster's network: upstream's rules for
 * Services and pods, as functions from trees. Pure.
 */
#ifndef CONTROLLER_ENDPOINT_SLICES_CLUSTER_H
#define CONTROLLER_ENDPOINT_SLICES_CLUSTER_H

#include "controller/endpoints/decide.h"

#define CLUSTER_MANAGER "endpointslice-controller.k8s.io"
#define CLUSTER_ZONE    STR("topology.kubernetes.io/zone")

/* Whether the Service gets slices: it has a selector and is not an ExternalName. */
bool cluster_service_read(struct arena *a, const struct json *service,
			  struct network_service *ret_service);

/* The hints of spec.trafficDistribution; an annotation for topology hints takes precedence. */
enum network_hints cluster_service_hints(const struct json *service);

/* The pod's addresses, in the arena; 0 if it has none or has ended. Borrowed from the tree. */
size_t cluster_pod_addresses(struct arena *a, const struct json *pod, struct str **ret_addresses);

/* When its readiness changed last; 0: unknown. */
int64_t cluster_pod_trigger_ns(const struct json *pod);

/*
 * The time of the change that brings a sync, for the annotation: the earliest change of a pod since
 * the last sync. The first sync of a Service has the time of its creation. 0: none.
 */
struct cluster_trigger {
	bool known; /* the Service was synced before */
	int64_t seen_ns; /* the latest change of a pod in all syncs */
	int64_t latest_ns, first_ns; /* of this sync */
};
void cluster_trigger_pod(struct cluster_trigger *t, int64_t changed_ns);
int64_t cluster_trigger_end(struct cluster_trigger *t, const struct json *service);

#endif
