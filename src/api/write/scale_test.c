/* Scales: from objects and back, with upstream's checks. */
#include "api/managed/managed.h"
#include "api/write/scale.h"

#include "api/write/write_fixture.h"
#include "base/core/limits.h"

#define DEPLOYMENT                                                                           \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\","  \
	"\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"generation\":1,"   \
	"\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{\"a\":\"b\"}},\"spec\":" \
	"{\"replicas\":3,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"        \
	"\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\"," \
	"\"image\":\"i\"}]}}},\"status\":{\"replicas\":2}}"

static void fixture_scale(struct fixture *f)
{
	fixture_init(f, "apps", "v1", "deployments");
	f->w.name = STR("d");
	f->w.subresource = STR("scale");
}

static void assert_scale(const struct scale_paths *paths, const char *object, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct fixture f;
	struct json *scale;

	fixture_scale(&f);
	if (scale_get(&f.arena, paths ? paths : scale_paths(f.w.kind), fixture_tree(&f, object),
		      &scale, &f.err) < 0)
		fail_msg("%s", f.err.msg);
	(void)json_print(&out, scale, NULL);
	assert_string_equal(out.p, want);
	fixture_release(&f);
}

static void a_deployment_has_a_scale(void **state)
{
	assert_scale(NULL, DEPLOYMENT,
		     "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{"
		     "\"name\":\"d\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":"
		     "\"7\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{"
		     "\"replicas\":3},\"status\":{\"replicas\":2,\"selector\":\"a=b\"}}");
}

static void a_count_of_zero_is_left_out_where_upstream_does(void **state)
{
	assert_scale(NULL, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":0}}",
		     "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{"
		     "\"name\":\"d\"},\"spec\":{},\"status\":{\"replicas\":0}}");
}

static void assert_selector(const char *selector, const char *want)
{
	struct fixture f;
	struct json *scale;

	fixture_scale(&f);
	assert_int_equal(scale_get(&f.arena, scale_paths(f.w.kind),
				   fixture_tree(&f, arena_printf(&f.arena,
								 "{\"spec\":{\"replicas\":1,"
								 "\"selector\":%s}}",
								 selector)),
				   &scale, &f.err),
			 0);
	assert_string_equal(
		arena_strdup(&f.arena, json_str(json_pointer(scale, STR("/status/selector")))),
		want);
	fixture_release(&f);
}

static void selectors_are_shown_as_text(void **state)
{
	assert_selector("{\"matchLabels\":{\"b\":\"1\",\"a\":\"2\"}}", "a=2,b=1");
	assert_selector("{\"matchLabels\":{\"a\":\"1\"},\"matchExpressions\":["
			"{\"key\":\"x\",\"operator\":\"In\",\"values\":[\"q\",\"p\"]},"
			"{\"key\":\"y\",\"operator\":\"NotIn\",\"values\":[\"r\"]},"
			"{\"key\":\"z\",\"operator\":\"Exists\"},"
			"{\"key\":\"0\",\"operator\":\"DoesNotExist\"}]}",
			"!0,a=1,x in (p,q),y notin (r),z");
	assert_selector("{\"matchLabels\":\"web\",\"app\":\"a\"}", "app=a,matchLabels=web");
	assert_selector("{}", "");
	assert_selector("\"a in (b)\"", "a in (b)");
}

static void custom_paths_are_followed(void **state)
{
	static const struct scale_paths paths = { STR(".spec.size.wanted"), STR(".status.size"),
						  STR(".status.labels") };

	assert_scale(&paths,
		     "{\"spec\":{\"size\":{\"wanted\":4}},\"status\":{\"size\":1,"
		     "\"labels\":\"a=b\"}}",
		     "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{},"
		     "\"spec\":{\"replicas\":4},\"status\":{\"replicas\":1,\"selector\":"
		     "\"a=b\"}}");
}

static void an_object_without_a_count_has_no_scale(void **state)
{
	struct fixture f;
	struct json *scale;

	fixture_scale(&f);
	assert_int_equal(scale_get(&f.arena, scale_paths(f.w.kind),
				   fixture_tree(&f, "{\"spec\":{}}"), &scale, &f.err),
			 -ERR_INTERNAL);
	assert_string_equal(f.err.msg, "the spec replicas field \".spec.replicas\" does not exist");
	fixture_release(&f);
}

/* --- writes --------------------------------------------------------------------------- */

static int updated(struct fixture *f, const char *scale)
{
	struct json *tree = fixture_tree(f, scale);
	int r;

	r = scale_check(&f->w, tree, &f->err);
	if (r == 0)
		r = scale_update(&f->w, fixture_tree(f, DEPLOYMENT), tree, &f->out, &f->err);
	return r;
}

static int64_t number_at(const struct fixture *f, const char *pointer)
{
	int64_t n = -1;

	(void)json_i64(json_pointer(f->out, str_from(pointer)), &n);
	return n;
}

static void only_the_count_changes(void **state)
{
	struct fixture f;

	fixture_scale(&f);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\",\"namespace\":\"ns\","
				     "\"labels\":{\"x\":\"y\"}},\"spec\":{\"replicas\":5},"
				     "\"status\":{\"replicas\":9}}"),
			 0);
	assert_int_equal(number_at(&f, "/spec/replicas"), 5);
	assert_int_equal(number_at(&f, "/status/replicas"), 2);
	assert_int_equal(number_at(&f, "/metadata/generation"), 2);
	assert_null(json_pointer(f.out, STR("/metadata/labels/x")));
	assert_non_null(json_pointer(f.out, STR("/metadata/labels/a")));
	fixture_release(&f);
}

static void no_count_means_zero(void **state)
{
	struct fixture f;

	fixture_scale(&f);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\"},\"spec\":{}}"), 0);
	assert_int_equal(number_at(&f, "/spec/replicas"), 0);
	fixture_release(&f);
}

static void a_count_below_zero_is_refused(void **state)
{
	struct fixture f;

	fixture_scale(&f);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":-1}}"),
			 -ERR_INVALID);
	assert_int_equal(f.w.errs.n, 1);
	assert_true(str_eqz(f.w.errs.first->path, "spec.replicas"));
	assert_true(str_eqz(f.w.errs.first->detail, "must be greater than or equal to 0"));
	fixture_release(&f);
}

static void names_must_be_those_of_the_path(void **state)
{
	struct fixture f;

	fixture_scale(&f);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"e\"},\"spec\":{\"replicas\":1}}"),
			 -ERR_BAD_REQUEST);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\",\"namespace\":\"other\"},"
				     "\"spec\":{\"replicas\":1}}"),
			 -ERR_BAD_REQUEST);
	fixture_release(&f);
}

static void uid_and_version_are_preconditions(void **state)
{
	struct fixture f;

	fixture_scale(&f);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\",\"uid\":\"u-2\"},"
				     "\"spec\":{\"replicas\":1}}"),
			 -ERR_CONFLICT);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\",\"resourceVersion\":\"6\"},"
				     "\"spec\":{\"replicas\":1}}"),
			 -ERR_CONFLICT);
	assert_int_equal(updated(&f, "{\"metadata\":{\"name\":\"d\",\"resourceVersion\":\"7\","
				     "\"uid\":\"u-1\"},\"spec\":{\"replicas\":1}}"),
			 0);
	fixture_release(&f);
}

static void the_change_is_the_subresources(void **state)
{
	struct fixture f;
	struct json *old, *scale;

	fixture_scale(&f);
	old = fixture_tree(&f, DEPLOYMENT);
	json_setz(json_getz(old, "metadata"), "managedFields",
		  fixture_tree(&f, "[{\"manager\":\"m\",\"operation\":\"Update\",\"apiVersion\":"
				   "\"apps/v1\",\"time\":\"2026-01-01T00:00:00Z\",\"fieldsType\":"
				   "\"FieldsV1\",\"fieldsV1\":{\"f:spec\":{\"f:replicas\":{},"
				   "\"f:selector\":{}}}}]"));
	scale = fixture_tree(&f, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":5}}");
	assert_int_equal(scale_update(&f.w, old, scale, &f.out, &f.err), 0);
	assert_null(
		json_pointer(f.out, STR("/metadata/managedFields/0/fieldsV1/f:spec/f:replicas")));
	assert_true(str_eqz(json_str(json_pointer(f.out, STR("/metadata/managedFields/1/"
							     "subresource"))),
			    "scale"));
	assert_non_null(
		json_pointer(f.out, STR("/metadata/managedFields/1/fieldsV1/f:spec/f:replicas")));
	fixture_release(&f);
}

static void a_patch_may_be_the_first_to_set_the_count(void **state)
{
	struct fixture f;
	struct json *old, *scale;

	fixture_scale(&f);
	old = fixture_tree(&f, DEPLOYMENT);
	json_remove(json_getz(old, "spec"), STR("replicas"));
	assert_int_equal(scale_patch(&f.w, old, PATCH_MERGE,
				     fixture_tree(&f, "{\"spec\":{\"replicas\":4}}"), &scale,
				     &f.err),
			 0);
	assert_int_equal(scale_update(&f.w, old, scale, &f.out, &f.err), 0);
	assert_int_equal(json_i64_at(json_getz(f.out, "spec"), "replicas", 0), 4);
	fixture_release(&f);
}

static int applied(struct fixture *f, const struct json *old, const char *manager, const char *text)
{
	fixture_again(f);
	f->w.options.field_manager = str_from(manager);
	return scale_apply(&f->w, old, fixture_tree(f, text), &f->out, &f->err);
}

#define SCALE(rest) "{\"apiVersion\":\"autoscaling/v1\",\"kind\":\"Scale\"," rest "}"

static void a_scale_can_be_applied(void **state)
{
	struct fixture f;
	struct json *old;

	fixture_scale(&f);
	old = fixture_tree(&f, DEPLOYMENT);
	assert_int_equal(applied(&f, old, "a",
				 SCALE("\"metadata\":{\"name\":\"d\"},\"spec\":{"
				       "\"replicas\":5}")),
			 -ERR_APPLY_CONFLICT);
	assert_true(str_eqz(f.w.conflicts->conflicts[0].field, ".spec.replicas"));
	f.w.options.force = true;
	assert_int_equal(applied(&f, old, "a",
				 SCALE("\"metadata\":{\"name\":\"d\"},\"spec\":{"
				       "\"replicas\":5}")),
			 0);
	assert_int_equal(json_i64_at(json_getz(f.out, "spec"), "replicas", 0), 5);
	assert_true(str_eqz(json_str(json_pointer(f.out, STR("/metadata/managedFields/0/"
							     "subresource"))),
			    "scale"));
	f.w.options.force = false;
	assert_int_equal(applied(&f, f.out, "b", SCALE("\"spec\":{\"replicas\":6}")),
			 -ERR_APPLY_CONFLICT);
	assert_true(
		str_eqz(f.w.conflicts->conflicts[0].manager, "\"a\" with subresource \"scale\""));
	assert_int_equal(applied(&f, old, "a", SCALE("\"spec\":{\"replica\":5}")), -ERR_UNTYPED);
	assert_int_equal(applied(&f, old, "a", SCALE("\"spec\":{\"replicas\":-1}")), -ERR_INVALID);
	assert_int_equal(applied(&f, old, "a", "{\"spec\":{\"replicas\":5}}"), -ERR_BAD_REQUEST);
	fixture_release(&f);
}

static void patches_are_of_the_scale(void **state)
{
	static const struct {
		enum patch_type type;
		const char *patch;
	} patches[] = {
		{ PATCH_MERGE, "{\"spec\":{\"replicas\":4}}" },
		{ PATCH_STRATEGIC, "{\"spec\":{\"replicas\":4}}" },
		{ PATCH_JSON, "[{\"op\":\"test\",\"path\":\"/status/selector\",\"value\":\"a=b\"},"
			      "{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":4}]" },
	};
	struct fixture f;
	struct json *scale;

	for (size_t i = 0; i < ARRAY_SIZE(patches); i++) {
		fixture_scale(&f);
		assert_int_equal(scale_patch(&f.w, fixture_tree(&f, DEPLOYMENT), patches[i].type,
					     fixture_tree(&f, patches[i].patch), &scale, &f.err),
				 0);
		f.out = scale;
		assert_int_equal(number_at(&f, "/spec/replicas"), 4);
		assert_true(str_eqz(f.w.kind->kind, "Deployment"));
		fixture_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deployment_has_a_scale),
		cmocka_unit_test(a_count_of_zero_is_left_out_where_upstream_does),
		cmocka_unit_test(selectors_are_shown_as_text),
		cmocka_unit_test(custom_paths_are_followed),
		cmocka_unit_test(an_object_without_a_count_has_no_scale),
		cmocka_unit_test(only_the_count_changes),
		cmocka_unit_test(no_count_means_zero),
		cmocka_unit_test(a_count_below_zero_is_refused),
		cmocka_unit_test(names_must_be_those_of_the_path),
		cmocka_unit_test(uid_and_version_are_preconditions),
		cmocka_unit_test(the_change_is_the_subresources),
		cmocka_unit_test(a_patch_may_be_the_first_to_set_the_count),
		cmocka_unit_test(a_scale_can_be_applied),
		cmocka_unit_test(patches_are_of_the_scale),
	};

	return cmocka_run_group_tests_name("api/scale", tests, NULL, NULL);
}
