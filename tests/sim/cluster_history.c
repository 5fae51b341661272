#include "cluster_history.h"

#include "base/ordered/omap.h"
#include "node/book/podres.h"

static struct omap had; /* "uid thing", "namespace/name thing" */
static struct arena memory; /* of the keys */

bool __real_podres_set_pod(struct podres *b, struct str uid,
			   const Podresources__PodResources *state, size_t first_main);
bool __wrap_podres_set_pod(struct podres *b, struct str uid,
			   const Podresources__PodResources *state, size_t first_main);

void cluster_history_begin(void)
{
	omap_init(&had);
	arena_init(&memory, SIZE_MAX);
}

void cluster_history_release(void)
{
	omap_release(&had);
	arena_release(&memory);
}

/* --- things --------------------------------------------------------------------------------- */

static void each_claim(const Podresources__DynamicResource *d, struct arena *a,
		       void (*fn)(void *arg, const char *thing, const char *claim), void *arg)
{
	const char *claim = arena_printf(a, "claim %s/%s", d->claim_namespace, d->claim_name);

	for (size_t i = 0; i < d->n_claim_resources; i++)
		fn(arg,
		   arena_printf(a, "%s/%s", d->claim_resources[i]->pool_name,
				d->claim_resources[i]->device_name),
		   claim);
}

static void each_of_container(const Podresources__ContainerResources *c, struct arena *a,
			      void (*fn)(void *arg, const char *thing, const char *claim),
			      void *arg)
{
	for (size_t i = 0; i < c->n_devices; i++)
		for (size_t k = 0; k < c->devices[i]->n_device_ids; k++)
			fn(arg, arena_strdup(a, str_from(c->devices[i]->device_ids[k])), NULL);
	for (size_t i = 0; i < c->n_cpu_ids; i++)
		fn(arg, arena_printf(a, "CPU %lld", (long long)c->cpu_ids[i]), NULL);
	for (size_t i = 0; i < c->n_dynamic_resources; i++)
		each_claim(c->dynamic_resources[i], a, fn, arg);
}

void cluster_history_each(const Podresources__PodResources *pod, struct arena *a,
			  void (*fn)(void *arg, const char *thing, const char *claim), void *arg)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		each_of_container(pod->containers[i], a, fn, arg);
}

/* --- history -------------------------------------------------------------------------------- */

struct look {
	struct str pod; /* its uid, or name */
	struct arena *arena;
	const char *bad;
};

static struct str key_of(struct arena *a, struct str pod, const char *thing, const char *claim)
{
	return str_from(
		arena_printf(a, "%.*s %s %s", STR_ARG(pod), thing, claim ? claim : "alone"));
}

static struct str name_of(struct arena *a, const Podresources__PodResources *pod)
{
	return str_from(arena_printf(a, "%s/%s", pod->namespace_, pod->name));
}

static void note(void *arg, const char *thing, const char *claim)
{
	const struct look *l = arg;

	(void)omap_put(&had, key_of(&memory, l->pod, thing, claim), &had);
}

static void find(void *arg, const char *thing, const char *claim)
{
	struct look *l = arg;

	if (!omap_get(&had, key_of(l->arena, l->pod, thing, claim)))
		l->bad = thing;
}

const char *cluster_history_contradicts(struct str uid, const Podresources__PodResources *pod,
					struct arena *a)
{
	struct look l = { .pod = uid.n > 0 ? uid : name_of(a, pod), .arena = a };

	cluster_history_each(pod, a, find, &l);
	return l.bad;
}

bool __wrap_podres_set_pod(struct podres *b, struct str uid,
			   const Podresources__PodResources *state, size_t first_main)
{
	struct look by_uid = { .pod = uid }, by_name = { .pod = name_of(&memory, state) };

	cluster_history_each(state, &memory, note, &by_uid);
	cluster_history_each(state, &memory, note, &by_name);
	return __real_podres_set_pod(b, uid, state, first_main);
}
