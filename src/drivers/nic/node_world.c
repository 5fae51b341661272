/*
 * Pods are known by a path below /proc/self/fd, which is gone when the namespace's descriptor is
 * closed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "dra.pb-c.h"
#include "drivers/nic/node_world.h"
#include "drivers/prepare/socket_path.h"
#include "drivers/rtnl/netns.h"
#include "grpc/channel.h"
#include "net/http/server.h"

/*
 * --- the namespace -----------------------------------------------------------------------------
 */

static int make_links(struct error *err)
{
	struct rtnl_new_link pair = {
		.kind = "veth", .name = "host0", .peer = "host0x", .ns_fd = -1
	};
	struct rtnl_change up = { .set_up = true, .up = true };
	static const char *const names[] = { "lo", "host0", "host0x" };
	struct rtnl_link l;
	struct rtnl *n = NULL;
	int r = rtnl_open(-1, &n, err);

	if (r == 0)
		r = rtnl_link_add(n, &pair, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		r = rtnl_link_by_name(n, names[i], &l, err);
		if (r == 0)
			r = rtnl_link_change(n, l.index, &up, err);
	}
	rtnl_close(n);
	return r;
}

bool nic_node_enter(void)
{
	struct error err;

	if (unshare(CLONE_NEWNET) < 0)
		(void)error_set_errno(&err, ERR_FORBIDDEN, errno,
				      "no network namespace can be made");
	else if (make_links(&err) == 0)
		return true;
	printf("# skipped: %s\n", err.msg);
	return false;
}

/*
 * --- waiting -----------------------------------------------------------------------------------
 */

static void node_world_on_tick(struct loop_timer *t)
{
	struct nic_node *w = CONTAINER_OF(t, struct nic_node, tick);

	if (w->ready(w))
		loop_stop(w->loop);
	else
		loop_timer_start(t, 1);
}

/* A state that lasts only until a reply would be missed between two ticks. */
static void node_world_look(struct nic_node *w)
{
	if (!loop_timer_running(&w->tick) || !w->ready(w))
		return;
	loop_timer_stop(&w->tick);
	loop_stop(w->loop);
}

void nic_node_wait(struct nic_node *w, bool (*ready)(struct nic_node *w))
{
	w->ready = ready;
	loop_timer_start(&w->tick, 0);
	loop_run(w->loop);
}

static bool is_done(struct nic_node *w)
{
	return w->done;
}

static void node_world_on_done(void *arg)
{
	((struct nic_node *)arg)->done = true;
}

/*
 * --- the API server ----------------------------------------------------------------------------
 */

static void collected(struct http_stream *s, struct str body)
{
	struct nic_node *w = s->data;
	struct http_field field = HTTP_FIELD("content-type", STR("application/json"));
	struct buf out = BUF_INIT(OBJECT_MAX);
	char target[512], method[16];
	int status = 404;

	node_world_look(w);
	(void)snprintf(method, sizeof(method), "%.*s", STR_ARG(s->in.method));
	(void)snprintf(target, sizeof(target), "%.*s", STR_ARG(s->in.path));
	/* Slices are of no interest here. */
	if (!strstr(target, "resourceslices"))
		status = fakeapi_call(w->api, method, target, body, &out);
	(void)http_stream_respond(s, status, &field, 1, (int64_t)out.n);
	if (out.n > 0)
		(void)http_stream_send_copy(s, buf_str(&out));
	(void)http_stream_end(s, NULL, 0);
	buf_release(&out);
}

static void node_world_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops none = { 0 };

	s->ops = &none;
	s->data = arg;
	http_stream_collect(s, collected);
}

static void node_world_serve(struct nic_node *w)
{
	struct http_server_opts o = {
		.loops = &w->loop, .nloops = 1, .handler = node_world_handle, .arg = w
	};
	char text[512];
	struct addr at;

	w->server = http_server_new(&o);
	assert_int_equal(addr_parse(&at, STR("127.0.0.1:80"), 0, NULL), 0);
	((struct sockaddr_in *)(void *)&at.sa)->sin_port = 0;
	assert_int_equal(http_server_listen(w->server, &at, NULL, 0, &at, NULL), 0);
	(void)snprintf(text, sizeof(text),
		       "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"current-context\":\"c\","
		       "\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":"
		       "\"u\"}}],\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":"
		       "\"http://127.0.0.1:%u\"}}],\"users\":[{\"name\":\"u\",\"user\":{}}]}",
		       at.port);
	assert_int_equal(file_write_atomic(w->kubeconfig, str_from(text), 0600, NULL), 0);
}

static void pods_of(struct buf *out, const char *pods)
{
	for (const char *p = pods; *p; p++)
		(void)buf_printf(out,
				 "%s{\"resource\":\"pods\",\"name\":\"pod-%c\",\"uid\":"
				 "\"pod-uid-%c\"}",
				 p > pods ? "," : "", *p, *p);
}

void nic_node_claim(struct nic_node *w, int n, const char *device, const char *parameters,
		    const char *pods)
{
	struct buf rest = BUF_INIT(OBJECT_MAX);
	char name[32], meta[64];

	(void)snprintf(name, sizeof(name), "claim-%d", n);
	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"claim-uid-%d\"", n);
	(void)buf_printf(&rest,
			 ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":"
			 "\"r\",\"driver\":\"%s\",\"pool\":\"node\",\"device\":\"%s\"}],"
			 "\"config\":[",
			 NIC_DRIVER_NAME, device);
	if (parameters)
		(void)buf_printf(&rest,
				 "{\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"%s\","
				 "\"parameters\":%s}}",
				 NIC_DRIVER_NAME, parameters);
	(void)buf_addz(&rest, "]}},\"reservedFor\":[");
	pods_of(&rest, pods);
	(void)buf_addz(&rest, "]}");
	fakeapi_add(w->api, "resourceclaims", "default", name, meta, rest.p);
	buf_release(&rest);
}

void nic_node_delete_claim(struct nic_node *w, int n)
{
	char target[128];

	(void)snprintf(target, sizeof(target),
		       "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/claim-%d", n);
	assert_int_equal(fakeapi_call(w->api, "DELETE", target, STR(""), NULL), 200);
}

void nic_node_reserve(struct nic_node *w, int n, const char *pods)
{
	struct buf body = BUF_INIT(OBJECT_MAX);
	char target[128];

	(void)snprintf(target, sizeof(target),
		       "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/claim-%d/status",
		       n);
	(void)buf_addz(&body, "{\"status\":{\"reservedFor\":[");
	pods_of(&body, pods);
	(void)buf_addz(&body, "]}}");
	assert_int_equal(fakeapi_call(w->api, "PATCH", target, buf_str(&body), NULL), 200);
	buf_release(&body);
}

void nic_node_pod(struct nic_node *w, int n, int claim)
{
	char name[32], meta[64], rest[256];

	(void)snprintf(name, sizeof(name), "pod-%d", n);
	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"pod-uid-%d\"", n);
	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{\"resourceClaims\":[{\"name\":\"net\",\"resourceClaimName\":"
		       "\"claim-%d\"}]}",
		       claim);
	fakeapi_add(w->api, "pods", "default", name, meta, rest);
}

/*
 * --- the driver --------------------------------------------------------------------------------
 */

void nic_node_start(struct nic_node *w)
{
	struct nic_driver_opts o = { .loop = w->loop,
				     .log = log_null(),
				     .node_name = "node",
				     .kubeconfig = w->kubeconfig,
				     .root_dir = w->root,
				     .cdi_dir = w->bin,
				     .claim_cni = w->claim_cni ? w->claim_cni : "*",
				     .spec = &w->spec };
	struct grpc_channel_opts c = { 0 };
	struct buf path = BUF_INIT(KIB);
	struct error err;

	if (nic_driver_new(&o, &w->driver, &err) < 0 || nic_driver_start(w->driver, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(socket_path_dra(w->root, NIC_DRIVER_NAME, NULL, &path, NULL), 0);
	assert_int_equal(socket_path_addr(buf_str(&path), &c.to, NULL), 0);
	w->channel = grpc_channel_new(w->loop, &c);
	buf_release(&path);
}

void nic_node_stop(struct nic_node *w)
{
	w->stopping = true;
	grpc_channel_free(w->channel);
	w->done = false;
	nic_driver_stop(w->driver, node_world_on_done, w);
	nic_node_wait(w, is_done);
	nic_driver_free(w->driver);
	w->stopping = false;
}

/*
 * --- the kubelet -------------------------------------------------------------------------------
 */

static const struct grpc_method methods[] = {
	{ "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", GRPC_UNARY,
	  &dra__node_prepare_resources_request__descriptor,
	  &dra__node_prepare_resources_response__descriptor },
	{ "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodeUnprepareResources", GRPC_UNARY,
	  &dra__node_unprepare_resources_request__descriptor,
	  &dra__node_unprepare_resources_response__descriptor },
};

static void node_world_answered(struct nic_node *w, const struct grpc_status *st, const char *error)
{
	if (!w->stopping)
		assert_int_equal(st->code, GRPC_OK);
	(void)snprintf(w->error, sizeof(w->error), "%s", error);
	w->done = true;
}

static void on_prepared(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			const void *reply)
{
	const Dra__NodePrepareResourcesResponse *in = reply;

	node_world_answered(arg, st, in ? in->claims[0]->value->error : "");
}

static void on_unprepared(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			  const void *reply)
{
	const Dra__NodeUnprepareResourcesResponse *in = reply;

	node_world_answered(arg, st, in ? in->claims[0]->value->error : "");
}

void nic_node_begin(struct nic_node *w, bool unprepare, int n)
{
	Dra__NodeUnprepareResourcesRequest un = DRA__NODE_UNPREPARE_RESOURCES_REQUEST__INIT;
	Dra__NodePrepareResourcesRequest pre = DRA__NODE_PREPARE_RESOURCES_REQUEST__INIT;
	Dra__Claim claim = DRA__CLAIM__INIT, *list[1] = { &claim };
	char ns[] = "default", uid[32], name[32];

	(void)snprintf(uid, sizeof(uid), "claim-uid-%d", n);
	(void)snprintf(name, sizeof(name), "claim-%d", n);
	claim.namespace_ = ns;
	claim.uid = uid;
	claim.name = name;
	un.claims = pre.claims = list;
	un.n_claims = pre.n_claims = 1;
	w->done = false;
	(void)grpc_channel_unary(w->channel, &methods[unprepare], unprepare ? &un.base : &pre.base,
				 NULL, unprepare ? on_unprepared : on_prepared, w);
}

void nic_node_end(struct nic_node *w)
{
	nic_node_wait(w, is_done);
}

void nic_node_prepare(struct nic_node *w, int n)
{
	nic_node_begin(w, false, n);
	nic_node_end(w);
}

void nic_node_unprepare(struct nic_node *w, int n)
{
	nic_node_begin(w, true, n);
	nic_node_end(w);
}

/*
 * --- the runtime -------------------------------------------------------------------------------
 */

void nic_node_say_text(struct nic_node *w, const char *target, const char *body)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	char request[4096];
	int n;

	(void)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/plugins/%s/cni.sock", w->root,
		       NIC_DRIVER_NAME);
	w->nanswer = 0;
	w->client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(w->client, (struct sockaddr *)&sa, sizeof(sa)), 0);
	n = snprintf(
		request, sizeof(request),
		"POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
		target, strlen(body), body);
	assert_int_equal(write(w->client, request, (size_t)n), n);
}

void nic_node_say(struct nic_node *w, const char *target, int n, const char *suffix)
{
	char body[512];

	(void)snprintf(
		body, sizeof(body),
		"{\"containerID\":\"c%d%s\",\"netns\":\"/proc/self/fd/%d\",\"ifname\":\"eth0\","
		"\"podUID\":\"pod-uid-%d\",\"podName\":\"pod-%d\",\"podNamespace\":\"default\","
		"\"network\":\"pods\",\"path\":\"%s\"}",
		n, suffix, NIC_NODE_POD_FD + n, n, n, w->bin);
	nic_node_say_text(w, target, body);
}

void nic_node_hang_up(struct nic_node *w)
{
	(void)close(w->client);
	w->client = -1;
}

/* True at the end of the answer, which the server marks by closing. */
static bool heard_all(struct nic_node *w)
{
	ssize_t n = recv(w->client, w->answer + w->nanswer, sizeof(w->answer) - 1 - w->nanswer,
			 MSG_DONTWAIT);

	if (n > 0)
		w->nanswer += (size_t)n;
	w->answer[w->nanswer] = 0;
	return n == 0 || (n < 0 && errno != EAGAIN);
}

void nic_node_hear(struct nic_node *w)
{
	const char *body;

	nic_node_wait(w, heard_all);
	nic_node_hang_up(w);
	assert_int_equal(sscanf(w->answer, "HTTP/1.1 %d ", &w->status), 1);
	body = strstr(w->answer, "\r\n\r\n");
	assert_non_null(body);
	memmove(w->answer, body + 4, strlen(body + 4) + 1);
}

void nic_node_ask(struct nic_node *w, const char *target, int n, const char *suffix)
{
	nic_node_say(w, target, n, suffix);
	nic_node_hear(w);
}

void nic_node_end_pod(struct nic_node *w, int n)
{
	rtnl_close(w->pods[n]);
	w->pods[n] = NULL;
	(void)close(NIC_NODE_POD_FD + n);
}

/*
 * --- what the claim says -----------------------------------------------------------------------
 */

static const struct json *node_world_entry_of(struct nic_node *w)
{
	const struct fakeapi_object *o = fakeapi_find(w->api, "resourceclaims", "default",
						      w->want_claim);
	struct json *tree;

	assert_non_null(o);
	arena_clear(&w->arena);
	assert_int_equal(json_parse(&w->arena, str_from(o->text), NULL, &tree, NULL), 0);
	return json_at(json_pointer(tree, STR("/status/devices")), 0);
}

static bool has_reason(struct nic_node *w)
{
	const struct json *ready = json_at(json_getz(node_world_entry_of(w), "conditions"), 0);

	return str_eqz(json_text_at(ready, "reason"), w->want);
}

static bool has_no_entry(struct nic_node *w)
{
	return node_world_entry_of(w) == NULL;
}

const struct json *nic_node_reason(struct nic_node *w, int n, const char *reason)
{
	(void)snprintf(w->want_claim, sizeof(w->want_claim), "claim-%d", n);
	w->want = reason;
	nic_node_wait(w, has_reason);
	return node_world_entry_of(w);
}

void nic_node_no_entry(struct nic_node *w, int n)
{
	(void)snprintf(w->want_claim, sizeof(w->want_claim), "claim-%d", n);
	nic_node_wait(w, has_no_entry);
}

/*
 * --- life --------------------------------------------------------------------------------------
 */

static void make_pods(struct nic_node *w)
{
	struct error err;
	int fd;

	for (int i = 0; i < NIC_NODE_PODS; i++) {
		if (netns_make(&fd, &err) < 0 || rtnl_open(fd, &w->pods[i], &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(dup3(fd, NIC_NODE_POD_FD + i, O_CLOEXEC), NIC_NODE_POD_FD + i);
		(void)close(fd);
	}
}

void nic_node_init(struct nic_node *w)
{
	struct sim_opts o = { .seed = 1 };
	struct error err;

	/* Leftovers of an earlier test vanish some time later. */
	assert_true(nic_node_enter());
	memset(w, 0, sizeof(*w));
	w->client = -1;
	(void)snprintf(w->root, sizeof(w->root), "/tmp/devplane-nic.XXXXXX");
	assert_non_null(mkdtemp(w->root));
	(void)snprintf(w->kubeconfig, sizeof(w->kubeconfig), "%s/kubeconfig", w->root);
	(void)snprintf(w->bin, sizeof(w->bin), "%s/bin", w->root);
	arena_init(&w->arena, SIZE_MAX);
	w->sim = sim_new(&o);
	w->api = fakeapi_new(w->sim, 1);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	loop_timer_init(&w->tick, w->loop, node_world_on_tick);
	node_world_serve(w);
	if (rtnl_open(-1, &w->host, &err) < 0)
		fail_msg("%s", err.msg);
	make_pods(w);
	w->patterns[0] = "host0";
	w->creates[0] = (struct nic_create){ .kind = NIC_VETH, .count = 3 };
	w->spec = (struct nic_spec){
		.patterns = w->patterns, .npatterns = 1, .creates = w->creates, .ncreates = 1
	};
	nic_node_start(w);
}

void nic_node_release(struct nic_node *w)
{
	nic_node_stop(w);
	w->done = false;
	http_server_drain(w->server, 0, node_world_on_done, w);
	nic_node_wait(w, is_done);
	http_server_free(w->server);
	fakeapi_free(w->api);
	sim_free(w->sim);
	rtnl_close(w->host);
	for (int i = 0; i < NIC_NODE_PODS; i++)
		if (w->pods[i])
			nic_node_end_pod(w, i);
	loop_free(w->loop);
	arena_release(&w->arena);
	folder_fixture_remove(w->root);
}

/* --- for short --------------------------------------------------------------------------- */

int nic_node_index(struct rtnl *r, const char *name)
{
	struct rtnl_link l;

	return rtnl_link_by_name(r, name, &l, NULL) == 0 ? l.index : 0;
}

void nic_node_set_link(struct rtnl *r, const char *name, bool up)
{
	struct rtnl_change c = { .set_up = true, .up = up };

	assert_int_equal(rtnl_link_change(r, nic_node_index(r, name), &c, NULL), 0);
}

void nic_node_attach(struct nic_node *w, int n, const char *device, const char *parameters)
{
	char pods[2] = { (char)('0' + n), 0 };

	nic_node_claim(w, n, device, parameters, pods);
	nic_node_prepare(w, n);
	assert_string_equal(w->error, "");
	nic_node_ask(w, "/add", n, "");
	if (w->status != 200)
		fail_msg("%s", w->answer);
}

void nic_node_text(const struct json *entry, const char *pointer, const char *want)
{
	struct str got = json_str(json_pointer(entry, str_from(pointer)));

	if (!str_eqz(got, want))
		fail_msg("%s is \"%.*s\", not \"%s\"", pointer, STR_ARG(got), want);
}

int nic_node_set_up(void **state)
{
	struct nic_node *w = XNEW(struct nic_node);

	nic_node_init(w);
	*state = w;
	return 0;
}

int nic_node_tear_down(void **state)
{
	nic_node_release(*state);
	free(*state);
	return 0;
}
