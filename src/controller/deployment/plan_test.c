/*
 * Plans: each row is a Deployment, its ReplicaSets, and the writes that follow.
 */
#include "controller/deployment/plan_fixture.h"

#include "base/core/limits.h"

static const char *reason_of(struct planner *p, const char *type)
{
	const struct json *c = deployment_find_condition(json_getz(p->tree, "status"), type);
	struct str reason = json_text_at(c, "reason");

	return reason.n > 0 ? arena_strdup(&p->arena, reason) : "-";
}

/* --- sizes ----------------------------------------------------------------------------------- */

static const struct {
	const char *spec;
	struct given_set sets[4];
	const char *expected;
} steps[] = {
	/* Rolling. */
	{ ",\"replicas\":3" ROLLING("1", "0"), { { 0 } }, "+new=3 status " },
	{ ",\"replicas\":0" ROLLING("1", "0"), { { 0 } }, "+new=0 status " },
	{ ",\"replicas\":10" ROLLING("2", "0"), { { 2, 10, 10, D10, -1 } }, "+new=2 status " },
	{ ",\"replicas\":10" ROLLING("2", "2"), { { 2, 10, 10, D10, -1 } }, "+new=2 v2=8 status " },
	{ ",\"replicas\":10" ROLLING("2", "0"),
	  { { 3, 2, 2, D10, -1 }, { 2, 10, 10, D10, -1 } },
	  "v2=8 status " },
	{ ",\"replicas\":10" ROLLING("2", "0"),
	  { { 3, 2, 2, D10, -1 }, { 2, 8, 8, D10, -1 } },
	  "v3=4 status " },
	{ ",\"replicas\":10" ROLLING("2", "0"),
	  { { 3, 4, 2, D10, -1 }, { 2, 8, 8, D10, -1 } },
	  "status " },
	{ ",\"replicas\":10" ROLLING("2", "0"),
	  { { 3, 2, 0, D10, -1 }, { 2, 8, 5, D10, -1 } },
	  "v3=4 status " },
	{ ",\"replicas\":10" ROLLING("2", "2"),
	  { { 3, 2, 0, D10, -1 }, { 2, 8, 8, D10, -1 }, { 1, 2, 0, D10, -1 } },
	  "v1=0 status " },
	{ ",\"replicas\":10" ROLLING("0", "1"),
	  { { 3, 0, 0, NULL, -1 }, { 2, 10, 10, D10, -1 } },
	  "v2=9 status " },
	/* The older of two with the right template is the new one. */
	{ ",\"replicas\":2" ROLLING("1", "0"), { { 3, 2, 2, DESIRED("2", "3"), -1 } }, "status " },
	/* Scaling. */
	{ ",\"replicas\":12" ROLLING("0", "1"),
	  { { 3, 10, 10, DESIRED("10", "10"), -1 } },
	  "v3=12 status " },
	{ ",\"replicas\":5" ROLLING("0", "1"),
	  { { 3, 10, 10, DESIRED("10", "10"), -1 } },
	  "v3=5 status " },
	{ ",\"replicas\":10" ROLLING("0", "1"),
	  { { 3, 2, 2, DESIRED("5", "5"), -1 }, { 2, 3, 3, DESIRED("5", "5"), -1 } },
	  "v2=6 v3=4 status " },
	{ ",\"replicas\":10" ROLLING("0", "1"),
	  { { 3, 2, 2, DESIRED("7", "7"), -1 },
	    { 2, 3, 3, DESIRED("7", "7"), -1 },
	    { 1, 2, 2, DESIRED("7", "7"), -1 } },
	  "v2=4 v3=3 v1=3 status " },
	{ ",\"replicas\":2" ROLLING("0", "1"),
	  { { 3, 1, 1, DESIRED("3", "3"), -1 },
	    { 2, 1, 1, DESIRED("3", "3"), -1 },
	    { 1, 1, 1, DESIRED("3", "3"), -1 } },
	  "v1=0 v2=1 v3=1 status " },
	{ ",\"replicas\":0" ROLLING("0", "1"),
	  { { 3, 3, 3, DESIRED("6", "6"), -1 }, { 2, 2, 2, DESIRED("6", "6"), -1 } },
	  "v3=0 v2=0 status " },
	/* Paused. */
	{ ",\"replicas\":4,\"paused\":true" ROLLING("1", "0"),
	  { { 2, 3, 3, DESIRED("3", "4"), -1 } },
	  "v2=4 status " },
	{ ",\"replicas\":4,\"paused\":true" ROLLING("1", "0"), { { 0 } }, "status " },
	{ ",\"replicas\":2,\"paused\":true" ROLLING("1", "0"),
	  { { 3, 2, 2, DESIRED("2", "3"), -1 }, { 2, 1, 1, DESIRED("2", "3"), -1 } },
	  "v2=0 status " },
	/* Recreate: nothing new before the old pods are gone. */
	{ ",\"replicas\":2" RECREATE, { { 0 } }, "+new=2 status " },
	{ ",\"replicas\":2" RECREATE, { { 2, 2, 2, DESIRED("2", "2"), -1 } }, "v2=0 status " },
	{ ",\"replicas\":2" RECREATE, { { 2, 0, 0, NULL, 1 } }, "status " },
	{ ",\"replicas\":2" RECREATE, { { 2, 0, 0, NULL, 0 } }, "+new=2 status " },
	{ ",\"replicas\":2" RECREATE,
	  { { 3, 0, 0, NULL, 0 }, { 2, 0, 0, NULL, 0 } },
	  "v3=2 status " },
	/* Annotations that make no sense count as absent. */
	{ ",\"replicas\":4" ROLLING("1", "0"), { { 3, 4, 4, DESIRED("x", "-1"), -1 } }, "status " },
};

static void one_step_follows_from_the_state(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct planner *p = planner_new(steps[i].spec, "", "");

		for (size_t k = 0; k < ARRAY_SIZE(steps[i].sets) && steps[i].sets[k].version; k++)
			add_set(p, &steps[i].sets[k]);
		if (strcmp(planned(p), steps[i].expected) != 0)
			fail_msg("case %zu: %s", i, p->summary);
		planner_free(p);
	}
}

static void pods_that_run_keep_recreate_waiting(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":1" RECREATE, "", "");

	add_set(p, &(struct given_set){ .version = 2 });
	p->sets[0].runs = true;
	assert_string_equal(planned(p), "status ");
	planner_free(p);
}

/* It may be creating pods for the size that it had before. */
static void a_set_that_is_behind_keeps_recreate_waiting(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":1" RECREATE, "", "");
	struct json *meta;

	add_set(p, &(struct given_set){ .version = 2 });
	meta = json_getz(p->sets[0].tree, "metadata");
	json_put_i64(&p->arena, meta, "generation", 2);
	assert_string_equal(planned(p), "status ");
	planner_free(p);
}

static void events_say_what_was_scaled(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":10" ROLLING("0", "2"), "", "");
	const struct deployment_write *w;

	add_set(p, &(struct given_set){ 2, 10, 9, D10, -1 });
	assert_string_equal(planned(p), "+new=0 v2=8 status ");
	w = p->plan.writes;
	assert_int_equal(w->message.n, 0);
	assert_true(str_eqz(w->next->message, "Scaled down replica set v2 from 10 to 8"));
	assert_string_equal(w->next->reason, "ScalingReplicaSet");
	planner_free(p);
}

/* --- revisions ------------------------------------------------------------------------------- */

static struct str annotation(const struct json *object, const char *name)
{
	return deployment_annotation(object, name);
}

static void the_new_set_gets_the_next_revision(void **state UNUSED)
{
	struct planner *p = planner_new(
		",\"replicas\":1" ROLLING("1", "0"), "",
		",\"annotations\":{\"kubernetes.io/change-cause\":\"why\","
		"\"kubectl.kubernetes.io/last-applied-configuration\":\"x\"}");
	struct json *set;

	add_set(p, &(struct given_set){ 2, 1, 1, DESIRED("1", "2"), -1 });
	add_set(p, &(struct given_set){ 1, 0, 0, NULL, -1 });
	assert_string_equal(planned(p), "+new=1 status ");
	set = p->plan.writes->tree;
	assert_true(str_eqz(annotation(set, DEPLOYMENT_REVISION), "3"));
	assert_true(str_eqz(annotation(set, DEPLOYMENT_DESIRED), "1"));
	assert_true(str_eqz(annotation(set, DEPLOYMENT_MAX), "2"));
	assert_true(str_eqz(annotation(set, "kubernetes.io/change-cause"), "why"));
	assert_null(annotation(set, "kubectl.kubernetes.io/last-applied-configuration").p);
	assert_true(str_eqz(annotation(p->tree, DEPLOYMENT_REVISION), "3"));
	planner_free(p);
}

static void an_old_set_that_is_new_again_remembers_its_revision(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":1" ROLLING("1", "0"), "", "");

	add_set(p, &(struct given_set){ 3, 0, 0, DESIRED("1", "2"), -1 });
	add_set(p, &(struct given_set){ 7, 1, 1, DESIRED("1", "2"), -1 });
	assert_string_equal(planned(p), "v3=1 status ");
	assert_true(str_eqz(annotation(p->sets[0].tree, DEPLOYMENT_REVISION), "8"));
	assert_true(str_eqz(annotation(p->sets[0].tree, DEPLOYMENT_REVISION_HISTORY), "3"));
	planner_free(p);
}

static void a_long_history_loses_its_beginning(void **state UNUSED)
{
	struct planner *p = planner_new("", "", "");
	struct buf history = BUF_INIT(16 * KIB);
	struct json *set = parsed(p, "{\"metadata\":{\"annotations\":{}}}");
	struct str after;

	for (int i = 1; buf_str(&history).n < DEPLOYMENT_HISTORY_MAX - 8; i++)
		(void)buf_printf(&history, "%s%d", i > 1 ? "," : "", i);
	(void)deployment_annotate(&p->arena, set, DEPLOYMENT_REVISION, STR("123456789"));
	(void)deployment_annotate(&p->arena, set, DEPLOYMENT_REVISION_HISTORY, buf_str(&history));
	assert_true(deployment_set_annotate(&p->arena, set, p->tree, 123456790));
	after = annotation(set, DEPLOYMENT_REVISION_HISTORY);
	assert_in_range(after.n, DEPLOYMENT_HISTORY_MAX - 16, DEPLOYMENT_HISTORY_MAX);
	assert_true(str_ends(after, STR(",123456789")));
	assert_false(str_starts(after, STR("1,")));
	/* A revision that is no number stays. */
	(void)deployment_annotate(&p->arena, set, DEPLOYMENT_REVISION, STR("seven"));
	assert_false(deployment_set_annotate(&p->arena, set, p->tree, 9));
	buf_release(&history);
	planner_free(p);
}

static void old_sets_beyond_the_limit_are_deleted(void **state UNUSED)
{
	static const struct given_set sets[] = {
		{ 3, 2, 2, DESIRED("2", "3"), -1 },
		{ 2, 0, 0, NULL, -1 },
		{ 4, 0, 0, NULL, 1 },
		{ 5, 0, 0, NULL, -1 },
		{ 1, 0, 0, NULL, -1 },
	};
	static const struct {
		const char *limit, *expected;
	} cases[] = {
		{ "\"revisionHistoryLimit\":4", "v3=2 " },
		{ "\"revisionHistoryLimit\":2", "v3=2 -v1 -v2 " },
		/* One that still has pods is not deleted. */
		{ "\"revisionHistoryLimit\":0", "v3=2 -v1 -v2 -v5 " },
		{ "\"revisionHistoryLimit\":2147483647", "v3=2 " },
		{ "\"revisionHistoryLimit\":-7", "v3=2 -v1 -v2 -v5 " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char spec[256];
		struct planner *p;

		(void)snprintf(spec, sizeof(spec), ",\"replicas\":2,%s" ROLLING("1", "0"),
			       cases[i].limit);
		p = planner_new(spec,
				"\"replicas\":2,\"updatedReplicas\":2,\"availableReplicas\":2,"
				"\"observedGeneration\":1",
				"");
		for (size_t k = 0; k < ARRAY_SIZE(sets); k++)
			add_set(p, &sets[k]);
		(void)planned(p);
		assert_int_equal(strncmp(p->summary, cases[i].expected, strlen(cases[i].expected)),
				 0);
		assert_ptr_equal(strstr(p->summary + strlen(cases[i].expected), "-v"), NULL);
		planner_free(p);
	}
}

/* --- conditions ------------------------------------------------------------------------------ */

#define PROGRESSING(status, reason, time)                                                          \
	"\"conditions\":[{\"type\":\"Progressing\",\"status\":\"" status "\",\"reason\":\"" reason \
	"\",\"lastUpdateTime\":\"" time "\",\"lastTransitionTime\":\"1970-01-01T00:00:01Z\"}]"
#define COUNTS "\"replicas\":2,\"updatedReplicas\":2,\"readyReplicas\":1,\"availableReplicas\":1,"
#define LATE   "1970-01-01T00:06:39Z" /* 601 s before NOW */
#define SOON   "1970-01-01T00:06:41Z"

static const struct {
	const char *spec, *status;
	struct given_set sets[2];
	const char *reason;
} progress[] = {
	{ "," UNTIL, "", { { 0 } }, "NewReplicaSetCreated" },
	{ "", "", { { 0 } }, "-" },
	{ ",\"progressDeadlineSeconds\":2147483647", "", { { 0 } }, "-" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS "\"observedGeneration\":1",
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "FoundNewReplicaSet" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("True", "NewReplicaSetCreated", SOON),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "NewReplicaSetCreated" },
	{ ",\"replicas\":2," UNTIL,
	  PROGRESSING("True", "NewReplicaSetCreated", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "ReplicaSetUpdated" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("True", "ReplicaSetUpdated", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "ProgressDeadlineExceeded" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("True", "ReplicaSetUpdated", SOON),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "ReplicaSetUpdated" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("True", "ReplicaSetUpdated", "nonsense"),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "ProgressDeadlineExceeded" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("False", "ProgressDeadlineExceeded", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "ProgressDeadlineExceeded" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("False", "ProgressDeadlineExceeded", LATE),
	  { { 3, 2, 2, DESIRED("2", "2"), -1 } },
	  "NewReplicaSetAvailable" },
	/* A rollout that is over does not time out when a pod dies. */
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("True", "NewReplicaSetAvailable", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "NewReplicaSetAvailable" },
	/* Pauses. */
	{ ",\"replicas\":2,\"paused\":true," UNTIL,
	  COUNTS PROGRESSING("True", "ReplicaSetUpdated", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "DeploymentPaused" },
	{ ",\"replicas\":2," UNTIL,
	  COUNTS PROGRESSING("Unknown", "DeploymentPaused", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "DeploymentResumed" },
	{ ",\"replicas\":2,\"paused\":true," UNTIL,
	  COUNTS PROGRESSING("False", "ProgressDeadlineExceeded", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "ProgressDeadlineExceeded" },
	{ ",\"replicas\":2",
	  COUNTS PROGRESSING("True", "ReplicaSetUpdated", LATE),
	  { { 3, 2, 1, DESIRED("2", "2"), -1 } },
	  "-" },
};

static void progress_is_reported(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(progress); i++) {
		struct planner *p = planner_new(progress[i].spec, progress[i].status, "");

		if (progress[i].sets[0].version)
			add_set(p, &progress[i].sets[0]);
		(void)planned(p);
		if (strcmp(reason_of(p, "Progressing"), progress[i].reason) != 0)
			fail_msg("case %zu: %s", i, reason_of(p, "Progressing"));
		planner_free(p);
	}
}

static void the_deadline_is_checked_in_time(void **state UNUSED)
{
	struct planner *p = planner_new(
		",\"replicas\":2," UNTIL,
		COUNTS PROGRESSING("True", "ReplicaSetUpdated", "1970-01-01T00:10:00Z"), "");

	add_set(p, &(struct given_set){ 3, 2, 1, DESIRED("2", "2"), -1 });
	(void)planned(p);
	/* 400 s ago, so 200 s are left, and one second more. */
	assert_int_equal(p->plan.check_after_ns, INT64_C(201000000000));
	planner_free(p);
}

static void a_status_that_is_right_is_not_written(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":2," UNTIL, "", "");
	struct planner *q;
	struct buf status = BUF_INIT(16 * KIB);

	add_set(p, &(struct given_set){ 3, 2, 2, DESIRED("2", "2"), -1 });
	assert_string_equal(planned(p), "status ");
	(void)json_print(&status, json_getz(p->tree, "status"), NULL);
	q = planner_new(",\"replicas\":2," UNTIL, "",
			",\"annotations\":{\"deployment.kubernetes.io/revision\":\"3\"}");
	json_setz(q->tree, "status", parsed(q, buf_str(&status).p));
	add_set(q, &(struct given_set){ 3, 2, 2, DESIRED("2", "2"), -1 });
	assert_string_equal(planned(q), "");
	buf_release(&status);
	planner_free(p);
	planner_free(q);
}

static void failures_of_sets_are_shown(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":2", "", "");
	const struct json *c;

	add_set(p, &(struct given_set){ 3, 2, 1, DESIRED("2", "2"), -1 });
	json_setz(json_getz(p->sets[0].tree, "status"), "conditions",
		  parsed(p, "[{\"type\":\"ReplicaFailure\",\"status\":\"True\",\"reason\":"
			    "\"FailedCreate\",\"message\":\"quota\",\"lastTransitionTime\":"
			    "\"1970-01-01T00:00:07Z\"}]"));
	(void)planned(p);
	c = deployment_find_condition(json_getz(p->tree, "status"), "ReplicaFailure");
	assert_true(str_eqz(json_text_at(c, "message"), "quota"));
	assert_true(str_eqz(json_text_at(c, "lastUpdateTime"), "1970-01-01T00:00:07Z"));
	(void)json_remove(json_getz(p->sets[0].tree, "status"), STR("conditions"));
	(void)planned(p);
	assert_string_equal(reason_of(p, "ReplicaFailure"), "-");
	assert_string_equal(reason_of(p, "Available"), "MinimumReplicasAvailable");
	planner_free(p);
}

/* --- special cases --------------------------------------------------------------------------- */

static void an_empty_selector_only_warns(void **state UNUSED)
{
	struct planner *p = planner_new("", "", "");

	json_setz(json_getz(p->tree, "spec"), "selector", parsed(p, "{}"));
	assert_string_equal(planned(p), "status ");
	assert_string_equal(p->plan.warnings->reason, "SelectingAll");
	assert_string_equal(planned(p), "");
	planner_free(p);
}

static void a_deleted_deployment_only_gets_its_status(void **state UNUSED)
{
	struct planner *p = planner_new(",\"replicas\":5", "", "");

	p->owner.deleting = true;
	add_set(p, &(struct given_set){ 3, 2, 2, DESIRED("5", "5"), -1 });
	assert_string_equal(planned(p), "status ");
	planner_free(p);
}

static void the_rollback_annotation_restores_a_template(void **state UNUSED)
{
	static const struct {
		const char *to, *warning;
		int64_t version;
	} cases[] = {
		{ "1", NULL, 1 },
		{ "0", NULL, 2 },
		{ "3", "DeploymentRollbackTemplateUnchanged", 3 },
		{ "9", "DeploymentRollbackRevisionNotFound", 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char meta[160];
		struct planner *p;
		const struct json *spec;

		(void)snprintf(meta, sizeof(meta),
			       ",\"annotations\":{\"" DEPLOYMENT_ROLLBACK_TO "\":\"%s\"}",
			       cases[i].to);
		p = planner_new(",\"replicas\":1", "", meta);
		add_set(p, &(struct given_set){ 3, 1, 1, DESIRED("1", "1"), -1 });
		add_set(p, &(struct given_set){ .version = 2 });
		add_set(p, &(struct given_set){ .version = 1 });
		assert_string_equal(planned(p), "update ");
		assert_null(annotation(p->tree, DEPLOYMENT_ROLLBACK_TO).p);
		spec = json_getz(json_getz(p->tree, "spec"), "template");
		assert_int_equal(json_i64_at(json_getz(spec, "spec"), "v", 0), cases[i].version);
		if (cases[i].warning)
			assert_string_equal(p->plan.warnings->reason, cases[i].warning);
		else
			assert_string_equal(p->plan.writes->reason, "DeploymentRollback");
		planner_free(p);
	}
}

static void nonsense_is_survived(void **state UNUSED)
{
	static const char *const sets[] = {
		"{}",
		"{\"metadata\":7,\"spec\":[],\"status\":\"x\"}",
		"{\"metadata\":{\"name\":\"a\",\"annotations\":[]},\"spec\":{\"replicas\":-1,"
		"\"template\":"
		"{\"spec\":{\"v\":3},\"metadata\":{\"labels\":{\"app\":\"web\"}}}}}",
		"{\"metadata\":{\"name\":\"b\",\"annotations\":{\"" DEPLOYMENT_REVISION
		"\":\"9223372036854775807\"}},\"spec\":{\"replicas\":9223372036854775807},"
		"\"status\":{\"replicas\":-5,\"availableReplicas\":1e3,\"conditions\":[7,null]}}",
	};
	static const char *const specs[] = {
		"",
		",\"replicas\":-5",
		",\"replicas\":2147483647,\"strategy\":7",
		",\"paused\":\"x\",\"revisionHistoryLimit\":\"x\"",
		RECREATE,
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct planner *p = planner_new(specs[i], "\"conditions\":[{}],\"replicas\":[]",
						"");

		for (size_t k = 0; k < ARRAY_SIZE(sets); k++) {
			p->sets[k].tree = parsed(p, sets[k]);
			deployment_set_read(&p->sets[k]);
			p->pointers[p->n++] = &p->sets[k];
		}
		(void)planned(p);
		planner_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_step_follows_from_the_state),
		cmocka_unit_test(pods_that_run_keep_recreate_waiting),
		cmocka_unit_test(a_set_that_is_behind_keeps_recreate_waiting),
		cmocka_unit_test(events_say_what_was_scaled),
		cmocka_unit_test(the_new_set_gets_the_next_revision),
		cmocka_unit_test(an_old_set_that_is_new_again_remembers_its_revision),
		cmocka_unit_test(a_long_history_loses_its_beginning),
		cmocka_unit_test(old_sets_beyond_the_limit_are_deleted),
		cmocka_unit_test(progress_is_reported),
		cmocka_unit_test(the_deadline_is_checked_in_time),
		cmocka_unit_test(a_status_that_is_right_is_not_written),
		cmocka_unit_test(failures_of_sets_are_shown),
		cmocka_unit_test(an_empty_selector_only_warns),
		cmocka_unit_test(a_deleted_deployment_only_gets_its_status),
		cmocka_unit_test(the_rollback_annotation_restores_a_template),
		cmocka_unit_test(nonsense_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
