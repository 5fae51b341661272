/*
 * Tokens that nodes request. The token must be for a pod on the node. Its audience must be one
 * that a projected volume of the pod wants, or the driver of one of its CSI volumes, or that RBAC
 * lets the node request (request-serviceaccounts-token-audience).
 */
#include "base/text/print.h"
#include "server/authz/authorizers.h"
#include "api/check/pod_refs.h"

struct tokens_ask {
	struct authz *authz;
	struct arena *arena;
	struct str ns, audience;
	const struct json *pod;
};

static struct json *node_token_tree_of(struct tokens_ask *k, struct str group, struct str resource,
				       struct str ns, struct str name)
{
	struct object *o = authz_object(k->authz, group, resource, ns, name);
	struct json *tree = NULL;

	if (o)
		(void)object_tree(o, k->arena, &tree, NULL);
	return tree;
}

/* The driver behind a claim: from claim to volume to csi. */
static struct str driver_of_claim(struct tokens_ask *k, struct str claim)
{
	const struct json *tree = node_token_tree_of(k, STR(""), STR("persistentvolumeclaims"),
						     k->ns, claim);

	tree = node_token_tree_of(k, STR(""), STR("persistentvolumes"), STR(""),
				  json_text_at(json_getz(tree, "spec"), "volumeName"));
	return json_text_at(json_getz(json_getz(tree, "spec"), "csi"), "driver");
}

static bool driver_wants(struct tokens_ask *k, struct str driver)
{
	const struct json *tree = node_token_tree_of(k, STR("storage.k8s.io"), STR("csidrivers"),
						     STR(""), driver);

	JSON_FOREACH (it, json_getz(json_getz(tree, "spec"), "tokenRequests"))
		if (str_eq(json_text_at(it, "audience"), k->audience))
			return true;
	return false;
}

static bool volume_wants(struct tokens_ask *k, const struct json *volume)
{
	struct str claim = pod_refs_volume_claim(k->arena, k->pod, volume), driver;

	JSON_FOREACH (it, json_getz(json_getz(volume, "projected"), "sources")) {
		const struct json *token = json_getz(it, "serviceAccountToken");

		if (token && str_eq(json_text_at(token, "audience"), k->audience))
			return true;
	}
	driver = claim.n ? driver_of_claim(k, claim)
			 : json_text_at(json_getz(volume, "csi"), "driver");
	return driver.n && driver_wants(k, driver);
}

static bool pod_wants(struct tokens_ask *k)
{
	JSON_FOREACH (it, json_getz(json_getz(k->pod, "spec"), "volumes"))
		if (volume_wants(k, it))
			return true;
	return false;
}

static int check_audience(struct tokens_ask *k, const struct user *u, struct str account,
			  const struct json *audiences, struct error *err)
{
	struct authz_query q = { .user = u,
				 .verb = STR("request-serviceaccounts-token-audience"),
				 .version = STR("v1"),
				 .ns = k->ns,
				 .name = account };

	if (json_count(audiences) > 1)
		return error_set(err, ERR_FORBIDDEN, "node may only request 0 or 1 audiences");
	k->audience = json_str(json_first(audiences));
	if (pod_wants(k))
		return 0;
	q.resource = k->audience;
	if (authz_decide(k->authz, &q, k->arena, NULL) == AUTHZ_ALLOW)
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "%.*s is not authorized to request tokens for audience \"%.*s\"",
			 STR_ARG(u->name), STR_ARG(k->audience));
}

int authz_admit_token(struct authz *az, const struct user *u, struct authz_account account,
		      const struct json *request, struct arena *a, struct error *err)
{
	const struct json *spec = json_getz(request, "spec"),
			  *ref = json_getz(spec, "boundObjectRef");
	struct str pod = json_text_at(ref, "name"), uid = json_text_at(ref, "uid");
	struct tokens_ask k = { .authz = az, .arena = a, .ns = account.ns };

	if (!user_node(u).p)
		return 0;
	if (!str_eqz(json_text_at(ref, "apiVersion"), "v1") ||
	    !str_eqz(json_text_at(ref, "kind"), "Pod") || !pod.n)
		return error_set(err, ERR_FORBIDDEN, "node requested token not bound to a pod");
	if (!uid.n)
		return error_set(err, ERR_FORBIDDEN,
				 "node requested token with a pod binding without a uid");
	k.pod = node_token_tree_of(&k, STR(""), STR("pods"), account.ns, pod);
	if (!k.pod)
		return error_set(err, ERR_NOT_FOUND, "pods \"%.*s\" not found", STR_ARG(pod));
	if (!str_eq(uid, json_text_at(json_getz(k.pod, "metadata"), "uid")))
		return error_set(err, ERR_FORBIDDEN,
				 "the UID in the bound object reference (%.*s) does not match the "
				 "UID in record. The object might have been deleted and then "
				 "recreated",
				 STR_ARG(uid));
	if (!str_eq(json_text_at(json_getz(k.pod, "spec"), "nodeName"), user_node(u)))
		return error_set(err, ERR_FORBIDDEN,
				 "node requested token bound to a pod scheduled on a different "
				 "node");
	return check_audience(&k, u, account.name, json_getz(spec, "audiences"), err);
}
