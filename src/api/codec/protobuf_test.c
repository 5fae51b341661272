/*
 * Recorded bodies of kubectl, next to the JSON that it prints of the same objects; and hand-made
 * messages for what kubectl does not send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/codec/decode.h"
#include "api/codec/protobuf.h"
#include "api/codec/protobuf_frame.h"
#include "api/codec/protobuf_wire.h"
#include "base/core/limits.h"
#include "base/system/file.h"

struct fixture {
	struct arena arena;
	struct buf text; /* the last thing printed */
	struct error err;
	size_t unknown;
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	arena_init(&x->arena, 64 * MIB);
	buf_init(&x->text, 16 * MIB);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	arena_release(&x->arena);
	buf_release(&x->text);
	free(x);
	return 0;
}

static struct str read_case(struct fixture *x, const char *name, const char *ending)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	const char *path = arena_printf(&x->arena, "%s/protobuf/%s.%s", API_CASES, name, ending);

	if (file_read(path, &b, &x->err) < 0)
		fail_msg("%s", x->err.msg);
	return arena_str(&x->arena, buf_str(&b));
}

static const struct schema_type *type_of(const char *openapi)
{
	const struct schema_type *t = schema_type_find(str_from(openapi));

	assert_non_null(t);
	return t;
}

/* Returns the message as a printed tree, or the error message. */
static const char *decoded(struct fixture *x, const char *openapi, struct str message)
{
	struct json *v;

	if (protobuf_decode(&x->arena, type_of(openapi), message, &x->unknown, &v, &x->err) < 0)
		return x->err.msg;
	buf_clear(&x->text);
	assert_int_equal(json_print(&x->text, v, NULL), 0);
	return x->text.p;
}

/* --- recorded --------------------------------------------------------------------- */

static void check_recorded(struct fixture *x, const char *name)
{
	const struct schema_kind *kind;
	struct protobuf_envelope e;
	struct json *sent, *printed;
	struct str body = read_case(x, name, "bin");

	assert_int_equal(protobuf_open(body, &e, &x->err), 0);
	kind = schema_find_kind(e.api_version, e.kind);
	assert_non_null(kind);
	assert_int_equal(protobuf_decode_body(&x->arena, kind, body, &x->unknown, &sent, &x->err),
			 0);
	assert_int_equal(x->unknown, 0);
	assert_int_equal(decode_fit(&x->arena, sent, kind->type, NULL, &x->err), 0);
	assert_int_equal(json_parse(&x->arena, read_case(x, name, "json"), NULL, &printed, NULL),
			 0);
	assert_int_equal(decode_fit(&x->arena, printed, kind->type, NULL, &x->err), 0);
	if (json_equal(sent, printed))
		return;
	(void)json_print(&x->text, sent, NULL);
	(void)buf_addc(&x->text, '\n');
	(void)json_print(&x->text, printed, NULL);
	fail_msg("%s:\n%s", name, x->text.p);
}

static void kubectls_bodies_decode_to_the_objects_that_it_prints(void **state)
{
	static const char *const names[] = {
		"clusterrole", "configmap", "cronjob", "deployment",     "ingress",
		"job",         "namespace", "pdb",     "priorityclass",  "quota",
		"role",        "secret",    "service", "serviceaccount", "rolebinding",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_recorded(*state, names[i]);
}

static void options_of_a_deletion_are_understood(void **state)
{
	struct fixture *x = *state;
	struct json *v;
	int64_t grace = -1;

	assert_int_equal(protobuf_decode_body(&x->arena, schema_kind_of(schema_delete_options()),
					      read_case(x, "deleteoptions", "bin"), NULL, &v, NULL),
			 0);
	assert_true(str_eqz(json_text_at(v, "kind"), "DeleteOptions"));
	assert_true(json_i64(json_getz(v, "gracePeriodSeconds"), &grace));
	assert_int_equal(grace, 0);
}

static struct str made_again(struct fixture *x, const char *name, bool fit, struct buf *out)
{
	struct str body = read_case(x, name, "bin");
	const struct schema_kind *kind;
	struct protobuf_envelope e;
	struct json *v;

	assert_int_equal(protobuf_open(body, &e, &x->err), 0);
	kind = schema_find_kind(e.api_version, e.kind);
	assert_int_equal(protobuf_decode_body(&x->arena, kind, body, NULL, &v, &x->err), 0);
	if (fit)
		assert_int_equal(decode_fit(&x->arena, v, kind->type, NULL, &x->err), 0);
	assert_int_equal(protobuf_encode_object(kind, v, out, &x->err), 0);
	return buf_str(out);
}

static void a_body_is_made_again_but_for_its_zero_values(void **state)
{
	struct fixture *x = *state;
	CLEANUP(buf_release) struct buf options = BUF_INIT(MIB), map = BUF_INIT(MIB);

	assert_true(str_eq(made_again(x, "deleteoptions", false, &options),
			   read_case(x, "deleteoptions", "bin")));
	assert_true(str_eq(made_again(x, "configmap", true, &map),
			   STR("k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
			       "ConfigMap\x12\x1a\x0a\x05\x0a\x03"
			       "box\x12\x06\x0a\x01"
			       "a\x12\x01"
			       "1\x12\x09\x0a\x01"
			       "b\x12\x04zwei\x1a\x00\x22\x00")));
}

/* --- values by hand --------------------------------------------------------------- */

#define META    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#define CORE(t) "io.k8s.api.core.v1." t

static void times_are_text(void **state)
{
	assert_string_equal(decoded(*state, META, STR("\x42\x06\x08\xf0\x89\xf9\xad\x06")),
			    "{\"creationTimestamp\":\"2024-02-03T13:51:44Z\"}");
	/* Nanoseconds of a Time are ignored; an empty Time is null. */
	assert_string_equal(decoded(*state, META, STR("\x42\x05\x08\x00\x10\xff\x07")),
			    "{\"creationTimestamp\":\"1970-01-01T00:00:00Z\"}");
	assert_string_equal(decoded(*state, META, STR("\x42\x00")), "{\"creationTimestamp\":null}");
	assert_string_equal(
		decoded(*state, META, STR("\x42\x0b\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01")),
		"{\"creationTimestamp\":null}");
	assert_string_equal(
		decoded(*state, META, STR("\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f")),
		"field creationTimestamp is a time out of range");
	assert_string_equal(decoded(*state, "io.k8s.api.coordination.v1.LeaseSpec",
				    STR("\x22\x05\x08\x01\x10\xdc\x0b")),
			    "{\"renewTime\":\"1970-01-01T00:00:01.000001Z\"}");
}

static void numbers_or_text_become_what_they_are(void **state)
{
	assert_string_equal(
		decoded(*state, CORE("ServicePort"), STR("\x22\x06\x08\x00\x10\x50\x1a\x00")),
		"{\"targetPort\":80}");
	assert_string_equal(
		decoded(*state, CORE("ServicePort"), STR("\x22\x09\x08\x01\x10\x00\x1a\x03web")),
		"{\"targetPort\":\"web\"}");
	assert_string_equal(decoded(*state, CORE("ServicePort"), STR("\x22\x00")),
			    "{\"targetPort\":0}");
	assert_string_equal(decoded(*state, CORE("ServicePort"), STR("\x22\x02\x08\x02")),
			    "impossible IntOrString.Type");
	/* -1, in ten bytes. */
	assert_string_equal(decoded(*state, CORE("ServicePort"),
				    STR("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
			    "{\"port\":-1}");
	/* Only the lower half of an int32 counts. */
	assert_string_equal(decoded(*state, CORE("ServicePort"), STR("\x18\xd0\x80\x80\x80\x10")),
			    "{\"port\":80}");
}

static void lists_of_numbers_may_be_packed(void **state)
{
	assert_string_equal(decoded(*state, CORE("PodSecurityContext"),
				    STR("\x20\x01\x22\x03\x02\xac\x02\x20\x03")),
			    "{\"supplementalGroups\":[1,2,300,3]}");
	assert_string_equal(decoded(*state, CORE("PodSecurityContext"), STR("\x22\x01\x80")),
			    "unexpected EOF");
}

static void maps_have_each_name_once(void **state)
{
	static const char long_one[] = "\x12\x06\x0a\x01"
				       "a\x12\x01"
				       "1"
				       "\x12\x06\x0a\x01"
				       "b\x12\x01"
				       "2"
				       "\x12\x06\x0a\x01"
				       "a\x12\x01"
				       "3"
				       "\x12\x02\x12\x00"
				       "\x12\x00";

	assert_string_equal(decoded(*state, CORE("ConfigMap"), STR("\x12\x03\x0a\x01x")),
			    "{\"data\":{\"x\":\"\"}}");
	assert_string_equal(
		decoded(*state, CORE("ConfigMap"), str_of(long_one, sizeof(long_one) - 1)),
		"{\"data\":{\"a\":\"3\",\"b\":\"2\",\"\":\"\"}}");
	assert_string_equal(decoded(*state, CORE("ResourceQuotaSpec"),
				    STR("\x0a\x05\x0a\x03"
					"cpu")),
			    "{\"hard\":{\"cpu\":\"0\"}}");
	assert_string_equal(decoded(*state, "io.k8s.api.authentication.v1.UserInfo",
				    STR("\x22\x0b\x0a\x01k\x12\x06\x0a\x01"
					"a\x0a\x01"
					"b\x22\x03\x0a\x01n")),
			    "{\"extra\":{\"k\":[\"a\",\"b\"],\"n\":[]}}");
}

static void bytes_are_base64(void **state)
{
	assert_string_equal(
		decoded(*state, CORE("Secret"), STR("\x12\x07\x0a\x01k\x12\x02\xff\xfe")),
		"{\"data\":{\"k\":\"//4=\"}}");
}

static void inlined_messages_are_flat(void **state)
{
	/* name, then VolumeSource{emptyDir{medium}} */
	assert_string_equal(
		decoded(*state, CORE("Volume"), STR("\x0a\x01v\x12\x05\x12\x03\x0a\x01m")),
		"{\"name\":\"v\",\"emptyDir\":{\"medium\":\"m\"}}");
	/* RuleWithOperations in NamedRuleWithOperations, and Rule in that. */
	assert_string_equal(
		decoded(*state, "io.k8s.api.admissionregistration.v1.NamedRuleWithOperations",
			STR("\x0a\x01n\x12\x08\x0a\x01*\x12\x03\x0a\x01g")),
		"{\"resourceNames\":[\"n\"],\"operations\":[\"*\"],\"apiGroups\":[\"g\"]}");
}

static void messages_that_come_again_are_merged(void **state)
{
	assert_string_equal(decoded(*state, CORE("ConfigMap"),
				    STR("\x0a\x03\x0a\x01"
					"a\x0a\x03\x1a\x01n\x0a\x03\x0a\x01"
					"b")),
			    "{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\"}}");
}

#define CRD(t) "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1." t

static void a_crds_schema_has_its_forms(void **state)
{
	assert_string_equal(decoded(*state, CRD("JSONSchemaProps"),
				    STR("\x42\x05\x0a\x03[1]\xf2\x01\x02\x08\x01")),
			    "{\"default\":[1],\"additionalProperties\":true}");
	assert_string_equal(
		decoded(*state, CRD("JSONSchemaProps"), STR("\xc2\x01\x04\x0a\x02\x2a\x00")),
		"{\"items\":{\"type\":\"\"}}");
	assert_string_equal(decoded(*state, CRD("JSONSchemaProps"), STR("\xc2\x01\x02\x12\x00")),
			    "{\"items\":[{}]}");
	assert_string_equal(decoded(*state, CRD("JSONSchemaProps"),
				    STR("\x49\x00\x00\x00\x00\x00\x00\xf8\x3f")),
			    "{\"maximum\":1.5}");
	assert_string_equal(decoded(*state, CRD("JSONSchemaProps"),
				    STR("\x49\x00\x00\x00\x00\x00\x00\xf0\x7f")),
			    "field maximum is not a finite number");
	assert_string_equal(decoded(*state, CRD("JSONSchemaProps"), STR("\x42\x04\x0a\x02{x")),
			    "field default: line 1, column 2 (byte 1): expected a name in double "
			    "quotes, found 'x'");
}

static void unknown_fields_are_counted(void **state)
{
	struct fixture *x = *state;

	assert_string_equal(decoded(x, CORE("ConfigMap"),
				    STR("\xf8\x07\x01\x0a\x06\x0a\x01"
					"a\x98\x07\x01\xfb\x07\xfc\x07")),
			    "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(x->unknown, 3);
}

static void a_message_that_does_not_fit_its_kind_is_rejected(void **state)
{
	assert_string_equal(decoded(*state, META, STR("\x08\x01")),
			    "proto: wrong wireType = 0 for field Name");
	assert_string_equal(decoded(*state, META, STR("\x0a\x01\xff")),
			    "field name contains text that is not UTF-8");
	assert_string_equal(decoded(*state, CORE("ConfigMap"),
				    STR("\x0a\x05\x0a\x01"
					"a")),
			    "unexpected EOF");
	assert_string_equal(decoded(*state, CORE("Volume"), STR("\x10\x01")),
			    "proto: wrong wireType = 0 for field HostPath");
}

static void nesting_has_an_end(void **state)
{
	struct fixture *x = *state;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), outer = BUF_INIT(MIB);
	enum { NOT = 28 };

	for (size_t i = 1; i < OBJECT_DEPTH_MAX; i++) {
		buf_clear(&outer);
		wire_put_bytes(&outer, NOT, buf_str(&b));
		buf_clear(&b);
		(void)buf_add_str(&b, buf_str(&outer));
	}
	assert_int_equal(decoded(x, CRD("JSONSchemaProps"), buf_str(&b))[0], '{');
	buf_clear(&outer);
	wire_put_bytes(&outer, NOT, buf_str(&b));
	assert_string_equal(decoded(x, CRD("JSONSchemaProps"), buf_str(&outer)),
			    "exceeded max depth");
}

static void memory_has_an_end(void **state)
{
	CLEANUP(arena_release) struct arena small;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct error err;
	struct json *v;

	arena_init(&small, MIB);
	for (int i = 0; i < 100000; i++)
		(void)buf_add(&b, "\x12\x00", 2);
	assert_int_equal(
		protobuf_decode(&small, type_of(CORE("ConfigMap")), buf_str(&b), NULL, &v, &err),
		-ERR_TOO_LARGE);
}

/* --- bodies ----------------------------------------------------------------------- */

static void an_invalid_body_is_rejected_with_upstreams_message(void **state)
{
	static const struct {
		struct str body;
		const char *why;
	} rows[] = {
		{ { "", 0 }, "empty data" },
		{ { "k8s", 3 },
		  "provided data does not appear to be a protobuf message, expected prefix "
		  "[107 56 115 0]" },
		{ { "{\"kind\":1}", 10 },
		  "provided data does not appear to be a protobuf message, expected prefix "
		  "[107 56 115 0]" },
		{ { "k8s\0", 4 }, "empty body" },
		{ { "k8s\0\x0a", 5 }, "unexpected EOF" },
		{ { "k8s\0\x08\x01", 6 }, "proto: wrong wireType = 0 for field TypeMeta" },
		{ { "k8s\0\x1a\x04gzip", 10 },
		  "the body has a contentEncoding, which is not supported; send it without one" },
	};
	struct protobuf_envelope e;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(protobuf_open(rows[i].body, &e, &err), -ERR_BAD_REQUEST);
		assert_string_equal(err.msg, rows[i].why);
	}
}

static const char *decoded_body(struct fixture *x, struct str body)
{
	const struct schema_kind *kind = schema_find_kind(STR("v1"), STR("ConfigMap"));
	struct json *v = NULL;
	int r = decode_body(&x->arena, body, DECODE_PROTOBUF, kind, NULL, &v, &x->err);

	if (r < 0) {
		(void)decode_wrap(&x->err, r, kind, v, body);
		return x->err.msg;
	}
	buf_clear(&x->text);
	assert_int_equal(json_print(&x->text, v, NULL), 0);
	return x->text.p;
}

static void a_body_may_leave_its_kind_to_the_path(void **state)
{
	assert_string_equal(decoded_body(*state, STR("k8s\0\x12\x05\x0a\x03\x0a\x01"
						     "a")),
			    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
			    "\"metadata\":{\"name\":\"a\"}}");
}

static void a_body_of_an_unknown_kind_says_what_it_is(void **state)
{
	assert_string_equal(decoded_body(*state, STR("k8s\0\x0a\x0a\x0a\x02v1\x12\x04"
						     "Blob\x12\x02\x0a\x01")),
			    "{\"apiVersion\":\"v1\",\"kind\":\"Blob\"}");
}

static void a_body_may_hold_json(void **state)
{
	struct fixture *x = *state;

	assert_string_equal(
		decoded_body(x, STR("k8s\0\x12\x13{\"data\":{\"a\":\"1\"}} \x22\x10"
				    "application/json")),
		"{\"data\":{\"a\":\"1\"},\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}");
	assert_string_equal(decoded_body(x, STR("k8s\0\x12\x02[]\x22\x10"
						"application/json")),
			    "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: the "
			    "body's content is not an object");
}

static void a_broken_body_is_told_as_upstream_does(void **state)
{
	assert_string_equal(decoded_body(*state, STR("k8s\0\x12\x02\x0a\x05")),
			    "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: "
			    "unexpected EOF");
	assert_string_equal(decoded_body(*state, STR("k8s\0")),
			    "the object provided is unrecognized (must be of type ConfigMap): "
			    "empty body (6b387300)");
}

/* --- encoding --------------------------------------------------------------------- */

/*
 * By hand: magic; field 1 of the envelope, 9 bytes: apiVersion (1) "v1" and kind (2)
 * "Pod"; field 2, the message; fields 3 and 4, empty.
 */
#define POD_ANSWER                               \
	STR("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod" \
	    "\x12\x02\x0a\x00\x1a\x00\x22\x00")

static void an_answer_is_an_envelope_around_a_message(void **state)
{
	const struct protobuf_frame f = { .api_version = STR("v1"), .kind = STR("Pod") };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	assert_int_equal(protobuf_frame_add(&f, STR("\x0a\x00"), &b), 0);
	assert_true(str_eq(buf_str(&b), POD_ANSWER));
	assert_int_equal(protobuf_frame_size(&f, 2), POD_ANSWER.n);
	assert_int_equal(protobuf_head_size(&f, 2), POD_ANSWER.n - 2 - PROTOBUF_TAIL.n);
}

/* Length 0x22; type (1), 5 bytes; object (2), 0x19 bytes, in it raw (1), the answer's 0x17. */
static void an_event_is_a_frame_around_a_whole_answer(void **state)
{
	const struct protobuf_frame f = { .event = STR("ADDED"),
					  .api_version = STR("v1"),
					  .kind = STR("Pod") };
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	assert_int_equal(protobuf_frame_add(&f, STR("\x0a\x00"), &b), 0);
	assert_int_equal(b.n, 4 + 7 + 4 + POD_ANSWER.n);
	assert_memory_equal(b.p,
			    "\0\0\0\x22\x0a\x05"
			    "ADDED\x12\x19\x0a\x17",
			    15);
	assert_memory_equal(b.p + 15, POD_ANSWER.p, POD_ANSWER.n);
}

/* Every length at which a varint becomes one byte longer. */
static void lengths_are_right_wherever_they_grow(void **state)
{
	static const size_t sizes[] = {
		0, 100, 101, 126, 127, 128, 16383, 16384, 2097151, 2097152
	};
	const struct protobuf_frame f = { .event = STR("MODIFIED"),
					  .api_version = STR("v1"),
					  .kind = STR("Pod") };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);
		char *message = calloc(1, sizes[i] + 1);
		struct wire_field w;
		struct protobuf_envelope e;
		struct str rest;

		assert_int_equal(protobuf_frame_add(&f, str_of(message, sizes[i]), &b), 0);
		rest = str_skip(buf_str(&b), 4);
		assert_int_equal(rest.n, (size_t)(unsigned char)b.p[1] << 16 |
						 (size_t)(unsigned char)b.p[2] << 8 |
						 (unsigned char)b.p[3]);
		assert_int_equal(wire_next(&rest, &w, NULL), 1);
		assert_int_equal(wire_next(&rest, &w, NULL), 1);
		assert_int_equal(rest.n, 0);
		assert_int_equal(wire_next(&w.bytes, &w, NULL), 1);
		assert_int_equal(protobuf_open(w.bytes, &e, NULL), 0);
		assert_int_equal(e.message.n, sizes[i]);
		free(message);
	}
}

static void maps_are_written_in_the_order_of_their_names(void **state)
{
	struct fixture *x = *state;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json *v;

	assert_int_equal(
		json_parse(&x->arena, STR("{\"data\":{\"b\":\"2\",\"a\":\"1\"}}"), NULL, &v, NULL),
		0);
	assert_int_equal(protobuf_encode(type_of(CORE("ConfigMap")), v, &b, NULL), 0);
	assert_true(str_eq(buf_str(&b), STR("\x12\x06\x0a\x01"
					    "a\x12\x01"
					    "1\x12\x06\x0a\x01"
					    "b\x12\x01"
					    "2")));
}

static void a_tree_that_does_not_fit_is_not_encoded(void **state)
{
	static const char *const texts[] = {
		"{\"metadata\":1}",
		"{\"data\":[]}",
		"{\"data\":{\"a\":1}}",
		"{\"binaryData\":{\"a\":\"!\"}}",
		"{\"immutable\":\"x\"}",
		"{\"metadata\":{\"creationTimestamp\":\"x\"}}",
		"{\"metadata\":{\"finalizers\":{}}}",
		"{\"metadata\":{\"generation\":1.5}}",
	};
	struct fixture *x = *state;
	struct json *v;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

		assert_int_equal(json_parse(&x->arena, str_from(texts[i]), NULL, &v, NULL), 0);
		if (protobuf_encode(type_of(CORE("ConfigMap")), v, &b, &x->err) != -ERR_INTERNAL)
			fail_msg("%s", texts[i]);
	}
}

static void an_object_larger_than_its_buffer_is_told(void **state)
{
	struct fixture *x = *state;
	CLEANUP(buf_release) struct buf b = BUF_INIT(40);
	const struct schema_kind *kind = schema_find_kind(STR("v1"), STR("ConfigMap"));
	struct json *v;

	assert_int_equal(
		json_parse(&x->arena, STR("{\"data\":{\"b\":\"0123456789\"}}"), NULL, &v, NULL), 0);
	assert_int_equal(protobuf_encode_object(kind, v, &b, &x->err), -ERR_TOO_LARGE);
	assert_string_equal(x->err.msg, "the object takes more than 40 bytes");
}

#define UNIT(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(kubectls_bodies_decode_to_the_objects_that_it_prints),
		UNIT(options_of_a_deletion_are_understood),
		UNIT(a_body_is_made_again_but_for_its_zero_values),
		UNIT(times_are_text),
		UNIT(numbers_or_text_become_what_they_are),
		UNIT(lists_of_numbers_may_be_packed),
		UNIT(maps_have_each_name_once),
		UNIT(bytes_are_base64),
		UNIT(inlined_messages_are_flat),
		UNIT(messages_that_come_again_are_merged),
		UNIT(a_crds_schema_has_its_forms),
		UNIT(unknown_fields_are_counted),
		UNIT(a_message_that_does_not_fit_its_kind_is_rejected),
		UNIT(nesting_has_an_end),
		UNIT(memory_has_an_end),
		UNIT(an_invalid_body_is_rejected_with_upstreams_message),
		UNIT(a_body_may_leave_its_kind_to_the_path),
		UNIT(a_body_of_an_unknown_kind_says_what_it_is),
		UNIT(a_body_may_hold_json),
		UNIT(a_broken_body_is_told_as_upstream_does),
		UNIT(an_answer_is_an_envelope_around_a_message),
		UNIT(an_event_is_a_frame_around_a_whole_answer),
		UNIT(lengths_are_right_wherever_they_grow),
		UNIT(maps_are_written_in_the_order_of_their_names),
		UNIT(a_tree_that_does_not_fit_is_not_encoded),
		UNIT(an_object_larger_than_its_buffer_is_told),
	};

	return cmocka_run_group_tests_name("api/protobuf", tests, NULL, NULL);
}
