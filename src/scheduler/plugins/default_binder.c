/*
 * DefaultBinder: binds the pod by creating its Binding on the API server.
 *
 * Any reply but success fails the attempt, even a conflict, which is another scheduler's success.
 * If the result is in doubt (no reply, a server error, or the pod is bound already), it reads the
 * pod, because undoing the reservations of a bound pod would give its devices away. If the pod is
 * not bound yet, the server may still be processing the first request. So the binding is sent
 * again, and the server rejects one of the two. If that is still unknown at the end, the binding is
 * marked as doubted, so that plugins keep what the pod holds. A request in progress is not
 * interrupted if the pod is cancelled.
 */
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "client/api/client.h"
#include "client/api/resource.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/framework/binding.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/scheduler_limits.h"

enum { BODY_MAX = 1 << 13 };
enum { LOOK_MS = 100, LOOKS_MAX = 7 }; /* doubled each time: 25 s in all */

struct bind_call {
	struct client_request request;
	struct client *client;
	struct binding *binding;
	struct error why; /* the error of the bind request */
	struct loop_timer timer; /* to the next look, or the next try */
	int looks;
	bool unbound; /* as it looked last */
};

/* `why` NULL: it is bound. */
static void default_binder_end(struct bind_call *call, const struct error *why)
{
	struct binding *b = call->binding;
	struct error copy = why ? *why : (struct error){ 0 };

	/* The server may still bind the pod, or has bound it. */
	if (why && call->why.code != ERR_OK)
		binding_note_doubt(b);
	loop_timer_stop(&call->timer);
	free(call);
	if (why)
		binding_failed(b, &copy);
	else
		binding_done(b, VERDICT_OK);
}

/* Returns the pod's node, or an empty text. p NULL: the reply has another pod or no pod. */
static struct str default_binder_node_of(const struct client_answer *a, struct binding *b,
					 struct arena *arena)
{
	struct json *tree;
	struct str node;

	if (client_answer_tree(a, arena, &tree, NULL) < 0 ||
	    !str_eq(json_text_at(json_getz(tree, "metadata"), "uid"), binding_pod(b)->uid))
		return STR_NULL;
	node = json_text_at(json_getz(tree, "spec"), "nodeName");
	return node.p ? node : STR("");
}

static void default_binder_again(struct bind_call *call)
{
	if (call->looks >= LOOKS_MAX || binding_cancelled(call->binding))
		default_binder_end(call, &call->why);
	else
		loop_timer_start(&call->timer, LOOK_MS << call->looks++);
}

static void take_look(struct bind_call *call, const struct client_answer *a)
{
	struct arena arena;
	struct str node;
	bool ours;

	arena_init(&arena, POD_WORK_MAX);
	node = default_binder_node_of(a, call->binding, &arena);
	ours = node.n > 0 && str_eq(node, binding_node(call->binding));
	call->unbound = node.p && node.n == 0;
	arena_release(&arena);
	if (call->unbound)
		default_binder_again(call);
	else
		default_binder_end(call, ours ? NULL : &call->why);
}

static void default_binder_on_looked(struct client_request *r, const struct client_answer *a,
				     const struct error *err)
{
	struct bind_call *call = r->arg;

	if (err && err->code == ERR_NOT_FOUND)
		binding_note_gone(call->binding);
	if (!err)
		take_look(call, a);
	else if (err->code == ERR_NOT_FOUND || err->code == ERR_CANCELED)
		default_binder_end(call, &call->why);
	else
		default_binder_again(call);
}

static void default_binder_look(struct bind_call *call)
{
	const struct podinfo *pod = binding_pod(call->binding);
	struct resource pods = resource_builtin("", "v1", "pods");

	call->request = (struct client_request){ .on_done = default_binder_on_looked, .arg = call };
	client_get(call->client, &call->request, &pods, pod->ns, pod->name);
}

static void default_binder_on_done(struct client_request *r, const struct client_answer *a,
				   const struct error *err)
{
	struct bind_call *call = r->arg;

	if (err && err->code == ERR_NOT_FOUND)
		binding_note_gone(call->binding);
	if (!err || err->code == ERR_CANCELED ||
	    (!client_answer_doubtful(a) && err->code != ERR_CONFLICT)) {
		default_binder_end(call, err);
		return;
	}
	if (call->why.code == ERR_OK)
		call->why = *err;
	default_binder_look(call);
}

/* Cancelled while it waits for its next look. */
static void on_cancel(void *arg, struct binding *b UNUSED)
{
	struct bind_call *call = arg;

	if (loop_timer_running(&call->timer))
		default_binder_end(call, &call->why);
}

static void write_member(struct json_writer *w, const char *key, struct str value)
{
	json_writer_keyz(w, key);
	json_writer_str(w, value);
}

static void write_body(struct buf *out, const struct podinfo *pod, struct str node)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	write_member(&w, "apiVersion", STR("v1"));
	write_member(&w, "kind", STR("Binding"));
	json_writer_keyz(&w, "metadata");
	json_writer_begin_object(&w);
	write_member(&w, "name", pod->name);
	write_member(&w, "namespace", pod->ns);
	write_member(&w, "uid", pod->uid);
	json_writer_end_object(&w);
	json_writer_keyz(&w, "target");
	json_writer_begin_object(&w);
	write_member(&w, "kind", STR("Node"));
	write_member(&w, "name", node);
	json_writer_end_object(&w);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
}

static void post(struct bind_call *call)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	const struct podinfo *pod = binding_pod(call->binding);
	struct resource_name name = { .ns = pod->ns,
				      .name = pod->name,
				      .subresource = STR("binding") };
	struct buf body = BUF_INIT(BODY_MAX);

	write_body(&body, pod, binding_node(call->binding));
	call->request = (struct client_request){ .method = STR("POST"),
						 .body = buf_str(&body),
						 .on_done = default_binder_on_done,
						 .arg = call };
	client_call(call->client, &call->request, &pods, name, NULL);
	buf_release(&body);
}

static void default_binder_on_timer(struct loop_timer *t)
{
	struct bind_call *call = CONTAINER_OF(t, struct bind_call, timer);

	if (call->unbound)
		post(call);
	else
		default_binder_look(call);
}

static void bind_pod(struct plugin *p, struct binding *b)
{
	struct bind_call *call;

	if (!p->services->client) {
		struct error why;

		(void)error_set(&why, ERR_UNAVAILABLE, "there is no API server to bind at");
		binding_failed(b, &why);
		return;
	}
	call = XNEW(struct bind_call);
	call->binding = b;
	call->client = p->services->client;
	loop_timer_init(&call->timer, p->services->loop, default_binder_on_timer);
	binding_on_cancel(b, on_cancel, call);
	post(call);
}

const struct plugin_kind plugin_default_binder = {
	.name = "DefaultBinder",
	.bind = bind_pod,
};
