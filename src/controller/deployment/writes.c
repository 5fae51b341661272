/*
 * The writes of a plan, one after the other. A ReplicaSet's name is made from its template, so
 * creating it again finds the first one. If the reply to a write of a ReplicaSet is lost, its
 * version is read, so that the next plan waits until the cache shows the outcome.
 */
#include "base/core/clock.h"
#include "base/json/json.h"
#include "controller/deployment/deployments_impl.h"
#include "controller/pods/pod_template.h"

enum {
	AGAIN_MIN_MS = 100,
	AGAIN_MAX_MS = 5000,
};

typedef void on_done_fn(struct client_request *r, const struct client_answer *answer,
			const struct error *err);

static struct str name_of(const struct json *object)
{
	return json_text_at(json_getz(object, "metadata"), "name");
}

static struct json *reply_of(struct deployment_job *j, const struct client_answer *answer)
{
	struct json *tree;

	return client_answer_tree(answer, &j->work.arena, &tree, NULL) == 0 ? tree : NULL;
}

/* The Deployment as the cache had it, for writes that are not the plan's. */
static struct json *fresh_tree(struct deployment_job *j)
{
	struct json *tree;

	return cached_tree_held(j->object, &j->work.arena, &tree, NULL) == 0 ? tree : j->plan.tree;
}

static void send_status(struct deployment_job *j, struct json *tree, on_done_fn *then)
{
	j->work.request.on_done = then;
	client_update_status(j->owner->ctx.client, &j->work.request,
			     &j->owner->deployments.resource, j->identity.ns, j->identity.name,
			     tree);
}

/* --- reading a ReplicaSet -------------------------------------------------------------------- */

static void read_set(struct deployment_job *j, on_done_fn *then)
{
	j->work.request.on_done = then;
	client_get(j->owner->ctx.client, &j->work.request, &j->owner->sets.resource, j->identity.ns,
		   name_of(j->write->tree));
}

void deployment_job_read_again(struct loop_timer *t)
{
	struct deployment_job *j = CONTAINER_OF(t, struct deployment_job, again);

	read_set(j, j->work.request.on_done);
}

static void read_again(struct deployment_job *j)
{
	int64_t wait = (int64_t)AGAIN_MIN_MS << MIN(j->attempts, 10U);

	j->attempts++;
	loop_timer_start(&j->again, MIN(wait, (int64_t)AGAIN_MAX_MS));
}

/* After a lost reply: the version is known, or there is no such ReplicaSet. */
static void on_outcome(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct deployment_job *j = r->arg;

	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_CANCELED) {
		read_again(j);
		return;
	}
	if (!err)
		written_note(&j->owner->sets_written, j->work.key, reply_of(j, answer));
	work_end(&j->work, true);
}

/* --- a ReplicaSet that exists already -------------------------------------------------------- */

static bool is_ours(const struct deployment_job *j, const struct json *set)
{
	const struct json *ref = json_find(json_getz(json_getz(set, "metadata"), "ownerReferences"),
					   "uid", j->identity.uid);

	return json_true_at(ref, "controller") &&
	       pod_template_equal(json_getz(json_getz(set, "spec"), "template"),
				  json_getz(json_getz(j->plan.tree, "spec"), "template"));
}

static void on_reported(struct client_request *r, const struct client_answer *answer,
			const struct error *err)
{
	struct deployment_job *j = r->arg;

	if (!err)
		written_note(&j->owner->own_written, j->work.key, reply_of(j, answer));
	work_end(&j->work, true);
}

/* Ours: the cache is late, and will show it. Another one's: the hash collides. */
static void on_existing(struct client_request *r, const struct client_answer *answer,
			const struct error *err)
{
	struct deployment_job *j = r->arg;
	struct json *set = err ? NULL : reply_of(j, answer), *tree;

	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_CANCELED) {
		read_again(j);
	} else if (!set) {
		work_end(&j->work, true);
	} else if (is_ours(j, set)) {
		written_note(&j->owner->sets_written, j->work.key, set);
		work_end(&j->work, true);
	} else {
		tree = fresh_tree(j);
		deployment_report_collision(&j->work.arena, tree);
		send_status(j, tree, on_reported);
	}
}

/* --- failures -------------------------------------------------------------------------------- */

static bool says_terminating(struct deployment_job *j, const struct client_answer *answer)
{
	const struct json *status = answer ? reply_of(j, answer) : NULL;

	return json_find(json_getz(json_getz(status, "details"), "causes"), "reason",
			 STR("NamespaceTerminating")) != NULL;
}

static void report_failure(struct deployment_job *j, const struct error *err)
{
	struct str message = str_from(arena_printf(&j->work.arena,
						   "Failed to create new replica set \"%.*s\": %s",
						   STR_ARG(name_of(j->write->tree)), err->msg));
	struct json *tree = fresh_tree(j);

	deployment_job_event(j, true, DEPLOYMENT_SET_ERROR, message);
	if (deployment_report_failure(&j->work.arena, tree, message, j->plan.now_ns))
		send_status(j, tree, on_reported);
	else
		work_fail(&j->work, "cannot sync deployment", err);
}

static void write_failed(struct deployment_job *j, const struct client_answer *answer,
			 const struct error *err)
{
	enum deployment_verb verb = j->write->verb;
	bool of_set = verb == DEPLOYMENT_CREATE_SET || verb == DEPLOYMENT_UPDATE_SET;

	if (verb == DEPLOYMENT_CREATE_SET && err->code == ERR_ALREADY_EXISTS)
		read_set(j, on_existing);
	else if (of_set && client_answer_doubtful(answer) && err->code != ERR_CANCELED)
		read_set(j, on_outcome);
	else if (verb == DEPLOYMENT_CREATE_SET && says_terminating(j, answer))
		work_end(&j->work, false);
	else if (verb == DEPLOYMENT_CREATE_SET)
		report_failure(j, err);
	else
		work_fail(&j->work, "cannot sync deployment", err);
}

/* --- the plan's writes ----------------------------------------------------------------------- */

static void on_written(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct deployment_job *j = r->arg;
	const struct deployment_write *w = j->write;
	bool own = w->verb == DEPLOYMENT_UPDATE || w->verb == DEPLOYMENT_UPDATE_STATUS;
	bool gone = err && w->verb == DEPLOYMENT_DELETE_SET &&
		    (err->code == ERR_NOT_FOUND || err->code == ERR_CONFLICT);

	if (err && !gone) {
		write_failed(j, answer, err);
		return;
	}
	if (!err && w->verb != DEPLOYMENT_DELETE_SET)
		written_note(own ? &j->owner->own_written : &j->owner->sets_written, j->work.key,
			     reply_of(j, answer));
	if (w->message.n > 0)
		deployment_job_event(j, false, w->reason, w->message);
	j->plan.writes = w->next;
	deployment_job_write(j);
}

void deployment_job_write(struct deployment_job *j)
{
	struct client *c = j->owner->ctx.client;
	const struct resource *sets = &j->owner->sets.resource;
	struct deployment_write *w = j->write = j->plan.writes;
	struct str ns = j->identity.ns;

	if (!w) {
		work_end(&j->work, false);
		return;
	}
	j->work.request.on_done = on_written;
	switch (w->verb) {
	case DEPLOYMENT_CREATE_SET:
		client_create(c, &j->work.request, sets, ns, w->tree);
		break;
	case DEPLOYMENT_UPDATE_SET:
		client_update(c, &j->work.request, sets, ns, name_of(w->tree), w->tree);
		break;
	case DEPLOYMENT_DELETE_SET:
		client_delete(c, &j->work.request, sets, ns, name_of(w->tree),
			      &(struct client_delete_opts){
				      .uid = json_text_at(json_getz(w->tree, "metadata"), "uid"),
				      .propagation = "Background" });
		break;
	case DEPLOYMENT_UPDATE:
		client_update(c, &j->work.request, &j->owner->deployments.resource, ns,
			      j->identity.name, w->tree);
		break;
	case DEPLOYMENT_UPDATE_STATUS:
		send_status(j, w->tree, on_written);
		break;
	}
}
