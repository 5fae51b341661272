/*
 * A pod is viewed in two passes: first, which of its containers is the last to have each thing;
 * then each container with the things listed for it. Containers are ranked, init containers in
 * their order below all others, so "taken over" is one comparison: an init container lists a thing
 * if it has the highest rank for it. Memory needs no such pass, because the log subtracts from an
 * init container's block what a later container uses of it.
 */
#include "node/podresources/view.h"

#include "base/text/cpu_set.h"
#include "node/claims/claims.h"
#include "node/numa/memory_table.h"
#include "node/podresources/make.h"

/* One container. */
struct part {
	struct str name;
	enum pod_container_kind kind;
	size_t rank; /* starts at 1 */
	size_t first, n; /* range in `uses`: its plugin devices */
	struct cpu_set cpus; /* to be listed */
};

struct view {
	const struct assign *log;
	const struct pod *pod; /* or NULL */
	struct str uid;
	struct arena *a;
	struct part *parts;
	size_t nparts;
	const struct assign_use *uses; /* plugin devices, then claim devices */
	size_t nuses, nplugin;
	/*
	 * For each use: the highest rank that has it (0: none), and the container that named it
	 * last.
	 */
	size_t *top, *named;
	/* For a claim's use: the first use of the same device of the same claim. */
	size_t *same;
};

/* --- the last holder of each thing ----------------------------------------------------------- */

static void read_parts(struct view *w)
{
	enum pod_container_kind kind;
	struct str name;
	size_t at = 0;

	while (assign_next_container(w->log, w->uid, &at, &name, &kind))
		w->nparts = at;
	w->parts = ARENA_ARRAY(w->a, struct part, w->nparts);
	for (at = 0; assign_next_container(w->log, w->uid, &at, &name, &kind);)
		w->parts[at - 1] = (struct part){ .name = name,
						  .kind = kind,
						  .rank = kind == POD_INIT ? at : w->nparts + at };
}

/* Uses are sorted by container; those of claims come last. */
static void read_uses(struct view *w)
{
	w->nuses = assign_uses(w->log, w->uid, w->a, &w->uses);
	w->top = ARENA_ARRAY(w->a, size_t, w->nuses);
	w->named = ARENA_ARRAY(w->a, size_t, w->nuses);
	w->same = ARENA_ARRAY(w->a, size_t, w->nuses);
	for (size_t i = 0; i < w->nparts; i++) {
		struct part *p = &w->parts[i];

		p->first = w->nplugin;
		while (w->nplugin < w->nuses && str_eq(w->uses[w->nplugin].container, p->name))
			w->nplugin++;
		p->n = w->nplugin - p->first;
		for (size_t u = p->first; u < w->nplugin; u++)
			w->top[u] = p->rank;
	}
}

/* A plugin device and its container; sorted so that equal devices are adjacent. */
struct having {
	const struct assign_use *use;
	size_t at;
};

static int cmp_having(const void *a, const void *b)
{
	const struct having *x = a, *y = b;
	int r = str_cmp(x->use->resource, y->use->resource);

	if (r == 0)
		r = str_cmp(x->use->id, y->use->id);
	return r != 0 ? r : (x->at > y->at) - (x->at < y->at);
}

static bool same_device(const struct assign_use *a, const struct assign_use *b)
{
	return str_eq(a->id, b->id) && str_eq(a->resource, b->resource);
}

/* Sets all uses of a device to the device's highest rank. */
static void rank_devices(struct view *w)
{
	struct having *v = ARENA_ARRAY(w->a, struct having, w->nplugin);

	for (size_t i = 0; i < w->nplugin; i++)
		v[i] = (struct having){ .use = &w->uses[i], .at = i };
	if (w->nplugin > 0)
		qsort(v, w->nplugin, sizeof(*v), cmp_having);
	for (size_t from = 0, to; from < w->nplugin; from = to) {
		size_t top = 0;

		for (to = from; to < w->nplugin && same_device(v[from].use, v[to].use); to++)
			top = MAX(top, w->top[v[to].at]);
		for (size_t i = from; i < to; i++)
			w->top[v[i].at] = top;
	}
}

/*
 * Returns the first use of the claim that begins at `at`: of an earlier entry of the pod, or
 * itself.
 */
static size_t first_of_claim(const struct view *w, size_t at)
{
	size_t i = w->nplugin;

	while (i < at && !str_eq(w->uses[i].claim_uid, w->uses[at].claim_uid))
		i++;
	return i;
}

/* Two entries of the pod may name one claim: its devices count once, for the first entry. */
static void join_claims(struct view *w)
{
	size_t first = w->nplugin, same = w->nplugin;

	for (size_t i = w->nplugin; i < w->nuses; i++) {
		if (!str_eq(w->uses[i].pod_claim, w->uses[first].pod_claim)) {
			first = i;
			same = first_of_claim(w, i);
		}
		w->same[i] = same + (i - first);
	}
}

static void name_all_claims(struct view *w, const struct part *p)
{
	for (size_t i = w->nplugin; i < w->nuses; i++) {
		if (!w->uses[i].past)
			w->named[w->same[i]] = p->rank;
	}
}

/* Marks the claim devices that the container names, or may name. */
static void name_claims(struct view *w, const struct part *p)
{
	const struct json *container = w->pod ? pod_container(w->pod, p->name, NULL) : NULL;
	struct claims_refs r;

	if (!w->pod)
		name_all_claims(w, p);
	if (!container || w->nplugin == w->nuses)
		return;
	r = claims_refs(w->pod, container);
	while (claims_refs_next(&r)) {
		for (size_t i = w->nplugin; i < w->nuses; i++) {
			const struct assign_use *u = &w->uses[i];

			if (!u->past && str_eq(u->pod_claim, r.pod_claim) &&
			    claims_device_fits(&u->device, r.request))
				w->named[w->same[i]] = p->rank;
		}
	}
}

static void rank_claims(struct view *w)
{
	join_claims(w);
	for (size_t i = 0; i < w->nparts; i++) {
		const struct part *p = &w->parts[i];

		name_claims(w, p);
		for (size_t u = w->nplugin; u < w->nuses; u++) {
			if (w->named[u] == p->rank)
				w->top[u] = MAX(w->top[u], p->rank);
		}
	}
}

/* The last init container comes first: earlier ones keep only CPUs that no later container has. */
static void share_cpus(struct view *w)
{
	struct cpu_set taken = { 0 };

	for (size_t i = 0; i < w->nparts; i++) {
		struct part *p = &w->parts[i];

		(void)assign_own_cpus(w->log, w->uid, p->name, &p->cpus);
		if (p->kind != POD_INIT)
			cpu_set_or(&taken, &p->cpus);
	}
	for (size_t i = w->nparts; i-- > 0;) {
		struct part *p = &w->parts[i];

		if (p->kind != POD_INIT)
			continue;
		cpu_set_minus(&p->cpus, &taken);
		cpu_set_or(&taken, &p->cpus);
	}
}

/* --- containers ------------------------------------------------------------------------------ */

static bool is_told(const struct view *w, const struct part *p, size_t use)
{
	return p->kind != POD_INIT || w->top[use] == p->rank;
}

static void view_put_devices(const struct view *w, const struct part *p,
			     Podresources__ContainerResources *m)
{
	struct podres_devices d = { .a = w->a };

	vec_init(&d.v, SIZE_MAX);
	for (size_t i = p->first; i < p->first + p->n; i++) {
		const struct assign_use *u = &w->uses[i];

		if (is_told(w, p, i))
			podres_add_device(&d, u->resource, u->id, u->numa, u->nnuma);
	}
	m->devices = podres_take_devices(&d, &m->n_devices);
}

static Podresources__DynamicResource *make_claim(const struct assign_use *u, size_t most,
						 struct arena *a)
{
	Podresources__DynamicResource *m = ARENA_NEW(a, Podresources__DynamicResource);

	podresources__dynamic_resource__init(m);
	m->claim_name = arena_strdup(a, u->claim_name);
	m->claim_namespace = arena_strdup(a, u->claim_ns);
	m->claim_resources = ARENA_ARRAY(a, Podresources__ClaimResource *, most);
	return m;
}

/*
 * Adds the container's devices of the claim whose first use is `from`; returns the next claim's
 * first.
 */
static size_t put_claim(struct view *w, const struct part *p, size_t from,
			Podresources__ContainerResources *m)
{
	Podresources__DynamicResource *claim = NULL;
	size_t to = from;

	while (to < w->nuses && str_eq(w->uses[to].claim_uid, w->uses[from].claim_uid))
		to++;
	for (size_t i = from; i < to; i++) {
		if (w->named[i] != p->rank || !is_told(w, p, i))
			continue;
		if (!claim) {
			claim = make_claim(&w->uses[i], to - i, w->a);
			m->dynamic_resources[m->n_dynamic_resources++] = claim;
		}
		claim->claim_resources[claim->n_claim_resources++] = podres_make_claim_resource(
			&w->uses[i].device, w->a);
	}
	return to;
}

/* Adds claims that no container names. The claim for extended resources always has a container. */
static void put_unnamed(struct view *w, Podresources__PodResources *m)
{
	Podresources__DynamicResource *claim = NULL;
	struct str uid = STR_NULL;

	m->dynamic_resources = ARENA_ARRAY(w->a, Podresources__DynamicResource *,
					   w->nuses - w->nplugin);
	for (size_t i = w->nplugin; w->pod && i < w->nuses; i++) {
		const struct assign_use *u = &w->uses[i];

		if (u->past || w->top[i] > 0 || w->same[i] != i)
			continue;
		if (!claim || !str_eq(uid, u->claim_uid)) {
			claim = make_claim(u, w->nuses - i, w->a);
			m->dynamic_resources[m->n_dynamic_resources++] = claim;
			uid = u->claim_uid;
		}
		claim->claim_resources[claim->n_claim_resources++] = podres_make_claim_resource(
			&u->device, w->a);
	}
}

static void put_claims(struct view *w, const struct part *p, Podresources__ContainerResources *m)
{
	size_t most = 0;

	name_claims(w, p);
	for (size_t i = w->nplugin; i < w->nuses; i++)
		most += w->named[i] == p->rank;
	m->dynamic_resources = ARENA_ARRAY(w->a, Podresources__DynamicResource *, most);
	for (size_t i = w->nplugin; i < w->nuses;)
		i = put_claim(w, p, i, m);
}

static Podresources__ContainerResources *make_container(struct view *w, const struct part *p)
{
	Podresources__ContainerResources *m = ARENA_NEW(w->a, Podresources__ContainerResources);
	const struct memory_block *blocks;
	size_t n = assign_memory(w->log, w->uid, p->name, w->a, &blocks);

	podresources__container_resources__init(m);
	m->name = arena_strdup(w->a, p->name);
	view_put_devices(w, p, m);
	m->cpu_ids = podres_make_cpus(&p->cpus, w->a, &m->n_cpu_ids);
	m->memory = podres_make_memory(blocks, n, w->a, &m->n_memory);
	put_claims(w, p, m);
	return m;
}

static bool has_nothing(const Podresources__ContainerResources *m)
{
	return m->n_devices == 0 && m->n_cpu_ids == 0 && m->n_memory == 0 &&
	       m->n_dynamic_resources == 0;
}

Podresources__PodResources *podres_view_pod(const struct assign *s, struct str pod_uid,
					    const struct pod *pod, struct arena *a)
{
	struct view w = { .log = s, .pod = pod, .uid = pod_uid, .a = a };
	struct str ns, name;
	Podresources__PodResources *m;

	if (!assign_is_admitted(s, pod_uid) || !assign_pod_names(s, pod_uid, &ns, &name))
		return NULL;
	read_parts(&w);
	read_uses(&w);
	rank_devices(&w);
	rank_claims(&w);
	share_cpus(&w);
	m = ARENA_NEW(a, Podresources__PodResources);
	podresources__pod_resources__init(m);
	m->name = arena_strdup(a, name);
	m->namespace_ = arena_strdup(a, ns);
	m->containers = ARENA_ARRAY(a, Podresources__ContainerResources *, w.nparts);
	for (size_t i = 0; i < w.nparts; i++) {
		Podresources__ContainerResources *c = make_container(&w, &w.parts[i]);

		if (w.parts[i].kind != POD_INIT || !has_nothing(c))
			m->containers[m->n_containers++] = c;
	}
	put_unnamed(&w, m);
	return m;
}

size_t podres_view_first_main(const struct assign *s, struct str pod_uid,
			      const Podresources__PodResources *state)
{
	enum pod_container_kind kind = POD_INIT;
	size_t at = 0, i = 0;
	struct str name;

	while (kind != POD_MAIN && assign_next_container(s, pod_uid, &at, &name, &kind))
		;
	while (i < state->n_containers &&
	       !(kind == POD_MAIN && str_eqz(name, state->containers[i]->name)))
		i++;
	return i;
}

/* --- allocatable ----------------------------------------------------------------------------- */

static void add_resource(struct podres_devices *to, const struct assign *s, struct str resource)
{
	struct assign_device d;
	struct str at = STR_NULL;

	while (assign_device_next(s, resource, &at, &d)) {
		if (d.health == ASSIGN_HEALTHY)
			podres_add_device(to, resource, d.id, d.numa, d.nnuma);
	}
}

Podresources__AllocatableResponse *podres_view_allocatable(const struct assign *s, struct arena *a)
{
	Podresources__AllocatableResponse *m = ARENA_NEW(a, Podresources__AllocatableResponse);
	struct podres_devices d = { .a = a };
	struct str resource = STR_NULL;
	const struct memory_block *blocks;
	int64_t capacity, usable;
	struct cpu_set cpus;

	podresources__allocatable_response__init(m);
	vec_init(&d.v, SIZE_MAX);
	while (assign_next_resource(s, &resource, &capacity, &usable))
		add_resource(&d, s, resource);
	m->devices = podres_take_devices(&d, &m->n_devices);
	assign_allocatable_cpus(s, &cpus);
	m->cpu_ids = podres_make_cpus(&cpus, a, &m->n_cpu_ids);
	m->n_memory = assign_allocatable_memory(s, a, &blocks);
	m->memory = podres_make_memory(blocks, m->n_memory, a, &m->n_memory);
	return m;
}
