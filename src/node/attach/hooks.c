/*
 * Copies are made by packing: the messages are trees with pointers everywhere.
 */
#include "node/attach/hooks.h"

#include <assert.h>

#include "grpc/message.h"

static void *hooks_copy(const ProtobufCMessage *m, struct arena *a)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *p = arena_alloc(a, n + 1);
	void *copy = NULL;

	(void)protobuf_c_message_pack(m, p);
	(void)grpc_message_unpack(m->descriptor, str_of(p, n), a, &copy, NULL);
	assert(copy);
	return copy;
}

const struct podres_entry *attach_hooks_pods(const struct attach_hooks *h,
					     const struct podres_entry *v, size_t n,
					     struct arena *a)
{
	struct podres_entry *with;

	if (!h->on_pod)
		return v;
	with = ARENA_ARRAY(a, struct podres_entry, n);
	for (size_t i = 0; i < n; i++) {
		Podresources__PodResources *copy = v[i].state ? hooks_copy(&v[i].state->base, a)
							      : NULL;

		h->on_pod(h->arg, v[i].uid, copy, a);
		with[i] = v[i];
		with[i].state = copy;
	}
	return with;
}

const Podresources__AllocatableResponse *attach_hooks_allocatable(
	const struct attach_hooks *h, const Podresources__AllocatableResponse *state,
	struct arena *a)
{
	Podresources__AllocatableResponse *copy;

	if (!h->on_allocatable)
		return state;
	copy = hooks_copy(&state->base, a);
	h->on_allocatable(h->arg, copy, a);
	return copy;
}

void attach_hooks_gone(const struct attach_hooks *h, struct str uid)
{
	if (h->on_pod)
		h->on_pod(h->arg, uid, NULL, NULL);
}
