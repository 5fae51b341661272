/*
 * A merge patch changes our annotation alone. The first process creates the Lease.
 */
#include "controller/run/announce.h"

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "controller/run/controller.h"
#include "controller/shared/context.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define LEASE  "devplane-controllers"

enum { ANNOUNCE_MS = 20 * 1000, ANNOUNCE_AGAIN_MS = 1000 };

struct announce {
	const struct context *ctx;
	const struct controller_opts *opts;
	struct client_request request;
	struct loop_timer timer;
	bool tried;
	bool create; /* the Lease does not exist */
};

/* "TIME NAME,NAME" */
static const char *announce_text(const struct announce *a, struct arena *arena)
{
	char time[TIMESTAMP_SIZE];
	struct str now = timestamp_print(clock_wall(loop_clock(a->ctx->loop)), TIMESTAMP_SECONDS,
					 time);
	const char *text = arena_printf(arena, "%.*s", STR_ARG(now)), *between = " ";

	for (const struct controller_name *n = controller_names(); n->name; n++) {
		if (!(n->part & a->opts->parts))
			continue;
		text = arena_printf(arena, "%s%s%s", text, between, n->name);
		between = ",";
	}
	return text;
}

static struct str announce_body(const struct announce *a, struct arena *arena, struct buf *out)
{
	const char *lease = a->opts->lease_name ? a->opts->lease_name : "devplane-controller";
	struct json *o = json_make_object(arena), *meta = json_need_object(arena, o, "metadata");

	if (a->create) {
		json_put_str(arena, o, "apiVersion", STR("coordination.k8s.io/v1"));
		json_put_str(arena, o, "kind", STR("Lease"));
		json_put_str(arena, meta, "name", STR(LEASE));
	}
	json_put_str(arena, json_need_object(arena, meta, "annotations"),
		     arena_printf(arena, "controllers.devplane.dev/%s", lease),
		     str_from(announce_text(a, arena)));
	(void)json_print(out, o, NULL);
	return buf_str(out);
}

static void announce_on_done(struct client_request *r, const struct client_answer *answer UNUSED,
			     const struct error *err)
{
	struct announce *a = r->arg;
	enum error_code code = err ? err->code : ERR_OK;

	a->tried = true;
	a->create = code == ERR_NOT_FOUND && !a->create;
	if (code == ERR_FORBIDDEN) {
		log_debug(a->ctx->log, "controllers are not announced", LOG_ERR(err));
		return;
	}
	if (a->create)
		loop_timer_start(&a->timer, 0);
	else
		loop_timer_start(&a->timer, err ? ANNOUNCE_AGAIN_MS : ANNOUNCE_MS);
}

static void announce_send(struct loop_timer *t)
{
	struct announce *a = CONTAINER_OF(t, struct announce, timer);
	CLEANUP(buf_release) struct buf body = BUF_INIT(64 * KIB);
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	a->request = (struct client_request){
		.method = a->create ? STR("POST") : STR("PATCH"),
		.path = a->create ? STR(LEASES) : STR(LEASES "/" LEASE),
		.content_type = a->create ? STR("application/json")
					  : STR("application/merge-patch+json"),
		.body = announce_body(a, &arena, &body),
		.on_done = announce_on_done,
		.arg = a,
	};
	client_send(a->ctx->client, &a->request);
	arena_release(&arena);
}

struct announce *announce_new(const struct context *ctx, const struct controller_opts *opts)
{
	struct announce *a = XNEW(struct announce);

	a->ctx = ctx;
	a->opts = opts;
	loop_timer_init(&a->timer, ctx->loop, announce_send);
	loop_timer_start(&a->timer, 0);
	return a;
}

bool announce_tried(const struct announce *a)
{
	return a->tried;
}

void announce_free(struct announce *a)
{
	if (!a)
		return;
	loop_timer_stop(&a->timer);
	client_cancel(&a->request);
	free(a);
}
