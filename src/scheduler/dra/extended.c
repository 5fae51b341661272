/*
 * Extended resources backed by devices: a pod requests "example.com/gpu: 1", and a device class
 * offers this resource. If a node offers the resource itself (through a device plugin), that
 * counts. On other nodes a special claim, for all of the pod's containers, gets the devices. It is
 * only in memory until pre_bind.
 *
 * The claim's requests depend on the resources that a node offers itself. So there is one variant
 * of the claim for each set of resources, created for the first node that needs it.
 */
#include "api/schema/gates.h"
#include "api/schema/names.h"
#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "base/system/uuid.h"
#include "client/informer/cached.h"
#include "dra/inventory/content.h"
#include "scheduler/cache/amounts.h"
#include "scheduler/cache/nodeinfo.h"
#include "scheduler/dra/plugin.h"
#include "scheduler/framework/common.h"

static const struct str cannot_fit[] = { REASON("cannot fit resource") };
static const struct str too_many[] = { REASON("pod requests more than 64 extended resources") };

enum { RESOURCES_MAX = 64 }; /* bits of a variant */

static bool may_be_devices(struct str name)
{
	return names_is_extended_resource(name) ||
	       str_starts(name, STR("deviceclass.resource.kubernetes.io/"));
}

/* --- before nodes ---------------------------------------------------------------------------- */

static int extended_by_name(const void *a, const void *b)
{
	return str_cmp(((const struct dra_resource *)a)->name,
		       ((const struct dra_resource *)b)->name);
}

/* Extended resources of the pod, by name. True: some class offers one. */
static bool find_resources(struct plugin *p, struct cycle *c, struct dra_cycle *d)
{
	const struct amounts *requests = &c->pod->requests;
	const struct inventory *inv = dra_state_inventory(p->services->dra);
	bool any = false;

	d->resources = ARENA_ARRAY(d->arena, struct dra_resource, requests->scalars.n);
	for (size_t i = 0; i < requests->scalars.n; i++) {
		uint32_t id = requests->scalars.v[i].name;
		struct str name = amount_names_text(p->services->names, id);
		const struct inventory_class *class;

		if (requests->scalars.v[i].value == 0 || !may_be_devices(name))
			continue;
		class = inventory_class_of_resource(inv, name);
		d->resources[d->nresources++] = (struct dra_resource){
			.name = name,
			.id = id,
			.backed = class != NULL,
			.class_name = class ? arena_str(d->arena, class->name) : STR_NULL,
		};
		any |= class != NULL;
	}
	if (d->nresources > 0)
		qsort(d->resources, d->nresources, sizeof(*d->resources), extended_by_name);
	return any;
}

static struct json *extended_owner_of(struct arena *a, const struct podinfo *pod)
{
	struct json *list = json_make_array(a), *owner = json_make_object(a);

	json_put_str(a, owner, "apiVersion", STR("v1"));
	json_put_str(a, owner, "kind", STR("Pod"));
	json_put_str(a, owner, "name", pod->name);
	json_put_str(a, owner, "uid", pod->uid);
	json_put_bool(a, owner, "controller", true);
	json_append(list, owner);
	return list;
}

/* Returns the claim without requests. The uid is temporary, until the claim is created. */
static struct json *claim_template(struct arena *a, const struct podinfo *pod, struct str uid)
{
	struct json *claim = json_make_object(a), *meta;

	json_put_str(a, claim, "apiVersion", STR("resource.k8s.io/v1"));
	json_put_str(a, claim, "kind", STR("ResourceClaim"));
	meta = json_need_object(a, claim, "metadata");
	json_put_str(a, meta, "namespace", pod->ns);
	json_put_str(a, meta, "name", STR(DRA_SPECIAL_NAME));
	json_put_str(a, meta, "generateName",
		     str_from(arena_printf(a, "%.*s-extended-resources-", STR_ARG(pod->name))));
	json_put_str(a, meta, "uid", uid);
	json_setz(meta, "ownerReferences", extended_owner_of(a, pod));
	json_put_str(a, json_need_object(a, meta, "annotations"), POD_CLAIMS_EXTENDED_ANNOTATION,
		     STR("true"));
	return claim;
}

bool dra_extended_begin(struct plugin *p, struct cycle *c, struct dra_cycle *d,
			struct verdict *ret_verdict)
{
	struct dra_state *s = p->services->dra;
	struct dra_pod_claim *special = &d->claims[d->n];
	char text[UUID_TEXT_SIZE];
	struct uuid uuid;
	struct cached *o;

	if (!gates_on(dra_state_gates(s), GATE_DRAExtendedResource) || !find_resources(p, c, d))
		return true;
	if (d->nresources > RESOURCES_MAX) {
		*ret_verdict = VERDICT_STATIC(VERDICT_UNRESOLVABLE, too_many);
		return false;
	}
	o = dra_state_claim_of_pod(s, c->pod->uid);
	if (o && cached_tree_held(o, d->arena, &special->tree, NULL) == 0) {
		/* A claim of a failed attempt. It must be deleted first. */
		special->object = o;
		special->key = o->key;
		special->uid = o->uid;
	} else {
		uuid_make(&uuid);
		special->uid = arena_str(d->arena, uuid_print(&uuid, text));
		special->tree = claim_template(d->arena, c->pod, special->uid);
		special->key = str_from(
			arena_printf(d->arena, "%.*s/" DRA_SPECIAL_NAME, STR_ARG(c->pod->ns)));
	}
	d->special = special;
	d->n++;
	return true;
}

/* --- a node ---------------------------------------------------------------------------------- */

/* Whether the node lists the resource, even with an amount of 0. */
static bool offers(const struct amounts *allocatable, uint32_t id)
{
	for (size_t i = 0; i < allocatable->scalars.n; i++)
		if (allocatable->scalars.v[i].name == id)
			return true;
	return false;
}

bool dra_extended_on(const struct dra_cycle *d, const struct nodeinfo *n, uint64_t *ret_resources,
		     struct verdict *ret_verdict)
{
	*ret_resources = 0;
	if (!d->special)
		return true;
	for (size_t i = 0; i < d->nresources; i++) {
		const struct amounts *has = &n->node->allocatable;

		if (d->resources[i].backed && amounts_scalar(has, d->resources[i].id) == 0) {
			*ret_resources |= UINT64_C(1) << i;
		} else if (!offers(has, d->resources[i].id)) {
			*ret_verdict = VERDICT_STATIC(VERDICT_UNRESOLVABLE, cannot_fit);
			return false;
		}
	}
	return true;
}

/* --- its requests ---------------------------------------------------------------------------- */

/* A container of the pod, and the request that it has for the resource under way. */
struct container {
	const struct json *spec;
	struct str name;
	bool brief; /* an init container that ends before the others begin */
	struct str request; /* empty: none of its own */
	int64_t count;
	struct json *mapping; /* to that */
};

struct making {
	struct arena *arena;
	struct container *v;
	size_t n;
	struct json *mappings;
	struct json **requests; /* all of them */
	size_t nrequests;
};

static void add_containers(struct making *m, const struct json *list, bool init)
{
	JSON_FOREACH (it, list)
		m->v[m->n++] = (struct container){
			.spec = it,
			.name = json_text_at(it, "name"),
			.brief = init && !str_eqz(json_text_at(it, "restartPolicy"), "Always"),
		};
}

static int64_t wanted_by(const struct container *c, struct str resource)
{
	const struct json *requests = json_getz(json_getz(c->spec, "resources"), "requests");
	const struct json *v = json_get(requests, resource);
	struct quantity q;

	if (!v || !quantity_read(v, &q) || q.nano % 1000000000 != 0)
		return 0;
	return (int64_t)(q.nano / 1000000000);
}

/* Returns the index of the resource among the container's requests, sorted by name. */
static unsigned extended_place_of(const struct container *c, struct str resource)
{
	const struct json *requests = json_getz(json_getz(c->spec, "resources"), "requests");
	unsigned before = 0;

	JSON_FOREACH (it, requests)
		before += str_cmp(json_key(it), resource) < 0;
	return before;
}

static struct json *map_request(struct making *m, const struct container *c, struct str resource,
				struct str request)
{
	struct json *v = json_make_object(m->arena);

	json_put_str(m->arena, v, "containerName", c->name);
	json_put_str(m->arena, v, "resourceName", resource);
	json_put_str(m->arena, v, "requestName", request);
	json_append(m->mappings, v);
	return v;
}

static void add_request(struct making *m, struct str name, struct str class, int64_t count)
{
	struct json *v = json_make_object(m->arena), *exactly;

	json_put_str(m->arena, v, "name", name);
	exactly = json_need_object(m->arena, v, "exactly");
	json_put_str(m->arena, exactly, "deviceClassName", class);
	json_put_str(m->arena, exactly, "allocationMode", STR("ExactCount"));
	json_put_i64(m->arena, exactly, "count", count);
	m->requests[m->nrequests++] = v;
}

/*
 * The request of one container, beyond what those behind it leave to a brief one: those run only
 * when it has ended. Notes which ones it uses.
 */
static void ask_for(struct making *m, size_t at, const struct dra_resource *r)
{
	struct container *c = &m->v[at];
	int64_t wanted = wanted_by(c, r->name), sum = 0;

	c->request = STR_NULL;
	c->count = 0;
	if (wanted <= 0)
		return;
	for (size_t i = at; c->brief && i < m->n; i++) {
		if (m->v[i].brief || m->v[i].request.n == 0)
			continue;
		sum += m->v[i].count;
		(void)map_request(m, c, r->name, m->v[i].request);
		if (sum >= wanted)
			return;
	}
	c->request = str_from(arena_printf(m->arena, "container-%zu-request-%u", at,
					   extended_place_of(c, r->name)));
	c->count = wanted - sum;
	c->mapping = map_request(m, c, r->name, c->request);
}

/* Brief containers run one after the other: one request, the largest, serves them all. */
static void share_brief(struct making *m, const struct dra_resource *r)
{
	const struct container *most = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].brief && m->v[i].request.n && (!most || m->v[i].count > most->count))
			most = &m->v[i];
	if (!most)
		return;
	add_request(m, most->request, r->class_name, most->count);
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].brief && m->v[i].request.n)
			json_put_str(m->arena, m->v[i].mapping, "requestName", most->request);
}

static void add_resource(struct making *m, const struct dra_resource *r)
{
	for (size_t i = 0; i < m->n; i++) {
		m->v[i].request = STR_NULL;
		if (m->v[i].brief)
			continue;
		ask_for(m, i, r);
		if (m->v[i].request.n)
			add_request(m, m->v[i].request, r->class_name, m->v[i].count);
	}
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].brief)
			ask_for(m, i, r);
	share_brief(m, r);
}

static int by_request_name(const void *a, const void *b)
{
	return str_cmp(json_text_at(*(struct json *const *)a, "name"),
		       json_text_at(*(struct json *const *)b, "name"));
}

void dra_extended_claim(const struct dra_cycle *d, const struct podinfo *pod, struct dra_variant *v)
{
	const struct json *spec = json_getz(pod->tree, "spec");
	const struct json *init = json_getz(spec, "initContainers");
	const struct json *others = json_getz(spec, "containers");
	struct making m = { .arena = d->arena, .mappings = json_make_array(d->arena) };
	size_t n = json_count(init) + json_count(others);
	struct json *list = json_make_array(d->arena);

	m.v = ARENA_ARRAY(d->arena, struct container, n);
	m.requests = ARENA_ARRAY(d->arena, struct json *, (n + 1) * d->nresources);
	add_containers(&m, init, true);
	add_containers(&m, others, false);
	for (size_t i = 0; i < d->nresources; i++)
		if (v->resources >> i & 1)
			add_resource(&m, &d->resources[i]);
	if (m.nrequests > 0)
		qsort(m.requests, m.nrequests, sizeof(*m.requests), by_request_name);
	for (size_t i = 0; i < m.nrequests; i++)
		json_append(list, m.requests[i]);
	v->claim = claim_template(d->arena, pod, d->special->uid);
	json_setz(
		json_need_object(d->arena, json_need_object(d->arena, v->claim, "spec"), "devices"),
		"requests", list);
	v->mappings = m.mappings;
}
