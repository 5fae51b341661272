/*
 * Estimates of Kubernetes' libraries, and of cel-go's functions of text, whose costs Kubernetes
 * sets itself. Any change here changes which rules a cluster takes.
 */
#include "cel/check/cost_impl.h"

enum { FORMAT_NAME_MAX = 64, FORMAT_PATTERN_MAX = 128 };

static struct cost_range read_cost(struct cost_range size)
{
	return range_factor(size, COST_PER_CHARACTER);
}

/*
 * Returns the element of a list, with its declaration if there is one. Returns false if it is not a
 * list.
 */
static bool element_of(const struct cost_node *list, struct cost_node *ret_element,
		       const struct cel_type **ret_type)
{
	const struct cel_type *declared = list->declared;

	*ret_type = list->e->type->params[0];
	if (!*ret_type)
		return false;
	*ret_element = (struct cost_node){ .e = NULL };
	if (declared && declared->kind == CEL_TYPE_LIST)
		ret_element->declared = declared->params[0];
	else if (declared && declared->kind == CEL_TYPE_MAP)
		ret_element->declared = declared->params[1];
	return true;
}

static struct cost_range element_size(const struct cost_call *call, const struct cost_node *element)
{
	struct cost_range size;

	if (cost_declared_size(call->flags, element->declared, &size))
		return size;
	return COST_UNKNOWN;
}

/* --- functions ---------------------------------------------------------------------- */

static bool one(struct cost_call *call)
{
	return cost_answer(call, COST_FIXED(1));
}

/* Of lists by their elements; indexOf() is also of text. */
static bool traversal(struct cost_call *call)
{
	struct cost_range each = COST_FIXED(1);
	const struct cel_type *type;
	struct cost_node element;

	if (!call->target)
		return false;
	if (!element_of(call->target, &element, &type) && strcmp(call->function, "includes") != 0)
		return cost_answer(call, read_cost(node_size(call->target)));
	if (type && (type->kind == CEL_TYPE_STRING || type->kind == CEL_TYPE_BYTES))
		each = range_add(each, read_cost(element_size(call, &element)));
	return cost_answer(call, range_multiply(node_size(call->target), each));
}

static bool from_text(struct cost_call *call)
{
	return call->nargs >= 1 && cost_answer(call, read_cost(node_size(&call->args[0])));
}

static bool url(struct cost_call *call)
{
	struct cost_range size;

	if (call->nargs != 1)
		return false;
	size = node_size(&call->args[0]);
	return cost_answer_sized(call, read_cost(size), size);
}

static bool part(struct cost_call *call)
{
	struct cost_range size;

	if (!call->target)
		return false;
	size = node_size(call->target);
	return cost_answer_sized(call, read_cost(size), size);
}

/* Returns how often a part of size `what` can occur in a text of size n. */
static uint64_t replacements(uint64_t n, uint64_t what)
{
	double times = (double)n / (double)what;
	uint64_t whole = times >= 0x1p64 ? UINT64_MAX : (uint64_t)times;

	return whole + (whole < UINT64_MAX && (double)whole < times);
}

/* Replacing an empty text inserts the replacement before, after and between all characters. */
static bool cost_kubernetes_replace(struct cost_call *call)
{
	struct cost_range size, what, with, count = { 0, 0 }, kept = { 0, 0 };

	if (!call->target || call->nargs < 2)
		return false;
	size = node_size(call->target);
	what = node_size(&call->args[0]);
	with = node_size(&call->args[1]);
	if (what.min == 0) {
		count.max = cost_add(size.max, 1);
		kept.max = size.max;
	} else if (with.max <= what.min) {
		kept.max = size.max;
	} else {
		count.max = replacements(size.max, what.min);
	}
	if (what.max == 0) {
		count.min = cost_add(size.min, 1);
		kept.min = size.min;
	} else if (what.max <= with.min) {
		kept.min = size.min;
	} else {
		count.min = replacements(size.min, what.max);
	}
	return cost_answer_sized(call, range_factor(size, 2 * COST_PER_CHARACTER),
				 range_add(range_multiply(count, with), kept));
}

/* At worst each character is an element. */
static bool cost_kubernetes_split(struct cost_call *call)
{
	struct cost_range size, pieces;

	if (!call->target)
		return false;
	size = node_size(call->target);
	pieces = (struct cost_range){ 0, size.max };
	if (call->nargs > 1 && call->args[1].e->kind == CEL_EXPR_CONST &&
	    call->args[1].e->constant.kind == CEL_INT)
		pieces.max = (uint64_t)call->args[1].e->constant.i;
	return cost_answer_sized(call, range_factor(size, 2 * COST_PER_CHARACTER), pieces);
}

static bool cost_kubernetes_join(struct cost_call *call)
{
	struct cost_range size = { 0, 0 }, list, gaps;
	const struct cel_type *type;
	struct cost_node element;

	if (!call->target)
		return false;
	list = node_size(call->target);
	if (element_of(call->target, &element, &type))
		size = range_multiply(list, element_size(call, &element));
	if (call->nargs > 0) {
		gaps = (struct cost_range){ list.min - (list.min > 0), list.max - (list.max > 0) };
		size = range_add(size, range_multiply(node_size(&call->args[0]), gaps));
	}
	return cost_answer_sized(call, read_cost(size), size);
}

static bool find_pattern(struct cost_call *call)
{
	struct cost_range size, text, pattern;

	if (!call->target || call->nargs < 1)
		return false;
	size = node_size(call->target);
	text = read_cost(range_add(size, COST_FIXED(1)));
	pattern = range_factor(node_size(&call->args[0]), COST_PER_PATTERN);
	return cost_answer_sized(call, range_multiply(text, pattern),
				 (struct cost_range){ 0, size.max });
}

static bool ip(struct cost_call *call)
{
	return strcmp(call->id, "cidr_ip") == 0 ? one(call) : from_text(call);
}

static bool is_canonical(struct cost_call *call)
{
	return call->nargs >= 1 &&
	       cost_answer(call, range_factor(node_size(&call->args[0]), 2 * COST_PER_CHARACTER));
}

static const struct cost_range address = { 4, 16 }; /* bytes */

static bool contains_ip(struct cost_call *call)
{
	struct cost_range cost = read_cost(range_add(address, address));

	if (call->nargs < 1)
		return false;
	if (strcmp(call->id, "cidr_contains_ip_string") == 0)
		cost = range_add(cost, read_cost(node_size(&call->args[0])));
	return cost_answer(call, cost);
}

static bool contains_cidr(struct cost_call *call)
{
	struct cost_range cost = read_cost(range_add(address, address));

	if (call->nargs < 1)
		return false;
	cost = range_add(range_add(cost, read_cost(address)), COST_FIXED(1));
	if (strcmp(call->id, "cidr_contains_cidr_string") == 0)
		cost = range_add(cost, read_cost(node_size(&call->args[0])));
	return cost_answer(call, cost);
}

static bool cost_kubernetes_validate(struct cost_call *call)
{
	if (call->nargs < 1)
		return false;
	return cost_answer(call, range_factor(read_cost(node_size(&call->args[0])),
					      FORMAT_PATTERN_MAX * COST_PER_PATTERN));
}

/* Upstream takes the size of the second for both. */
static bool equal_urls(struct cost_call *call)
{
	struct cost_range size = { 1, 1 };

	if (call->args[1].has_size)
		size.max = call->args[1].size.max;
	return cost_answer(call, read_cost(size));
}

static bool equal(struct cost_call *call)
{
	static const char *const simple[] = { "net.IP", "net.CIDR", "kubernetes.Quantity",
					      "kubernetes.Semver" };
	const struct cel_type *type;

	if (call->nargs != 2)
		return false;
	type = call->args[0].e->type;
	if (type->kind != CEL_TYPE_OPAQUE || !cel_type_equal(type, call->args[1].e->type))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(simple); i++) {
		if (str_eqz(type->name, simple[i]))
			return one(call);
	}
	if (str_eqz(type->name, "kubernetes.NamedFormat"))
		return cost_answer(call, read_cost((struct cost_range){ 1, FORMAT_NAME_MAX }));
	return str_eqz(type->name, "kubernetes.URL") && equal_urls(call);
}

/* --- the table ---------------------------------------------------------------------- */

static const struct row {
	const char *function;
	bool (*estimate)(struct cost_call *call);
} rows[] = {
	{ "_==_", equal },
	{ "add", one },
	{ "asApproximateFloat", one },
	{ "asInteger", one },
	{ "cidr", from_text },
	{ "compareTo", one },
	{ "containsCIDR", contains_cidr },
	{ "containsIP", contains_ip },
	{ "family", one },
	{ "find", find_pattern },
	{ "findAll", find_pattern },
	{ "format.named", one },
	{ "getEscapedPath", one },
	{ "getHost", one },
	{ "getHostname", one },
	{ "getPort", one },
	{ "getQuery", one },
	{ "getScheme", one },
	{ "includes", traversal },
	{ "indexOf", traversal },
	{ "ip", ip },
	{ "ip.isCanonical", is_canonical },
	{ "isCIDR", from_text },
	{ "isGlobalUnicast", one },
	{ "isGreaterThan", one },
	{ "isIP", from_text },
	{ "isInteger", one },
	{ "isLessThan", one },
	{ "isLinkLocalMulticast", one },
	{ "isLinkLocalUnicast", one },
	{ "isLoopback", one },
	{ "isQuantity", from_text },
	{ "isSemver", from_text },
	{ "isSorted", traversal },
	{ "isUnspecified", one },
	{ "join", cost_kubernetes_join },
	{ "jsonpatch.escapeKey", url },
	{ "lastIndexOf", traversal },
	{ "lowerAscii", part },
	{ "major", one },
	{ "masked", one },
	{ "max", traversal },
	{ "min", traversal },
	{ "minor", one },
	{ "patch", one },
	{ "prefixLength", one },
	{ "quantity", from_text },
	{ "replace", cost_kubernetes_replace },
	{ "semver", from_text },
	{ "sign", one },
	{ "split", cost_kubernetes_split },
	{ "sub", one },
	{ "substring", part },
	{ "sum", traversal },
	{ "trim", part },
	{ "upperAscii", part },
	{ "url", url },
	{ "validate", cost_kubernetes_validate },
};

bool cost_estimate_kubernetes(struct cost_call *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strcmp(rows[i].function, call->function) == 0)
			return rows[i].estimate(call);
	}
	return false;
}
