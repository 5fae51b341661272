/*
 * gnostic's protobuf form of an OpenAPI v2 document, converted from the JSON form. Each message
 * is a table that maps members of the JSON object to fields and their encoding. For a JSON object
 * with free names, gnostic has a list of {name, value}; for a choice, it has a message around
 * each alternative. Free values (extensions) are text: YAML, of which JSON is a subset.
 */
#include "server/publish/openapi_impl.h"

struct message;

/* Writes `v` as field `number` of the current message. */
typedef void (*put_fn)(struct buf *out, uint32_t number, const struct json *v);

struct member {
	struct str key;
	uint32_t number;
	put_fn put;
};

struct message {
	const struct member *members;
	size_t n;
	uint32_t extensions; /* number of the list for x-.. members; 0: none */
};

#define KEY(text)                      \
	{                              \
		text, sizeof(text) - 1 \
	}
#define MESSAGE(ms, ex)                                                  \
	{                                                                \
		.members = (ms), .n = ARRAY_SIZE(ms), .extensions = (ex) \
	}

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

/* --- the wire ------------------------------------------------------------------------ */

static size_t encode_varint(uint64_t v, unsigned char bytes[10])
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	return n;
}

static void add_varint(struct buf *out, uint64_t v)
{
	unsigned char bytes[10];

	(void)buf_add(out, bytes, encode_varint(v, bytes));
}

static void add_tag(struct buf *out, uint32_t number, unsigned wire)
{
	add_varint(out, (uint64_t)number << 3 | wire);
}

static void openapi_proto_add_text(struct buf *out, uint32_t number, struct str text)
{
	add_tag(out, number, WIRE_BYTES);
	add_varint(out, text.n);
	(void)buf_add_str(out, text);
}

/* Begins a message; its length is inserted before it at the end. */
static size_t openapi_proto_begin(struct buf *out, uint32_t number)
{
	add_tag(out, number, WIRE_BYTES);
	return out->n;
}

static void openapi_proto_end(struct buf *out, size_t mark)
{
	unsigned char bytes[10];
	size_t n = encode_varint(out->n - mark, bytes);

	if (out->overflow || buf_reserve(out, n) < 0)
		return;
	memmove(out->p + mark + n, out->p + mark, out->n - mark);
	memcpy(out->p + mark, bytes, n);
	out->n += n;
}

/* --- scalars ------------------------------------------------------------------------- */

static void openapi_proto_put_text(struct buf *out, uint32_t number, const struct json *v)
{
	openapi_proto_add_text(out, number, json_str(v));
}

static void put_bool(struct buf *out, uint32_t number, const struct json *v)
{
	bool on = false;

	if (!json_bool(v, &on) || !on)
		return;
	add_tag(out, number, WIRE_VARINT);
	add_varint(out, 1);
}

/* Non-negative integers: lengths and counts. */
static void put_count(struct buf *out, uint32_t number, const struct json *v)
{
	int64_t n = 0;

	if (!json_i64(v, &n) || n <= 0)
		return;
	add_tag(out, number, WIRE_VARINT);
	add_varint(out, (uint64_t)n);
}

static void put_number(struct buf *out, uint32_t number, const struct json *v)
{
	unsigned char bytes[8];
	double f = 0;
	uint64_t bits;

	if (!json_f64(v, &f))
		return;
	memcpy(&bits, &f, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(bits >> (8 * i));
	add_tag(out, number, WIRE_FIXED64);
	(void)buf_add(out, bytes, sizeof(bytes));
}

static void put_texts(struct buf *out, uint32_t number, const struct json *v)
{
	JSON_FOREACH (e, v)
		openapi_proto_add_text(out, number, json_str(e));
}

/* Any{yaml(2)} */
static void put_any(struct buf *out, uint32_t number, const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1UL << 20);
	size_t mark = openapi_proto_begin(out, number);

	if (json_print(&text, v, NULL) < 0)
		out->overflow = true;
	openapi_proto_add_text(out, 2, buf_str(&text));
	openapi_proto_end(out, mark);
}

static void put_anys(struct buf *out, uint32_t number, const struct json *v)
{
	JSON_FOREACH (e, v)
		put_any(out, number, e);
}

/* NamedAny{name(1), value(2)} */
static void put_extension(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	openapi_proto_add_text(out, 1, json_key(v));
	put_any(out, 2, v);
	openapi_proto_end(out, mark);
}

/* --- messages ------------------------------------------------------------------------ */

static void put_members(struct buf *out, const struct message *m, const struct json *object)
{
	JSON_FOREACH (v, object) {
		size_t i = 0;

		while (i < m->n && !str_eq(m->members[i].key, json_key(v)))
			i++;
		if (i < m->n)
			m->members[i].put(out, m->members[i].number, v);
		else if (m->extensions && str_starts(json_key(v), STR("x-")))
			put_extension(out, m->extensions, v);
		/* Other members of a custom kind's schema have no field here. */
	}
}

static void put_message(struct buf *out, uint32_t number, const struct message *m,
			const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_members(out, m, v);
	openapi_proto_end(out, mark);
}

/* {name(1), value(2)} for each member, in the list `number`. */
static void put_named(struct buf *out, uint32_t number, const struct json *object, put_fn put)
{
	JSON_FOREACH (v, object) {
		size_t mark = openapi_proto_begin(out, number);

		openapi_proto_add_text(out, 1, json_key(v));
		put(out, 2, v);
		openapi_proto_end(out, mark);
	}
}

static void put_schema(struct buf *out, uint32_t number, const struct json *v);

/* TypeItem{value(1)} */
static void put_type(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	openapi_proto_add_text(out, 1, json_str(v));
	openapi_proto_end(out, mark);
}

/* ItemsItem{schema(1)}, AdditionalPropertiesItem{schema(1)}, SchemaItem{schema(1)} */
static void put_schema_item(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_schema(out, 1, v);
	openapi_proto_end(out, mark);
}

/* AdditionalPropertiesItem{schema(1) | boolean(2)} */
static void put_additional(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	if (json_is(v, JSON_BOOL))
		put_bool(out, 2, v);
	else
		put_schema(out, 1, v);
	openapi_proto_end(out, mark);
}

/* ExternalDocs{description(1), url(2)} */
static void put_docs(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("description"), 1, openapi_proto_put_text },
		{ KEY("url"), 2, openapi_proto_put_text },
	};
	static const struct message docs = MESSAGE(members, 3);

	put_message(out, number, &docs, v);
}

/* Properties{additional_properties(1)}, Definitions{additional_properties(1)} */
static void put_schemas(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_named(out, 1, v, put_schema);
	openapi_proto_end(out, mark);
}

static void put_schema(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("$ref"), 1, openapi_proto_put_text },
		{ KEY("format"), 2, openapi_proto_put_text },
		{ KEY("title"), 3, openapi_proto_put_text },
		{ KEY("description"), 4, openapi_proto_put_text },
		{ KEY("default"), 5, put_any },
		{ KEY("multipleOf"), 6, put_number },
		{ KEY("maximum"), 7, put_number },
		{ KEY("exclusiveMaximum"), 8, put_bool },
		{ KEY("minimum"), 9, put_number },
		{ KEY("exclusiveMinimum"), 10, put_bool },
		{ KEY("maxLength"), 11, put_count },
		{ KEY("minLength"), 12, put_count },
		{ KEY("pattern"), 13, openapi_proto_put_text },
		{ KEY("maxItems"), 14, put_count },
		{ KEY("minItems"), 15, put_count },
		{ KEY("uniqueItems"), 16, put_bool },
		{ KEY("maxProperties"), 17, put_count },
		{ KEY("minProperties"), 18, put_count },
		{ KEY("required"), 19, put_texts },
		{ KEY("enum"), 20, put_anys },
		{ KEY("additionalProperties"), 21, put_additional },
		{ KEY("type"), 22, put_type },
		{ KEY("items"), 23, put_schema_item },
		{ KEY("properties"), 25, put_schemas },
		{ KEY("externalDocs"), 28, put_docs },
		{ KEY("example"), 29, put_any },
	};
	static const struct message schema = MESSAGE(members, 31);

	put_message(out, number, &schema, v);
}

/* ParametersItem{parameter(1){body_parameter(1) | non_body_parameter(2){query(3) | path(4)}}} */
static void put_parameter(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member of_body[] = {
		{ KEY("name"), 2, openapi_proto_put_text },
		{ KEY("in"), 3, openapi_proto_put_text },
		{ KEY("required"), 4, put_bool },
		{ KEY("schema"), 5, put_schema },
	};
	static const struct member of_query[] = {
		{ KEY("required"), 1, put_bool },
		{ KEY("in"), 2, openapi_proto_put_text },
		{ KEY("name"), 4, openapi_proto_put_text },
		{ KEY("type"), 6, openapi_proto_put_text },
		{ KEY("uniqueItems"), 20, put_bool },
	};
	static const struct member of_path[] = {
		{ KEY("required"), 1, put_bool },
		{ KEY("in"), 2, openapi_proto_put_text },
		{ KEY("name"), 4, openapi_proto_put_text },
		{ KEY("type"), 5, openapi_proto_put_text },
		{ KEY("uniqueItems"), 19, put_bool },
	};
	static const struct message body = MESSAGE(of_body, 0), query = MESSAGE(of_query, 0),
				    path = MESSAGE(of_path, 0);
	struct str in = json_text_at(v, "in");
	size_t item = openapi_proto_begin(out, number), parameter = openapi_proto_begin(out, 1),
	       inner;

	if (str_eqz(in, "body")) {
		put_message(out, 1, &body, v);
	} else {
		inner = openapi_proto_begin(out, 2);
		if (str_eqz(in, "path"))
			put_message(out, 4, &path, v);
		else
			put_message(out, 3, &query, v);
		openapi_proto_end(out, inner);
	}
	openapi_proto_end(out, parameter);
	openapi_proto_end(out, item);
}

static void put_parameters(struct buf *out, uint32_t number, const struct json *v)
{
	JSON_FOREACH (e, v)
		put_parameter(out, number, e);
}

/* ResponseValue{response(1)} */
static void put_response(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("description"), 1, openapi_proto_put_text },
		{ KEY("schema"), 2, put_schema_item },
	};
	static const struct message response = MESSAGE(members, 5);
	size_t mark = openapi_proto_begin(out, number);

	put_message(out, 1, &response, v);
	openapi_proto_end(out, mark);
}

/* Responses{response_code(1)} */
static void put_responses(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_named(out, 1, v, put_response);
	openapi_proto_end(out, mark);
}

static void put_operation(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("tags"), 1, put_texts },
		{ KEY("description"), 3, openapi_proto_put_text },
		{ KEY("operationId"), 5, openapi_proto_put_text },
		{ KEY("produces"), 6, put_texts },
		{ KEY("consumes"), 7, put_texts },
		{ KEY("parameters"), 8, put_parameters },
		{ KEY("responses"), 9, put_responses },
		{ KEY("schemes"), 10, put_texts },
	};
	static const struct message operation = MESSAGE(members, 13);

	put_message(out, number, &operation, v);
}

static void put_path(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("get"), 2, put_operation },   { KEY("put"), 3, put_operation },
		{ KEY("post"), 4, put_operation },  { KEY("delete"), 5, put_operation },
		{ KEY("patch"), 8, put_operation }, { KEY("parameters"), 9, put_parameters },
	};
	static const struct message path = MESSAGE(members, 10);

	put_message(out, number, &path, v);
}

/* Paths{path(2)} */
static void put_paths(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_named(out, 2, v, put_path);
	openapi_proto_end(out, mark);
}

static void put_info(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("title"), 1, openapi_proto_put_text },
		{ KEY("version"), 2, openapi_proto_put_text },
	};
	static const struct message info = MESSAGE(members, 7);

	put_message(out, number, &info, v);
}

/* SecurityDefinitionsItem{api_key_security(2)} */
static void put_api_key(struct buf *out, uint32_t number, const struct json *v)
{
	static const struct member members[] = {
		{ KEY("type"), 1, openapi_proto_put_text },
		{ KEY("name"), 2, openapi_proto_put_text },
		{ KEY("in"), 3, openapi_proto_put_text },
		{ KEY("description"), 4, openapi_proto_put_text },
	};
	static const struct message key = MESSAGE(members, 5);
	size_t mark = openapi_proto_begin(out, number);

	put_message(out, 2, &key, v);
	openapi_proto_end(out, mark);
}

static void put_security_definitions(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_named(out, 1, v, put_api_key);
	openapi_proto_end(out, mark);
}

/* StringArray{value(1)} */
static void put_text_array(struct buf *out, uint32_t number, const struct json *v)
{
	size_t mark = openapi_proto_begin(out, number);

	put_texts(out, 1, v);
	openapi_proto_end(out, mark);
}

/* SecurityRequirement{additional_properties(1)} for each */
static void put_security(struct buf *out, uint32_t number, const struct json *v)
{
	JSON_FOREACH (e, v) {
		size_t mark = openapi_proto_begin(out, number);

		put_named(out, 1, e, put_text_array);
		openapi_proto_end(out, mark);
	}
}

int openapi_v2_to_protobuf(const struct json *document, struct buf *out)
{
	static const struct member members[] = {
		{ KEY("swagger"), 1, openapi_proto_put_text },
		{ KEY("info"), 2, put_info },
		{ KEY("paths"), 8, put_paths },
		{ KEY("definitions"), 9, put_schemas },
		{ KEY("security"), 12, put_security },
		{ KEY("securityDefinitions"), 13, put_security_definitions },
	};
	static const struct message message = MESSAGE(members, 16);

	put_members(out, &message, document);
	return out->overflow ? -ERR_TOO_LARGE : 0;
}
