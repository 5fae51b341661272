/*
 * What stays of a container: its name, ports, resources, restart and resize policies. What stays of
 * its status: the state, counts, resources, and the health of devices.
 */
#include "controller/shared/pod_trim.h"

static const struct cached_trim containers[] = {
	CACHED_TRIM("args", NULL),
	CACHED_TRIM("command", NULL),
	CACHED_TRIM("env", NULL),
	CACHED_TRIM("envFrom", NULL),
	CACHED_TRIM("image", NULL),
	CACHED_TRIM("imagePullPolicy", NULL),
	CACHED_TRIM("lifecycle", NULL),
	CACHED_TRIM("livenessProbe", NULL),
	CACHED_TRIM("readinessProbe", NULL),
	CACHED_TRIM("securityContext", NULL),
	CACHED_TRIM("startupProbe", NULL),
	CACHED_TRIM("terminationMessagePath", NULL),
	CACHED_TRIM("terminationMessagePolicy", NULL),
	CACHED_TRIM("volumeDevices", NULL),
	CACHED_TRIM("volumeMounts", NULL),
	CACHED_TRIM("workingDir", NULL),
	{ { 0 }, NULL },
};

static const struct cached_trim spec[] = {
	CACHED_TRIM("automountServiceAccountToken", NULL),
	CACHED_TRIM("containers", containers),
	CACHED_TRIM("dnsConfig", NULL),
	CACHED_TRIM("dnsPolicy", NULL),
	CACHED_TRIM("enableServiceLinks", NULL),
	CACHED_TRIM("ephemeralContainers", containers),
	CACHED_TRIM("hostAliases", NULL),
	CACHED_TRIM("imagePullSecrets", NULL),
	CACHED_TRIM("initContainers", containers),
	CACHED_TRIM("preemptionPolicy", NULL),
	CACHED_TRIM("schedulerName", NULL),
	CACHED_TRIM("securityContext", NULL),
	CACHED_TRIM("serviceAccount", NULL),
	CACHED_TRIM("serviceAccountName", NULL),
	CACHED_TRIM("terminationGracePeriodSeconds", NULL),
	CACHED_TRIM("topologySpreadConstraints", NULL),
	CACHED_TRIM("volumes", NULL),
	{ { 0 }, NULL },
};

static const struct cached_trim terminated[] = {
	CACHED_TRIM("containerID", NULL),
	CACHED_TRIM("startedAt", NULL),
	{ { 0 }, NULL },
};

static const struct cached_trim state[] = {
	CACHED_TRIM("terminated", terminated),
	{ { 0 }, NULL },
};

static const struct cached_trim container_statuses[] = {
	CACHED_TRIM("containerID", NULL),
	CACHED_TRIM("image", NULL),
	CACHED_TRIM("imageID", NULL),
	CACHED_TRIM("lastState", NULL),
	CACHED_TRIM("started", NULL),
	CACHED_TRIM("state", state),
	CACHED_TRIM("user", NULL),
	CACHED_TRIM("volumeMounts", NULL),
	{ { 0 }, NULL },
};

static const struct cached_trim conditions[] = {
	CACHED_TRIM("lastProbeTime", NULL),
	CACHED_TRIM("observedGeneration", NULL),
	{ { 0 }, NULL },
};

static const struct cached_trim status[] = {
	CACHED_TRIM("conditions", conditions),
	CACHED_TRIM("containerStatuses", container_statuses),
	CACHED_TRIM("ephemeralContainerStatuses", container_statuses),
	CACHED_TRIM("hostIP", NULL),
	CACHED_TRIM("hostIPs", NULL),
	CACHED_TRIM("initContainerStatuses", container_statuses),
	CACHED_TRIM("observedGeneration", NULL),

	{ { 0 }, NULL },
};

const struct cached_trim pod_trim[] = {
	CACHED_TRIM("spec", spec),
	CACHED_TRIM("status", status),
	{ { 0 }, NULL },
};
