/*
 * A chain of requests. Lists are read in pages, each passed to on_page, so a namespace of any size
 * takes the memory of one page.
 */
#include "controller/namespace/content.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "controller/namespace/status.h"
#include "controller/shared/context.h"
#include "net/net_limits.h"

enum {
	PAGE = 500,
	FINALIZERS_S = 15, /* time given to finalizers: upstream's estimate */
};

static void remove_each(struct namespace_content *c, struct json *items);
static void verify(struct namespace_content *c);

static void content_finish(struct namespace_content *c, const struct error *err)
{
	arena_clear(&c->arena);
	c->done(c, err);
}

/* The server does not support that for this resource. */
static bool is_unsupported(const struct error *err)
{
	return err->code == ERR_METHOD_NOT_ALLOWED || err->code == ERR_NOT_FOUND;
}

static void content_on_done(struct client_request *r, const struct client_answer *a,
			    const struct error *err)
{
	struct namespace_content *c = r->arg;

	c->on_answer(c, a, err);
}

/* --- lists ----------------------------------------------------------------------------------- */

static void ask_page(struct namespace_content *c);

/* After a page was processed: reads the next, or passes an empty one for the end. */
static void next_page(struct namespace_content *c)
{
	if (c->token.n > 0)
		ask_page(c);
	else
		c->on_page(c, NULL);
}

static void content_on_listed(struct namespace_content *c, const struct client_answer *a,
			      const struct error *err)
{
	struct json *list;
	struct error why;

	if (err && is_unsupported(err)) {
		c->remaining = 0;
		content_finish(c, NULL);
		return;
	}
	if (err) {
		content_finish(c, err);
		return;
	}
	arena_clear(&c->arena);
	if (client_answer_tree(a, &c->arena, &list, &why) < 0) {
		content_finish(c, &why);
		return;
	}
	c->token = json_text_at(json_getz(list, "metadata"), "continue");
	c->on_page(c, json_getz(list, "items"));
}

static void ask_page(struct namespace_content *c)
{
	struct buf query = BUF_INIT(HTTP_TARGET_MAX);

	(void)buf_printf(&query, "limit=%d", PAGE);
	if (c->token.n > 0)
		client_query_add(&query, "continue", c->token);
	c->on_answer = content_on_listed;
	c->request.query = buf_str(&query);
	client_list(c->client, &c->request, &c->resource, c->ns);
	c->request.query = STR_NULL;
	buf_release(&query);
}

static void begin_list(struct namespace_content *c, struct str accept,
		       void (*on_page)(struct namespace_content *c, struct json *items))
{
	c->on_page = on_page;
	c->token = STR_NULL;
	c->request.accept = accept;
	ask_page(c);
}

/* --- deleting -------------------------------------------------------------------------------- */

static const struct client_delete_opts background = { .propagation = "Background" };

static void remove_item(struct namespace_content *c);

static void content_on_removed(struct namespace_content *c, const struct client_answer *a UNUSED,
			       const struct error *err)
{
	if (err && !is_unsupported(err)) {
		content_finish(c, err);
		return;
	}
	c->item = c->item->next;
	remove_item(c);
}

static void remove_item(struct namespace_content *c)
{
	struct str name;

	if (!c->item) {
		next_page(c);
		return;
	}
	name = json_text_at(json_getz(c->item, "metadata"), "name");
	c->on_answer = content_on_removed;
	client_delete(c->client, &c->request, &c->resource, c->ns, name, &background);
}

static void remove_each(struct namespace_content *c, struct json *items)
{
	if (!items) {
		verify(c);
		return;
	}
	c->item = json_first(items);
	remove_item(c);
}

static void on_collection_removed(struct namespace_content *c, const struct client_answer *a UNUSED,
				  const struct error *err)
{
	if (err && is_unsupported(err))
		begin_list(c, ACCEPT_METADATA_LIST, remove_each);
	else if (err)
		content_finish(c, err);
	else
		verify(c);
}

static void remove_all(struct namespace_content *c)
{
	if (!c->collection) {
		begin_list(c, ACCEPT_METADATA_LIST, remove_each);
		return;
	}
	c->on_answer = on_collection_removed;
	c->request.accept = STR_NULL;
	client_delete_collection(c->client, &c->request, &c->resource, c->ns, &background);
}

/* --- leftovers ------------------------------------------------------------------------------- */

static void conclude(struct namespace_content *c)
{
	const struct resource *r = &c->resource;
	struct error err;

	namespace_status_remain(c->status, r, c->remaining);
	if (c->remaining == 0)
		c->estimate_s = 0;
	else if (c->estimate_s == 0 && c->finalizers > 0)
		c->estimate_s = FINALIZERS_S;
	if (c->remaining == 0 || c->estimate_s > 0) {
		content_finish(c, NULL);
		return;
	}
	(void)error_set(&err, ERR_CONFLICT,
			"unexpected items still remain in namespace: %.*s for gvr: "
			"%.*s/%.*s, Resource=%.*s",
			STR_ARG(c->ns), STR_ARG(r->group), STR_ARG(r->version),
			STR_ARG(r->resource));
	content_finish(c, &err);
}

static void content_count(struct namespace_content *c, struct json *items)
{
	if (!items) {
		conclude(c);
		return;
	}
	JSON_FOREACH (item, items) {
		c->remaining++;
		JSON_FOREACH (f, json_getz(json_getz(item, "metadata"), "finalizers")) {
			c->finalizers++;
			namespace_status_finalizer(c->status, json_str(f));
		}
	}
	next_page(c);
}

static void verify(struct namespace_content *c)
{
	begin_list(c, ACCEPT_METADATA_LIST, content_count);
}

/* --- pods ------------------------------------------------------------------------------------ */

int64_t namespace_content_grace(const struct json *items, int64_t so_far_s)
{
	JSON_FOREACH (pod, items) {
		struct str phase = json_text_at(json_getz(pod, "status"), "phase");
		int64_t grace = 0;

		if (str_eq(phase, STR("Succeeded")) || str_eq(phase, STR("Failed")))
			continue;
		(void)json_i64(json_getz(json_getz(pod, "spec"), "terminationGracePeriodSeconds"),
			       &grace);
		so_far_s = MAX(so_far_s, grace);
	}
	return so_far_s;
}

static void estimate(struct namespace_content *c, struct json *items)
{
	const struct clock *clock = loop_clock(client_loop(c->client));

	if (items) {
		c->estimate_s = namespace_content_grace(items, c->estimate_s);
		next_page(c);
		return;
	}
	if (clock_wall(clock) - c->deleted_at_ns >= c->estimate_s * CLOCK_SEC)
		c->estimate_s = 0;
	remove_all(c);
}

/* --- life ------------------------------------------------------------------------------------ */

void namespace_content_start(struct namespace_content *c, const struct resource *resource,
			     bool collection)
{
	bool pods = resource->group.n == 0 && str_eq(resource->resource, STR("pods"));

	c->resource = *resource;
	c->collection = collection;
	c->estimate_s = c->remaining = c->finalizers = 0;
	c->request.arg = c;
	c->request.on_done = content_on_done;
	if (c->arena.max == 0)
		arena_init(&c->arena, REQUEST_WORK_MAX);
	if (pods)
		begin_list(c, STR_NULL, estimate);
	else
		remove_all(c);
}

void namespace_content_cancel(struct namespace_content *c)
{
	client_cancel(&c->request);
	if (c->arena.max > 0)
		arena_release(&c->arena);
}
