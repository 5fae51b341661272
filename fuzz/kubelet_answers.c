/*
 * A kubelet's replies to attach mode: pieces of one byte for the type, two for the length, and an
 * encoded message. For any reply, no two pods of the book hold the same device or CPU, and readers
 * get messages that they can decode.
 */
#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "grpc/message.h"
#include "node/attach/merge.h"
#include "target.h"

static const struct attach_pod_info pods[] = {
	{ .uid = { "1", 1 }, .ns = { "d", 1 }, .name = { "a", 1 }, .life = ATTACH_RUNNING },
	{ .uid = { "2", 1 }, .ns = { "d", 1 }, .name = { "b", 1 }, .life = ATTACH_STARTING },
	{ .uid = { "3", 1 }, .ns = { "d", 1 }, .name = { "a", 1 }, .life = ATTACH_COMING },
};

struct world {
	struct podres *book;
	struct attach_merge *merge;
	struct podres_cursor reader;
	int64_t now_ms;
};

/* --- what must hold ------------------------------------------------------------------ */

/* Whose it is: the pod's uid, the first time; the same pod may say it again. */
static void claim(struct map *owners, struct arena *a, const char *thing, struct str uid)
{
	const struct str *owner = map_get(owners, str_from(thing));
	struct str *mine;

	if (owner) {
		require(str_eq(*owner, uid));
		return;
	}
	mine = arena_alloc(a, sizeof(*mine));
	*mine = uid;
	(void)map_put(owners, str_from(thing), mine);
}

static void claim_container(struct map *owners, struct arena *a, struct str uid,
			    const Podresources__ContainerResources *c)
{
	for (size_t i = 0; i < c->n_devices; i++) {
		for (size_t d = 0; d < c->devices[i]->n_device_ids; d++)
			claim(owners, a,
			      arena_printf(a, "%s\n%s", c->devices[i]->resource_name,
					   c->devices[i]->device_ids[d]),
			      uid);
	}
	for (size_t i = 0; i < c->n_cpu_ids; i++)
		claim(owners, a, arena_printf(a, "%lld", (long long)c->cpu_ids[i]), uid);
}

static void check_book(const struct world *w)
{
	struct str uid = STR_NULL, packed;
	struct map owners;
	struct arena a;
	void *m;

	arena_init(&a, SIZE_MAX);
	map_init(&owners);
	while (podres_next_pod(w->book, &uid, &packed)) {
		const Podresources__PodResources *pod;

		require(grpc_message_unpack(&podresources__pod_resources__descriptor, packed, &a,
					    &m, NULL) == 0);
		pod = m;
		for (size_t i = 0; i < pod->n_containers; i++)
			claim_container(&owners, &a, uid, pod->containers[i]);
	}
	map_release(&owners);
	arena_release(&a);
}

static void read_all(struct world *w)
{
	struct bytes *b;
	struct arena a;
	void *m;

	arena_init(&a, SIZE_MAX);
	while ((b = podres_read(w->book, &w->reader))) {
		require(grpc_message_unpack(&podresources__pod_event__descriptor,
					    str_skip(bytes_str(b), GRPC_PREFIX), &a, &m,
					    NULL) == 0);
		bytes_unref(b);
	}
	arena_release(&a);
}

/* --- what comes in ------------------------------------------------------------------- */

static void *unpack(const ProtobufCMessageDescriptor *type, struct str wire, struct arena *a)
{
	void *m;

	return grpc_message_unpack(type, wire, a, &m, NULL) == 0 ? m : NULL;
}

static void take(struct world *w, unsigned what, struct str wire, struct arena *a)
{
	struct attach_outcome out = { 0 };
	const Podresources__GetResponse *get;
	void *m;

	attach_merge_begin(w->merge);
	w->now_ms += what >> 4;
	if (what % 4 == 0 && (m = unpack(&podresources__list_response__descriptor, wire, a))) {
		attach_merge_list(w->merge, m, w->now_ms, &out);
		require(out.verdict == ATTACH_TAKEN || out.why[0]);
	} else if (what % 4 == 1 &&
		   (get = unpack(&podresources__get_response__descriptor, wire, a))) {
		attach_merge_get(w->merge, pods[wire.n % 3].uid, get->pod_resources, w->now_ms,
				 &out);
	} else if (what % 4 == 2 &&
		   (m = unpack(&podresources__allocatable_response__descriptor, wire, a))) {
		attach_merge_allocatable(w->merge, m);
	} else if (what % 4 == 3) {
		if (what & 4)
			attach_merge_pod_gone(w->merge, pods[wire.n % 3].uid);
		else
			(void)attach_merge_pod(w->merge, &pods[wire.n % 3], w->now_ms, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = { .book = podres_new(1000) };
	struct str rest = str_of(data, size);

	w.merge = attach_merge_new(w.book, 0);
	podres_begin(w.book, &w.reader, PODRES_PODS, true, 0);
	(void)attach_merge_pod(w.merge, &pods[0], 0, NULL);
	(void)attach_merge_pod(w.merge, &pods[1], 0, NULL);
	while (rest.n >= 3) {
		unsigned what = (uint8_t)rest.p[0];
		size_t n = (size_t)(uint8_t)rest.p[1] << 8 | (uint8_t)rest.p[2];
		struct arena a;

		rest = str_skip(rest, 3);
		n = MIN(n, rest.n);
		arena_init(&a, 64 * MIB);
		take(&w, what, str_of(rest.p, n), &a);
		arena_release(&a);
		rest = str_skip(rest, n);
		check_book(&w);
		read_all(&w);
	}
	attach_merge_free(w.merge);
	podres_free(w.book);
	return 0;
}
