/*
 * Each question has a connection of its own, as that of a plugin's process has.
 */
#include "claims_node.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "drivers/cni/cni_exec.h"
#include "drivers/cni/nic_socket.h"
#include "drivers/drivers_limits.h"
#include "drivers/nic/driver.h"
#include "drivers/prepare/socket_path.h"
#include "grpc/channel.h"
#include "load.h"
#include "net/http/client.h"
#include "node/plugins/wire.h"

#define PLUGINS "/usr/lib/cni" /* those that claims name */

struct claims_node {
	struct loop *loop;
	const char *root;
	void (*done)(void *arg);
	void *arg;
	struct grpc_channel *channel;
	struct addr plugin_socket;

	/* The running operation. */
	struct http_client *http;
	struct cni_exec *exec;
	const char *target; /* "/add" */
	struct buf body, answer;
	int status;
	struct loop_task end;
};

static char *text(const char *borrowed)
{
	return (char *)(uintptr_t)borrowed;
}

/* Connections are not ended from within their own callbacks. */
static void on_end(struct loop_task *t)
{
	struct claims_node *n = CONTAINER_OF(t, struct claims_node, end);

	http_client_free(TAKE(n->http));
	cni_exec_free(TAKE(n->exec));
	n->done(n->arg);
}

/* --- the kubelet ------------------------------------------------------------------------ */

static void on_prepared(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			const void *reply)
{
	const Dra__NodePrepareResourcesResponse *in = reply;
	struct claims_node *n = arg;
	struct error err;

	if (st->code != GRPC_OK) {
		(void)plugin_wire_error(st, &err);
		load_die(err.msg);
	}
	if (in->n_claims != 1 || in->claims[0]->value->error[0])
		load_die(in->n_claims ? in->claims[0]->value->error : "nothing was prepared");
	loop_defer(n->loop, &n->end);
}

void claims_node_prepare(struct claims_node *n, const struct claims_pod *p)
{
	Dra__NodePrepareResourcesRequest request = DRA__NODE_PREPARE_RESOURCES_REQUEST__INIT;
	Dra__Claim claim = DRA__CLAIM__INIT, *claims[1] = { &claim };

	claim.namespace_ = text("default");
	claim.uid = text(p->claim_uid);
	claim.name = text(p->name);
	request.claims = claims;
	request.n_claims = ARRAY_SIZE(claims);
	(void)grpc_channel_unary(n->channel, &plugin_wire_dra[0].prepare, &request.base, NULL,
				 on_prepared, n);
}

/* --- the runtime ------------------------------------------------------------------------ */

static void on_head(struct http_stream *s)
{
	((struct claims_node *)s->data)->status = s->in.status;
}

static void on_body(struct http_stream *s, struct str piece)
{
	struct claims_node *n = s->data;

	(void)buf_add_str(&n->answer, piece);
	http_stream_consume(s, piece.n);
}

static void on_close(struct http_stream *s, const struct error *err)
{
	struct claims_node *n = s->data;

	if (err || n->status != 200)
		load_die(err ? err->msg : n->answer.p);
	loop_defer(n->loop, &n->end);
}

static const struct http_stream_ops ops = { .on_head = on_head,
					    .on_body = on_body,
					    .on_close = on_close };

static void on_open(void *arg)
{
	struct claims_node *n = arg;
	struct http_request r = { .method = STR("POST"),
				  .scheme = STR("http"),
				  .authority = STR("localhost"),
				  .target = str_from(n->target),
				  .length = (int64_t)n->body.n,
				  .ops = &ops,
				  .data = n };
	struct http_stream *s;
	struct error err;

	if (http_client_request(n->http, &r, &s, &err) < 0)
		load_die(err.msg);
	(void)http_stream_send_copy(s, buf_str(&n->body));
	(void)http_stream_end(s, NULL, 0);
}

static void ask(struct claims_node *n, const char *target, const struct claims_pod *p)
{
	struct http_client_opts o = { .to = n->plugin_socket, .on_open = on_open, .arg = n };
	struct error err;

	n->target = target;
	n->status = 0;
	buf_clear(&n->answer);
	buf_clear(&n->body);
	(void)buf_printf(&n->body,
			 "{\"containerID\":\"%s\",\"netns\":\"%s\",\"ifname\":\"eth0\","
			 "\"podUID\":\"%s\",\"podName\":\"%s\",\"podNamespace\":\"default\","
			 "\"path\":\"" PLUGINS "\"}",
			 p->container, p->netns, p->uid, p->name);
	if (http_client_new(n->loop, &o, &n->http, &err) < 0)
		load_die(err.msg);
}

void claims_node_attach(struct claims_node *n, const struct claims_pod *p)
{
	ask(n, "/add", p);
}

void claims_node_detach(struct claims_node *n, const struct claims_pod *p)
{
	ask(n, "/del", p);
}

static void on_run(void *arg, const struct json *result UNUSED, const struct error *err)
{
	struct claims_node *n = arg;

	if (err)
		load_die(err->msg);
	loop_defer(n->loop, &n->end);
}

void claims_node_run(struct claims_node *n, const struct claims_pod *p, bool detach,
		     const char *folder)
{
	CLEANUP(arena_release) struct arena a;
	struct cni_exec_opts o = { .command = detach ? CNI_DEL : CNI_ADD,
				   .container_id = p->container,
				   .ifname = "eth0",
				   .path = folder,
				   .netns = p->netns,
				   .pod_uid = p->uid,
				   .pod_name = p->name,
				   .pod_namespace = p->ns ? p->ns : "default",
				   .on_done = on_run,
				   .arg = n };
	struct json *config;
	struct error err;

	arena_init(&a, MIB);
	config = json_make_object(&a);
	json_setz(config, "type", json_make_str(&a, STR("devplane-cni")));
	json_setz(config, "rootDir", json_make_str(&a, str_from(n->root)));
	o.config = config;
	if (cni_exec_new(n->loop, &o, &n->exec, &err) < 0)
		load_die(err.msg);
}

/* --- life ------------------------------------------------------------------------------- */

struct claims_node *claims_node_new(struct loop *l, const char *root, void (*done)(void *arg),
				    void *arg)
{
	struct claims_node *n = XNEW(struct claims_node);
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	struct grpc_channel_opts o = { 0 };
	struct error err;

	*n = (struct claims_node){ .loop = l, .root = xstrdup(root), .done = done, .arg = arg };
	loop_task_init(&n->end, on_end);
	buf_init(&n->body, MIB);
	buf_init(&n->answer, CNI_OUTPUT_MAX);
	if (socket_path_dra(root, NIC_DRIVER_NAME, NULL, &path, &err) < 0 ||
	    socket_path_addr(buf_str(&path), &o.to, &err) < 0)
		load_die(err.msg);
	n->channel = grpc_channel_new(l, &o);
	buf_clear(&path);
	if (nic_socket_path(root, NIC_DRIVER_NAME, &path, &err) < 0 ||
	    socket_path_addr(buf_str(&path), &n->plugin_socket, &err) < 0)
		load_die(err.msg);
	return n;
}
