/*
 * WATCH. This file only decides where a watch begins; then its lane takes over the stream
 * (watch.h). Without a resourceVersion a watch begins with the newest state, whose revision comes
 * from the state.
 */
#include "net/loop/loop.h"
#include "server/core/parts.h"
#include "server/engine/watch.h"
#include "server/gate/watch_right.h"
#include "server/http/audit.h"
#include "server/http/reply.h"
#include "web/session/sessions.h"
#include "server/verbs/mutation.h"
#include "server/verbs/verb.h"

struct watch_job {
	struct error err;
	int64_t revision; /* the state's, at the time of the job */
};

static int64_t time_limit(struct exchange *x)
{
	int64_t asked = x->request.timeout_s, least = x->server->opts.min_request_timeout_ms;

	least = least > 0 ? least : INT64_C(30) * 60 * 1000;
	/* A requested timeout is at most the longest default one. */
	if (asked > 0)
		return asked > 2 * least / 1000 ? 2 * least : asked * 1000;
	if (asked < 0 && x->request.timeout_s != -1)
		return 1;
	/* Random, so that the watches of a restarted server do not end together. */
	return least + (int64_t)prng_below(loop_prng(x->home), (uint64_t)least);
}

/* A watch ends no later than its session, or its user's certificate or token. */
static int64_t bound_by_user(const struct exchange *x, int64_t limit_ms)
{
	const struct user *asker = x->impersonator ? x->impersonator : &x->user;
	struct ui_now now = { x->begun_ns, x->wall_ns };
	int64_t ends_ns = INT64_MAX;

	if (asker->ends_s && asker->ends_s < INT64_MAX / CLOCK_SEC)
		ends_ns = asker->ends_s * CLOCK_SEC;
	if (x->session)
		ends_ns = ui_session_ends(x->session, now);
	return MIN(limit_ms, MAX((ends_ns - now.wall_ns) / CLOCK_MS, 1));
}

static void on_started(void *arg, int status)
{
	struct exchange *x = arg;

	x->status = status;
	audit_started(x);
}

static void watch_on_over(void *arg)
{
	struct exchange *x = arg;

	watch_right_end(x->data);
	x->status = x->stream->out_status;
	exchange_over(x);
}

static struct watch_form form_of(const struct exchange *x)
{
	struct watch_form f = { .as = WATCH_JSON,
				.table_version = x->accept.as_version,
				.kind = x->kind,
				.protobuf = x->accept.format == ACCEPT_PROTOBUF,
				.protobuf_failure = x->accept.failure_format == ACCEPT_PROTOBUF };

	if (x->accept.as == ACCEPT_TABLE)
		f.as = WATCH_TABLE;
	else if (x->accept.as != ACCEPT_OBJECT)
		f.as = WATCH_PARTIAL;
	if (str_eq(x->request.include_object, STR("Object")))
		f.include = TABLE_INCLUDE_OBJECT;
	else if (str_eq(x->request.include_object, STR("None")))
		f.include = TABLE_INCLUDE_NONE;
	return f;
}

enum { HEAD_FIELDS = 2, RETRY_AFTER_S = 10 /* for a watch beyond the limit */ };

static const struct http_field *head_of(struct exchange *x, size_t *ret_n)
{
	struct http_field *warnings = NULL;
	size_t nwarnings = reply_warnings(x, &warnings), n = HEAD_FIELDS;
	struct http_field *fields = ARENA_ARRAY(x->arena, struct http_field,
						HEAD_FIELDS + x->nmore + nwarnings + 2);

	fields[0] = HTTP_FIELD("audit-id", str_from(x->audit_id));
	fields[1] = HTTP_FIELD("cache-control", STR("no-cache, private"));
	for (size_t i = 0; i < x->nmore; i++)
		fields[n++] = x->more[i];
	n += flow_fields(&x->flow, fields + n);
	for (size_t i = 0; i < nwarnings; i++)
		fields[n++] = warnings[i];
	*ret_n = n;
	return fields;
}

/*
 * Starts after `revision`; 0: any revision, only together with the initial state. Upstream treats
 * a watch without a resourceVersion, or from 0, as one that requests the initial state, so its
 * end is marked too.
 */
static void verbs_watch_start(struct exchange *x, int64_t revision)
{
	const struct request *r = &x->request;
	bool legacy = r->revision <= 0 && !r->send_initial_given;
	bool initial = legacy || r->send_initial;
	struct watch_opts opts = {
		.kind = x->kind,
		.ns = r->ns,
		.labels = r->labels,
		.fields = r->fields,
		.form = form_of(x),
		.revision = revision,
		.initial = initial,
		.initial_end = initial && r->bookmarks,
		.bookmarks = r->bookmarks,
		.timeout_ms = bound_by_user(x, time_limit(x)),
		.revoked = x->session ? &x->session->over : NULL,
		.on_started = on_started,
		.on_over = watch_on_over,
		.arg = x,
	};

	opts.head = head_of(x, &opts.nhead);
	flow_leave(&x->flow);
	x->answered = true; /* from here on by the watch */
	x->data = watch_right_new(x);
	exchange_shed_later(x);
	watch_start(x->server->state, x->lane, x->stream, &opts);
}

static void watch_on_synced(struct state *st, struct job *j, const struct error *err)
{
	struct watch_job *w = exchange_of(j)->data;

	if (err)
		w->err = *err;
	w->revision = state_revision(st);
	job_finish(j);
}

static void watch_on_state(struct state *st, struct job *j)
{
	const struct exchange *x = exchange_of(j);

	state_read(st, j, x->kind, x->request.revision == 0 ? -1 : 0, watch_on_synced);
}

static void watch_finish(struct exchange *x)
{
	struct watch_job *w = x->data;

	if (w->err.code)
		verb_reply_sync_error(x, &w->err);
	else
		verbs_watch_start(x, w->revision);
}

static void watch_refuse(struct exchange *x, const struct error *err)
{
	x->about.retry_after_s = RETRY_AFTER_S;
	reply_error(x, err, NULL);
}

void verb_watch(struct exchange *x)
{
	const struct request *r = &x->request;
	struct error err;

	if (x->accept.format == ACCEPT_YAML) {
		(void)error_set(&err, ERR_NOT_ACCEPTABLE,
				"only the following media types are accepted: "
				"application/json;stream=watch, "
				"application/vnd.kubernetes.protobuf;stream=watch");
		reply_error(x, &err, NULL);
		return;
	}
	if (memory_take_watch(x, &err) < 0) {
		watch_refuse(x, &err);
	} else if (r->revision > 0) {
		verbs_watch_start(x, r->revision);
	} else if (r->revision == 0 && (!r->send_initial_given || r->send_initial)) {
		verbs_watch_start(x, 0);
	} else {
		x->data = ARENA_NEW(&x->work, struct watch_job);
		exchange_submit(x, watch_on_state, watch_finish);
	}
}
