/*
 * A kubelet lists a plugin's device once per NUMA node, and a claim's device for each container
 * that has it. It does not list requests: a device fits the requests that its containers name.
 */
#include "base/core/map.h"
#include "base/json/json.h"
#include "node/beside/beside_impl.h"
#include "node/claims/claims.h"

struct collecting {
	const struct beside *b;
	const struct pod *pod;
	struct arena *arena;
	struct map seen; /* key to struct assign_use */
	struct assign_use *v;
	size_t n;
	const struct json *container; /* NULL: for the pod as a whole */
};

static bool is_followed(const struct beside *b, struct str resource)
{
	for (size_t i = 0; i < b->opts.nplugins; i++) {
		if (str_eq(b->opts.plugins[i].resource, resource))
			return true;
	}
	return false;
}

/* Returns NULL if there is one with this key already, which is then in *ret_known. */
static struct assign_use *add_use(struct collecting *c, const char *key,
				  struct assign_use **ret_known)
{
	*ret_known = map_get(&c->seen, str_from(key));
	if (*ret_known)
		return NULL;
	(void)map_put(&c->seen, str_from(key), &c->v[c->n]);
	return &c->v[c->n++];
}

/* --- devices of plugins ---------------------------------------------------------------------- */

static void add_plugin_device(struct collecting *c, struct str container, struct str resource,
			      struct str id)
{
	struct assign_use *known;
	struct assign_use *u = add_use(c,
				       arena_printf(c->arena, "%.*s %.*s %.*s", STR_ARG(container),
						    STR_ARG(resource), STR_ARG(id)),
				       &known);

	if (u)
		*u = (struct assign_use){ .container = container, .resource = resource, .id = id };
}

/* --- devices of claims ----------------------------------------------------------------------- */

static struct str *with_request(struct arena *a, const struct assign_claim_device *d,
				struct str request)
{
	struct str *v = ARENA_ARRAY(a, struct str, d->nrequests + 1);

	for (size_t i = 0; i < d->nrequests; i++)
		v[i] = d->requests[i];
	v[d->nrequests] = request;
	return v;
}

/* A reference to the whole claim is an empty request, which no other reference names. */
static void add_requests(struct collecting *c, struct assign_use *u)
{
	struct claims_refs r = claims_refs(c->pod, c->container);

	while (c->container && claims_refs_next(&r)) {
		if (!str_eq(r.pod_claim, u->pod_claim))
			continue;
		u->device.requests = with_request(c->arena, &u->device,
						  claims_base_request(r.request));
		u->device.nrequests++;
	}
}

static struct str *cdi_of(const Podresources__ClaimResource *r, struct arena *a)
{
	struct str *v = ARENA_ARRAY(a, struct str, r->n_cdi_devices);

	for (size_t i = 0; i < r->n_cdi_devices; i++)
		v[i] = str_from(r->cdi_devices[i]->name);
	return v;
}

static void add_claim_device(struct collecting *c, struct str pod_claim,
			     const Podresources__DynamicResource *d,
			     const Podresources__ClaimResource *r)
{
	struct assign_use *known;
	struct assign_use *u = add_use(c,
				       arena_printf(c->arena, "%.*s//%s/%s/%s", STR_ARG(pod_claim),
						    r->driver_name, r->pool_name, r->device_name),
				       &known);

	if (u)
		*u = (struct assign_use){ .pod_claim = pod_claim,
					  .claim_ns = str_from(d->claim_namespace),
					  .claim_name = str_from(d->claim_name),
					  .device = { .driver = str_from(r->driver_name),
						      .pool = str_from(r->pool_name),
						      .device = str_from(r->device_name),
						      .cdi = cdi_of(r, c->arena),
						      .ncdi = r->n_cdi_devices } };
	add_requests(c, u ? u : known);
}

static void add_claim_devices(struct collecting *c, struct str pod_claim,
			      const Podresources__DynamicResource *d)
{
	for (size_t i = 0; i < d->n_claim_resources; i++)
		add_claim_device(c, pod_claim, d, d->claim_resources[i]);
}

/* A pod may name a claim several times. */
static void add_claim(struct collecting *c, const Podresources__DynamicResource *d)
{
	const struct json *extended = json_getz(c->pod->status, "extendedResourceClaimStatus");
	struct str name = str_from(d->claim_name);
	bool none;

	JSON_FOREACH (it, json_getz(c->pod->spec, "resourceClaims")) {
		struct str pod_claim = json_text_at(it, "name");

		if (str_eq(pod_claim_name(c->pod, pod_claim, &none), name))
			add_claim_devices(c, pod_claim, d);
	}
	if (str_eq(json_text_at(extended, "resourceClaimName"), name))
		add_claim_devices(c, STR(CLAIMS_EXTENDED), d);
}

/* --- a pod ----------------------------------------------------------------------------------- */

static void add_container(struct collecting *c, const Podresources__ContainerResources *x)
{
	struct str name = str_from(x->name);

	c->container = pod_container(c->pod, name, NULL);
	for (size_t i = 0; i < x->n_devices; i++) {
		struct str resource = str_from(x->devices[i]->resource_name);

		for (size_t j = 0; is_followed(c->b, resource) && j < x->devices[i]->n_device_ids;
		     j++)
			add_plugin_device(c, name, resource,
					  str_from(x->devices[i]->device_ids[j]));
	}
	for (size_t i = 0; i < x->n_dynamic_resources; i++)
		add_claim(c, x->dynamic_resources[i]);
}

/* Devices that a state lists, at most: each may be in as many uses as the pod names claims. */
static size_t most_uses(const Podresources__PodResources *state, const struct pod *pod)
{
	size_t claims = json_count(json_getz(pod->spec, "resourceClaims")) + 1, n = 0;

	for (size_t i = 0; i < state->n_dynamic_resources; i++)
		n += claims * state->dynamic_resources[i]->n_claim_resources;
	for (size_t i = 0; i < state->n_containers; i++) {
		const Podresources__ContainerResources *x = state->containers[i];

		for (size_t j = 0; j < x->n_devices; j++)
			n += x->devices[j]->n_device_ids;
		for (size_t j = 0; j < x->n_dynamic_resources; j++)
			n += claims * x->dynamic_resources[j]->n_claim_resources;
	}
	return n;
}

size_t beside_uses(const struct beside *b, const Podresources__PodResources *state,
		   const struct pod *pod, struct arena *a, const struct assign_use **ret_uses)
{
	struct collecting c = { .b = b, .pod = pod, .arena = a };

	map_init(&c.seen);
	c.v = ARENA_ARRAY(a, struct assign_use, most_uses(state, pod));
	for (size_t i = 0; i < state->n_containers; i++)
		add_container(&c, state->containers[i]);
	c.container = NULL;
	for (size_t i = 0; i < state->n_dynamic_resources; i++)
		add_claim(&c, state->dynamic_resources[i]);
	map_release(&c.seen);
	*ret_uses = c.v;
	return c.n;
}

bool beside_has_devices(const Podresources__PodResources *state)
{
	for (size_t i = 0; i < state->n_containers; i++) {
		if (state->containers[i]->n_devices + state->containers[i]->n_dynamic_resources > 0)
			return true;
	}
	return state->n_dynamic_resources > 0;
}
