/*
 * Updates and patches: which checks run, which fields are kept, and which requests write nothing.
 */
#include "api/write/write_fixture.h"

static void an_update_keeps_what_the_server_set(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
	assert_written(&f, fixture_update(&f, old,
					  "{\"metadata\":{\"name\":\"a\","
					  "\"creationTimestamp\":\"2000-01-01T00:00:00Z\","
					  "\"generation\":5},\"data\":{\"k\":\"w\"}}"));
	assert_false(f.w.unchanged);
	assert_at(&f, f.out, "/metadata/uid", fixture_at(&f, old, "/metadata/uid"));
	assert_at(&f, f.out, "/metadata/creationTimestamp", "2026-01-02T00:00:00Z");
	assert_at(&f, f.out, "/metadata/generation", "");
	assert_at(&f, f.out, "/data/k", "w");
	fixture_release(&f);
}

static void an_update_without_a_change_is_not_written(void **state)
{
	static const char body[] = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}";
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, body);
	f.w.now_ns += 5000000000;
	assert_written(&f, fixture_update(&f, old, body));
	assert_true(f.w.unchanged);
	fixture_release(&f);
}

static void the_name_must_be_that_of_the_path(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(fixture_update(&f, old, "{\"metadata\":{\"name\":\"b\"}}"),
			 -ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg, "the name of the object (b) does not match the name on the "
				       "URL (a)");
	fixture_again(&f);
	assert_int_equal(fixture_update(&f, old, "{}"), -ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg,
			    "the name of the object (a based on URL) was undeterminable: "
			    "name must be provided");
	fixture_release(&f);
}

static void another_uid_is_a_conflict(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(fixture_update(&f, old, "{\"metadata\":{\"name\":\"a\",\"uid\":\"x\"}}"),
			 -ERR_CONFLICT);
	assert_non_null(strstr(f.err.msg, "Precondition failed: UID in precondition: x, UID in "
					  "object meta: "));
	fixture_release(&f);
}

static void a_stale_resource_version_is_a_conflict(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(
		fixture_update(&f, old,
			       "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"6\"}}"),
		-ERR_CONFLICT);
	assert_string_equal(f.err.msg, "the object has been modified; please apply your changes to "
				       "the latest version and try again");
	fixture_again(&f);
	assert_written(&f, fixture_update(&f, old,
					  "{\"metadata\":{\"name\":\"a\","
					  "\"resourceVersion\":\"7\"}}"));
	fixture_again(&f);
	assert_int_equal(
		fixture_update(&f, old,
			       "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"x\"}}"),
		-ERR_INVALID);
	fixture_release(&f);
}

#define RULE                                                                                  \
	"\"spec\":{\"deviceSelector\":{},\"taint\":{\"key\":\"k\",\"effect\":\"NoSchedule\"," \
	"\"timeAdded\":\"2026-01-01T00:00:00Z\"}}"

static void some_kinds_want_a_resource_version(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "resource.k8s.io", "v1", "devicetaintrules");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}," RULE "}");
	assert_int_equal(fixture_update(&f, old, "{\"metadata\":{\"name\":\"a\"}," RULE "}"),
			 -ERR_INVALID);
	assert_string_equal(fixture_faults(&f),
			    "metadata.resourceVersion: Invalid value: 0x0: must "
			    "be specified for an update");
	fixture_release(&f);
}

static void generation_counts_changes_of_the_spec_alone(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "resource.k8s.io", "v1", "deviceclasses");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}");
	assert_at(&f, old, "/metadata/generation", "1");
	assert_written(&f, fixture_update(&f, old,
					  "{\"metadata\":{\"name\":\"a\",\"labels\":"
					  "{\"x\":\"y\"}},\"spec\":{}}"));
	assert_at(&f, f.out, "/metadata/generation", "1");
	fixture_again(&f);
	assert_written(&f, fixture_update(&f, old,
					  "{\"metadata\":{\"name\":\"a\"},\"spec\":"
					  "{\"extendedResourceName\":\"example.com/x\"}}"));
	assert_at(&f, f.out, "/metadata/generation", "2");
	fixture_release(&f);
}

#define CLAIM_SPEC                                                                               \
	"\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":" \
	"\"c\"}}]}}"
#define ALLOCATION                                                                          \
	"\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d.io\"," \
	"\"pool\":\"p\",\"device\":\"dev\"}]}}"
#define STATUS(more)                                                          \
	"{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"m\"}}," CLAIM_SPEC \
	",\"status\":{" ALLOCATION more "}}"
#define DEVICE(network)                                                         \
	",\"devices\":[{\"driver\":\"d.io\",\"pool\":\"p\",\"device\":\"dev\"," \
	"\"networkData\":" network "}]"

/* Returns an allocated claim; the path is its status. */
static const struct json *allocated_claim(struct fixture *f, const char *status)
{
	const struct json *old;
	struct json *out;

	fixture_init(f, "resource.k8s.io", "v1", "resourceclaims");
	old = fixture_stored(f, "{\"metadata\":{\"name\":\"a\"}," CLAIM_SPEC "}");
	f->w.subresource = STR("status");
	assert_written(f, fixture_update(f, old, status));
	out = f->out;
	fixture_again(f);
	return out;
}

static void a_main_write_keeps_the_status(void **state)
{
	struct fixture f;
	const struct json *old = allocated_claim(&f, STATUS(""));

	f.w.subresource = STR("");
	assert_written(&f, fixture_update(&f, old,
					  "{\"metadata\":{\"name\":\"a\",\"labels\":"
					  "{\"x\":\"y\"}}," CLAIM_SPEC ",\"status\":{}}"));
	assert_at(&f, f.out, "/status/allocation/devices/results/0/device", "dev");
	assert_at(&f, f.out, "/metadata/labels/x", "y");
	fixture_release(&f);
}

static void a_status_write_keeps_all_else(void **state)
{
	struct fixture f;
	const struct json *claim = allocated_claim(&f, STATUS(""));

	assert_at(&f, claim, "/metadata/labels", "");
	assert_at(&f, claim, "/spec/devices/requests/0/name", "r");
	assert_at(&f, claim, "/status/allocation/devices/results/0/device", "dev");
	fixture_release(&f);
}

static void a_device_that_is_no_longer_allocated_loses_its_status(void **state)
{
	struct fixture f;
	const struct json *old = allocated_claim(&f, STATUS(DEVICE("{\"ips\":[\"10.0.0.1/8\"]}")));

	assert_at(&f, old, "/status/devices/0/networkData/ips/0", "10.0.0.1/8");
	assert_written(&f,
		       fixture_patch(&f, old, PATCH_MERGE, "{\"status\":{\"allocation\":null}}"));
	assert_at(&f, f.out, "/status/devices", "");
	fixture_release(&f);
}

static void the_keps_names_are_stored_under_upstreams(void **state)
{
	struct fixture f;
	const struct json *old = allocated_claim(
		&f, STATUS(DEVICE("{\"addresses\":[\"10.0.0.1/8\"],\"hwAddress\":\"aa\"}")));

	assert_at(&f, old, "/status/devices/0/networkData",
		  "{\"ips\":[\"10.0.0.1/8\"],\"hardwareAddress\":\"aa\"}");
	assert_null(f.w.warnings);
	fixture_release(&f);
}

static void of_two_names_the_one_that_changed_wins(void **state)
{
	struct fixture f;
	const struct json *old = allocated_claim(&f,
						 STATUS(DEVICE("{\"hardwareAddress\":\"aa\"}")));

	assert_written(&f, fixture_update(&f, old,
					  STATUS(DEVICE("{\"hardwareAddress\":\"aa\","
							"\"hwAddress\":\"bb\"}"))));
	assert_at(&f, f.out, "/status/devices/0/networkData", "{\"hardwareAddress\":\"bb\"}");
	fixture_again(&f);
	assert_written(&f, fixture_update(&f, old,
					  STATUS(DEVICE("{\"hardwareAddress\":\"bb\","
							"\"hwAddress\":\"aa\"}"))));
	assert_at(&f, f.out, "/status/devices/0/networkData", "{\"hardwareAddress\":\"bb\"}");
	fixture_again(&f);
	assert_int_equal(fixture_update(&f, old,
					STATUS(DEVICE("{\"hardwareAddress\":\"bb\","
						      "\"hwAddress\":\"cc\"}"))),
			 -ERR_INVALID);
	assert_non_null(strstr(fixture_faults(&f),
			       "status.devices[0].networkData.hwAddress: Invalid value: \"cc\""));
	fixture_release(&f);
}

static void the_keps_names_work_in_patches(void **state)
{
	struct fixture f;
	const struct json *old = allocated_claim(
		&f, STATUS(DEVICE("{\"ips\":[\"10.0.0.1/8\"],\"hardwareAddress\":\"aa\"}")));

	assert_written(&f, fixture_patch(&f, old, PATCH_JSON,
					 "[{\"op\":\"replace\",\"path\":\"/status/devices/0/"
					 "networkData/addresses/0\",\"value\":\"10.0.0.2/8\"},"
					 "{\"op\":\"remove\",\"path\":\"/status/devices/0/"
					 "networkData/hwAddress\"}]"));
	assert_at(&f, f.out, "/status/devices/0/networkData", "{\"ips\":[\"10.0.0.2/8\"]}");
	fixture_again(&f);
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 "{\"status\":{\"devices\":[{\"driver\":\"d.io\",\"pool\":"
					 "\"p\",\"device\":\"dev\",\"networkData\":{\"addresses\":"
					 "[\"10.0.0.3/8\"]}}]}}"));
	assert_at(&f, f.out, "/status/devices/0/networkData", "{\"ips\":[\"10.0.0.3/8\"]}");
	fixture_release(&f);
}

static void the_served_form_has_both_names(void **state)
{
	struct fixture f;
	struct json *tree = (struct json *)allocated_claim(
		&f, STATUS(DEVICE("{\"ips\":[\"10.0.0.1/8\"]}")));

	assert_true(write_served_form(&f.arena, tree, f.w.kind, &f.gates));
	assert_at(&f, tree, "/status/devices/0/networkData/addresses", "[\"10.0.0.1/8\"]");
	assert_at(&f, tree, "/status/devices/0/networkData/ips", "[\"10.0.0.1/8\"]");
	fixture_release(&f);
}

static void a_merge_patch_changes_and_removes(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f,
			     "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\",\"l\":\"m\"}}");
	assert_written(&f,
		       fixture_patch(&f, old, PATCH_MERGE, "{\"data\":{\"k\":null,\"n\":\"o\"}}"));
	assert_at(&f, f.out, "/data", "{\"l\":\"m\",\"n\":\"o\"}");
	assert_at(&f, old, "/data", "{\"k\":\"v\",\"l\":\"m\"}");
	fixture_again(&f);
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE, "{\"data\":{\"k\":\"v\"}}"));
	assert_true(f.w.unchanged);
	fixture_release(&f);
}

static void a_strategic_patch_merges_lists_by_key(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "pods");
	old = fixture_stored(
		&f, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":["
		    "{\"name\":\"c\",\"image\":\"i\"},{\"name\":\"d\",\"image\":\"i\"}]}}");
	assert_written(&f, fixture_patch(&f, old, PATCH_STRATEGIC,
					 "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":"
					 "{\"containers\":[{\"name\":\"d\",\"image\":\"j\"}]}}"));
	assert_at(&f, f.out, "/spec/containers/0/image", "i");
	assert_at(&f, f.out, "/spec/containers/1/image", "j");
	assert_at(&f, f.out, "/metadata/labels/a", "b");
	assert_at(&f, f.out, "/metadata/generation", "2");
	fixture_again(&f);
	assert_int_equal(fixture_patch(&f, old, PATCH_APPLY, "{}"), -ERR_UNSUPPORTED_MEDIA_TYPE);
	fixture_release(&f);
}

static void a_patch_with_a_stale_resource_version_is_a_conflict(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(
		fixture_patch(&f, old, PATCH_MERGE, "{\"metadata\":{\"resourceVersion\":\"3\"}}"),
		-ERR_CONFLICT);
	fixture_release(&f);
}

static void a_patch_that_does_not_fit_is_invalid(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(fixture_patch(&f, old, PATCH_MERGE, "{\"data\":7}"), -ERR_INVALID);
	assert_non_null(strstr(fixture_faults(&f), "patch: Invalid value: "));
	assert_non_null(strstr(fixture_faults(&f), "json: cannot unmarshal number"));
	fixture_release(&f);
}

static void a_patch_may_not_rename(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(fixture_patch(&f, old, PATCH_MERGE, "{\"metadata\":{\"name\":\"b\"}}"),
			 -ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg, "the name of the object (b) does not match the name on the "
				       "URL (a)");
	fixture_again(&f);
	assert_int_equal(fixture_patch(&f, old, PATCH_MERGE, "{\"kind\":\"Secret\"}"),
			 -ERR_INVALID);
	fixture_again(&f);
	assert_int_equal(fixture_patch(&f, old, PATCH_MERGE, "{\"kind\":null}"), 0);
	assert_string_equal(fixture_at(&f, f.out, "/kind"), "ConfigMap");
	fixture_again(&f);
	assert_int_equal(fixture_patch(&f, old, PATCH_STRATEGIC, "{\"kind\":\"Secret\"}"), 0);
	assert_string_equal(fixture_at(&f, f.out, "/kind"), "ConfigMap");
	fixture_release(&f);
}

static void names_that_come_twice_in_a_patch_are_told(void **state)
{
	struct text_list twice = { .text = STR("duplicate field \"data.a\"") };
	const struct decode_report report = { .faults = &twice, .n = 1 };
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	f.w.patch_report = &report;
	assert_int_equal(fixture_patch(&f, old, PATCH_MERGE, "{\"data\":{\"a\":\"b\"}}"), 0);
	assert_true(str_eqz(f.w.warnings->text, "duplicate field \"data.a\""));
	fixture_again(&f);
	f.w.options.field_validation = WRITE_STRICT;
	assert_int_equal(fixture_patch(&f, old, PATCH_STRATEGIC, "{\"data\":{\"a\":\"b\"}}"),
			 -ERR_INVALID);
	assert_non_null(strstr(fixture_faults(&f), "Invalid value: \"map[data:map[a:b]]\": strict "
						   "decoding error: duplicate field"));
	fixture_release(&f);
}

static void a_new_effect_of_a_taint_rule_has_a_new_time(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "resource.k8s.io", "v1", "devicetaintrules");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}," RULE "}");
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 "{\"spec\":{\"taint\":{\"effect\":\"NoExecute\"}}}"));
	assert_at(&f, f.out, "/spec/taint/timeAdded", "2026-01-02T00:00:00Z");
	assert_at(&f, f.out, "/metadata/generation", "2");
	fixture_again(&f);
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 "{\"spec\":{\"taint\":{\"value\":\"v\"}}}"));
	assert_at(&f, f.out, "/spec/taint/timeAdded", "2026-01-01T00:00:00Z");
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_update_keeps_what_the_server_set),
		cmocka_unit_test(an_update_without_a_change_is_not_written),
		cmocka_unit_test(the_name_must_be_that_of_the_path),
		cmocka_unit_test(another_uid_is_a_conflict),
		cmocka_unit_test(a_stale_resource_version_is_a_conflict),
		cmocka_unit_test(some_kinds_want_a_resource_version),
		cmocka_unit_test(generation_counts_changes_of_the_spec_alone),
		cmocka_unit_test(a_main_write_keeps_the_status),
		cmocka_unit_test(a_status_write_keeps_all_else),
		cmocka_unit_test(a_device_that_is_no_longer_allocated_loses_its_status),
		cmocka_unit_test(the_keps_names_are_stored_under_upstreams),
		cmocka_unit_test(of_two_names_the_one_that_changed_wins),
		cmocka_unit_test(the_keps_names_work_in_patches),
		cmocka_unit_test(the_served_form_has_both_names),
		cmocka_unit_test(a_merge_patch_changes_and_removes),
		cmocka_unit_test(a_strategic_patch_merges_lists_by_key),
		cmocka_unit_test(a_patch_with_a_stale_resource_version_is_a_conflict),
		cmocka_unit_test(a_patch_that_does_not_fit_is_invalid),
		cmocka_unit_test(a_patch_may_not_rename),
		cmocka_unit_test(names_that_come_twice_in_a_patch_are_told),
		cmocka_unit_test(a_new_effect_of_a_taint_rule_has_a_new_time),
	};

	return cmocka_run_group_tests_name("api/write_update", tests, NULL, NULL);
}
