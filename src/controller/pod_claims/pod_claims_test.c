/*
 * Pods' claims against a fake API server: created, written to the status, reserved, released, and
 * each created once whatever happens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/informer/informer.h"
#include "controller/pod_claims/pod_claims.h"
#include "controller/run/controller_world.h"

#define PODS   "/api/v1/namespaces/n/pods"
#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims"

#define GPU       "{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t\"}"
#define FINALIZER ",\"finalizers\":[\"resource.kubernetes.io/delete-protection\"]"

struct bench {
	struct controller_world *w;
	struct pod_claims *claims;
	struct metrics *metrics;
};

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->w->ctx.metrics = b->metrics;
	b->claims = pod_claims_new(&b->w->ctx, &(struct pod_claims_opts){ 0 });
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	pod_claims_free(TAKE(b->claims));
	controller_world_stop(b->w);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	metrics_free(b->metrics);
}

static void run(struct bench *b)
{
	controller_world_run(b->w, 3000);
}

static void add_template(struct bench *b)
{
	fakeapi_add(b->w->api, "resourceclaimtemplates", "n", "t", "",
		    ",\"spec\":{\"metadata\":{\"labels\":{\"l\":\"1\"}},\"spec\":{\"devices\":{"
		    "\"requests\":[{\"name\":\"r\"}]}}}");
}

/* `spec` and `status` are members; the uid is "u-NAME". */
static void add_pod(struct bench *b, const char *name, const char *spec, const char *status)
{
	char meta[64], rest[512];

	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"u-%s\"", name);
	(void)snprintf(rest, sizeof(rest), ",\"spec\":{%s},\"status\":{%s}", spec, status);
	fakeapi_add(b->w->api, "pods", "n", name, meta, rest);
}

static void add_gpu_pod(struct bench *b, const char *name)
{
	add_pod(b, name, "\"resourceClaims\":[" GPU "]", "");
}

/* An allocated claim of a user's, reserved for the entries in `users`. */
static void add_used_claim(struct bench *b, const char *name, const char *users)
{
	char rest[512];

	(void)snprintf(rest, sizeof(rest),
		       ",\"status\":{\"allocation\":{\"x\":1},\"reservedFor\":[%s]}", users);
	fakeapi_add(b->w->api, "resourceclaims", "n", name, FINALIZER, rest);
}

static void patch(struct bench *b, const char *target, const char *change)
{
	int status = fakeapi_call(b->w->api, "PATCH", target, str_from(change), NULL);

	if (status != 200)
		fail_msg("%s: %d", target, status);
}

static void delete_it(struct bench *b, const char *target)
{
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
}

static size_t count_claims(struct bench *b)
{
	return fakeapi_count(b->w->api, "resourceclaims");
}

static const char *the_claims_name(struct bench *b)
{
	assert_int_equal(count_claims(b), 1);
	return fakeapi_name_at(b->w->api, "resourceclaims", 0);
}

static void assert_claim(struct bench *b, const char *name, const char *text, bool has)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "resourceclaims", "n", name);

	if (!o)
		fail_msg("there is no claim %s", name);
	else if ((strstr(o->text, text) != NULL) != has)
		fail_msg("%s %s: %s", has ? "there is no" : "there is", text, o->text);
}

/* Whether the pod's status has this claim. */
static bool is_told(struct bench *b, const char *pod, const char *claim)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "{\"name\":\"gpu\",\"resourceClaimName\":\"%s\"}",
		       claim);
	return fakeapi_has(b->w->api, "pods", "n", pod, text);
}

/* --- creating -------------------------------------------------------------------------------- */

static void a_pod_gets_its_claim_and_is_told(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1) };
	uint64_t writes;

	add_template(&b);
	add_gpu_pod(&b, "a");
	add_pod(&b, "plain", "\"containers\":[]", "");
	bench_start(&b);
	run(&b);
	assert_true(strncmp(the_claims_name(&b), "a-gpu-", 6) == 0);
	assert_claim(&b, the_claims_name(&b), "\"labels\":{\"l\":\"1\"}", true);
	assert_claim(&b, the_claims_name(&b), "\"uid\":\"u-a\"", true);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	/* Irrelevant changes cost nothing, now and after a restart. */
	writes = b.w->api->writes;
	patch(&b, PODS "/a", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
	run(&b);
	bench_stop(&b);
	bench_start(&b);
	run(&b);
	assert_int_equal(b.w->api->writes, writes);
	bench_release(&b);
}

static void all_claims_of_a_pod_are_told_at_once(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(2) };

	add_template(&b);
	add_pod(&b, "a",
		"\"resourceClaims\":[" GPU ",{\"name\":\"own\",\"resourceClaimName\":\"mine\"},"
		"{\"name\":\"nic\",\"resourceClaimTemplateName\":\"t\"},"
		"{\"name\":\"not\",\"resourceClaimTemplateName\":\"t\"}]",
		"\"resourceClaimStatuses\":[{\"name\":\"not\"}]");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_claims(&b), 2);
	assert_true(fakeapi_has(b.w->api, "pods", "n", "a", "\"resourceClaimName\":\"a-gpu-"));
	assert_true(fakeapi_has(b.w->api, "pods", "n", "a", "\"resourceClaimName\":\"a-nic-"));
	assert_int_equal(b.w->api->writes, 3);
	bench_release(&b);
}

static size_t count_created(struct bench *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->w->api->log.n; i++) {
		const struct fakeapi_event *e = &b->w->api->log.v[i];

		n += strcmp(e->kind->resource, "resourceclaims") == 0 &&
		     strcmp(e->type, "ADDED") == 0;
	}
	return n;
}

static void a_claim_that_the_watch_has_not_shown_is_not_created_again(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(3) };

	add_template(&b);
	bench_start(&b);
	run(&b);
	fakeapi_hold_back(b.w->api, "resourceclaims");
	add_gpu_pod(&b, "a");
	run(&b);
	/* As if the pod's status had never been written. */
	patch(&b, PODS "/a", "{\"status\":null}");
	run(&b);
	assert_int_equal(count_created(&b), 1);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_int_equal(count_created(&b), 1);
	bench_release(&b);
}

static void a_claim_that_was_made_but_not_told_is_found(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(4) };

	add_template(&b);
	add_gpu_pod(&b, "a");
	/* Created by somebody else: any name is accepted. */
	fakeapi_add(b.w->api, "resourceclaims", "n", "earlier",
		    ",\"annotations\":{\"resource.kubernetes.io/pod-claim-name\":\"gpu\"},"
		    "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\","
		    "\"uid\":\"u-a\",\"controller\":true}]",
		    "");
	bench_start(&b);
	run(&b);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	assert_string_equal(the_claims_name(&b), "earlier");
	bench_release(&b);
}

static void a_name_that_is_taken_is_left_to_its_owner(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(5) };
	char name[64];

	add_template(&b);
	add_gpu_pod(&b, "a");
	bench_start(&b);
	run(&b);
	(void)snprintf(name, sizeof(name), "%s", the_claims_name(&b));
	bench_stop(&b);
	delete_it(&b, CLAIMS);
	fakeapi_add(b.w->api, "resourceclaims", "n", name, "", ",\"spec\":{\"theirs\":true}");
	patch(&b, PODS "/a", "{\"status\":null}");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_claims(&b), 2);
	assert_claim(&b, name, "\"theirs\":true", true);
	assert_false(is_told(&b, "a", name));
	assert_true(fakeapi_has(b.w->api, "pods", "n", "a", "\"resourceClaimName\":\"a-gpu-"));
	bench_release(&b);
}

static void assert_event(struct bench *b, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX);

	(void)fakeapi_call(b->w->api, "GET", "/api/v1/namespaces/n/events", STR_NULL, &out);
	if (!strstr(out.p, text))
		fail_msg("no %s in %s", text, out.p);
	buf_release(&out);
}

static void a_missing_template_is_told_and_waited_for(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(6) };

	add_gpu_pod(&b, "a");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_claims(&b), 0);
	assert_event(&b, "\"reason\":\"FailedResourceClaimCreation\"");
	assert_event(&b, "PodResourceClaim gpu: resource claim template \\\"t\\\": "
			 "resourceclaimtemplate.resource.k8s.io \\\"t\\\" not found");
	/* After such a long wait the next attempt would be minutes away. */
	controller_world_run(b.w, 600 * 1000);
	add_template(&b);
	controller_world_run(b.w, 500);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	bench_release(&b);
}

static void a_claim_that_somebody_deleted_comes_back(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(7) };

	add_template(&b);
	add_gpu_pod(&b, "a");
	bench_start(&b);
	run(&b);
	delete_it(&b, CLAIMS);
	run(&b);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	bench_release(&b);
}

/* --- reserving and releasing ----------------------------------------------------------------- */

static void a_pod_that_is_on_a_node_gets_its_allocated_claims_reserved(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(8) };

	add_used_claim(&b, "c", "{\"resource\":\"others\",\"name\":\"o\",\"uid\":\"o\"}");
	add_used_claim(&b, "d", "");
	add_pod(&b, "waits", "\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"c\"}]",
		"");
	add_pod(&b, "a",
		"\"nodeName\":\"n1\",\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":"
		"\"c\"},{\"name\":\"z\",\"resourceClaimName\":\"none\"},{\"name\":\"y\","
		"\"resourceClaimName\":\"d\"}]",
		"");
	bench_start(&b);
	run(&b);
	assert_claim(&b, "c",
		     "\"reservedFor\":[{\"resource\":\"others\",\"name\":\"o\",\"uid\":\"o\"},"
		     "{\"resource\":\"pods\",\"name\":\"a\",\"uid\":\"u-a\"}]",
		     true);
	assert_claim(&b, "d",
		     "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"a\",\"uid\":\"u-a\"}]",
		     true);
	bench_release(&b);
}

#define USER(pod) "{\"resource\":\"pods\",\"name\":\"" pod "\",\"uid\":\"u-" pod "\"}"
#define USES_C \
	"\"nodeName\":\"n1\",\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"c\"}]"

static void users_that_go_are_taken_out_and_the_last_frees_the_claim(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(9) };

	add_pod(&b, "a", USES_C, "");
	add_pod(&b, "b", USES_C, "");
	add_used_claim(&b, "c", USER("a") "," USER("b"));
	add_used_claim(&b, "never", "");
	bench_start(&b);
	run(&b);
	/* It ends, and is removed when its node confirms. */
	delete_it(&b, PODS "/a");
	run(&b);
	assert_claim(&b, "c", USER("a"), true);
	patch(&b, PODS "/a", "{\"spec\":{\"nodeName\":null}}");
	run(&b);
	assert_claim(&b, "c", USER("a"), false);
	assert_claim(&b, "c", USER("b"), true);
	assert_claim(&b, "c", "\"allocation\"", true);
	assert_claim(&b, "c", "delete-protection", true);
	patch(&b, PODS "/b", "{\"status\":{\"phase\":\"Succeeded\"}}");
	run(&b);
	assert_claim(&b, "c", "\"reservedFor\"", false);
	assert_claim(&b, "c", "\"allocation\"", false);
	assert_claim(&b, "c", "delete-protection", false);
	/* A claim that was never used stays allocated. */
	assert_claim(&b, "never", "\"allocation\"", true);
	bench_release(&b);
}

static void users_are_looked_at_again_after_a_new_start(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(10) };

	add_pod(&b, "a", USES_C, "");
	add_used_claim(&b, "c",
		       USER("a") "," USER("gone") ",{\"apiGroup\":\"x.io\",\"resource\":\"pods\","
						  "\"name\":\"z\",\"uid\":\"z\"}");
	/* Replaced by another of its name. */
	add_used_claim(&b, "d", "{\"resource\":\"pods\",\"name\":\"a\",\"uid\":\"earlier\"}");
	bench_start(&b);
	run(&b);
	assert_claim(&b, "c", USER("a"), true);
	assert_claim(&b, "c", USER("gone"), false);
	assert_claim(&b, "c", "x.io", true);
	assert_claim(&b, "d", "\"allocation\"", false);
	bench_release(&b);
}

static void a_pod_that_the_watch_has_not_told_of_keeps_its_claim(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(11) };

	bench_start(&b);
	run(&b);
	fakeapi_hold_back(b.w->api, "pods");
	add_pod(&b, "a", USES_C, "");
	add_used_claim(&b, "c", USER("a"));
	run(&b);
	assert_claim(&b, "c", USER("a"), true);
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_claim(&b, "c", USER("a"), true);
	bench_release(&b);
}

/*
 * The server says that the pod exists. It is deleted before the watch begins again, so the watch
 * shows neither it nor its end. Found in the simulated cluster by SIM_SEED=7000201 SIM_STEPS=500;
 * 988020 ended in the same way.
 */
static void a_pod_that_came_and_went_unseen_frees_its_claim(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(18) };

	bench_start(&b);
	run(&b);
	fakeapi_hold_back(b.w->api, "pods");
	add_pod(&b, "a", USES_C, "");
	add_used_claim(&b, "c", USER("a"));
	run(&b);
	assert_claim(&b, "c", USER("a"), true);
	patch(&b, PODS "/a", "{\"spec\":{\"nodeName\":null}}");
	delete_it(&b, PODS "/a");
	assert_null(fakeapi_find(b.w->api, "pods", "n", "a"));
	fakeapi_forget_past(b.w->api);
	fakeapi_catch_up(b.w->api);
	controller_world_run(b.w, 30000);
	assert_claim(&b, "c", "\"allocation\"", false);
	bench_release(&b);
}

/*
 * The last version of the pod in the watch is older than the status that names its claim. Found in
 * the simulated cluster by SIM_SEED=5000461.
 */
static void a_pod_whose_claim_was_never_seen_in_its_status_frees_it(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(19) };
	char target[128];

	add_template(&b);
	bench_start(&b);
	run(&b);
	add_pod(&b, "a", "\"nodeName\":\"n1\",\"resourceClaims\":[" GPU "]", "");
	while (fakeapi_count(b.w->api, "resourceclaims") == 0)
		assert_true(sim_step(b.w->sim));
	fakeapi_hold_back(b.w->api, "pods");
	run(&b);
	(void)snprintf(target, sizeof(target), CLAIMS "/%s", the_claims_name(&b));
	patch(&b, target,
	      "{\"metadata\":{\"finalizers\":[\"resource.kubernetes.io/delete-protection\"]},"
	      "\"status\":{\"allocation\":{\"x\":1},\"reservedFor\":[" USER("a") "]}}");
	run(&b);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	patch(&b, PODS "/a", "{\"spec\":{\"nodeName\":null}}");
	delete_it(&b, PODS "/a");
	fakeapi_forget_past(b.w->api);
	fakeapi_catch_up(b.w->api);
	controller_world_run(b.w, 30000);
	assert_claim(&b, the_claims_name(&b), "\"allocation\"", false);
	bench_release(&b);
}

/* The watch still shows the previous pod of that name. */
static void a_new_pod_of_a_name_keeps_its_claim_while_the_watch_shows_the_old_one(
	void **state UNUSED)
{
	static const char second[] = "{\"resource\":\"pods\",\"name\":\"a\",\"uid\":\"second\"}";
	struct bench b = { .w = controller_world_new(13) };

	add_pod(&b, "a", USES_C, "");
	bench_start(&b);
	run(&b);
	fakeapi_hold_back(b.w->api, "pods");
	patch(&b, PODS "/a", "{\"spec\":{\"nodeName\":null}}");
	delete_it(&b, PODS "/a");
	fakeapi_add(b.w->api, "pods", "n", "a", ",\"uid\":\"second\"", "");
	add_used_claim(&b, "c", second);
	fakeapi_add(b.w->api, "resourceclaims", "n", "d",
		    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\","
		    "\"uid\":\"second\",\"controller\":true}]",
		    "");
	run(&b);
	assert_claim(&b, "c", second, true);
	assert_claim(&b, "c", "\"allocation\"", true);
	assert_claim(&b, "d", "\"ownerReferences\"", true);
	bench_release(&b);
}

static void a_pod_that_was_replaced_unseen_frees_its_claim(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(12) };

	add_pod(&b, "a", USES_C, "");
	add_used_claim(&b, "c", USER("a"));
	bench_start(&b);
	run(&b);
	fakeapi_hold_back(b.w->api, "pods");
	patch(&b, PODS "/a", "{\"spec\":{\"nodeName\":null}}");
	delete_it(&b, PODS "/a");
	fakeapi_add(b.w->api, "pods", "n", "a", ",\"uid\":\"second\"", "");
	fakeapi_forget_past(b.w->api);
	fakeapi_catch_up(b.w->api);
	controller_world_run(b.w, 30000);
	assert_claim(&b, "c", "\"allocation\"", false);
	bench_release(&b);
}

/* --- going ----------------------------------------------------------------------------------- */

static void the_claim_of_a_finished_pod_goes_and_stays_away(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(13) };
	char target[128];

	add_template(&b);
	add_pod(&b, "a", "\"nodeName\":\"n1\",\"resourceClaims\":[" GPU "]", "");
	bench_start(&b);
	run(&b);
	(void)snprintf(target, sizeof(target), CLAIMS "/%s", the_claims_name(&b));
	patch(&b, target,
	      "{\"metadata\":{\"finalizers\":[\"resource.kubernetes.io/delete-protection\"]},"
	      "\"status\":{\"allocation\":{\"x\":1}}}");
	run(&b);
	assert_claim(&b, the_claims_name(&b), USER("a"), true);
	patch(&b, PODS "/a", "{\"status\":{\"phase\":\"Failed\"}}");
	controller_world_run(b.w, 60000);
	assert_int_equal(count_claims(&b), 0);
	assert_int_equal(count_created(&b), 1);
	bench_release(&b);
}

static void a_claim_under_deletion_goes_when_nobody_uses_it(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(14) };

	add_pod(&b, "a", USES_C, "");
	add_used_claim(&b, "c", USER("a"));
	add_used_claim(&b, "d", "");
	bench_start(&b);
	run(&b);
	delete_it(&b, CLAIMS "/c");
	delete_it(&b, CLAIMS "/d");
	run(&b);
	assert_null(fakeapi_find(b.w->api, "resourceclaims", "n", "d"));
	assert_claim(&b, "c", "\"allocation\"", true);
	patch(&b, PODS "/a", "{\"status\":{\"phase\":\"Failed\"}}");
	run(&b);
	assert_int_equal(count_claims(&b), 0);
	bench_release(&b);
}

static void claims_for_extended_resources_go_with_their_pod(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(15) };

	add_pod(&b, "a", "\"nodeName\":\"n1\"",
		"\"extendedResourceClaimStatus\":{\"resourceClaimName\":\"e\"}");
	fakeapi_add(
		b.w->api, "resourceclaims", "n", "e",
		FINALIZER
		",\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":\"true\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\","
		"\"uid\":\"u-a\",\"controller\":true}]",
		",\"status\":{\"allocation\":{\"x\":1},\"reservedFor\":[" USER("a") "]}");
	bench_start(&b);
	run(&b);
	assert_claim(&b, "e", USER("a"), true);
	patch(&b, PODS "/a", "{\"status\":{\"phase\":\"Succeeded\"}}");
	run(&b);
	assert_int_equal(count_claims(&b), 0);
	bench_release(&b);
}

static void a_server_without_claims_is_no_failure(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(17) };

	b.w->api->hide_claims = true;
	add_template(&b);
	add_gpu_pod(&b, "a");
	bench_start(&b);
	assert_false(pod_claims_synced(b.claims));
	run(&b);
	assert_true(pod_claims_synced(b.claims));
	assert_true(informers_synced(b.w->ctx.informers));
	assert_int_equal(count_claims(&b), 0);
	/* The server was upgraded. */
	b.w->api->hide_claims = false;
	controller_world_run(b.w, 60000);
	assert_true(is_told(&b, "a", the_claims_name(&b)));
	bench_release(&b);
}

/* --- counting -------------------------------------------------------------------------------- */

static void assert_metric(struct bench *b, const char *line)
{
	struct buf out = BUF_INIT(MIB);

	assert_int_equal(metrics_print(b->metrics, &out), 0);
	if (!strstr(out.p, line))
		fail_msg("no %s in %s", line, out.p);
	buf_release(&out);
}

#define THERE   "dynamic_resource_allocation_resource_claims{"
#define CREATED "dynamic_resource_allocation_resourceclaim_creates_total{"

static void metrics_tell_what_claims_there_are(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(16), .metrics = metrics_new() };

	add_template(&b);
	add_gpu_pod(&b, "a");
	add_gpu_pod(&b, "b");
	add_used_claim(&b, "c", "{\"resource\":\"others\",\"name\":\"o\",\"uid\":\"o\"}");
	fakeapi_add(
		b.w->api, "resourceclaims", "n", "d", "",
		",\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{\"adminAccess\":true}}]}}");
	bench_start(&b);
	run(&b);
	assert_metric(&b, THERE "allocated=\"false\",admin_access=\"false\",source=\""
				"resource_claim_template\"} 2\n");
	assert_metric(&b, THERE "allocated=\"true\",admin_access=\"false\",source=\"\"} 1\n");
	assert_metric(&b, THERE "allocated=\"false\",admin_access=\"true\",source=\"\"} 1\n");
	assert_metric(&b, CREATED "status=\"success\",admin_access=\"false\",owner_api_group=\"\","
				  "owner_api_kind=\"Pod\"} 2\n");
	assert_metric(&b, "workqueue_depth{name=\"resource_claim\"} 0\n");
	patch(&b, CLAIMS "/d", "{\"status\":{\"allocation\":{}}}");
	patch(&b, CLAIMS "/c", "{\"metadata\":{\"finalizers\":[]}}");
	delete_it(&b, CLAIMS "/c");
	run(&b);
	assert_metric(&b, THERE "allocated=\"true\",admin_access=\"true\",source=\"\"} 1\n");
	assert_metric(&b, THERE "allocated=\"true\",admin_access=\"false\",source=\"\"} 0\n");
	bench_release(&b);
}

/* --- random failures ------------------------------------------------------------------------- */

enum { CHAOS_PODS = 12 };

/*
 * There were never two claims for one pod: the claims of a deleted pod are removed before others
 * are created.
 */
static void assert_never_two(struct bench *b)
{
	int live[CHAOS_PODS] = { 0 };

	for (size_t i = 0; i < b->w->api->log.n; i++) {
		const struct fakeapi_event *e = &b->w->api->log.v[i];
		int pod;

		if (strcmp(e->kind->resource, "resourceclaims") != 0 ||
		    sscanf(strrchr(e->key, '/') + 1, "p%d-gpu-", &pod) != 1)
			continue;
		if (strcmp(e->type, "ADDED") == 0)
			live[pod]++;
		else if (strcmp(e->type, "DELETED") == 0)
			live[pod]--;
		if (live[pod] > 1)
			fail_msg("two claims of p%02d", pod);
	}
}

static void assert_all_told(struct bench *b)
{
	for (int i = 0; i < CHAOS_PODS; i++) {
		char name[16], text[64];

		(void)snprintf(name, sizeof(name), "p%02d", i);
		(void)snprintf(text, sizeof(text), "\"resourceClaimName\":\"%s-gpu-", name);
		if (!fakeapi_has(b->w->api, "pods", "n", name, text))
			fail_msg("%s was not told", name);
	}
	assert_int_equal(count_claims(b), CHAOS_PODS);
}

static void it_comes_right_whatever_fails(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct bench b = { .w = controller_world_new(seed) };

		add_template(&b);
		bench_start(&b);
		b.w->api->fail = 0.3;
		for (int i = 0; i < CHAOS_PODS; i++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "p%02d", i);
			add_gpu_pod(&b, name);
			controller_world_run(b.w, (int64_t)(seed + (uint64_t)i) % 7);
			(void)sim_break_conns(b.w->sim, 0.5);
			if (i % 3 != 0)
				continue;
			bench_stop(&b);
			bench_start(&b);
		}
		b.w->api->fail = 0;
		controller_world_run(b.w, 120000);
		assert_all_told(&b);
		assert_never_two(&b);
		bench_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_gets_its_claim_and_is_told),
		cmocka_unit_test(all_claims_of_a_pod_are_told_at_once),
		cmocka_unit_test(a_claim_that_the_watch_has_not_shown_is_not_created_again),
		cmocka_unit_test(a_claim_that_was_made_but_not_told_is_found),
		cmocka_unit_test(a_name_that_is_taken_is_left_to_its_owner),
		cmocka_unit_test(a_missing_template_is_told_and_waited_for),
		cmocka_unit_test(a_claim_that_somebody_deleted_comes_back),
		cmocka_unit_test(a_pod_that_is_on_a_node_gets_its_allocated_claims_reserved),
		cmocka_unit_test(users_that_go_are_taken_out_and_the_last_frees_the_claim),
		cmocka_unit_test(users_are_looked_at_again_after_a_new_start),
		cmocka_unit_test(a_pod_that_the_watch_has_not_told_of_keeps_its_claim),
		cmocka_unit_test(a_pod_that_came_and_went_unseen_frees_its_claim),
		cmocka_unit_test(a_pod_whose_claim_was_never_seen_in_its_status_frees_it),
		cmocka_unit_test(
			a_new_pod_of_a_name_keeps_its_claim_while_the_watch_shows_the_old_one),
		cmocka_unit_test(a_pod_that_was_replaced_unseen_frees_its_claim),
		cmocka_unit_test(the_claim_of_a_finished_pod_goes_and_stays_away),
		cmocka_unit_test(a_claim_under_deletion_goes_when_nobody_uses_it),
		cmocka_unit_test(claims_for_extended_resources_go_with_their_pod),
		cmocka_unit_test(a_server_without_claims_is_no_failure),
		cmocka_unit_test(metrics_tell_what_claims_there_are),
		cmocka_unit_test(it_comes_right_whatever_fails),
	};

	return cmocka_run_group_tests_name("controller/pod_claims", tests, NULL, NULL);
}
