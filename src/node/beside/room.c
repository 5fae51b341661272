/*
 * Allocatable as the kubelet reports it, with the health of its devices and the devices of drivers.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "grpc/message.h"
#include "node/beside/beside_impl.h"
#include "node/podresources/view.h"

void beside_on_allocatable(void *arg, Podresources__AllocatableResponse *state, struct arena *a)
{
	struct beside *b = arg;
	size_t n = podresources__allocatable_response__get_packed_size(state);

	free(b->room);
	b->room = xmalloc(n + 1);
	b->room_n = podresources__allocatable_response__pack(state, (uint8_t *)b->room);
	podres_view_offers(state, b->assign, b->health, a);
}

void beside_room_set(struct beside *b)
{
	CLEANUP(arena_release) struct arena a;
	void *state = NULL;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!b->room || grpc_message_unpack(&podresources__allocatable_response__descriptor,
					    str_of(b->room, b->room_n), &a, &state, NULL) < 0)
		return;
	podres_view_offers(state, b->assign, b->health, &a);
	(void)podres_set_allocatable(b->opts.book, state);
}
