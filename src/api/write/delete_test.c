/* Deletion: preconditions, finalizers, propagation, grace, namespaces. */
#include "api/write/write_fixture.h"

#define CONTAINERS "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]"

static int delete_it(struct fixture *f, const struct json *old, const char *options)
{
	struct delete_options o;
	int r;

	fixture_again(f);
	r = write_delete_options(&f->w, options ? fixture_tree(f, options) : NULL, &o, &f->err);
	if (r < 0)
		return r;
	return write_delete(&f->w, old, &o, &f->out, &f->err);
}

static void an_object_without_finalizers_is_deleted_at_once(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_written(&f, delete_it(&f, old, NULL));
	assert_null(f.out);
	assert_written(&f, delete_it(&f, old, "{\"propagationPolicy\":\"Background\"}"));
	assert_null(f.out);
	fixture_release(&f);
}

static void preconditions_are_kept(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(delete_it(&f, old, "{\"preconditions\":{\"uid\":\"x\"}}"), -ERR_CONFLICT);
	assert_non_null(strstr(f.err.msg,
			       "the UID in the precondition (x) does not match the UID in "
			       "record ("));
	assert_int_equal(delete_it(&f, old, "{\"preconditions\":{\"resourceVersion\":\"6\"}}"),
			 -ERR_CONFLICT);
	assert_string_equal(f.err.msg,
			    "the ResourceVersion in the precondition (6) does not match "
			    "the ResourceVersion in record (7). The object might have been "
			    "modified");
	assert_written(&f, delete_it(&f, old, "{\"preconditions\":{\"resourceVersion\":\"7\"}}"));
	fixture_release(&f);
}

static void options_are_validated(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(delete_it(&f, old, "{\"propagationPolicy\":\"Later\"}"), -ERR_INVALID);
	assert_string_equal(fixture_faults(&f),
			    "propagationPolicy: Unsupported value: \"Later\": supported values: "
			    "\"Foreground\", \"Background\", \"Orphan\", \"nil\"");
	assert_int_equal(
		delete_it(&f, old, "{\"propagationPolicy\":\"Orphan\",\"orphanDependents\":true}"),
		-ERR_INVALID);
	assert_int_equal(delete_it(&f, old, "{\"dryRun\":[\"Some\"]}"), -ERR_INVALID);
	fixture_release(&f);
}

static void finalizers_hold_it_until_the_last_is_gone(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/a\","
				 "\"x.io/b\"]}}");
	assert_written(&f, delete_it(&f, old, NULL));
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "2026-01-02T00:00:00Z");
	assert_at(&f, f.out, "/metadata/deletionGracePeriodSeconds", "0");
	assert_false(f.w.unchanged);
	old = f.out;

	f.w.now_ns += 1000000000;
	assert_written(&f, delete_it(&f, old, NULL));
	assert_true(f.w.unchanged);

	fixture_again(&f);
	assert_written(&f, fixture_patch(&f, old, PATCH_MERGE,
					 "{\"metadata\":{\"finalizers\":[\"x.io/b\"]}}"));
	old = f.out;
	assert_at(&f, old, "/metadata/deletionTimestamp", "2026-01-02T00:00:00Z");
	fixture_again(&f);
	assert_written(&f,
		       fixture_patch(&f, old, PATCH_MERGE, "{\"metadata\":{\"finalizers\":null}}"));
	assert_null(f.out);
	fixture_release(&f);
}

static void propagation_adds_the_garbage_collectors_finalizers(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "configmaps");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\"}}");
	assert_written(&f, delete_it(&f, old, "{\"propagationPolicy\":\"Foreground\"}"));
	assert_at(&f, f.out, "/metadata/finalizers", "[\"foregroundDeletion\"]");
	assert_written(&f, delete_it(&f, old, "{\"propagationPolicy\":\"Orphan\"}"));
	assert_at(&f, f.out, "/metadata/finalizers", "[\"orphan\"]");
	old = f.out;
	assert_written(&f, delete_it(&f, old, "{\"propagationPolicy\":\"Background\"}"));
	assert_null(f.out);
	assert_written(&f, delete_it(&f, old, "{\"orphanDependents\":true}"));
	assert_true(f.w.unchanged);
	fixture_release(&f);
}

static void generation_counts_the_deletion(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "resource.k8s.io", "v1", "deviceclasses");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/a\"]}}");
	assert_written(&f, delete_it(&f, old, NULL));
	assert_at(&f, f.out, "/metadata/generation", "2");
	fixture_release(&f);
}

/* A pod on a node, with a grace period of 30 s. */
static const struct json *bound_pod(struct fixture *f)
{
	fixture_init(f, "", "v1", "pods");
	return fixture_stored(f, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" CONTAINERS
				 ",\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":30}}");
}

static void a_pod_on_a_node_is_given_its_grace_period(void **state)
{
	struct fixture f;
	const struct json *old = bound_pod(&f);

	assert_written(&f, delete_it(&f, old, NULL));
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "2026-01-02T00:00:30Z");
	assert_at(&f, f.out, "/metadata/deletionGracePeriodSeconds", "30");
	assert_at(&f, f.out, "/metadata/generation", "2");
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":5}"));
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "2026-01-02T00:00:05Z");
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":0}"));
	assert_null(f.out);
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":-5}"));
	assert_at(&f, f.out, "/metadata/deletionGracePeriodSeconds", "1");
	fixture_release(&f);
}

static void a_grace_period_may_only_be_shortened(void **state)
{
	struct fixture f;
	const struct json *old = bound_pod(&f);

	assert_written(&f, delete_it(&f, old, NULL));
	old = f.out;
	f.w.now_ns += 10000000000;
	assert_written(&f, delete_it(&f, old, NULL));
	assert_true(f.w.unchanged);
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":60}"));
	assert_true(f.w.unchanged);
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":20}"));
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "2026-01-02T00:00:20Z");
	assert_at(&f, f.out, "/metadata/generation", "2");
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":3}"));
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "2026-01-02T00:00:10Z");
	assert_at(&f, f.out, "/metadata/deletionGracePeriodSeconds", "1");
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":0}"));
	assert_null(f.out);
	fixture_release(&f);
}

static void a_pod_that_does_not_run_goes_at_once(void **state)
{
	struct fixture f;
	const struct json *old;
	struct json *done;

	fixture_init(&f, "", "v1", "pods");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" CONTAINERS "}}");
	assert_written(&f, delete_it(&f, old, NULL));
	assert_null(f.out);
	fixture_release(&f);

	old = bound_pod(&f);
	done = (struct json *)old;
	json_put_str(&f.arena, json_getz(done, "status"), "phase", STR("Succeeded"));
	assert_written(&f, delete_it(&f, done, NULL));
	assert_null(f.out);
	fixture_release(&f);
}

static void a_pod_with_grace_and_a_finalizer_waits_for_both(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "pods");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"p\",\"finalizers\":[\"x.io/a\"]},"
				 "\"spec\":{" CONTAINERS ",\"nodeName\":\"n\"}}");
	assert_written(&f, delete_it(&f, old, NULL));
	old = f.out;
	fixture_again(&f);
	assert_written(&f,
		       fixture_patch(&f, old, PATCH_MERGE, "{\"metadata\":{\"finalizers\":null}}"));
	assert_non_null(f.out);
	assert_written(&f, delete_it(&f, old, "{\"gracePeriodSeconds\":0}"));
	assert_non_null(f.out);
	assert_at(&f, f.out, "/metadata/deletionGracePeriodSeconds", "0");
	old = f.out;
	fixture_again(&f);
	assert_written(&f,
		       fixture_patch(&f, old, PATCH_MERGE, "{\"metadata\":{\"finalizers\":null}}"));
	assert_null(f.out);
	fixture_release(&f);
}

static void a_namespace_terminates_until_it_is_finalized(void **state)
{
	struct fixture f;
	const struct json *old;
	struct json *body;

	fixture_init(&f, "", "v1", "namespaces");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"n\"}}");
	assert_written(&f, delete_it(&f, old, NULL));
	assert_at(&f, f.out, "/status/phase", "Terminating");
	assert_at(&f, f.out, "/metadata/deletionTimestamp", "2026-01-02T00:00:00Z");
	old = f.out;
	f.w.now_ns += 1000000000;
	assert_written(&f, delete_it(&f, old, NULL));
	assert_true(f.w.unchanged);

	fixture_again(&f);
	f.w.subresource = STR("finalize");
	body = fixture_body(&f, "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[]}}");
	assert_written(&f, write_finalize(&f.w, old, body, &f.out, &f.err));
	assert_null(f.out);
	fixture_release(&f);
}

static void a_namespaces_finalizers_are_not_for_everybody(void **state)
{
	struct fixture f;
	const struct json *old;

	fixture_init(&f, "", "v1", "namespaces");
	old = fixture_stored(&f, "{\"metadata\":{\"name\":\"n\"}}");
	assert_written(&f, fixture_update(&f, old, "{\"metadata\":{\"name\":\"n\"},\"spec\":{}}"));
	assert_at(&f, f.out, "/spec/finalizers", "[\"kubernetes\"]");
	assert_true(f.w.unchanged);
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_without_finalizers_is_deleted_at_once),
		cmocka_unit_test(preconditions_are_kept),
		cmocka_unit_test(options_are_validated),
		cmocka_unit_test(finalizers_hold_it_until_the_last_is_gone),
		cmocka_unit_test(propagation_adds_the_garbage_collectors_finalizers),
		cmocka_unit_test(generation_counts_the_deletion),
		cmocka_unit_test(a_pod_on_a_node_is_given_its_grace_period),
		cmocka_unit_test(a_grace_period_may_only_be_shortened),
		cmocka_unit_test(a_pod_that_does_not_run_goes_at_once),
		cmocka_unit_test(a_pod_with_grace_and_a_finalizer_waits_for_both),
		cmocka_unit_test(a_namespace_terminates_until_it_is_finalized),
		cmocka_unit_test(a_namespaces_finalizers_are_not_for_everybody),
	};

	return cmocka_run_group_tests_name("api/write_delete", tests, NULL, NULL);
}
