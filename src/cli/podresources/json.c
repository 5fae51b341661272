/*
 * It uses descriptors and knows no message by name. The recursion is as deep as the types nest,
 * which is fixed, because no type contains itself.
 */
#include "cli/podresources/json.h"

#include <inttypes.h>

#include "podresources.pb-c.h"

static bool is_node(const ProtobufCMessageDescriptor *type)
{
	return type == &podresources__numa_node__descriptor;
}

static struct str json_name(struct arena *a, const ProtobufCFieldDescriptor *f,
			    const ProtobufCMessageDescriptor *type)
{
	char *name = arena_strdup(a, str_from(f->name)), *to = name;
	bool raise = false;

	if (is_node(type))
		return STR("ID");
	for (const char *p = f->name; *p; p++) {
		if (*p == '_') {
			raise = true;
			continue;
		}
		*to++ = raise && *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
		raise = false;
	}
	return str_of(name, (size_t)(to - name));
}

static struct json *enum_value(struct arena *a, const ProtobufCFieldDescriptor *f, int number)
{
	const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(f->descriptor, number);

	return v ? json_make_str(a, str_from(v->name)) : json_make_i64(a, number);
}

/* The stride of a repeated field, for the types that occur in our messages. */
static size_t json_size_of(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
		return sizeof(int64_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_ENUM:
		return sizeof(int);
	default:
		return sizeof(void *);
	}
}

/* The value at `p`; NULL if it is the default and `implicit` allows to leave it out. */
static struct json *json_value_of(struct arena *a, const ProtobufCFieldDescriptor *f, const void *p,
				  bool implicit)
{
	const char *text;

	switch (f->type) {
	case PROTOBUF_C_TYPE_INT64:
		if (implicit && *(const int64_t *)p == 0)
			return NULL;
		return json_make_str(a, str_from(arena_printf(a, "%" PRId64, *(const int64_t *)p)));
	case PROTOBUF_C_TYPE_UINT64:
		if (implicit && *(const uint64_t *)p == 0)
			return NULL;
		return json_make_str(a,
				     str_from(arena_printf(a, "%" PRIu64, *(const uint64_t *)p)));
	case PROTOBUF_C_TYPE_BOOL:
		if (implicit && !*(const protobuf_c_boolean *)p)
			return NULL;
		return json_make_bool(a, *(const protobuf_c_boolean *)p);
	case PROTOBUF_C_TYPE_ENUM:
		/* An event's action is always printed, to help the reader. */
		if (implicit && *(const int *)p == 0 &&
		    f->descriptor != &podresources__action__descriptor)
			return NULL;
		return enum_value(a, f, *(const int *)p);
	case PROTOBUF_C_TYPE_MESSAGE:
		if (!*(const ProtobufCMessage *const *)p)
			return NULL;
		return podres_json(a, *(const ProtobufCMessage *const *)p);
	case PROTOBUF_C_TYPE_STRING:
		text = *(const char *const *)p;
		if (implicit && (!text || !*text))
			return NULL;
		return json_make_str(a, str_from(text ? text : ""));
	default:
		return NULL;
	}
}

static struct json *array_of(struct arena *a, const ProtobufCFieldDescriptor *f, const char *base)
{
	size_t n = *(const size_t *)(const void *)(base + f->quantifier_offset);
	const char *v = *(const char *const *)(const void *)(base + f->offset);
	struct json *array;

	if (n == 0)
		return NULL;
	array = json_make_array(a);
	for (size_t i = 0; i < n; i++)
		json_append(array, json_value_of(a, f, v + i * json_size_of(f), false));
	return array;
}

static struct json *field_of(struct arena *a, const ProtobufCFieldDescriptor *f,
			     const ProtobufCMessageDescriptor *type, const char *base)
{
	bool chosen = (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;

	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return array_of(a, f, base);
	if (chosen && *(const uint32_t *)(const void *)(base + f->quantifier_offset) != f->id)
		return NULL;
	return json_value_of(a, f, base + f->offset, !chosen && !is_node(type));
}

struct json *podres_json(struct arena *a, const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;
	struct json *object = json_make_object(a);

	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];
		struct json *v = field_of(a, f, type, (const char *)message);

		if (v)
			json_add(object, json_name(a, f, type), v);
	}
	return object;
}
