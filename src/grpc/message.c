/*
 * protobuf-c allocates through a hook, here from the arena, and recurses once per level of nesting
 * without a limit. The hook is called at every level, so it also checks the depth of the stack:
 * hostile nesting of a recursive type fails instead of overflowing the stack.
 */
#include "grpc/message.h"

#include "base/core/buf.h"

/* protobuf-c needs about 1 KiB of stack per level: this allows some hundred levels. */
enum { MESSAGE_STACK_MAX = 256 * 1024 };

struct unpack {
	struct arena *arena;
	const char *stack; /* where we started */
	bool too_deep;
	bool too_large;
};

static void *unpack_alloc(void *data, size_t n)
{
	struct unpack *u = data;
	const char *here = __builtin_frame_address(0);
	void *p;

	if (here < u->stack && u->stack - here > MESSAGE_STACK_MAX) {
		u->too_deep = true;
		return NULL;
	}
	p = arena_try_alloc(u->arena, n);
	if (!p)
		u->too_large = true;
	return p;
}

static void unpack_free(void *data UNUSED, void *p UNUSED)
{
}

/* The fault of a message that could be unpacked; NULL if valid. */
static const char *message_fault(const ProtobufCMessage *m);

static const char *value_fault(const ProtobufCFieldDescriptor *f, const void *value)
{
	const void *p = *(void *const *)value;

	if (!p)
		return NULL;
	if (f->type != PROTOBUF_C_TYPE_STRING)
		return message_fault(p);
	return str_is_utf8(str_from(p)) ? NULL : "a string that is not UTF-8";
}

/* Returns false if the field is part of a oneof that holds a different member. */
static bool is_present(const ProtobufCFieldDescriptor *f, const char *message)
{
	return !(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) ||
	       *(const uint32_t *)(const void *)(message + f->quantifier_offset) == f->id;
}

static const char *field_fault(const ProtobufCFieldDescriptor *f, const char *message)
{
	const void *at = message + f->offset;
	const char *fault = NULL;
	size_t n;

	if (f->label != PROTOBUF_C_LABEL_REPEATED)
		return is_present(f, message) ? value_fault(f, at) : NULL;
	n = *(const size_t *)(const void *)(message + f->quantifier_offset);
	for (size_t i = 0; i < n && !fault; i++)
		fault = value_fault(f, *(void **const *)at + i);
	return fault;
}

/*
 * proto3 requires UTF-8 in all strings, and our JSON output relies on it. Field number 0 is
 * invalid: it can be read if it is encoded in more bytes than needed, but not after packing it
 * again.
 */
static const char *message_fault(const ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	const char *fault = NULL;

	for (unsigned i = 0; i < m->n_unknown_fields; i++)
		if (m->unknown_fields[i].tag == 0)
			return "a field with number 0";
	for (unsigned i = 0; i < d->n_fields && !fault; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];

		if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_MESSAGE)
			fault = field_fault(f, (const char *)m);
	}
	return fault;
}

int grpc_message_unpack(const ProtobufCMessageDescriptor *type, struct str wire, struct arena *a,
			void **ret_message, struct error *err)
{
	struct unpack u = { .arena = a, .stack = __builtin_frame_address(0) };
	ProtobufCAllocator allocator = { unpack_alloc, unpack_free, &u };
	const char *fault;
	ProtobufCMessage *m;

	m = protobuf_c_message_unpack(type, &allocator, wire.n, (const uint8_t *)wire.p);
	if (!m && u.too_deep)
		return error_set(err, ERR_TOO_LARGE, "grpc: message %s is nested too deeply",
				 type->name);
	if (!m && u.too_large)
		return error_set(err, ERR_TOO_LARGE,
				 "grpc: message %s unpacks to more than %zu bytes", type->name,
				 a->max);
	if (!m)
		return error_set(err, ERR_PROTOCOL, "grpc: failed to unmarshal message %s",
				 type->name);
	fault = message_fault(m);
	if (fault)
		return error_set(err, ERR_PROTOCOL, "grpc: message %s has %s", type->name, fault);
	*ret_message = m;
	return 0;
}

struct bytes *grpc_message_new(size_t n)
{
	struct bytes *b;
	unsigned char *p;

	if (n > UINT32_MAX - 64)
		return NULL;
	b = bytes_new(GRPC_PREFIX + n);
	p = (unsigned char *)b->data;
	p[0] = 0;
	p[1] = (unsigned char)(n >> 24);
	p[2] = (unsigned char)(n >> 16);
	p[3] = (unsigned char)(n >> 8);
	p[4] = (unsigned char)n;
	return b;
}

struct bytes *grpc_message_pack(const ProtobufCMessage *m)
{
	struct bytes *b = grpc_message_new(protobuf_c_message_get_packed_size(m));

	if (b)
		(void)protobuf_c_message_pack(m, (uint8_t *)b->data + GRPC_PREFIX);
	return b;
}
