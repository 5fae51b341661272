/*
 * protobuf-c could pack these messages only from structs, so each reader's event would need the pod
 * unpacked. Fields are written in the order of their numbers and without zeros, so that the bytes
 * equal protobuf-c's.
 */
#include "node/book/wire.h"

#include <assert.h>

#include "api/codec/protobuf_wire.h"
#include "grpc/message.h"

enum {
	EVENT_UID = 2,
	EVENT_POD = 3,
	EVENT_INITIAL_END = 101,
	POD_NAME = 1,
	POD_NAMESPACE = 2,
};

static uint64_t tag(uint32_t number, enum wire_type type)
{
	return (uint64_t)number << 3 | type;
}

size_t podres_bytes_size(uint32_t number, struct str s)
{
	return wire_varint_size(tag(number, WIRE_BYTES)) + wire_varint_size(s.n) + s.n;
}

char *podres_put_bytes(char *p, uint32_t number, struct str s)
{
	p += wire_print_varint(tag(number, WIRE_BYTES), p);
	p += wire_print_varint(s.n, p);
	str_put(p, s);
	return p + s.n;
}

size_t podres_int_size(uint32_t number, int64_t v)
{
	if (v == 0)
		return 0;
	return wire_varint_size(tag(number, WIRE_VARINT)) + wire_varint_size((uint64_t)v);
}

char *podres_put_int(char *p, uint32_t number, int64_t v)
{
	if (v == 0)
		return p;
	p += wire_print_varint(tag(number, WIRE_VARINT), p);
	return p + wire_print_varint((uint64_t)v, p);
}

static size_t text_size(uint32_t number, struct str s)
{
	return s.n ? podres_bytes_size(number, s) : 0;
}

static char *wire_put_text(char *p, uint32_t number, struct str s)
{
	return s.n ? podres_put_bytes(p, number, s) : p;
}

static size_t event_size(const struct podres_event *e)
{
	size_t n = podres_int_size(PODRES_FIELD_ACTION, (int64_t)e->action) +
		   text_size(EVENT_UID, e->uid);

	if (e->pod.p)
		n += podres_bytes_size(EVENT_POD, e->pod);
	n += podres_int_size(PODRES_FIELD_REVISION, e->revision);
	return n + podres_int_size(EVENT_INITIAL_END, e->initial_end);
}

struct bytes *podres_pack_event(const struct podres_event *e, struct str *ret_uid,
				struct str *ret_pod)
{
	struct bytes *b = grpc_message_new(event_size(e));
	char *p;

	assert(b); /* a pod of 4 GiB */
	p = podres_put_int(b->data + GRPC_PREFIX, PODRES_FIELD_ACTION, (int64_t)e->action);
	p = wire_put_text(p, EVENT_UID, e->uid);
	if (ret_uid)
		*ret_uid = str_of(p - e->uid.n, e->uid.n);
	if (e->pod.p)
		p = podres_put_bytes(p, EVENT_POD, e->pod);
	if (ret_pod)
		*ret_pod = str_of(p - e->pod.n, e->pod.n);
	p = podres_put_int(p, PODRES_FIELD_REVISION, e->revision);
	p = podres_put_int(p, EVENT_INITIAL_END, e->initial_end);
	assert(p == b->data + b->n);
	return b;
}

struct str podres_pack_pod(const Podresources__PodResources *pod, struct arena *a)
{
	size_t n = podresources__pod_resources__get_packed_size(pod);
	char *p = arena_alloc(a, n + 1);

	(void)podresources__pod_resources__pack(pod, (uint8_t *)p);
	return str_of(p, n);
}

struct str podres_pack_names(struct str ns, struct str name, struct arena *a)
{
	size_t n = text_size(POD_NAME, name) + text_size(POD_NAMESPACE, ns);
	char *p = arena_alloc(a, n + 1);

	(void)wire_put_text(wire_put_text(p, POD_NAME, name), POD_NAMESPACE, ns);
	return str_of(p, n);
}

Podresources__PodResources *podres_unpack_pod(struct str packed, struct arena *a)
{
	void *pod = NULL;
	int r;

	r = grpc_message_unpack(&podresources__pod_resources__descriptor, packed, a, &pod, NULL);
	assert(r == 0);
	(void)r;
	return pod;
}
