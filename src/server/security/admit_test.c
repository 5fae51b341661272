/*
 * PodSecurity in the whole path of a write: rejections, warnings, namespaces, drafts, exemptions.
 */
#include "server/security/admit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/security/security.h"
#include "server/testing/verb_world.h"

#define NAMESPACES  "/api/v1/namespaces"
#define PODS        "/api/v1/namespaces/team/pods"
#define LABEL(name) "\"pod-security.kubernetes.io/" name "\":"

static struct json *namespace(struct verb_world *w, const char *labels, int status)
{
	return verb_world_call(w, "POST", NAMESPACES,
			       arena_printf(&w->arena,
					    "{\"metadata\":{\"name\":\"team\",\"labels\":{%s}}}",
					    labels),
			       status);
}

/* `299 - "a \"b\""` as `a "b"`, one per line. */
static void show_warnings(const char *headers, char *to)
{
	for (const char *from = headers; *from; from++) {
		if (from == headers || from[-1] == '\n')
			from += strlen("299 - \"");
		if (*from == '\\')
			*to++ = *++from;
		else if (*from != '"')
			*to++ = *from;
	}
	*to = '\0';
}

/* Returns the reply; the warnings are in `warnings`. */
static struct json *ask_for(struct verb_world *w, const char *method, const char *target,
			    const char *type, const char *body, int status,
			    char warnings[static 2048])
{
	struct verb_ask ask = {
		.method = method, .target = target, .content_type = type, .body = body
	};
	struct json *got = verb_world_ask(w, &ask);

	if (ask.status != status)
		print_message("# %d: %.*s\n", ask.status, (int)ask.got.n, ask.got.p);
	assert_int_equal(ask.status, status);
	show_warnings(ask.warnings, warnings);
	verb_ask_release(&ask);
	return got;
}

static struct json *pod(struct verb_world *w, const char *name, const char *spec, int status,
			char warnings[static 2048])
{
	return ask_for(w, "POST", PODS, "application/json",
		       arena_printf(&w->arena,
				    "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{"
				    "\"name\":\"c\",\"image\":\"i\"}]%s}}",
				    name, spec),
		       status, warnings);
}

#define HOST ",\"hostNetwork\":true"

static long used_drafts(struct verb_world *w)
{
	return verb_world_metric(w, "devplane_write_drafts_total{result=\"used\"}");
}

static void a_violation_is_rejected(void **state)
{
	struct verb_world *w = *state;
	struct json *got;
	long used;
	char warnings[2048];

	(void)namespace(w, LABEL("enforce") "\"baseline\"", 201);
	for (int lane = 0; lane < 2; lane++) {
		const char *name = lane ? "b" : "a";

		verb_world_choose(w, (unsigned)lane);
		got = pod(w, "bad", HOST, 403, warnings);
		assert_string_equal(verb_world_text(w, got, "/message"),
				    "pods \"bad\" is forbidden: violates PodSecurity "
				    "\"baseline:latest\": host namespaces (hostNetwork=true)");
		assert_string_equal(verb_world_text(w, got, "/reason"), "Forbidden");
		assert_string_equal(warnings, "");
		used = used_drafts(w);
		verb_world_choose(w, (unsigned)lane);
		(void)pod(w, name, "", 201, warnings);
		assert_string_equal(warnings, "");
		/* The second lane's are drafts; the state decides those that are rejected. */
		assert_int_equal(used_drafts(w) - used, lane);
	}
}

static void a_violation_is_a_warning(void **state)
{
	struct verb_world *w = *state;
	char warnings[2048];

	(void)namespace(w, LABEL("warn") "\"baseline\"," LABEL("warn-version") "\"v1.30\"", 201);
	(void)pod(w, "a", HOST, 201, warnings);
	assert_string_equal(warnings, "would violate PodSecurity \"baseline:v1.30\": host "
				      "namespaces (hostNetwork=true)\n");
	(void)ask_for(
		w, "POST", "/apis/apps/v1/namespaces/team/deployments", "application/json",
		"{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":"
		"\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
		"\"hostPID\":true,\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
		201, warnings);
	assert_non_null(strstr(warnings, "would violate PodSecurity \"baseline:v1.30\": host "
					 "namespaces (hostPID=true)"));
}

static void a_generated_name_is_in_the_message(void **state)
{
	struct verb_world *w = *state;
	struct json *got;
	const char *message;

	(void)namespace(w, LABEL("enforce") "\"baseline\"", 201);
	got = verb_world_call(
		w, "POST", PODS,
		"{\"metadata\":{\"generateName\":\"web-\"},\"spec\":{\"hostPID\":true,"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
		403);
	message = verb_world_text(w, got, "/message");
	assert_memory_equal(message, "pods \"web-", 10);
	assert_non_null(strstr(message, "\" is forbidden: violates PodSecurity"));
}

static void templates_are_not_rejected(void **state)
{
	struct verb_world *w = *state;
	char warnings[2048];

	(void)namespace(w, LABEL("enforce") "\"restricted\"," LABEL("warn") "\"privileged\"", 201);
	(void)ask_for(
		w, "POST", "/apis/batch/v1/namespaces/team/jobs", "application/json",
		"{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"hostPID\":"
		"true,\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":"
		"\"i\"}]}}}}",
		201, warnings);
	assert_null(strstr(warnings, "PodSecurity"));
}

static void only_changes_that_matter_are_checked(void **state)
{
	static const char type[] = "application/merge-patch+json";
	struct verb_world *w = *state;
	char warnings[2048];

	(void)namespace(w, "", 201);
	(void)pod(w, "a", HOST, 201, warnings);
	(void)ask_for(w, "PATCH", NAMESPACES "/team", type,
		      "{\"metadata\":{\"labels\":{" LABEL("enforce") "\"baseline\"}}}", 200,
		      warnings);
	assert_string_equal(warnings,
			    "existing pods in namespace \"team\" violate the new PodSecurity "
			    "enforce level \"baseline:latest\"\na: host namespaces\n");
	(void)ask_for(w, "PATCH", PODS "/a", type, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", 200,
		      warnings);
	(void)ask_for(w, "PATCH", PODS "/a/status", type, "{\"status\":{\"phase\":\"Running\"}}",
		      200, warnings);
	(void)ask_for(w, "PATCH", PODS "/a", "application/strategic-merge-patch+json",
		      "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"other\"}]}}", 403,
		      warnings);
	(void)ask_for(w, "PATCH", PODS "/a/ephemeralcontainers",
		      "application/strategic-merge-patch+json",
		      "{\"spec\":{\"ephemeralContainers\":[{\"name\":\"e\",\"image\":\"i\"}]}}",
		      403, warnings);
}

static void labels_must_be_readable(void **state)
{
	static const char type[] = "application/merge-patch+json";
	struct verb_world *w = *state;
	struct json *got;
	char warnings[2048];

	got = namespace(w, LABEL("enforce") "\"strict\"", 422);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Namespace \"team\" is invalid: "
		"metadata.labels[pod-security.kubernetes.io/enforce]: "
		"Invalid value: \"strict\": must be one of privileged, baseline, restricted");
	(void)namespace(w, LABEL("enforce") "\"restricted\"", 201);
	(void)ask_for(w, "PATCH", NAMESPACES "/team", type,
		      "{\"metadata\":{\"labels\":{" LABEL("audit-version") "\"1.30\"}}}", 422,
		      warnings);
	(void)ask_for(w, "PATCH", NAMESPACES "/team", type,
		      "{\"metadata\":{\"labels\":{" LABEL("enforce") "\"baseline\"}}}", 200,
		      warnings);
	assert_string_equal(warnings, "");
}

static void existing_pods_are_counted_by_violation(void **state)
{
	struct verb_world *w = *state;
	char warnings[2048];

	(void)namespace(w, "", 201);
	for (int i = 0; i < 3; i++)
		(void)pod(w, arena_printf(&w->arena, "n%d", i), HOST, 201, warnings);
	(void)pod(w, "p", ",\"hostPID\":true,\"hostNetwork\":true", 201, warnings);
	(void)ask_for(w, "PATCH", NAMESPACES "/team", "application/merge-patch+json",
		      "{\"metadata\":{\"labels\":{" LABEL("enforce") "\"baseline\"}}}", 200,
		      warnings);
	assert_string_equal(warnings,
			    "existing pods in namespace \"team\" violate the new PodSecurity "
			    "enforce level \"baseline:latest\"\n"
			    "n0 (and 3 other pods): host namespaces\n");
}

static void the_check_of_existing_pods_is_bounded(void **state)
{
	struct verb_world *w = *state;
	char warnings[2048];

	(void)namespace(w, "", 201);
	for (int i = 0; i < 302; i++)
		(void)pod(w, arena_printf(&w->arena, "n%03d", i), HOST, 201, warnings);
	(void)ask_for(w, "PATCH", NAMESPACES "/team", "application/merge-patch+json",
		      "{\"metadata\":{\"labels\":{" LABEL("enforce") "\"baseline\"}}}", 200,
		      warnings);
	assert_string_equal(warnings,
			    "new PodSecurity enforce level only checked against the first 300 of "
			    "302 existing pods\n"
			    "existing pods in namespace \"team\" violate the new PodSecurity "
			    "enforce level \"baseline:latest\"\n"
			    "n000 (and 299 other pods): host namespaces\n");
}

static void the_exempt_are_not_checked(void **state)
{
	struct verb_world *w = *state;
	struct security_config *c = &w->server.security->config;
	struct str team = STR("team");
	char warnings[2048];

	(void)namespace(w, LABEL("enforce") "\"restricted\"", 201);
	(void)pod(w, "a", HOST, 403, warnings);
	c->namespaces = (struct security_exempt){ &team, 1 };
	(void)pod(w, "a", HOST, 201, warnings);
	assert_string_equal(warnings, "");
	(void)ask_for(w, "PATCH", NAMESPACES "/team", "application/merge-patch+json",
		      "{\"metadata\":{\"labels\":{" LABEL("enforce-version") "\"v1.30\"}}}", 200,
		      warnings);
	assert_string_equal(warnings, "namespace \"team\" is exempt from Pod Security, and the "
				      "policy (enforce=restricted:v1.30) "
				      "will be ignored\n");
	assert_int_equal(verb_world_metric(w, "pod_security_exemptions_total{request_operation="
					      "\"create\",resource=\"pod\",subresource=\"\"}"),
			 1);
}

/* Upstream's tests send such objects to see admission reject them. */
static void admission_comes_before_the_resource_version(void **state)
{
	struct verb_world *w = *state;

	(void)namespace(w, LABEL("enforce") "\"baseline\"", 201);
	for (unsigned i = 0; i < 4; i++) {
		const char *body = arena_printf(
			&w->arena,
			"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"},\"spec\":{"
			"\"hostNetwork\":%s,\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
			i < 2 ? "true" : "false");

		verb_world_choose(w, i % 2);
		(void)verb_world_call(w, "POST", PODS, body, i < 2 ? 403 : 400);
	}
}

static void defaults_apply_without_labels(void **state)
{
	struct verb_world *w = *state;
	struct security_config *c = &w->server.security->config;
	char warnings[2048];

	c->defaults.of[SECURITY_ENFORCE].level = SECURITY_BASELINE;
	(void)namespace(w, "", 201);
	(void)pod(w, "a", HOST, 403, warnings);
	(void)pod(w, "a", "", 201, warnings);
	assert_int_equal(
		verb_world_metric(w, "pod_security_evaluations_total{decision=\"deny\",policy_"
				     "level=\"baseline\",policy_version=\"latest\",mode="
				     "\"enforce\",request_operation=\"create\",resource=\"pod\","
				     "subresource=\"\"}"),
		1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, verb_world_set_up, verb_world_tear_down)
		T(a_violation_is_rejected),
		T(a_violation_is_a_warning),
		T(templates_are_not_rejected),
		T(a_generated_name_is_in_the_message),
		T(only_changes_that_matter_are_checked),
		T(labels_must_be_readable),
		T(existing_pods_are_counted_by_violation),
		T(the_check_of_existing_pods_is_bounded),
		T(the_exempt_are_not_checked),
		T(admission_comes_before_the_resource_version),
		T(defaults_apply_without_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
