/*
 * events - event sets, which read the ring of events in the shared state.
 */
#include "fake.h"

#include <stdlib.h>
#include <time.h>

/* Of one process; used by one thread at a time. */
struct event_set {
	uint64_t types[FAKE_GPUS]; /* 0: not registered */
	uint64_t next; /* the number of the first event that was not read */
};

int nvmlEventSetCreate(void **set)
{
	struct event_set *e;
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	e = calloc(1, sizeof(*e));
	if (!e)
		abort();
	e->next = s->events_end;
	*set = e;
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlEventSetFree(void *set)
{
	free(set);
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
	struct event_set *e = set;
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	e->types[g - s->gpus] |= types;
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

static bool take_event(const struct fake_state *s, struct event_set *e,
		       struct nvml_abi_event *event)
{
	if (s->events_end - e->next > FAKE_EVENTS)
		e->next = s->events_end - FAKE_EVENTS;
	while (e->next < s->events_end) {
		const struct fake_event *f = &s->events[e->next++ % FAKE_EVENTS];

		if (!(e->types[f->gpu] & f->type))
			continue;
		*event = (struct nvml_abi_event){
			.device = fake_handle_of(
				(struct fake_ref){ .kind = FAKE_GPU, .gpu = f->gpu }),
			.type = f->type,
			.data = f->data,
			.gi = f->gi,
			.ci = f->ci,
		};
		return true;
	}
	return false;
}

static int lost_code(const struct fake_state *s, const struct event_set *e)
{
	for (uint32_t i = 0; i < s->gpus_n; i++) {
		if (e->types[i] && s->gpus[i].lost)
			return (int)s->gpus[i].lost;
	}
	return NVML_CODE_SUCCESS;
}

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

int nvmlEventSetWait_v2(void *set, struct nvml_abi_event *event, unsigned int timeout_ms)
{
	int64_t until = now_ms() + timeout_ms;
	struct event_set *e = set;
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	for (;;) {
		int64_t left = until - now_ms();
		uint32_t seen = atomic_load(&s->changes);

		if (take_event(s, e, event))
			return fake_end(__func__, NVML_CODE_SUCCESS);
		code = lost_code(s, e);
		if (code != NVML_CODE_SUCCESS)
			return fake_end(__func__, code);
		if (left <= 0)
			return fake_end(__func__, NVML_CODE_TIMEOUT);
		fake_wait(s, seen, left);
	}
}
