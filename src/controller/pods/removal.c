/*
 * Conditions are merged by their type, and the uid in the patch protects another pod of the same
 * name. A condition that is True already keeps its time.
 */
#include "controller/pods/removal.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "controller/pods/pod_state.h"
#include "controller/shared/context.h"

const struct cache_index pods_by_node[] = { { PODS_BY_NODE, NULL, "spec.nodeName" }, { 0 } };

static void pod_removal_end(struct pod_removal *r, enum pod_removal_end end)
{
	r->done(r, end, NULL, NULL);
}

static void pod_removal_fail(struct pod_removal *r, const char *what, const struct error *err)
{
	r->done(r, POD_REMOVAL_FAILED, what, err);
}

/* --- deleting -------------------------------------------------------------------------------- */

static void pod_removal_on_deleted(struct pod_removal *r, const struct client_answer *a UNUSED,
				   const struct error *err)
{
	if (err && err->code == ERR_NOT_FOUND)
		pod_removal_end(r, POD_REMOVAL_GONE);
	else if (err)
		pod_removal_fail(r, "cannot delete a pod", err);
	else
		pod_removal_end(r, POD_REMOVAL_DONE);
}

static void pod_removal_delete(struct pod_removal *r)
{
	struct client_delete_opts opts = { .uid = r->uid, .has_grace = r->force };

	if (!r->due(r, NULL)) {
		pod_removal_end(r, POD_REMOVAL_SPARED);
		return;
	}
	r->on_answer = pod_removal_on_deleted;
	client_delete(r->ctx->client, &r->request, &r->pods, r->ns, r->name, &opts);
}

/* --- marking --------------------------------------------------------------------------------- */

static const struct json *disruption_condition(const struct json *pod)
{
	return json_find(json_getz(json_getz(pod, "status"), "conditions"), "type",
			 STR("DisruptionTarget"));
}

static bool has_mark(const struct json *c, const char *reason, const char *message)
{
	return str_eqz(json_text_at(c, "status"), "True") &&
	       str_eqz(json_text_at(c, "reason"), reason) &&
	       str_eqz(json_text_at(c, "message"), message);
}

static struct json *make_disruption(struct arena *a, const struct json *had, const char *reason,
				    const char *message, int64_t now_ns)
{
	struct json *c = json_make_object(a);
	char text[TIMESTAMP_SIZE];
	struct str now = timestamp_print(now_ns, TIMESTAMP_SECONDS, text);

	if (str_eqz(json_text_at(had, "status"), "True"))
		now = json_text_at(had, "lastTransitionTime");
	json_put_str(a, c, "type", STR("DisruptionTarget"));
	json_put_str(a, c, "status", STR("True"));
	json_put_str(a, c, "reason", str_from(reason));
	json_put_str(a, c, "message", str_from(message));
	if (now.n > 0)
		json_put_str(a, c, "lastTransitionTime", arena_str(a, now));
	return c;
}

struct json *pod_removal_mark(struct arena *a, const struct json *pod, const char *reason,
			      const char *message, bool fail, int64_t now_ns)
{
	const struct json *had = disruption_condition(pod);
	bool condition = reason && !has_mark(had, reason, message);
	struct json *patch, *status;

	if (fail && pod_state_finished(pod))
		return NULL;
	if (!fail && !condition)
		return NULL;
	patch = json_make_object(a);
	json_put_str(a, json_need_object(a, patch, "metadata"), "uid",
		     json_text_at(json_getz(pod, "metadata"), "uid"));
	status = json_need_object(a, patch, "status");
	if (fail)
		json_put_str(a, status, "phase", STR("Failed"));
	if (condition)
		json_append(json_need_array(a, status, "conditions"),
			    make_disruption(a, had, reason, message, now_ns));
	return patch;
}

static void pod_removal_on_marked(struct pod_removal *r, const struct client_answer *a UNUSED,
				  const struct error *err)
{
	if (err && err->code == ERR_NOT_FOUND)
		pod_removal_end(r, POD_REMOVAL_GONE);
	else if (err)
		pod_removal_fail(r, "cannot mark a pod that is to be deleted", err);
	else
		pod_removal_delete(r);
}

static void pod_removal_put_mark(struct pod_removal *r, const struct json *pod)
{
	struct resource_name name = { .ns = r->ns, .name = r->name, .subresource = STR("status") };
	struct json *patch;

	if (r->marking)
		r->marking(r);
	patch = pod_removal_mark(r->arena, pod, r->reason, r->message, r->force,
				 clock_wall(loop_clock(r->ctx->loop)));
	if (!patch) {
		pod_removal_delete(r);
		return;
	}
	r->on_answer = pod_removal_on_marked;
	r->request.query = str_from(arena_printf(r->arena, "fieldManager=%s", r->manager));
	client_patch(r->ctx->client, &r->request, &r->pods, name, CLIENT_PATCH_STRATEGIC, patch);
}

/* --- reading --------------------------------------------------------------------------------- */

static void pod_removal_on_read(struct pod_removal *r, const struct client_answer *a,
				const struct error *err)
{
	struct json *pod = NULL;
	const struct json *meta;
	struct error bad;

	if (err && err->code == ERR_NOT_FOUND) {
		pod_removal_end(r, POD_REMOVAL_GONE);
		return;
	}
	if (err || client_answer_tree(a, r->arena, &pod, &bad) < 0) {
		pod_removal_fail(r, "cannot read a pod that is to be deleted", err ? err : &bad);
		return;
	}
	meta = json_getz(pod, "metadata");
	if (!str_eq(json_text_at(meta, "uid"), r->uid) ||
	    (!r->force && json_getz(meta, "deletionTimestamp")))
		pod_removal_end(r, POD_REMOVAL_GONE);
	else if (!r->due(r, pod))
		pod_removal_end(r, POD_REMOVAL_SPARED);
	else
		pod_removal_put_mark(r, pod);
}

static void pod_removal_on_done(struct client_request *q, const struct client_answer *a,
				const struct error *err)
{
	struct pod_removal *r = q->arg;

	q->query = STR_NULL;
	r->on_answer(r, a, err);
}

void pod_removal_start(struct pod_removal *r)
{
	r->pods = resource_builtin("", "v1", "pods");
	r->request.arg = r;
	r->request.on_done = pod_removal_on_done;
	r->on_answer = pod_removal_on_read;
	client_get(r->ctx->client, &r->request, &r->pods, r->ns, r->name);
}

void pod_removal_cancel(struct pod_removal *r)
{
	client_cancel(&r->request);
}
