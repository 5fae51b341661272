/*
 * The log itself: options, revision, watchers. The records that it is made of are kept by the files
 * beside it: assign_resource.c (devices), assign_pod.c (who has what), assign_claim.c,
 * assign_admit.c (who gets what) and assign_state.c (the checkpoint).
 *
 * One verb either gives or takes, never both, and each change that it makes is told with a revision of
 * its own after the log has it. So whoever follows the changes sees a device released before it
 * sees it held again.
 */
#include "node/assign.h"

#include "base/mem.h"
#include "node/assign_impl.h"

static void init_empty(struct assign *s)
{
	omap_init(&s->resources);
	omap_init(&s->pods);
	omap_init(&s->claims);
	map_init(&s->claim_names);
	map_init(&s->claim_devices);
	vec_init(&s->wishes, SIZE_MAX);
	s->watchers_end = &s->watchers;
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
	s->nreserved_memory = opts->nreserved_memory;
	if (opts->nreserved_memory > 0) {
		s->reserved_memory = xcalloc(opts->nreserved_memory, sizeof(int64_t));
		memcpy(s->reserved_memory, opts->reserved_memory,
		       opts->nreserved_memory * sizeof(int64_t));
	}
	r = cpu_set_parse(opts->reserved_cpus, &s->reserved_cpus, err);
	if (r < 0)
		return error_wrap(err, r, "reserved CPUs");
	assign_recount(s);
	*ret_assign = TAKE(s);
	return 0;
}

void assign_clear(struct assign *s)
{
	while (s->wishes.n > 0)
		assign_drop_wishes(s, str_from(s->wishes.v[0].pod_uid));
	assign_free_pods(s);
	assign_free_claims(s);
	assign_free_resources(s);
	assign_recount(s);
}

void assign_free(struct assign *s)
{
	if (!s)
		return;
	assign_clear(s);
	omap_release(&s->resources);
	omap_release(&s->pods);
	omap_release(&s->claims);
	map_release(&s->claim_names);
	map_release(&s->claim_devices);
	vec_release(&s->wishes);
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

void assign_recount(struct assign *s)
{
	s->free_cpus = (struct cpu_set){ 0 };
	for (size_t i = 0; s->machine && i < s->machine->ncpus; i++)
		cpu_set_add(&s->free_cpus, s->machine->cpus[i].id);
}

void assign_set_machine(struct assign *s, const struct machine *m)
{
	s->machine = m;
	assign_recount(s);
	assign_tell(s, ASSIGN_INVENTORY, NULL, STR_NULL, STR_NULL);
}
