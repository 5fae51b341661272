/*
 * Each slot makes one pod after the other by a chain of requests: the pod, its claim, the claim's
 * status. The pod comes first because the reservation names its uid.
 */
#include "node_pods.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/api/client.h"
#include "node_driver.h"
#include "node_plugin.h"

enum { AT_A_TIME = 16, CLAIM_PATH_MAX = 256 };

struct maker {
	struct node_pods_opts opts;
	size_t next, end; /* numbers */
	size_t slots; /* that are at work */
};

struct slot {
	struct maker *maker;
	struct client_request request;
	size_t pod; /* number */
	char uid[64];
};

static const struct node_pods_devices own = { NODE_DRIVER, NODE_DRIVER_POOL, NODE_DRIVER_DEVICE,
					      NULL };

static void make_pod(struct slot *s);

static void need(const struct error *err)
{
	if (!err)
		return;
	(void)fprintf(stderr, "node_pods: %s\n", err->msg);
	exit(1);
}

static void send_text(struct slot *s, const char *method, const char *path, struct buf *body,
		      void (*done)(struct client_request *, const struct client_answer *,
				   const struct error *))
{
	s->request = (struct client_request){
		.method = str_from(method),
		.path = str_from(path),
		.body = buf_str(body),
		.content_type = method[1] == 'A' ? STR("application/merge-patch+json") : STR_NULL,
		.on_done = done,
		.arg = s,
	};
	client_send(s->maker->opts.client, &s->request);
	buf_release(body);
}

#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

static void on_allocated(struct client_request *r, const struct client_answer *a UNUSED,
			 const struct error *err)
{
	need(err);
	make_pod(r->arg);
}

static void add_node(const struct slot *s, struct buf *body)
{
	struct str node = str_from(s->maker->opts.node);

	(void)buf_add_str(body, node);
	if (str_ends(node, STR("-")))
		(void)buf_printf(body, "%zu", s->pod);
}

static void add_allocation(const struct slot *s, struct buf *body)
{
	const struct node_pods_opts *o = &s->maker->opts;
	const struct node_pods_devices *d = o->devices;

	(void)buf_addz(body, "{\"devices\":{\"results\":[");
	for (size_t i = 0; i < o->per_claim; i++)
		(void)buf_printf(body,
				 "%s{\"request\":\"all\",\"driver\":\"%s\",\"pool\":\"%s\","
				 "\"device\":\"%s%zu\"}",
				 i ? "," : "", d->driver, d->pool, d->device,
				 (s->pod - o->first) * o->per_claim + i);
	(void)buf_addz(body, "]");
	if (d->parameters)
		(void)buf_printf(body,
				 ",\"config\":[{\"source\":\"FromClaim\",\"opaque\":{"
				 "\"driver\":\"%s\",\"parameters\":%s}}]",
				 d->driver, d->parameters);
	(void)buf_addz(body, "},\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{"
			     "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"");
	add_node(s, body);
	(void)buf_addz(body, "\"]}]}]}}");
}

static void on_claim(struct client_request *r, const struct client_answer *a UNUSED,
		     const struct error *err)
{
	struct slot *s = r->arg;
	struct buf body = BUF_INIT(OBJECT_MAX);
	char path[CLAIM_PATH_MAX];

	need(err);
	(void)buf_addz(&body, "{\"status\":{\"allocation\":");
	add_allocation(s, &body);
	(void)buf_printf(&body,
			 ",\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"bench-%zu\","
			 "\"uid\":\"%s\"}]}}",
			 s->pod, s->uid);
	(void)snprintf(path, sizeof(path), CLAIMS "/" NODE_DRIVER_CLAIM "%zu/status", s->pod);
	send_text(s, "PATCH", path, &body, on_allocated);
}

static void on_pod(struct client_request *r, const struct client_answer *answer,
		   const struct error *err)
{
	struct slot *s = r->arg;
	struct buf body = BUF_INIT(OBJECT_MAX);
	CLEANUP(arena_release) struct arena a;
	struct json *tree = NULL;

	arena_init(&a, REQUEST_WORK_MAX);
	need(err);
	if (s->maker->opts.per_claim == 0) {
		make_pod(s);
		return;
	}
	(void)client_answer_tree(answer, &a, &tree, NULL);
	(void)snprintf(s->uid, sizeof(s->uid), "%.*s",
		       STR_ARG(json_text_at(json_getz(tree, "metadata"), "uid")));
	(void)buf_printf(&body,
			 "{\"metadata\":{\"name\":\"" NODE_DRIVER_CLAIM "%zu\"},\"spec\":{"
			 "\"devices\":{\"requests\":[{\"name\":\"all\",\"exactly\":{"
			 "\"deviceClassName\":\"bench\",\"count\":%zu}}]}}}",
			 s->pod, s->maker->opts.per_claim);
	send_text(s, "POST", CLAIMS, &body, on_claim);
}

static void make_pod(struct slot *s)
{
	struct maker *m = s->maker;
	struct buf body = BUF_INIT(OBJECT_MAX);

	if (m->next == m->end) {
		free(s);
		if (--m->slots == 0)
			free(m);
		return;
	}
	s->pod = m->next++;
	(void)buf_printf(&body, "{\"metadata\":{\"name\":\"bench-%zu\"},\"spec\":{\"nodeName\":\"",
			 s->pod);
	add_node(s, &body);
	(void)buf_addz(&body, "\",\"automountServiceAccountToken\":false,"
			      "\"containers\":[{\"name\":\"main\",\"image\":\"bench\"");
	if (m->opts.per_claim)
		(void)buf_addz(&body, ",\"resources\":{\"claims\":[{\"name\":\"devices\"}]}");
	else if (m->opts.per_plugin)
		(void)buf_printf(&body,
				 ",\"resources\":{\"limits\":{\"" NODE_PLUGIN_RESOURCE "\":%zu}}",
				 m->opts.per_plugin);
	(void)buf_addz(&body, "}]");
	if (m->opts.per_claim)
		(void)buf_printf(&body,
				 ",\"resourceClaims\":[{\"name\":\"devices\","
				 "\"resourceClaimName\":\"" NODE_DRIVER_CLAIM "%zu\"}]",
				 s->pod);
	(void)buf_addz(&body, "}}");
	send_text(s, "POST", "/api/v1/namespaces/default/pods", &body, on_pod);
}

void node_pods_make(const struct node_pods_opts *opts)
{
	struct maker *m = XNEW(struct maker);

	m->opts = *opts;
	if (!m->opts.devices)
		m->opts.devices = &own;
	m->next = opts->first;
	m->end = opts->first + opts->count;
	m->slots = MIN(AT_A_TIME, opts->count);
	for (size_t i = 0; i < MIN(AT_A_TIME, opts->count); i++) {
		struct slot *s = XNEW(struct slot);

		s->maker = m;
		make_pod(s);
	}
}

static void on_deleted(struct client_request *r, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	need(err);
	free(r);
}

void node_pods_delete(struct client *c, size_t pod)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	struct client_request *r = XNEW(struct client_request);
	char name[32];

	(void)snprintf(name, sizeof(name), "bench-%zu", pod);
	r->on_done = on_deleted;
	client_delete(c, r, &pods, STR("default"), str_from(name), NULL);
}
