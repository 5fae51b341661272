/*
 * The two tables of controllers: names for --controllers, and engines that run.
 */
#include "controller/run/parts.h"

#include "base/core/str.h"
#include "controller/accounts/root_ca.h"
#include "controller/accounts/service_account.h"
#include "controller/deployment/deployments.h"
#include "controller/daemon_set/daemon_sets.h"
#include "controller/endpoint_slices/endpoint_slices.h"
#include "controller/endpoints/network_endpoints.h"
#include "controller/job/job_controller.h"
#include "controller/node_taints/node_taints.h"
#include "controller/quota/resource_quota.h"
#include "controller/replica_set/replica_sets.h"
#include "controller/run/announce.h"
#include "controller/run/availability.h"
#include "controller/run/controller.h"
#include "controller/shared/per_namespace.h"
#include "controller/ttl/ttl_controller.h"

/* --- names ----------------------------------------------------------------------------------- */

/*
 * Upstream's names, where upstream has the controller. It has ResourcePoolStatusRequests, too, but
 * behind a gate that is off.
 */
static const struct controller_name names[] = {
	{ "namespace-controller", CONTROLLER_NAMESPACE, true },
	{ "garbage-collector-controller", CONTROLLER_GARBAGE, true },
	{ "serviceaccount-controller", CONTROLLER_SERVICE_ACCOUNT, true },
	{ "root-ca-certificate-publisher-controller", CONTROLLER_ROOT_CA, true },
	{ "resourceclaim-controller", CONTROLLER_CLAIMS, true },
	{ "resourceslice-status-controller", CONTROLLER_SLICE_STATUS },
	{ "resourcepoolstatusrequest-controller", CONTROLLER_POOL_REQUESTS },
	{ "device-taint-eviction-controller", CONTROLLER_TAINT_EVICTION, true },
	{ "daemonset-controller", CONTROLLER_DAEMON_SETS, true },
	{ "endpointslice-controller", CONTROLLER_ENDPOINT_SLICES, true },
	{ "device-health-taints", CONTROLLER_HEALTH_TAINTS },
	{ "device-history", CONTROLLER_DEVICE_HISTORY },
	{ "network-endpoints-controller", CONTROLLER_NETWORK_ENDPOINTS },
	{ "resourcequota-controller", CONTROLLER_QUOTAS, true },
	{ "replicaset-controller", CONTROLLER_REPLICA_SETS, true },
	{ "deployment-controller", CONTROLLER_DEPLOYMENTS, true },
	{ "job-controller", CONTROLLER_JOB, true },
	{ "ttl-after-finished-controller", CONTROLLER_TTL, true },
	{ "node-lifecycle-controller", CONTROLLER_NODE_LIFECYCLE, true },
	{ "taint-eviction-controller", CONTROLLER_NODE_TAINTS, true },
	{ "pod-garbage-collector-controller", CONTROLLER_POD_GARBAGE, true },
	{ NULL, 0 },
};

const struct controller_name *controller_names(void)
{
	return names;
}

unsigned controller_part_find(struct str name)
{
	for (const struct controller_name *n = names; n->name; n++) {
		if (str_eqz(name, n->name))
			return n->part;
	}
	return 0;
}

/* --- engines --------------------------------------------------------------------------------- */

static void *begin_namespaces(const struct context *ctx, const struct controller_opts *opts)
{
	return namespaces_new(ctx, &opts->namespaces);
}

static void end_namespaces(void *engine)
{
	namespaces_free(engine);
}

static void *begin_garbage(const struct context *ctx, const struct controller_opts *opts)
{
	return garbage_new(ctx, &opts->garbage);
}

static bool garbage_is_synced(const void *engine)
{
	return garbage_synced(engine);
}

static void end_garbage(void *engine)
{
	garbage_free(engine);
}

static void *begin_accounts(const struct context *ctx, const struct controller_opts *opts UNUSED)
{
	return service_account_new(ctx);
}

static void *begin_root_ca(const struct context *ctx, const struct controller_opts *opts)
{
	return opts->root_ca.n > 0 ? root_ca_new(ctx, &opts->root_ca) : NULL;
}

static void end_per_namespace(void *engine)
{
	per_namespace_free(engine);
}

static void *begin_claims(const struct context *ctx, const struct controller_opts *opts)
{
	return pod_claims_new(ctx, &opts->claims);
}

static bool claims_are_synced(const void *engine)
{
	return pod_claims_synced(engine);
}

static void end_claims(void *engine)
{
	pod_claims_free(engine);
}

static void *begin_availability(const struct context *ctx, const struct controller_opts *opts)
{
	return availability_new(ctx,
				&(struct availability_opts){
					.slice_status = opts->parts & CONTROLLER_SLICE_STATUS,
					.pool_requests = opts->parts & CONTROLLER_POOL_REQUESTS,
					.taint_eviction = opts->parts & CONTROLLER_TAINT_EVICTION,
					.health_taints = opts->parts & CONTROLLER_HEALTH_TAINTS,
					.device_history = opts->parts & CONTROLLER_DEVICE_HISTORY,
					.health_limits = opts->health_taints,
					.workers = opts->slice_status_workers,
					.evictions = opts->taint_eviction_workers,
				});
}

static bool availability_is_synced(const void *engine)
{
	return availability_synced(engine);
}

static void end_availability(void *engine)
{
	availability_free(engine);
}

static void *begin_network_endpoints(const struct context *ctx,
				     const struct controller_opts *opts UNUSED)
{
	return network_endpoints_new(ctx);
}

static void end_network_endpoints(void *engine)
{
	network_endpoints_free(engine);
}

static void *begin_quotas(const struct context *ctx, const struct controller_opts *opts UNUSED)
{
	return resource_quotas_new(ctx);
}

static void end_quotas(void *engine)
{
	resource_quotas_free(engine);
}

static void *begin_announce(const struct context *ctx, const struct controller_opts *opts)
{
	return announce_new(ctx, opts);
}

static bool announce_is_tried(const void *engine)
{
	return announce_tried(engine);
}

static void end_announce(void *engine)
{
	announce_free(engine);
}

static void *begin_replica_sets(const struct context *ctx, const struct controller_opts *opts)
{
	return replica_sets_new(ctx, &(struct replica_sets_opts){ opts->replica_set_workers });
}

static bool replica_sets_are_synced(const void *engine)
{
	return replica_sets_synced(engine);
}

static void end_replica_sets(void *engine)
{
	replica_sets_free(engine);
}

static void *begin_deployments(const struct context *ctx, const struct controller_opts *opts)
{
	return deployments_new(ctx, &(struct deployments_opts){ opts->deployment_workers });
}

static bool deployments_are_synced(const void *engine)
{
	return deployments_synced(engine);
}

static void end_deployments(void *engine)
{
	deployments_free(engine);
}

static void *begin_jobs(const struct context *ctx, const struct controller_opts *opts UNUSED)
{
	return job_controller_new(ctx);
}

static void end_jobs(void *engine)
{
	job_controller_free(engine);
}

static void *begin_ttl(const struct context *ctx, const struct controller_opts *opts UNUSED)
{
	return ttl_controller_new(ctx);
}

static void end_ttl(void *engine)
{
	ttl_controller_free(engine);
}

static void *begin_daemon_sets(const struct context *ctx, const struct controller_opts *opts UNUSED)
{
	return daemon_sets_new(ctx);
}

static void end_daemon_sets(void *engine)
{
	daemon_sets_free(engine);
}

static void *begin_endpoint_slices(const struct context *ctx,
				   const struct controller_opts *opts UNUSED)
{
	return endpoint_slices_new(ctx);
}

static void end_endpoint_slices(void *engine)
{
	endpoint_slices_free(engine);
}

static void *begin_node_lifecycle(const struct context *ctx, const struct controller_opts *opts)
{
	return node_lifecycle_new(ctx, &opts->node_lifecycle);
}

static bool node_lifecycle_is_synced(const void *engine)
{
	return node_lifecycle_synced(engine);
}

static void end_node_lifecycle(void *engine)
{
	node_lifecycle_free(engine);
}

static void *begin_node_taints(const struct context *ctx, const struct controller_opts *opts)
{
	return node_taints_new(ctx, opts->node_taints_workers);
}

static bool node_taints_are_synced(const void *engine)
{
	return node_taints_synced(engine);
}

static void end_node_taints(void *engine)
{
	node_taints_free(engine);
}

static void *begin_pod_garbage(const struct context *ctx, const struct controller_opts *opts)
{
	return pod_garbage_new(ctx, &opts->pod_garbage);
}

static bool pod_garbage_is_synced(const void *engine)
{
	return pod_garbage_synced(engine);
}

static void end_pod_garbage(void *engine)
{
	pod_garbage_free(engine);
}

enum {
	WORKLOADS = CONTROLLER_JOB | CONTROLLER_REPLICA_SETS | CONTROLLER_DEPLOYMENTS |
		    CONTROLLER_DAEMON_SETS | CONTROLLER_ENDPOINT_SLICES,
	AVAILABILITY = CONTROLLER_SLICE_STATUS | CONTROLLER_POOL_REQUESTS |
		       CONTROLLER_TAINT_EVICTION | CONTROLLER_HEALTH_TAINTS |
		       CONTROLLER_DEVICE_HISTORY,
};

const struct controller_engine controller_engines[] = {
	{ CONTROLLER_NAMESPACE, begin_namespaces, NULL, end_namespaces },
	{ CONTROLLER_GARBAGE, begin_garbage, garbage_is_synced, end_garbage },
	{ CONTROLLER_SERVICE_ACCOUNT, begin_accounts, NULL, end_per_namespace },
	{ CONTROLLER_ROOT_CA, begin_root_ca, NULL, end_per_namespace },
	{ CONTROLLER_CLAIMS, begin_claims, claims_are_synced, end_claims },
	{ AVAILABILITY, begin_availability, availability_is_synced, end_availability },
	{ CONTROLLER_NETWORK_ENDPOINTS, begin_network_endpoints, NULL, end_network_endpoints },
	{ CONTROLLER_QUOTAS, begin_quotas, NULL, end_quotas },
	{ CONTROLLER_NODE_LIFECYCLE, begin_node_lifecycle, node_lifecycle_is_synced,
	  end_node_lifecycle },
	{ CONTROLLER_NODE_TAINTS, begin_node_taints, node_taints_are_synced, end_node_taints },
	{ CONTROLLER_POD_GARBAGE, begin_pod_garbage, pod_garbage_is_synced, end_pod_garbage },
	{ WORKLOADS, begin_announce, announce_is_tried, end_announce },
	{ CONTROLLER_REPLICA_SETS, begin_replica_sets, replica_sets_are_synced, end_replica_sets },
	{ CONTROLLER_DEPLOYMENTS, begin_deployments, deployments_are_synced, end_deployments },
	{ CONTROLLER_JOB, begin_jobs, NULL, end_jobs },
	{ CONTROLLER_TTL, begin_ttl, NULL, end_ttl },
	{ CONTROLLER_DAEMON_SETS, begin_daemon_sets, NULL, end_daemon_sets },
	{ CONTROLLER_ENDPOINT_SLICES, begin_endpoint_slices, NULL, end_endpoint_slices },
	{ 0, NULL, NULL, NULL },
};
