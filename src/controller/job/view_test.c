/*
 * Decisions on a Job and its pods, as tables. A pod is a letter: "r" runs and is ready, "p" is
 * pending, "s" succeeded, "f" failed, "d" is being deleted. Its index may follow. A "-" after it
 * says that its finalizer is gone, and "*N" that its index failed N times before it.
 */
#include "controller/job/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/time/timestamp.h"
#include "controller/pods/owned.h"

#define START "2026-01-01T00:00:00Z"

struct view_case {
	const char *spec, *status, *pods; /* members of the spec and status; pods as above */
	int64_t after_s; /* since the start */
	bool unexpected; /* the cache does not show all yet */
	/* Expected: the end that is decided at once, and its reason. */
	const char *end, *reason;
	size_t created, removed;
	const char *indexes; /* of the pods to create */
	int64_t wait_s; /* the timer, or 0 */
	/* After counting, if all requests succeed. */
	const char *uncounted; /* "succeeded failed": numbers */
	const char *condition; /* the last one in the status */
	size_t release;
};

static int64_t start_ns(void)
{
	int64_t ns;

	assert_int_equal(timestamp_parse(STR(START), &ns, NULL), 0);
	return ns;
}

static struct json *view_tree(struct arena *a, const char *text)
{
	struct json *v = NULL;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static const char *status_of(char kind)
{
	switch (kind) {
	case 'r':
		return "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
		       "\"True\"}]";
	case 's':
		return "\"phase\":\"Succeeded\"";
	case 'f':
		return "\"phase\":\"Failed\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
		       "\"False\",\"lastTransitionTime\":\"" START "\"}]";
	default:
		return "\"phase\":\"Pending\"";
	}
}

static struct job_pod pod_of(struct arena *a, const struct job_spec *spec, struct str word,
			     size_t number)
{
	struct str index = STR_NULL, failures = str_skip(word, 1);
	bool released = str_chr(word, '-') >= 0;
	const char *notes;
	struct job_pod p;

	(void)str_split(&failures, '*', &index);
	index = str_of(index.p, index.n - (released && index.n ? 1 : 0));
	notes = index.n ? arena_printf(a,
				       ",\"annotations\":{\"" JOB_INDEX
				       "\":\"%.*s\",\"" JOB_INDEX_FAILURES "\":\"%.*s\"}",
				       STR_ARG(index), STR_ARG(failures))
			: "";
	p = job_pod_read(
		a, spec,
		view_tree(a, arena_printf(
				     a,
				     "{\"metadata\":{\"name\":\"p%zu\",\"uid\":\"u%zu\"%s%s%s},"
				     "\"status\":{%s}}",
				     number, number, notes,
				     word.p[0] == 'd' ? ",\"deletionTimestamp\":\"" START "\"" : "",
				     released ? "" : ",\"finalizers\":[\"" JOB_FINALIZER "\"]",
				     status_of(word.p[0]))));
	p.held = p.finalizer;
	return p;
}

static void view_of(struct job_view *v, struct arena *a, const struct view_case *c)
{
	struct str rest = str_from(c->pods), word;

	job_view_init(v, a,
		      view_tree(a, arena_printf(a,
						"{\"spec\":{%s},\"status\":{\"startTime\":\"" START
						"\"%s%s}}",
						c->spec, c->status[0] ? "," : "", c->status)),
		      start_ns() + c->after_s * CLOCK_SEC);
	v->pods = ARENA_ARRAY(a, struct job_pod, rest.n + 1);
	while (rest.n > 0 && str_split(&rest, ' ', &word)) {
		v->pods[v->n] = pod_of(a, &v->spec, word, v->n);
		v->n++;
	}
	v->expected = !c->unexpected;
	job_view_pods(v);
}

static bool same_word(const char *is, const char *wanted)
{
	return strcmp(is ? is : "", wanted ? wanted : "") == 0;
}

/* Makes the changes that the requests would make. */
static void pretend(struct job_view *v)
{
	for (size_t i = 0; v->end.type && i < v->n; i++) {
		v->active -= v->pods[i].active;
		v->terminating += v->pods[i].active;
		v->ready -= v->pods[i].active && v->pods[i].ready;
	}
	for (size_t i = 0; i < v->nremoved; i++) {
		v->removed[i]->held = false;
		v->active--;
		v->terminating++;
		v->ready -= v->removed[i]->ready;
	}
	v->active += (int64_t)v->created;
}

static const char *last_condition(const struct job_view *v)
{
	const char *last = "";

	JSON_FOREACH (it, json_getz(v->status, "conditions"))
		last = arena_strdup(v->arena, json_text_at(it, "type"));
	return last;
}

static void check_after(struct job_view *v, const struct view_case *c, size_t i)
{
	const struct json *list;
	const char *counts;

	pretend(v);
	job_settle(v);
	job_track(v);
	list = json_getz(v->status, "uncountedTerminatedPods");
	counts = arena_printf(v->arena, "%zu %zu", json_count(json_getz(list, "succeeded")),
			      json_count(json_getz(list, "failed")));
	if (!same_word(counts, c->uncounted ? c->uncounted : "0 0"))
		fail_msg("case %zu: uncounted %s", i, counts);
	if (!same_word(last_condition(v), c->condition))
		fail_msg("case %zu: condition %s", i, last_condition(v));
	if (v->nrelease != c->release)
		fail_msg("case %zu: releases %zu", i, v->nrelease);
}

static void check_case(const struct view_case *c, size_t i)
{
	struct job_indexes set;
	struct job_view v;
	struct arena a;

	arena_init(&a, 16 * MIB);
	view_of(&v, &a, c);
	job_assess(&v);
	job_manage(&v);
	if (!same_word(v.end.type, c->end) || (c->reason && !str_eqz(v.end.reason, c->reason)))
		fail_msg("case %zu: %s because %.*s", i, v.end.type ? v.end.type : "no end",
			 STR_ARG(v.end.reason));
	if (v.created != c->created || v.nremoved != c->removed)
		fail_msg("case %zu: creates %zu, removes %zu", i, v.created, v.nremoved);
	set = job_indexes_of(&a, v.indexes, v.indexes ? v.created : 0);
	if (c->indexes && !str_eqz(job_indexes_print(&a, &set), c->indexes))
		fail_msg("case %zu: indexes %.*s", i, STR_ARG(job_indexes_print(&a, &set)));
	if (v.check_after_ns / CLOCK_SEC != c->wait_s)
		fail_msg("case %zu: waits %lld", i, (long long)(v.check_after_ns / CLOCK_SEC));
	check_after(&v, c, i);
	job_view_release(&v);
	arena_release(&a);
}

static void check_cases(const struct view_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check_case(&cases[i], i);
}

#define COUNTS(c, p) "\"completions\":" c ",\"parallelism\":" p

static void pods_are_created_and_deleted(void **state UNUSED)
{
	static const struct view_case cases[] = {
		{ COUNTS("5", "2"), "", "", .created = 2 },
		{ COUNTS("5", "2"), "", "r", .created = 1 },
		{ COUNTS("5", "2"), "", "r r r r", .removed = 2 },
		{
			COUNTS("5", "2"),
			"",
			"r p",
		},
		{ COUNTS("1", "9"), "", "", .created = 1 },
		{
			COUNTS("5", "2"),
			"\"succeeded\":4",
			"r",
		},
		{ COUNTS("5", "2"), "\"succeeded\":4", "", .created = 1 },
		{ COUNTS("5", "2"), "", "s", .created = 2, .uncounted = "1 0", .release = 1 },
		{ COUNTS("5", "2"), "", "s-", .created = 2 },
		{ COUNTS("5", "2"), "\"succeeded\":3", "r s", .uncounted = "1 0", .release = 1 },
		{ COUNTS("5", "2"), "", "", .unexpected = true },
		{ COUNTS("5", "2"), "", "r r r", .unexpected = true },
		{ COUNTS("2000", "1000"), "", "", .created = 500 },
		{ COUNTS("5", "0"), "", "r r", .removed = 2 },
		{ "\"parallelism\":3", "", "", .created = 3 },
		{ "\"parallelism\":3", "", "r r s", .uncounted = "1 0", .release = 1 },
		{
			"\"parallelism\":3",
			"\"succeeded\":1",
			"r",
		},
		/* One that is being deleted is replaced at once, or when it has ended. */
		{ COUNTS("5", "1"), "", "d", .after_s = 100, .created = 1, .uncounted = "0 1",
		  .release = 1 },
		{ COUNTS("5", "1") ",\"podReplacementPolicy\":\"Failed\"", "", "d",
		  .after_s = 100 },
		{ COUNTS("5", "2") ",\"podReplacementPolicy\":\"Failed\"", "", "d", .after_s = 100,
		  .created = 1 },
		/* Nonsense. */
		{ COUNTS("-5", "-2"), "", "", .condition = "SuccessCriteriaMet" },
		{ COUNTS("\"x\"", "\"y\""), "\"succeeded\":-7,\"failed\":99999999999999", "",
		  .end = "FailureTarget", .condition = "FailureTarget" },
		{ "", "\"uncountedTerminatedPods\":7,\"conditions\":[3]", "r" },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

static void failures_wait_and_end(void **state UNUSED)
{
	static const struct view_case cases[] = {
		{ COUNTS("5", "2"), "", "f", .wait_s = 10, .uncounted = "0 1", .release = 1 },
		{ COUNTS("5", "2"), "", "f f", .wait_s = 20, .uncounted = "0 2", .release = 2 },
		{ COUNTS("5", "2"), "", "f", .after_s = 11, .created = 2, .uncounted = "0 1",
		  .release = 1 },
		{ COUNTS("5", "2") ",\"backoffLimit\":1", "", "f f r", .end = "FailureTarget",
		  .reason = "BackoffLimitExceeded", .uncounted = "0 3",
		  .condition = "FailureTarget", .release = 3 },
		{ COUNTS("5", "2") ",\"backoffLimit\":0", "\"failed\":1", "",
		  .end = "FailureTarget", .reason = "BackoffLimitExceeded",
		  .condition = "FailureTarget" },
		/* Not all pods may be known: the end waits. */
		{ COUNTS("5", "2") ",\"backoffLimit\":0", "", "f r", .unexpected = true,
		  .end = "FailureTarget", .uncounted = "0 1", .release = 1 },
		{ COUNTS("5", "2") ",\"activeDeadlineSeconds\":60", "", "r r", .after_s = 20,
		  .wait_s = 40 },
		{ COUNTS("5", "2") ",\"activeDeadlineSeconds\":60", "", "r r", .after_s = 60,
		  .end = "FailureTarget", .reason = "DeadlineExceeded", .uncounted = "0 2",
		  .condition = "FailureTarget", .release = 2 },
		{ COUNTS("5", "2") ",\"activeDeadlineSeconds\":9223372036854775807", "", "r r",
		  .after_s = 1000, .wait_s = 999000 },
		{ COUNTS("5", "1") ",\"suspend\":true,\"activeDeadlineSeconds\":60", "", "",
		  .after_s = 100, .condition = "Suspended" },
		/* An end that was announced stays. */
		{ COUNTS("1", "1"),
		  "\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"True\",\"reason\":"
		  "\"X\"}]",
		  "s", .end = "Failed", .reason = "X", .uncounted = "1 0",
		  .condition = "FailureTarget", .release = 1 },
		{ COUNTS("2", "1") ",\"backoffLimit\":0",
		  "\"conditions\":[{\"type\":\"SuccessCriteriaMet\",\"status\":\"True\",\"reason\":"
		  "\"X\"}]",
		  "f", .end = "SuccessCriteriaMet", .reason = "X", .uncounted = "0 1",
		  .condition = "SuccessCriteriaMet", .release = 1 },
		/* Completion is decided after the requests. */
		{ COUNTS("2", "2"), "\"succeeded\":1", "s", .uncounted = "1 0",
		  .condition = "SuccessCriteriaMet", .release = 1 },
		{ COUNTS("1", "1"), "\"succeeded\":1", "r", .removed = 1,
		  .condition = "SuccessCriteriaMet" },
		{ COUNTS("0", "1"), "", "", .condition = "SuccessCriteriaMet" },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

#define INDEXED(c, p) COUNTS(c, p) ",\"completionMode\":\"Indexed\""
#define EACH(c, p, n) INDEXED(c, p) ",\"backoffLimitPerIndex\":" n ",\"backoffLimit\":2147483647"

static void indexes_are_kept_apart(void **state UNUSED)
{
	static const struct view_case cases[] = {
		{ INDEXED("5", "3"), "", "", .created = 3, .indexes = "0-2" },
		{ INDEXED("5", "3"), "", "r1", .created = 2, .indexes = "0,2" },
		{ INDEXED("5", "3"), "\"completedIndexes\":\"0,2\"", "r1", .created = 2,
		  .indexes = "3,4" },
		{ INDEXED("5", "3"), "\"completedIndexes\":\"0,2\"", "s1", .created = 2,
		  .indexes = "3,4", .release = 1 },
		/* Repeated, unknown and too large indexes go. */
		{ INDEXED("5", "3"), "", "r0 r0 r1", .removed = 1 },
		{ INDEXED("5", "3"), "", "r r7 r1", .removed = 2 },
		{ INDEXED("5", "3"), "", "s0 s0", .created = 3, .indexes = "1-3", .release = 2 },
		{ INDEXED("2", "2"), "", "s0 s1", .condition = "SuccessCriteriaMet", .release = 2 },
		{ INDEXED("2", "2"), "", "s7 s", .created = 2, .indexes = "0,1", .release = 2 },
		{ INDEXED("3", "3"), "", "f1 r0 r2", .wait_s = 10, .uncounted = "0 1",
		  .release = 1 },
		/* The failed pod stays until its index is tried again. */
		{ EACH("3", "3", "1"), "", "f1*0 r0 r2", .wait_s = 10 },
		{ EACH("3", "3", "1"), "", "f1*0 r0 r2", .after_s = 20, .created = 1,
		  .indexes = "1" },
		{ EACH("3", "3", "1"), "", "f1*0 r1*1 r0 r2", .uncounted = "0 1", .release = 1 },
		{ EACH("3", "3", "1"), "", "f1*1 r0 r2", .uncounted = "0 1", .release = 1 },
		{ EACH("3", "3", "1"), "\"failedIndexes\":\"1\",\"completedIndexes\":\"0\"", "s2",
		  .end = "FailureTarget", .reason = "FailedIndexes", .condition = "FailureTarget",
		  .release = 1 },
		{ EACH("9", "3", "0") ",\"maxFailedIndexes\":1", "", "f0 f4 r2",
		  .end = "FailureTarget", .reason = "MaxFailedIndexesExceeded", .uncounted = "0 3",
		  .condition = "FailureTarget", .release = 3 },
		{ INDEXED("3", "3") ",\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"1\"}]}",
		  "", "s1 r0 r2", .end = "SuccessCriteriaMet", .reason = "SuccessPolicy",
		  .condition = "SuccessCriteriaMet", .release = 3 },
		{ INDEXED("1000000000", "2"), "\"completedIndexes\":\"0-999999990\"", "",
		  .created = 2, .indexes = "999999991,999999992" },
		{ INDEXED("3", "2"), "\"completedIndexes\":\"2-1,x,-4,7\"", "", .created = 2,
		  .indexes = "0,1" },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

static void suspension_deletes_and_resumes(void **state UNUSED)
{
	static const char suspended[] =
		"\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"}]";
	static const struct view_case cases[] = {
		{ COUNTS("5", "2") ",\"suspend\":true", "", "r r", .removed = 2,
		  .condition = "Suspended" },
		{ COUNTS("5", "2") ",\"suspend\":true", suspended, "", .condition = "Suspended" },
		{ COUNTS("5", "2"), suspended, "", .created = 2, .condition = "Suspended" },
		/* Not before the cache shows all pods. */
		{ COUNTS("5", "2") ",\"suspend\":true", "", "r r", .unexpected = true },
	};
	struct job_view v;
	struct arena a;

	check_cases(cases, ARRAY_SIZE(cases));
	arena_init(&a, MIB);
	view_of(&v, &a, &cases[0]);
	job_assess(&v);
	job_manage(&v);
	pretend(&v);
	job_settle(&v);
	assert_string_equal(v.event, "Suspended");
	assert_null(json_getz(v.status, "startTime"));
	job_view_release(&v);
	view_of(&v, &a, &cases[2]);
	v.now_ns += 50 * CLOCK_SEC;
	job_assess(&v);
	job_manage(&v);
	pretend(&v);
	job_settle(&v);
	assert_string_equal(v.event, "Resumed");
	assert_true(str_eqz(json_text_at(v.status, "startTime"), "2026-01-01T00:00:50Z"));
	job_view_release(&v);
	arena_release(&a);
}

/* --- counting -------------------------------------------------------------------------------- */

static void a_uid_becomes_a_number_when_its_finalizer_is_gone(void **state UNUSED)
{
	static const struct view_case c = {
		COUNTS("9", "1"),
		"\"succeeded\":1,\"failed\":2,\"uncountedTerminatedPods\":{\"succeeded\":[\"u0\","
		"\"u1\","
		"\"gone\"],\"failed\":[\"u2\",\"u3\"]}",
		"s s- f f-", .after_s = 1000
	};
	const struct json *list;
	struct job_view v;
	struct arena a;

	arena_init(&a, MIB);
	view_of(&v, &a, &c);
	job_assess(&v);
	/* Those in the list are not counted again. */
	assert_int_equal(v.succeeded, 4);
	assert_int_equal(v.failed, 4);
	job_track(&v);
	list = json_getz(v.status, "uncountedTerminatedPods");
	assert_int_equal(json_i64_at(v.status, "succeeded", 0), 3);
	assert_int_equal(json_i64_at(v.status, "failed", 0), 3);
	assert_int_equal(json_count(json_getz(list, "succeeded")), 1);
	assert_int_equal(json_count(json_getz(list, "failed")), 1);
	assert_int_equal(v.nrelease, 2);
	assert_false(job_enact(&v));
	v.pods[0].held = v.pods[2].held = false;
	assert_true(job_count(&v));
	assert_false(job_count(&v));
	assert_int_equal(json_i64_at(v.status, "succeeded", 0), 4);
	assert_int_equal(json_i64_at(v.status, "failed", 0), 4);
	job_view_release(&v);
	arena_release(&a);
}

/* The server rejects a Job that completes before it starts, and such a Job would never end. */
static void a_job_never_completes_before_its_start(void **state UNUSED)
{
	struct view_case c = { COUNTS("1", "1"), "\"succeeded\":1", "", .after_s = -3600 };
	struct job_view v;
	struct arena a;

	arena_init(&a, MIB);
	view_of(&v, &a, &c);
	job_assess(&v);
	job_manage(&v);
	job_settle(&v);
	job_track(&v);
	assert_true(job_enact(&v));
	assert_true(str_eqz(json_text_at(v.status, "completionTime"), START));
	job_view_release(&v);
	arena_release(&a);
}

/* A suspended Job has no start time, and the server rejects an end without one. */
static void a_suspended_job_that_ends_has_started(void **state UNUSED)
{
	struct view_case c = { COUNTS("2", "2") ",\"suspend\":true",
			       "\"conditions\":[{\"type\":\"FailureTarget\",\"status\":\"True\"}]",
			       "", .after_s = 30 };
	struct job_view v;
	struct arena a;

	arena_init(&a, MIB);
	view_of(&v, &a, &c);
	(void)json_remove(v.status, STR("startTime"));
	job_assess(&v);
	job_manage(&v);
	job_settle(&v);
	job_track(&v);
	assert_true(job_enact(&v));
	assert_true(str_eqz(json_text_at(v.status, "startTime"), "2026-01-01T00:00:30Z"));
	job_view_release(&v);
	arena_release(&a);
}

static void a_node_whose_clock_is_ahead_delays_the_back_off_no_longer(void **state UNUSED)
{
	struct view_case c = { COUNTS("1", "1"), "", "f", .after_s = 10 };
	struct job_view v;
	struct arena a;

	arena_init(&a, MIB);
	view_of(&v, &a, &c);
	v.pods[0].end_ns = v.now_ns + 3600 * CLOCK_SEC;
	job_assess(&v);
	assert_int_equal(v.backoff.failures, 1);
	assert_int_equal(v.backoff.last_ns, v.now_ns);
	job_view_release(&v);
	arena_release(&a);
}

/* A status has at most 500 uids; the rest waits for the next check. */
static void many_pods_are_counted_in_parts(void **state UNUSED)
{
	static char pods[2 * 1200 + 1];
	struct view_case c = { COUNTS("1200", "1200"), "", pods, .after_s = 1000 };
	struct job_view v;
	struct arena a;

	for (size_t i = 0; i < 1200; i++)
		memcpy(pods + 2 * i, "s ", 2);
	pods[2 * 1200 - 1] = '\0';
	arena_init(&a, 64 * MIB);
	view_of(&v, &a, &c);
	assert_int_equal(v.n, 1200);
	job_assess(&v);
	job_manage(&v);
	job_settle(&v);
	job_track(&v);
	assert_int_equal(v.nrelease, JOB_UNCOUNTED_MAX);
	for (size_t i = 0; i < v.nrelease; i++)
		v.release[i]->held = false;
	assert_true(job_count(&v));
	assert_int_equal(json_i64_at(v.status, "succeeded", 0), JOB_UNCOUNTED_MAX);
	assert_false(job_enact(&v));
	job_view_release(&v);
	arena_release(&a);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* The rest of the name is five letters; labels hold 63. */
static void a_long_name_leaves_room_for_the_index(void **state UNUSED)
{
	struct owner owner = { .api_version = STR("batch/v1"),
			       .kind = STR("Job"),
			       .uid = STR("u") };
	struct job_pod replaced = { .index_failures = 2, .verdict = { .action = JOB_IGNORE } };
	struct job_spec spec = { .indexed = true, .per_index = true };
	const struct json *pod, *meta;
	char name[100];
	struct arena a;

	arena_init(&a, MIB);
	memset(name, 'x', sizeof(name));
	owner.name = str_of(name, sizeof(name));
	spec.template = view_tree(&a, "{\"spec\":{\"containers\":[{\"name\":\"a\",\"env\":[{"
				      "\"name\":\"JOB_COMPLETION_INDEX\",\"value\":\"own\"}]}]}}");
	pod = job_pod_make(&a, &spec, &owner, 12, &replaced);
	meta = json_getz(pod, "metadata");
	assert_int_equal(json_text_at(meta, "generateName").n, 58);
	assert_true(str_ends(json_text_at(meta, "generateName"), STR("x-12-")));
	assert_true(str_eqz(json_text_at(json_getz(meta, "annotations"), JOB_INDEX_FAILURES), "2"));
	assert_true(str_eqz(json_text_at(json_getz(meta, "annotations"), JOB_INDEX_IGNORED), "1"));
	/* A variable of the user's own stays. */
	assert_int_equal(json_count(json_pointer(pod, STR("/spec/containers/0/env"))), 1);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_are_created_and_deleted),
		cmocka_unit_test(failures_wait_and_end),
		cmocka_unit_test(indexes_are_kept_apart),
		cmocka_unit_test(suspension_deletes_and_resumes),
		cmocka_unit_test(a_uid_becomes_a_number_when_its_finalizer_is_gone),
		cmocka_unit_test(a_job_never_completes_before_its_start),
		cmocka_unit_test(a_suspended_job_that_ends_has_started),
		cmocka_unit_test(a_node_whose_clock_is_ahead_delays_the_back_off_no_longer),
		cmocka_unit_test(many_pods_are_counted_in_parts),
		cmocka_unit_test(a_long_name_leaves_room_for_the_index),
	};

	return cmocka_run_group_tests_name("controller/job_view", tests, NULL, NULL);
}
