/*
 * A change is made in the pod's record and published at once: its event is packed with the next
 * revision, and the record's state points to the pod within that event. So each pod is in memory
 * once, whether or not its last event is still in the ring.
 *
 * Changes of several pods are made in two passes: first all releases, then all gains. The second
 * pass compares again, with the state after the first.
 */
#include "node/book/podres.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "node/book/leaf.h"
#include "node/book/podres_impl.h"
#include "node/book/wire.h"
#include "node/node_limits.h"

struct podres *podres_new(int64_t epoch)
{
	struct podres *b = XNEW(struct podres);

	b->epoch = MAX((epoch + 1) & ~INT64_C(1), INT64_C(2));
	b->revision = b->epoch;
	for (int kind = 0; kind < PODRES_KINDS; kind++) {
		b->changed[kind] = b->epoch;
		podres_ring_init(&b->events[kind], PODRES_EVENTS_MAX, b->epoch);
	}
	podres_ring_init(&b->gone, PODRES_GONE_MAX, b->epoch);
	omap_init(&b->by_uid);
	vec_init(&b->pods, SIZE_MAX / sizeof(struct podres_pod *));
	return b;
}

static void pod_free(struct podres_pod *pod)
{
	bytes_unref(pod->event);
	free(pod->since);
	free(pod);
}

void podres_free(struct podres *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->pods.n; i++)
		pod_free(b->pods.v[i]);
	vec_release(&b->pods);
	omap_release(&b->by_uid);
	for (int kind = 0; kind < PODRES_KINDS; kind++)
		podres_ring_release(&b->events[kind]);
	podres_ring_release(&b->gone);
	bytes_unref(b->list);
	bytes_unref(b->list_alpha);
	bytes_unref(b->allocatable);
	bytes_unref(b->allocatable_fields);
	free(b);
}

void podres_listen(struct podres *b, void (*on_change)(void *arg), void *arg)
{
	b->on_change = on_change;
	b->arg = arg;
}

void podres_on_refresh(struct podres *b, void (*fn)(void *arg), void *arg)
{
	b->on_refresh = fn;
	b->refresh_arg = arg;
}

void podres_refresh(struct podres *b)
{
	if (b->on_refresh)
		b->on_refresh(b->refresh_arg);
}

int64_t podres_revision(const struct podres *b)
{
	return b->revision;
}

size_t podres_pod_after(const struct podres *b, int64_t born)
{
	size_t low = 0, n = b->pods.n;

	while (n > 0) {
		size_t half = n / 2;

		if (b->pods.v[low + half]->born <= born) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

/* --- events -------------------------------------------------------------------------- */

int64_t podres_change(struct podres *b, enum podres_kind kind)
{
	bytes_unref(TAKE(b->list));
	bytes_unref(TAKE(b->list_alpha));
	b->revision += 2;
	b->changed[kind] = b->revision;
	return b->revision;
}

static void podres_keep(struct podres *b, struct podres_ring *r, const struct podres_past *past)
{
	if (!b->asked) {
		r->floor = past->revision;
		return;
	}
	(void)bytes_ref(past->event);
	podres_ring_push(r, past);
}

void podres_tell(struct podres *b, enum podres_kind kind, struct bytes *event)
{
	podres_keep(b, &b->events[kind],
		    &(struct podres_past){ .revision = b->revision, .event = event });
	if (b->on_change)
		b->on_change(b->arg);
}

/* --- pods ---------------------------------------------------------------------------- */

static char *copy_text(struct str *s, char *to)
{
	if (s->n)
		str_put(to, *s);
	s->p = to;
	return to + s->n;
}

static struct podres_pod *podres_add_pod(struct podres *b, const struct podres_entry *e)
{
	struct str ns = str_from(e->state->namespace_), name = str_from(e->state->name);
	struct podres_pod *pod = xcalloc(1, sizeof(*pod) + e->uid.n + ns.n + name.n);

	pod->uid = e->uid;
	pod->ns = ns;
	pod->name = name;
	pod->first_main = e->first_main;
	(void)copy_text(&pod->name, copy_text(&pod->ns, copy_text(&pod->uid, pod->text)));
	(void)omap_put(&b->by_uid, pod->uid, pod);
	(void)vec_push(&b->pods, pod);
	assert(pod->uid.n > 0); /* a DELETED without a uid would be a reset */
	return pod;
}

/* Gained things are held since `now`, if they are in the new state at all. */
static void set_since(struct podres_pod *pod, const struct podres_diff *d, bool gains, int64_t now)
{
	size_t n = 0;

	free(pod->since);
	pod->since = NULL;
	pod->newest = 0;
	if (d->n)
		pod->since = xcalloc(d->n, sizeof(*pod->since));
	for (size_t i = 0; i < d->n; i++) {
		if (d->since[i] == PODRES_NEW && !gains)
			continue;
		pod->since[n] = d->since[i] == PODRES_NEW ? now : d->since[i];
		pod->newest = MAX(pod->newest, pod->since[n]);
		n++;
	}
}

/* Stores a pod's next state; without `gains`, `packed` has none of the gained things. */
static void commit(struct podres *b, struct podres_pod *pod, struct str packed,
		   const struct podres_diff *d, bool gains)
{
	struct podres_event e = { .action = PODRESOURCES__ACTION__UPDATED,
				  .uid = pod->uid,
				  .pod = packed,
				  .revision = podres_change(b, PODRES_PODS) };
	struct bytes *old = pod->event;

	if (!pod->born) {
		e.action = PODRESOURCES__ACTION__ADDED;
		pod->born = b->revision;
	}
	if (d->lost)
		pod->shrunk = b->revision;
	pod->changed = b->revision;
	set_since(pod, d, gains, b->revision);
	pod->event = podres_pack_event(&e, NULL, &pod->state);
	bytes_unref(old);
	podres_tell(b, PODRES_PODS, pod->event);
}

enum part { PART_LOSSES, PART_ALL };

/* With PART_LOSSES only releases are applied, if there are any; gains are left out. */
static bool set_pod(struct podres *b, const struct podres_entry *e, enum part part)
{
	struct podres_pod *pod = omap_get(&b->by_uid, e->uid);
	CLEANUP(arena_release) struct arena a;
	char block[PODRES_SCRATCH] UNZEROED;
	Podresources__PodResources *now;
	struct podres_diff d;
	struct str packed;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	packed = podres_pack_pod(e->state, &a);
	if (pod)
		pod->first_main = e->first_main;
	if (pod ? str_eq(packed, pod->state) : part == PART_LOSSES)
		return false;
	now = podres_unpack_pod(packed, &a);
	d = podres_diff_pods(pod ? podres_unpack_pod(pod->state, &a) : NULL,
			     pod ? pod->since : NULL, now, &a);
	if (part == PART_LOSSES && d.lost == 0)
		return false;
	if (!pod)
		pod = podres_add_pod(b, e);
	if (d.lost > 0 && d.gained > 0) {
		podres_keep_older(now, d.since, PODRES_NEW - 1);
		commit(b, pod, podres_pack_pod(now, &a), &d, false);
		d.lost = 0;
	}
	if (part == PART_ALL || d.gained == 0)
		commit(b, pod, packed, &d, true);
	return true;
}

bool podres_set_pod(struct podres *b, struct str uid, const Podresources__PodResources *state,
		    size_t first_main)
{
	return set_pod(b, &(struct podres_entry){ uid, state, first_main }, PART_ALL);
}

bool podres_drop_pod(struct podres *b, struct str uid)
{
	struct podres_pod *pod = omap_remove(&b->by_uid, uid);
	CLEANUP(arena_release) struct arena a;
	char block[512] UNZEROED;
	struct podres_past past;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	if (!pod)
		return false;
	vec_remove(&b->pods, podres_pod_after(b, pod->born - 1));
	past = (struct podres_past){ .revision = podres_change(b, PODRES_PODS),
				     .born = pod->born,
				     .shrunk = pod->shrunk };
	past.event = podres_pack_event(
		&(struct podres_event){
			.action = PODRESOURCES__ACTION__DELETED,
			.uid = pod->uid,
			.pod = podres_pack_names(pod->ns, pod->name, &a),
			.revision = b->revision,
		},
		&past.uid, &past.names);
	pod_free(pod);
	podres_keep(b, &b->gone, &past);
	podres_tell(b, PODRES_PODS, past.event);
	bytes_unref(past.event);
	return true;
}

void podres_set_pods(struct podres *b, const struct podres_entry *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].state)
			(void)set_pod(b, &v[i], PART_LOSSES);
		else
			(void)podres_drop_pod(b, v[i].uid);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].state)
			(void)set_pod(b, &v[i], PART_ALL);
}
