/*
 * check_resource_cases_other - rows of classes, taint rules and requests for the
 * status of pools.
 */
#ifndef API_CHECK_RESOURCE_CASES_OTHER_H
#define API_CHECK_RESOURCE_CASES_OTHER_H

#include "api/check_resource_cases.h"

/* clang-format off */
#define K(name, edits, expected) { name, BASE_CLASS, ON_CREATE, "", edits, expected, 0 }
#define R(name, edits, expected) { name, BASE_TAINT_RULE, ON_CREATE, "", edits, expected, 0 }
#define Q(name, edits, expected) { name, BASE_POOL_REQUEST, ON_CREATE, "", edits, expected, 0 }
#define S(name, edits, expected) { name, BASE_POOL_REQUEST, ON_STATUS, "", edits, expected, 0 }
#define POOL "\"driver\":\"gpu.example.com\",\"poolName\":\"node-1\",\"generation\":1"

static const struct resource_case other_cases[] = {
	K("a class", "", ""),
	K("an empty class", "spec=", ""),
	K("class with a bad name", "metadata.name=\"A\"", "Invalid metadata.name"),
	K("class in a namespace", "metadata.namespace=\"x\"", "Forbidden metadata.namespace"),
	K("class with an empty selector", "spec.selectors=[{}]", "Required spec.selectors[0].cel"),
	K("class without an expression", "spec.selectors=[{\"cel\":{}}]", "Required spec.selectors[0].cel.expression"),
	K("32 selectors", "spec.selectors*32={\"cel\":{\"expression\":\"true\"}}", ""),
	K("33 selectors", "spec.selectors*33={\"cel\":{\"expression\":\"true\"}}", "TooMany spec.selectors: must have at most 32 items"),
	K("class with config", "spec.config=[{\"opaque\":{\"driver\":\"d\",\"parameters\":{\"a\":{}}}}]", ""),
	K("class with empty config", "spec.config=[{}]", "Required spec.config[0].opaque"),
	K("class with config of nobody", "spec.config=[{\"opaque\":{\"parameters\":{}}}]", "Required spec.config[0].opaque.driver"),
	K("class with config of a long driver", "spec.config=[{\"opaque\":{\"driver\":\"a." L63 "\",\"parameters\":{}}}]", "TooLong spec.config[0].opaque.driver"),
	K("33 configs", "spec.config*33={\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}", "TooMany spec.config: must have at most 32 items"),
	K("extended resource", "spec.extendedResourceName=\"example.com/gpu\"", ""),
	K("native resource", "spec.extendedResourceName=\"cpu\"", "Invalid spec.extendedResourceName: must be a valid extended resource name"),
	K("resource of Kubernetes", "spec.extendedResourceName=\"foo.kubernetes.io/gpu\"", "Invalid spec.extendedResourceName"),
	K("resource of a quota", "spec.extendedResourceName=\"requests.example.com/gpu\"", "Invalid spec.extendedResourceName"),
	K("empty resource", "spec.extendedResourceName=\"\"", "Invalid spec.extendedResourceName"),
	{ "class that changes", BASE_CLASS, ON_UPDATE, "", "spec.selectors=[{\"cel\":{\"expression\":\"false\"}}] ; spec.extendedResourceName=\"example.com/x\"", "", 0 },
	{ "class that changes badly", BASE_CLASS, ON_UPDATE, "", "spec.selectors=[{\"cel\":{}}]", "Required spec.selectors[0].cel.expression", 0 },
	{ "class with a stored fault", BASE_CLASS, ON_UPDATE, "spec.selectors=[{\"cel\":{}}]", "spec.config=[{\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}]", "", 0 },

	R("a rule", "", ""),
	R("a rule for all", "spec.deviceSelector={}", ""),
	R("a rule for one", "spec.deviceSelector={\"driver\":\"gpu.example.com\",\"pool\":\"a/b\",\"device\":\"gpu-0\"}", ""),
	R("rule with an empty driver", "spec.deviceSelector={\"driver\":\"\"}", "Required spec.deviceSelector.driver"),
	R("rule with a bad driver", "spec.deviceSelector={\"driver\":\"a b\"}", "Invalid spec.deviceSelector.driver"),
	R("rule with a long driver", "spec.deviceSelector={\"driver\":\"a." L63 "\"}", "TooLong spec.deviceSelector.driver"),
	R("rule with an empty pool", "spec.deviceSelector={\"pool\":\"\"}", "Required spec.deviceSelector.pool"),
	R("rule with a bad pool", "spec.deviceSelector={\"pool\":\"a//b\"}", "Invalid spec.deviceSelector.pool"),
	R("rule with an empty device", "spec.deviceSelector={\"device\":\"\"}", "Invalid spec.deviceSelector.device: a lowercase RFC 1123 label"),
	R("rule with a bad device", "spec.deviceSelector={\"device\":\"a.b\"}", "Invalid spec.deviceSelector.device: must not contain dots"),
	R("rule without a taint", "spec.taint=", "Invalid spec.taint.key: name part must be non-empty\nInvalid spec.taint.key: name part must consist\nRequired spec.taint.effect"),
	R("rule without an effect", "spec.taint.effect=", "Required spec.taint.effect"),
	R("rule with another effect", "spec.taint.effect=\"Maybe\"", "NotSupported spec.taint.effect"),
	R("rule that does nothing", "spec.taint.effect=\"None\"", ""),
	R("rule with a bad key", "spec.taint.key=\"a b\"", "Invalid spec.taint.key"),
	R("rule with a bad value", "spec.taint.value=\"a b\"", "Invalid spec.taint.value"),
	{ "rule that changes", BASE_TAINT_RULE, ON_UPDATE, "", "spec.taint.effect=\"NoSchedule\" ; spec.deviceSelector={\"driver\":\"d\"}", "", 0 },
	{ "rule that changes badly", BASE_TAINT_RULE, ON_UPDATE, "", "spec.taint.effect=\"X\"", "NotSupported spec.taint.effect", 0 },
	{ "rule with a stored effect", BASE_TAINT_RULE, ON_UPDATE, "spec.taint.effect=\"X\"", "spec.taint.value=\"b\"", "", 0 },
	{ "rule without a version", BASE_TAINT_RULE, ON_UPDATE, "", "metadata.resourceVersion=", "Invalid metadata.resourceVersion: must be specified for an update", 0 },
	{ "conditions of a rule", BASE_TAINT_RULE, ON_STATUS, "", "status.conditions*8={\"type\":\"T%\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}", "", 0 },
	{ "nine conditions of a rule", BASE_TAINT_RULE, ON_STATUS, "", "status.conditions*9={\"type\":\"T%\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}", "TooMany status.conditions: must have at most 8 items", 0 },
	{ "a bad condition of a rule", BASE_TAINT_RULE, ON_STATUS, "", "status.conditions=[{\"type\":\"T\",\"status\":\"Maybe\",\"reason\":\"R\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]", "NotSupported status.conditions[0].status", 0 },

	Q("a request", "", ""),
	Q("request without a driver", "spec.driver=\"\"", "Required spec.driver"),
	Q("request without a spec", "spec=", "Required spec.driver"),
	Q("request with a bad driver", "spec.driver=\"a b\"", "Invalid spec.driver"),
	Q("request for a pool", "spec.poolName=\"a/b\"", ""),
	Q("request for a bad pool", "spec.poolName=\"a//b\"", "Invalid spec.poolName"),
	Q("request for an empty pool", "spec.poolName=\"\"", "Invalid spec.poolName"),
	Q("limit of 1000", "spec.limit=1000", ""),
	Q("limit of 0", "spec.limit=0", "Invalid spec.limit: must be greater than or equal to 1"),
	Q("limit of 1001", "spec.limit=1001", "Invalid spec.limit: must be less than or equal to 1000"),
	Q("request for a bare attribute", "spec.defaultPartitionTypeAttribute=\"a\"", "Invalid spec.defaultPartitionTypeAttribute: a fully qualified name"),
	{ "request that changes", BASE_POOL_REQUEST, ON_UPDATE, "", "spec.limit=5", "Invalid spec: field is immutable", 0 },
	{ "request with labels", BASE_POOL_REQUEST, ON_UPDATE, "", "metadata.labels={\"a\":\"b\"}", "", 0 },
	S("an answer", "status={\"poolCount\":1,\"pools\":[{" POOL ",\"totalDevices\":2,\"allocatedDevices\":0,\"availableDevices\":2,\"resourceSliceCount\":1}],\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\",\"reason\":\"Done\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}", ""),
	S("an answer of none", "status={\"poolCount\":0}", ""),
	S("an answer without a count", "status={\"pools\":[{" POOL "}]}", "Required status.poolCount"),
	S("an answer with a negative count", "status={\"poolCount\":-1}", "Invalid status.poolCount: must be greater than or equal to 0"),
	S("a pool without its parts", "status={\"poolCount\":1,\"pools\":[{}]}", "Required status.pools[0].driver\nRequired status.pools[0].poolName\nRequired status.pools[0].generation"),
	S("a pool with negative numbers", "status={\"poolCount\":1,\"pools\":[{" POOL ",\"totalDevices\":-1,\"resourceSliceCount\":0}]}", "Invalid status.pools[0].totalDevices\nInvalid status.pools[0].resourceSliceCount: must be greater than or equal to 1"),
	S("a pool with a long fault", "status={\"poolCount\":1,\"pools\":[{" POOL ",\"validationError\":\"" L63 L63 L63 L63 "abcde\"}]}", "TooLong status.pools[0].validationError: may not be more than 256 bytes"),
	S("1001 pools", "status={\"poolCount\":1} ; status.pools*1001={\"driver\":\"d\",\"poolName\":\"p\",\"generation\":1}", "TooMany status.pools: must have at most 1000 items"),
	S("partitions twice", "status={\"poolCount\":1,\"pools\":[{" POOL "}]} ; status.pools[0].partitionSummary*2={\"attribute\":\"a.b/c\",\"type\":\"t\",\"total\":1,\"allocatable\":0}", "Duplicate status.pools[0].partitionSummary[1]"),
	S("partitions without numbers", "status={\"poolCount\":1,\"pools\":[{" POOL ",\"partitionSummary\":[{\"attribute\":\"a.b/c\",\"type\":\"t\"}]}]}", "Required status.pools[0].partitionSummary[0].total\nRequired status.pools[0].partitionSummary[0].allocatable"),
	S("shares", "status={\"poolCount\":1,\"pools\":[{" POOL ",\"shareableSummary\":{\"fullyAvailableDevices\":0,\"partiallyAvailableDevices\":1,\"capacity\":[{\"name\":\"memory\",\"total\":\"1Gi\",\"consumed\":\"0\",\"available\":\"1Gi\"}]}}]}", ""),
	S("a bad condition", "status={\"poolCount\":1,\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}", "Required status.conditions[0].reason"),
	S("eleven conditions", "status={\"poolCount\":1} ; status.conditions*11={\"type\":\"T%\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}", "TooMany status.conditions: must have at most 10 items"),
	{ "a second answer", BASE_POOL_REQUEST, ON_STATUS, "status={\"poolCount\":1}", "status.poolCount=2", "Invalid status: field is immutable", 0 },
	{ "an answer taken back", BASE_POOL_REQUEST, ON_STATUS, "status={\"poolCount\":1}", "status=", "Invalid status: field is immutable", 0 },
	{ "the same answer again", BASE_POOL_REQUEST, ON_STATUS, "status={\"poolCount\":1}", "", "", 0 },
};

#undef K
#undef R
#undef Q
#undef S
/* clang-format on */

#endif
