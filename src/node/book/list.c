/*
 * Replies about the present state. A List is the concatenation of the packed pods. It is built on
 * the first request after a change; until the next change each caller gets a reference.
 */
#include <assert.h>

#include "grpc/message.h"
#include "node/book/podres_impl.h"
#include "node/book/wire.h"

static struct bytes *list_message_of(size_t n)
{
	struct bytes *b = grpc_message_new(n);

	assert(b); /* pods of 4 GiB in total */
	return b;
}

static struct bytes *pack_list(const struct podres *b)
{
	size_t n = podres_int_size(PODRES_FIELD_REVISION, b->revision);
	struct bytes *list;
	char *p;

	for (size_t i = 0; i < b->pods.n; i++)
		n += podres_bytes_size(PODRES_FIELD_POD, b->pods.v[i]->state);
	list = list_message_of(n);
	p = list->data + GRPC_PREFIX;
	for (size_t i = 0; i < b->pods.n; i++)
		p = podres_put_bytes(p, PODRES_FIELD_POD, b->pods.v[i]->state);
	p = podres_put_int(p, PODRES_FIELD_REVISION, b->revision);
	assert(p == list->data + list->n);
	return list;
}

struct bytes *podres_list(struct podres *b)
{
	b->asked = true;
	if (!b->list)
		b->list = pack_list(b);
	return bytes_ref(b->list);
}

/* --- v1alpha1 ------------------------------------------------------------------------ */

static void strip_container(Podresources__ContainerResources *c)
{
	c->n_cpu_ids = 0;
	c->n_memory = 0;
	c->n_dynamic_resources = 0;
	for (size_t i = 0; i < c->n_devices; i++) {
		c->devices[i]->topology = NULL;
		c->devices[i]->health = PODRESOURCES__DEVICE_HEALTH__NOT_REPORTED;
		c->devices[i]->health_message = NULL;
	}
}

static Podresources__PodResources *alpha_pod(const struct podres_pod *pod, struct arena *a)
{
	Podresources__PodResources *m = podres_unpack_pod(pod->state, a);
	size_t skip = MIN(pod->first_main, m->n_containers);

	m->n_cpu_ids = 0;
	m->n_memory = 0;
	m->n_dynamic_resources = 0;
	m->containers += skip;
	m->n_containers -= skip;
	for (size_t i = 0; i < m->n_containers; i++)
		strip_container(m->containers[i]);
	return m;
}

static struct bytes *pack_list_alpha(const struct podres *b)
{
	Podresources__ListResponse r = PODRESOURCES__LIST_RESPONSE__INIT;
	CLEANUP(arena_release) struct arena a;
	struct bytes *list;

	arena_init(&a, SIZE_MAX);
	r.n_pod_resources = b->pods.n;
	r.pod_resources = ARENA_ARRAY(&a, Podresources__PodResources *, b->pods.n + 1);
	for (size_t i = 0; i < b->pods.n; i++)
		r.pod_resources[i] = alpha_pod(b->pods.v[i], &a);
	list = grpc_message_pack(&r.base);
	assert(list);
	return list;
}

struct bytes *podres_list_alpha(struct podres *b)
{
	if (!b->list_alpha)
		b->list_alpha = pack_list_alpha(b);
	return bytes_ref(b->list_alpha);
}

/* --- single pods --------------------------------------------------------------------- */

struct bytes *podres_get(struct podres *b, struct str ns, struct str name)
{
	for (size_t i = b->pods.n; i-- > 0;) {
		const struct podres_pod *pod = b->pods.v[i];
		struct bytes *answer;

		if (!str_eq(pod->name, name) || !str_eq(pod->ns, ns))
			continue;
		answer = list_message_of(podres_bytes_size(PODRES_FIELD_POD, pod->state));
		(void)podres_put_bytes(answer->data + GRPC_PREFIX, PODRES_FIELD_POD, pod->state);
		return answer;
	}
	return NULL;
}

bool podres_next_pod(const struct podres *b, struct str *at_uid, struct str *ret_packed)
{
	const struct podres_pod *pod;
	struct omap_cursor c;

	if (!omap_seek_after(&b->by_uid, &c, *at_uid))
		return false;
	pod = omap_value(&c);
	*at_uid = pod->uid;
	*ret_packed = pod->state;
	return true;
}
