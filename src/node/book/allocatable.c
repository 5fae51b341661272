/*
 * The node's allocatable is one state. It is stored twice: as the packed reply, and as the fields
 * of its events, whose field numbers differ. A reader's event is those bytes with action and
 * revision added, so nothing is unpacked for a reader.
 */
#include <assert.h>

#include "base/core/mem.h"
#include "grpc/message.h"
#include "node/book/leaf.h"
#include "node/book/podres_impl.h"
#include "node/book/wire.h"

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

/* An event without action and revision. */
static struct bytes *pack_fields(const Podresources__AllocatableResponse *state)
{
	Podresources__AllocatableEvent e = PODRESOURCES__ALLOCATABLE_EVENT__INIT;

	e.n_devices = state->n_devices;
	e.devices = state->devices;
	e.n_cpu_ids = state->n_cpu_ids;
	e.cpu_ids = state->cpu_ids;
	e.n_memory = state->n_memory;
	e.memory = state->memory;
	e.n_claim_resources = state->n_claim_resources;
	e.claim_resources = state->claim_resources;
	return grpc_message_pack(&e.base);
}

static struct str fields_of(const struct bytes *packed)
{
	return packed ? str_skip(bytes_str(packed), GRPC_PREFIX) : STR_NULL;
}

struct bytes *podres_allocatable_event(const struct podres *b, Podresources__Action action,
				       int64_t revision)
{
	struct str fields = fields_of(b->allocatable_fields);
	struct bytes *event;
	char *p;

	event = grpc_message_new(podres_int_size(PODRES_FIELD_ACTION, (int64_t)action) + fields.n +
				 podres_int_size(PODRES_FIELD_REVISION, revision));
	assert(event);
	p = podres_put_int(event->data + GRPC_PREFIX, PODRES_FIELD_ACTION, (int64_t)action);
	str_put(p, fields);
	p = podres_put_int(p + fields.n, PODRES_FIELD_REVISION, revision);
	assert(p == event->data + event->n);
	return event;
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
	Podresources__AllocatableResponse now = *state; /* comparing does not change it */
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
	CLEANUP(bytes_unref) struct bytes *fields = pack_fields(state), *old = NULL, *event = NULL;
	Podresources__Action action;

	if (str_eq(fields_of(fields), fields_of(b->allocatable_fields)))
		return false;
	old = podres_allocatable(b);
	action = action_of(old, state);
	(void)podres_change(b, PODRES_ALLOCATABLE);
	bytes_unref(b->allocatable);
	bytes_unref(b->allocatable_fields);
	b->allocatable = pack_answer(state, b->revision);
	b->allocatable_fields = TAKE(fields);
	event = podres_allocatable_event(b, action, b->revision);
	podres_tell(b, PODRES_ALLOCATABLE, event);
	return true;
}
