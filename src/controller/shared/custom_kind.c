/*
 * Discovery decides. As long as it does not list the kind, the definition is created, again and
 * again with growing pauses: the server serves a new kind a moment after its creation.
 */
#include "controller/shared/custom_kind.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/yaml/yaml.h"
#include "client/api/discovery.h"
#include "client/informer/informer.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"

enum {
	LOOK_MIN_MS = 100, /* between checks for the kind, doubled each time .. */
	LOOK_MAX_MS = 30 * 1000, /* .. up to this */
	CHECK_MS = 30 * 1000, /* between checks whether it still exists */
};

struct custom_kind {
	struct context ctx;
	struct custom_kind_opts opts;
	struct served_wait wait;
	struct loop_timer later;
	struct client_request definition;
	int64_t look_ms;
	bool told; /* logged that we may not define it */
	struct informer *informer; /* NULL until it is served */
};

static void custom_kind_look_later(struct custom_kind *k)
{
	loop_timer_start(&k->later, k->look_ms);
	k->look_ms = MIN(k->look_ms * 2, (int64_t)LOOK_MAX_MS);
}

static void custom_kind_on_defined(struct client_request *r, const struct client_answer *a UNUSED,
				   const struct error *err)
{
	struct custom_kind *k = r->arg;

	if (!err)
		log_info(k->ctx.log, "kind defined", LOG_Z("name", k->opts.name));
	else if (err->code == ERR_ALREADY_EXISTS || k->told)
		log_debug(k->ctx.log, "kind is not served yet", LOG_Z("name", k->opts.name),
			  LOG_ERR(err));
	else
		log_warn(k->ctx.log, k->opts.refused, LOG_ERR(err));
	k->told |= err && err->code != ERR_ALREADY_EXISTS;
	custom_kind_look_later(k);
}

static void custom_kind_define(struct custom_kind *k)
{
	static const struct resource definitions = {
		.group = STR("apiextensions.k8s.io"),
		.version = STR("v1"),
		.resource = STR("customresourcedefinitions"),
	};
	struct arena a;
	struct json *tree = NULL;

	arena_init(&a, REQUEST_WORK_MAX);
	(void)yaml_parse(&a, str_from(k->opts.definition), NULL, &tree, NULL);
	client_create(k->ctx.client, &k->definition, &definitions, STR_NULL, tree);
	arena_release(&a);
}

static void custom_kind_follow(struct custom_kind *k)
{
	if (k->informer)
		return;
	k->informer = informers_get(
		k->ctx.informers,
		&(struct informer_spec){ .resource = k->opts.resource, .slim = true });
	informer_add_handler(k->informer, k->opts.handler);
}

static void custom_kind_on_served(struct served_wait *w, const struct error *err)
{
	struct custom_kind *k = CONTAINER_OF(w, struct custom_kind, wait);
	const struct resource *r = k->opts.resource;

	if (err) {
		custom_kind_look_later(k);
	} else if (discovery_find(served_discovery(k->ctx.served), r->group, r->version,
				  r->resource)) {
		k->look_ms = LOOK_MIN_MS;
		custom_kind_follow(k);
		loop_timer_start(&k->later, CHECK_MS);
	} else {
		custom_kind_define(k);
	}
}

/* Somebody may delete the definition, and all objects with it. */
static void custom_kind_on_later(struct loop_timer *t)
{
	struct custom_kind *k = CONTAINER_OF(t, struct custom_kind, later);

	if (k->informer && informer_failure(k->informer)->code != ERR_NOT_FOUND)
		loop_timer_start(&k->later, CHECK_MS);
	else
		served_look(k->ctx.served, &k->wait);
}

struct custom_kind *custom_kind_new(const struct custom_kind_opts *opts)
{
	struct custom_kind *k = XNEW(struct custom_kind);

	k->ctx = *opts->ctx;
	k->opts = *opts;
	k->look_ms = LOOK_MIN_MS;
	k->definition = (struct client_request){ .on_done = custom_kind_on_defined, .arg = k };
	k->wait.done = custom_kind_on_served;
	loop_timer_init(&k->later, k->ctx.loop, custom_kind_on_later);
	served_look(k->ctx.served, &k->wait);
	return k;
}

void custom_kind_free(struct custom_kind *k)
{
	if (!k)
		return;
	informer_remove_handler(k->opts.handler);
	served_cancel(&k->wait);
	loop_timer_stop(&k->later);
	client_cancel(&k->definition);
	free(k);
}

struct informer *custom_kind_informer(const struct custom_kind *k)
{
	return k->informer;
}

const struct cached *custom_kind_find(const struct custom_kind *k, struct str name)
{
	return k->informer ? cache_get(informer_cache(k->informer), name) : NULL;
}
