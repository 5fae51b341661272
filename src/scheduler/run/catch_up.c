/*
 * Before it schedules, a new leader must know every allocation that earlier leaders made.
 *
 * Its informers are warm, but a watch may be behind, until it notices that its connection is dead.
 * For pods and nodes this causes a conflict at most. But a device that seems free would go to a
 * second claim, and the server may not reject that. So the leader lists the claims once, and puts
 * those that are newer than the watch's.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "scheduler/dra/state.h"
#include "scheduler/run/scheduler_impl.h"

enum { PAGE = 500, AGAIN_MS = 1000, TIMEOUT_MS = 20 * 1000 };

static void catch_up_ask(struct scheduler *s, struct str token)
{
	CLEANUP(buf_release) struct buf query = BUF_INIT(64 * KIB);
	struct resource claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	char limit[16];

	(void)snprintf(limit, sizeof(limit), "%d", PAGE);
	client_query_add(&query, "limit", str_from(limit));
	if (token.n > 0)
		client_query_add(&query, "continue", token);
	s->catch_up.query = buf_str(&query);
	client_list(s->client, &s->catch_up, &claims, STR_NULL);
}

static void take_item(struct scheduler *s, const struct json *item)
{
	struct cached_defaults defaults = { .api_version = STR("resource.k8s.io/v1"),
					    .kind = STR("ResourceClaim"),
					    .slim = true };
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct cached *o;

	if (json_print(&text, item, NULL) < 0 ||
	    cached_new(buf_str(&text), &defaults, &o, NULL) < 0)
		return;
	(void)dra_state_stored(s->dra, o, STR_NULL, true);
	cached_unref(o);
}

static void lead(struct scheduler *s)
{
	s->leading = true;
	attempt_soon(s);
}

static int take_page(struct scheduler *s, const struct client_answer *answer, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct json *list;
	struct str token;
	int r;

	arena_init(&a, SIZE_MAX);
	r = client_answer_tree(answer, &a, &list, err);
	if (r < 0)
		return r;
	JSON_FOREACH (item, json_getz(list, "items"))
		take_item(s, item);
	token = json_text_at(json_getz(list, "metadata"), "continue");
	if (token.n > 0)
		catch_up_ask(s, token);
	else
		lead(s);
	return 0;
}

static void catch_up_on_list(struct client_request *r, const struct client_answer *answer,
			     const struct error *err)
{
	struct scheduler *s = r->arg;
	struct error bad;

	if (s->stopped)
		return;
	/* A server that does not serve claims has no allocations. */
	if (err && err->code == ERR_NOT_FOUND) {
		lead(s);
		return;
	}
	if (!err && take_page(s, answer, &bad) == 0)
		return;
	log_warn(s->opts.log, "cannot read the claims; no pod is scheduled until that works",
		 LOG_ERR(err ? err : &bad));
	loop_timer_start(&s->catch_up_again, AGAIN_MS);
}

void catch_up(struct scheduler *s)
{
	if (!s->dra) {
		lead(s);
		return;
	}
	s->catch_up = (struct client_request){ .on_done = catch_up_on_list,
					       .arg = s,
					       .timeout_ms = TIMEOUT_MS };
	catch_up_ask(s, STR_NULL);
}

void catch_up_again(struct loop_timer *t)
{
	catch_up(CONTAINER_OF(t, struct scheduler, catch_up_again));
}
