/*
 * check_resource_cases_status - rows of writes to the status of ResourceClaims.
 */
#ifndef API_CHECK_RESOURCE_CASES_STATUS_H
#define API_CHECK_RESOURCE_CASES_STATUS_H

#include "api/check_resource_cases.h"

/* clang-format off */
/* On a claim that has an allocation; on one that has none. */
#define A(name, edits, expected) { name, BASE_ALLOCATED, ON_STATUS, "", edits, expected, 0 }
#define N(name, edits, expected) { name, BASE_CLAIM, ON_STATUS, "", edits, expected, 0 }
#define RESULT "{\"request\":\"req-0\",\"driver\":\"gpu.example.com\",\"pool\":\"node-1\",\"device\":\"gpu-0\"}"
#define ALLOCATION "status.allocation={\"devices\":{\"results\":[" RESULT "]}}"
#define DEVICE "\"driver\":\"gpu.example.com\",\"pool\":\"node-1\",\"device\":\"gpu-0\""
#define POD "{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"u\"}"
#define UID "123e4567-e89b-12d3-a456-426614174000"
#define READY "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Fine\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}"

static const struct resource_case status_cases[] = {
	N("nothing", "", ""),
	N("an allocation", ALLOCATION, ""),
	N("an allocation of a subrequest", ALLOCATION " ; status.allocation.devices.results[0].request=\"req-1/sub-0\"", ""),
	N("an allocation without devices", "status.allocation={}", ""),
	N("an allocation with a selector", ALLOCATION " ; status.allocation.nodeSelector={\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]}]}", ""),
	N("an allocation with a bad selector", ALLOCATION " ; status.allocation.nodeSelector={}", "Required status.allocation.nodeSelector.nodeSelectorTerms"),
	N("result for an unknown request", ALLOCATION " ; status.allocation.devices.results[0].request=\"no\"", "Invalid status.allocation.devices.results[0].request: must be the name of a request in the claim"),
	N("result without a request", ALLOCATION " ; status.allocation.devices.results[0].request=\"\"", "Invalid status.allocation.devices.results[0].request: a lowercase RFC 1123 label\nInvalid status.allocation.devices.results[0].request: must be the name of a request"),
	N("result without a driver", ALLOCATION " ; status.allocation.devices.results[0].driver=\"\"", "Required status.allocation.devices.results[0].driver"),
	N("result with a bad driver", ALLOCATION " ; status.allocation.devices.results[0].driver=\"a b\"", "Invalid status.allocation.devices.results[0].driver"),
	N("result without a pool", ALLOCATION " ; status.allocation.devices.results[0].pool=\"\"", "Required status.allocation.devices.results[0].pool"),
	N("result with a bad pool", ALLOCATION " ; status.allocation.devices.results[0].pool=\"a//b\"", "Invalid status.allocation.devices.results[0].pool"),
	N("result without a device", ALLOCATION " ; status.allocation.devices.results[0].device=\"\"", "Invalid status.allocation.devices.results[0].device: a lowercase RFC 1123 label"),
	N("result with a share", ALLOCATION " ; status.allocation.devices.results[0].shareID=\"" UID "\"", ""),
	N("result with a bad share", ALLOCATION " ; status.allocation.devices.results[0].shareID=\"x\"", "Invalid status.allocation.devices.results[0].shareID: must be a lowercase UUID"),
	N("result with binding conditions", ALLOCATION " ; status.allocation.devices.results[0].bindingConditions=[\"a\"] ; status.allocation.devices.results[0].bindingFailureConditions=[\"b\"]", ""),
	N("result with half the binding conditions", ALLOCATION " ; status.allocation.devices.results[0].bindingConditions=[\"a\"]", "Invalid status.allocation.devices.results[0].bindingFailureConditions"),
	N("result with a bad toleration", ALLOCATION " ; status.allocation.devices.results[0].tolerations=[{\"operator\":\"Exists\",\"value\":\"x\"}]", "Invalid status.allocation.devices.results[0].tolerations[0].value"),
	N("result that skips half", ALLOCATION " ; status.allocation.devices.results[0].skipNodeOperations=[\"NodePrepareResources\"]", "Invalid status.allocation.devices.results[0].skipNodeOperations"),
	N("33 results", "status.allocation.devices.results*33=" RESULT, "TooMany status.allocation.devices.results: must have at most 32 items"),
	N("admin access", ALLOCATION " ; status.allocation.devices.results[0].adminAccess=true", "Forbidden status.allocation.devices.results[0].adminAccess: admin access to devices requires"),
	{ "admin access where it is allowed", BASE_CLAIM, ON_STATUS, "", ALLOCATION " ; status.allocation.devices.results[0].adminAccess=true", "", ADMIN_NAMESPACE },
	N("config from a class", ALLOCATION " ; status.allocation.devices.config=[{\"source\":\"FromClass\",\"requests\":[\"req-0\"],\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}]", ""),
	N("config from nowhere", ALLOCATION " ; status.allocation.devices.config=[{\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}]", "Required status.allocation.devices.config[0].source"),
	N("config from elsewhere", ALLOCATION " ; status.allocation.devices.config=[{\"source\":\"Else\",\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}]", "NotSupported status.allocation.devices.config[0].source: \"FromClaim\", \"FromClass\""),
	N("config of nothing", ALLOCATION " ; status.allocation.devices.config=[{\"source\":\"FromClaim\"}]", "Required status.allocation.devices.config[0].opaque"),
	N("config for an unknown request", ALLOCATION " ; status.allocation.devices.config=[{\"source\":\"FromClaim\",\"requests\":[\"no\"],\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}]", "Invalid status.allocation.devices.config[0].requests[0]"),
	N("65 configs", "status.allocation.devices.config*65={\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}", "TooMany status.allocation.devices.config: must have at most 64 items"),
	N("config with large parameters", ALLOCATION " ; status.allocation.devices.config=[{\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}] ; status.allocation.devices.config[0].opaque.parameters.x*2600=1%", "TooLong status.allocation.devices.config[0].opaque.parameters"),
	N("reserved without an allocation", "status.reservedFor=[" POD "]", "Forbidden status.reservedFor: may not be specified when `allocated` is not set"),
	N("allocated and reserved at once", ALLOCATION " ; status.reservedFor=[" POD "]", ""),
	N("device status without an allocation", "status.devices=[{" DEVICE "}]", "Invalid status.devices[0]: must be an allocated device in the claim"),
	N("spec is not looked at", "spec.devices.requests[0].name=\"A\" ; status.reservedFor=", ""),

	A("the same allocation", "", ""),
	A("another device", "status.allocation.devices.results[0].device=\"gpu-1\"", "Invalid status.allocation: field is immutable"),
	A("another request in the allocation", "status.allocation.devices.results[0].request=\"!\"", "Invalid status.allocation: field is immutable"),
	A("one result more", "status.allocation.devices.results[1]=" RESULT, "Invalid status.allocation: field is immutable"),
	A("deallocated", "status.allocation=", ""),
	A("no status", "status=", ""),
	A("reserved", "status.reservedFor=[" POD "]", ""),
	A("reserved for two", "status.reservedFor=[" POD ",{\"apiGroup\":\"x.y\",\"resource\":\"jobs\",\"name\":\"j\",\"uid\":\"v\"}]", ""),
	A("reserved for nobody in particular", "status.reservedFor=[{}]", "Required status.reservedFor[0].resource\nRequired status.reservedFor[0].name\nRequired status.reservedFor[0].uid"),
	A("reserved for one twice", "status.reservedFor=[" POD "," POD "]", "Duplicate status.reservedFor[1]"),
	A("reserved for 256", "status.reservedFor*256={\"resource\":\"pods\",\"name\":\"p%\",\"uid\":\"u%\"}", ""),
	A("reserved for 257", "status.reservedFor*257={\"resource\":\"pods\",\"name\":\"p%\",\"uid\":\"u%\"}", "TooMany status.reservedFor: must have at most 256 items"),
	A("one uid among many twice", "status.reservedFor*100={\"resource\":\"pods\",\"name\":\"p%\",\"uid\":\"u%\"} ; status.reservedFor[99].uid=\"u7\"", "Duplicate status.reservedFor[99]"),
	A("reserved when deallocated", "status.allocation= ; status.reservedFor=[" POD "]", "Forbidden status.reservedFor: may not be specified when `allocated` is not set"),
	{ "deallocated while reserved", BASE_ALLOCATED, ON_STATUS, "status.reservedFor=[" POD "]", "status.allocation=", "Forbidden status.reservedFor: may not be specified when `allocated` is not set", 0 },
	{ "released", BASE_ALLOCATED, ON_STATUS, "status.reservedFor=[" POD "]", "status.reservedFor=", "", 0 },
	{ "released and deallocated", BASE_ALLOCATED, ON_STATUS, "status.reservedFor=[" POD "]", "status.reservedFor= ; status.allocation=", "", 0 },
	{ "reserved while deleting", BASE_ALLOCATED, ON_STATUS, "metadata.deletionTimestamp=\"2026-01-01T00:00:00Z\"", "status.reservedFor=[" POD "]", "Forbidden status.reservedFor: new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set", 0 },
	{ "released while deleting", BASE_ALLOCATED, ON_STATUS, "metadata.deletionTimestamp=\"2026-01-01T00:00:00Z\" ; status.reservedFor=[" POD ",{\"resource\":\"pods\",\"name\":\"q\",\"uid\":\"w\"}]", "status.reservedFor=[" POD "]", "", 0 },
	{ "exchanged while deleting", BASE_ALLOCATED, ON_STATUS, "metadata.deletionTimestamp=\"2026-01-01T00:00:00Z\" ; status.reservedFor=[" POD "]", "status.reservedFor=[{\"resource\":\"pods\",\"name\":\"q\",\"uid\":\"w\"}]", "Forbidden status.reservedFor: new entries may not be added", 0 },
	{ "a bad allocation that is stored", BASE_ALLOCATED, ON_STATUS, "status.allocation.devices.results[0].request=\"gone\"", "status.reservedFor=[" POD "]", "", 0 },
	{ "admin access that is stored", BASE_ALLOCATED, ON_STATUS, "status.allocation.devices.results[0].adminAccess=true", "status.reservedFor=[" POD "]", "", 0 },

	A("device status", "status.devices=[{" DEVICE ",\"conditions\":[" READY "],\"data\":{\"a\":1},\"networkData\":{\"interfaceName\":\"eth0\",\"ips\":[\"10.9.8.7/24\",\"2001:db8::1/64\"],\"hardwareAddress\":\"ea:9f:cb:40:b7:1f\"}}]", ""),
	A("status of another device", "status.devices=[{\"driver\":\"gpu.example.com\",\"pool\":\"node-1\",\"device\":\"gpu-1\"}]", "Invalid status.devices[0]: must be an allocated device in the claim"),
	A("status of a share that is not", "status.devices=[{" DEVICE ",\"shareID\":\"" UID "\"}]", "Invalid status.devices[0]: must be an allocated device in the claim"),
	A("device status without a driver", "status.devices=[{\"pool\":\"node-1\",\"device\":\"gpu-0\"}]", "Required status.devices[0].driver\nInvalid status.devices[0]: must be an allocated device"),
	A("device status without a pool", "status.devices=[{\"driver\":\"gpu.example.com\",\"device\":\"gpu-0\"}]", "Required status.devices[0].pool\nInvalid status.devices[0]"),
	A("device status without a device", "status.devices=[{\"driver\":\"gpu.example.com\",\"pool\":\"node-1\"}]", "Invalid status.devices[0].device\nInvalid status.devices[0]"),
	A("device status with a bad share", "status.devices=[{" DEVICE ",\"shareID\":\"x\"}]", "Invalid status.devices[0].shareID\nInvalid status.devices[0]"),
	A("a device's status twice", "status.devices=[{" DEVICE "},{" DEVICE "}]", "Duplicate status.devices[1]"),
	A("nine conditions", "status.devices=[{" DEVICE "}] ; status.devices[0].conditions*9={\"type\":\"T%\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}", "TooMany status.devices[0].conditions: must have at most 8 items"),
	A("a condition twice", "status.devices=[{" DEVICE ",\"conditions\":[" READY "," READY "]}]", "Duplicate status.devices[0].conditions[1]"),
	A("an empty condition", "status.devices=[{" DEVICE ",\"conditions\":[{}]}]", "Required status.devices[0].conditions[0].type\nRequired status.devices[0].conditions[0].status\nRequired status.devices[0].conditions[0].reason\nRequired status.devices[0].conditions[0].lastTransitionTime"),
	A("a condition with a bad status", "status.devices=[{" DEVICE ",\"conditions\":[" READY "]}] ; status.devices[0].conditions[0].status=\"Yes\"", "NotSupported status.devices[0].conditions[0].status: \"False\", \"True\", \"Unknown\""),
	A("a condition with a bad reason", "status.devices=[{" DEVICE ",\"conditions\":[" READY "]}] ; status.devices[0].conditions[0].reason=\"a b\"", "Invalid status.devices[0].conditions[0].reason: a condition reason must start with"),
	A("a condition with a bad type", "status.devices=[{" DEVICE ",\"conditions\":[" READY "]}] ; status.devices[0].conditions[0].type=\"a b\"", "Invalid status.devices[0].conditions[0].type"),
	A("a condition of a negative generation", "status.devices=[{" DEVICE ",\"conditions\":[" READY "]}] ; status.devices[0].conditions[0].observedGeneration=-1", "Invalid status.devices[0].conditions[0].observedGeneration: must be greater than or equal to zero"),
	A("data that is no object", "status.devices=[{" DEVICE ",\"data\":\"x\"}]", "Invalid status.devices[0].data: must be a valid JSON object"),
	A("large data", "status.devices=[{" DEVICE ",\"data\":{}}] ; status.devices[0].data.x*2600=1%", "TooLong status.devices[0].data: may not be more than 10240 bytes"),
	A("a long interface name", "status.devices=[{" DEVICE ",\"networkData\":{\"interfaceName\":\"" L63 L63 L63 L63 "abcde\"}}]", "TooLong status.devices[0].networkData.interfaceName: may not be more than 256 bytes"),
	A("a long hardware address", "status.devices=[{" DEVICE ",\"networkData\":{\"hardwareAddress\":\"" L63 L63 "abc\"}}]", "TooLong status.devices[0].networkData.hardwareAddress: may not be more than 128 bytes"),
	A("17 addresses", "status.devices=[{" DEVICE "}] ; status.devices[0].networkData.ips*17=\"10.0.0.%/24\"", "TooMany status.devices[0].networkData.ips: must have at most 16 items"),
	A("an address twice", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"10.9.8.7/24\",\"10.9.8.7/24\"]}}]", "Duplicate status.devices[0].networkData.ips[1]"),
	A("an address without its prefix", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"10.9.8.7\"]}}]", "Invalid status.devices[0].networkData.ips[0]: must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"),
	A("an address with leading zeros", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"010.009.008.007/24\"]}}]", "Invalid status.devices[0].networkData.ips[0]: must be in canonical form (\"10.9.8.7/24\")"),
	A("a long IPv6 address", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"2001:0DB8:0:0:0:0:0:1/64\"]}}]", "Invalid status.devices[0].networkData.ips[0]: must be in canonical form (\"2001:db8::1/64\")"),
	A("a mapped address", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"::ffff:1.2.3.4/120\"]}}]", "Invalid status.devices[0].networkData.ips[0]: must be in canonical form (\"1.2.3.4/24\")"),
	A("IPv6 addresses", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"::/0\",\"::1/128\",\"fe80::1:0:0:2/64\",\"1:2:3:4:5:6:7:8/128\",\"1:0:0:4::/64\",\"::102:304/96\"]}}]", ""),
	A("a prefix beyond the address", "status.devices=[{" DEVICE ",\"networkData\":{\"ips\":[\"10.9.8.7/33\",\"::/129\",\"1.2.3/8\",\"a/8\"]}}]", "Invalid status.devices[0].networkData.ips[0]\nInvalid status.devices[0].networkData.ips[1]\nInvalid status.devices[0].networkData.ips[2]\nInvalid status.devices[0].networkData.ips[3]"),
	{ "status of a share", BASE_ALLOCATED, ON_STATUS, "status.allocation.devices.results[0].shareID=\"" UID "\"", "status.devices=[{" DEVICE ",\"shareID\":\"" UID "\"}]", "", 0 },
	{ "status of a shared device without its share", BASE_ALLOCATED, ON_STATUS, "status.allocation.devices.results[0].shareID=\"" UID "\"", "status.devices=[{" DEVICE "}]", "Invalid status.devices[0]: must be an allocated device in the claim", 0 },
	{ "a stored condition stays", BASE_ALLOCATED, ON_STATUS, "status.devices=[{" DEVICE ",\"conditions\":[{\"type\":\"a b\"}]}]", "status.reservedFor=[" POD "]", "", 0 },
};

#undef A
#undef N
/* clang-format on */

#endif
