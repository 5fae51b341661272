/* Probes and hooks against a server and a runtime in a simulated world. */
#include "node/probes/probes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/server.h"
#include "health.pb-c.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

struct world {
	struct sim *sim;
	struct loop *node, *container;
	struct http_server *http;
	struct grpc_server *grpc;
	struct runtime runtime;
	struct probes *probes;
	struct pod *pod;
	struct arena arena;
	/* The container's replies. */
	int status; /* HTTP status; 0: never replies */
	const char *location;
	int serving; /* gRPC status */
	int exit_code;
	struct error exec_error;
	bool exec_silent;
	/* Received requests. */
	unsigned requests, execs;
	char target[128], host[64], agent[64], extra[64], command[128], service[32];
	runtime_exec_done *exec_done;
	void *exec_arg;
	struct loop_task exec_task;
	/* Callbacks. */
	unsigned outcomes, failures, warnings, hooks;
	bool good;
	char message[1024], hook_message[1024];
	bool stop_on_failure, drained;
};

#define ID STR("id1")
#define IP STR("10.0.0.9")

/* --- the container -------------------------------------------------------------------------- */

static void closed(struct http_stream *s, const struct error *err)
{
	(void)s;
	(void)err;
}

static void copy(char *to, size_t n, struct str s)
{
	(void)snprintf(to, n, "%.*s", STR_ARG(s));
}

static void answer(struct world *w, struct http_stream *s)
{
	struct http_field f = HTTP_FIELD("location", str_from(w->location));
	int status = w->status;

	w->requests++;
	copy(w->target, sizeof(w->target), s->in.target);
	copy(w->host, sizeof(w->host), s->in.authority);
	copy(w->agent, sizeof(w->agent), http_fields_get(&s->in.fields, STR("user-agent")));
	copy(w->extra, sizeof(w->extra), http_fields_get(&s->in.fields, STR("x-extra")));
	if (status == 0)
		return;
	if (status >= 300 && status < 400 && str_eqz(s->in.target, "/moved"))
		status = 200;
	(void)http_stream_respond(s, status, &f, w->location ? 1 : 0, 4);
	(void)http_stream_send_copy(s, STR("body"));
	(void)http_stream_end(s, NULL, 0);
}

static void handle(void *arg, struct http_stream *s, size_t lane)
{
	static const struct http_stream_ops ops = { .on_close = closed };
	struct world *w = arg;

	(void)lane;
	if (grpc_server_wants(s)) {
		grpc_server_handle(w->grpc, s);
		return;
	}
	s->ops = &ops;
	answer(w, s);
}

static void on_check(struct grpc_call *c, const void *message)
{
	const Grpc__Health__V1__HealthCheckRequest *request = message;
	Grpc__Health__V1__HealthCheckResponse reply = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
	struct world *w = grpc_call_service(c);

	w->requests++;
	copy(w->service, sizeof(w->service), str_from(request->service));
	reply.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)w->serving;
	(void)grpc_call_reply(c, &reply.base);
}

static const struct grpc_method check_method = {
	.path = "/grpc.health.v1.Health/Check",
	.kind = GRPC_UNARY,
	.request = &grpc__health__v1__health_check_request__descriptor,
	.response = &grpc__health__v1__health_check_response__descriptor,
};
static const struct grpc_handler check_row = { .method = &check_method, .on_request = on_check };

/* --- the runtime ---------------------------------------------------------------------------- */

static void on_exec_task(struct loop_task *t)
{
	struct world *w = CONTAINER_OF(t, struct world, exec_task);
	struct runtime_exec result = { .exit_code = w->exit_code,
				       .out = STR("out"),
				       .err = STR("err") };
	runtime_exec_done *done = TAKE(w->exec_done);

	done(w->exec_arg, &result, w->exec_error.code ? &w->exec_error : NULL);
}

static void fake_exec(struct runtime *r, struct str id, const struct runtime_strs *command,
		      int64_t timeout_ms, runtime_exec_done *done, void *arg)
{
	struct world *w = CONTAINER_OF(r, struct world, runtime);

	(void)timeout_ms;
	assert_true(str_eq(id, ID));
	w->execs++;
	w->command[0] = '\0';
	for (size_t i = 0, n = 0; i < command->n; i++)
		n += (size_t)snprintf(w->command + n, sizeof(w->command) - n, "%.*s|",
				      STR_ARG(command->v[i]));
	w->exec_done = done;
	w->exec_arg = arg;
	if (!w->exec_silent)
		loop_defer(w->node, &w->exec_task);
}

static const struct runtime_ops runtime_ops = { .exec = fake_exec };

/* --- callbacks ------------------------------------------------------------------------------ */

static void on_outcome(void *arg, struct str uid, struct str id, enum lifecycle_probe probe,
		       bool good, struct str message)
{
	struct world *w = arg;

	(void)probe;
	(void)message;
	assert_true(str_eqz(uid, "u"));
	assert_true(str_eq(id, ID));
	w->outcomes++;
	w->good = good;
}

static void on_failure(void *arg, struct str uid, struct str container, enum lifecycle_probe probe,
		       struct str message)
{
	struct world *w = arg;

	assert_true(str_eqz(uid, "u"));
	assert_true(str_eqz(container, "c"));
	w->failures++;
	copy(w->message, sizeof(w->message), message);
	if (w->stop_on_failure)
		probes_stop(w->probes, ID, probe);
}

static void on_warning(void *arg, struct str uid, struct str container, enum lifecycle_probe probe,
		       struct str message)
{
	struct world *w = arg;

	(void)uid;
	(void)container;
	(void)probe;
	w->warnings++;
	copy(w->message, sizeof(w->message), message);
}

static void on_hook(void *arg, const struct error *err)
{
	struct world *w = arg;

	w->hooks++;
	copy(w->hook_message, sizeof(w->hook_message), str_from(err ? err->msg : ""));
}

/* --- the world ------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 3 };
	struct http_server_opts http = { .nloops = 1, .handler = handle, .arg = w };
	struct probes_opts probes = { .on_outcome = on_outcome,
				      .on_failure = on_failure,
				      .on_warning = on_warning,
				      .arg = w };
	struct addr at;

	w->sim = sim_new(&so);
	w->node = sim_loop_new(w->sim, "node");
	w->container = sim_loop_new(w->sim, "container");
	http.loops = &w->container;
	w->http = http_server_new(&http);
	assert_int_equal(addr_parse(&at, STR("10.0.0.9:8080"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->http, &at, NULL, 0, NULL, NULL), 0);
	w->grpc = grpc_server_new(NULL);
	grpc_server_add(w->grpc, &check_row, 1, w);
	w->runtime.ops = &runtime_ops;
	loop_task_init(&w->exec_task, on_exec_task);
	probes.loop = w->node;
	probes.runtime = &w->runtime;
	w->probes = probes_new(&probes);
	arena_init(&w->arena, REQUEST_WORK_MAX);
	w->status = 200;
	*state = w;
	return 0;
}

static void on_drained(void *arg)
{
	((struct world *)arg)->drained = true;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	probes_free(w->probes);
	if (w->exec_done && w->exec_silent)
		on_exec_task(&w->exec_task);
	http_server_drain(w->http, 100, on_drained, w);
	sim_run_for(w->sim, 1000);
	assert_true(w->drained);
	http_server_free(w->http);
	sim_run_for(w->sim, 100);
	grpc_server_free(w->grpc);
	loop_free(w->container);
	loop_free(w->node);
	sim_free(w->sim);
	pod_unref(w->pod);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static void parse(struct world *w, const char *container)
{
	const char *text = arena_printf(
		&w->arena,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":"
		"\"u\"},\"spec\":{\"containers\":[{\"name\":\"c\",%s}]}}",
		container);

	pod_unref(w->pod);
	w->pod = NULL;
	assert_int_equal(pod_parse(str_from(text), &w->pod, NULL), 0);
}

/* A probe of that kind with a period of ten seconds. */
static void start(struct world *w, enum lifecycle_probe kind, const char *probe)
{
	static const char *const fields[] = { [LIFECYCLE_STARTUP] = "startupProbe",
					      [LIFECYCLE_LIVENESS] = "livenessProbe",
					      [LIFECYCLE_READINESS] = "readinessProbe" };

	parse(w, arena_printf(&w->arena,
			      "\"env\":[{\"name\":\"V\",\"value\":\"v\"}],\"ports\":[{\"name\":"
			      "\"web\",\"containerPort\":8080}],\"%s\":{%s,\"periodSeconds\":10,"
			      "\"timeoutSeconds\":1,\"successThreshold\":1,\"failureThreshold\":3}",
			      fields[kind], probe));
	probes_start(w->probes, w->pod, STR("c"), ID, kind, IP);
}

/* The first attempt comes within a period. */
static void run_first(struct world *w)
{
	sim_run_for(w->sim, 12000);
}

#define HTTP "\"httpGet\":{\"path\":\"/ok\",\"port\":\"web\"}"

/* --- time ----------------------------------------------------------------------------------- */

static void outcomes_are_told_when_they_change(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_READINESS, HTTP);
	sim_run_for(w->sim, 11000);
	assert_int_equal(w->outcomes, 1);
	assert_true(w->good);
	sim_run_for(w->sim, 100000);
	assert_int_equal(w->outcomes, 1);
	assert_in_range(w->requests, 11, 12);
	w->status = 500;
	sim_run_for(w->sim, 20000);
	assert_int_equal(w->failures, 2);
	assert_int_equal(w->outcomes, 1);
	assert_string_equal(w->message,
			    "Readiness probe failed: HTTP probe failed with statuscode: "
			    "500");
	sim_run_for(w->sim, 10000);
	assert_int_equal(w->outcomes, 2);
	assert_false(w->good);
	w->status = 200;
	sim_run_for(w->sim, 10000);
	assert_int_equal(w->outcomes, 3);
	assert_true(w->good);
}

static void the_initial_delay_is_waited_for(void **state)
{
	struct world *w = *state;

	/* After the agent's first period nothing is random. */
	sim_run_for(w->sim, 60000);
	start(w, LIFECYCLE_READINESS, HTTP ",\"initialDelaySeconds\":30");
	sim_run_for(w->sim, 29900);
	assert_int_equal(w->requests, 0);
	sim_run_for(w->sim, 200);
	assert_int_equal(w->requests, 1);
	sim_run_for(w->sim, 10000);
	assert_int_equal(w->requests, 2);
}

static void without_a_delay_the_first_comes_at_once(void **state)
{
	struct world *w = *state;

	sim_run_for(w->sim, 60000);
	start(w, LIFECYCLE_READINESS, HTTP);
	sim_run_for(w->sim, 100);
	assert_int_equal(w->requests, 1);
	/* Starting it again changes nothing. */
	probes_start(w->probes, w->pod, STR("c"), ID, LIFECYCLE_READINESS, IP);
	sim_run_for(w->sim, 100);
	assert_int_equal(w->requests, 1);
	probes_stop(w->probes, ID, LIFECYCLE_READINESS);
	probes_stop(w->probes, ID, LIFECYCLE_READINESS);
	sim_run_for(w->sim, 60000);
	assert_int_equal(w->requests, 1);
}

static void a_container_without_the_probe_is_left_alone(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_READINESS, HTTP);
	probes_start(w->probes, w->pod, STR("c"), ID, LIFECYCLE_LIVENESS, IP);
	probes_start(w->probes, w->pod, STR("no"), ID, LIFECYCLE_LIVENESS, IP);
	probes_stop_pod(w->probes, STR("u"));
	sim_run_for(w->sim, 60000);
	assert_int_equal(w->requests, 0);
}

static void liveness_ends_when_it_has_failed(void **state)
{
	struct world *w = *state;

	w->status = 404;
	start(w, LIFECYCLE_LIVENESS, HTTP);
	sim_run_for(w->sim, 100000);
	assert_int_equal(w->requests, 3);
	assert_int_equal(w->outcomes, 1);
	assert_false(w->good);
}

static void startup_ends_with_its_first_outcome(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_STARTUP, HTTP);
	sim_run_for(w->sim, 100000);
	assert_int_equal(w->requests, 1);
	assert_int_equal(w->outcomes, 1);
	assert_true(w->good);
}

static void a_probe_may_be_stopped_by_who_is_told(void **state)
{
	struct world *w = *state;

	w->status = 500;
	w->stop_on_failure = true;
	start(w, LIFECYCLE_LIVENESS, HTTP);
	sim_run_for(w->sim, 100000);
	assert_int_equal(w->failures, 1);
	assert_int_equal(w->outcomes, 0);
}

/* --- kinds of probes ------------------------------------------------------------------------ */

static void http_says_who_asks(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_READINESS,
	      "\"httpGet\":{\"path\":\"ok?x=1\",\"port\":8080,\"httpHeaders\":[{\"name\":\"Host\","
	      "\"value\":\"site\"},{\"name\":\"X-Extra\",\"value\":\"e\"}]}");
	run_first(w);
	assert_string_equal(w->target, "/ok?x=1");
	assert_string_equal(w->host, "site");
	assert_string_equal(w->agent, "kube-probe/1.37");
	assert_string_equal(w->extra, "e");
}

static void redirects_are_followed_on_the_same_host_only(void **state)
{
	struct world *w = *state;

	w->status = 302;
	w->location = "/moved";
	start(w, LIFECYCLE_READINESS, HTTP);
	run_first(w);
	assert_string_equal(w->target, "/moved");
	assert_true(w->good);
	assert_int_equal(w->warnings, 0);
	w->location = "http://elsewhere:8080/moved";
	sim_run_for(w->sim, 10000);
	assert_int_equal(w->warnings, 1);
	assert_string_equal(
		w->message,
		"Readiness probe warning: Probe terminated redirects, Response body: body");
	w->location = "/again";
	w->requests = 0;
	sim_run_for(w->sim, 10000);
	assert_int_equal(w->requests, 10);
	assert_string_equal(w->message,
			    "Readiness probe failed: Get "
			    "\"http://10.0.0.9:8080/again\": stopped after 10 redirects");
}

static void http_that_does_not_answer_fails(void **state)
{
	struct world *w = *state;

	w->status = 0;
	start(w, LIFECYCLE_READINESS, HTTP);
	run_first(w);
	assert_string_equal(w->message,
			    "Readiness probe failed: Get \"http://10.0.0.9:8080/ok\": context "
			    "deadline exceeded (Client.Timeout exceeded while awaiting headers)");
	probes_stop_pod(w->probes, STR("u"));
	start(w, LIFECYCLE_READINESS, "\"httpGet\":{\"path\":\"/\",\"port\":1}");
	run_first(w);
	assert_string_equal(w->message,
			    "Readiness probe failed: Get \"http://10.0.0.9:1/\": dial tcp "
			    "10.0.0.9:1: connect: connection refused");
}

static void https_checks_no_certificate(void **state)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	CLEANUP(buf_release) struct buf cert = BUF_INIT(MIB), key = BUF_INIT(MIB);
	struct world *w = *state;
	struct str elsewhere = STR("elsewhere");
	struct pki_leaf leaf = { .common_name = elsewhere,
				 .hosts = &elsewhere,
				 .nhosts = 1,
				 .server = true,
				 .lifetime = 1 };
	struct tls_pair pair;
	struct tls_opts opts = { .server = true, .pairs = &pair, .npairs = 1, .alpn = alpn };
	struct tls *tls = NULL;
	struct addr at;

	assert_int_equal(pki_ca_new(STR("ca"), 3600, loop_clock(w->node), &ca, NULL), 0);
	assert_int_equal(pki_issue(ca, &leaf, loop_clock(w->node), &cert, &key, NULL), 0);
	pair = (struct tls_pair){ .cert = buf_str(&cert), .key = buf_str(&key) };
	assert_int_equal(tls_new(&opts, &tls, NULL), 0);
	assert_int_equal(addr_parse(&at, STR("10.0.0.9:8443"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->http, &at, tls, 0, NULL, NULL), 0);
	tls_unref(tls);
	/* An unknown name, and long after its end. */
	sim_run_for(w->sim, 60000);
	start(w, LIFECYCLE_READINESS,
	      "\"httpGet\":{\"path\":\"/s\",\"port\":8443,\"scheme\":\"HTTPS\"}");
	run_first(w);
	assert_int_equal(w->outcomes, 1);
	assert_true(w->good);
	assert_string_equal(w->target, "/s");
}

static void tcp_connects(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_READINESS, "\"tcpSocket\":{\"port\":\"web\"}");
	run_first(w);
	assert_int_equal(w->outcomes, 1);
	assert_true(w->good);
	probes_stop_pod(w->probes, STR("u"));
	start(w, LIFECYCLE_READINESS, "\"tcpSocket\":{\"port\":7}");
	run_first(w);
	assert_string_equal(w->message,
			    "Readiness probe failed: dial tcp 10.0.0.9:7: connect: connection "
			    "refused");
	probes_stop_pod(w->probes, STR("u"));
	sim_cut(w->sim, "node", "container");
	start(w, LIFECYCLE_READINESS, "\"tcpSocket\":{\"port\":8080}");
	run_first(w);
	assert_string_equal(w->message, "Readiness probe failed: dial tcp 10.0.0.9:8080: i/o "
					"timeout");
	sim_heal(w->sim, NULL, NULL);
}

static void a_port_that_is_not_there_is_an_error(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_READINESS, "\"tcpSocket\":{\"port\":\"none\"}");
	sim_run_for(w->sim, 9990);
	assert_int_equal(w->failures, 1);
	assert_int_equal(w->outcomes, 0);
	assert_string_equal(w->message, "Readiness probe errored and resulted in unknown state: "
					"port \"none\" not found");
}

static void grpc_asks_for_health(void **state)
{
	struct world *w = *state;

	w->serving = 1;
	start(w, LIFECYCLE_READINESS, "\"grpc\":{\"port\":8080,\"service\":\"db\"}");
	run_first(w);
	assert_string_equal(w->service, "db");
	assert_int_equal(w->outcomes, 1);
	assert_true(w->good);
	w->serving = 2;
	sim_run_for(w->sim, 10000);
	assert_string_equal(w->message, "Readiness probe failed: service unhealthy (responded with "
					"\"NOT_SERVING\")");
	probes_stop_pod(w->probes, STR("u"));
	start(w, LIFECYCLE_READINESS, "\"grpc\":{\"port\":9}");
	run_first(w);
	assert_string_equal(w->message,
			    "Readiness probe failed: timeout: failed to connect service "
			    "\"10.0.0.9:9\" within 1s: context deadline exceeded");
}

static void commands_run_in_the_container(void **state)
{
	struct world *w = *state;

	start(w, LIFECYCLE_READINESS, "\"exec\":{\"command\":[\"test\",\"$(V)$(W)\"]}");
	run_first(w);
	assert_string_equal(w->command, "test|v$(W)|");
	assert_true(w->good);
	w->exit_code = 3;
	sim_run_for(w->sim, 10000);
	assert_string_equal(w->message, "Readiness probe failed: outerr");
	(void)error_set(&w->exec_error, ERR_TIMEOUT, "late");
	sim_run_for(w->sim, 10000);
	assert_string_equal(w->message, "Readiness probe failed: command timed out: \"test v$(W)\" "
					"timed out after 1s");
	w->execs = 0;
	(void)error_set(&w->exec_error, ERR_UNAVAILABLE, "no runtime");
	sim_run_for(w->sim, 10000);
	assert_int_equal(w->execs, 3);
	assert_string_equal(w->message, "Readiness probe errored and resulted in unknown state: no "
					"runtime");
}

static void a_command_outlives_its_probe(void **state)
{
	struct world *w = *state;

	w->exec_silent = true;
	start(w, LIFECYCLE_READINESS, "\"exec\":{\"command\":[\"x\"]}");
	run_first(w);
	assert_int_equal(w->execs, 1);
	probes_stop_pod(w->probes, STR("u"));
	on_exec_task(&w->exec_task);
	assert_int_equal(w->outcomes, 0);
}

/* --- hooks ---------------------------------------------------------------------------------- */

static void hook(struct world *w, const char *handler, int64_t timeout_ms)
{
	struct json *tree = NULL;

	parse(w, "\"ports\":[]");
	assert_int_equal(json_parse(&w->arena, str_from(handler), NULL, &tree, NULL), 0);
	w->hooks = 0;
	probes_hook(w->probes, w->pod,
		    &(struct probes_hook){ .container = pod_container(w->pod, STR("c"), NULL),
					   .handler = tree,
					   .container_id = ID,
					   .pod_ip = IP,
					   .timeout_ms = timeout_ms },
		    on_hook, w);
	assert_int_equal(w->hooks, 0);
	sim_run_for(w->sim, 4900);
}

static void hooks_run_once(void **state)
{
	struct world *w = *state;

	hook(w, "{\"exec\":{\"command\":[\"a\",\"b\"]}}", 0);
	assert_int_equal(w->hooks, 1);
	assert_string_equal(w->hook_message, "");
	w->exit_code = 1;
	hook(w, "{\"exec\":{\"command\":[\"a\",\"b\"]}}", 0);
	assert_string_equal(
		w->hook_message,
		"Exec lifecycle hook ([a b]) for Container \"c\" in Pod \"p_ns(u)\" "
		"failed - error: command 'a b' exited with 1: err, message: \"outerr\"");
	/* Any reply of a server is a success. */
	w->status = 500;
	hook(w, "{\"httpGet\":{\"path\":\"/x\",\"port\":8080}}", 0);
	assert_int_equal(w->hooks, 1);
	assert_string_equal(w->hook_message, "");
	assert_string_equal(w->agent, "kube-lifecycle/1.37");
	hook(w, "{\"httpGet\":{\"path\":\"/x\",\"port\":1}}", 0);
	assert_string_equal(
		w->hook_message,
		"HTTP lifecycle hook (/x) for Container \"c\" in Pod \"p_ns(u)\" failed - "
		"error: Get \"http://10.0.0.9:1/x\": dial tcp 10.0.0.9:1: connect: "
		"connection refused");
	hook(w, "{\"sleep\":{\"seconds\":5}}", 0);
	assert_int_equal(w->hooks, 0);
	sim_run_for(w->sim, 200);
	assert_int_equal(w->hooks, 1);
	assert_string_equal(w->hook_message, "");
	hook(w, "{\"sleep\":{\"seconds\":5}}", 1000);
	assert_string_equal(
		w->hook_message,
		"Sleep lifecycle hook (5) for Container \"c\" in Pod \"p_ns(u)\" failed - "
		"error: container terminated before sleep hook finished");
	hook(w, "{\"tcpSocket\":{\"port\":1}}", 0);
	assert_string_equal(w->hook_message,
			    "Cannot run handler: invalid handler: tcpSocket is not "
			    "supported");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(outcomes_are_told_when_they_change),
		TEST(the_initial_delay_is_waited_for),
		TEST(without_a_delay_the_first_comes_at_once),
		TEST(a_container_without_the_probe_is_left_alone),
		TEST(liveness_ends_when_it_has_failed),
		TEST(startup_ends_with_its_first_outcome),
		TEST(a_probe_may_be_stopped_by_who_is_told),
		TEST(http_says_who_asks),
		TEST(redirects_are_followed_on_the_same_host_only),
		TEST(http_that_does_not_answer_fails),
		TEST(https_checks_no_certificate),
		TEST(tcp_connects),
		TEST(a_port_that_is_not_there_is_an_error),
		TEST(grpc_asks_for_health),
		TEST(commands_run_in_the_container),
		TEST(a_command_outlives_its_probe),
		TEST(hooks_run_once),
	};

	return cmocka_run_group_tests_name("node/probes", tests, NULL, NULL);
}
