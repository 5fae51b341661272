/*
 * One claim: finds out which pods still use it, then acts. A pod that the informer does not know
 * is read from the server, because it may be new. Such a pod may also be deleted before the
 * informer ever shows it, so that no event reports its end; until the informer has it, the claim
 * is checked again and again. Updates carry the whole object with its resourceVersion. If it has
 * changed meanwhile they fail, and the claim is checked again.
 */
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "controller/pod_claims/pod_claims_impl.h"

static void judge_rest(struct pod_claims_job *j);

/* --- deleting an unused claim ---------------------------------------------------------------- */

static void on_deleted(struct pod_claims_job *j, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	if (err && err->code != ERR_NOT_FOUND)
		work_fail(&j->work, "cannot delete an unused claim", err);
	else
		pod_claims_job_end(j, false);
}

static void claim_finish(struct pod_claims_job *j, bool over)
{
	struct str uid = json_text_at(json_getz(j->claim, "metadata"), "uid");

	if (!over) {
		pod_claims_job_end(j, false);
		return;
	}
	log_debug(j->owner->ctx.log, "deleting an unused claim", LOG_STR("key", j->work.key));
	j->on_answer = on_deleted;
	client_delete(j->owner->ctx.client, &j->work.request, &j->owner->claims.resource, j->ns,
		      j->name, &(struct client_delete_opts){ .uid = uid });
}

static void on_owner(struct pod_claims_job *j, const struct client_answer *a,
		     const struct error *err)
{
	struct arena *scratch = &j->owner->scratch;
	struct json *pod = NULL;
	bool over;

	if (err && err->code != ERR_NOT_FOUND) {
		work_fail(&j->work, "cannot ask for a claim's pod", err);
		return;
	}
	if (!err && client_answer_tree(a, scratch, &pod, NULL) < 0)
		pod = NULL;
	over = pod_claims_judge_unused(j->claim, pod, true) == POD_CLAIMS_DROP;
	arena_clear(scratch);
	claim_finish(j, over);
}

/* If its pod is unknown, the garbage collector takes care of the claim. */
static void claim_end(struct pod_claims_job *j)
{
	struct arena *scratch = &j->owner->scratch;
	enum pod_claims_verdict v;
	struct str name = STR_NULL, uid;
	struct cached *o = NULL;
	struct json *pod = NULL;

	if (j->plan.unused && pod_claims_owner(j->claim, &name, &uid))
		o = cache_get_in(informer_cache(j->owner->pods.informer), j->ns, name);
	if (o && cached_tree(o, scratch, &pod, NULL) < 0)
		pod = NULL;
	v = pod_claims_judge_unused(j->claim, pod, false);
	arena_clear(scratch);
	if (v == POD_CLAIMS_ASK) {
		j->on_answer = on_owner;
		client_get(j->owner->ctx.client, &j->work.request, &j->owner->pods.resource, j->ns,
			   name);
		return;
	}
	claim_finish(j, v == POD_CLAIMS_DROP);
}

/* --- writing --------------------------------------------------------------------------------- */

/* Returns true if it failed and the job is over. */
static bool has_failed(struct pod_claims_job *j, const char *what, const struct error *err)
{
	if (!err)
		return false;
	if (err->code == ERR_NOT_FOUND)
		pod_claims_job_end(j, false);
	else
		work_fail(&j->work, what, err);
	return true;
}

static void on_finalizer_dropped(struct pod_claims_job *j, const struct client_answer *a UNUSED,
				 const struct error *err)
{
	if (!has_failed(j, "cannot take the finalizer from a claim", err))
		claim_end(j);
}

static void drop_finalizer(struct pod_claims_job *j)
{
	bool allocated = json_is(json_getz(json_getz(j->claim, "status"), "allocation"),
				 JSON_OBJECT);

	if (!j->plan.drop_finalizer || allocated || !pod_claims_has_finalizer(j->claim)) {
		claim_end(j);
		return;
	}
	pod_claims_drop_finalizer(j->claim);
	j->on_answer = on_finalizer_dropped;
	client_update(j->owner->ctx.client, &j->work.request, &j->owner->claims.resource, j->ns,
		      j->name, j->claim);
}

static void on_status_written(struct pod_claims_job *j, const struct client_answer *a,
			      const struct error *err)
{
	struct error bad;

	if (has_failed(j, "cannot write who uses a claim", err))
		return;
	if (client_answer_tree(a, &j->work.arena, &j->claim, &bad) < 0)
		work_fail(&j->work, "cannot read a claim", &bad);
	else
		drop_finalizer(j);
}

static void claim_settle(struct pod_claims_job *j)
{
	j->plan = pod_claims_settle(j->claim, j->verdicts);
	if (!j->plan.write_status) {
		drop_finalizer(j);
		return;
	}
	log_debug(j->owner->ctx.log, "removing consumers from a claim",
		  LOG_STR("key", j->work.key));
	j->on_answer = on_status_written;
	client_update_status(j->owner->ctx.client, &j->work.request, &j->owner->claims.resource,
			     j->ns, j->name, j->claim);
}

/* --- judging users --------------------------------------------------------------------------- */

static void note_verdict(struct pod_claims_job *j, enum pod_claims_verdict v)
{
	j->verdicts[j->judged++] = v;
	j->user = j->user->next;
}

static void on_asked(struct pod_claims_job *j, const struct client_answer *a,
		     const struct error *err)
{
	struct arena *scratch = &j->owner->scratch;
	enum pod_claims_verdict v;
	struct json *pod = NULL;
	struct error bad;

	if (err && err->code != ERR_NOT_FOUND) {
		work_fail(&j->work, "cannot ask for a pod", err);
		return;
	}
	if (!err && client_answer_tree(a, scratch, &pod, &bad) < 0) {
		arena_clear(scratch);
		work_fail(&j->work, "cannot read a pod", &bad);
		return;
	}
	v = pod_claims_judge(j->user, false, pod, true);
	j->unseen |= v == POD_CLAIMS_KEEP;
	note_verdict(j, v);
	arena_clear(scratch);
	judge_rest(j);
}

/* Judges by local knowledge. */
static enum pod_claims_verdict claim_judge(struct pod_claims_job *j)
{
	struct pod_claims *c = j->owner;
	struct cached *o = cache_get_in(informer_cache(c->pods.informer), j->ns,
					json_text_at(j->user, "name"));
	enum pod_claims_verdict v;
	struct json *pod = NULL;

	if (o && cached_tree(o, &c->scratch, &pod, NULL) < 0)
		pod = NULL;
	v = pod_claims_judge(j->user, pod_claims_gone_has(&c->gone, json_text_at(j->user, "uid")),
			     pod, false);
	arena_clear(&c->scratch);
	return v;
}

static void judge_rest(struct pod_claims_job *j)
{
	while (j->user) {
		enum pod_claims_verdict v = claim_judge(j);

		if (v == POD_CLAIMS_ASK) {
			j->on_answer = on_asked;
			client_get(j->owner->ctx.client, &j->work.request, &j->owner->pods.resource,
				   j->ns, json_text_at(j->user, "name"));
			return;
		}
		note_verdict(j, v);
	}
	claim_settle(j);
}

void pod_claims_claim_begin(struct pod_claims_job *j)
{
	struct cached *o = cache_get_in(informer_cache(j->owner->claims.informer), j->ns, j->name);
	const struct json *users;

	if (!o || cached_tree_held(o, &j->work.arena, &j->claim, NULL) < 0) {
		pod_claims_job_end(j, false);
		return;
	}
	users = json_getz(json_getz(j->claim, "status"), "reservedFor");
	j->verdicts = ARENA_ARRAY(&j->work.arena, enum pod_claims_verdict, json_count(users));
	j->user = json_first(users);
	judge_rest(j);
}
