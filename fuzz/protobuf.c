/*
 * Any bytes as a body, and as the message of a few types. A message that can be read and fits its
 * kind is encoded and read again, and then gives the same bytes. Otherwise there is an error
 * message.
 */
#include "api/codec/decode.h"
#include "api/codec/protobuf.h"
#include "base/core/limits.h"
#include "target.h"

/* Whether it fits. */
static bool check_again(struct arena *a, const struct schema_type *type, struct json *v)
{
	CLEANUP(buf_release) struct buf once = BUF_INIT(256 * MIB), twice = BUF_INIT(256 * MIB);
	struct error err;
	struct json *back;
	size_t unknown;

	/* A rejected message is not a valid object. */
	if (decode_fit(a, v, type, NULL, &err) < 0) {
		require(err.msg[0]);
		return false;
	}
	require(protobuf_encode(type, v, &once, &err) == 0);
	require(protobuf_decode(a, type, buf_str(&once), &unknown, &back, &err) == 0);
	require(unknown == 0);
	require(decode_fit(a, back, type, NULL, &err) == 0);
	require(protobuf_encode(type, back, &twice, &err) == 0);
	require(str_eq(buf_str(&once), buf_str(&twice)));
	return true;
}

/* The envelope of a reply contains the message unchanged. */
static void check_frame(const struct schema_kind *kind, const struct json *v)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(256 * MIB), message = BUF_INIT(256 * MIB);
	struct protobuf_envelope e;
	struct error err;

	require(protobuf_encode(kind->type, v, &message, &err) == 0);
	require(protobuf_encode_object(kind, v, &answer, &err) == 0);
	require(protobuf_open(buf_str(&answer), &e, &err) == 0);
	require(str_eq(e.message, buf_str(&message)));
	require(str_eq(e.kind, kind->kind) && str_eq(e.api_version, kind->api_version));
}

static void check_body(struct str body)
{
	CLEANUP(arena_release) struct arena a;
	const struct schema_kind *pod = schema_find_kind(STR("v1"), STR("Pod")), *kind;
	struct error err = { 0 };
	struct json *v = NULL;

	arena_init(&a, 256 * MIB);
	if (decode_body(&a, body, DECODE_PROTOBUF, pod, NULL, &v, &err) < 0) {
		require(err.msg[0]);
		return;
	}
	kind = schema_find_kind(json_text_at(v, "apiVersion"), json_text_at(v, "kind"));
	if (kind && check_again(&a, kind->type, v))
		check_frame(kind, v);
}

static void check_message(const struct schema_kind *kind, struct str message)
{
	CLEANUP(arena_release) struct arena a;
	struct error err = { 0 };
	struct json *v;
	size_t unknown;

	arena_init(&a, 256 * MIB);
	if (protobuf_decode(&a, kind->type, message, &unknown, &v, &err) < 0)
		require(err.msg[0]);
	else
		(void)check_again(&a, kind->type, v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		struct str api_version, kind;
	} kinds[] = {
		{ { "v1", 2 }, { "Pod", 3 } },
		{ { "v1", 2 }, { "SecretList", 10 } },
		{ { "resource.k8s.io/v1", 18 }, { "ResourceClaim", 13 } },
		{ { "resource.k8s.io/v1", 18 }, { "ResourceSlice", 13 } },
		{ { "apiextensions.k8s.io/v1", 23 }, { "CustomResourceDefinition", 24 } },
		{ { "events.k8s.io/v1", 16 }, { "Event", 5 } },
	};
	struct str input = str_of(data, size);

	check_body(input);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct schema_kind *kind = schema_find_kind(kinds[i].api_version,
								  kinds[i].kind);

		require(kind);
		check_message(kind, input);
	}
	return 0;
}
