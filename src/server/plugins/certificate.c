/*
 * Requests to signers. A signer or approver trusts what a request says about its creator, so the
 * server sets these fields. Approving, signing and publishing trust bundles needs a right on the
 * signer's name, or on its domain with a `*`.
 */
#include "api/api_limits.h"
#include "base/text/base64.h"
#include "net/tls/pki_csr.h"
#include "server/admission/request.h"
#include "server/authz/authorizers.h"
#include "server/core/parts.h"
#include "server/plugins/authz.h"

static struct str text_at(const struct json *object, const char *name)
{
	return json_text_at(json_getz(object, "spec"), name);
}

/* --- rights ------------------------------------------------------------------------- */

static bool may_as(struct admission_request *req, const char *verb, struct str name)
{
	struct authz_query q = { .user = req->user,
				 .verb = str_from(verb),
				 .group = STR("certificates.k8s.io"),
				 .version = STR("*"),
				 .resource = STR("signers"),
				 .name = name };

	return authz_decide(req->server->authz, &q, req->work, NULL) == AUTHZ_ALLOW;
}

static bool may(struct admission_request *req, const char *verb, struct str signer)
{
	ptrdiff_t slash = str_chr(signer, '/');
	struct str domain = slash < 0 ? signer : str_of(signer.p, (size_t)slash);

	return may_as(req, verb, signer) ||
	       may_as(req, verb, str_from(arena_printf(req->work, "%.*s/*", STR_ARG(domain))));
}

static int require(struct admission_request *req, const char *verb, const char *words,
		   struct str signer, struct error *err)
{
	if (may(req, verb, signer))
		return 0;
	return error_set(err, ERR_FORBIDDEN, "user not permitted to %s signerName \"%.*s\"", words,
			 STR_ARG(signer));
}

/* --- requests ----------------------------------------------------------------------- */

static void take_over(struct json *spec, const struct json *user, const char *to, const char *from)
{
	struct json *v = json_getz(user, from);

	(void)json_remove(spec, str_from(to));
	if (v)
		json_setz(spec, to, json_unlink((struct json *)user, v));
}

static void name_requester(struct admission_request *req, struct json *object)
{
	struct json *user = user_info(req->work, req->user);
	struct json *spec = json_getz(object, "spec");

	if (!json_is(spec, JSON_OBJECT))
		return;
	take_over(spec, user, "username", "username");
	take_over(spec, user, "uid", "uid");
	take_over(spec, user, "groups", "groups");
	take_over(spec, user, "extra", "extra");
}

static int refuse_masters(struct admission_request *req, const struct json *object,
			  struct error *err)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(OBJECT_MAX);
	struct error why = { 0 };
	bool masters = false;

	if (!str_eqz(text_at(object, "signerName"), "kubernetes.io/kube-apiserver-client"))
		return 0;
	if (base64_decode(&pem, text_at(object, "request"), BASE64_STD, &why) < 0 ||
	    pki_csr_has_organization(buf_str(&pem), USER_MASTERS, req->work, &masters, &why) < 0)
		return error_set(err, ERR_FORBIDDEN, "failed to parse CSR: %s", why.msg);
	if (!masters)
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "use of kubernetes.io/kube-apiserver-client signer with system:masters "
			 "group is not allowed");
}

static bool same_at(const struct json *a, const struct json *b, const char *name)
{
	const struct json *x = json_getz(json_getz(a, "status"), name);
	const struct json *y = json_getz(json_getz(b, "status"), name);

	return x && y ? json_equal(x, y) : !x == !y;
}

static int admit_request(struct admission_request *req, const struct json *old, struct json *object,
			 struct error *err)
{
	struct str sub = req->write->subresource, signer = text_at(old, "signerName");

	if (!old)
		name_requester(req, object);
	if (!sub.n)
		return refuse_masters(req, object, err);
	if (str_eqz(sub, "approval"))
		return require(req, "approve", "approve requests with", signer, err);
	if (same_at(old, object, "certificate") && same_at(old, object, "conditions"))
		return 0;
	return require(req, "sign", "sign requests with", signer, err);
}

/* A request for a pod's certificate: only its signer may write the status. */
static int admit_pod_request(struct admission_request *req, const struct json *old,
			     struct json *object, struct error *err)
{
	if (!str_eqz(req->write->subresource, "status") ||
	    json_equal(json_getz(old, "status"), json_getz(object, "status")))
		return 0;
	return require(req, "sign", "sign requests with", text_at(old, "signerName"), err);
}

static int admit_bundle(struct admission_request *req, const struct json *old, struct json *object,
			struct error *err)
{
	struct str signer = text_at(object, "signerName");

	if (!signer.n || (old && authz_only_gc_fields(old, object)))
		return 0;
	return require(req, "attest", "attest for", signer, err);
}

int admit_certificate(struct admission_request *req, const struct json *old, struct json *object,
		      struct error *err)
{
	struct str resource = req->write->kind->resource;

	if (!object || req->request->verb == REQUEST_DELETE ||
	    req->request->verb == REQUEST_DELETE_COLLECTION)
		return 0;
	if (str_eqz(resource, "certificatesigningrequests"))
		return admit_request(req, old, object, err);
	if (str_eqz(resource, "podcertificaterequests"))
		return admit_pod_request(req, old, object, err);
	return str_eqz(resource, "clustertrustbundles") ? admit_bundle(req, old, object, err) : 0;
}
