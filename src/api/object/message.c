/*
 * If two threads want the message of an object at the same moment, both make it and one is kept.
 * The bytes are the same, and a lock would cost more.
 */
#include "api/object/message.h"

#include "api/codec/protobuf.h"
#include "api/codec/protobuf_wire.h"
#include "base/core/arena.h"
#include "base/json/json.h"

static const struct schema_type *message_type(const struct schema_kind *kind)
{
	kind = kind->storage ? kind->storage : kind;
	if (!protobuf_has_kind(kind))
		kind = schema_find_kind(STR("meta.k8s.io/v1"), STR("PartialObjectMetadata"));
	return kind->type;
}

static struct bytes *encode(const struct object *o, const struct schema_kind *kind)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf out = BUF_INIT(SIZE_MAX);
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	if (json_parse(&a, bytes_str(o->json), NULL, &tree, NULL) < 0)
		return NULL;
	(void)buf_reserve(&out, o->json->n);
	(void)protobuf_encode(message_type(kind), tree, &out, NULL);
	return bytes_copy(buf_str(&out));
}

struct bytes *object_message_made(const struct object *o)
{
	return atomic_load_explicit(&o->message, memory_order_acquire);
}

struct bytes *object_message(const struct object *o, const struct schema_kind *kind)
{
	/* The cached message is not part of the object's value: readers cannot see it change. */
	struct object *keeper = (struct object *)(uintptr_t)o;
	struct bytes *kept = object_message_made(o), *made;

	if (kept)
		return kept;
	made = encode(o, kind);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong_explicit(&keeper->message, &kept, made,
						    memory_order_acq_rel, memory_order_acquire))
		return made;
	bytes_unref(made);
	return kept;
}

size_t object_message_meta_size(const struct bytes *message)
{
	struct str rest = bytes_str(message);
	struct wire_field first;

	if (wire_next(&rest, &first, NULL) <= 0 || first.number != 1)
		return 0;
	return message->n - rest.n;
}
