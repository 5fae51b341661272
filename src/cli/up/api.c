/*
 * Each request is a call on the heap that frees itself when it is answered. Objects are created,
 * not applied: later changes by the user are kept.
 */
#include "cli/up/api.h"

#include "api/schema/tree.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "drivers/disk/driver.h"

#define ACCOUNTS "/api/v1/namespaces/kube-system/serviceaccounts"

struct call {
	struct list link;
	struct up_api *api;
	struct client_request request;
	/* Reads the reply; may set *text to the result. NULL: the whole reply. */
	int (*read)(struct str *text, struct arena *a, struct error *err);
	up_api_fn *fn;
	void *arg;
};

/* --- one request ----------------------------------------------------------------------------- */

static void api_on_answer(struct client_request *r, const struct client_answer *a,
			  const struct error *err)
{
	struct call *c = CONTAINER_OF(r, struct call, request);
	struct arena arena;
	struct error bad;
	struct str text = a->body;

	arena_init(&arena, 64 * MIB);
	list_remove(&c->link);
	if (!err && c->read && c->read(&text, &arena, &bad) < 0)
		err = &bad;
	c->fn(c->arg, err ? STR_NULL : text, err);
	arena_release(&arena);
	free(c);
}

static void api_ask(struct up_api *u, const struct call *form)
{
	struct call *c = XNEW(struct call);

	*c = *form;
	c->api = u;
	c->request.on_done = api_on_answer;
	list_push_back(&u->calls, &c->link);
	client_send(u->client, &c->request);
}

void up_api_init(struct up_api *u, struct loop *l, const struct up_plan *p)
{
	*u = (struct up_api){ .loop = l, .plan = p };
	list_init(&u->calls);
}

int up_api_open(struct up_api *u, struct error *err)
{
	struct kubeconfig_opts k = { .path = u->plan->layout.admin };
	struct kubeconfig config = { 0 };
	struct client_opts o = { .config = &config, .role = "up" };
	int r;

	r = kubeconfig_load(&config, &k, err);
	if (r == 0)
		r = client_new(u->loop, &o, &u->client, err);
	kubeconfig_release(&config);
	return r;
}

void up_api_close(struct up_api *u)
{
	while (!list_empty(&u->calls)) {
		struct call *c = LIST_ENTRY(u->calls.next, struct call, link);

		client_cancel(&c->request);
		list_remove(&c->link);
		free(c);
	}
	client_free(TAKE(u->client));
}

int up_api_reopen(struct up_api *u, struct error *err)
{
	struct error gone;
	struct client *old = u->client;
	struct list calls;
	int r = up_api_open(u, err);

	if (r < 0) {
		u->client = old;
		return r;
	}
	list_init(&calls);
	list_splice_back(&calls, &u->calls);
	(void)error_set(&gone, ERR_UNAVAILABLE, "the server was started again");
	while (!list_empty(&calls)) {
		struct call *c = LIST_ENTRY(calls.next, struct call, link);

		client_cancel(&c->request);
		list_remove(&c->link);
		c->fn(c->arg, STR_NULL, &gone);
		free(c);
	}
	client_free(old);
	return 0;
}

/* --- objects --------------------------------------------------------------------------------- */

static void on_object(void *arg, struct str text UNUSED, const struct error *err)
{
	struct up_api *u = arg;

	if (err && err->code != ERR_ALREADY_EXISTS && u->failure.code == ERR_OK)
		u->failure = *err;
	if (--u->waiting == 0)
		u->on_objects(u->arg, u->failure.code == ERR_OK ? NULL : &u->failure);
}

static void api_make(struct up_api *u, struct str path, struct str body, struct str type)
{
	struct call c = { .request = { .method = STR("POST"),
				       .path = path,
				       .body = body,
				       .content_type = type },
			  .fn = on_object,
			  .arg = u };

	u->waiting++;
	api_ask(u, &c);
}

static void make_account(struct up_api *u, const char *kind)
{
	char body[256];

	(void)snprintf(body, sizeof(body),
		       "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\","
		       "\"metadata\":{\"name\":\"devplane-sim-%s\"}}",
		       kind);
	api_make(u, STR(ACCOUNTS), str_from(body), STR("application/json"));
}

static void make_class(struct up_api *u, const char *kind)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\","
		       "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"selectors\":[{\"cel\":"
		       "{\"expression\":\"device.driver == \\\"%s.sim.devplane.dev\\\"\"}}]}}",
		       kind, kind);
	api_make(u, STR("/apis/resource.k8s.io/v1/deviceclasses"), str_from(body),
		 STR("application/json"));
}

void up_api_make_demo(struct up_api *u, void (*done)(void *arg, const struct error *err), void *arg)
{
	u->on_objects = done;
	u->arg = arg;
	make_account(u, "gpu");
	make_account(u, "nic");
	make_class(u, "gpu");
	make_class(u, "nic");
	if (u->plan->varied) {
		make_account(u, "fpga");
		make_account(u, "mig");
		make_class(u, "fpga");
		make_class(u, "mig");
	}
	api_make(u, STR("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
		 str_from(disk_crd_yaml), STR("application/yaml"));
}

/* --- requests -------------------------------------------------------------------------------- */

static int api_read_text(struct str *text, struct arena *a, const char *pointer, struct error *err)
{
	struct json *tree;
	int r = json_parse(a, *text, NULL, &tree, err);

	if (r < 0)
		return r;
	*text = json_str(json_pointer(tree, str_from(pointer)));
	return text->n > 0 ? 0 : error_set(err, ERR_PROTOCOL, "the answer has no %s", pointer);
}

static int read_token(struct str *text, struct arena *a, struct error *err)
{
	return api_read_text(text, a, "/status/token", err);
}

void up_api_token(struct up_api *u, const struct up_role *r, up_api_fn *fn, void *arg)
{
	struct up_identity id;
	struct arena a;
	struct up_plan p = *u->plan;
	struct call c = { .read = read_token, .fn = fn, .arg = arg };

	arena_init(&a, SIZE_MAX);
	p.arena = &a;
	id = up_role_identity(&p, r);
	c.request.method = STR("POST");
	c.request.path = str_from(arena_printf(&a, ACCOUNTS "/%s/token", id.account));
	c.request.body = str_from(arena_printf(
		&a,
		"{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{"
		"\"expirationSeconds\":%d,\"boundObjectRef\":{\"apiVersion\":\"v1\","
		"\"kind\":\"Node\",\"name\":\"%s\"}}}",
		UP_TOKEN_SECONDS, r->node));
	api_ask(u, &c);
	arena_release(&a);
}

static int read_uid(struct str *text, struct arena *a, struct error *err)
{
	return api_read_text(text, a, "/metadata/uid", err);
}

void up_api_node_uid(struct up_api *u, const char *node, up_api_fn *fn, void *arg)
{
	char path[512];
	struct call c = { .read = read_uid, .fn = fn, .arg = arg };

	(void)snprintf(path, sizeof(path), "/api/v1/nodes/%s", node);
	c.request.path = str_from(path);
	api_ask(u, &c);
}

static int read_nodes(struct str *text, struct arena *a, struct error *err)
{
	struct json *tree;
	int r = json_parse(a, *text, NULL, &tree, err);
	size_t n = 0;

	if (r < 0)
		return r;
	JSON_FOREACH (it, json_getz(tree, "items"))
		n += tree_condition_is_true(it, STR("Ready"));
	*text = str_from(arena_printf(a, "%zu", n));
	return 0;
}

void up_api_nodes(struct up_api *u, up_api_fn *fn, void *arg)
{
	struct call c = { .request = { .path = STR("/api/v1/nodes") },
			  .read = read_nodes,
			  .fn = fn,
			  .arg = arg };

	api_ask(u, &c);
}

static int read_code(struct str *text, struct arena *a, struct error *err)
{
	return api_read_text(text, a, "/code", err);
}

void up_api_link(struct up_api *u, up_api_fn *fn, void *arg)
{
	struct call c = { .request = { .method = STR("POST"),
				       .path = STR("/ui/link"),
				       .query = STR("seconds=3600"),
				       .no_retry = true },
			  .read = read_code,
			  .fn = fn,
			  .arg = arg };

	api_ask(u, &c);
}
