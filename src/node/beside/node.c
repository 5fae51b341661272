/*
 * The text is made anew from the cached Node whenever it may have changed, so a write that fails or
 * that another writer undoes is done again. Nothing is written while the first reports may still
 * come: the text of an earlier process stays until then.
 */
#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "dra/availability/device_health.h"
#include "node/beside/beside_impl.h"
#include "node/registration/health.h"

enum {
	WRITE_MS = 1000, /* from a change of health until the annotation is written */
	TIMEOUT_MS = 15000,
	RETRY_FIRST_MS = 1000,
	RETRY_MAX_MS = 30 * 1000,
};

static void node_on_written(struct client_request *r, const struct client_answer *answer UNUSED,
			    const struct error *err)
{
	struct beside *b = CONTAINER_OF(r, struct beside, node.request);
	struct beside_node *n = &b->node;

	if (!err) {
		free(TAKE(n->failure));
		backoff_reset(&n->backoff);
		return;
	}
	if (!n->failure || strcmp(n->failure, err->msg) != 0)
		log_warn(b->opts.log,
			 "cannot write the Node's device health: may nodes/status be "
			 "patched?",
			 LOG_Z("node", b->node_name), LOG_ERR(err));
	free(n->failure);
	n->failure = xstrdup(err->msg);
	loop_timer_start(&n->timer, backoff_next(&n->backoff, loop_prng(b->opts.loop)));
}

static void node_send(struct beside *b, struct arena *a, struct str text)
{
	struct resource_name name = { STR_NULL, str_from(b->node_name), STR("status") };
	struct json *patch = json_make_object(a), *all;

	all = json_need_object(a, json_need_object(a, patch, "metadata"), "annotations");
	if (text.n > 0)
		json_put_str(a, all, DEVICE_HEALTH_ANNOTATION, text);
	else
		json_setz(all, DEVICE_HEALTH_ANNOTATION, json_make_null(a));
	b->node.request = (struct client_request){ .on_done = node_on_written,
						   .timeout_ms = TIMEOUT_MS };
	client_patch(b->opts.client, &b->node.request, &b->node.nodes, name, CLIENT_PATCH_MERGE,
		     patch);
}

static void node_look(struct beside *b)
{
	CLEANUP(arena_release) struct arena a;
	struct cached *o;
	struct str before, text;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!b->node.informer || b->settling || client_busy(&b->node.request))
		return;
	o = cache_get(informer_cache(b->node.informer), str_from(b->node_name));
	if (!o)
		return;
	before = cached_annotation(o, STR(DEVICE_HEALTH_ANNOTATION), &a);
	text = node_health_annotation(&a, b->health, before, clock_wall(loop_clock(b->opts.loop)));
	if (!str_eq(before, text))
		node_send(b, &a, text);
}

static void node_on_timer(struct loop_timer *t)
{
	node_look(CONTAINER_OF(t, struct beside, node.timer));
}

void beside_node_touch(struct beside *b)
{
	if (b->opts.node_annotation && !loop_timer_running(&b->node.timer))
		loop_timer_start(&b->node.timer, WRITE_MS);
}

static void beside_on_node_update(struct informer_handler *h, struct cached *old UNUSED,
				  struct cached *o UNUSED)
{
	beside_node_touch(CONTAINER_OF(h, struct beside, node.handler));
}

static void beside_on_node_add(struct informer_handler *h, struct cached *o UNUSED,
			       bool initial UNUSED)
{
	beside_node_touch(CONTAINER_OF(h, struct beside, node.handler));
}

void beside_node_init(struct beside *b)
{
	b->node.nodes = resource_builtin("", "v1", "nodes");
	b->node.backoff = (struct backoff){
		.initial_ms = RETRY_FIRST_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	loop_timer_init(&b->node.timer, b->opts.loop, node_on_timer);
}

void beside_node_follow(struct beside *b, struct informer *node)
{
	b->node.informer = node;
	b->node.handler = (struct informer_handler){ .on_add = beside_on_node_add,
						     .on_update = beside_on_node_update };
	informer_add_handler(node, &b->node.handler);
}

void beside_node_release(struct beside *b)
{
	loop_timer_stop(&b->node.timer);
	client_cancel(&b->node.request);
	free(TAKE(b->node.failure));
	b->node.informer = NULL;
}
