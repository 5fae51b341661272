/*
 * The log itself: options, revision, watchers. The records are kept by the files beside it:
 * assign/resource.c (devices), assign/pod.c (holds of pods), assign/claim.c, assign/admit.c
 * (admission) and assign/state.c (the checkpoint).
 *
 * Each function either assigns or releases, never both. Each change is reported with its own
 * revision after the log has it. So watchers see a device released before they see it held again.
 */
#include "node/assign/assign.h"

#include "base/core/mem.h"
#include "node/assign/assign_impl.h"
#include "node/numa/cpu_pick.h"

static void init_empty(struct assign *s)
{
	omap_init(&s->resources);
	omap_init(&s->pods);
	omap_init(&s->claims);
	map_init(&s->claim_names);
	map_init(&s->claim_devices);
	map_init(&s->exclusive);
	vec_init(&s->wishes, SIZE_MAX);
	s->watchers_end = &s->watchers;
}

/* As upstream, the static CPU policy does not start without CPUs for the system. */
static int reserve_cpus(struct assign *s, const struct assign_opts *opts, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	int r = cpu_set_parse(opts->reserved_cpus, &s->reserved_cpus, err);

	arena_init(&a, SIZE_MAX);
	if (r < 0)
		return error_wrap(err, r, "reserved CPUs");
	if (!s->static_cpus || !cpu_set_empty(&s->reserved_cpus))
		return 0;
	if (opts->reserved_cpu_milli <= 0)
		return error_set(err, ERR_INVALID,
				 "[cpumanager] the static policy requires systemreserved.cpu + "
				 "kubereserved.cpu to be greater than zero");
	return cpu_pick(s->machine, &s->free_cpus, (opts->reserved_cpu_milli + 999) / 1000, &a,
			&s->reserved_cpus, err);
}

static int reserve_memory(struct assign *s, const struct assign_opts *opts, struct error *err)
{
	int64_t all = 0;

	s->nreserved_memory = opts->nreserved_memory;
	s->reserved_memory = xcalloc(MAX(opts->nreserved_memory, (size_t)1), sizeof(int64_t));
	for (size_t i = 0; i < opts->nreserved_memory; i++) {
		s->reserved_memory[i] = opts->reserved_memory[i];
		all += opts->reserved_memory[i];
	}
	if (s->static_memory && all <= 0)
		return error_set(err, ERR_INVALID,
				 "[memorymanager] you should specify the system reserved memory");
	return 0;
}

int assign_new(const struct assign_opts *opts, struct assign **ret_assign, struct error *err)
{
	CLEANUP(assign_free) struct assign *s = XNEW(struct assign);
	int r;

	init_empty(s);
	s->machine = opts->machine;
	s->topology = opts->topology;
	s->topology_pod_scope = opts->topology_pod_scope;
	s->static_cpus = opts->static_cpus;
	s->static_memory = opts->static_memory;
	if (s->topology != TOPOLOGY_NONE && s->machine->nnuma > TOPOLOGY_NODES_MAX)
		return error_set(err, ERR_INVALID,
				 "unsupported on machines with more than %d NUMA Nodes",
				 TOPOLOGY_NODES_MAX);
	r = reserve_memory(s, opts, err);
	if (r < 0)
		return r;
	assign_recount(s);
	r = reserve_cpus(s, opts, err);
	if (r < 0)
		return r;
	s->told_cpus = s->free_cpus;
	*ret_assign = TAKE(s);
	return 0;
}

/* Does not use the machine, which may be freed before the log. */
static void drop_records(struct assign *s)
{
	while (s->wishes.n > 0)
		assign_drop_wishes(s, str_from(s->wishes.v[0].pod_uid));
	assign_free_pods(s);
	assign_free_claims(s);
	assign_free_resources(s);
}

void assign_clear(struct assign *s)
{
	drop_records(s);
	assign_recount(s);
}

void assign_free(struct assign *s)
{
	if (!s)
		return;
	drop_records(s);
	omap_release(&s->resources);
	omap_release(&s->pods);
	omap_release(&s->claims);
	map_release(&s->claim_names);
	map_release(&s->claim_devices);
	map_release(&s->exclusive);
	vec_release(&s->wishes);
	memory_table_release(&s->memory);
	free(s->reserved_memory);
	free(s);
}

void assign_add_watcher(struct assign *s, struct assign_watcher *w)
{
	w->next = NULL;
	*s->watchers_end = w;
	s->watchers_end = &w->next;
}

uint64_t assign_revision(const struct assign *s)
{
	return s->revision;
}

void assign_tell(struct assign *s, enum assign_change_type type, const struct pod_rec *pod,
		 struct str resource, struct str id)
{
	struct assign_change c = { .type = type,
				   .revision = ++s->revision,
				   .pod_uid = pod ? str_from(pod->uid) : STR_NULL,
				   .resource = resource,
				   .id = id };

	for (struct assign_watcher *w = s->watchers; w; w = w->next)
		w->on_change(w, &c);
}

static void recount_container(struct assign *s, const struct container_rec *c)
{
	if (c->cpus)
		cpu_set_minus(&s->free_cpus, c->cpus);
	for (size_t i = 0; s->static_memory && i < c->memory.n; i++)
		memory_table_take(&s->memory, &c->memory.v[i], c->memory.v[i].bytes);
}

void assign_recount(struct assign *s)
{
	struct omap_cursor at;

	if (!s->machine || (!s->static_cpus && !s->static_memory))
		return;
	s->free_cpus = (struct cpu_set){ 0 };
	for (size_t i = 0; i < s->machine->ncpus; i++)
		cpu_set_add(&s->free_cpus, s->machine->cpus[i].id);
	memory_table_release(&s->memory);
	if (s->static_memory)
		memory_table_init(&s->memory, s->machine, s->reserved_memory, s->nreserved_memory);
	for (bool ok = omap_first(&s->pods, &at); ok; ok = omap_next(&at)) {
		const struct pod_rec *p = omap_value(&at);

		for (size_t i = 0; i < p->containers.n; i++)
			recount_container(s, &p->containers.v[i]);
	}
}

void assign_tell_shared(struct assign *s)
{
	if (!s->static_cpus || cpu_set_equal(&s->free_cpus, &s->told_cpus))
		return;
	s->told_cpus = s->free_cpus;
	assign_tell(s, ASSIGN_SHARED_CPUS, NULL, STR_NULL, STR_NULL);
}

void assign_set_machine(struct assign *s, const struct machine *m)
{
	s->machine = m;
	assign_recount(s);
	assign_tell(s, ASSIGN_INVENTORY, NULL, STR_NULL, STR_NULL);
	assign_tell_shared(s);
}
