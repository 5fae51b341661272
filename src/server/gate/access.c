/*
 * The stream's loop decides if it can: it is the state's loop, or it remembers the right and reads
 * everything else itself. Otherwise the state's loop decides, in a job. Only the state's loop
 * rejects a request, so that a reason is found in one place.
 */
#include "server/gate/access.h"

#include "api/api_limits.h"
#include "server/authn/authn.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/custom/custom.h"
#include "server/gate/health.h"
#include "server/http/audit.h"
#include "server/http/exchange.h"
#include "server/http/ready.h"
#include "server/http/reply.h"
#include "server/ui/pass.h"
#include "server/ui/session_user.h"
#include "server/ui/ui.h"
#include "web/session/cookie.h"
#include "web/session/passes.h"

struct access {
	struct authz_query query;
	const struct user *asker; /* the request's user, or its session's */
	struct ui_session *session; /* held by the exchange's work; or NULL */
	struct user wanted; /* the impersonated user; name.p NULL: none */
	/* The query that was denied; NULL: authentication failed. */
	const struct authz_query *about;
	struct error err;
	struct authz_right right; /* by which the request is allowed */
	struct custom_view view; /* what the request needs from custom resources */
	bool unsure; /* no such resource is known here, but other servers may know it */
	void (*then)(struct exchange *x);
};

/* --- the request ------------------------------------------------------------------ */

static struct authz_query query_of(const struct exchange *x)
{
	const struct request *r = &x->request;

	if (!r->resource.n)
		return (struct authz_query){ .user = &x->user,
					     .is_path = true,
					     .path = x->stream->in.path,
					     .verb = arena_lower(x->arena, x->stream->in.method),
					     .wants_reason = x->server->audit != NULL };
	return (struct authz_query){
		.user = &x->user,
		.verb = str_from(request_verb_name(r->verb)),
		.group = r->group,
		.version = r->version,
		.resource = r->resource,
		.subresource = r->subresource,
		/* A namespace itself is authorized as if it were in itself. */
		.ns = !r->ns.n && str_eqz(r->resource, "namespaces") && !r->group.n ? r->name
										    : r->ns,
		/* A list of a single object by name is authorized with that name. */
		.name = r->name.n ? r->name
				  : selector_required_value(&r->fields, STR("metadata.name")),
		.fields = &r->fields,
		.labels = &r->labels,
		.wants_reason = x->server->audit != NULL,
	};
}

/* --- on the state's loop ---------------------------------------------------------- */

static int may_impersonate(struct exchange *x, struct access *a)
{
	struct authz_query *checks;
	size_t n = authn_impersonation_checks(&a->wanted, &x->work, &checks);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		checks[i].user = a->asker;
		a->about = &checks[i];
		r = authz_require(x->server->authz, &checks[i], &x->work, &a->err);
	}
	return r;
}

/* The real user: already known, unless a cookie identifies them. */
static int find_asker(struct exchange *x, struct access *a)
{
	struct ui_now now = { x->begun_ns, x->wall_ns };

	a->asker = &x->user;
	if (!x->session_id.p)
		return 0;
	a->session = x->by_pass ? ui_passes_find(x->server->passes, x->session_id, now.mono_ns)
				: ui_sessions_find(x->server->sessions, x->session_id, now);
	if (!a->session)
		return error_set(&a->err, ERR_UNAUTHORIZED, "Unauthorized");
	ui_session_hold(a->session, &x->work);
	a->asker = a->query.user = session_user(a->session);
	return 0;
}

/* Checks that the user still exists. `current`: the state has the writes of other servers. */
static int check_asker(struct exchange *x, struct state *st, struct access *a, bool current)
{
	int r = find_asker(x, a);

	if (r < 0)
		return r;
	r = authn_check_binding(st, a->asker, x->wall_ns, &a->err);
	if (r < 0 && a->session && current)
		ui_end_session(x, st, a->session);
	return r;
}

/* A pass has fewer rights than its user. */
static int check_pass(const struct exchange *x, struct access *a)
{
	if (!x->by_pass)
		return 0;
	if (a->wanted.name.p)
		return error_set(&a->err, ERR_FORBIDDEN, "this token cannot impersonate");
	return ui_pass_check(&x->request, x->stream->in.method, &a->err);
}

static void access_decide(struct exchange *x, struct state *st, struct access *a, bool current)
{
	int r = check_asker(x, st, a, current);

	if (r == 0)
		r = check_pass(x, a);
	if (r == 0 && a->wanted.name.p) {
		r = may_impersonate(x, a);
		a->query.user = &a->wanted;
	}
	if (r < 0)
		return;
	a->about = &a->query;
	if (authz_require_right(x->server->authz, &a->query, &x->work, &a->right, &a->err) == 0)
		a->unsure = !custom_look(x->server->custom, x, &a->view) && state_is_shared(st);
}

static void decide_again(struct state *st, struct job *j, const struct error *err)
{
	struct exchange *x = exchange_of(j);
	struct access *a = x->data;

	/* A store that does not answer is not a reason to deny access. */
	a->err = err ? *err : (struct error){ 0 };
	if (!err)
		access_decide(x, st, a, true);
	job_finish(j);
}

static void access_run(struct state *st, struct job *j)
{
	struct exchange *x = exchange_of(j);
	struct access *a = x->data;

	access_decide(x, st, a, !state_is_shared(st));
	/* Another server may just have created the account and its token, or the resource. */
	if (a->unsure ||
	    (a->err.code == ERR_UNAUTHORIZED && a->asker->binding && state_is_shared(st)))
		state_sync(st, j, 0, decide_again);
	else
		job_finish(j);
}

static bool may_still_impersonate(const struct exchange *x, struct arena *a)
{
	struct authz_query *checks;
	size_t n = authn_impersonation_checks(&x->user, a, &checks);

	for (size_t i = 0; i < n; i++) {
		checks[i].user = x->impersonator;
		if (authz_decide(x->server->authz, &checks[i], a, NULL) != AUTHZ_ALLOW)
			return false;
	}
	return true;
}

bool access_still_granted(const struct exchange *x, struct state *st)
{
	CLEANUP(arena_release) struct arena a;
	const struct user *asker = x->impersonator ? x->impersonator : &x->user;
	struct authz_query query = query_of(x);
	char block[2048] UNZEROED;

	arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
	if (authn_check_binding(st, asker, clock_wall(x->server->clock), NULL) < 0 ||
	    (x->impersonator && !may_still_impersonate(x, &a)))
		return false;
	return authz_decide(x->server->authz, &query, &a, NULL) == AUTHZ_ALLOW;
}

/* Whether access can be decided here and now: nothing can require waiting. */
static bool is_at_hand(const struct exchange *x)
{
	const struct server *s = x->server;

	return x->home == s->opts.loops[0] &&
	       !((x->user.binding || x->session_id.p) && state_is_shared(s->state));
}

/* --- on the stream's loop --------------------------------------------------------- */

static void access_refuse(struct exchange *x, const struct access *a)
{
	struct status_about about = { 0 };

	if (a->about && !a->about->is_path) {
		about.group = a->about->group;
		about.resource = a->about->resource;
		about.name = a->about->name;
	}
	reply_status(x, &a->err, &about);
}

static void access_finish(struct exchange *x)
{
	struct access *a = x->data;

	x->data = NULL;
	if (a->session) {
		ui_session_hold(a->session, x->arena);
		x->session = a->session;
		x->user = *session_user(a->session);
	}
	if (x->server->audit)
		audit_authorized(x, (int)a->err.code, a->right.reason);
	if (a->err.code) {
		access_refuse(x, a);
		return;
	}
	if (a->wanted.name.p) {
		x->impersonator = ARENA_NEW(x->arena, struct user);
		*x->impersonator = x->user;
		x->user = a->wanted;
	}
	custom_show(x, &a->view);
	a->then(x);
}

/* The job is back: the lane allows the next such request itself. */
static void access_back(struct exchange *x)
{
	const struct access *a = x->data;
	struct server *s = x->server;

	if (!a->err.code && !a->session && !a->wanted.name.p && state_lets_look(s->state))
		authz_remember(s->authz, x->lane, &a->query, &a->right);
	access_finish(x);
}

/*
 * Whether the lane allows the request, as the state's loop would. The right comes first: if it is
 * valid now, and the objects of the token's binding are there afterwards, both were at one time.
 */
static bool is_allowed_here(const struct exchange *x, struct access *a)
{
	struct server *s = x->server;

	return x->home != s->opts.loops[0] && !x->session_id.p && !a->wanted.name.p &&
	       state_lets_look(s->state) && custom_look_here(x, &a->view) &&
	       authz_recall(s->authz, x->lane, &a->query, &a->right.reason) &&
	       authn_binding_holds(s->state, x->lane, &x->user, x->wall_ns);
}

/* Paths that are open to everybody. */
static bool is_open(const struct exchange *x)
{
	struct str path = x->stream->in.path;

	return health_is_path(path) || str_eqz(path, "/version") || str_eqz(path, "/version/");
}

/* For browsers: they must not interpret user content as any other type than the declared one. */
static const struct http_field page_head[] = {
	{ { "x-content-type-options", 22 }, { "nosniff", 7 } },
};

bool access_identify(struct exchange *x)
{
	struct error err = { 0 };
	int r = 0;

	x->by_pass = x->server->sessions && ui_pass_claim(&x->stream->in, &x->session_id);
	if (x->by_pass)
		r = 1;
	else if (x->server->sessions)
		r = ui_cookie_claim(&ui_cookie_host, &x->stream->in, &x->session_id, &err);
	if (r != 0) {
		x->user = user_anonymous(); /* the state will find the session's user */
		x->more = page_head;
		x->nmore = ARRAY_SIZE(page_head);
	} else {
		r = authn_user(x->server->authn, x->lane, x->stream, x->arena, &x->user, &err);
	}
	if (r >= 0)
		return true;
	reply_status(x, &err, &(struct status_about){ 0 });
	return false;
}

static void ask_when_ready(struct exchange *x)
{
	void (**then)(struct exchange * x) = x->data;

	x->data = NULL;
	access_ask(x, *then);
}

static void wait_until_ready(struct exchange *x, void (*then)(struct exchange *x))
{
	void (**kept)(struct exchange * x);

	if (is_open(x)) {
		then(x);
		return;
	}
	kept = arena_alloc(x->arena, sizeof(*kept));
	*kept = then;
	x->data = kept;
	ready_wait(x, ask_when_ready);
}

void access_ask(struct exchange *x, void (*then)(struct exchange *x))
{
	struct server *s = x->server;
	struct access a UNZEROED, *kept;
	bool at_hand;

	if (!atomic_load(&s->ready)) {
		wait_until_ready(x, then);
		return;
	}
	/* Without a job, none of the request's memory is needed either. */
	a = (struct access){ .query = query_of(x), .then = then };
	at_hand = authn_impersonated(&x->stream->in.fields, x->arena, &a.wanted, &a.err) < 0;
	if (!at_hand && is_at_hand(x)) {
		access_decide(x, s->state, &a, !state_is_shared(s->state));
		at_hand = !a.unsure;
	} else if (!at_hand) {
		at_hand = is_allowed_here(x, &a);
	}
	x->data = &a;
	if (at_hand) {
		access_finish(x);
		return;
	}
	kept = arena_alloc(x->arena, sizeof(*kept));
	*kept = a;
	kept->right = (struct authz_right){ 0 };
	x->data = kept;
	exchange_submit(x, access_run, access_back);
}
