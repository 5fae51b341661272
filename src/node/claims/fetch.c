/*
 * The first part of preparing: determines the pod's claims, reads them from the API server, and
 * checks whether they may be used. Nothing is changed here. All claims are requested at once; if
 * several fail, the error of the first claim is reported.
 */
#include "base/json/json.h"
#include "node/claims/claims_impl.h"

/* --- finding claims -------------------------------------------------------------------------- */

static void add_item(struct claims_op *op, struct str pod_claim, struct str name, bool owned)
{
	struct claims_item *item = &op->items[op->n++];

	item->op = op;
	item->pod_claim = pod_claim;
	item->claim.name = name;
	item->claim.ns = op->pod->ns;
	item->owned = owned;
}

static int add_entry(struct claims_op *op, const struct json *entry, struct error *err)
{
	const struct pod *pod = op->pod;
	struct str name = json_text_at(entry, "name"), claim;
	bool direct = json_text_at(entry, "resourceClaimName").n > 0, none;

	if (!direct && json_text_at(entry, "resourceClaimTemplateName").n == 0)
		return error_set(err, ERR_INVALID,
				 "pod \"%.*s/%.*s\", spec.resourceClaim \"%.*s\": none of the "
				 "supported fields are set",
				 STR_ARG(pod->ns), STR_ARG(pod->name), STR_ARG(name));
	claim = pod_claim_name(pod, name, &none);
	if (none)
		return 0;
	if (claim.n == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "pod \"%.*s/%.*s\": ResourceClaim not created yet",
				 STR_ARG(pod->ns), STR_ARG(pod->name));
	add_item(op, name, claim, !direct);
	return 0;
}

static int add_items(struct claims_op *op, struct error *err)
{
	const struct json *entries = json_getz(op->pod->spec, "resourceClaims");
	struct str extended = json_text_at(
		json_getz(op->pod->status, "extendedResourceClaimStatus"), "resourceClaimName");

	op->items = ARENA_ARRAY(&op->arena, struct claims_item, json_count(entries) + 1);
	JSON_FOREACH (entry, entries) {
		int r = add_entry(op, entry, err);

		if (r < 0)
			return r;
	}
	if (extended.n > 0)
		add_item(op, STR(CLAIMS_EXTENDED), extended, false);
	return 0;
}

/* --- checks ---------------------------------------------------------------------------------- */

static bool is_controlled_by(const struct json *metadata, struct str uid)
{
	JSON_FOREACH (owner, json_getz(metadata, "ownerReferences")) {
		if (json_true_at(owner, "controller"))
			return str_eq(json_text_at(owner, "uid"), uid);
	}
	return false;
}

static bool is_reserved_for(const struct json *claim, struct str uid)
{
	JSON_FOREACH (consumer, json_getz(json_getz(claim, "status"), "reservedFor")) {
		if (str_eq(json_text_at(consumer, "uid"), uid))
			return true;
	}
	return false;
}

/* Whether all devices of a driver allow this step to be skipped. */
static bool skips(const struct json *results, struct str driver, const char *operation)
{
	JSON_FOREACH (result, results) {
		const struct json *skipped = json_getz(result, "skipNodeOperations");

		if (str_eq(json_text_at(result, "driver"), driver) &&
		    !json_has_text(skipped, str_from(operation)) &&
		    !json_has_text(skipped, STR("*")))
			return false;
	}
	return true;
}

static bool has_driver(const struct assign_claim *claim, struct str driver)
{
	for (size_t i = 0; i < claim->ndrivers; i++) {
		if (str_eq(claim->drivers[i], driver))
			return true;
	}
	return false;
}

static int read_drivers(struct claims_item *item, const struct json *results, struct error *err)
{
	struct str *drivers = ARENA_ARRAY(&item->op->arena, struct str, json_count(results));

	item->claim.drivers = drivers;
	JSON_FOREACH (result, results) {
		struct str driver = json_text_at(result, "driver");

		if (has_driver(&item->claim, driver))
			continue;
		if (driver.n == 0)
			return error_set(err, ERR_INVALID, "DRA driver name is empty");
		if (skips(results, driver, "NodePrepareResources") ||
		    skips(results, driver, "NodeUnprepareResources"))
			return error_set(
				err, ERR_UNIMPLEMENTED,
				"ResourceClaim %.*s: DRAOptionalNodeOperations feature gate is "
				"disabled on kubelet",
				STR_ARG(item->claim.name));
		drivers[item->claim.ndrivers++] = driver;
	}
	return 0;
}

/*
 * Collects the exclusive devices. Devices with administrative access and shares of a device are
 * left out: other claims may have them, too.
 */
static void read_exclusive(struct claims_item *item, const struct json *results)
{
	struct arena *a = &item->op->arena;
	struct str *v = ARENA_ARRAY(a, struct str, json_count(results));

	item->claim.exclusive = v;
	JSON_FOREACH (r, results) {
		if (json_true_at(r, "adminAccess") || json_text_at(r, "shareID").n > 0)
			continue;
		v[item->claim.nexclusive++] = str_from(arena_printf(
			a, "%.*s/%.*s/%.*s", STR_ARG(json_text_at(r, "driver")),
			STR_ARG(json_text_at(r, "pool")), STR_ARG(json_text_at(r, "device"))));
	}
}

static int check_claim(struct claims_item *item, struct error *err)
{
	const struct pod *pod = item->op->pod;
	const struct json *metadata = json_getz(item->tree, "metadata");
	const struct json *allocation = json_getz(json_getz(item->tree, "status"), "allocation");
	const struct json *results;
	struct str name = item->claim.name;

	item->claim.uid = json_text_at(metadata, "uid");
	if (item->claim.uid.n == 0)
		return error_set(err, ERR_PROTOCOL, "ResourceClaim %.*s has no uid", STR_ARG(name));
	if (item->owned && !is_controlled_by(metadata, pod->uid))
		return error_set(
			err, ERR_FORBIDDEN,
			"ResourceClaim %.*s/%.*s was not created for Pod %.*s/%.*s (Pod is "
			"not owner)",
			STR_ARG(pod->ns), STR_ARG(name), STR_ARG(pod->ns), STR_ARG(pod->name));
	if (!is_reserved_for(item->tree, pod->uid))
		return error_set(err, ERR_FORBIDDEN,
				 "pod %.*s (%.*s) is not allowed to use ResourceClaim %.*s (%.*s)",
				 STR_ARG(pod->name), STR_ARG(pod->uid), STR_ARG(name),
				 STR_ARG(item->claim.uid));
	if (!json_is(allocation, JSON_OBJECT))
		return error_set(err, ERR_CONFLICT, "ResourceClaim %.*s: not allocated",
				 STR_ARG(name));
	results = json_getz(json_getz(allocation, "devices"), "results");
	read_exclusive(item, results);
	return read_drivers(item, results, err);
}

/*
 * Also for a claim that is prepared already: a missing driver means that something is wrong with
 * the node.
 */
static int check_drivers(const struct claims_item *item, struct error *err)
{
	const struct claims *c = item->op->claims;

	for (size_t i = 0; i < item->claim.ndrivers; i++) {
		if (!c->drivers->has(c->opts.plugins, item->claim.drivers[i]))
			return error_set(err, ERR_UNAVAILABLE, "DRA driver %.*s is not registered",
					 STR_ARG(item->claim.drivers[i]));
	}
	return 0;
}

static int check_item(struct claims_item *item, struct error *err)
{
	int r;

	if (item->err.code != ERR_OK)
		return error_wrap(err, error_copy(err, &item->err), "fetch ResourceClaim %.*s",
				  STR_ARG(item->claim.name));
	r = check_claim(item, err);
	return r < 0 ? r : check_drivers(item, err);
}

static void check_items(struct claims_op *op)
{
	struct error err;

	for (size_t i = 0; i < op->n; i++) {
		if (check_item(&op->items[i], &err) == 0)
			continue;
		claims_op_fail(op, &err);
		claims_op_end(op);
		return;
	}
	claims_op_ready(op);
}

/* --- requests -------------------------------------------------------------------------------- */

static void on_fetched(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct claims_item *item = r->arg;

	if (err)
		item->err = *err;
	else
		(void)client_answer_tree(answer, &item->op->arena, &item->tree, &item->err);
	if (--item->op->pending == 0)
		check_items(item->op);
}

void claims_fetch(struct claims_op *op)
{
	struct resource claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	struct error err;

	if (add_items(op, &err) < 0) {
		op->n = 0;
		claims_op_fail(op, &err);
	}
	if (op->n == 0) {
		claims_op_end(op);
		return;
	}
	op->pending = op->n;
	for (size_t i = 0; i < op->n; i++) {
		struct claims_item *item = &op->items[i];

		item->request.on_done = on_fetched;
		item->request.arg = item;
		client_get(op->claims->opts.client, &item->request, &claims, op->pod->ns,
			   item->claim.name);
	}
}
