/*
 * Runs a cycle. The nominated node is tried before all others. If only one node fits, it is chosen
 * without scoring. Among several nodes with the best score, a random one is chosen.
 */
#include "scheduler/cycle/cycle.h"

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/cycle/cycle_impl.h"
#include "scheduler/queue/podqueue.h"

enum {
	ARENA_FIRST = 4096, /* comes with the struct: most cycles need no other block */
	ARENA_MAX = 1 << 30,
	SAMPLE_EVERY = 10,
};

struct cycle_block {
	struct cycle cycle;
	_Alignas(16) char first[ARENA_FIRST];
};

struct cycle *cycle_new(struct profile *p, struct podinfo *pod, int64_t now_ms)
{
	struct cycle_block *b = xmalloc(sizeof(*b));
	struct cycle *c = &b->cycle;

	memset(c, 0, sizeof(*c));
	arena_init_in(&c->arena, ARENA_MAX, b->first, sizeof(b->first));
	c->profile = p;
	c->services = p->services;
	c->pod = podinfo_ref(pod);
	c->now_ms = now_ms;
	c->sampled = p->cycles++ % SAMPLE_EVERY == 0;
	return c;
}

void cycle_free(struct cycle *c)
{
	if (!c)
		return;
	if (!c->what_if)
		free(c->diagnosis.nodes);
	arena_release(&c->arena);
	podinfo_unref(c->pod);
	free(CONTAINER_OF(c, struct cycle_block, cycle));
}

void cycle_only(struct cycle *c, const struct str *nodes, size_t n)
{
	/*
	 * Always a new pointer: the profile compares it to see which plugin restricted the nodes.
	 */
	struct str *only = arena_alloc(&c->arena, (n + 1) * sizeof(*only));
	struct map state; /* of a name: c->only when it may be taken, `only` when it has been */
	size_t kept = 0;

	map_init(&state);
	for (size_t i = 0; i < c->nonly; i++)
		map_put(&state, c->only[i], c->only);
	for (size_t i = 0; i < n; i++) {
		if (map_get(&state, nodes[i]) != (c->restricted ? c->only : NULL))
			continue;
		only[kept] = arena_str(&c->arena, nodes[i]);
		map_put(&state, only[kept], only);
		kept++;
	}
	map_release(&state);
	c->only = only;
	c->nonly = kept;
	c->restricted = true;
}

struct cycle *cycle_what_if(struct cycle *c)
{
	struct cycle *copy = cycle_new(c->profile, c->pod, c->now_ms);
	struct profile *p = c->profile;

	p->cycles--; /* none of its own */
	copy->snapshot = c->snapshot;
	copy->skip_filter = c->skip_filter;
	copy->skip_score = c->skip_score;
	copy->only = c->only;
	copy->nonly = c->nonly;
	copy->restricted = c->restricted;
	copy->what_if = true;
	copy->sampled = false;
	copy->diagnosis = c->diagnosis;
	for (size_t i = 0; i < p->n; i++) {
		struct plugin *pl = &p->plugins[i];

		copy->state[i] = c->state[i];
		if (c->state[i] && pl->kind->clone_state)
			copy->state[i] = pl->kind->clone_state(pl, copy, c->state[i]);
	}
	return copy;
}

/* --- the run ------------------------------------------------------------------------------- */

static void cycle_fail(struct cycle_result *r, struct verdict v)
{
	r->verdict = v;
	r->nominated = STR_NULL;
	r->nominating = true;
}

static struct verdict cycle_choose(struct cycle *c, struct prng *prng, struct str *ret_node)
{
	size_t best = 0, equal = 1;
	struct verdict v;

	c->totals = arena_calloc(&c->arena, (c->nfeasible + 1) * sizeof(*c->totals));
	if (c->nfeasible > 1 && c->profile->score.n) {
		v = profile_pre_score(c->profile, c);
		if (v.code == VERDICT_SUCCESS)
			v = profile_score(c->profile, c);
		if (v.code != VERDICT_SUCCESS)
			return v;
	}
	for (size_t i = 1; i < c->nfeasible; i++) {
		if (c->totals[i] > c->totals[best]) {
			best = i;
			equal = 1;
		} else if (c->totals[i] == c->totals[best] && prng_below(prng, ++equal) == 0) {
			best = i;
		}
	}
	*ret_node = arena_str(&c->arena, c->feasible[best]->name);
	return VERDICT_OK;
}

/* No node fits: runs post_filter. */
static void no_fit(struct cycle *c, struct cycle_result *r)
{
	if (c->profile->post_filter.n) {
		struct verdict v = profile_post_filter(c->profile, c, &r->nominated,
						       &r->nominating);

		c->diagnosis.post_filter = verdict_message(&v, &c->arena);
	} else {
		r->nominating = true;
	}
	r->verdict = verdict_of(&c->arena, VERDICT_UNSCHEDULABLE, cycle_message(c));
}

static void scheduler_cycle_run(struct cycle *c, size_t *start, struct prng *prng,
				struct cycle_result *r)
{
	struct verdict v;

	if (c->snapshot->n == 0) {
		cycle_fail(r, verdict_of(&c->arena, VERDICT_UNRESOLVABLE, cycle_message(c)));
		return;
	}
	v = profile_pre_filter(c->profile, c);
	if (verdict_rejects(&v)) {
		c->diagnosis.pre_filter = v;
		no_fit(c, r);
		return;
	}
	if (v.code == VERDICT_SUCCESS)
		v = cycle_find(c, start);
	if (v.code == VERDICT_SUCCESS && c->nfeasible == 0) {
		no_fit(c, r);
		return;
	}
	if (v.code == VERDICT_SUCCESS)
		v = cycle_choose(c, prng, &r->node);
	if (v.code != VERDICT_SUCCESS)
		cycle_fail(r, v);
}

void cycle_run(struct cycle *c, const struct snapshot *s, size_t *start, struct prng *prng,
	       struct cycle_result *ret_result)
{
	*ret_result = (struct cycle_result){ .verdict = VERDICT_OK };
	c->snapshot = s;
	scheduler_cycle_run(c, start, prng, ret_result);
	cycle_keep_verdicts(c);
	profile_flush(c->profile);
}
