/*
 * The comparison comes first and needs no authorizer: most writes of a status change only one of
 * its parts. Rights are checked by the same authorizer as for every request, with attributes that
 * no path has. Error texts are upstream's, followed by KEP-4817's right and the nodes; without
 * these nobody could see why a right that the caller has does not count.
 */
#include "server/plugins/claim_access.h"

#include <stdlib.h>

#include "api/schema/names.h"
#include "api/validate/validate.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/text/print.h"
#include "server/admission/request.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"

/*
 * A claim has at most 32 allocated devices, and as many may have had entries before. A write that
 * touches more drivers names some that are not allocated, and is rejected for that.
 */
enum { DRIVERS_MAX = 64 };

#define GROUP STR("resource.k8s.io")

struct ask {
	struct write *write;
	const struct admission_request *req;
	struct str verb; /* of the request: "update" or "patch" */
	struct str claim_node; /* p NULL: not known */
	struct claim_access_place place;
	VEC(struct str) drivers; /* those whose entries differ */
};

/* --- nodes ------------------------------------------------------------------------ */

struct str claim_access_node(const struct json *allocation)
{
	const struct json *selector = json_getz(allocation, "nodeSelector");
	const struct json *terms = json_getz(selector, "nodeSelectorTerms");
	const struct json *term = json_at(terms, 0);
	const struct json *fields = json_getz(term, "matchFields");
	const struct json *field = json_at(fields, 0);
	const struct json *values = json_getz(field, "values");

	if (json_count(terms) != 1 || json_count(json_getz(term, "matchExpressions")) != 0 ||
	    json_count(fields) != 1 || json_count(values) != 1 ||
	    !str_eqz(json_text_at(field, "key"), "metadata.name") ||
	    !str_eqz(json_text_at(field, "operator"), "In"))
		return STR_NULL;
	return json_str(json_at(values, 0)).n ? json_str(json_at(values, 0)) : STR_NULL;
}

static bool has_extra(const struct user *u, struct str key)
{
	for (size_t i = 0; i < u->nextras; i++)
		if (str_eq(u->extras[i].key, key) && u->extras[i].nvalues)
			return true;
	return false;
}

/* Being on a node only ever takes rights away, so here the user name is enough. */
struct claim_access_place claim_access_place(const struct user *u)
{
	static const struct str prefix = { "system:node:", 12 };
	struct claim_access_place place = { 0 };
	struct str ns, name, node;

	if (str_starts(u->name, prefix)) {
		node = str_skip(u->name, prefix.n);
		place.on_node = true;
	} else {
		place.account = user_service_account(u, &ns, &name);
		place.on_node = place.account && has_extra(u, USER_EXTRA_NODE_NAME);
		node = place.on_node ? user_extra(u, USER_EXTRA_NODE_NAME) : STR_NULL;
	}
	if (node.n && !names_dns_subdomain(node))
		place.node = node;
	return place;
}

static void print_places(struct buf *out, const struct ask *k)
{
	(void)buf_addz(out, "; claim is on ");
	if (k->claim_node.p)
		(void)buf_printf(out, "node \"%.*s\"", STR_ARG(k->claim_node));
	else
		(void)buf_addz(out, "no single node");
	(void)buf_addz(out, ", user is on ");
	if (k->place.node.p)
		(void)buf_printf(out, "node \"%.*s\"", STR_ARG(k->place.node));
	else
		(void)buf_addz(out, k->place.on_node ? "an unknown node" : "no node");
}

/* --- rights ----------------------------------------------------------------------- */

static struct authz_query query(const struct ask *k, const char *resource, const char *subresource,
				struct str verb, struct str name)
{
	return (struct authz_query){ .user = k->req->user,
				     .verb = verb,
				     .group = GROUP,
				     .version = k->req->write->kind->version,
				     .resource = str_from(resource),
				     .subresource = str_from(subresource),
				     .name = name };
}

/* Appends the reason in the wording of upstream's Forbidden. */
static bool require(const struct ask *k, const struct authz_query *q, struct buf *why)
{
	struct error err = { 0 };

	if (authz_require(k->req->server->authz, q, k->write->arena, &err) == 0)
		return true;
	(void)buf_printf(why, "%.*s.%.*s ", STR_ARG(q->resource), STR_ARG(q->group));
	if (q->name.n) {
		(void)print_quoted(why, q->name);
		(void)buf_addc(why, ' ');
	}
	(void)buf_printf(why, "is forbidden: %s", err.msg);
	return false;
}

/* For example associated-node:patch. */
static struct str node_verb(const struct ask *k, const char *prefix)
{
	return str_from(arena_printf(k->write->arena, "%s:%.*s", prefix, STR_ARG(k->verb)));
}

/* Upstream's right. If both verbs are denied, only the first denial is reported. */
static bool has_driver_right(const struct ask *k, struct str driver, struct buf *why)
{
	CLEANUP(buf_release) struct buf unsaid = BUF_INIT(4 * KIB);
	struct str near = node_verb(k, "associated-node"), far = node_verb(k, "arbitrary-node");
	struct authz_query q = query(k, "resourceclaims", "driver", far, driver);
	bool associated = k->place.account && k->claim_node.p && k->place.node.p &&
			  str_eq(k->place.node, k->claim_node);

	q.ns = k->req->ns;
	(void)buf_printf(why,
			 "resource=\"resourceclaims/driver\", verb=\"[%.*s%s%.*s]\" "
			 "permission: ",
			 STR_ARG(associated ? near : STR("")), associated ? " " : "", STR_ARG(far));
	if (!associated)
		return require(k, &q, why);
	q.verb = near;
	if (require(k, &q, why))
		return true;
	q.verb = far;
	return require(k, &q, &unsaid);
}

/*
 * KEP-4817's right. RBAC compares a "*" in resourceNames literally, so the query has it
 * literally.
 */
static bool has_drivers_right(const struct ask *k, struct str driver, struct buf *why)
{
	CLEANUP(buf_release) struct buf unsaid = BUF_INIT(4 * KIB);
	static const struct str verb = { "update-device-status", 20 };
	struct authz_query q = query(k, "drivers", "", verb, driver);

	(void)buf_printf(why,
			 "; nor does resource=\"drivers\", verb=\"%.*s\" permission allow it: ",
			 STR_ARG(verb));
	if (k->place.on_node && k->claim_node.p && !str_eq(k->place.node, k->claim_node)) {
		(void)buf_printf(why, "it is for driver \"%.*s\" on the user's own node only",
				 STR_ARG(driver));
		return false;
	}
	if (require(k, &q, why))
		return true;
	q.name = STR("*");
	return require(k, &q, &unsaid);
}

/* --- differences ------------------------------------------------------------------ */

static bool same_part(const struct json *a, const struct json *b, const char *name)
{
	const struct json *x = json_getz(a, name), *y = json_getz(b, name);

	if (validate_is_unset(x) || validate_is_unset(y))
		return validate_is_unset(x) && validate_is_unset(y);
	return json_equal(x, y);
}

static bool same_device(const struct json *a, const struct json *b)
{
	return same_part(a, b, "driver") && same_part(a, b, "pool") && same_part(a, b, "device") &&
	       same_part(a, b, "shareID");
}

/* Absent and empty objects differ. */
static bool same_object(const struct json *a, const struct json *b, const char *name)
{
	const struct json *x = json_getz(a, name), *y = json_getz(b, name);

	return x && y ? json_equal(x, y) : x == y;
}

/* An absent member equals an empty one, as in protobuf. */
static bool same_condition(const struct json *a, const struct json *b)
{
	static const char *const members[] = {
		"type", "status", "observedGeneration", "lastTransitionTime", "reason", "message"
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!same_part(a, b, members[i]))
			return false;
	return true;
}

static bool same_conditions(const struct json *a, const struct json *b)
{
	const struct json *other = json_first(json_getz(b, "conditions"));

	if (json_count(json_getz(a, "conditions")) != json_count(json_getz(b, "conditions")))
		return false;
	JSON_FOREACH (condition, json_getz(a, "conditions")) {
		if (!same_condition(condition, other))
			return false;
		other = other->next;
	}
	return true;
}

static bool has_same(const struct json *list, const struct json *entry)
{
	JSON_FOREACH (it, list)
		if (same_device(it, entry))
			return same_conditions(it, entry) && same_object(it, entry, "data") &&
			       same_object(it, entry, "networkData");
	return false;
}

static void add_driver(struct ask *k, const struct json *entry)
{
	struct str driver = json_text_at(entry, "driver");

	for (size_t i = 0; i < k->drivers.n; i++)
		if (str_eq(k->drivers.v[i], driver))
			return;
	(void)vec_push(&k->drivers, driver);
}

/* Adds the drivers of entries that `other` lacks or has differently; stops at DRIVERS_MAX. */
static void add_differing(struct ask *k, const struct json *list, const struct json *other)
{
	JSON_FOREACH (entry, list) {
		if (k->drivers.n == DRIVERS_MAX)
			return;
		if (!has_same(other, entry))
			add_driver(k, entry);
	}
}

/* --- the rules -------------------------------------------------------------------- */

static void check_binding(struct ask *k)
{
	CLEANUP(buf_release) struct buf why = BUF_INIT(4 * KIB);
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "allocation");
	struct authz_query q = query(k, "resourceclaims", "binding", k->verb, STR(""));

	if (require(k, &q, &why))
		return;
	field_errors_addf(&k->write->errs, FIELD_FORBIDDEN, &path, FIELD_OMITTED,
			  "changing status.allocation or status.reservedFor requires "
			  "resource=\"resourceclaims/binding\", verb=\"%.*s\" permission: %.*s",
			  STR_ARG(k->verb), STR_ARG(buf_str(&why)));
}

static void check_driver(struct ask *k, struct str driver)
{
	CLEANUP(buf_release) struct buf why = BUF_INIT(4 * KIB);
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "devices");

	if (has_driver_right(k, driver, &why) || has_drivers_right(k, driver, &why))
		return;
	print_places(&why, k);
	field_errors_addf(&k->write->errs, FIELD_FORBIDDEN, &path, FIELD_OMITTED,
			  "changing status.devices requires %.*s", STR_ARG(buf_str(&why)));
}

static void check_devices(struct ask *k, const struct json *old, const struct json *status)
{
	const struct json *before = json_getz(old, "devices"), *now = json_getz(status, "devices");

	vec_init(&k->drivers, DRIVERS_MAX);
	add_differing(k, now, before);
	add_differing(k, before, now);
	if (k->drivers.n)
		qsort(k->drivers.v, k->drivers.n, sizeof(*k->drivers.v), str_order);
	for (size_t i = 0; i < k->drivers.n; i++)
		check_driver(k, k->drivers.v[i]);
	vec_release(&k->drivers);
}

static void authorize(struct write *w, const struct json *old_claim, const struct json *claim)
{
	const struct admission_request *req = w->authorize_arg;
	const struct json *old = json_getz(old_claim, "status");
	const struct json *status = json_getz(claim, "status");
	const struct json *allocation = json_getz(status, "allocation");
	struct ask k = { .write = w, .req = req };

	k.verb = str_from(request_verb_name(req->request->verb));
	if (!same_part(old, status, "allocation") || !same_part(old, status, "reservedFor"))
		check_binding(&k);
	if (!json_is(allocation, JSON_OBJECT) || same_part(old, status, "devices") ||
	    !gates_on(w->gates, GATE_DRAResourceClaimDeviceStatus))
		return;
	k.claim_node = claim_access_node(allocation);
	k.place = claim_access_place(req->user);
	check_devices(&k, old, status);
}

void claim_access_attach(struct admission_request *req)
{
	if (!str_eqz(req->write->subresource, "status") ||
	    !str_eqz(req->write->kind->resource, "resourceclaims") ||
	    !str_eq(req->write->kind->group, GROUP) ||
	    !gates_on(req->write->gates, GATE_DRAResourceClaimGranularStatusAuthorization))
		return;
	req->write->authorize = authorize;
	req->write->authorize_arg = req;
}
