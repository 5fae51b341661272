/*
 * Objects' protobuf: its bytes, that it is made once, and that of a later revision.
 */
#include "api/object/message.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/protobuf.h"

static const struct schema_kind *kind_of(const char *api_version, const char *kind)
{
	const struct schema_kind *k = schema_find_kind(str_from(api_version), str_from(kind));

	assert_non_null(k);
	return k;
}

static struct object *made(const struct schema_kind *kind, const char *text, int64_t revision)
{
	struct gates gates;
	struct object *o = NULL;
	struct error err = { 0 };

	gates_init(&gates);
	if (object_new(kind, str_from(text), revision, &gates, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return o;
}

/*
 * By hand. metadata is field 1: 0a; in it name (1) 0a 01 61, resourceVersion (6)
 * 32 01 35. data is field 2, a map: 12; its entry is key (1) and value (2).
 */
#define META_5                 \
	STR("\x0a\x06\x0a\x01" \
	    "a\x32\x01"        \
	    "5")
#define MAP_5                   \
	STR("\x0a\x06\x0a\x01"  \
	    "a\x32\x01"         \
	    "5\x12\x06\x0a\x01" \
	    "k\x12\x01"         \
	    "v")
#define MAP_123                   \
	STR("\x0a\x08\x0a\x01"    \
	    "a\x32\x03"           \
	    "123\x12\x06\x0a\x01" \
	    "k\x12\x01"           \
	    "v")

static const char map[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			  "\"a\"},\"data\":{\"k\":\"v\"}}";

static void it_has_the_object_with_its_resource_version(void **state)
{
	const struct schema_kind *kind = kind_of("v1", "ConfigMap");
	struct object *o = made(kind, map, 5);

	assert_true(str_eq(bytes_str(object_message(o, kind)), MAP_5));
	object_unref(o);
}

static void it_is_made_once(void **state)
{
	const struct schema_kind *kind = kind_of("v1", "ConfigMap");
	struct object *o = made(kind, map, 5);
	size_t weight = object_weight(o);
	struct bytes *first;

	assert_null(object_message_made(o));
	first = object_message(o, kind);
	assert_ptr_equal(object_message(o, kind), first);
	assert_ptr_equal(object_message_made(o), first);
	assert_int_equal(object_weight(o), weight + first->n);
	object_unref(o);
}

enum { THREADS = 8 };

static void *ask(void *object)
{
	return object_message(object, kind_of("v1", "ConfigMap"));
}

static void concurrent_callers_get_the_same_message(void **state)
{
	for (int round = 0; round < 50; round++) {
		struct object *o = made(kind_of("v1", "ConfigMap"), map, 5);
		pthread_t threads[THREADS];
		void *got;

		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, ask, o), 0);
		for (int i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(threads[i], &got), 0);
			assert_ptr_equal(got, object_message_made(o));
		}
		object_unref(o);
	}
}

static void a_later_revision_has_its_own(void **state)
{
	const struct schema_kind *kind = kind_of("v1", "ConfigMap");
	struct object *o = made(kind, map, 5), *later;

	(void)object_message(o, kind);
	later = object_at(o, 123);
	assert_null(object_message_made(later));
	assert_true(str_eq(bytes_str(object_message(later, kind)), MAP_123));
	assert_true(str_eq(bytes_str(object_message(o, kind)), MAP_5));
	object_unref(o);
	object_unref(later);
}

static void its_beginning_is_its_metadata(void **state)
{
	const struct schema_kind *kind = kind_of("v1", "ConfigMap");
	struct object *o = made(kind, map, 5);
	struct bytes *message = object_message(o, kind);

	assert_int_equal(object_message_meta_size(message), META_5.n);
	assert_memory_equal(message->data, META_5.p, META_5.n);
	object_unref(o);
}

/* The type has no numbers, like that of a custom resource. */
static void without_protobuf_there_is_the_metadata_alone(void **state)
{
	static const struct schema_field fields[] = { { .name = STR("metadata"),
							.value = SCHEMA_OBJECT } };
	static const struct schema_type type = { .name = STR("Thing"),
						 .fields = fields,
						 .nfields = 1 };
	static const struct schema_kind thing = { .version = STR("v1"),
						  .kind = STR("Thing"),
						  .storage_name = STR("example.com/things"),
						  .type = &type,
						  .storage = &thing };
	struct object *o = made(&thing, map, 5);

	assert_false(protobuf_has_kind(&thing));
	assert_true(str_eq(bytes_str(object_message(o, &thing)), META_5));
	object_unref(o);
}

static void fields_that_do_not_fit_the_kind_are_left_out(void **state)
{
	const struct schema_kind *kind = kind_of("v1", "ConfigMap");
	struct object *o = made(kind,
				"{\"metadata\":{\"name\":\"a\"},\"immutable\":\"yes\","
				"\"data\":{\"k\":\"v\"},\"binaryData\":7}",
				5);

	assert_true(str_eq(bytes_str(object_message(o, kind)), MAP_5));
	object_unref(o);
}

static void damaged_text_has_none(void **state)
{
	const struct schema_kind *kind = kind_of("v1", "ConfigMap");
	struct object *o = made(kind, "{\"metadata\":{\"name\":\"a\"},\"immutable\":tru}", 5);

	assert_null(object_message(o, kind));
	object_unref(o);
}

static void any_version_gives_that_of_the_storage(void **state)
{
	const struct schema_kind *old = kind_of("resource.k8s.io/v1beta1", "DeviceClass");
	struct object *o = made(old, "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}", 5);

	assert_true(str_eq(bytes_str(object_message(o, old)), STR("\x0a\x06\x0a\x01"
								  "a\x32\x01"
								  "5\x12\x00")));
	object_unref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_the_object_with_its_resource_version),
		cmocka_unit_test(it_is_made_once),
		cmocka_unit_test(concurrent_callers_get_the_same_message),
		cmocka_unit_test(a_later_revision_has_its_own),
		cmocka_unit_test(its_beginning_is_its_metadata),
		cmocka_unit_test(without_protobuf_there_is_the_metadata_alone),
		cmocka_unit_test(fields_that_do_not_fit_the_kind_are_left_out),
		cmocka_unit_test(damaged_text_has_none),
		cmocka_unit_test(any_version_gives_that_of_the_storage),
	};

	return cmocka_run_group_tests_name("api/object_message", tests, NULL, NULL);
}
