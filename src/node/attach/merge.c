/*
 * A name has at most two pods: the one in the book under that name, and the one in the API. A reply
 * gives each pod its next state or none. A pod without a next state is dropped or kept by the
 * rules. Everything goes to the book as one change, so that releases come first.
 *
 * States are stored packed: they are compared with every reply, but read only rarely.
 */
#include "node/attach/merge.h"

#include <assert.h>

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "grpc/message.h"
#include "node/attach/claims.h"
#include "node/attach/order.h"
#include "node/attach/things.h"
#include "node/node_limits.h"

enum {
	GRACE_MS = 10 * 1000,
	TORN_MAX = 8, /* torn replies in a row, after which the consistent part is applied */
	NOT_MISSING = -1,
};

struct attach_name {
	struct attach_pod *held; /* in the book; or NULL */
	struct attach_pod *now; /* in the API, or held and gone; NULL only during creation */
	size_t ns_n;
	size_t key_n;
	char key[]; /* "namespace/name" */
};

struct attach_pod {
	struct attach_name *name;
	enum attach_life life;
	bool deleting, gone;
	uint64_t seen; /* the moment at which it was first seen */
	uint64_t said; /* the moment of its kubelet's first report; 0: none yet */
	int64_t seen_ms;
	int64_t missing_ms; /* time of the first of consecutive Lists without it */
	char *packed; /* its state in the book, if it is held */
	size_t packed_n;
	/* While a reply is processed. */
	const Podresources__PodResources *next;
	bool contested;
	size_t uid_n;
	char uid[];
};

struct attach_merge {
	struct podres *book;
	struct attach_hooks hooks;
	int64_t grace_ms;
	struct map names;
	struct omap pods; /* by uid, so that results are deterministic */
	uint64_t moment; /* advances with each API event and each call */
	uint64_t begun; /* the moment at which the last call began */
	unsigned torn; /* torn replies in a row */
	struct attach_claims seen; /* claim devices in the last List */
	struct arena room_arena;
	const Podresources__AllocatableResponse *room; /* NULL: not known */
};

/* A reply that is being processed. */
struct work {
	struct attach_merge *m;
	struct arena arena;
	struct attach_things things; /* of accepted entries, owned by these */
	struct attach_claims claims; /* in the reply */
	struct attach_claims book; /* in the book before the reply */
	VEC(struct podres_entry) batch;
	VEC(struct attach_pod *) touched; /* each at the index of its entry in the batch */
	VEC(struct attach_pod *) kept;
	VEC(const Podresources__PodResources *) memory; /* states whose memory is summed */
	int64_t now_ms;
};

/* --- names and pods ------------------------------------------------------------------- */

static struct str attach_pod_uid(const struct attach_pod *p)
{
	return str_of(p->uid, p->uid_n);
}

static struct str name_key(const struct attach_name *n)
{
	return str_of(n->key, n->key_n);
}

static struct str merge_key_of(struct arena *a, struct str ns, struct str name)
{
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name)));
}

static struct attach_name *name_need(struct attach_merge *m, struct str ns, struct str name)
{
	CLEANUP(arena_release) struct arena scratch;
	struct attach_name *n;
	struct str key;

	arena_init(&scratch, SIZE_MAX);
	key = merge_key_of(&scratch, ns, name);
	n = map_get(&m->names, key);
	if (n)
		return n;
	n = xcalloc(1, sizeof(*n) + key.n);
	n->ns_n = ns.n;
	n->key_n = key.n;
	str_put(n->key, key);
	(void)map_put(&m->names, name_key(n), n);
	return n;
}

static struct attach_pod *attach_pod_of(const struct attach_merge *m, struct str uid)
{
	return omap_get(&m->pods, uid);
}

static void attach_pod_free(struct attach_pod *p)
{
	free(p->packed);
	free(p);
}

/* Frees a pod that is not in the book, and its name if no pod has it. */
static void merge_forget(struct attach_merge *m, struct attach_pod *p)
{
	struct attach_name *n = p->name;

	assert(n->held != p);
	if (n->now == p)
		n->now = n->held;
	if (!n->now) {
		(void)map_remove(&m->names, name_key(n));
		free(n);
	}
	(void)omap_remove(&m->pods, attach_pod_uid(p));
	attach_pod_free(p);
}

/* The pod has left the book. */
static void merge_let_go(struct attach_merge *m, struct attach_pod *p)
{
	p->name->held = NULL;
	p->missing_ms = NOT_MISSING;
	free(TAKE(p->packed));
	p->packed_n = 0;
	if (p->gone)
		merge_forget(m, p);
}

/* Drops the pod if a List lacks it and the API shows that it has ended, in either order. */
static void drop_ended(struct attach_merge *m, struct attach_pod *p)
{
	if (p->name->held != p || p->missing_ms == NOT_MISSING)
		return;
	attach_hooks_gone(&m->hooks, attach_pod_uid(p));
	(void)podres_drop_pod(m->book, attach_pod_uid(p));
	merge_let_go(m, p);
}

static struct attach_pod *attach_pod_new(struct attach_merge *m, const struct attach_pod_info *info,
					 int64_t now_ms)
{
	struct attach_pod *p = xcalloc(1, sizeof(*p) + info->uid.n);
	struct attach_name *n = name_need(m, info->ns, info->name);
	struct attach_pod *before = n->now;

	p->name = n;
	p->uid_n = info->uid.n;
	str_put(p->uid, info->uid);
	p->seen = ++m->moment;
	p->seen_ms = now_ms;
	p->missing_ms = NOT_MISSING;
	n->now = p;
	(void)omap_put(&m->pods, attach_pod_uid(p), p);
	if (before)
		attach_merge_pod_gone(m, attach_pod_uid(before));
	return p;
}

/* --- the API -------------------------------------------------------------------------- */

int attach_merge_pod(struct attach_merge *m, const struct attach_pod_info *info, int64_t now_ms,
		     struct error *err)
{
	struct attach_pod *p = attach_pod_of(m, info->uid);

	if (!p && m->pods.n >= NODE_PODS_MAX)
		return error_set(err, ERR_TOO_LARGE, "more than %d pods", NODE_PODS_MAX);
	if (p && p->name->now != p)
		return 0; /* another pod has its name */
	if (!p)
		p = attach_pod_new(m, info, now_ms);
	p->gone = false;
	if (p->said == 0 && info->life != ATTACH_COMING)
		p->said = ++m->moment;
	p->life = info->life;
	p->deleting = info->deleting;
	if (p->life == ATTACH_ENDED)
		drop_ended(m, p);
	return 0;
}

void attach_merge_pod_gone(struct attach_merge *m, struct str uid)
{
	struct attach_pod *p = attach_pod_of(m, uid);

	if (!p)
		return;
	p->gone = true;
	if (p->name->held != p)
		merge_forget(m, p);
	else
		drop_ended(m, p);
}

static bool settled(const struct attach_pod *p)
{
	bool held = p->name->held == p;

	if (p->gone || p->life == ATTACH_ENDED)
		return !held;
	return p->life == ATTACH_RUNNING && held && p->missing_ms == NOT_MISSING;
}

bool attach_merge_settled(const struct attach_merge *m, struct str uid)
{
	const struct attach_pod *p = attach_pod_of(m, uid);

	return !p || settled(p);
}

bool attach_merge_next_unsettled(const struct attach_merge *m, struct str *at_uid)
{
	struct omap_cursor c;

	for (bool ok = omap_seek_after(&m->pods, &c, *at_uid); ok; ok = omap_next(&c)) {
		if (settled(omap_value(&c)))
			continue;
		*at_uid = omap_key(&c);
		return true;
	}
	return false;
}

bool attach_merge_asks_get(const struct attach_merge *m, struct str uid, struct str *ret_ns,
			   struct str *ret_name)
{
	const struct attach_pod *p = attach_pod_of(m, uid);

	if (!p || p->gone || p->deleting || p->life == ATTACH_ENDED || p->missing_ms != NOT_MISSING)
		return false;
	*ret_ns = str_of(p->name->key, p->name->ns_n);
	*ret_name = str_skip(name_key(p->name), p->name->ns_n + 1);
	return true;
}

/* --- a reply -------------------------------------------------------------------------- */

static void work_init(struct work *w, struct attach_merge *m, int64_t now_ms)
{
	*w = (struct work){ .m = m, .now_ms = now_ms };
	arena_init(&w->arena, SIZE_MAX);
	attach_things_init(&w->things);
	attach_claims_init(&w->claims);
	attach_claims_init(&w->book);
	vec_init(&w->batch, SIZE_MAX / sizeof(*w->batch.v));
	vec_init(&w->touched, SIZE_MAX / sizeof(*w->touched.v));
	vec_init(&w->kept, SIZE_MAX / sizeof(*w->kept.v));
	vec_init(&w->memory, SIZE_MAX / sizeof(*w->memory.v));
}

static void work_release_cleanup(struct work *w)
{
	arena_release(&w->arena);
	attach_things_release(&w->things);
	attach_claims_release(&w->claims);
	attach_claims_release(&w->book);
	vec_release(&w->batch);
	vec_release(&w->touched);
	vec_release(&w->kept);
	vec_release(&w->memory);
}

static struct str pack(struct arena *a, const Podresources__PodResources *state)
{
	size_t n = podresources__pod_resources__get_packed_size(state);
	uint8_t *p = arena_alloc(a, n);

	(void)podresources__pod_resources__pack(state, p);
	return str_of(p, n);
}

/* Unpacks the pod's state in the book, to be changed. */
static Podresources__PodResources *unpack(struct arena *a, const struct attach_pod *p)
{
	void *state = NULL;

	(void)grpc_message_unpack(&podresources__pod_resources__descriptor,
				  str_of(p->packed, p->packed_n), a, &state, NULL);
	assert(state);
	return state;
}

static bool same_state(struct work *w, const struct attach_pod *p,
		       const Podresources__PodResources *state)
{
	return p->packed && str_eq(str_of(p->packed, p->packed_n), pack(&w->arena, state));
}

static struct attach_name *name_of_entry(struct work *w, const Podresources__PodResources *e)
{
	struct str key = merge_key_of(&w->arena, str_from(e->namespace_), str_from(e->name));

	return map_get(&w->m->names, key);
}

/* Returns the pod that the entry belongs to, of the two that may have the name. */
static struct attach_pod *whose(struct work *w, const struct attach_name *n,
				const Podresources__PodResources *entry)
{
	const struct attach_merge *m = w->m;
	struct attach_pod *now = n->now, *held = n->held;

	if (!held || held == now)
		return now;
	if (m->begun < now->seen)
		return held;
	if (now->said != 0 && m->begun > now->said)
		return now;
	return w->now_ms - now->seen_ms >= m->grace_ms || !same_state(w, held, entry) ? now : held;
}

static void merge_put(struct work *w, struct attach_pod *p, const Podresources__PodResources *state)
{
	(void)vec_push(&w->batch,
		       (struct podres_entry){ .uid = attach_pod_uid(p), .state = state });
	(void)vec_push(&w->touched, p);
}

static void merge_remember(struct attach_pod *p, struct str packed)
{
	free(p->packed);
	p->packed = xmalloc(packed.n + 1);
	str_put(p->packed, packed);
	p->packed_n = packed.n;
	assert(!p->name->held || p->name->held == p);
	p->name->held = p;
}

/*
 * Applies the batch to the book in one change, then here. Gone pods come first: the next pod takes
 * over the name.
 */
static void merge_apply(struct work *w)
{
	if (w->batch.n > 0)
		podres_set_pods(w->m->book,
				attach_hooks_pods(&w->m->hooks, w->batch.v, w->batch.n, &w->arena),
				w->batch.n);
	for (size_t i = 0; i < w->batch.n; i++) {
		if (!w->batch.v[i].state)
			merge_let_go(w->m, w->touched.v[i]);
	}
	for (size_t i = 0; i < w->batch.n; i++) {
		if (w->batch.v[i].state)
			merge_remember(w->touched.v[i], pack(&w->arena, w->batch.v[i].state));
	}
}

static bool memory_fits(const struct work *w)
{
	return !w->m->room || attach_things_memory_fits(w->m->room, w->memory.v, w->memory.n);
}

/* Calls fn with the state of each pod in the book, unpacked into `a`. */
static void each_state(const struct attach_merge *m, struct arena *a,
		       void (*fn)(void *arg, const struct attach_pod *p,
				  Podresources__PodResources *state),
		       void *arg)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&m->pods, &c); ok; ok = omap_next(&c)) {
		const struct attach_pod *p = omap_value(&c);

		if (p->name->held == p)
			fn(arg, p, unpack(a, p));
	}
}

static void add_to_book(void *arg, const struct attach_pod *p UNUSED,
			Podresources__PodResources *state)
{
	attach_claims_add(arg, state);
}

/* --- List ----------------------------------------------------------------------------- */

static void merge_say(struct attach_outcome *out, enum attach_verdict verdict, const char *what,
		      const Podresources__PodResources *a, const Podresources__PodResources *b)
{
	out->verdict = verdict;
	(void)snprintf(out->why, sizeof(out->why), "%s is with %s/%s and %s/%s", what,
		       a->namespace_, a->name, b->namespace_, b->name);
}

/* Finds entries whose claims have the same device and did not before; see attach/claims.h. */
static bool claims_agree(struct work *w, const Podresources__ListResponse *list, bool *contested,
			 struct attach_outcome *out)
{
	bool ok = true;

	for (size_t i = 0; i < list->n_pod_resources; i++)
		attach_claims_add(&w->claims, list->pod_resources[i]);
	each_state(w->m, &w->arena, add_to_book, &w->book);
	for (size_t i = 0; i < list->n_pod_resources; i++) {
		const Podresources__PodResources *e = list->pod_resources[i];
		const char *device = attach_claims_doubt(&w->claims, e, &w->m->seen, &w->book);

		if (!device)
			continue;
		contested[i] = true;
		out->verdict = ATTACH_TORN;
		(void)snprintf(out->why, sizeof(out->why),
			       "device %s of %s/%s is with several claims", device, e->namespace_,
			       e->name);
		ok = false;
	}
	attach_claims_clear(&w->m->seen);
	for (size_t i = 0; i < list->n_pod_resources; i++)
		attach_claims_add(&w->m->seen, list->pod_resources[i]);
	return ok;
}

/*
 * Finds entries of the same name. A kubelet has one pod of a name at a time. It replaced the pod
 * while it built the reply, so one of the entries is out of date.
 */
static bool names_differ(struct work *w, const Podresources__ListResponse *list, bool *contested,
			 struct attach_outcome *out)
{
	CLEANUP(map_release) struct map names; /* to `contested` of its entry */
	bool ok = true;

	map_init(&names);
	for (size_t i = 0; i < list->n_pod_resources; i++) {
		const Podresources__PodResources *e = list->pod_resources[i];
		struct str key = merge_key_of(&w->arena, str_from(e->namespace_),
					      str_from(e->name));
		bool *other = map_put(&names, key, &contested[i]);

		if (!other)
			continue;
		*other = contested[i] = true;
		out->verdict = ATTACH_TORN;
		(void)snprintf(out->why, sizeof(out->why), "pod %.*s is listed twice",
			       STR_ARG(key));
		ok = false;
	}
	return ok;
}

/* Finds the entries that contradict each other. If there are any, returns false and the reason. */
static bool consistent(struct work *w, const Podresources__ListResponse *list, bool *contested,
		       struct attach_outcome *out)
{
	CLEANUP(attach_things_release) struct attach_things all;
	struct attach_clash clash;
	bool ok = claims_agree(w, list, contested, out);

	ok = names_differ(w, list, contested, out) && ok;
	attach_things_init(&all);
	for (size_t i = 0; i < list->n_pod_resources; i++) {
		const Podresources__PodResources *e = list->pod_resources[i];

		if (attach_things_add(&all, e, &contested[i], &clash))
			continue;
		contested[i] = true;
		contested[(const bool *)clash.owner - contested] = true;
		merge_say(out, ATTACH_TORN, clash.thing,
			  list->pod_resources[(const bool *)clash.owner - contested], e);
		ok = false;
	}
	for (size_t i = 0; i < list->n_pod_resources; i++)
		(void)vec_push(&w->memory, list->pod_resources[i]);
	if (ok && !memory_fits(w)) {
		out->verdict = ATTACH_TORN;
		(void)snprintf(out->why, sizeof(out->why), "pods have more memory than there is");
		ok = false;
	}
	w->memory.n = 0;
	return ok;
}

/* Marks both pods that may have the name. */
static void contest(const struct attach_name *n)
{
	n->now->contested = true;
	if (n->held)
		n->held->contested = true;
}

/* Assigns each entry to its pod. */
static void distribute(struct work *w, const Podresources__ListResponse *list,
		       const bool *contested, struct attach_outcome *out)
{
	struct attach_clash clash;

	for (size_t i = 0; i < list->n_pod_resources; i++) {
		const Podresources__PodResources *e = list->pod_resources[i];
		const struct attach_name *n = name_of_entry(w, e);

		if (!n)
			out->unknown++;
		else if (contested[i])
			contest(n);
		else
			whose(w, n, e)->next = e;
		if (contested[i])
			continue;
		(void)attach_things_add(&w->things, e, e, &clash);
		(void)vec_push(&w->memory, e);
	}
}

static bool is_over(const struct work *w, struct attach_pod *p)
{
	const struct attach_pod *now = p->name->now;

	if (now != p && now->next)
		return true;
	if (p->contested)
		return false;
	if (p->missing_ms == NOT_MISSING)
		p->missing_ms = w->now_ms;
	return p->gone || p->life == ATTACH_ENDED || w->now_ms - p->missing_ms >= w->m->grace_ms;
}

static void merge_decide(struct work *w, struct attach_pod *p)
{
	if (p->next) {
		p->missing_ms = NOT_MISSING;
		if (!same_state(w, p, p->next))
			merge_put(w, p, p->next);
	} else if (p->name->held == p) {
		if (is_over(w, p))
			merge_put(w, p, NULL);
		else
			(void)vec_push(&w->kept, p);
	}
}

static void give_up_memory(Podresources__PodResources *state)
{
	state->n_memory = 0;
	for (size_t i = 0; i < state->n_containers; i++)
		state->containers[i]->n_memory = 0;
}

/* Pods that the reply lacks lose the things that it shows for other pods. */
static void strip_kept(struct work *w)
{
	Podresources__PodResources **states = ARENA_ARRAY(&w->arena, Podresources__PodResources *,
							  w->kept.n + 1);
	bool full;

	for (size_t i = 0; i < w->kept.n; i++) {
		states[i] = unpack(&w->arena, w->kept.v[i]);
		(void)attach_things_strip(&w->things, states[i], w->kept.v[i]);
		attach_claims_strip(&w->claims, states[i], &w->book);
		(void)vec_push(&w->memory, states[i]);
	}
	full = !memory_fits(w);
	for (size_t i = 0; i < w->kept.n; i++) {
		if (full)
			give_up_memory(states[i]);
		if (!same_state(w, w->kept.v[i], states[i]))
			merge_put(w, w->kept.v[i], states[i]);
	}
}

void attach_merge_list(struct attach_merge *m, const Podresources__ListResponse *list,
		       int64_t now_ms, struct attach_outcome *ret_outcome)
{
	CLEANUP(work_release) struct work w;
	struct attach_outcome *out = ret_outcome;
	struct omap_cursor c;
	bool *contested;

	*out = (struct attach_outcome){ .verdict = ATTACH_TAKEN };
	attach_order_list(list);
	work_init(&w, m, now_ms);
	contested = ARENA_ARRAY(&w.arena, bool, list->n_pod_resources + 1);
	if (consistent(&w, list, contested, out))
		m->torn = 0;
	else if (++m->torn < TORN_MAX)
		return;
	for (bool ok = omap_first(&m->pods, &c); ok; ok = omap_next(&c)) {
		struct attach_pod *p = omap_value(&c);

		p->next = NULL;
		p->contested = false;
	}
	distribute(&w, list, contested, out);
	for (bool ok = omap_first(&m->pods, &c); ok; ok = omap_next(&c))
		merge_decide(&w, omap_value(&c));
	strip_kept(&w);
	merge_apply(&w);
	out->applied = true;
}

/* --- Get ------------------------------------------------------------------------------ */

/* The things of pods with other names. */
struct others {
	struct work *w;
	const struct attach_name *name;
};

static void add_other(void *arg, const struct attach_pod *p, Podresources__PodResources *state)
{
	const struct others *o = arg;
	struct attach_clash clash;

	attach_claims_add(&o->w->book, state);
	if (p->name == o->name)
		return;
	attach_claims_add(&o->w->claims, state);
	(void)attach_things_add(&o->w->things, state, state, &clash);
	(void)vec_push(&o->w->memory, state);
}

/* Whether the entry is consistent with the state of all pods of other names in the book. */
static bool goes_with_others(struct work *w, const struct attach_name *n,
			     const Podresources__PodResources *entry, struct attach_outcome *out)
{
	struct others others = { w, n };
	struct attach_clash clash;

	each_state(w->m, &w->arena, add_other, &others);
	(void)vec_push(&w->memory, entry);
	if (!attach_things_add(&w->things, entry, entry, &clash)) {
		merge_say(out, ATTACH_NEEDS_LIST, clash.thing, clash.owner, entry);
		return false;
	}
	attach_claims_add(&w->claims, entry);
	if (!memory_fits(w) || attach_claims_doubt(&w->claims, entry, &w->m->seen, &w->book))
		out->verdict = ATTACH_NEEDS_LIST;
	return out->verdict == ATTACH_TAKEN;
}

static void take_one(struct work *w, struct attach_name *n, const Podresources__PodResources *entry)
{
	struct attach_pod *p = whose(w, n, entry);

	if (n->held && n->held != p)
		merge_put(w, n->held, NULL);
	if (!same_state(w, p, entry))
		merge_put(w, p, entry);
	p->missing_ms = NOT_MISSING;
	merge_apply(w);
}

void attach_merge_get(struct attach_merge *m, struct str uid, const Podresources__PodResources *pod,
		      int64_t now_ms, struct attach_outcome *ret_outcome)
{
	CLEANUP(work_release) struct work w;
	struct attach_pod *p = attach_pod_of(m, uid);
	struct attach_outcome *out = ret_outcome;

	*out = (struct attach_outcome){ .verdict = ATTACH_TAKEN };
	work_init(&w, m, now_ms);
	if (!p)
		return;
	if (pod)
		attach_order_pod(pod);
	if (!pod)
		out->verdict = p->name->held ? ATTACH_NEEDS_LIST : ATTACH_TAKEN;
	else if (name_of_entry(&w, pod) != p->name)
		out->verdict = ATTACH_NEEDS_LIST;
	else if (goes_with_others(&w, p->name, pod, out))
		take_one(&w, p->name, pod);
}

/* --- the rest ------------------------------------------------------------------------- */

void attach_merge_begin(struct attach_merge *m)
{
	m->begun = ++m->moment;
}

static void add_known(void *arg, const struct attach_pod *p, Podresources__PodResources *state)
{
	struct attach_clash clash;

	(void)p;
	(void)attach_things_add(arg, state, arg, &clash);
}

bool attach_merge_foresees(const struct attach_merge *m, Podresources__PodResources *const *v,
			   size_t n)
{
	CLEANUP(attach_things_release) struct attach_things known;
	CLEANUP(arena_release) struct arena a;

	attach_things_init(&known);
	arena_init(&a, SIZE_MAX);
	if (!m->room)
		return true;
	attach_things_add_room(&known, m->room, &known);
	each_state(m, &a, add_known, &known);
	for (size_t i = 0; i < n; i++) {
		if (!attach_things_cover(&known, v[i]))
			return false;
	}
	return true;
}

void attach_merge_allocatable(struct attach_merge *m,
			      const Podresources__AllocatableResponse *state)
{
	size_t n = podresources__allocatable_response__get_packed_size(state);
	char *packed = xmalloc(n + 1);
	CLEANUP(arena_release) struct arena a;
	void *copy = NULL;

	arena_init(&a, SIZE_MAX);
	attach_order_allocatable(state);
	(void)podresources__allocatable_response__pack(state, (uint8_t *)packed);
	arena_clear(&m->room_arena);
	(void)grpc_message_unpack(&podresources__allocatable_response__descriptor,
				  str_of(packed, n), &m->room_arena, &copy, NULL);
	m->room = copy;
	free(packed);
	(void)podres_set_allocatable(m->book, attach_hooks_allocatable(&m->hooks, m->room, &a));
}

void attach_merge_hook(struct attach_merge *m, const struct attach_hooks *h)
{
	m->hooks = *h;
}

struct attach_merge *attach_merge_new(struct podres *book, int64_t grace_ms)
{
	struct attach_merge *m = XNEW(struct attach_merge);

	m->book = book;
	m->grace_ms = grace_ms > 0 ? grace_ms : GRACE_MS;
	map_init(&m->names);
	omap_init(&m->pods);
	arena_init(&m->room_arena, SIZE_MAX);
	attach_claims_init(&m->seen);
	return m;
}

void attach_merge_free(struct attach_merge *m)
{
	struct omap_cursor c;
	struct str key;
	size_t at = 0;
	void *v;

	if (!m)
		return;
	for (bool ok = omap_first(&m->pods, &c); ok; ok = omap_next(&c))
		attach_pod_free(omap_value(&c));
	while (map_next(&m->names, &at, &key, &v))
		free(v);
	omap_release(&m->pods);
	map_release(&m->names);
	arena_release(&m->room_arena);
	attach_claims_release(&m->seen);
	free(m);
}
