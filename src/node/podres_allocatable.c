/*
 * What the node could hand out: one state, kept as the answer that is given for it. It changes
 * rarely, so its events are packed from the message, and a reader that has fallen behind gets one
 * of its own.
 */
#include <assert.h>

#include "grpc/message.h"
#include "node/podres_impl.h"
#include "node/podres_leaf.h"

static struct bytes *pack_answer(const Podresources__AllocatableResponse *state, int64_t revision)
{
	Podresources__AllocatableResponse r = *state;

	r.revision = revision;
	return grpc_message_pack(&r.base);
}

static Podresources__AllocatableResponse *unpack(const struct bytes *answer, struct arena *a)
{
	void *m = NULL;
	int r;

	r = grpc_message_unpack(&podresources__allocatable_response__descriptor,
				str_skip(bytes_str(answer), GRPC_PREFIX), a, &m, NULL);
	assert(r == 0);
	(void)r;
	return m;
}

static struct bytes *pack_event(const Podresources__AllocatableResponse *state,
				Podresources__Action action, int64_t revision)
{
	Podresources__AllocatableEvent e = PODRESOURCES__ALLOCATABLE_EVENT__INIT;

	e.action = action;
	e.n_devices = state->n_devices;
	e.devices = state->devices;
	e.n_cpu_ids = state->n_cpu_ids;
	e.cpu_ids = state->cpu_ids;
	e.n_memory = state->n_memory;
	e.memory = state->memory;
	e.revision = revision;
	return grpc_message_pack(&e.base);
}

struct bytes *podres_allocatable_event(const struct podres *b, Podresources__Action action,
				       int64_t revision)
{
	const Podresources__AllocatableResponse nothing = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	return pack_event(b->allocatable ? unpack(b->allocatable, &a) : &nothing, action, revision);
}

struct bytes *podres_allocatable_end(int64_t revision)
{
	Podresources__AllocatableEvent e = PODRESOURCES__ALLOCATABLE_EVENT__INIT;

	e.revision = revision;
	e.initial_end = true;
	return grpc_message_pack(&e.base);
}

struct bytes *podres_allocatable(struct podres *b)
{
	const Podresources__AllocatableResponse nothing = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;

	return b->allocatable ? bytes_ref(b->allocatable) : pack_answer(&nothing, b->epoch);
}

static Podresources__Action action_of(const struct bytes *old,
				      const Podresources__AllocatableResponse *state)
{
	Podresources__AllocatableResponse now = *state; /* comparing takes nothing out of it */
	struct podres_diff d;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	d = podres_diff_allocatable(unpack(old, &a), &now, &a);
	if (d.gained > 0 && d.lost == 0)
		return PODRESOURCES__ACTION__ADDED;
	if (d.lost > 0 && d.gained == 0)
		return PODRESOURCES__ACTION__DELETED;
	return PODRESOURCES__ACTION__UPDATED;
}

bool podres_set_allocatable(struct podres *b, const Podresources__AllocatableResponse *state)
{
	CLEANUP(bytes_unref) struct bytes *old = NULL, *now = NULL, *event = NULL;
	Podresources__Action action;

	old = podres_allocatable(b);
	now = pack_answer(state, b->changed[PODRES_ALLOCATABLE]);
	if (str_eq(bytes_str(old), bytes_str(now)))
		return false;
	action = action_of(old, state);
	(void)podres_change(b, PODRES_ALLOCATABLE);
	bytes_unref(b->allocatable);
	b->allocatable = pack_answer(state, b->revision);
	event = pack_event(state, action, b->revision);
	podres_tell(b, PODRES_ALLOCATABLE, event);
	return true;
}
