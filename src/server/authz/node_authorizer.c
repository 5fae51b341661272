/*
 * The rights of nodes: their own objects, and the objects that their pods refer to. A table maps
 * a resource to its function; other resources are decided by the rules of system:node, which are
 * the same for all nodes. node_restriction.c, which sees the written object, restricts some of
 * these rights further.
 */
#include "base/core/compiler.h"
#include "server/authz/authorizers.h"
#include "api/check/pod_refs.h"

struct ask {
	struct authz *authz;
	const struct authz_query *q;
	struct str node;
	struct arena *arena;
	struct buf *reason;
};

static bool verb_in(const struct ask *k, const char *verbs)
{
	struct str rest = str_from(verbs), verb;

	while (str_split(&rest, ' ', &verb))
		if (str_eq(k->q->verb, verb))
			return true;
	return false;
}

static bool no(struct ask *k, const char *words)
{
	(void)buf_addz(k->reason, words);
	return false;
}

struct object *authz_object(struct authz *az, struct str group, struct str resource, struct str ns,
			    struct str name)
{
	const struct schema_kind *kind = schema_find_resource(group, STR("v1"), resource);

	return kind && az->state ? resource_get(state_resource(az->state, kind->storage), ns, name)
				 : NULL;
}

/* --- relations ---------------------------------------------------------------------- */

/* spec.nodeName of an object, from its text. */
static bool is_of_node(struct ask *k)
{
	const struct authz_query *q = k->q;
	struct object *o = authz_object(k->authz, q->group, q->resource, q->ns, q->name);
	struct json *tree;

	if (!o || object_tree(o, k->arena, &tree, NULL) < 0)
		return false;
	return str_eq(json_text_at(json_getz(tree, "spec"), "nodeName"), k->node);
}

static bool is_own_pod(struct ask *k)
{
	return node_pods_has(k->authz->pods, k->node, k->q->ns, k->q->name);
}

static bool pods_refer(struct ask *k, enum pod_refs_what what)
{
	return node_pods_refer(k->authz->pods, k->node, what, k->q->ns, k->q->name);
}

static bool is_own_config_map(struct ask *k)
{
	return pods_refer(k, POD_REFS_CONFIG_MAP);
}

static bool is_own_claim(struct ask *k)
{
	return pods_refer(k, POD_REFS_VOLUME_CLAIM);
}

static bool is_own_resource_claim(struct ask *k)
{
	return pods_refer(k, POD_REFS_RESOURCE_CLAIM);
}

static bool is_own_account(struct ask *k)
{
	return pods_refer(k, POD_REFS_ACCOUNT);
}

static struct json *volume_tree(struct ask *k, struct str name)
{
	struct object *o = authz_object(k->authz, STR(""), STR("persistentvolumes"), STR(""), name);
	struct json *tree = NULL;

	if (o)
		(void)object_tree(o, k->arena, &tree, NULL);
	return tree;
}

static bool is_own_volume(struct ask *k)
{
	const struct json *ref = json_getz(json_getz(volume_tree(k, k->q->name), "spec"),
					   "claimRef");

	return ref && node_pods_refer(k->authz->pods, k->node, POD_REFS_VOLUME_CLAIM,
				      json_text_at(ref, "namespace"), json_text_at(ref, "name"));
}

/* Secrets in a volume's source that are for the node; not those for controllers. */
static const struct {
	const char *source, *ref;
} volume_secrets[] = {
	{ "cephfs", "secretRef" },       { "cinder", "secretRef" },
	{ "flexVolume", "secretRef" },   { "rbd", "secretRef" },
	{ "scaleIO", "secretRef" },      { "iscsi", "secretRef" },
	{ "storageos", "secretRef" },    { "csi", "nodePublishSecretRef" },
	{ "csi", "nodeStageSecretRef" }, { "csi", "nodeExpandSecretRef" },
};

static bool is_secret(const struct ask *k, struct str ns, struct str claim_ns, struct str name)
{
	return name.n && str_eq(name, k->q->name) && str_eq(ns.n ? ns : claim_ns, k->q->ns);
}

static bool volume_has_secret(struct ask *k, const struct json *spec, struct str claim_ns)
{
	const struct json *azure = json_getz(spec, "azureFile");

	if (is_secret(k, json_text_at(azure, "secretNamespace"), claim_ns,
		      json_text_at(azure, "secretName")))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(volume_secrets); i++) {
		const struct json *ref = json_getz(json_getz(spec, volume_secrets[i].source),
						   volume_secrets[i].ref);

		if (is_secret(k, json_text_at(ref, "namespace"), claim_ns,
			      json_text_at(ref, "name")))
			return true;
	}
	return false;
}

/*
 * From a claim of a pod to its volume, which must be bound to that claim, and to the volume's
 * secrets.
 */
static bool claim_has_secret(void *arg, struct str ns, struct str claim)
{
	struct ask *k = arg;
	struct object *o = authz_object(k->authz, STR(""), STR("persistentvolumeclaims"), ns,
					claim);
	const struct json *spec, *ref;
	struct json *tree;

	if (!o || object_tree(o, k->arena, &tree, NULL) < 0)
		return false;
	spec = json_getz(volume_tree(k, json_text_at(json_getz(tree, "spec"), "volumeName")),
			 "spec");
	ref = json_getz(spec, "claimRef");
	return str_eq(json_text_at(ref, "namespace"), ns) &&
	       str_eq(json_text_at(ref, "name"), claim) && volume_has_secret(k, spec, ns);
}

static bool is_own_secret(struct ask *k)
{
	return pods_refer(k, POD_REFS_SECRET) ||
	       node_pods_each_volume_claim(k->authz->pods, k->node, claim_has_secret, k);
}

static bool related(struct ask *k, bool (*is_own)(struct ask *k))
{
	if (!k->q->name.n)
		return no(k, "No Object name found");
	if (is_own(k))
		return true;
	(void)buf_printf(k->reason, "no relationship found between node '%.*s' and this object",
			 STR_ARG(k->node));
	return false;
}

/* --- resources ---------------------------------------------------------------------- */

static bool get_only(struct ask *k, bool (*is_own)(struct ask *k))
{
	if (!verb_in(k, "get"))
		return no(k, "can only get individual resources of this type");
	if (k->q->subresource.n)
		return no(k, "cannot get subresource");
	return related(k, is_own);
}

static bool read_only(struct ask *k, bool (*is_own)(struct ask *k))
{
	if (!verb_in(k, "get list watch"))
		return no(k, "can only read resources of this type");
	if (k->q->subresource.n)
		return no(k, "cannot read subresource");
	if (!k->q->ns.n)
		return no(k, "can only read namespaced object of this type");
	return related(k, is_own);
}

static bool decide_secrets(struct ask *k)
{
	return read_only(k, is_own_secret);
}

static bool decide_config_maps(struct ask *k)
{
	return read_only(k, is_own_config_map);
}

static bool decide_volume_claims(struct ask *k)
{
	if (!str_eqz(k->q->subresource, "status"))
		return get_only(k, is_own_claim);
	if (!verb_in(k, "update patch"))
		return no(k, "can only get/update/patch this type");
	return related(k, is_own_claim);
}

static bool decide_volumes(struct ask *k)
{
	return get_only(k, is_own_volume);
}

static bool decide_resource_claims(struct ask *k)
{
	return get_only(k, is_own_resource_claim);
}

static bool decide_attachments(struct ask *k)
{
	return get_only(k, is_of_node);
}

static bool decide_accounts(struct ask *k)
{
	if (verb_in(k, "get") && !k->q->subresource.n)
		return read_only(k, is_own_account);
	if (!verb_in(k, "create") || !k->q->name.n)
		return no(k, "can only create tokens for individual service accounts");
	if (!str_eqz(k->q->subresource, "token"))
		return no(k, "can only create token subresource of serviceaccount");
	return related(k, is_own_account);
}

static bool decide_leases(struct ask *k)
{
	if (!verb_in(k, "get create update patch delete"))
		return no(k, "can only get, create, update, patch, or delete a node lease");
	if (!str_eqz(k->q->ns, "kube-node-lease"))
		return no(k, "can only access leases in the \"kube-node-lease\" system namespace");
	if (!verb_in(k, "create") && !str_eq(k->q->name, k->node))
		return no(k,
			  "can only access node lease with the same name as the requesting node");
	return true;
}

static bool decide_csi_nodes(struct ask *k)
{
	if (str_eqz(k->q->subresource, "status"))
		return no(k, "CSINode status access requires CSIVolumeHealth feature");
	if (k->q->subresource.n)
		return no(k, "cannot authorize CSINode subresources");
	if (!verb_in(k, "get create update patch delete"))
		return no(k, "can only get, create, update, patch, or delete a CSINode");
	if (!verb_in(k, "create") && !str_eq(k->q->name, k->node))
		return no(k, "can only access CSINode with the same name as the requesting node");
	return true;
}

static bool selects_node(const struct ask *k)
{
	return k->q->fields &&
	       str_eq(selector_required_value(k->q->fields, STR("spec.nodeName")), k->node);
}

static bool decide_slices(struct ask *k)
{
	if (k->q->subresource.n)
		return no(k, "cannot authorize ResourceSlice subresources");
	if (verb_in(k, "create"))
		return true;
	if (verb_in(k, "get update patch delete"))
		return related(k, is_of_node);
	if (!verb_in(k, "watch list deletecollection"))
		return no(k,
			  "only the following verbs are allowed for a ResourceSlice: get, watch, "
			  "list, create, update, patch, delete, deletecollection");
	return selects_node(k) || no(k, "can only list/watch/deletecollection resourceslices with "
					"nodeName field selector");
}

static bool decide_nodes(struct ask *k)
{
	if (str_eqz(k->q->subresource, "status"))
		return verb_in(k, "update patch");
	if (k->q->subresource.n || !verb_in(k, "create update patch get list watch"))
		return false;
	if (verb_in(k, "create update patch") || str_eq(k->q->name, k->node))
		return true;
	(void)buf_printf(k->reason, "node '%.*s' cannot read %s%.*s%s, only its own Node object",
			 STR_ARG(k->node), k->q->name.n ? "'" : "all nodes", STR_ARG(k->q->name),
			 k->q->name.n ? "'" : "");
	return false;
}

static bool decide_pods(struct ask *k)
{
	struct str sub = k->q->subresource;

	if (str_eqz(sub, "status"))
		return verb_in(k, "update patch");
	if (str_eqz(sub, "eviction"))
		return verb_in(k, "create");
	if (sub.n)
		return false;
	if (verb_in(k, "get"))
		return related(k, is_own_pod);
	if (!verb_in(k, "list watch"))
		return verb_in(k, "create delete");
	if (selects_node(k))
		return true;
	return k->q->name.n ? related(k, is_own_pod)
			    : no(k, "can only list/watch pods with spec.nodeName field selector");
}

static bool decide_pod_certificates(struct ask *k)
{
	if (k->q->subresource.n)
		return no(k, "nodes may not access the status subresource of "
			     "PodCertificateRequests");
	if (verb_in(k, "create"))
		return true;
	if (verb_in(k, "get"))
		return related(k, is_of_node);
	if (verb_in(k, "list watch"))
		return selects_node(k) || no(k, "can only list/watch podcertificaterequests with "
						"nodeName field selector");
	(void)buf_printf(k->reason, "nodes may not %.*s podcertificaterequests",
			 STR_ARG(k->q->verb));
	return false;
}

static const struct {
	const char *group, *resource;
	bool (*decide)(struct ask *k);
} rows[] = {
	{ "", "secrets", decide_secrets },
	{ "", "configmaps", decide_config_maps },
	{ "", "persistentvolumeclaims", decide_volume_claims },
	{ "", "persistentvolumes", decide_volumes },
	{ "", "serviceaccounts", decide_accounts },
	{ "", "nodes", decide_nodes },
	{ "", "pods", decide_pods },
	{ "resource.k8s.io", "resourceclaims", decide_resource_claims },
	{ "resource.k8s.io", "resourceslices", decide_slices },
	{ "storage.k8s.io", "volumeattachments", decide_attachments },
	{ "storage.k8s.io", "csinodes", decide_csi_nodes },
	{ "coordination.k8s.io", "leases", decide_leases },
	{ "certificates.k8s.io", "podcertificaterequests", decide_pod_certificates },
};

enum authz_decision node_authorize(struct authz *az, const struct authz_query *q, struct str node,
				   struct arena *a, struct buf *reason)
{
	struct ask k = { az, q, node, a, reason };
	bool allowed = false, found = false;

	if (node.n == 0) {
		(void)buf_printf(reason, "unknown node for user \"%.*s\"", STR_ARG(q->user->name));
		return AUTHZ_NO_OPINION;
	}
	for (size_t i = 0; !q->is_path && !found && i < ARRAY_SIZE(rows); i++) {
		found = str_eqz(q->resource, rows[i].resource) && str_eqz(q->group, rows[i].group);
		if (found)
			allowed = rows[i].decide(&k);
	}
	if (!found)
		allowed = rbac_rules_allow(az->node_rules, q);
	if (allowed)
		return AUTHZ_ALLOW;
	/* A node may never write the status of slices, whatever roles an administrator gave it. */
	return rbac_query(q).guarded ? AUTHZ_DENY : AUTHZ_NO_OPINION;
}
