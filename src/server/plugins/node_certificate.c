/*
 * Certificates that nodes request, for themselves and for their pods. The signer checks the
 * request again; this prevents a node from requesting one in another's name.
 */
#include "api/api_limits.h"
#include "base/text/base64.h"
#include "net/tls/pki_csr.h"
#include "server/authz/authorizers.h"
#include "api/check/pod_refs.h"
#include "server/plugins/node_restriction.h"

int node_check_signing_request(const struct node_write *w, struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(OBJECT_MAX), want = BUF_INIT(1024);
	const struct json *spec = json_getz(w->object, "spec");
	struct str signer = json_text_at(spec, "signerName"), name = STR_NULL;
	struct error why = { 0 };

	if (w->op != NODE_CREATE ||
	    (!str_eqz(signer, "kubernetes.io/kubelet-serving") &&
	     !str_eqz(signer, "kubernetes.io/kube-apiserver-client-kubelet")))
		return 0;
	if (base64_decode(&pem, json_text_at(spec, "request"), BASE64_STD, &why) < 0 ||
	    pki_csr_common_name(buf_str(&pem), w->arena, &name, &why) < 0)
		return error_set(err, ERR_FORBIDDEN, "unable to parse csr: %s", why.msg);
	(void)buf_printf(&want, "system:node:%.*s", STR_ARG(w->node));
	if (str_eq(name, buf_str(&want)))
		return 0;
	return error_set(err, ERR_FORBIDDEN, "can only create a node CSR with CN=%.*s",
			 STR_ARG(buf_str(&want)));
}

/* --- for pods ----------------------------------------------------------------------- */

static bool wants_signer(const struct json *pod, struct str signer)
{
	JSON_FOREACH (v, json_getz(json_getz(pod, "spec"), "volumes"))
		JSON_FOREACH (it, json_getz(json_getz(v, "projected"), "sources"))
			if (str_eq(json_text_at(json_getz(it, "podCertificate"), "signerName"),
				   signer) &&
			    signer.n)
				return true;
	return false;
}

/* Whether RBAC lets the node use that signer; its name has ':' in place of '/'. */
static bool may_use_signer(const struct node_write *w, struct str signer, struct str account)
{
	char *munged = arena_strdup(w->arena, signer);
	struct authz_query q = { .user = w->user,
				 .verb = STR("request-serviceaccounts-podcertificate-signer"),
				 .group = STR("certificates.k8s.io"),
				 .version = STR("v1"),
				 .resource = str_of(munged, signer.n),
				 .ns = w->ns,
				 .name = account };

	for (size_t i = 0; i < signer.n; i++)
		if (munged[i] == '/')
			munged[i] = ':';
	return authz_decide(w->authz, &q, w->arena, NULL) == AUTHZ_ALLOW;
}

/* The object that a request refers to by name and uid. */
static struct object *named(const struct node_write *w, const char *resource, struct str ns,
			    const char *name, const char *uid)
{
	const struct json *spec = json_getz(w->object, "spec");
	struct object *o = authz_object(w->authz, STR(""), str_from(resource), ns,
					json_text_at(spec, name));

	return o && str_eq(o->uid, json_text_at(spec, uid)) ? o : NULL;
}

static int check_pod(const struct node_write *w, const struct json *pod, struct error *err)
{
	const struct json *spec = json_getz(w->object, "spec"), *run = json_getz(pod, "spec");
	struct str name = json_text_at(spec, "podName"),
		   account = json_text_at(spec, "serviceAccountName");
	struct str signer = json_text_at(spec, "signerName");

	if (!str_eq(json_text_at(run, "nodeName"), w->node))
		return error_set(err, ERR_FORBIDDEN,
				 "pod \"%.*s/%.*s\" is not running on node \"%.*s\" named in the "
				 "PodCertificateRequest",
				 STR_ARG(w->ns), STR_ARG(name), STR_ARG(w->node));
	if (pod_refs_is_mirror(pod))
		return error_set(err, ERR_FORBIDDEN, "pod \"%.*s/%.*s\" is a mirror pod",
				 STR_ARG(w->ns), STR_ARG(name));
	if (!str_eq(json_text_at(run, "serviceAccountName"), account))
		return error_set(err, ERR_FORBIDDEN,
				 "PodCertificateRequest for pod \"%.*s/%.*s\" contains "
				 "serviceAccountName (\"%.*s\") that differs from running pod "
				 "(\"%.*s\")",
				 STR_ARG(w->ns), STR_ARG(name), STR_ARG(account),
				 STR_ARG(json_text_at(run, "serviceAccountName")));
	if (!named(w, "serviceaccounts", w->ns, "serviceAccountName", "serviceAccountUID"))
		return error_set(
			err, ERR_INTERNAL,
			"PodCertificateRequest for pod \"%.*s/%.*s\" names another service "
			"account than there is",
			STR_ARG(w->ns), STR_ARG(name));
	if (wants_signer(pod, signer) || may_use_signer(w, signer, account))
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "pod \"%.*s/%.*s\" does not mount a podCertificate projected volume for "
			 "signer \"%.*s\"",
			 STR_ARG(w->ns), STR_ARG(name), STR_ARG(signer));
}

int node_check_pod_certificate(const struct node_write *w, struct error *err)
{
	const struct json *spec = json_getz(w->object, "spec");
	struct object *o;
	struct json *pod;
	int r;

	if (w->op != NODE_CREATE)
		return error_set(err, ERR_FORBIDDEN, "unexpected operation %s",
				 node_operation_name(w->op));
	if (!str_eq(json_text_at(spec, "nodeName"), w->node))
		return error_set(err, ERR_FORBIDDEN,
				 "PodCertificateRequest.Spec.NodeName=\"%.*s\", which is not the "
				 "requesting node \"%.*s\"",
				 STR_ARG(json_text_at(spec, "nodeName")), STR_ARG(w->node));
	/* The object may still arrive: upstream's error makes the node retry. */
	o = named(w, "pods", w->ns, "podName", "podUID");
	if (!o || !named(w, "nodes", STR(""), "nodeName", "nodeUID"))
		return error_set(err, ERR_INTERNAL,
				 "PodCertificateRequest for pod \"%.*s/%.*s\" names another pod or "
				 "node than there is",
				 STR_ARG(w->ns), STR_ARG(json_text_at(spec, "podName")));
	r = object_tree(o, w->arena, &pod, err);
	return r < 0 ? r : check_pod(w, pod, err);
}
