/*
 * `GET /ui/explain`: why a pod or claim does not get its devices.
 *
 * The state's loop finds the session, checks that its user may read the subject and the slices, so
 * that mistakes and missing rights have the replies that the API has for them, and issues a pass.
 * Then the stream's loop starts the process of web/explain, which reads from this server as any
 * client does, with the pass. It holds no seat meanwhile: its own requests are queued as those of
 * the user.
 */
#include "net/net_limits.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/http/reply.h"
#include "server/startup/bootstrap.h"
#include "server/ui/pass.h"
#include "server/ui/session_user.h"
#include "server/ui/ui_impl.h"
#include "web/explain/explain.h"
#include "web/session/cookie.h"
#include "web/session/passes.h"
#include "web/web_limits.h"

/* The limit of the process comes first. */
#define PASS_NS ((EXPLAIN_MS + 5000) * CLOCK_MS)

/* In x->work. */
struct explanation {
	struct exchange *x;
	struct str id; /* of the session */
	struct explain_query query;
	struct ui_session *session;
	struct ui_pass *pass; /* NULL: not issued, or it has ended */
	char secret[UI_SECRET_SIZE];
	struct explain *run;
	struct authz_query about; /* what `err` is about */
	struct error err;
};

static bool explains(const struct server *s)
{
	return !s->opts.no_explain && !s->opts.simulated;
}

void ui_list_clusters(struct exchange *x)
{
	reply_text(x, 200, STR("application/json"),
		   explains(x->server) ? STR("{\"clusters\":[],\"explain\":true}")
				       : STR("{\"clusters\":[],\"explain\":false}"));
}

static void explanation_stop(struct explanation *e)
{
	explain_free(TAKE(e->run));
	ui_pass_end(TAKE(e->pass));
}

static void explanation_drop(void *explanation)
{
	explanation_stop(explanation);
}

/* --- on the state's loop ---------------------------------------------------------- */

static int explanation_require(struct explanation *e)
{
	e->about.user = session_user(e->session);
	e->about.version = STR("v1");
	return authz_require(e->x->server->authz, &e->about, &e->x->work, &e->err);
}

static int explanation_find(struct state *st, struct explanation *e)
{
	const struct schema_kind *kind = schema_find_resource(e->about.group, STR("v1"),
							      e->about.resource);

	if (resource_get(state_resource(st, kind->storage), e->query.ns, e->query.name))
		return 0;
	return error_set(&e->err, ERR_NOT_FOUND, "%.*s%s%.*s \"%.*s\" not found",
			 STR_ARG(e->about.resource), e->about.group.n ? "." : "",
			 STR_ARG(e->about.group), STR_ARG(e->query.name));
}

static int explanation_decide(struct state *st, struct explanation *e)
{
	const struct explain_query *q = &e->query;
	struct exchange *x = e->x;
	int r;

	e->session = ui_session_of(x, st, e->id, &e->err);
	if (!e->session)
		return -ERR_UNAUTHORIZED;
	e->about = (struct authz_query){ .verb = STR("get"),
					 .group = q->pod ? STR("") : STR("resource.k8s.io"),
					 .resource = q->pod ? STR("pods") : STR("resourceclaims"),
					 .ns = q->ns,
					 .name = q->name };
	r = explanation_require(e);
	if (r == 0)
		r = explanation_find(st, e);
	if (r < 0)
		return r;
	e->about = (struct authz_query){ .verb = STR("list"),
					 .group = STR("resource.k8s.io"),
					 .resource = STR("resourceslices") };
	r = explanation_require(e);
	if (r < 0)
		return r;
	return ui_passes_issue(x->server->passes, e->session, PASS_NS, ui_now_of(x), e->secret,
			       &e->pass, &e->err);
}

static void explain_decide(struct state *st, struct job *j, const struct error *err)
{
	struct explanation *e = exchange_of(j)->data;

	if (err)
		e->err = *err;
	else
		(void)explanation_decide(st, e);
	arena_hold(&e->x->work, explanation_drop, e);
	job_finish(j);
}

static void explain_run(struct state *st, struct job *j)
{
	state_sync(st, j, 0, explain_decide);
}

/* --- on the stream's loop --------------------------------------------------------- */

static void explanation_fail(struct explanation *e, const struct error *err)
{
	struct status_about about = { .retry_after_s = err->code == ERR_TOO_MANY_REQUESTS ? 1 : 0 };

	explanation_stop(e);
	if (err->code == ERR_FORBIDDEN || err->code == ERR_NOT_FOUND) {
		about.group = e->about.group;
		about.resource = e->about.resource;
		about.name = e->about.name;
	}
	reply_status(e->x, err, &about);
}

static void explanation_on_end(void *arg, struct str answer, const struct error *err)
{
	struct explanation *e = arg;
	struct exchange *x = e->x;

	if (x->over || x->answered) {
		explanation_stop(e);
	} else if (err) {
		explanation_fail(e, err);
	} else {
		reply_text(x, 200, STR("application/json"), answer);
		explanation_stop(e);
	}
}

static int explanation_start(struct explanation *e, struct error *err)
{
	const struct server *s = e->x->server;
	CLEANUP(buf_release) struct buf trust = BUF_INIT(PEM_FILE_MAX);
	char url[BOOTSTRAP_URL_SIZE], name[PKI_NAME_SIZE];
	struct explain_server server = { .token = ui_pass_token(&e->x->work, e->secret) };
	struct explain_credentials with = { .server = &server };
	int r = bootstrap_own_url(&s->opts, s->ca, &s->at, url, &trust, err);

	if (r == 0)
		r = bootstrap_own_name(&s->opts, &s->at, buf_str(&trust), name, err);
	if (r < 0)
		return r;
	server.url = str_from(url);
	server.tls_server_name = str_from(name);
	server.ca = buf_str(&trust);
	return explain_start(e->run, &with, err);
}

static void explain_finish(struct exchange *x)
{
	struct explanation *e = x->data;
	struct explain_opts o = { .loop = x->home,
				  .arena = &x->work,
				  .query = &e->query,
				  .pass = e->pass,
				  .host_fd = x->server->opts.explain_fd,
				  .on_end = explanation_on_end,
				  .arg = e };
	struct error err;

	if (e->session)
		x->user = *session_user(e->session);
	if (e->err.code) {
		explanation_fail(e, &e->err);
		return;
	}
	flow_leave(&x->flow); /* as other long-running requests */
	e->run = explain_new(&o);
	if (explanation_start(e, &err) < 0)
		explanation_fail(e, &err);
	explicit_bzero(e->secret, sizeof(e->secret));
}

static int explain_read(struct exchange *x, struct explanation *e, struct error *err)
{
	int r = ui_cookie_claim(&ui_cookie_host, &x->stream->in, &e->id, err);

	if (r == 0)
		r = error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
	if (r > 0)
		r = explain_query_read(x->stream->in.query, &e->query, err);
	if (r == 0 && e->query.cluster)
		r = error_set(err, ERR_NOT_FOUND, "this server has one cluster, with the number 0");
	if (r == 0 && !explains(x->server))
		r = error_set(err, ERR_NOT_FOUND, "this server has no explanations");
	return r;
}

void ui_explain(struct exchange *x)
{
	struct explanation *e = ARENA_NEW(&x->work, struct explanation);
	struct error err;

	e->x = x;
	x->data = e;
	if (explain_read(x, e, &err) < 0)
		ui_fail(x, &err);
	else
		exchange_submit(x, explain_run, explain_finish);
}
