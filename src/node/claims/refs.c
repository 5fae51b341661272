/*
 * From a container's references to devices. No container names the claim behind extended resources:
 * the scheduler wrote into the pod's status which of the claim's requests is for which container
 * and resource.
 */
#include "base/json/json.h"
#include "node/claims/claims.h"

struct str claims_base_request(struct str request)
{
	ptrdiff_t slash = str_chr(request, '/');

	return slash < 0 ? request : str_of(request.p, (size_t)slash);
}

bool claims_device_fits(const struct assign_claim_device *d, struct str request)
{
	if (request.n == 0 || d->nrequests == 0)
		return true;
	for (size_t i = 0; i < d->nrequests; i++) {
		if (str_eq(claims_base_request(d->requests[i]), claims_base_request(request)))
			return true;
	}
	return false;
}

struct claims_refs claims_refs(const struct pod *pod, const struct json *container)
{
	const struct json *claims = json_getz(json_getz(container, "resources"), "claims");

	return (struct claims_refs){ .pod = pod,
				     .container = container,
				     .next = json_first(claims) };
}

static bool is_mapped(const struct claims_refs *r, const struct json *mapping)
{
	const struct json *requests = json_getz(json_getz(r->container, "resources"), "requests");

	return str_eq(json_text_at(mapping, "containerName"), json_text_at(r->container, "name")) &&
	       json_get(requests, json_text_at(mapping, "resourceName")) &&
	       json_text_at(mapping, "requestName").n > 0;
}

bool claims_refs_next(struct claims_refs *r)
{
	const struct json *at, *claim;

	for (;;) {
		if (!r->next && !r->extended) {
			r->extended = true;
			claim = json_getz(r->pod->status, "extendedResourceClaimStatus");
			r->next = json_first(json_getz(claim, "requestMappings"));
		}
		at = r->next;
		if (!at)
			return false;
		r->next = at->next;
		if (!r->extended) {
			r->pod_claim = json_text_at(at, "name");
			r->request = json_text_at(at, "request");
			return true;
		}
		if (!is_mapped(r, at))
			continue;
		r->pod_claim = STR(CLAIMS_EXTENDED);
		r->request = json_text_at(at, "requestName");
		return true;
	}
}

/* --- CDI ------------------------------------------------------------------------------------- */

static bool has_id(const struct str *ids, size_t n, struct str id)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(ids[i], id))
			return true;
	}
	return false;
}

static size_t add_ids(const struct assign_claim_device *d, struct str *ids, size_t n)
{
	for (size_t i = 0; i < d->ncdi; i++) {
		if (!has_id(ids, n, d->cdi[i]))
			ids[n++] = d->cdi[i];
	}
	return n;
}

size_t claims_cdi_ids(const struct assign *assign, const struct pod *pod,
		      const struct json *container, struct arena *a, const struct str **ret_ids)
{
	struct claims_refs r = claims_refs(pod, container);
	const struct assign_use *uses;
	size_t n = assign_uses(assign, pod->uid, a, &uses), most = 0, count = 0;
	struct str *ids;

	for (size_t i = 0; i < n; i++)
		most += uses[i].device.ncdi;
	ids = ARENA_ARRAY(a, struct str, most);
	while (claims_refs_next(&r)) {
		for (size_t i = 0; i < n; i++) {
			if (str_eq(uses[i].pod_claim, r.pod_claim) &&
			    claims_device_fits(&uses[i].device, r.request))
				count = add_ids(&uses[i].device, ids, count);
		}
	}
	*ret_ids = ids;
	return count;
}
