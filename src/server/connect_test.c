/*
 * What leads on to nodes and pods: the queries that kubelets are asked with, and
 * proxies, from a client's connection over the real state to a node's. The node is a server of
 * ours that says what it was asked: a kubelet does not run in a simulated world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "net/http_server.h"
#include "net/sim.h"
#include "server/connect_query.h"
#include "server/verb_world.h"

#define NODES "/api/v1/nodes"
#define PODS  "/api/v1/namespaces/default/pods"

/* --- queries ---------------------------------------------------------------------- */

struct query_case {
	const char *subresource, *query;
	const char *kubelet; /* or the error's message */
	const char *container;
};

static void queries_become_the_kubelets(void **state UNUSED)
{
	static const struct query_case v[] = {
		{ "log", "", "", "" },
		{ "log", "container=c&follow=true&follow=false&pretty=x", "follow=true", "c" },
		{ "log", "timestamps&previous=1&tailLines=+3",
		  "strconv.ParseInt: parsing \" 3\": invalid syntax", NULL },
		{ "log", "timestamps&previous=1&tailLines=%2b3",
		  "previous=true&tailLines=3&timestamps=true", "" },
		{ "log", "sinceTime=null&follow=false&limitBytes=9", "limitBytes=9", "" },
		{ "log", "sinceTime=2024-01-02T03:04:05.678Z", "sinceTime=2024-01-02T03%3A04%3A05Z",
		  "" },
		{ "log", "sinceTime=now",
		  "parsing time \"now\" as \"2006-01-02T15:04:05Z07:00\": cannot parse it", NULL },
		{ "exec", "container=c&command=a&command=b+c%26&stdin=true&tty=0&stderr=1",
		  "command=a&command=b+c%26&error=1&input=1", "c" },
		{ "attach", "stdout=1&command=no", "output=1", "" },
		{ "portforward", "ports=80&ports=443", "port=80%2C443", "" },
		{ "portforward", "", "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct connect_query q = { .kubelet = STR("") };
		struct field_errors errs;
		struct arena a;
		struct error err;
		char text[256];
		int r;

		arena_init(&a, SIZE_MAX);
		field_errors_init(&errs, &a);
		r = connect_query_parse(str_from(v[i].subresource), str_from(v[i].query), &a, &q,
					&errs, &err);
		(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(q.kubelet));
		assert_string_equal(r < 0 ? err.msg : text, v[i].kubelet);
		assert_int_equal(r, v[i].container ? 0 : -ERR_BAD_REQUEST);
		if (r == 0)
			assert_true(str_eqz(q.container, v[i].container));
		arena_release(&a);
	}
}

static void logs_with_options_that_exclude_each_other_are_refused(void **state UNUSED)
{
	static const struct {
		const char *query;
		size_t n;
	} v[] = { { "tailLines=0&limitBytes=1&sinceSeconds=1", 0 },
		  { "tailLines=-1&limitBytes=0&sinceSeconds=0", 3 },
		  { "sinceSeconds=0&sinceTime=2024-01-02T03:04:05Z", 1 },
		  { "stream=All", 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct connect_query q;
		struct field_errors errs;
		struct arena a;
		struct error err;

		arena_init(&a, SIZE_MAX);
		field_errors_init(&errs, &a);
		assert_int_equal(
			connect_query_parse(STR("log"), str_from(v[i].query), &a, &q, &errs, &err),
			v[i].n ? -ERR_INVALID : 0);
		assert_int_equal(errs.n, v[i].n);
		arena_release(&a);
	}
}

/* --- proxies ---------------------------------------------------------------------- */

static void node_body(struct http_stream *s, struct str body)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct http_field location = HTTP_FIELD("location", STR("/there"));
	bool redirect = str_eqz(s->in.path, "/redirect");
	int status = redirect ? 302 : str_starts(s->in.path, STR("/containerLogs/")) ? 400 : 200;

	(void)buf_printf(
		&text, "%.*s %.*s %.*s [%.*s]", STR_ARG(s->in.method), STR_ARG(s->in.target),
		STR_ARG(http_fields_get(&s->in.fields, STR("x-forwarded-uri"))), STR_ARG(body));
	for (int i = 0; i < 5000 && status == 400; i++)
		(void)buf_addc(&text, 'x');
	(void)http_stream_respond(s, status, &location, redirect, (int64_t)text.n);
	(void)http_stream_send_copy(s, buf_str(&text));
	(void)http_stream_end(s, NULL, 0);
	buf_release(&text);
}

static void node_handler(void *arg UNUSED, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops ops = { 0 };

	s->ops = &ops;
	http_stream_collect(s, node_body);
}

/* Somebody on the node's loop who listens to what a kubelet, or a pod, would. */
struct neighbour {
	struct loop *loop;
	struct http_server *server;
	bool drained;
};

static void neighbour_init(struct neighbour *n, struct verb_world *w, const char *port)
{
	struct http_server_opts opts = { .nloops = 1, .handler = node_handler };
	struct addr any;

	*n = (struct neighbour){ .loop = sim_loop_new(w->sim, "node") };
	opts.loops = &n->loop;
	n->server = http_server_new(&opts);
	assert_int_equal(addr_parse(&any, str_from(port), 0, NULL), 0);
	assert_int_equal(http_server_listen(n->server, &any, NULL, 0, NULL, NULL), 0);
}

static void on_drained(void *arg)
{
	((struct neighbour *)arg)->drained = true;
}

static bool is_drained(void *arg)
{
	return ((struct neighbour *)arg)->drained;
}

static void neighbour_release(struct neighbour *n, struct verb_world *w)
{
	http_server_drain(n->server, 100, on_drained, n);
	assert_true(sim_run_until(w->sim, is_drained, n, 60 * 1000));
	http_server_free(n->server);
	sim_run_for(w->sim, 2000);
	loop_free(n->loop);
}

static void make_node(struct verb_world *w, const char *name, const char *address)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}}", name);
	(void)verb_world_call(w, "POST", NODES, text, 201);
	(void)snprintf(text, sizeof(text), NODES "/%s/status", name);
	(void)verb_world_patch(
		w, text, "application/merge-patch+json",
		arena_printf(&w->arena,
			     "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
			     "\"%s\"}]}}",
			     address),
		200);
}

static void asks(struct verb_world *w, const char *method, const char *target, const char *body,
		 const char *answer)
{
	struct verb_ask ask = { .method = method, .target = target, .body = body };

	(void)verb_world_ask(w, &ask);
	if (ask.err.code)
		fail_msg("%s %s: %d %s", method, target, ask.status, ask.err.msg);
	assert_string_equal(ask.got.p ? ask.got.p : "", answer);
	verb_ask_release(&ask);
}

static void a_nodes_proxy_hands_requests_on(void **state)
{
	struct verb_world *w = *state;
	struct neighbour kubelet;

	neighbour_init(&kubelet, w, ":10250");
	make_node(w, "n", "10.0.0.7");
	asks(w, "GET", NODES "/n/proxy/healthz?a=%20b", NULL,
	     "GET /healthz?a=%20b " NODES "/n/proxy/healthz []");
	asks(w, "GET", NODES "/https:n:10250/proxy/x//y%2Fz/", NULL,
	     "GET /x//y%2Fz/ " NODES "/https:n:10250/proxy/x//y%2Fz/ []");
	asks(w, "POST", NODES "/n/proxy/in?watch=true&limit=no", "some text",
	     "POST /in?watch=true&limit=no " NODES "/n/proxy/in [some text]");
	asks(w, "DELETE", NODES "/n/proxy/in", NULL, "DELETE /in " NODES "/n/proxy/in []");
	asks(w, "HEAD", NODES "/n/proxy/in", NULL, "");
	neighbour_release(&kubelet, w);
}

static void a_proxy_without_path_is_a_folder(void **state)
{
	struct verb_world *w = *state;

	make_node(w, "n", "10.0.0.7");
	(void)verb_world_call(w, "GET", NODES "/n/proxy", NULL, 301);
}

static void who_is_not_there_is_unavailable(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	make_node(w, "n", "10.0.0.7");
	got = verb_world_call(w, "GET", NODES "/n/proxy/x", NULL, 503);
	assert_true(str_starts(str_from(verb_world_text(w, got, "/message")),
			       STR("error trying to reach service: ")));
}

static void addresses_that_only_the_server_has_are_refused(void **state)
{
	static const char *const v[] = { "127.0.0.1", "169.254.1.1", "::1",      "fe80::1",
					 "0.0.0.0",   "224.0.0.1",   "localhost" };
	struct verb_world *w = *state;
	char name[16], target[64];
	struct json *got;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		(void)snprintf(name, sizeof(name), "n%zu", i);
		make_node(w, name, v[i]);
		(void)snprintf(target, sizeof(target), NODES "/%s/proxy/x", name);
		got = verb_world_call(w, "GET", target, NULL, 400);
		assert_string_equal(verb_world_text(w, got, "/message"), "address not allowed");
	}
}

static void a_pods_proxy_goes_to_its_first_port(void **state)
{
	struct verb_world *w = *state;
	struct neighbour pod;

	neighbour_init(&pod, w, ":8080");
	(void)verb_world_call(w, "POST", PODS,
			      "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":["
			      "{\"name\":\"a\",\"image\":\"i\"},{\"name\":\"b\",\"image\":\"i\","
			      "\"ports\":[{\"containerPort\":8080}]}]}}",
			      201);
	(void)verb_world_call(w, "GET", PODS "/p/proxy/x", NULL, 400);
	(void)verb_world_patch(
		w, PODS "/p/status", "application/merge-patch+json",
		"{\"status\":{\"podIP\":\"10.1.0.9\",\"podIPs\":[{\"ip\":\"10.1.0.9\"}]}}", 200);
	asks(w, "GET", PODS "/p/proxy/x", NULL, "GET /x " PODS "/p/proxy/x []");
	asks(w, "GET", PODS "/http:p:8080/proxy/x", NULL, "GET /x " PODS "/http:p:8080/proxy/x []");
	(void)verb_world_call(w, "GET", PODS "/p:9/proxy/x", NULL, 503);
	neighbour_release(&pod, w);
}

static void a_node_named_as_a_kind_of_address_is_a_host(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	make_node(w, "n", "unix");
	got = verb_world_call(w, "GET", NODES "/n/proxy/x", NULL, 503);
	assert_non_null(
		strstr(verb_world_text(w, got, "/message"), "cannot connect to tcp://unix:10250"));
	got = verb_world_call(w, "GET", NODES "/n:8080/proxy/x", NULL, 503);
	assert_non_null(
		strstr(verb_world_text(w, got, "/message"), "cannot connect to tcp://unix:8080"));
}

static void a_kubelets_refusal_is_told_in_full(void **state)
{
	struct verb_world *w = *state;
	struct neighbour kubelet;
	struct json *got;

	neighbour_init(&kubelet, w, ":10250");
	make_node(w, "n", "10.0.0.7");
	(void)verb_world_call(w, "POST", PODS,
			      "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\","
			      "\"containers\":[{\"name\":\"a\",\"image\":\"i\"}]}}",
			      201);
	got = verb_world_call(w, "GET", PODS "/p/log", NULL, 400);
	assert_true(strlen(verb_world_text(w, got, "/message")) > 5000);
	neighbour_release(&kubelet, w);
}

/* --- admission -------------------------------------------------------------------- */

#define REGISTRATION "/apis/admissionregistration.k8s.io/v1"
#define POLICIES     REGISTRATION "/validatingadmissionpolicies"
#define BINDINGS     REGISTRATION "/validatingadmissionpolicybindings"

/* A policy that denies all connections to what is named "no", and says what it saw. */
static void make_policy(struct verb_world *w)
{
	(void)verb_world_call(
		w, "POST", POLICIES,
		"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":{\"resourceRules\":["
		"{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CONNECT\"],"
		"\"resources\":[\"*/*\"]}]},\"validations\":[{\"expression\":"
		"\"request.name != 'no' || oldObject != null || request.options != null\","
		"\"messageExpression\":\"request.operation + ' ' + request.subResource + ' ' + "
		"object.kind + ' ' + object.apiVersion + ' ' + (has(object.command) ? "
		"object.command[0] : has(object.ports) ? string(object.ports[0]) : "
		"has(object.path) ? object.path : object.container)\"}]}}",
		201);
	(void)verb_world_call(w, "POST", BINDINGS,
			      "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\","
			      "\"validationActions\":[\"Deny\"]}}",
			      201);
}

static void policies_are_asked_about_connections(void **state)
{
	static const struct {
		const char *target, *said;
	} v[] = {
		{ PODS "/no/exec?command=ls&container=c", "exec PodExecOptions v1 ls" },
		{ PODS "/no/attach?container=c", "attach PodAttachOptions v1 c" },
		{ PODS "/no/portforward?ports=80", "portforward PodPortForwardOptions v1 80" },
		{ PODS "/no/proxy/a%20b?q=1", "proxy PodProxyOptions v1 /a b" },
		{ NODES "/no/proxy/x/", "proxy NodeProxyOptions v1 /x/" },
	};
	struct verb_world *w = *state;

	make_policy(w);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct json *got = verb_world_call(w, "POST", v[i].target, NULL, 422);
		bool node = str_starts(str_from(v[i].target), STR(NODES));

		assert_string_equal(verb_world_text(w, got, "/message"),
				    arena_printf(&w->arena,
						 "%s \"no\" is forbidden: "
						 "ValidatingAdmissionPolicy 'p' with binding 'b' "
						 "denied request: CONNECT %s",
						 node ? "nodes" : "pods", v[i].said));
	}
	/* Who may go on is told what else is wrong. A log is read, not connected to. */
	(void)verb_world_call(w, "POST", PODS "/yes/exec?command=ls", NULL, 404);
	(void)verb_world_call(w, "GET", PODS "/no/log", NULL, 404);
}

static void nobody_connects_dryly(void **state)
{
	struct verb_world *w = *state;
	struct json *got = verb_world_call(w, "POST", PODS "/p/exec?command=ls&dryRun=All", NULL,
					   400);

	assert_string_equal(verb_world_text(w, got, "/message"), "dryRun is not supported");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_become_the_kubelets),
		cmocka_unit_test(logs_with_options_that_exclude_each_other_are_refused),
		cmocka_unit_test_setup_teardown(a_nodes_proxy_hands_requests_on, verb_world_set_up,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_nodes_proxy_hands_requests_on,
						verb_world_set_up_http1, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_proxy_without_path_is_a_folder, verb_world_set_up,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(who_is_not_there_is_unavailable, verb_world_set_up,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(addresses_that_only_the_server_has_are_refused,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_node_named_as_a_kind_of_address_is_a_host,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_kubelets_refusal_is_told_in_full,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(policies_are_asked_about_connections,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(nobody_connects_dryly, verb_world_set_up,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_pods_proxy_goes_to_its_first_port,
						verb_world_set_up_http1, verb_world_tear_down),
	};

	return cmocka_run_group_tests_name("server/connect", tests, NULL, NULL);
}
