/*
 * DefaultBinder: tells the API server, by creating the pod's binding.
 *
 * Whatever the server answers but yes is a failure of the attempt: also a conflict, which is
 * another scheduler's success. A request that is under way when the pod is cancelled is let end.
 */
#include "base/json_writer.h"
#include "base/mem.h"
#include "client/client.h"
#include "scheduler/binding.h"
#include "scheduler/plugins.h"

enum { BODY_MAX = 1 << 13 };

struct bind_call {
	struct client_request request;
	struct binding *binding;
};

static void on_done(struct client_request *r, const struct client_answer *a,
		    const struct error *err)
{
	struct bind_call *call = r->arg;
	struct binding *b = call->binding;

	free(call);
	if (err)
		binding_failed(b, err);
	else
		binding_done(b, VERDICT_OK);
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

static void bind_pod(struct plugin *p, struct binding *b)
{
	struct resource pods = { .version = STR("v1"),
				 .resource = STR("pods"),
				 .kind = STR("Pod"),
				 .namespaced = true };
	const struct podinfo *pod = binding_pod(b);
	struct resource_name name = { .ns = pod->ns,
				      .name = pod->name,
				      .subresource = STR("binding") };
	struct buf body = BUF_INIT(BODY_MAX);
	struct bind_call *call;

	if (!p->services->client) {
		struct error why;

		(void)error_set(&why, ERR_UNAVAILABLE, "there is no API server to bind at");
		binding_failed(b, &why);
		return;
	}
	call = XNEW(struct bind_call);
	call->binding = b;
	write_body(&body, pod, binding_node(b));
	call->request = (struct client_request){
		.method = STR("POST"), .body = buf_str(&body), .on_done = on_done, .arg = call
	};
	client_call(p->services->client, &call->request, &pods, name, NULL);
	buf_release(&body);
}

const struct plugin_kind plugin_default_binder = {
	.name = "DefaultBinder",
	.bind = bind_pod,
};
