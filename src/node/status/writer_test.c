/*
 * Statuses written to a server in a simulated world. It applies strategic patches as ours does,
 * keeps versions, and can be slow, away, or store something else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/patch/strategic.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/testing/api_world.h"
#include "node/status/writer.h"
#include "node/status/writer_patch.h"

enum { PODS = 110 };

struct world {
	struct api_world api;
	struct status_writer *writer;
	struct metrics *metrics;
	struct arena arena;
	struct json *pods[PODS]; /* as the server has them; NULL: missing */
	struct http_stream *held; /* a patch whose reply is delayed */
	char *held_body;
	bool hold;
	bool drops_pod_level, refuses_pod_level, refuses_all;
	int conflicts; /* number of patches that get a conflict first */
	int patches, deletes, looks;
	char last_patch[4096];
	/* Callbacks of the writer. */
	int written, refused;
	char last_written[2048], last_error[512];
	int refuse_code;
};

/* --- the server ------------------------------------------------------------------------------ */

static const char *pod_text(unsigned i)
{
	static char text[512];

	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"p%u\",\"namespace\":\"a\",\"uid\":\"u%u\","
		       "\"resourceVersion\":\"1\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]},"
		       "\"status\":{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\","
		       "\"resourceClaimStatuses\":[{\"name\":\"gpu\"}],\"conditions\":[{\"type\":"
		       "\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null}]}}",
		       i, i);
	return text;
}

static void bump(struct world *w, unsigned i)
{
	struct json *meta = json_getz(w->pods[i], "metadata");

	w->api.rv++;
	json_put_str(&w->arena, meta, "resourceVersion",
		     str_from(arena_printf(&w->arena, "%llu", (unsigned long long)w->api.rv)));
}

/* `field` of its cause, or NULL. */
static void reply_error_of(struct http_stream *s, int code, const char *reason, const char *message,
			   const char *field)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
		       "\"message\":\"%s\",\"details\":{\"kind\":\"pods\",\"causes\":[{\"reason\":"
		       "\"FieldValueInvalid\",\"field\":\"%s\"}]},\"code\":%d}",
		       reason, message, field ? field : "", code);
	api_world_reply(s, code, "application/json", body);
}

static void reply_error(struct http_stream *s, int code, const char *reason, const char *message)
{
	reply_error_of(s, code, reason, message, NULL);
}

static void reply_pod(struct http_stream *s, const struct json *pod)
{
	struct buf b = BUF_INIT(MIB);

	assert_int_equal(json_print(&b, pod, NULL), 0);
	api_world_reply(s, 200, "application/json", b.p);
	buf_release(&b);
}

static void apply(struct world *w, struct http_stream *s, unsigned i, struct str body)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("pods"));
	struct json *patch, *uid;

	assert_int_equal(json_parse(&w->arena, arena_str(&w->arena, body), NULL, &patch, NULL), 0);
	uid = json_pointer(patch, STR("/metadata/uid"));
	if (!str_eq(json_str(uid), json_text_at(json_getz(w->pods[i], "metadata"), "uid"))) {
		reply_error(s, 409, "Conflict", "Precondition failed");
		return;
	}
	if (w->conflicts > 0) {
		w->conflicts--;
		reply_error(s, 409, "Conflict", "pods \\\"UID\\\": the object has been modified");
		return;
	}
	if (w->refuses_all || (w->refuses_pod_level &&
			       json_pointer(patch, STR("/status/allocatedResourcesStatus")))) {
		if (w->refuses_all)
			reply_error_of(s, 422, "Invalid",
				       "no: a message about status.allocatedResourcesStatus",
				       "status.containerStatuses[0].allocatedResourcesStatus");
		else
			reply_error_of(s, 422, "Invalid", "no",
				       "status.allocatedResourcesStatus[0].name");
		return;
	}
	assert_int_equal(patch_strategic(&w->arena, &w->pods[i], kind->type, patch, NULL), 0);
	if (w->drops_pod_level)
		(void)json_remove(json_getz(w->pods[i], "status"), STR("allocatedResourcesStatus"));
	bump(w, i);
	reply_pod(s, w->pods[i]);
}

static void handle(struct api_world *api, struct http_stream *s, struct str body)
{
	struct world *w = api->data;
	unsigned i = 0;

	assert_int_equal(sscanf(s->in.path.p, "/api/v1/namespaces/a/pods/p%u", &i), 1);
	w->patches += str_eqz(s->in.method, "PATCH");
	w->deletes += str_eqz(s->in.method, "DELETE");
	w->looks += str_eqz(s->in.method, "GET");
	(void)snprintf(w->last_patch, sizeof(w->last_patch), "%.*s", STR_ARG(body));
	if (!w->pods[i]) {
		reply_error(s, 404, "NotFound", "pods not found");
	} else if (str_eqz(s->in.method, "DELETE")) {
		reply_pod(s, w->pods[i]);
		w->pods[i] = NULL;
	} else if (str_eqz(s->in.method, "GET")) {
		reply_pod(s, w->pods[i]);
	} else if (w->hold) {
		w->held = s;
		free(w->held_body);
		w->held_body = str_dup(body);
	} else {
		apply(w, s, i, body);
	}
}

static void let_go(struct world *w, unsigned i)
{
	apply(w, TAKE(w->held), i, str_from(w->held_body));
}

/* --- the node -------------------------------------------------------------------------------- */

static void on_written(void *arg, struct str uid UNUSED, const struct json *status)
{
	struct world *w = arg;
	struct buf b = BUF_INIT(MIB);

	w->written++;
	assert_int_equal(json_print(&b, status, NULL), 0);
	(void)snprintf(w->last_written, sizeof(w->last_written), "%s", b.p);
	buf_release(&b);
}

static void on_refused(void *arg, struct str uid UNUSED, const struct error *err)
{
	struct world *w = arg;

	w->refused++;
	(void)snprintf(w->last_error, sizeof(w->last_error), "%s", err->msg);
}

static struct world *world_with(const char *condition)
{
	struct world *w = XNEW(struct world);

	api_world_init(&w->api, &(struct sim_opts){ .seed = 7 }, HTTP_PROTOCOL_2);
	w->api.data = w;
	w->api.handler = handle;
	arena_init(&w->arena, REQUEST_WORK_MAX);
	for (unsigned i = 0; i < PODS; i++)
		assert_int_equal(json_parse(&w->arena, arena_str(&w->arena, str_from(pod_text(i))),
					    NULL, &w->pods[i], NULL),
				 0);
	w->metrics = metrics_new();
	w->writer = status_writer_new(&(struct status_writer_opts){ .loop = w->api.outside,
								    .client = w->api.client,
								    .condition = condition,
								    .on_written = on_written,
								    .on_refused = on_refused,
								    .metrics = w->metrics,
								    .arg = w });
	return w;
}

static struct world *world_new(void)
{
	return world_with(NULL);
}

static void world_free(struct world *w)
{
	status_writer_free(w->writer);
	api_world_release(&w->api);
	metrics_free(w->metrics);
	arena_release(&w->arena);
	free(w->held_body);
	free(w);
}

static struct pod *pod_now(struct world *w, unsigned i)
{
	struct buf b = BUF_INIT(MIB);
	struct pod *p;

	if (w->pods[i])
		assert_int_equal(json_print(&b, w->pods[i], NULL), 0);
	else
		assert_int_equal(buf_addz(&b, pod_text(i)), 0);
	assert_int_equal(pod_parse(buf_str(&b), &p, NULL), 0);
	buf_release(&b);
	return p;
}

static void set_at(struct world *w, unsigned i, const char *text)
{
	CLEANUP(pod_unref) struct pod *p = pod_now(w, i);
	struct json *status;

	assert_int_equal(
		json_parse(&w->arena, arena_str(&w->arena, str_from(text)), NULL, &status, NULL),
		0);
	status_writer_set(w->writer, p, status);
}

static void set(struct world *w, const char *text)
{
	set_at(w, 0, text);
}

static void seen(struct world *w)
{
	CLEANUP(pod_unref) struct pod *p = pod_now(w, 0);

	status_writer_seen(w->writer, p);
}

static void assert_status(struct world *w, unsigned i, const char *pointer, const char *text)
{
	struct str got = json_str(json_pointer(json_getz(w->pods[i], "status"), str_from(pointer)));

	if (!str_eqz(got, text))
		fail_msg("%s of pod %u is '%.*s', not '%s'", pointer, i, STR_ARG(got), text);
}

static bool settled(struct world *w)
{
	return status_writer_settled(w->writer, STR("u0"));
}

#define SCHEDULED "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null}"

static const char running[] =
	"{\"phase\":\"Running\",\"qosClass\":\"BestEffort\",\"conditions\":["
	"{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Yes\"}," SCHEDULED
	"],\"podIP\":\"10.0.0.2\",\"podIPs\":[{\"ip\":\"10.0.0.2\"}]}";

/* --- content of patches ---------------------------------------------------------------------- */

static void only_what_differs_is_sent_and_with_the_uid(void **state UNUSED)
{
	struct world *w = world_new();

	set(w, running);
	assert_false(settled(w));
	sim_run_for(w->api.sim, 1000);
	assert_string_equal(
		w->last_patch,
		"{\"metadata\":{\"uid\":\"u0\"},\"status\":{\"phase\":\"Running\",\"conditions\":"
		"[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Yes\"}],\"podIP\":"
		"\"10.0.0.2\",\"podIPs\":[{\"$patch\":\"replace\"},{\"ip\":\"10.0.0.2\"}]}}");
	assert_true(settled(w));
	assert_int_equal(w->written, 1);
	assert_string_equal(w->last_written, running);
	/* The server decides the order of merged lists. */
	assert_status(w, 0, "/conditions/0/type", "Ready");
	assert_status(w, 0, "/conditions/1/type", "PodScheduled");
	assert_status(w, 0, "/resourceClaimStatuses/0/name", "gpu");
	world_free(w);
}

static void conditions_that_are_no_longer_set_are_removed(void **state UNUSED)
{
	struct world *w = world_new();

	set(w, running);
	sim_run_for(w->api.sim, 1000);
	set(w, "{\"phase\":\"Running\",\"conditions\":[" SCHEDULED
	       ",{\"type\":\"Initialized\",\"status\":\"True\",\"reason\":\"x\"}],"
	       "\"podIPs\":[{\"ip\":\"10.0.0.3\"}],\"qosClass\":\"BestEffort\"}");
	sim_run_for(w->api.sim, 1000);
	set(w, "{\"phase\":\"Running\",\"conditions\":[" SCHEDULED
	       ",{\"type\":\"Initialized\",\"status\":\"True\"}],"
	       "\"podIPs\":[{\"ip\":\"10.0.0.3\"}],\"qosClass\":\"BestEffort\"}");
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->written, 3);
	assert_status(w, 0, "/podIP", "");
	assert_status(w, 0, "/podIPs/0/ip", "10.0.0.3");
	assert_status(w, 0, "/conditions/0/type", "Initialized");
	assert_status(w, 0, "/conditions/0/reason", "");
	assert_status(w, 0, "/conditions/1/type", "PodScheduled");
	assert_null(json_pointer(w->pods[0], STR("/status/conditions/2")));
	world_free(w);
}

static void a_status_that_the_server_has_is_not_sent(void **state UNUSED)
{
	struct world *w = world_new();

	set(w, "{\"phase\":\"Pending\",\"qosClass\":\"BestEffort\",\"containerStatuses\":[],"
	       "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}]}");
	assert_true(settled(w));
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 0);
	world_free(w);
}

/* --- requests -------------------------------------------------------------------------------- */

static void a_burst_ends_in_the_latest_with_one_patch_under_way(void **state UNUSED)
{
	struct world *w = world_new();
	char text[64];

	w->hold = true;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(text, sizeof(text), "{\"phase\":\"Running\",\"reason\":\"r%d\"}", i);
		set(w, text);
	}
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 1);
	w->hold = false;
	let_go(w, 0);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 2);
	assert_status(w, 0, "/reason", "r999");
	assert_int_equal(w->written, 2);
	assert_true(settled(w));
	assert_int_equal(status_writer_pending(w->writer), 0);
	world_free(w);
}

static void pods_do_not_wait_for_each_other(void **state UNUSED)
{
	struct world *w = world_new();
	int64_t begin;

	w->hold = true; /* no patch gets a reply */
	begin = loop_now(w->api.outside);
	for (unsigned i = 0; i < PODS; i++)
		set_at(w, i, running);
	sim_run_for(w->api.sim, 100);
	assert_int_equal(w->patches, PODS);
	assert_int_equal(status_writer_pending(w->writer), PODS);
	assert_true(loop_now(w->api.outside) - begin <= 100);
	w->held = NULL;
	world_free(w);
}

static void a_server_that_is_away_gets_the_latest_when_it_is_back(void **state UNUSED)
{
	struct world *w = world_new();

	api_world_crash(&w->api);
	set(w, running);
	sim_run_for(w->api.sim, 30000);
	assert_false(settled(w));
	set(w, "{\"phase\":\"Failed\",\"reason\":\"Evicted\"}");
	sim_run_for(w->api.sim, 30000);
	api_world_begin(&w->api);
	sim_run_for(w->api.sim, 6000);
	assert_true(settled(w));
	assert_int_equal(w->written, 1);
	assert_status(w, 0, "/reason", "Evicted");
	assert_status(w, 0, "/podIP", "");
	world_free(w);
}

/* --- other writers --------------------------------------------------------------------------- */

static void an_old_event_of_the_watch_changes_nothing(void **state UNUSED)
{
	struct world *w = world_new();
	CLEANUP(pod_unref) struct pod *old = pod_now(w, 0);

	set(w, running);
	sim_run_for(w->api.sim, 1000);
	status_writer_seen(w->writer, old);
	seen(w);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 1);
	world_free(w);
}

static void fields_of_the_agent_that_others_change_are_written_again(void **state UNUSED)
{
	struct world *w = world_new();

	set(w, running);
	sim_run_for(w->api.sim, 1000);
	json_put_str(&w->arena, json_getz(w->pods[0], "status"), "phase", STR("Unknown"));
	bump(w, 0);
	seen(w);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 2);
	assert_status(w, 0, "/phase", "Running");
	world_free(w);
}

#define TARGET(time)                                          \
	"{\"type\":\"DisruptionTarget\",\"status\":\"True\"," \
	"\"lastTransitionTime\":\"2024-01-01T00:00:" time "Z\"}"

static void put_target(struct world *w, const char *text)
{
	struct json *list = json_pointer(w->pods[0], STR("/status/conditions")), *c;

	assert_int_equal(
		json_parse(&w->arena, arena_str(&w->arena, str_from(text)), NULL, &c, NULL), 0);
	json_remove_at(list, 0);
	json_append(list, c);
	bump(w, 0);
	seen(w);
}

/* Two schedulers name one victim, and each sets the time. */
static void conditions_of_others_are_left_to_them(void **state UNUSED)
{
	struct world *w = world_new();

	put_target(w, TARGET("35"));
	set(w,
	    "{\"phase\":\"Failed\",\"qosClass\":\"BestEffort\",\"conditions\":[" TARGET("35") "]}");
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 1);
	put_target(w, TARGET("36"));
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 1);
	assert_true(settled(w));
	assert_status(w, 0, "/conditions/0/lastTransitionTime", "2024-01-01T00:00:36Z");
	world_free(w);
}

static void one_condition_alone_is_written_beside_another_agent(void **state UNUSED)
{
	struct world *w = world_with("devplane.dev/DevicesHealthy");

	put_target(w, TARGET("36")); /* another agent's */
	set(w, "{\"phase\":\"Failed\",\"podIP\":\"10.0.0.9\",\"conditions\":[{\"type\":\"Ready\","
	       "\"status\":\"False\"},{\"type\":\"devplane.dev/DevicesHealthy\",\"status\":"
	       "\"False\",\"message\":\"hot\"}]}");
	sim_run_for(w->api.sim, 1000);
	assert_string_equal(w->last_patch,
			    "{\"metadata\":{\"uid\":\"u0\"},\"status\":{\"conditions\":[{\"type\":"
			    "\"devplane.dev/DevicesHealthy\",\"status\":\"False\",\"message\":"
			    "\"hot\"}]}}");
	set(w, "{\"conditions\":[{\"type\":\"devplane.dev/DevicesHealthy\",\"status\":\"True\"}]}");
	sim_run_for(w->api.sim, 1000);
	assert_string_equal(w->last_patch,
			    "{\"metadata\":{\"uid\":\"u0\"},\"status\":{\"conditions\":[{\"type\":"
			    "\"devplane.dev/DevicesHealthy\",\"status\":\"True\",\"message\":"
			    "null}]}}");
	set(w, "{}");
	sim_run_for(w->api.sim, 1000);
	assert_string_equal(
		w->last_patch,
		"{\"metadata\":{\"uid\":\"u0\"},\"status\":{\"conditions\":[{\"$patch\":"
		"\"delete\",\"type\":\"devplane.dev/DevicesHealthy\"}]}}");
	assert_int_equal(w->patches, 3);
	assert_status(w, 0, "/phase", "Pending");
	world_free(w);
}

static void a_change_by_others_during_a_patch_is_not_lost(void **state UNUSED)
{
	struct world *w = world_new();

	w->hold = true;
	set(w, running);
	sim_run_for(w->api.sim, 1000);
	w->hold = false;
	let_go(w, 0);
	/* The reply is on its way; the watch is faster. */
	json_put_str(&w->arena, json_getz(w->pods[0], "status"), "podIP", STR("10.9.9.9"));
	bump(w, 0);
	seen(w);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 2);
	assert_status(w, 0, "/podIP", "10.0.0.2");
	world_free(w);
}

/* Applies the held patch without a reply. */
static void do_silently(struct world *w, unsigned i)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("pods"));
	struct json *patch;

	assert_int_equal(json_parse(&w->arena, arena_str(&w->arena, str_from(w->held_body)), NULL,
				    &patch, NULL),
			 0);
	assert_int_equal(patch_strategic(&w->arena, &w->pods[i], kind->type, patch, NULL), 0);
	bump(w, i);
	w->held = NULL;
}

/* A patch without a reply was applied after all: the server has a state that nobody wants. */
static void the_status_is_written_again_after_an_unanswered_patch(void **state UNUSED)
{
	struct world *w = world_new();

	set(w, running);
	sim_run_for(w->api.sim, 1000);
	w->hold = true;
	set(w, "{\"phase\":\"Running\",\"qosClass\":\"BestEffort\",\"conditions\":["
	       "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Old\"}," SCHEDULED
	       "],\"podIP\":\"10.9.9.9\",\"podIPs\":[{\"ip\":\"10.9.9.9\"}]}");
	sim_run_for(w->api.sim, 1000);
	set(w, "{\"phase\":\"Succeeded\",\"qosClass\":\"BestEffort\",\"conditions\":["
	       "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Yes\"}," SCHEDULED
	       "],\"podIP\":\"10.0.0.2\",\"podIPs\":[{\"ip\":\"10.0.0.2\"}]}");
	w->hold = false;
	do_silently(w, 0);
	assert_status(w, 0, "/podIP", "10.9.9.9");
	sim_run_for(w->api.sim, 60000);
	assert_int_equal(w->patches, 4);
	assert_status(w, 0, "/phase", "Succeeded");
	assert_status(w, 0, "/podIP", "10.0.0.2");
	assert_status(w, 0, "/conditions/0/reason", "Yes");
	assert_true(settled(w));
	world_free(w);
}

static void a_field_that_the_server_drops_is_not_fought_for(void **state UNUSED)
{
	struct world *w = world_new();

	w->drops_pod_level = true;
	set(w, "{\"phase\":\"Running\",\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\"}]}");
	sim_run_for(w->api.sim, 1000);
	for (int i = 0; i < 5; i++) {
		bump(w, 0);
		seen(w);
		set(w, "{\"phase\":\"Running\",\"allocatedResourcesStatus\":[{\"name\":"
		       "\"claim:gpu\"}]}");
		sim_run_for(w->api.sim, 1000);
	}
	assert_int_equal(w->patches, 1);
	assert_true(settled(w));
	world_free(w);
}

/* --- rejections and ends --------------------------------------------------------------------- */

static void the_pod_level_field_is_left_out_when_it_is_refused(void **state UNUSED)
{
	struct world *w = world_new();

	w->refuses_pod_level = true;
	set(w, "{\"phase\":\"Running\",\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\"}]}");
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->refused, 1);
	assert_int_equal(w->written, 1);
	assert_int_equal(w->patches, 2);
	assert_status(w, 0, "/phase", "Running");
	assert_true(settled(w));
	world_free(w);
}

static void a_refusal_is_told_and_not_repeated(void **state UNUSED)
{
	struct world *w = world_new();

	w->refuses_all = true;
	set(w, running);
	sim_run_for(w->api.sim, 60000);
	assert_int_equal(w->patches, 1);
	assert_int_equal(w->refused, 1);
	assert_non_null(strstr(w->last_error, "no: "));
	assert_true(settled(w));
	w->refuses_all = false;
	set(w, "{\"phase\":\"Failed\",\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\"}]}");
	sim_run_for(w->api.sim, 1000);
	assert_status(w, 0, "/phase", "Failed");
	/* The rejection's message named the pod-level field, its cause did not. */
	assert_status(w, 0, "/allocatedResourcesStatus/0/name", "claim:gpu");
	world_free(w);
}

static void a_pod_that_is_gone_or_another_is_left_alone(void **state UNUSED)
{
	struct world *w = world_new();
	CLEANUP(pod_unref) struct pod *old = pod_now(w, 1);

	w->pods[0] = NULL;
	set(w, running);
	json_put_str(&w->arena, json_getz(w->pods[1], "metadata"), "uid", STR("another"));
	status_writer_set(w->writer, old, json_make_object(&w->arena));
	sim_run_for(w->api.sim, 60000);
	assert_int_equal(w->patches, 2);
	assert_int_equal(w->looks, 1); /* reads which pod has the name now */
	assert_int_equal(w->refused, 0);
	assert_true(settled(w));
	set(w, "{\"phase\":\"Failed\"}");
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->patches, 2);
	status_writer_forget(w->writer, STR("u0"));
	status_writer_forget(w->writer, STR("u0"));
	world_free(w);
}

static void a_conflict_about_the_same_pod_is_tried_again(void **state UNUSED)
{
	struct world *w = world_new();

	w->conflicts = 2;
	set(w, running);
	sim_run_for(w->api.sim, 60000);
	assert_int_equal(w->patches, 3);
	assert_int_equal(w->looks, 2);
	assert_int_equal(w->refused, 0);
	assert_status(w, 0, "/phase", "Running");
	assert_true(settled(w));
	world_free(w);
}

static void a_pod_is_deleted_after_its_last_status(void **state UNUSED)
{
	struct world *w = world_new();
	CLEANUP(pod_unref) struct pod *p = pod_now(w, 0);

	w->hold = true;
	set(w, "{\"phase\":\"Succeeded\"}");
	status_writer_delete(w->writer, p);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->deletes, 0);
	w->hold = false;
	let_go(w, 0);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->deletes, 1);
	assert_null(w->pods[0]);
	assert_non_null(strstr(w->last_patch, "\"gracePeriodSeconds\":0"));
	assert_non_null(strstr(w->last_patch, "\"uid\":\"u0\""));
	sim_run_for(w->api.sim, 60000);
	assert_int_equal(w->deletes, 1);
	assert_int_equal(status_writer_pending(w->writer), 0);
	world_free(w);
}

static void a_deletion_is_repeated_until_the_server_has_heard_it(void **state UNUSED)
{
	struct world *w = world_new();
	CLEANUP(pod_unref) struct pod *p = pod_now(w, 0);

	w->api.fail_status = 500;
	w->api.fail_count = 3;
	status_writer_delete(w->writer, p);
	sim_run_for(w->api.sim, 60000);
	assert_null(w->pods[0]);
	assert_int_equal(w->deletes, 1);
	world_free(w);
}

static void forgetting_ends_what_is_under_way(void **state UNUSED)
{
	struct world *w = world_new();

	set(w, running);
	status_writer_forget(w->writer, STR("u0"));
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->written, 0);
	assert_int_equal(status_writer_pending(w->writer), 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_differs_is_sent_and_with_the_uid),
		cmocka_unit_test(conditions_that_are_no_longer_set_are_removed),
		cmocka_unit_test(a_status_that_the_server_has_is_not_sent),
		cmocka_unit_test(a_burst_ends_in_the_latest_with_one_patch_under_way),
		cmocka_unit_test(pods_do_not_wait_for_each_other),
		cmocka_unit_test(a_server_that_is_away_gets_the_latest_when_it_is_back),
		cmocka_unit_test(an_old_event_of_the_watch_changes_nothing),
		cmocka_unit_test(fields_of_the_agent_that_others_change_are_written_again),
		cmocka_unit_test(conditions_of_others_are_left_to_them),
		cmocka_unit_test(one_condition_alone_is_written_beside_another_agent),
		cmocka_unit_test(a_change_by_others_during_a_patch_is_not_lost),
		cmocka_unit_test(the_status_is_written_again_after_an_unanswered_patch),
		cmocka_unit_test(a_field_that_the_server_drops_is_not_fought_for),
		cmocka_unit_test(the_pod_level_field_is_left_out_when_it_is_refused),
		cmocka_unit_test(a_refusal_is_told_and_not_repeated),
		cmocka_unit_test(a_pod_that_is_gone_or_another_is_left_alone),
		cmocka_unit_test(a_conflict_about_the_same_pod_is_tried_again),
		cmocka_unit_test(a_pod_is_deleted_after_its_last_status),
		cmocka_unit_test(a_deletion_is_repeated_until_the_server_has_heard_it),
		cmocka_unit_test(forgetting_ends_what_is_under_way),
	};

	return cmocka_run_group_tests_name("node/status_writer", tests, NULL, NULL);
}
