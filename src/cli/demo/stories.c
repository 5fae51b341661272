/*
 * Long outputs are shown if they are the point; otherwise standard tools cut them to the relevant
 * lines. A step may only show what is already the case: the waits of the step before ensure that.
 */
#include "cli/demo/stories.h"

#include <stddef.h>

#define NS      "-n devplane-demo"
#define GPUS    "--root-dir nodes/demo-0 --name gpu.sim.devplane.dev"
#define POOL    "pool/gpu.sim.devplane.dev/demo-0"
#define MESSAGE "Xid 79: GPU has fallen off the bus"

#define PHASE(pod) "devplane get pod " pod " " NS " -o jsonpath={.status.phase}"
#define DEVICE(claim)                              \
	"devplane get resourceclaim " claim " " NS \
	" -o jsonpath={.status.allocation.devices.results[0].device}"
#define CLAIM(pod)                     \
	"devplane get pod " pod " " NS \
	" -o jsonpath={.status.resourceClaimStatuses[0].resourceClaimName}"
#define HEALTH(pod)                           \
	"devplane get pod " pod " " NS " -o " \
	"jsonpath={.status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health}"
#define TAINTED "devplane describe " POOL " | grep '${GPU} .*unhealthy:NoSchedule'"

const struct demo_step demo_prologue[] = {
	{ .text = "The demo creates its objects in a namespace of its own.",
	  .command = "devplane apply -f demo/00-namespace.yaml" },
	{ 0 },
};

const char demo_cleanup[] = "devplane delete -f demo --ignore-not-found";

static const struct demo_step health[] = {
	{ .text = "A pod asks for a GPU by a claim. The scheduler chooses the device, the node's "
		  "agent asks the driver to prepare it and starts the pod with it.",
	  .command = "devplane apply -f demo/train.yaml",
	  .waits = { { PHASE("train"), "Running" },
		     { CLAIM("train"), NULL, "CLAIM" },
		     { DEVICE("${CLAIM}"), NULL, "GPU" },
		     { HEALTH("train"), "Healthy" } } },
	{ .text = "Its claim says which one it got: ${GPU}.",
	  .command = "devplane describe resourceclaim ${CLAIM} " NS },
	{ .text = "Now that GPU breaks. Here a command makes the simulated GPU fail; a real driver "
		  "would detect it.",
	  .command = "devplane driver sim fail ${GPU} --message '" MESSAGE "' " GPUS,
	  .waits = { { HEALTH("train"), "Unhealthy" },
		     { TAINTED },
		     { "devplane describe pod train " NS " | grep DeviceUnhealthy" } } },
	{ .text = "The pod's status says which device failed, and why: you no longer have to guess "
		  "why a pod crashes.",
	  .command = "devplane describe pod train " NS },
	{ .text = "The driver has tainted the device in its slice, so that no other pod gets it.",
	  .command = "devplane describe " POOL },
	{ .text = "The pod is deleted ...", .command = "devplane delete pod train " NS },
	{ .text = "... and another one takes its place.",
	  .command = "devplane apply -f demo/train-again.yaml",
	  .waits = { { PHASE("train-again"), "Running" },
		     { CLAIM("train-again"), NULL, "CLAIM_AGAIN" },
		     { DEVICE("${CLAIM_AGAIN}"), NULL, "GPU_AGAIN" },
		     { HEALTH("train-again"), "Healthy" } } },
	{ .text = "It got ${GPU_AGAIN}, a healthy one.",
	  .command = "devplane describe pod train-again " NS " | grep -A 3 ^Devices:" },
	{ .text = "The broken GPU is repaired, and loses its taint.",
	  .command = "devplane driver sim heal ${GPU} " GPUS,
	  .waits = { { TAINTED " || echo gone", "gone" } } },
	{ 0 },
};

#define FIRST_POD(labels, path) \
	"devplane get pods " NS " -l " labels " -o 'jsonpath={.items[0]." path "}'"
#define POD_HEALTH "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health"
#define POD_CLAIM  "status.resourceClaimStatuses[0].resourceClaimName"
#define UNHEALTHY  "devplane describe " POOL " | grep -c unhealthy; true"
#define EVICT(gpu) "sed 's/DEVICE/" gpu "/' demo/evict.yaml | devplane apply -f -"
#define RESTORE(gpu)                                                                  \
	"devplane driver sim heal " gpu " " GPUS "; devplane delete devicetaintrule " \
	"devplane-demo-evict --ignore-not-found"

static const struct demo_step job[] = {
	{ .text = "A Job trains on a GPU. It may retry six times, but its podFailurePolicy says "
		  "that a pod that failed with a broken device ends the Job.",
	  .command = "devplane apply -f demo/job.yaml",
	  .waits = { { FIRST_POD("job-name=training", "status.phase"), "Running" },
		     { FIRST_POD("job-name=training", POD_CLAIM), NULL, "JOB_CLAIM" },
		     { DEVICE("${JOB_CLAIM}"), NULL, "JOB_GPU" },
		     { FIRST_POD("job-name=training", POD_HEALTH), "Healthy" } } },
	{ .text = "Its GPU breaks. The program may go on for hours ...",
	  .command = "devplane driver sim fail ${JOB_GPU} --message '" MESSAGE "' " GPUS,
	  .waits = { { FIRST_POD("job-name=training", POD_HEALTH), "Unhealthy" } } },
	{ .text = "... so an administrator takes all pods off the device, with a taint.",
	  .command = EVICT("${JOB_GPU}"),
	  .waits = { { "devplane get job training " NS
		       " -o 'jsonpath={.status.conditions[?(@.type==\"Failed\")].reason}'",
		       "PodFailurePolicy" } } },
	{ .text = "The pod failed with the condition DevicesHealthy=False, so the Job gives up.",
	  .command = "devplane get job training " NS
		     " -o 'jsonpath={.status.conditions[?(@.type==\"Failed\")].message}'; echo" },
	{ .text = "It made no second pod.", .command = "devplane get job training " NS },
	{ .text = "The GPU is repaired.",
	  .command = RESTORE("${JOB_GPU}"),
	  .waits = { { UNHEALTHY, "0" } } },
	{ 0 },
};

static const struct demo_step deployment[] = {
	{ .text = "A Deployment keeps one pod with a GPU.",
	  .command = "devplane apply -f demo/web.yaml",
	  .waits = { { "devplane get deployment web " NS " -o jsonpath={.status.readyReplicas}",
		       "1" },
		     { FIRST_POD("app=web", POD_CLAIM), NULL, "WEB_CLAIM" },
		     { DEVICE("${WEB_CLAIM}"), NULL, "WEB_GPU" } } },
	{ .text = "Its GPU breaks ...",
	  .command = "devplane driver sim fail ${WEB_GPU} --message '" MESSAGE "' " GPUS,
	  .waits = { { FIRST_POD("app=web", POD_HEALTH), "Unhealthy" } } },
	{ .text = "... and pods are taken off it. The Deployment makes another one.",
	  .command = EVICT("${WEB_GPU}"),
	  .waits = { { "test $(devplane get pods " NS " -l app=web -o name | wc -l) = 1 && "
		       "test $(" FIRST_POD("app=web",
					   POD_CLAIM) ") != ${WEB_CLAIM} && "
						      "devplane get deployment web " NS
						      " -o jsonpath={.status.readyReplicas}",
		       "1" },
		     { FIRST_POD("app=web", POD_HEALTH), "Healthy" },
		     { FIRST_POD("app=web", "metadata.name"), NULL, "WEB_POD" } } },
	{ .text = "The new pod has a healthy GPU.",
	  .command = "devplane describe pod ${WEB_POD} " NS " | grep -A 3 ^Devices:" },
	{ .text = "The GPU is repaired.",
	  .command = RESTORE("${WEB_GPU}"),
	  .waits = { { UNHEALTHY, "0" } } },
	{ .text = "The Deployment is deleted, and its pod with it.",
	  .command = "devplane delete -f demo/web.yaml",
	  .waits = { { "devplane get pods " NS " -l app=web -o name | wc -l", "0" },
		     { "devplane get resourceclaims " NS " -o name | grep -c web; true", "0" } } },
	{ 0 },
};

/* "all" once the newest spec has this on all nodes; demo-0 and demo-1 are the least. */
#define ON_ALL_NODES(field)                                                       \
	"devplane get daemonset gpu-driver " NS " -o 'jsonpath="                  \
	"{.metadata.generation} {.status.observedGeneration} {.status." field "}" \
	" {.status.desiredNumberScheduled}'"                                      \
	" | awk '$1 == $2 && $3 > 1 && $3 == $4 { print \"all\" }'"

static const struct demo_step driver[] = {
	{ .text = "Drivers are installed as DaemonSets, which run one pod on each node. This one "
		  "is the pod of `deploy/sim`, under another name.",
	  .command = "devplane apply -f demo/driver.yaml",
	  .waits = { { ON_ALL_NODES("numberReady"), "all" } } },
	{ .text = "Every node has its pod. A node that joins later gets one, too.",
	  .command = "devplane get pods " NS " -l app=gpu-driver -o wide" },
	{ .text = "A new version of the driver replaces the pods, one node after the other.",
	  .command = "sed 's,devplane:1,devplane:2,' demo/driver.yaml | devplane apply -f -",
	  .waits = { { ON_ALL_NODES("updatedNumberScheduled"), "all" },
		     { ON_ALL_NODES("numberAvailable"), "all" } } },
	{ .text = NULL, .command = "devplane get daemonset gpu-driver " NS " -o wide" },
	{ .text = "Not shown here: the devices. These nodes are hollow: they show their pods as "
		  "running, but run no program. So this driver publishes no slice, and none of "
		  "its GPUs appears. On nodes that run containers, the devices appear in seconds; "
		  "docs/install.md has the steps.",
	  .command = "devplane get resourceslices "
		     "--field-selector spec.driver=gpu.example.com" },
	{ .text = "The DaemonSet is deleted, and its pods with it.",
	  .command = "devplane delete -f demo/driver.yaml",
	  .waits = { { "devplane get pods " NS " -l app=gpu-driver -o name | wc -l", "0" } } },
	{ 0 },
};

static const struct demo_step pools[] = {
	{ .text = "Free devices by driver and node, and who holds the others.",
	  .command = "devplane top devices --once" },
	{ .text = "The same per slice: the server's own table, with a column for free devices.",
	  .command = "devplane get resourceslices" },
	{ .text = "One pool, device by device.", .command = "devplane describe " POOL },
	{ .text = "A pod wants 16 GPUs on one node. It waits ...",
	  .command = "devplane apply -f demo/huge.yaml",
	  .waits = { { "devplane get pod huge " NS " -o jsonpath={.status.conditions[0].reason}",
		       "Unschedulable" } } },
	{ .text = "... and this is why.",
	  .command = "devplane explain-fit pod/huge " NS,
	  .may_fail = true },
	{ 0 },
};

static const struct demo_step network[] = {
	{ .text = "A pod asks for a network interface of its own.",
	  .command = "devplane apply -f demo/network.yaml",
	  .waits = { { PHASE("gateway"), "Running" },
		     { "devplane get resourceclaim fast-network " NS
		       " -o jsonpath={.status.devices[0].networkData.ips[0]}",
		       NULL, "ADDRESS" } } },
	{ .text = "The driver has written the interface into the claim's status: name, hardware "
		  "address and IP addresses. Clients of the pod find its address ${ADDRESS} here.",
	  .command = "devplane describe resourceclaim fast-network " NS },
	{ 0 },
};

static const struct demo_step disks[] = {
	{ .text = "`devplane driver disk` measures the disks of a node and publishes their "
		  "bandwidth and how much is used. These nodes have no disks, so the demo "
		  "publishes example values: demo-0's disk is busy, demo-1's is idle. First the "
		  "objects ...",
	  .command = "devplane apply -f demo/disks.yaml" },
	{ .text = "... then their status, as a driver writes it.",
	  .command = "devplane apply -f demo/disks.yaml --subresource status" },
	{ .text = NULL, .command = "devplane get nodediskiostatuses" },
	{ .text = "A database needs 200 MiB/s of writes. The scheduler's plugin disk_io knows "
		  "which disk has that much left.",
	  .command = "devplane apply -f demo/database.yaml",
	  .waits = { { "devplane get pod database " NS " -o jsonpath={.spec.nodeName}", "demo-1" },
		     { PHASE("database"), "Running" } } },
	{ .text = "It runs beside the idle disk.",
	  .command = "devplane get pod database " NS " -o wide" },
	{ 0 },
};

static const struct demo_step watch[] = {
	{ .text = "First the demo starts a watcher on demo-0's PodResources socket; its output "
		  "comes last.",
	  .command = "devplane podresources watch --root-dir nodes/demo-0 >demo/watch.txt &",
	  .first = true,
	  .background = true },
	{ .text = "A pod gets a GPU ...",
	  .command = "devplane apply -f demo/batch-1.yaml",
	  .waits = { { PHASE("batch-1"), "Running" },
		     { "grep 'devplane-demo/batch-1 .*+gpu' demo/watch.txt" } } },
	{ .text = "... ends ...", .command = "devplane delete -f demo/batch-1.yaml" },
	{ .text = "... and the next one gets the same GPU.",
	  .command = "devplane apply -f demo/batch-2.yaml",
	  .waits = { { PHASE("batch-2"), "Running" },
		     { "grep 'devplane-demo/batch-2 .*+gpu' demo/watch.txt" } } },
	{ .text = "The watcher saw every step on its node, in order: a device is released (-) "
		  "before another pod gets it (+), so a running total never counts a device twice.",
	  .command = "cat demo/watch.txt" },
	{ 0 },
};

const struct demo_story demo_stories[] = {
	{ .name = "health",
	  .kep = "KEP-4680",
	  .title = "a GPU breaks, and the pod's status says so",
	  .steps = health,
	  .undo = "devplane driver sim heal ${GPU} " GPUS },
	{ .name = "job",
	  .kep = "KEP-4680",
	  .title = "a Job gives up on a dying GPU",
	  .steps = job,
	  .undo = RESTORE("${JOB_GPU}") },
	{ .name = "deployment",
	  .kep = "KEP-4680",
	  .title = "a Deployment moves its pod to a healthy GPU",
	  .steps = deployment,
	  .undo = RESTORE("${WEB_GPU}") },
	{ .name = "driver",
	  .kep = "DRA",
	  .title = "a driver is installed as a DaemonSet",
	  .steps = driver },
	{ .name = "pools",
	  .kep = "KEP-5677",
	  .title = "which devices are free, and why a pod is pending",
	  .steps = pools },
	{ .name = "network",
	  .kep = "KEP-4817",
	  .title = "a network claim shows its address",
	  .steps = network },
	{ .name = "disks",
	  .kep = "KEP-4187",
	  .title = "a disk-bound pod lands on the idle disk",
	  .needs = "grep DiskIO scheduler.yaml", /* the file may be a copy with another name */
	  .without =
		  "the scheduler runs without the plugin disk_io, which was not found beside the "
		  "program",
	  .steps = disks },
	{ .name = "watch",
	  .kep = "PodResources",
	  .title = "a watcher sees every step, in order",
	  .steps = watch },
	{ 0 },
};
