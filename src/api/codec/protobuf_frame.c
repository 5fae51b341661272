/*
 * Each length precedes the bytes it counts, so the innermost is computed first. All field numbers
 * here are small: a tag is one byte.
 */
#include "api/codec/protobuf_frame.h"

#include <string.h>

#include "api/codec/protobuf_impl.h"

/* The tag of a field with a length. */
#define TAG(number) ((char)((number) << 3 | WIRE_BYTES))

enum { FRAME_LENGTH = 4 }; /* bytes of an event's length, big-endian */

struct protobuf_frame protobuf_frame_partial(struct str version, bool list)
{
	return (struct protobuf_frame){
		.api_version = str_eq(version, STR("v1")) ? STR("meta.k8s.io/v1")
							  : STR("meta.k8s.io/v1beta1"),
		.kind = list ? STR("PartialObjectMetadataList") : STR("PartialObjectMetadata"),
	};
}

static size_t field_size(size_t n)
{
	return 1 + wire_varint_size(n) + n;
}

static char *put_tag(char *to, unsigned number, size_t n)
{
	*to = TAG(number);
	return to + 1 + wire_print_varint(n, to + 1);
}

static char *protobuf_frame_put_text(char *to, unsigned number, struct str text)
{
	to = put_tag(to, number, text.n);
	str_put(to, text);
	return to + text.n;
}

static size_t type_meta_size(const struct protobuf_frame *f)
{
	return field_size(f->api_version.n) + field_size(f->kind.n);
}

/* The size of magic and envelope with a message of n bytes. */
static size_t answer_size(const struct protobuf_frame *f, size_t n)
{
	return PROTOBUF_MAGIC.n + field_size(type_meta_size(f)) + field_size(n) + PROTOBUF_TAIL.n;
}

size_t protobuf_frame_size(const struct protobuf_frame *f, size_t n)
{
	size_t answer = answer_size(f, n);

	if (!f->event.n)
		return answer;
	return FRAME_LENGTH + field_size(f->event.n) + field_size(field_size(answer));
}

size_t protobuf_head_size(const struct protobuf_frame *f, size_t n)
{
	return protobuf_frame_size(f, n) - n - PROTOBUF_TAIL.n;
}

static char *put_event(const struct protobuf_frame *f, size_t n, char *to)
{
	size_t answer = answer_size(f, n);
	size_t event = field_size(f->event.n) + field_size(field_size(answer));

	for (unsigned i = 0; i < FRAME_LENGTH; i++)
		*to++ = (char)(event >> (8 * (FRAME_LENGTH - 1 - i)));
	to = protobuf_frame_put_text(to, PROTOBUF_EVENT_TYPE, f->event);
	to = put_tag(to, PROTOBUF_EVENT_OBJECT, field_size(answer));
	return put_tag(to, PROTOBUF_EVENT_RAW, answer);
}

char *protobuf_put_head(const struct protobuf_frame *f, size_t n, char *to)
{
	if (f->event.n)
		to = put_event(f, n, to);
	str_put(to, PROTOBUF_MAGIC);
	to = put_tag(to + PROTOBUF_MAGIC.n, PROTOBUF_TYPE_META, type_meta_size(f));
	to = protobuf_frame_put_text(to, PROTOBUF_API_VERSION, f->api_version);
	to = protobuf_frame_put_text(to, PROTOBUF_KIND, f->kind);
	return put_tag(to, PROTOBUF_RAW, n);
}

char *protobuf_put_frame(const struct protobuf_frame *f, struct str message, char *to)
{
	to = protobuf_put_head(f, message.n, to);
	str_put(to, message);
	to += message.n;
	str_put(to, PROTOBUF_TAIL);
	return to + PROTOBUF_TAIL.n;
}

int protobuf_frame_add(const struct protobuf_frame *f, struct str message, struct buf *b)
{
	size_t n = protobuf_frame_size(f, message.n);
	int r = buf_reserve(b, n);

	if (r < 0)
		return r;
	(void)protobuf_put_frame(f, message, b->p + b->n);
	b->n += n;
	b->p[b->n] = 0;
	return 0;
}
