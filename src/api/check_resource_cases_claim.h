/*
 * check_resource_cases_claim - rows of ResourceClaims and their templates.
 */
#ifndef API_CHECK_RESOURCE_CASES_CLAIM_H
#define API_CHECK_RESOURCE_CASES_CLAIM_H

#include "api/check_resource_cases.h"

/* clang-format off */
#define C(name, edits, expected) { name, BASE_CLAIM, ON_CREATE, "", edits, expected, 0 }
#define U(name, edits, expected) { name, BASE_CLAIM, ON_UPDATE, "", edits, expected, 0 }
#define T(name, edits, expected) { name, BASE_TEMPLATE, ON_CREATE, "", edits, expected, 0 }
#define REQ "spec.devices.requests"
#define BAD_REF "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

static const struct resource_case claim_cases[] = {
	C("a claim", "", ""),
	C("no namespace", "metadata.namespace=", "Required metadata.namespace"),
	C("bad namespace", "metadata.namespace=\"a.b\"", "Invalid metadata.namespace: must not contain dots"),
	C("bad name", "metadata.name=\"A\"", "Invalid metadata.name"),
	C("a claim for nothing", "spec.devices.requests=", ""),
	C("no spec", "spec=", ""),
	C("request without a name", REQ "[0].name=\"\"", "Invalid spec.devices.requests[0].name: a lowercase RFC 1123 label"),
	C("bad request name", REQ "[0].name=\"*\"", "Invalid spec.devices.requests[0].name: a lowercase RFC 1123 label"),
	C("request name with dots", REQ "[0].name=\"a.b\"", "Invalid spec.devices.requests[0].name: must not contain dots"),
	C("the same request twice", REQ "[1].name=\"req-0\"", "Duplicate spec.devices.requests[1]"),
	C("32 requests", REQ "*32={\"name\":\"r-%\",\"exactly\":{\"deviceClassName\":\"c\"}}", ""),
	C("33 requests", REQ "*33={\"name\":\"r-%\",\"exactly\":{\"deviceClassName\":\"c\"}}", "TooMany spec.devices.requests: must have at most 32 items"),
	C("request for nothing", REQ "[0].exactly=", "Required spec.devices.requests[0]: exactly one of `exactly` or `firstAvailable` is required"),
	C("request both ways", REQ "[0].firstAvailable=[{\"name\":\"x\",\"deviceClassName\":\"c\"}]", "Invalid spec.devices.requests[0]: but multiple fields are set"),
	C("no class", REQ "[0].exactly.deviceClassName=\"\"", "Required spec.devices.requests[0].exactly.deviceClassName"),
	C("bad class", REQ "[0].exactly.deviceClassName=\"A b\"", "Invalid spec.devices.requests[0].exactly.deviceClassName: a lowercase RFC 1123 subdomain"),
	C("count", REQ "[0].exactly.count=7", ""),
	C("negative count", REQ "[0].exactly.count=-1", "Invalid spec.devices.requests[0].exactly.count: must be greater than zero"),
	C("all", REQ "[0].exactly.allocationMode=\"All\"", ""),
	C("all and a count", REQ "[0].exactly.allocationMode=\"All\" ; " REQ "[0].exactly.count=1", "Invalid spec.devices.requests[0].exactly.count: must not be specified when allocationMode is 'All'"),
	C("another mode", REQ "[0].exactly.allocationMode=\"Some\"", "NotSupported spec.devices.requests[0].exactly.allocationMode: supported values: \"All\", \"ExactCount\""),
	C("selector", REQ "[0].exactly.selectors=[{\"cel\":{\"expression\":\"device.driver == 'x'\"}}]", ""),
	C("selector without cel", REQ "[0].exactly.selectors=[{}]", "Required spec.devices.requests[0].exactly.selectors[0].cel"),
	C("empty expression", REQ "[0].exactly.selectors=[{\"cel\":{\"expression\":\"\"}}]", "Required spec.devices.requests[0].exactly.selectors[0].cel.expression"),
	C("33 selectors", REQ "[0].exactly.selectors*33={\"cel\":{\"expression\":\"true\"}}", "TooMany spec.devices.requests[0].exactly.selectors: must have at most 32 items"),
	C("toleration that exists", REQ "[0].exactly.tolerations=[{\"operator\":\"Exists\"}]", ""),
	C("toleration that equals", REQ "[0].exactly.tolerations=[{\"key\":\"a\",\"value\":\"b\",\"effect\":\"NoExecute\"}]", ""),
	C("toleration that exists with a value", REQ "[0].exactly.tolerations=[{\"operator\":\"Exists\",\"value\":\"x\"}]", "Invalid spec.devices.requests[0].exactly.tolerations[0].value: must be empty for operator `Exists`"),
	C("toleration with another operator", REQ "[0].exactly.tolerations=[{\"operator\":\"In\"}]", "NotSupported spec.devices.requests[0].exactly.tolerations[0].operator: \"Equal\", \"Exists\""),
	C("toleration with another effect", REQ "[0].exactly.tolerations=[{\"operator\":\"Exists\",\"effect\":\"Maybe\"}]", "NotSupported spec.devices.requests[0].exactly.tolerations[0].effect"),
	C("toleration with a bad key", REQ "[0].exactly.tolerations=[{\"key\":\"a b\",\"operator\":\"Exists\"}]", "Invalid spec.devices.requests[0].exactly.tolerations[0].key"),
	C("toleration with a bad value", REQ "[0].exactly.tolerations=[{\"key\":\"a\",\"value\":\"b c\"}]", "Invalid spec.devices.requests[0].exactly.tolerations[0].value"),
	C("20 tolerations", REQ "[0].exactly.tolerations*20={\"operator\":\"Exists\"}", ""),
	C("capacity", REQ "[0].exactly.capacity={\"requests\":{\"memory\":\"1Gi\"}}", ""),

	C("first available", REQ "*1={\"name\":\"r\",\"firstAvailable\":[{\"name\":\"s\",\"deviceClassName\":\"c\",\"count\":2}]}", ""),
	C("nine alternatives", REQ "[1].firstAvailable*9={\"name\":\"s-%\",\"deviceClassName\":\"c\"}", "TooMany spec.devices.requests[1].firstAvailable: must have at most 8 items"),
	C("alternative without a name", REQ "[1].firstAvailable[0].name=\"\"", "Invalid spec.devices.requests[1].firstAvailable[0].name"),
	C("the same alternative twice", REQ "[1].firstAvailable[1].name=\"sub-0\"", "Duplicate spec.devices.requests[1].firstAvailable[1]"),
	C("alternative without a class", REQ "[1].firstAvailable[0].deviceClassName=\"\"", "Required spec.devices.requests[1].firstAvailable[0].deviceClassName"),
	C("alternative with a bad class", REQ "[1].firstAvailable[0].deviceClassName=\"!\"", "Invalid spec.devices.requests[1].firstAvailable[0].deviceClassName"),
	C("alternative with all and a count", REQ "[1].firstAvailable[0].allocationMode=\"All\" ; " REQ "[1].firstAvailable[0].count=1", "Invalid spec.devices.requests[1].firstAvailable[0].count"),
	C("alternative with a bad selector", REQ "[1].firstAvailable[0].selectors=[{\"cel\":{}}]", "Required spec.devices.requests[1].firstAvailable[0].selectors[0].cel.expression"),
	C("alternative with a bad toleration", REQ "[1].firstAvailable[0].tolerations=[{\"operator\":\"Exists\",\"value\":\"x\"}]", "Invalid spec.devices.requests[1].firstAvailable[0].tolerations[0].value"),

	C("constraint", "spec.devices.constraints=[{\"requests\":[\"req-0\",\"req-1\"],\"matchAttribute\":\"example.com/a\"}]", ""),
	C("constraint on an alternative", "spec.devices.constraints=[{\"requests\":[\"req-1/sub-1\"],\"matchAttribute\":\"example.com/a\"}]", ""),
	C("constraint on all", "spec.devices.constraints=[{\"distinctAttribute\":\"example.com/a\"}]", ""),
	C("constraint of both", "spec.devices.constraints=[{\"matchAttribute\":\"example.com/a\",\"distinctAttribute\":\"example.com/a\"}]", ""),
	C("constraint on nothing", "spec.devices.constraints=[{\"requests\":[\"req-0\"]}]", "Required spec.devices.constraints[0]: exactly one of \"matchAttribute\" or \"distinctAttribute\" is required"),
	C("constraint on an unknown request", "spec.devices.constraints=[{\"requests\":[\"no\"],\"matchAttribute\":\"example.com/a\"}]", "Invalid spec.devices.constraints[0].requests[0]: " BAD_REF),
	C("constraint on an unknown alternative", "spec.devices.constraints=[{\"requests\":[\"req-1/no\"],\"matchAttribute\":\"example.com/a\"}]", "Invalid spec.devices.constraints[0].requests[0]: " BAD_REF),
	C("constraint on an alternative of none", "spec.devices.constraints=[{\"requests\":[\"req-0/sub-0\"],\"matchAttribute\":\"example.com/a\"}]", "Invalid spec.devices.constraints[0].requests[0]: " BAD_REF),
	C("constraint with two slashes", "spec.devices.constraints=[{\"requests\":[\"a/b/c\"],\"matchAttribute\":\"example.com/a\"}]", "Invalid spec.devices.constraints[0].requests[0]: " BAD_REF),
	C("constraint on a bad name", "spec.devices.constraints=[{\"requests\":[\"A\"],\"matchAttribute\":\"example.com/a\"}]", "Invalid spec.devices.constraints[0].requests[0]: a lowercase RFC 1123 label\nInvalid spec.devices.constraints[0].requests[0]: " BAD_REF),
	C("constraint on a request twice", "spec.devices.constraints=[{\"requests\":[\"req-0\",\"req-0\"],\"matchAttribute\":\"example.com/a\"}]", "Duplicate spec.devices.constraints[0].requests[1]"),
	C("constraint on a bare attribute", "spec.devices.constraints=[{\"matchAttribute\":\"a\"}]", "Invalid spec.devices.constraints[0].matchAttribute: a fully qualified name must be a domain and a name separated by a slash"),
	C("constraint on no attribute's name", "spec.devices.constraints=[{\"matchAttribute\":\"example.com/\"}]", "Invalid spec.devices.constraints[0].matchAttribute: the name must not be empty"),
	C("distinct bare attribute", "spec.devices.constraints=[{\"distinctAttribute\":\"a\"}]", "Invalid spec.devices.constraints[0].distinctAttribute: a fully qualified name"),
	C("33 constraints", "spec.devices.constraints*33={\"matchAttribute\":\"example.com/a\"}", "TooMany spec.devices.constraints: must have at most 32 items"),

	C("config", "spec.devices.config=[{\"requests\":[\"req-0\"],\"opaque\":{\"driver\":\"gpu.example.com\",\"parameters\":{\"a\":1}}}]", ""),
	C("config with an empty object", "spec.devices.config=[{\"opaque\":{\"driver\":\"gpu.example.com\",\"parameters\":{}}}]", ""),
	C("config of nothing", "spec.devices.config=[{\"requests\":[\"req-0\"]}]", "Required spec.devices.config[0].opaque"),
	C("config without parameters", "spec.devices.config=[{\"opaque\":{\"driver\":\"gpu.example.com\"}}]", "Required spec.devices.config[0].opaque.parameters"),
	C("config with null", "spec.devices.config=[{\"opaque\":{\"driver\":\"gpu.example.com\",\"parameters\":null}}]", "Required spec.devices.config[0].opaque.parameters"),
	C("config with a list", "spec.devices.config=[{\"opaque\":{\"driver\":\"gpu.example.com\",\"parameters\":[1]}}]", "Invalid spec.devices.config[0].opaque.parameters: must be a valid JSON object"),
	C("config without a driver", "spec.devices.config=[{\"opaque\":{\"parameters\":{}}}]", "Required spec.devices.config[0].opaque.driver"),
	C("config with a bad driver", "spec.devices.config=[{\"opaque\":{\"driver\":\"!\",\"parameters\":{}}}]", "Invalid spec.devices.config[0].opaque.driver"),
	C("config for an unknown request", "spec.devices.config=[{\"requests\":[\"no\"],\"opaque\":{\"driver\":\"gpu.example.com\",\"parameters\":{}}}]", "Invalid spec.devices.config[0].requests[0]: " BAD_REF),
	C("config for a request twice", "spec.devices.config=[{\"requests\":[\"req-0\",\"req-0\"],\"opaque\":{\"driver\":\"gpu.example.com\",\"parameters\":{}}}]", "Duplicate spec.devices.config[0].requests[1]"),
	C("33 configs", "spec.devices.config*33={\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}", "TooMany spec.devices.config: must have at most 32 items"),
	C("large parameters", "spec.devices.config=[{\"opaque\":{\"driver\":\"d\",\"parameters\":{}}}] ; spec.devices.config[0].opaque.parameters.x*2600=1%", "TooLong spec.devices.config[0].opaque.parameters: may not be more than 10240 bytes"),

	C("derived attribute", REQ "[0].exactly.derivedAttributes=[{\"name\":\"example.com/a\",\"expression\":\"1\"}] ; spec.devices.constraints=[{\"matchAttribute\":\"example.com/a\"}]", ""),
	C("derived attribute that nobody uses", REQ "[0].exactly.derivedAttributes=[{\"name\":\"example.com/a\",\"expression\":\"1\"}]", "Invalid spec.devices.requests[0].exactly.derivedAttributes[0].name: must be referenced by at least one"),
	C("derived attribute for another request", REQ "[0].exactly.derivedAttributes=[{\"name\":\"example.com/a\",\"expression\":\"1\"}] ; spec.devices.constraints=[{\"requests\":[\"req-1\"],\"matchAttribute\":\"example.com/a\"}]", "Invalid spec.devices.requests[0].exactly.derivedAttributes[0].name"),
	C("derived attribute of an alternative", REQ "[1].firstAvailable[0].derivedAttributes=[{\"name\":\"example.com/a\",\"expression\":\"1\"}] ; spec.devices.constraints=[{\"requests\":[\"req-1\"],\"matchAttribute\":\"example.com/a\"}]", ""),
	C("derived attribute without parts", REQ "[0].exactly.derivedAttributes=[{}]", "Required spec.devices.requests[0].exactly.derivedAttributes[0].name\nRequired spec.devices.requests[0].exactly.derivedAttributes[0].expression"),

	C("admin access elsewhere", REQ "[0].exactly.adminAccess=true", "Forbidden spec.devices.requests[0].adminAccess: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"),
	C("admin access refused by the user", REQ "[0].exactly.adminAccess=false", ""),
	{ "admin access where it is allowed", BASE_CLAIM, ON_CREATE, "", REQ "[0].exactly.adminAccess=true", "", ADMIN_NAMESPACE },
	{ "a constraint without the gate", BASE_CLAIM, ON_CREATE, "", "spec.devices.constraints=[{\"requests\":[\"req-0\"]}]", "Required spec.devices.constraints[0]", ONLY_DEFAULT_GATES },

	U("other labels", "metadata.labels={\"a\":\"b\"}", ""),
	U("another spec", REQ "[0].exactly.count=2", "Invalid spec: field is immutable"),
	U("another request", REQ "[2]={\"name\":\"x\",\"exactly\":{\"deviceClassName\":\"c\"}}", "Invalid spec: field is immutable"),
	U("a bad spec is only immutable", REQ "[0].name=\"A\"", "Invalid spec: field is immutable"),
	U("no spec any more", "spec=", "Invalid spec: field is immutable"),
	U("status is not looked at in spec", "status={\"reservedFor\":[{}]}", ""),
	{ "admin access that is stored", BASE_CLAIM, ON_UPDATE, REQ "[0].exactly.adminAccess=true", "metadata.labels={\"a\":\"b\"}", "", 0 },
	{ "update without a version", BASE_CLAIM, ON_UPDATE, "", "metadata.resourceVersion=", "", 0 },

	T("a template", "", ""),
	T("template with labels", "spec.metadata={\"labels\":{\"a\":\"b\"},\"annotations\":{\"a\":\"b c\"}}", ""),
	T("template with a bad label", "spec.metadata={\"labels\":{\"a\":\"b c\"}}", "Invalid spec.metadata.labels"),
	T("template with a bad annotation", "spec.metadata={\"annotations\":{\"a b\":\"\"}}", "Invalid spec.metadata.annotations"),
	T("template with a name", "spec.metadata={\"name\":\"x\",\"generateName\":\"y\"}", "Forbidden spec.metadata.name: cannot be set\nForbidden spec.metadata.generateName: cannot be set"),
	T("template with a bad claim", "spec.spec.devices.requests[0].exactly.deviceClassName=\"\"", "Required spec.spec.devices.requests[0].exactly.deviceClassName"),
	T("template with admin access", "spec.spec.devices.requests[0].exactly.adminAccess=true", "Forbidden spec.devices.requests[0].adminAccess"),
	{ "template that changes", BASE_TEMPLATE, ON_UPDATE, "", "spec.spec.devices.requests[0].exactly.count=3", "Invalid spec: field is immutable", 0 },
	{ "template with other labels", BASE_TEMPLATE, ON_UPDATE, "", "metadata.labels={\"a\":\"b\"}", "", 0 },
};

#undef C
#undef U
#undef T
#undef REQ
/* clang-format on */

#endif
