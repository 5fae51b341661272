/*
 * Nodes may write only their own objects. This checks the object, where node_authorizer.c can
 * check only the request. A table maps a resource to its function.
 */
#include <stdlib.h>

#include "base/core/vec.h"
#include "base/text/print.h"
#include "server/admission/request.h"
#include "server/authz/authorizers.h"
#include "api/check/pod_refs.h"
#include "server/core/parts.h"
#include "server/plugins/authz.h"
#include "server/plugins/node_restriction.h"

static int node_restriction_forbid(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

static int node_restriction_forbid(struct error *err, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error_set(err, ERR_FORBIDDEN, "%s", text);
}

const char *node_operation_name(enum node_operation op)
{
	static const char *const names[] = { "CREATE", "UPDATE", "DELETE" };

	return names[op];
}

static const struct json *meta_of(const struct json *object, const char *key)
{
	return json_getz(json_getz(object, "metadata"), key);
}

static struct str spec_node(const struct json *object)
{
	return json_text_at(json_getz(object, "spec"), "nodeName");
}

static bool node_restriction_same(const struct json *a, const struct json *b)
{
	bool a_empty = !a || (json_is_container(a) && json_count(a) == 0);
	bool b_empty = !b || (json_is_container(b) && json_count(b) == 0);

	return a_empty || b_empty ? a_empty == b_empty : json_equal(a, b);
}

/* --- pods --------------------------------------------------------------------------- */

static int check_owner(const struct node_write *c, struct error *err)
{
	const struct json *owners = meta_of(c->object, "ownerReferences");
	const struct json *owner = json_first(owners);
	bool controller = false, blocks = false;
	struct object *node;

	if (json_count(owners) > 1)
		return node_restriction_forbid(
			err,
			"node \"%.*s\" can only create pods with a single owner "
			"reference set to itself",
			STR_ARG(c->node));
	if (!owner || !str_eqz(json_text_at(owner, "apiVersion"), "v1") ||
	    !str_eqz(json_text_at(owner, "kind"), "Node") ||
	    !str_eq(json_text_at(owner, "name"), c->node))
		return node_restriction_forbid(
			err,
			"node \"%.*s\" can only create pods with an owner reference set "
			"to itself",
			STR_ARG(c->node));
	(void)json_bool(json_getz(owner, "controller"), &controller);
	(void)json_bool(json_getz(owner, "blockOwnerDeletion"), &blocks);
	if (!controller)
		return node_restriction_forbid(
			err,
			"node \"%.*s\" can only create pods with a controller owner "
			"reference set to itself",
			STR_ARG(c->node));
	if (blocks)
		return node_restriction_forbid(
			err,
			"node \"%.*s\" must not set blockOwnerDeletion on an owner "
			"reference",
			STR_ARG(c->node));
	node = authz_object(c->authz, STR(""), STR("nodes"), STR(""), c->node);
	if (!node)
		return error_set(err, ERR_NOT_FOUND, "nodes \"%.*s\" not found", STR_ARG(c->node));
	if (!str_eq(node->uid, json_text_at(owner, "uid")))
		return node_restriction_forbid(
			err, "node %.*s UID mismatch: expected %.*s got %.*s", STR_ARG(c->node),
			STR_ARG(json_text_at(owner, "uid")), STR_ARG(node->uid));
	return 0;
}

static int check_pod_create(const struct node_write *c, struct error *err)
{
	const char *refers;
	int r;

	if (!pod_refs_is_mirror(c->object))
		return node_restriction_forbid(
			err,
			"pod does not have \"kubernetes.io/config.mirror\" annotation, "
			"node \"%.*s\" can only create mirror pods",
			STR_ARG(c->node));
	if (!str_eq(spec_node(c->object), c->node))
		return node_restriction_forbid(
			err,
			"node \"%.*s\" can only create pods with spec.nodeName set to "
			"itself",
			STR_ARG(c->node));
	r = check_owner(c, err);
	if (r < 0)
		return r;
	refers = pod_refs_any(c->object);
	if (refers)
		return node_restriction_forbid(
			err, "node \"%.*s\" can not create pods that reference %s",
			STR_ARG(c->node), refers);
	return 0;
}

static int check_pod(const struct node_write *c, struct error *err)
{
	if (c->op == NODE_CREATE)
		return check_pod_create(c, err);
	if (c->op == NODE_UPDATE)
		return node_restriction_forbid(
			err,
			"unexpected operation \"UPDATE\", node \"%.*s\" can only create "
			"and delete mirror pods",
			STR_ARG(c->node));
	if (!str_eq(spec_node(c->old), c->node))
		return node_restriction_forbid(
			err,
			"node \"%.*s\" can only delete pods with spec.nodeName set to "
			"itself",
			STR_ARG(c->node));
	return 0;
}

static int check_pod_status(const struct node_write *c, struct error *err)
{
	static const struct {
		const char *field, *words;
	} kept[] = {
		{ "resourceClaimStatuses", "resource claim statues" },
		{ "extendedResourceClaimStatus", "extended resource claim status" },
		{ "nodeAllocatableResourceClaimStatuses",
		  "node allocatable resource claim statuses" },
	};
	const struct json *old = json_getz(c->old, "status");
	const struct json *status = json_getz(c->object, "status");

	if (c->op != NODE_UPDATE)
		return node_restriction_forbid(err, "unexpected operation \"%s\"",
					       node_operation_name(c->op));
	if (!str_eq(spec_node(c->old), c->node))
		return node_restriction_forbid(
			err,
			"node \"%.*s\" can only update pod status for pods with "
			"spec.nodeName set to itself",
			STR_ARG(c->node));
	if (!node_restriction_same(meta_of(c->old, "labels"), meta_of(c->object, "labels")))
		return node_restriction_forbid(
			err, "node \"%.*s\" cannot update labels through pod status",
			STR_ARG(c->node));
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!node_restriction_same(json_getz(old, kept[i].field),
					   json_getz(status, kept[i].field)))
			return node_restriction_forbid(err, "node \"%.*s\" cannot update %s",
						       STR_ARG(c->node), kept[i].words);
	return 0;
}

static int check_pods(const struct node_write *c, struct error *err)
{
	if (!c->sub.n)
		return check_pod(c, err);
	if (str_eqz(c->sub, "status"))
		return check_pod_status(c, err);
	if (!str_eqz(c->sub, "eviction"))
		return node_restriction_forbid(
			err,
			"unexpected pod subresource \"%.*s\", only 'status' and "
			"'eviction' are allowed",
			STR_ARG(c->sub));
	if (!str_eq(spec_node(c->old), c->node))
		return node_restriction_forbid(
			err, "node %.*s can only evict pods with spec.nodeName set to itself",
			STR_ARG(c->node));
	return 0;
}

/* --- nodes -------------------------------------------------------------------------- */

/* Whether a label's domain is this one or a subdomain of it. */
static bool domain_in(struct str label, const char *domain)
{
	ptrdiff_t slash = str_chr(label, '/');
	struct str d = str_of(label.p, slash < 0 ? 0 : (size_t)slash), z = str_from(domain);

	return str_eq(d, z) || (d.n > z.n && str_ends(d, z) && d.p[d.n - z.n - 1] == '.');
}

static bool is_kubelet_label(struct str label)
{
	static const char *const labels[] = {
		"kubernetes.io/hostname",
		"topology.kubernetes.io/zone",
		"topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region",
		"beta.kubernetes.io/instance-type",
		"node.kubernetes.io/instance-type",
		"kubernetes.io/os",
		"kubernetes.io/arch",
		"beta.kubernetes.io/os",
		"beta.kubernetes.io/arch",
	};

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (str_eqz(label, labels[i]))
			return true;
	return domain_in(label, "kubelet.kubernetes.io") || domain_in(label, "node.kubernetes.io");
}

static bool is_forbidden_label(struct str label)
{
	if (domain_in(label, "node-restriction.kubernetes.io"))
		return true;
	return (domain_in(label, "kubernetes.io") || domain_in(label, "k8s.io")) &&
	       !is_kubelet_label(label);
}

struct labels {
	struct arena *arena;
	struct str *v;
	size_t n;
};

/*
 * Collects the labels of `a` that `b` lacks or has with another value, and that a node may not
 * set.
 */
static void gather_labels(struct labels *l, const struct json *a, const struct json *b)
{
	JSON_FOREACH (it, a) {
		bool known = false;

		if (json_equal(it, json_get(b, json_key(it))) || !is_forbidden_label(json_key(it)))
			continue;
		for (size_t i = 0; i < l->n; i++)
			known = known || str_eq(l->v[i], json_key(it));
		if (!known)
			l->v[l->n++] = json_key(it);
	}
}

static struct str forbidden_labels(const struct node_write *c)
{
	const struct json *now = meta_of(c->object, "labels"), *old = meta_of(c->old, "labels");
	struct arena *a = c->arena;
	struct labels l = { a, ARENA_ARRAY(a, struct str, json_count(now) + json_count(old) + 1),
			    0 };
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);

	gather_labels(&l, now, old);
	gather_labels(&l, old, now);
	qsort(l.v, l.n, sizeof(*l.v), str_order);
	for (size_t i = 0; i < l.n; i++)
		(void)buf_printf(&text, "%s%.*s", i ? ", " : "", STR_ARG(l.v[i]));
	return text.n ? arena_str(a, buf_str(&text)) : STR_NULL;
}

static int check_node_update(const struct node_write *c, struct error *err)
{
	const struct json *spec = json_getz(c->object, "spec"), *old = json_getz(c->old, "spec");
	struct str labels;

	if (json_getz(spec, "configSource") &&
	    !node_restriction_same(json_getz(spec, "configSource"), json_getz(old, "configSource")))
		return node_restriction_forbid(
			err,
			"node \"%.*s\" is not allowed to update configSource to a new "
			"non-nil configSource",
			STR_ARG(c->node));
	if (!node_restriction_same(json_getz(spec, "taints"), json_getz(old, "taints")))
		return node_restriction_forbid(err, "node \"%.*s\" is not allowed to modify taints",
					       STR_ARG(c->node));
	if (!node_restriction_same(meta_of(c->object, "ownerReferences"),
				   meta_of(c->old, "ownerReferences")))
		return node_restriction_forbid(
			err, "node \"%.*s\" is not allowed to modify ownerReferences",
			STR_ARG(c->node));
	labels = forbidden_labels(c);
	return labels.n ? node_restriction_forbid(err, "is not allowed to modify labels: %.*s",
						  STR_ARG(labels))
			: 0;
}

static int check_nodes(const struct node_write *c, struct error *err)
{
	struct str name = c->name.n ? c->name : json_str(meta_of(c->object, "name")), labels;

	if (!str_eq(name, c->node))
		return node_restriction_forbid(
			err, "node \"%.*s\" is not allowed to modify node \"%.*s\"",
			STR_ARG(c->node), STR_ARG(name));
	if (c->op == NODE_UPDATE)
		return check_node_update(c, err);
	if (c->op == NODE_DELETE)
		return 0;
	if (json_getz(json_getz(c->object, "spec"), "configSource"))
		return node_restriction_forbid(
			err,
			"node \"%.*s\" is not allowed to create pods with a non-nil "
			"configSource",
			STR_ARG(c->node));
	labels = forbidden_labels(c);
	return labels.n ? node_restriction_forbid(
				  err,
				  "node \"%.*s\" is not allowed to set the following labels: "
				  "%.*s",
				  STR_ARG(c->node), STR_ARG(labels))
			: 0;
}

/* --- the rest ----------------------------------------------------------------------- */

/* Members of the status that a node may change; the rest of the claim must not change. */
static bool is_volume_status(struct str key)
{
	return str_eqz(key, "capacity") || str_eqz(key, "conditions") ||
	       str_eqz(key, "allocatedResourceStatuses") || str_eqz(key, "allocatedResources");
}

static bool status_within(const struct json *a, const struct json *b)
{
	JSON_FOREACH (it, a) {
		if (!is_volume_status(json_key(it)) &&
		    !node_restriction_same(it, json_get(b, json_key(it))))
			return false;
	}
	return true;
}

static bool meta_within(const struct json *a, const struct json *b)
{
	JSON_FOREACH (it, a) {
		if (!str_eqz(json_key(it), "resourceVersion") &&
		    !str_eqz(json_key(it), "managedFields") &&
		    !node_restriction_same(it, json_get(b, json_key(it))))
			return false;
	}
	return true;
}

static int check_volume_claims(const struct node_write *c, struct error *err)
{
	const struct json *a = json_getz(c->old, "status"), *b = json_getz(c->object, "status");
	const struct json *ma = json_getz(c->old, "metadata"),
			  *mb = json_getz(c->object, "metadata");

	if (!str_eqz(c->sub, "status"))
		return node_restriction_forbid(err, "may only update PVC status");
	if (c->op != NODE_UPDATE)
		return node_restriction_forbid(err, "unexpected operation \"%s\"",
					       node_operation_name(c->op));
	if (status_within(a, b) && status_within(b, a) && meta_within(ma, mb) &&
	    meta_within(mb, ma) &&
	    node_restriction_same(json_getz(c->old, "spec"), json_getz(c->object, "spec")))
		return 0;
	return node_restriction_forbid(err,
				       "node \"%.*s\" is not allowed to update fields other than "
				       "status.quantity and status.conditions",
				       STR_ARG(c->node));
}

static struct str written_name(const struct node_write *c)
{
	return c->op == NODE_CREATE ? json_str(meta_of(c->object, "name")) : c->name;
}

static int check_leases(const struct node_write *c, struct error *err)
{
	if (!str_eqz(c->ns, "kube-node-lease"))
		return node_restriction_forbid(
			err, "can only access leases in the \"kube-node-lease\" system "
			     "namespace");
	if (!str_eq(written_name(c), c->node))
		return node_restriction_forbid(
			err, "can only access node lease with the same name as the "
			     "requesting node");
	return 0;
}

static int check_csi_nodes(const struct node_write *c, struct error *err)
{
	if (!str_eq(written_name(c), c->node))
		return node_restriction_forbid(
			err, "can only access CSINode with the same name as the requesting "
			     "node");
	return 0;
}

static int check_slices(const struct node_write *c, struct error *err)
{
	if (c->op == NODE_CREATE && !str_eq(spec_node(c->object), c->node))
		return node_restriction_forbid(
			err, "can only create ResourceSlice with the same NodeName as the "
			     "requesting node");
	if (c->op == NODE_DELETE && !str_eq(spec_node(c->old), c->node))
		return node_restriction_forbid(
			err, "can only delete ResourceSlice with the same NodeName as the "
			     "requesting node");
	return 0;
}

static const struct {
	const char *group, *resource;
	int (*check)(const struct node_write *c, struct error *err);
} rows[] = {
	{ "", "pods", check_pods },
	{ "", "nodes", check_nodes },
	{ "", "persistentvolumeclaims", check_volume_claims },
	{ "coordination.k8s.io", "leases", check_leases },
	{ "storage.k8s.io", "csinodes", check_csi_nodes },
	{ "resource.k8s.io", "resourceslices", check_slices },
	{ "certificates.k8s.io", "certificatesigningrequests", node_check_signing_request },
	{ "certificates.k8s.io", "podcertificaterequests", node_check_pod_certificate },
};

static enum node_operation operation_of(const struct admission_request *req, const struct json *old)
{
	switch (req->request->verb) {
	case REQUEST_DELETE:
	case REQUEST_DELETE_COLLECTION:
		return NODE_DELETE;
	default:
		return old ? NODE_UPDATE : NODE_CREATE;
	}
}

bool admit_node_concerns(const struct admission_request *req)
{
	return user_node(req->user).p != NULL;
}

int admit_node(struct admission_request *req, const struct json *old, struct json *object,
	       struct error *err)
{
	struct node_write c = { .authz = req->server->authz,
				.arena = req->work,
				.user = req->user,
				.node = user_node(req->user),
				.ns = req->ns,
				.name = req->name,
				.sub = req->write->subresource,
				.old = old,
				.object = object,
				.op = operation_of(req, old) };

	if (!c.node.p)
		return 0;
	if (!c.node.n)
		return node_restriction_forbid(err, "could not determine node from user \"%.*s\"",
					       STR_ARG(req->user->name));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eqz(req->write->kind->resource, rows[i].resource) &&
		    str_eqz(req->write->kind->group, rows[i].group))
			return rows[i].check(&c, err);
	return 0;
}
