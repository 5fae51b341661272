/*
 * The table. Specs are complete, with their defaults, because they are compared as they are.
 */
#include "api/check/flow_specs.h"

#include "base/core/compiler.h"

/* A level whose requests are queued. */
#define QUEUE(shares, lendable, queues, hand)                                      \
	"{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":" #shares \
	",\"lendablePercent\":" #lendable                                          \
	",\"limitResponse\":{\"type\":\"Queue\",\"queuing\":{\"queues\":" #queues  \
	",\"handSize\":" #hand ",\"queueLengthLimit\":50}}}}"

static const struct flow_default levels[] = {
	{ "exempt", true,
	  "{\"type\":\"Exempt\",\"exempt\":{\"nominalConcurrencyShares\":0,\"lendablePercent\":0}"
	  "}" },
	{ "catch-all", true,
	  "{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":5,\"lendablePercent\":0,"
	  "\"limitResponse\":{\"type\":\"Reject\"}}}" },
	{ "system", false, QUEUE(30, 33, 64, 6) },
	{ "node-high", false, QUEUE(40, 25, 64, 6) },
	{ "leader-election", false, QUEUE(10, 0, 16, 4) },
	{ "workload-high", false, QUEUE(40, 50, 128, 6) },
	{ "workload-low", false, QUEUE(100, 90, 128, 6) },
	{ "global-default", false, QUEUE(20, 50, 128, 6) },
};

#define SPEC(level, precedence, by, subjects, rules)                                           \
	"{\"priorityLevelConfiguration\":{\"name\":\"" level                                   \
	"\"},\"matchingPrecedence\":" #precedence "," by "\"rules\":[{\"subjects\":[" subjects \
	"]," rules "}]}"
#define BY(what)    "\"distinguisherMethod\":{\"type\":\"" what "\"},"
#define GROUP(name) "{\"kind\":\"Group\",\"group\":{\"name\":\"" name "\"}}"
#define USER(name)  "{\"kind\":\"User\",\"user\":{\"name\":\"" name "\"}}"
#define KUBE_SYSTEM                                                                       \
	"{\"kind\":\"ServiceAccount\",\"serviceAccount\":{\"namespace\":\"kube-system\"," \
	"\"name\":\"*\"}}"
#define EVERYBODY GROUP("system:unauthenticated") "," GROUP("system:authenticated")
#define RULE(verbs, group, resources, cluster)                                           \
	"{\"verbs\":[" verbs "],\"apiGroups\":[\"" group "\"],\"resources\":[" resources \
	"]," cluster "\"namespaces\":[\"*\"]}"
#define CLUSTER "\"clusterScope\":true,"
#define EVERYTHING                     \
	"\"resourceRules\":[" RULE(    \
		"\"*\"", "*", "\"*\"", \
		CLUSTER) "],"          \
			 "\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]"

static const struct flow_default schemas[] = {
	{ "exempt", true, SPEC("exempt", 1, "", GROUP("system:masters"), EVERYTHING) },
	{ "catch-all", true, SPEC("catch-all", 10000, BY("ByUser"), EVERYBODY, EVERYTHING) },
	{ "probes", false,
	  SPEC("exempt", 2, "", EVERYBODY,
	       "\"nonResourceRules\":[{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz\","
	       "\"/readyz\",\"/livez\"]}]") },
	{ "system-leader-election", false,
	  SPEC("leader-election", 100, BY("ByUser"),
	       USER("system:kube-controller-manager") "," USER(
		       "system:kube-scheduler") "," KUBE_SYSTEM,
	       "\"resourceRules\":[" RULE("\"get\",\"create\",\"update\"", "coordination.k8s.io",
					  "\"leases\"", "") "]") },
	{ "system-node-high", false,
	  SPEC("node-high", 400, BY("ByUser"), GROUP("system:nodes"),
	       "\"resourceRules\":[" RULE("\"*\"", "", "\"nodes\",\"nodes/status\"",
					  CLUSTER) "," RULE("\"*\"", "coordination.k8s.io",
							    "\"leases\"", "") "]") },
	{ "system-nodes", false,
	  SPEC("system", 500, BY("ByUser"), GROUP("system:nodes"), EVERYTHING) },
	{ "kube-controller-manager", false,
	  SPEC("workload-high", 800, BY("ByNamespace"), USER("system:kube-controller-manager"),
	       EVERYTHING) },
	{ "kube-scheduler", false,
	  SPEC("workload-high", 800, BY("ByNamespace"), USER("system:kube-scheduler"),
	       EVERYTHING) },
	{ "kube-system-service-accounts", false,
	  SPEC("workload-high", 900, BY("ByNamespace"), KUBE_SYSTEM, EVERYTHING) },
	{ "service-accounts", false,
	  SPEC("workload-low", 9000, BY("ByUser"), GROUP("system:serviceaccounts"), EVERYTHING) },
	{ "global-default", false,
	  SPEC("global-default", 9900, BY("ByUser"), EVERYBODY, EVERYTHING) },
};

const struct flow_default *flow_defaults(enum flow_kind kind, size_t *ret_n)
{
	*ret_n = kind == FLOW_LEVEL ? ARRAY_SIZE(levels) : ARRAY_SIZE(schemas);
	return kind == FLOW_LEVEL ? levels : schemas;
}
