/*
 * LIST. The state to show depends on resourceVersion, its match, limit and continue, by
 * upstream's rules: list_plan() is the table of cases.
 */
#include "server/http/reply.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

#define EXPIRED_LIST "The resourceVersion for the provided list is too old."
#define EXPIRED_CONTINUE                                                                   \
	"The provided continue parameter is too old to display a consistent list result. " \
	"You can start a new list without the continue parameter, or use the continue "    \
	"token in this response to retrieve the remainder of the results. Continuing "     \
	"with the provided token results in an inconsistent list - objects that were "     \
	"created, modified, or deleted between the time the first chunk was returned "     \
	"and now may show up in the list."

struct list_job {
	struct exchange *x;
	struct list_query query;
	/*
	 * revision that committed must have reached; 0: all acknowledged writes; -1: no
	 * requirement
	 */
	int64_t sync;
	struct list_result result;
	struct error err;
};

/* Later pages have the revision of the first one; a token with -1 means the newest. */
static int plan_continue(struct exchange *x, struct list_job *l, struct error *err)
{
	const struct request *r = &x->request;
	int64_t revision;
	int ret;

	ret = request_continue_parse(r->cont, x->arena, &revision, &l->query.after, err);
	if (ret < 0)
		return ret;
	if (r->revision > 0)
		return error_set(err, ERR_BAD_REQUEST,
				 "specifying resource version is not allowed when using continue");
	l->query.revision = MAX(revision, 0);
	l->sync = l->query.revision;
	return 0;
}

static int list_plan(struct exchange *x, struct list_job *l, struct error *err)
{
	const struct request *r = &x->request;

	l->query = (struct list_query){
		.ns = r->ns,
		.labels = r->labels,
		.fields = r->fields,
		.limit = (size_t)r->limit,
		.in_turns = true,
	};
	if (r->cont.n)
		return plan_continue(x, l, err);
	l->sync = r->revision > 0 ? r->revision : r->revision == 0 ? -1 : 0;
	/* With a limit, a revision without a match is exact. */
	if (r->match == MATCH_EXACT || (r->match == MATCH_UNSET && r->limit > 0))
		l->query.revision = MAX(r->revision, 0);
	return 0;
}

static void list_on_listed(void *arg, const struct list_result *result, const struct error *err)
{
	struct list_job *l = arg;

	if (err)
		l->err = *err;
	else
		l->result = *result;
	job_finish(&l->x->job);
}

static void list_on_synced(struct state *st, struct job *j, const struct error *err)
{
	struct exchange *x = exchange_of(j);
	struct list_job *l = x->data;

	if (err) {
		l->err = *err;
		job_finish(j);
		return;
	}
	resource_list(state_resource(st, x->kind), &l->query, &x->work, list_on_listed, l);
}

static void list_on_state(struct state *st, struct job *j)
{
	const struct exchange *x = exchange_of(j);
	const struct list_job *l = x->data;

	state_read(st, j, x->kind, l->sync, list_on_synced);
}

/* A client that wants the rest nevertheless continues with the current state. */
static void reply_expired(struct exchange *x, const struct list_job *l)
{
	struct status_about about = { .message = STR(EXPIRED_LIST) };

	if (x->request.cont.n) {
		about.message = STR(EXPIRED_CONTINUE);
		about.cont = request_continue_print(x->arena, -1, l->query.after);
	}
	reply_status(x, &l->err, &about);
}

static void list_finish(struct exchange *x)
{
	struct list_job *l = x->data;

	if (l->err.code == ERR_EXPIRED)
		reply_expired(x, l);
	else if (l->err.code)
		verb_reply_sync_error(x, &l->err);
	else
		reply_list(x, &l->result);
}

void verb_list(struct exchange *x)
{
	struct list_job *l = ARENA_NEW(&x->work, struct list_job);
	struct error err;

	l->x = x;
	x->data = l;
	if (list_plan(x, l, &err) < 0)
		reply_status(x, &err, &(struct status_about){ 0 });
	else
		exchange_submit(x, list_on_state, list_finish);
}
