/*
 * Creation of objects of real kinds, and every reason to reject one.
 */
#include "api/write/write_fixture.h"

#define CONFIG_MAP "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\""

static void a_new_object_gets_what_the_server_sets(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(&f,
		       fixture_create(&f, "{" CONFIG_MAP ",\"metadata\":{\"name\":\"a\","
					  "\"uid\":\"mine\",\"generation\":9,\"selfLink\":\"/x\","
					  "\"deletionTimestamp\":\"2020-01-01T00:00:00Z\","
					  "\"deletionGracePeriodSeconds\":3},"
					  "\"data\":{\"k\":\"v\"}}"));
	assert_at(&f, f.out, "/metadata/namespace", "ns");
	assert_at(&f, f.out, "/metadata/creationTimestamp", "2026-01-02T00:00:00Z");
	assert_int_equal(strlen(fixture_at(&f, f.out, "/metadata/uid")), 36);
	assert_at(&f, f.out, "/metadata/generation", "");
	assert_at(&f, f.out, "/metadata/selfLink", "");
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "");
	assert_at(&f, f.out, "/metadata/deletionGracePeriodSeconds", "");
	assert_at(&f, f.out, "/metadata/managedFields/0/manager", "tester");
	assert_at(&f, f.out, "/metadata/managedFields/0/operation", "Update");
	assert_at(&f, f.out, "/data/k", "v");
	fixture_release(&f);
}

static void metadata_is_in_upstreams_order(void **state)
{
	static const char *const order[] = { "name",   "namespace",    "uid", "creationTimestamp",
					     "labels", "managedFields" };
	struct fixture f;
	size_t i = 0;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(&f, fixture_create(&f, "{\"metadata\":{\"labels\":{\"a\":\"b\"},"
					      "\"name\":\"a\"}}"));
	JSON_FOREACH (m, json_getz(f.out, "metadata"))
		assert_true(str_eqz(json_key(m), order[i++]));
	fixture_release(&f);
}

static void api_version_and_kind_may_be_left_out(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(&f, fixture_create(&f, "{\"metadata\":{\"name\":\"a\"}}"));
	assert_at(&f, f.out, "/apiVersion", "v1");
	assert_at(&f, f.out, "/kind", "ConfigMap");
	fixture_release(&f);
}

static void decode_fails(struct fixture *f, const char *body, const char *why)
{
	struct json *tree = NULL;

	fixture_again(f);
	assert_int_equal(write_decode(&f->w, str_from(body), DECODE_JSON, &tree, &f->err),
			 -ERR_BAD_REQUEST);
	if (!strstr(f->err.msg, why))
		fail_msg("said \"%s\", not \"%s\"", f->err.msg, why);
}

static void bodies_that_do_not_fit_are_refused(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	decode_fails(&f, "{\"apiVersion\":\"v2\",\"kind\":\"ConfigMap\"}",
		     "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind "
		     "\"ConfigMap\" is registered for version \"v2\"");
	decode_fails(&f, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\"}",
		     "Secret in version \"v1\" cannot be handled as a ConfigMap: converting "
		     "(v1.Secret) to (core.ConfigMap): unknown conversion");
	decode_fails(&f, "[]", "the object provided is unrecognized (must be of type ConfigMap)");
	decode_fails(&f, "{", "the object provided is unrecognized (must be of type ConfigMap)");
	decode_fails(&f, "{\"data\":{\"a\":1}}",
		     "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot "
		     "unmarshal number into Go struct field ConfigMap.data of type string");
	fixture_release(&f);
}

static void another_version_of_the_kind_is_told_apart(void **state)
{
	struct fixture f;

	fixture_init(&f, "resource.k8s.io", "v1", "deviceclasses");
	decode_fails(&f, "{\"apiVersion\":\"resource.k8s.io/v1beta2\",\"kind\":\"DeviceClass\"}",
		     "the API version in the data (resource.k8s.io/v1beta2) does not match the "
		     "expected API version (resource.k8s.io/v1)");
	fixture_release(&f);
}

static void unknown_fields_are_ignored_warned_of_or_refused(void **state)
{
	static const char body[] = "{\"metadata\":{\"name\":\"a\"},\"foo\":1}";
	struct fixture f;
	struct json *tree;

	fixture_init(&f, "", "v1", "configmaps");
	tree = fixture_body(&f, body);
	assert_null(json_getz(tree, "foo"));
	assert_non_null(f.w.warnings);
	assert_true(str_eqz(f.w.warnings->text, "unknown field \"foo\""));

	fixture_again(&f);
	f.w.options.field_validation = WRITE_IGNORE;
	(void)fixture_body(&f, body);
	assert_null(f.w.warnings);

	f.w.options.field_validation = WRITE_STRICT;
	decode_fails(
		&f, body,
		"ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
		"error: unknown field \"foo\"");
	fixture_release(&f);
}

static void another_namespace_is_refused(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_int_equal(
		fixture_create(&f, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}"),
		-ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg, "the namespace of the provided object does not match the "
				       "namespace sent on the request");
	fixture_release(&f);
}

static void a_cluster_object_loses_its_namespace(void **state)
{
	struct fixture f;

	fixture_init(&f, "resource.k8s.io", "v1", "deviceclasses");
	assert_written(&f,
		       fixture_create(&f, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\"}}"));
	assert_at(&f, f.out, "/metadata/namespace", "");
	assert_at(&f, f.out, "/metadata/generation", "1");
	fixture_release(&f);
}

static void a_resource_version_is_refused(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_int_equal(
		fixture_create(&f, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}"), 0);
	assert_null(json_getz(json_getz(f.out, "metadata"), "resourceVersion"));
	assert_int_equal(write_check_revision(&f.w, &f.err), -ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg,
			    "resourceVersion should not be set on objects to be created");
	fixture_release(&f);
}

static void an_object_without_a_name_is_invalid(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_int_equal(fixture_create(&f, "{}"), -ERR_INVALID);
	assert_string_equal(fixture_faults(&f),
			    "metadata.name: Required value: name or generateName is required");
	fixture_release(&f);
}

static void a_name_is_generated_and_can_be_generated_anew(void **state)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	struct fixture f;
	const char *first, *second;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(&f, fixture_create(&f, "{\"metadata\":{\"generateName\":\"web-\"}}"));
	first = fixture_at(&f, f.out, "/metadata/name");
	assert_int_equal(strlen(first), 9);
	assert_memory_equal(first, "web-", 4);
	assert_int_equal(strspn(first + 4, letters), 5);
	assert_true(str_eqz(f.w.generated_from, "web-"));
	write_rename(&f.w, f.out);
	second = fixture_at(&f, f.out, "/metadata/name");
	assert_int_equal(strlen(second), 9);
	assert_string_not_equal(first, second);
	fixture_release(&f);
}

static void a_long_generate_name_is_cut(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(
		&f, fixture_create(
			    &f, "{\"metadata\":{\"generateName\":\""
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"\"}}"));
	assert_int_equal(strlen(fixture_at(&f, f.out, "/metadata/name")), 63);
	fixture_release(&f);
}

static void a_given_name_wins_over_generate_name(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(&f, fixture_create(&f, "{\"metadata\":{\"name\":\"a\","
					      "\"generateName\":\"web-\"}}"));
	assert_at(&f, f.out, "/metadata/name", "a");
	assert_int_equal(f.w.generated_from.n, 0);
	fixture_release(&f);
}

static void repeated_owners_are_dropped_with_a_warning(void **state)
{
#define OWNER "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\"}"
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	assert_written(
		&f, fixture_create(&f, "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[" OWNER
				       "," OWNER "]}}"));
	assert_int_equal(json_count(json_pointer(f.out, STR("/metadata/ownerReferences"))), 1);
	assert_non_null(f.w.warnings);
	fixture_release(&f);
}

static void a_status_is_dropped(void **state)
{
	struct fixture f;

	fixture_init(&f, "resource.k8s.io", "v1", "resourceclaims");
	assert_written(&f, fixture_create(&f, "{\"metadata\":{\"name\":\"a\"},\"spec\":{},"
					      "\"status\":{\"reservedFor\":[{\"resource\":\"pods\","
					      "\"name\":\"p\",\"uid\":\"u\"}]}}"));
	assert_at(&f, f.out, "/status/reservedFor", "");
	fixture_release(&f);
}

static void put_of_what_is_not_there_needs_the_name_of_the_path(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "endpoints");
	f.w.name = STR("e");
	assert_int_equal(fixture_create(&f, "{\"metadata\":{\"name\":\"x\"}}"), -ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg, "the name of the object (x) does not match the name on the "
				       "URL (e)");
	fixture_release(&f);
}

static void an_older_version_is_stored_as_the_newest(void **state)
{
	struct fixture f;

	fixture_init(&f, "resource.k8s.io", "v1beta2", "deviceclasses");
	assert_written(&f, fixture_create(&f, "{\"apiVersion\":\"resource.k8s.io/v1beta2\","
					      "\"metadata\":{\"name\":\"a\"}}"));
	assert_at(&f, f.out, "/apiVersion", "resource.k8s.io/v1");
	write_from_storage(&f.arena, f.out, f.w.kind);
	assert_at(&f, f.out, "/apiVersion", "resource.k8s.io/v1beta2");
	fixture_release(&f);
}

/*
 * write_has_served_form() skips the schema if these are on, so no other gate may have served
 * fields.
 */
static void assert_gate_known(const struct schema_field *field)
{
	static const enum gate served[] = { GATE_ResourceHealthStatus,
					    GATE_ResourceHealthStatusMessage,
					    GATE_DRAResourceClaimDeviceStatus,
					    GATE_DRAResourceAvailabilityVisibility };
	bool known = !(field->flags & SCHEMA_GATE_SERVED);

	for (size_t g = 0; g < ARRAY_SIZE(served); g++)
		known |= field->gate == served[g];
	assert_true(known);
}

static void gates_that_serve_less_are_known(void **state)
{
	const struct schema_type *const *types;
	size_t n;

	types = schema_types(&n);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < types[i]->nfields; k++)
			assert_gate_known(&types[i]->fields[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_object_gets_what_the_server_sets),
		cmocka_unit_test(metadata_is_in_upstreams_order),
		cmocka_unit_test(api_version_and_kind_may_be_left_out),
		cmocka_unit_test(bodies_that_do_not_fit_are_refused),
		cmocka_unit_test(another_version_of_the_kind_is_told_apart),
		cmocka_unit_test(unknown_fields_are_ignored_warned_of_or_refused),
		cmocka_unit_test(another_namespace_is_refused),
		cmocka_unit_test(a_cluster_object_loses_its_namespace),
		cmocka_unit_test(a_resource_version_is_refused),
		cmocka_unit_test(an_object_without_a_name_is_invalid),
		cmocka_unit_test(a_name_is_generated_and_can_be_generated_anew),
		cmocka_unit_test(a_long_generate_name_is_cut),
		cmocka_unit_test(a_given_name_wins_over_generate_name),
		cmocka_unit_test(repeated_owners_are_dropped_with_a_warning),
		cmocka_unit_test(a_status_is_dropped),
		cmocka_unit_test(put_of_what_is_not_there_needs_the_name_of_the_path),
		cmocka_unit_test(an_older_version_is_stored_as_the_newest),
		cmocka_unit_test(gates_that_serve_less_are_known),
	};

	return cmocka_run_group_tests_name("api/write_create", tests, NULL, NULL);
}
