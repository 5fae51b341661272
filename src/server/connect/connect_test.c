/*
 * Proxied requests: the queries sent to kubelets, and proxies, from a client's connection over
 * the real state to a node's. The node is a server of ours that returns the request: a kubelet
 * does not run in a simulated cluster.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/server.h"
#include "net/sim/sim.h"
#include "server/http/audit.h"
#include "server/request/connect_query.h"
#include "server/testing/verb_world.h"

#define NODES    "/api/v1/nodes"
#define PODS     "/api/v1/namespaces/default/pods"
#define SERVICES "/api/v1/namespaces/default/services"
#define SLICES   "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

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

/* A server on the node's loop in place of a kubelet or a pod. */
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

static void an_unreachable_node_is_unavailable(void **state)
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

/* --- proxies of services ---------------------------------------------------------- */

static void make_pod(struct verb_world *w, const char *name, const char *ips)
{
	(void)verb_world_call(
		w, "POST", PODS,
		arena_printf(&w->arena,
			     "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":"
			     "[{\"name\":\"a\",\"image\":\"i\"}]}}",
			     name),
		201);
	(void)verb_world_patch(w, arena_printf(&w->arena, PODS "/%s/status", name),
			       "application/merge-patch+json",
			       arena_printf(&w->arena, "{\"status\":{\"podIPs\":[%s]}}", ips), 200);
}

static void make_service(struct verb_world *w, const char *name, const char *ports)
{
	(void)verb_world_call(w, "POST", SERVICES,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
					   "\"clusterIP\":\"None\",\"ports\":[%s]}}",
					   name, ports),
			      201);
}

static void make_slice(struct verb_world *w, const char *service, const char *type,
		       const char *ports, const char *endpoints)
{
	(void)verb_world_call(
		w, "POST", SLICES,
		arena_printf(&w->arena,
			     "{\"metadata\":{\"generateName\":\"%s-\",\"labels\":"
			     "{\"kubernetes.io/service-name\":\"%s\"}},\"addressType\":\"%s\","
			     "\"ports\":[%s],\"endpoints\":[%s]}",
			     service, service, type, ports, endpoints),
		201);
}

/* An endpoint that is a pod of the namespace. */
#define OF_POD(ip, pod)                                                               \
	"{\"addresses\":[\"" ip "\"],\"targetRef\":{\"kind\":\"Pod\",\"name\":\"" pod \
	"\",\"namespace\":\"default\"}}"

static void refuses(struct verb_world *w, const char *id, int status, const char *message)
{
	struct json *got = verb_world_call(
		w, "GET", arena_printf(&w->arena, SERVICES "/%s/proxy/x", id), NULL, status);

	assert_string_equal(verb_world_text(w, got, "/message"), message);
	/* client-go would retry forever. */
	assert_null(json_pointer(got, STR("/details/retryAfterSeconds")));
}

static void a_services_port_is_found_by_number_and_by_name(void **state)
{
	struct verb_world *w = *state;
	struct neighbour web, other;

	neighbour_init(&web, w, ":8080");
	neighbour_init(&other, w, ":9090");
	make_pod(w, "p", "{\"ip\":\"10.1.0.9\"}");
	make_service(w, "s",
		     "{\"name\":\"web\",\"port\":80},{\"name\":\"more\",\"port\":81},"
		     "{\"name\":\"deaf\",\"port\":82}");
	refuses(w, "s:80", 503, "no endpoints available for service \"s\"");
	make_slice(w, "s", "IPv4",
		   "{\"name\":\"web\",\"port\":8080},{\"name\":\"more\",\"port\":9090},"
		   "{\"name\":\"deaf\",\"port\":7}",
		   OF_POD("10.1.0.9", "p"));
	asks(w, "GET", SERVICES "/s:80/proxy/x?a=b", NULL,
	     "GET /x?a=b " SERVICES "/s:80/proxy/x []");
	asks(w, "PUT", SERVICES "/s:web/proxy/x/", "text",
	     "PUT /x/ " SERVICES "/s:web/proxy/x/ [text]");
	asks(w, "DELETE", SERVICES "/http:s:81/proxy/", NULL,
	     "DELETE / " SERVICES "/http:s:81/proxy/ []");
	asks(w, "OPTIONS", SERVICES "/s:more/proxy/y", NULL,
	     "OPTIONS /y " SERVICES "/s:more/proxy/y []");
	(void)verb_world_call(w, "GET", SERVICES "/s:80/proxy", NULL, 301);
	(void)verb_world_call(w, "GET", SERVICES "/s:82/proxy/x", NULL, 503);
	neighbour_release(&web, w);
	neighbour_release(&other, w);
}

static void a_services_port_without_name_needs_none(void **state)
{
	struct verb_world *w = *state;
	struct neighbour pod;

	neighbour_init(&pod, w, ":8080");
	make_pod(w, "p", "{\"ip\":\"10.1.0.9\"}");
	make_service(w, "s", "{\"port\":80}");
	make_slice(w, "s", "IPv4", "{\"port\":8080}", OF_POD("10.1.0.9", "p"));
	asks(w, "GET", SERVICES "/s/proxy/x", NULL, "GET /x " SERVICES "/s/proxy/x []");
	asks(w, "GET", SERVICES "/s:/proxy/x", NULL, "GET /x " SERVICES "/s:/proxy/x []");
	asks(w, "GET", SERVICES "/http:s:+080/proxy/x", NULL,
	     "GET /x " SERVICES "/http:s:+080/proxy/x []");
	neighbour_release(&pod, w);
}

static void services_that_lead_nowhere_are_told_in_upstreams_words(void **state)
{
	struct verb_world *w = *state;

	make_pod(w, "p", "{\"ip\":\"10.1.0.9\"}");
	make_service(w, "s", "{\"name\":\"web\",\"port\":80}");
	make_slice(w, "s", "IPv4", "{\"name\":\"web\",\"port\":8080}", OF_POD("10.1.0.9", "p"));
	refuses(w, "s:9", 503, "no service port 9 found for service \"s\"");
	refuses(w, "s", 503, "no endpoints available for service \"s\"");
	refuses(w, "s:wep", 503, "no endpoints available for service \"s\"");
	refuses(w, "none:80", 404, "services \"none\" not found");
	refuses(w, "none", 503, "no endpoints available for service \"none\"");
	refuses(w, "ftp:s:80", 400, "invalid service request \"ftp:s:80\"");
	refuses(w, "a:b:c:d", 400, "invalid service request \"a:b:c:d\"");
}

static void endpoints_that_are_no_pods_of_the_namespace_do_not_count(void **state)
{
	static const char *const v[] = {
		"{\"addresses\":[\"10.1.0.9\"]}",
		"{\"addresses\":[\"10.1.0.9\"],\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p\"}}",
		"{\"addresses\":[\"10.1.0.9\"],\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p\","
		"\"namespace\":\"kube-system\"}}",
		"{\"addresses\":[\"10.1.0.9\"],\"conditions\":{\"ready\":false},\"targetRef\":"
		"{\"kind\":\"Pod\",\"name\":\"p\",\"namespace\":\"default\"}}",
		OF_POD("10.1.0.8", "p"),
		OF_POD("10.1.0.9", "q"),
		OF_POD("127.0.0.1", "sly"),
		OF_POD("169.254.169.254", "slyer"),
	};
	struct verb_world *w = *state;

	make_pod(w, "p", "{\"ip\":\"10.1.0.9\"}");
	make_pod(w, "sly", "{\"ip\":\"127.0.0.1\"}");
	make_pod(w, "slyer", "{\"ip\":\"169.254.169.254\"}");
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		const char *name = arena_printf(&w->arena, "s%zu", i);

		make_slice(w, name, "IPv4", "{\"port\":8080}", v[i]);
		refuses(w, name, 503,
			arena_printf(&w->arena, "no endpoints available for service \"%s\"", name));
	}
}

static void a_pods_second_address_counts_as_the_first(void **state)
{
	struct verb_world *w = *state;
	struct neighbour pod;

	neighbour_init(&pod, w, ":8080");
	make_pod(w, "p", "{\"ip\":\"10.1.0.9\"},{\"ip\":\"fd00::9\"}");
	make_slice(w, "s", "IPv6", "{\"port\":8080}", OF_POD("fd00::9", "p"));
	asks(w, "GET", SERVICES "/s/proxy/x", NULL, "GET /x " SERVICES "/s/proxy/x []");
	make_slice(w, "t", "IPv6", "{\"port\":8080}", OF_POD("fd00::8", "p"));
	refuses(w, "t", 503, "no endpoints available for service \"t\"");
	neighbour_release(&pod, w);
}

/* --- admission -------------------------------------------------------------------- */

#define REGISTRATION "/apis/admissionregistration.k8s.io/v1"
#define POLICIES     REGISTRATION "/validatingadmissionpolicies"
#define BINDINGS     REGISTRATION "/validatingadmissionpolicybindings"

/* A policy that denies all connections to objects named "no", and reports what it saw. */
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
		{ SERVICES "/no/proxy/x", "proxy ServiceProxyOptions v1 /x" },
	};
	struct verb_world *w = *state;

	make_policy(w);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct json *got = verb_world_call(w, "POST", v[i].target, NULL, 422);
		struct str target = str_from(v[i].target);
		const char *resource = str_starts(target, STR(NODES))      ? "nodes"
				       : str_starts(target, STR(SERVICES)) ? "services"
									   : "pods";

		assert_string_equal(verb_world_text(w, got, "/message"),
				    arena_printf(&w->arena,
						 "%s \"no\" is forbidden: "
						 "ValidatingAdmissionPolicy 'p' with binding 'b' "
						 "denied request: CONNECT %s",
						 resource, v[i].said));
	}
	/* Allowed requests get the next error. A log is read, not connected to. */
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

/* --- the audit log ---------------------------------------------------------------- */

/* Appends "STAGE CODE;" for each line of the log. */
static void read_stages(struct verb_world *w, const char *path, struct buf *out)
{
	char text[4096];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	buf_clear(out);
	while (fgets(text, sizeof(text), f)) {
		const struct json *code;
		struct json *line;

		assert_int_equal(json_parse(&w->arena, arena_str(&w->arena, str_from(text)), NULL,
					    &line, NULL),
				 0);
		code = json_pointer(line, STR("/responseStatus/code"));
		(void)buf_printf(out, "%.*s %lld;", STR_ARG(json_text_at(line, "stage")),
				 code ? (long long)code->i64 : 0);
	}
	(void)fclose(f);
}

static void a_response_starts_in_the_audit_log_when_the_node_replies(void **state)
{
	CLEANUP(buf_release) struct buf stages = BUF_INIT(KIB);
	struct verb_world *w = *state;
	char path[] = "/tmp/devplane-audit-XXXXXX";
	struct audit_opts opts = { .path = path, .metrics = w->server.metrics, .log = &w->log };
	struct neighbour kubelet;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	make_node(w, "n", "10.0.0.7");
	assert_int_equal(audit_open(&opts, &w->server.audit, NULL), 0);
	(void)verb_world_call(w, "GET", NODES "/n/proxy/x", NULL, 503);
	read_stages(w, path, &stages);
	assert_string_equal(stages.p, "ResponseComplete 503;");
	assert_int_equal(ftruncate(fd, 0), 0);
	neighbour_init(&kubelet, w, ":10250");
	asks(w, "GET", NODES "/n/proxy/redirect", NULL,
	     "GET /redirect " NODES "/n/proxy/redirect []");
	read_stages(w, path, &stages);
	assert_string_equal(stages.p, "ResponseStarted 302;ResponseComplete 302;");
	neighbour_release(&kubelet, w);
	audit_close(w->server.audit);
	w->server.audit = NULL;
	(void)close(fd);
	(void)unlink(path);
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
		cmocka_unit_test_setup_teardown(an_unreachable_node_is_unavailable,
						verb_world_set_up, verb_world_tear_down),
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
		cmocka_unit_test_setup_teardown(a_services_port_is_found_by_number_and_by_name,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_services_port_without_name_needs_none,
						verb_world_set_up_http1, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(
			services_that_lead_nowhere_are_told_in_upstreams_words, verb_world_set_up,
			verb_world_tear_down),
		cmocka_unit_test_setup_teardown(
			endpoints_that_are_no_pods_of_the_namespace_do_not_count, verb_world_set_up,
			verb_world_tear_down),
		cmocka_unit_test_setup_teardown(a_pods_second_address_counts_as_the_first,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(
			a_response_starts_in_the_audit_log_when_the_node_replies, verb_world_set_up,
			verb_world_tear_down),
	};

	return cmocka_run_group_tests_name("server/connect", tests, NULL, NULL);
}
