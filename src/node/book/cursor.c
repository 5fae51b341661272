/*
 * Readers. A cursor in PHASE_LIVE follows the ring. A cursor that has fallen out of the ring goes
 * through the phases of a catch-up and is live again at its target. Each call finds the next item
 * of a phase in the present state, ordered by birth (or death), which never changes. So a cursor
 * only needs the place of the last item, whatever happens to the book between two calls.
 *
 * Round one looks at present pods before gone ones. A pod that changed before T, and went after T
 * during this round, is therefore found among the gone ones in any case. There it is sent without
 * any resources, and its DELETED comes later in order.
 */
#include <assert.h>

#include "base/core/arena.h"
#include "node/book/leaf.h"
#include "node/book/podres_impl.h"
#include "node/book/wire.h"

enum phase {
	PHASE_LIVE,
	PHASE_ONE, /* round one: pods that released something */
	PHASE_GONE, /* round one: pods that are gone */
	PHASE_TWO, /* round two */
	PHASE_RESET, /* the reader must forget its state */
	PHASE_FULL, /* the full state */
	PHASE_END, /* initial_end */
};

/* The next message; for pods, either `pod` or `gone` is set. */
struct item {
	const struct podres_pod *pod;
	const struct podres_past *gone;
	int64_t limit; /* for `pod`: send what it holds since this revision or longer */
	Podresources__Action action;
	bool initial_end;
};

/* --- the next item of a catch-up ----------------------------------------------------- */

/* Returns the next present pod born before the target for which `wanted` is true. */
static const struct podres_pod *next_pod(const struct podres *b, struct podres_cursor *c,
					 bool (*wanted)(const struct podres_pod *pod,
							int64_t after))
{
	for (size_t i = podres_pod_after(b, (int64_t)c->pos); i < b->pods.n; i++) {
		const struct podres_pod *pod = b->pods.v[i];

		if (pod->born > c->target)
			break;
		c->pos = (uint64_t)pod->born;
		if (wanted(pod, c->at))
			return pod;
	}
	return NULL;
}

static bool gave_back(const struct podres_pod *pod, int64_t after)
{
	return pod->shrunk > after;
}

/*
 * If everything that the pod holds is older, round one has sent it whole, or its next event will.
 * But a pod that came later may have the name of a pod whose end was sent in between.
 */
static bool is_news(const struct podres_pod *pod, int64_t after)
{
	bool told = pod->born <= after && pod->shrunk > after && pod->newest <= after;

	return pod->changed > after && !told;
}

static bool any(const struct podres_pod *pod UNUSED, int64_t after UNUSED)
{
	return true;
}

static bool next_in_pods(const struct podres *b, struct podres_cursor *c, struct item *ret)
{
	if (c->phase == PHASE_ONE)
		ret->pod = next_pod(b, c, gave_back);
	else
		ret->pod = next_pod(b, c, c->phase == PHASE_TWO ? is_news : any);
	if (!ret->pod)
		return false;
	ret->limit = c->phase == PHASE_ONE ? c->at : c->target;
	ret->action = ret->pod->born > c->at ? PODRESOURCES__ACTION__ADDED
					     : PODRESOURCES__ACTION__UPDATED;
	return true;
}

static bool next_in_gone(const struct podres *b, struct podres_cursor *c, struct item *ret)
{
	const struct podres_past *p;

	while ((p = podres_ring_after(&b->gone, MAX((int64_t)c->pos, c->at)))) {
		c->pos = (uint64_t)p->revision;
		ret->gone = p;
		ret->action = PODRESOURCES__ACTION__DELETED;
		if (p->revision <= c->target)
			return true;
		ret->action = PODRESOURCES__ACTION__UPDATED;
		if (p->born <= c->target && p->shrunk > c->at)
			return true;
	}
	return false;
}

static void cursor_enter(struct podres_cursor *c, enum phase phase)
{
	c->phase = (uint8_t)phase;
	c->pos = 0;
	if (phase == PHASE_LIVE)
		c->at = c->target;
}

/*
 * Moves the cursor past the next item and returns it. Returns false if the catch-up is over: the
 * cursor is live.
 */
static bool next_item(const struct podres *b, struct podres_cursor *c, struct item *ret)
{
	*ret = (struct item){ 0 };
	if (c->phase == PHASE_RESET) {
		ret->action = PODRESOURCES__ACTION__DELETED;
		cursor_enter(c, PHASE_FULL);
		return true;
	}
	if (c->phase == PHASE_ONE) {
		if (next_in_pods(b, c, ret))
			return true;
		cursor_enter(c, PHASE_GONE);
	}
	if (c->phase == PHASE_GONE) {
		if (next_in_gone(b, c, ret))
			return true;
		cursor_enter(c, PHASE_TWO);
	}
	if (c->phase == PHASE_TWO || c->phase == PHASE_FULL) {
		if (next_in_pods(b, c, ret))
			return true;
		cursor_enter(c, c->phase == PHASE_TWO ? PHASE_LIVE : PHASE_END);
	}
	if (c->phase == PHASE_END) {
		ret->initial_end = true;
		cursor_enter(c, PHASE_LIVE);
		return true;
	}
	return false;
}

/* --- packing ------------------------------------------------------------------------- */

static struct bytes *pack_pod_item(const struct item *item, int64_t revision)
{
	struct podres_event e = { .action = item->action,
				  .uid = item->pod->uid,
				  .pod = item->pod->state,
				  .revision = revision };
	CLEANUP(arena_release) struct arena a;
	Podresources__PodResources *part;
	char block[PODRES_SCRATCH] UNZEROED;

	arena_init_in(&a, SIZE_MAX, block, sizeof(block));
	if (item->pod->newest > item->limit) {
		part = podres_unpack_pod(item->pod->state, &a);
		podres_keep_older(part, item->pod->since, item->limit);
		e.pod = podres_pack_pod(part, &a);
	}
	return podres_pack_event(&e, NULL, NULL);
}

static struct bytes *pack_item(const struct item *item, int64_t revision)
{
	struct podres_event e = { .action = item->action,
				  .revision = revision,
				  .initial_end = item->initial_end };

	if (item->pod)
		return pack_pod_item(item, revision);
	if (item->gone) {
		e.uid = item->gone->uid;
		e.pod = item->gone->names;
	}
	return podres_pack_event(&e, NULL, NULL);
}

/*
 * Only the last message of a catch-up carries its revision: a reader cannot resume from the others.
 */
static struct bytes *read_catch_up(const struct podres *b, struct podres_cursor *c)
{
	struct podres_cursor ahead;
	struct item item, more;

	if (!next_item(b, c, &item))
		return NULL;
	ahead = *c;
	if (ahead.phase != PHASE_LIVE && next_item(b, &ahead, &more))
		return pack_item(&item, c->target - 1);
	*c = ahead;
	return pack_item(&item, c->target);
}

static void begin_full(const struct podres *b, struct podres_cursor *c, enum phase phase)
{
	cursor_enter(c, phase);
	c->at = -1;
	c->target = b->revision;
}

/* The ring no longer has the deletions that the reader needs. */
static void lose(const struct podres *b, struct podres_cursor *c)
{
	if (c->resumable)
		begin_full(b, c, PHASE_RESET);
	else
		c->lost = true;
}

static bool misses_gone(const struct podres *b, const struct podres_cursor *c)
{
	if (c->phase == PHASE_ONE)
		return b->gone.floor > c->at;
	return c->phase == PHASE_GONE && b->gone.floor > MAX((int64_t)c->pos, c->at);
}

static struct bytes *read_ring(const struct podres *b, struct podres_cursor *c)
{
	const struct podres_past *p = podres_ring_after(&b->events[c->kind], c->at);

	if (!p)
		return NULL;
	c->at = p->revision;
	return bytes_ref(p->event);
}

/* Starts another round if the rest of a catch-up has vanished meanwhile. */
static struct bytes *read_pods(const struct podres *b, struct podres_cursor *c)
{
	struct bytes *event;

	for (;;) {
		if (c->phase == PHASE_LIVE) {
			if (b->events[PODRES_PODS].floor <= c->at)
				return read_ring(b, c);
			cursor_enter(c, PHASE_ONE);
			c->target = b->revision;
		}
		if (misses_gone(b, c))
			lose(b, c);
		if (c->lost)
			return NULL;
		event = read_catch_up(b, c);
		if (event)
			return event;
	}
}

/* There is one state, so a catch-up is just that state, and nothing can be missed. */
static struct bytes *read_allocatable(const struct podres *b, struct podres_cursor *c)
{
	bool replaces = c->phase != PHASE_FULL;

	if (c->phase == PHASE_LIVE && b->events[PODRES_ALLOCATABLE].floor <= c->at)
		return read_ring(b, c);
	if (c->phase == PHASE_END) {
		cursor_enter(c, PHASE_LIVE);
		return podres_allocatable_end(c->at);
	}
	c->target = b->revision;
	cursor_enter(c, c->phase == PHASE_LIVE ? PHASE_LIVE : PHASE_END);
	return podres_allocatable_event(
		b, replaces ? PODRESOURCES__ACTION__UPDATED : PODRESOURCES__ACTION__ADDED,
		c->phase == PHASE_LIVE ? c->target : c->target - 1);
}

/* --- public -------------------------------------------------------------------------- */

static bool was_given(const struct podres *b, int64_t revision)
{
	return revision >= b->epoch && revision <= b->revision && revision % 2 == 0;
}

void podres_begin(struct podres *b, struct podres_cursor *c, enum podres_kind kind,
		  bool send_initial, int64_t after_revision)
{
	b->asked = true;
	*c = (struct podres_cursor){ .kind = kind,
				     .phase = PHASE_LIVE,
				     .resumable = send_initial || after_revision != 0,
				     .at = after_revision ? after_revision : b->revision };
	if (after_revision && !was_given(b, after_revision))
		begin_full(b, c, PHASE_RESET);
	else if (send_initial && !after_revision)
		begin_full(b, c, PHASE_FULL);
}

struct bytes *podres_read(struct podres *b, struct podres_cursor *c)
{
	return c->kind == PODRES_PODS ? read_pods(b, c) : read_allocatable(b, c);
}

uint64_t podres_backlog(const struct podres *b, const struct podres_cursor *c)
{
	int64_t behind = b->changed[c->kind] - c->at;

	if (c->lost)
		return 0;
	if (c->phase == PHASE_END)
		return 1;
	if (c->phase == PHASE_RESET || c->phase == PHASE_FULL)
		return (c->kind == PODRES_PODS ? b->pods.n : 1) + 1;
	if (c->phase == PHASE_LIVE)
		return behind > 0 ? (uint64_t)behind / 2 : 0;
	return MAX(behind / 2, INT64_C(1));
}
