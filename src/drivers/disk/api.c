/*
 * step() does the first thing that is missing: the definition, the Node's UID, the object, its
 * status, the removal of an annotation. Every change leads back to it. Whether the object exists is
 * known from the last reply; the informer only serves annotations, and notices a deletion.
 */
#include "drivers/disk/api.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/time/backoff.h"
#include "base/yaml/yaml.h"
#include "client/informer/informer.h"
#include "drivers/disk/driver.h"
#include "drivers/disk/status.h"

enum { RETRY_MS = 200, RETRY_MAX_MS = 30000, LOOK_MS = 5000 };

struct disk_api {
	struct disk_api_opts opts;
	struct resource resource, nodes, definitions;
	struct informers *informers;
	struct informer *informer;
	struct informer_handler handler;
	struct client_request request;
	struct loop_task task;
	struct loop_timer retry, look;
	struct backoff backoff;
	struct buf status; /* merge patch to send; empty: none */
	struct buf sent; /* the patch in flight */
	char *node_uid; /* "" if unknown */
	bool served, exists, published;
	char answered[DISK_NAME_SIZE]; /* device whose annotation must be removed */
	char refused[DISK_NAME_SIZE]; /* device whose annotation we lack permission to remove */
	uint64_t ignore_below; /* versions older than the removal of the annotation */
	struct error failure; /* code ERR_OK: no failure */
	struct error blind; /* the informer's last logged error */
	struct metrics_counter *writes, *failures; /* or NULL */
};

static void step_soon(struct disk_api *a)
{
	loop_defer(client_loop(a->opts.client), &a->task);
}

static void api_count(struct metrics_counter *c)
{
	if (c)
		metrics_counter_add(c, 1);
}

/* --- failures -------------------------------------------------------------------------------- */

/* Logs each distinct error once: a server that is down for an hour is one line. */
static void api_fail(struct disk_api *a, const char *what, const struct error *err)
{
	int64_t delay = backoff_next(&a->backoff, loop_prng(client_loop(a->opts.client)));
	struct error e = *err;

	(void)error_wrap(&e, -(int)e.code, "cannot %s", what);
	if (strcmp(a->failure.msg, e.msg) != 0)
		log_warn(a->opts.log, "cannot publish the disk status; retrying", LOG_ERR(&e));
	a->failure = e;
	loop_timer_start(&a->retry, delay);
}

static void api_succeed(struct disk_api *a)
{
	backoff_reset(&a->backoff);
	a->failure = (struct error){ 0 };
	step_soon(a);
}

/* --- the definition -------------------------------------------------------------------------- */

#define APPLY "apply it: devplane driver disk crd | kubectl apply -f -"

static void on_defined(struct client_request *r, const struct client_answer *answer UNUSED,
		       const struct error *err)
{
	struct disk_api *a = r->arg;
	struct error e;

	if (!err)
		log_info(a->opts.log, "created the CustomResourceDefinition",
			 LOG_Z("name", DISK_CRD_NAME));
	if (!err || err->code == ERR_ALREADY_EXISTS) {
		/* The server needs a moment to serve it. */
		loop_timer_start(&a->retry, RETRY_MS);
		return;
	}
	e = *err;
	if (err->code == ERR_FORBIDDEN)
		(void)error_set(&e, ERR_FORBIDDEN,
				"%s is not defined and this account may not define it; " APPLY
				" (%.200s)",
				DISK_CRD_NAME, err->msg);
	api_fail(a, "define the custom resource", &e);
}

static void define(struct disk_api *a)
{
	struct error err;
	struct json *tree;
	struct arena arena;

	if (!a->opts.install_crd) {
		(void)error_set(&err, ERR_NOT_FOUND, "%s is not defined; " APPLY, DISK_CRD_NAME);
		api_fail(a, "publish", &err);
		return;
	}
	arena_init(&arena, SIZE_MAX);
	if (yaml_parse(&arena, str_from(disk_crd_yaml), NULL, &tree, &err) < 0) {
		api_fail(a, "read our own definition", &err);
	} else {
		a->request.on_done = on_defined;
		client_create(a->opts.client, &a->request, &a->definitions, STR_NULL, tree);
	}
	arena_release(&arena);
}

static void on_discovered(struct client_request *r, const struct client_answer *answer,
			  const struct error *err)
{
	struct disk_api *a = r->arg;
	struct json *tree = NULL;
	struct arena arena;

	if (err && err->code != ERR_NOT_FOUND) {
		api_fail(a, "ask the API server for " DISK_GROUP, err);
		return;
	}
	arena_init(&arena, SIZE_MAX);
	if (!err)
		(void)client_answer_tree(answer, &arena, &tree, NULL);
	a->served = json_find(json_getz(tree, "resources"), "name", STR(DISK_RESOURCE)) != NULL;
	arena_release(&arena);
	if (a->served)
		api_succeed(a);
	else
		define(a);
}

static void discover(struct disk_api *a)
{
	a->request.method = STR("GET");
	a->request.path = STR("/apis/" DISK_GROUP "/" DISK_VERSION);
	a->request.body = STR_NULL;
	a->request.on_done = on_discovered;
	client_send(a->opts.client, &a->request);
}

/* --- the object ------------------------------------------------------------------------------ */

/* Without a Node, or without permission to read it, the object has no owner. */
static void api_on_node(struct client_request *r, const struct client_answer *answer,
			const struct error *err)
{
	struct disk_api *a = r->arg;
	struct json *tree = NULL;
	struct arena arena;

	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_FORBIDDEN) {
		api_fail(a, "look at the Node", err);
		return;
	}
	arena_init(&arena, SIZE_MAX);
	if (!err)
		(void)client_answer_tree(answer, &arena, &tree, NULL);
	a->node_uid = str_dup(json_text_at(json_getz(tree, "metadata"), "uid"));
	arena_release(&arena);
	api_succeed(a);
}

static void ask_for_node(struct disk_api *a)
{
	a->request.on_done = api_on_node;
	client_get(a->opts.client, &a->request, &a->nodes, STR_NULL, str_from(a->opts.node));
}

static void add_owner(struct arena *arena, struct json *meta, const struct disk_api *a)
{
	struct json *owner = json_make_object(arena);

	if (!a->node_uid[0])
		return;
	json_put_str(arena, owner, "apiVersion", STR("v1"));
	json_put_str(arena, owner, "kind", STR("Node"));
	json_put_str(arena, owner, "name", str_from(a->opts.node));
	json_put_str(arena, owner, "uid", str_from(a->node_uid));
	json_append(json_need_array(arena, meta, "ownerReferences"), owner);
}

static void api_on_created(struct client_request *r, const struct client_answer *answer UNUSED,
			   const struct error *err)
{
	struct disk_api *a = r->arg;

	/* A retry may find a different Node. */
	free(TAKE(a->node_uid));
	if (err && err->code == ERR_NOT_FOUND)
		a->served = false;
	if (err && err->code != ERR_ALREADY_EXISTS) {
		api_fail(a, "create the object", err);
		return;
	}
	a->exists = true;
	api_succeed(a);
}

static void api_create(struct disk_api *a)
{
	struct json *tree, *meta;
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	tree = json_make_object(&arena);
	json_put_str(&arena, tree, "apiVersion", STR(DISK_GROUP "/" DISK_VERSION));
	json_put_str(&arena, tree, "kind", STR(DISK_KIND));
	meta = json_need_object(&arena, tree, "metadata");
	json_put_str(&arena, meta, "name", str_from(a->opts.node));
	add_owner(&arena, meta, a);
	json_put_str(&arena, json_need_object(&arena, tree, "spec"), "nodeName",
		     str_from(a->opts.node));
	a->request.on_done = api_on_created;
	client_create(a->opts.client, &a->request, &a->resource, STR_NULL, tree);
	arena_release(&arena);
}

/* --- its status ------------------------------------------------------------------------------ */

static void on_patched(struct client_request *r, const struct client_answer *answer UNUSED,
		       const struct error *err)
{
	struct disk_api *a = r->arg;

	if (!err) {
		api_count(a->writes);
		a->published = true;
		api_succeed(a);
		return;
	}
	api_count(a->failures);
	a->published = false;
	/* Send it again, unless a newer one was published. */
	if (a->status.n == 0)
		(void)buf_add_str(&a->status, buf_str(&a->sent));
	if (err->code == ERR_NOT_FOUND) {
		a->exists = false;
		loop_timer_start(&a->retry, RETRY_MS);
		return;
	}
	api_fail(a, "write the status", err);
}

static void send_status(struct disk_api *a)
{
	struct resource_name name = { .name = str_from(a->opts.node),
				      .subresource = STR("status") };

	buf_clear(&a->sent);
	(void)buf_add_str(&a->sent, buf_str(&a->status));
	buf_clear(&a->status);
	a->request.on_done = on_patched;
	a->request.body = buf_str(&a->sent);
	client_patch(a->opts.client, &a->request, &a->resource, name, CLIENT_PATCH_MERGE, NULL);
}

void disk_api_publish(struct disk_api *a, const struct json *status)
{
	struct json_writer w;

	buf_clear(&a->status);
	json_writer_init(&w, &a->status, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "status");
	json_writer_tree(&w, status);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	step_soon(a);
}

/* --- annotations ----------------------------------------------------------------------------- */

static void api_look_at(struct disk_api *a, const struct cached *o)
{
	struct arena arena;
	struct str device;

	if (o->revision && o->revision < a->ignore_below)
		return;
	arena_init(&arena, SIZE_MAX);
	device = cached_annotation(o, STR(DISK_PROBE_ANNOTATION), &arena);
	if (!str_eqz(device, a->refused))
		a->refused[0] = 0;
	if (device.n > 0 && !str_eqz(device, a->answered) && !a->refused[0])
		a->opts.on_probe(a->opts.arg, device);
	arena_release(&arena);
}

static void look_again(struct disk_api *a)
{
	const struct cached *o = cache_get(informer_cache(a->informer), str_from(a->opts.node));

	if (o)
		api_look_at(a, o);
}

static void note_version(struct disk_api *a, const struct client_answer *answer)
{
	struct json *tree;
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	if (client_answer_tree(answer, &arena, &tree, NULL) == 0)
		(void)str_to_u64(json_text_at(json_getz(tree, "metadata"), "resourceVersion"),
				 &a->ignore_below);
	arena_release(&arena);
}

static void on_taken(struct client_request *r, const struct client_answer *answer,
		     const struct error *err)
{
	struct disk_api *a = r->arg;

	if (!err) {
		note_version(a, answer);
	} else if (err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT) {
		api_fail(a, "take the annotation away", err);
		return;
	} else if (err->code == ERR_FORBIDDEN) {
		log_warn(a->opts.log,
			 "cannot remove the probe annotation; change its value to request another "
			 "probe",
			 LOG_ERR(err));
		memcpy(a->refused, a->answered, sizeof(a->refused));
	}
	/* Otherwise the annotation was changed or removed meanwhile. */
	a->answered[0] = 0;
	api_succeed(a);
	look_again(a);
}

/* Removes only the annotation that was answered; there may be a new one by now. */
static void take_annotation(struct disk_api *a)
{
	CLEANUP(buf_release) struct buf patch = BUF_INIT(4 * KIB);
	static const char path[] = "/metadata/annotations/" DISK_GROUP "~1probe";
	struct resource_name name = { .name = str_from(a->opts.node) };

	(void)buf_printf(&patch, "[{\"op\":\"test\",\"path\":\"%s\",\"value\":", path);
	(void)json_print_str(&patch, str_from(a->answered), NULL);
	(void)buf_printf(&patch, "},{\"op\":\"remove\",\"path\":\"%s\"}]", path);
	a->request.on_done = on_taken;
	a->request.body = buf_str(&patch);
	client_patch(a->opts.client, &a->request, &a->resource, name, CLIENT_PATCH_JSON, NULL);
}

void disk_api_answered(struct disk_api *a, struct str device)
{
	(void)snprintf(a->answered, sizeof(a->answered), "%.*s", STR_ARG(device));
	step_soon(a);
}

static struct disk_api *of_handler(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct disk_api, handler);
}

static void api_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	api_look_at(of_handler(h), o);
}

static void api_on_update(struct informer_handler *h, struct cached *old UNUSED, struct cached *o)
{
	api_look_at(of_handler(h), o);
}

/* The status was deleted with it. */
static void api_on_delete(struct informer_handler *h, struct cached *last UNUSED,
			  bool unknown UNUSED)
{
	struct disk_api *a = of_handler(h);

	a->exists = a->published = false;
	if (a->status.n == 0)
		(void)buf_add_str(&a->status, buf_str(&a->sent));
	step_soon(a);
}

static void api_follow(struct disk_api *a)
{
	CLEANUP(buf_release) struct buf selector = BUF_INIT(4 * KIB);
	struct informer_spec spec = { .resource = &a->resource, .slim = true };

	(void)buf_printf(&selector, "metadata.name=%s", a->opts.node);
	spec.field_selector = buf_str(&selector);
	a->informers = informers_new(a->opts.client, a->opts.metrics);
	a->informer = informers_get(a->informers, &spec);
	a->handler = (struct informer_handler){ .on_add = api_on_add,
						.on_update = api_on_update,
						.on_delete = api_on_delete };
	informer_add_handler(a->informer, &a->handler);
	informers_start(a->informers);
}

static void api_on_look(struct loop_timer *t)
{
	struct disk_api *a = CONTAINER_OF(t, struct disk_api, look);
	const struct error *err = a->informer ? informer_failure(a->informer) : NULL;

	if (err && err->code != ERR_OK && err->code != a->blind.code)
		log_warn(a->opts.log, "cannot watch probe requests", LOG_ERR(err));
	if (err)
		a->blind = *err;
	loop_timer_start(t, LOOK_MS);
}

/* --- life ------------------------------------------------------------------------------------ */

static void api_on_task(struct loop_task *t)
{
	struct disk_api *a = CONTAINER_OF(t, struct disk_api, task);

	if (client_busy(&a->request) || loop_timer_running(&a->retry))
		return;
	if (a->served && !a->informer)
		api_follow(a);
	if (!a->served)
		discover(a);
	else if (!a->exists && !a->node_uid)
		ask_for_node(a);
	else if (!a->exists)
		api_create(a);
	else if (a->status.n > 0)
		send_status(a);
	else if (a->answered[0])
		take_annotation(a);
}

static void api_on_retry(struct loop_timer *t)
{
	step_soon(CONTAINER_OF(t, struct disk_api, retry));
}

static void api_add_metrics(struct disk_api *a)
{
	static const char *const labels[] = { "result" };
	struct metrics_spec spec = { .name = "devplane_disk_status_writes_total",
				     .help = "Writes of the node's disk status, by result.",
				     .type = METRICS_COUNTER,
				     .labels = labels,
				     .labels_n = 1 };
	struct metrics_family *f;

	if (!a->opts.metrics || metrics_register(a->opts.metrics, &spec, &f, NULL) < 0)
		return;
	a->writes = metrics_counter(f, STR("success"));
	a->failures = metrics_counter(f, STR("failure"));
}

struct disk_api *disk_api_new(const struct disk_api_opts *opts)
{
	struct disk_api *a = XNEW(struct disk_api);

	a->opts = *opts;
	a->resource = (struct resource){ .group = STR(DISK_GROUP),
					 .version = STR(DISK_VERSION),
					 .resource = STR(DISK_RESOURCE),
					 .kind = STR(DISK_KIND) };
	a->nodes = resource_builtin("", "v1", "nodes");
	a->definitions = resource_builtin("apiextensions.k8s.io", "v1",
					  "customresourcedefinitions");
	a->request.arg = a;
	a->backoff = (struct backoff){
		.initial_ms = RETRY_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	buf_init(&a->status, OBJECT_MAX);
	buf_init(&a->sent, OBJECT_MAX);
	loop_task_init(&a->task, api_on_task);
	loop_timer_init(&a->retry, client_loop(opts->client), api_on_retry);
	loop_timer_init(&a->look, client_loop(opts->client), api_on_look);
	loop_timer_start(&a->look, LOOK_MS);
	api_add_metrics(a);
	step_soon(a);
	return a;
}

void disk_api_free(struct disk_api *a)
{
	if (!a)
		return;
	client_cancel(&a->request);
	loop_task_cancel(&a->task);
	loop_timer_stop(&a->retry);
	loop_timer_stop(&a->look);
	if (a->informers) {
		informer_remove_handler(&a->handler);
		informers_free(a->informers);
	}
	buf_release(&a->status);
	buf_release(&a->sent);
	free(a->node_uid);
	free(a);
}

int disk_api_check(const struct disk_api *a, struct error *err)
{
	if (a->failure.code != ERR_OK)
		return error_set(err, a->failure.code, "%s", a->failure.msg);
	if (!a->published)
		return error_set(err, ERR_UNAVAILABLE, "the disk status is not published yet");
	return 0;
}
