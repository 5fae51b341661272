/*
 * A table of paths. Sessions belong to the state's loop, so everything about a session is a job
 * there. Everything else, such as finding the user of a token, is done before on the stream's
 * loop. The job's data is in x->work and lives as long as the exchange.
 */
#include "server/ui/ui.h"

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "server/authn/authn.h"
#include "server/core/parts.h"
#include "server/engine/watch.h"
#include "server/http/ready.h"
#include "server/http/reply.h"
#include "server/publish/document.h"
#include "server/ui/session_user.h"
#include "server/ui/ui_impl.h"
#include "web/session/cookie.h"
#include "web/session/page.h"
#include "web/web.h"
#include "web/web_limits.h"

#define CODE_LIFE_S     600
#define CODE_LIFE_S_MAX 3600

/* Input and output of a job; in x->work. */
struct call {
	struct user user; /* from a token or certificate */
	struct str code; /* for a login; or the token's user is in `user` */
	struct str id; /* of a session; for a login: the session that it replaces */
	int64_t life_ns; /* of a code */
	bool unknown; /* the token is not valid */
	/* Output: */
	char secret[UI_SECRET_SIZE];
	int64_t ends_ns;
	struct ui_session *session;
	struct error err;
};

/* --- heads ------------------------------------------------------------------------ */

bool ui_is_path(struct str path)
{
	return str_starts(path, STR("/ui")) && (path.n == 3 || path.p[3] == '/');
}

bool ui_wants_page(const struct server *s, const struct http_head *in)
{
	return s->sessions && str_eqz(in->path, "/") && str_eqz(in->method, "GET") &&
	       str_find(http_fields_get(&in->fields, STR("accept")), STR("text/html")) >= 0;
}

void ui_begin(struct exchange *x)
{
	x->user = user_anonymous();
	x->more = ui_fields;
	x->nmore = UI_FIELDS;
	x->cache_control = "no-store";
	x->incoming.max = UI_BODY_MAX;
}

static void set_cookie(struct exchange *x, const char *value)
{
	struct http_field *more = ARENA_ARRAY(x->arena, struct http_field, UI_FIELDS + 1);

	memcpy(more, ui_fields, sizeof(ui_fields));
	more[UI_FIELDS] = HTTP_FIELD("set-cookie", str_from(value));
	more[UI_FIELDS].unique = true;
	x->more = more;
	x->nmore = UI_FIELDS + 1;
}

void ui_fail(struct exchange *x, const struct error *err)
{
	reply_status(x, err, &(struct status_about){ .retry_after_s = x->about.retry_after_s });
}

void ui_refuse(struct exchange *x, enum error_code code, const char *why)
{
	struct error err;

	(void)error_set(&err, code, "%s", why);
	ui_fail(x, &err);
}

/* --- files ------------------------------------------------------------------------ */

static void send_file(struct exchange *x, const struct web_file *f)
{
	const struct http_fields *in = &x->stream->in.fields;
	struct str type = str_from(f->content_type);
	struct str known = http_fields_get(in, STR("if-none-match"));

	x->etag = f->etag;
	x->cache_control = "no-cache";
	if (known.n && document_tag_matches(f->etag, known)) {
		reply_body(x, 304, type, (struct slice){ 0 });
	} else if (f->zipped.n && http_fields_has_token(in, STR("accept-encoding"), STR("gzip"))) {
		if (!reply_head(x, 200, type, STR("gzip"), (int64_t)f->zipped.n))
			return;
		(void)http_stream_send(x->stream, slice_static(f->zipped));
		(void)http_stream_end(x->stream, NULL, 0);
	} else {
		reply_body(x, 200, type, slice_static(f->bytes));
	}
}

/* The name is used literally: nothing is decoded, and no file system is read. */
static void handle_file(struct exchange *x, struct str name)
{
	const struct web_file *f = web_find(name.n ? name : STR("index.html"));
	struct str method = x->stream->in.method;

	if (!f)
		ui_refuse(x, ERR_NOT_FOUND, "the page has no file of that name");
	else if (!str_eqz(method, "GET") && !str_eqz(method, "HEAD"))
		ui_refuse(x, ERR_METHOD_NOT_ALLOWED, "a file of the page can only be read");
	else
		send_file(x, f);
}

/* --- replies ---------------------------------------------------------------------- */

struct ui_now ui_now_of(const struct exchange *x)
{
	return (struct ui_now){ x->begun_ns, x->wall_ns };
}

static void reply_session(struct exchange *x, const struct user *u, int64_t ends_ns)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(REPLY_MAX);
	struct ui_session_info info = { u->name, u->groups, u->ngroups, ends_ns };

	ui_session_print(&out, &info);
	reply_text(x, 200, STR("application/json"), buf_str(&out));
}

/* --- a link: on the state's loop ---------------------------------------------------- */

static int64_t add_code(struct exchange *x, struct call *c)
{
	struct ui_login who = session_user_login(&c->user);

	return ui_sessions_add_code(x->server->sessions, &who, c->life_ns, ui_now_of(x), c->secret);
}

static void make_code(struct state *st, struct job *j, const struct error *err)
{
	struct exchange *x = exchange_of(j);
	struct call *c = x->data;

	if (err)
		c->err = *err;
	else if (authn_check_binding(st, &c->user, x->wall_ns, &c->err) == 0)
		c->ends_ns = add_code(x, c);
	job_finish(j);
}

static void run_link(struct state *st, struct job *j)
{
	state_sync(st, j, 0, make_code);
}

/* --- a link ----------------------------------------------------------------------- */

static void finish_link(struct exchange *x)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);
	struct call *c = x->data;
	struct json_writer w;

	if (c->err.code) {
		ui_fail(x, &c->err);
		return;
	}
	json_writer_init(&w, &out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "code");
	json_writer_strz(&w, c->secret);
	ui_put_time(&w, "expires", c->ends_ns);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	reply_text(x, 201, STR("application/json"), buf_str(&out));
}

static int read_life(struct exchange *x, int64_t *ret_ns, struct error *err)
{
	struct str rest = x->stream->in.query, name, value;
	int64_t seconds = CODE_LIFE_S;

	while (request_param(&rest, x->arena, &name, &value)) {
		if (!str_eqz(name, "seconds"))
			continue;
		if (!str_to_i64(value, &seconds) || seconds < 1 || seconds > CODE_LIFE_S_MAX)
			return error_set(err, ERR_BAD_REQUEST,
					 "seconds must be a number from 1 to %d", CODE_LIFE_S_MAX);
	}
	*ret_ns = seconds * CLOCK_SEC;
	return 0;
}

/*
 * A user who impersonates gets no session for the impersonated user, because the right to
 * impersonate would not be checked again.
 */
static int identify(struct exchange *x, struct call *c, struct error *err)
{
	struct user wanted;
	int r = authn_user(x->server->authn, x->lane, x->stream, x->arena, &c->user, err);

	if (r < 0)
		return r;
	x->user = c->user;
	if (!c->user.authenticated || str_eq(c->user.name, USER_ANONYMOUS))
		return error_set(
			err, ERR_UNAUTHORIZED,
			"to get a link, authenticate with a token or a client certificate");
	r = authn_impersonated(&x->stream->in.fields, x->arena, &wanted, err);
	if (r == 0 && wanted.name.p)
		return error_set(err, ERR_FORBIDDEN,
				 "a link cannot be requested with impersonation");
	return r;
}

static void handle_link(struct exchange *x)
{
	struct call *c = ARENA_NEW(&x->work, struct call);
	struct error err;
	int r;

	x->data = c;
	r = identify(x, c, &err);
	if (r == 0)
		r = read_life(x, &c->life_ns, &err);
	if (r < 0)
		ui_fail(x, &err);
	else
		exchange_submit(x, run_link, finish_link);
}

/* --- login: on the state's loop ----------------------------------------------------- */

/*
 * A valid code or token is accepted however many logins fail meanwhile: it cannot be guessed, and
 * attackers must not keep its owner out.
 */
static int check_login(struct state *st, struct exchange *x, struct call *c)
{
	struct ui_sessions *all = x->server->sessions;
	CLEANUP(ui_session_unref) struct ui_session *coded = NULL;

	if (c->code.p)
		coded = ui_sessions_take_code(all, c->code, ui_now_of(x));
	if (coded) {
		ui_session_hold(coded, &x->work);
		c->user = *session_user(coded);
	}
	c->unknown = c->unknown || (c->code.p && !coded);
	if (!c->unknown && authn_check_binding(st, &c->user, x->wall_ns, NULL) == 0)
		return 0;
	if (ui_sessions_busy(all, ui_now_of(x)))
		return error_set(&c->err, ERR_TOO_MANY_REQUESTS,
				 "too many logins have failed just now; try again in a second");
	if (c->code.p)
		return error_set(&c->err, ERR_UNAUTHORIZED,
				 "the link is no longer valid: each works once and for a short "
				 "time; \"devplane page\" prints a new one");
	return error_set(&c->err, ERR_UNAUTHORIZED, "the token is not accepted");
}

/* Sessions that were evicted or closed end their watches. */
static void end_watches(struct state *st, const struct exchange *x, uint64_t ended)
{
	if (ui_sessions_ended(x->server->sessions) != ended)
		watch_end_revoked(st);
}

static void log_in(struct state *st, struct job *j, const struct error *err)
{
	struct exchange *x = exchange_of(j);
	struct call *c = x->data;
	struct ui_sessions *all = x->server->sessions;
	uint64_t ended = ui_sessions_ended(all);
	struct ui_login who;

	if (err) {
		c->err = *err;
	} else if (check_login(st, x, c) == 0) {
		/* The browser drops its previous session, and nobody else has it. */
		(void)ui_sessions_close(all, c->id);
		who = session_user_login(&c->user);
		c->session = ui_sessions_open(all, &who, ui_now_of(x), c->secret);
		ui_session_hold(c->session, &x->work);
		c->ends_ns = ui_session_ends(c->session, ui_now_of(x));
		end_watches(st, x, ended);
	} else if (c->err.code == ERR_UNAUTHORIZED) {
		ui_sessions_failed(all, ui_now_of(x));
	}
	job_finish(j);
}

static void run_login(struct state *st, struct job *j)
{
	state_sync(st, j, 0, log_in);
}

/* --- login ------------------------------------------------------------------------ */

static void finish_login(struct exchange *x)
{
	struct call *c = x->data;

	if (c->err.code) {
		x->about.retry_after_s = c->err.code == ERR_TOO_MANY_REQUESTS ? 1 : 0;
		ui_fail(x, &c->err);
		return;
	}
	x->user = *session_user(c->session);
	set_cookie(x, ui_cookie_text(x->arena, &ui_cookie_host, c->secret));
	reply_session(x, &x->user, c->ends_ns);
}

static int read_login(struct exchange *x, struct call *c, struct error *err)
{
	struct authn_audiences common;
	struct json *tree;
	struct str token;
	int r = ui_cookie_check_page(&ui_cookie_host, &x->stream->in, err);

	if (r == 0)
		r = json_parse(x->arena, x->body, NULL, &tree, err);
	if (r < 0)
		return r;
	c->code = json_text_at(tree, "code");
	token = json_text_at(tree, "token");
	if (!c->code.p == !token.p)
		return error_set(err, ERR_BAD_REQUEST, "a login has either a code or a token");
	if (token.p &&
	    authn_token(x->server->authn, ui_token_trim(token), (struct authn_audiences){ NULL, 0 },
			x->arena, &c->user, &common, NULL) < 0)
		c->unknown = true;
	if (ui_cookie_read(&ui_cookie_host, &x->stream->in.fields, &c->id) != UI_COOKIE_ONE)
		c->id = STR_NULL;
	return 0;
}

static void handle_login(struct exchange *x)
{
	struct call *c = ARENA_NEW(&x->work, struct call);
	struct error err;

	x->data = c;
	if (read_login(x, c, &err) < 0)
		ui_fail(x, &err);
	else
		exchange_submit(x, run_login, finish_login);
}

/* --- the session ------------------------------------------------------------------ */

struct ui_session *ui_session_of(struct exchange *x, struct state *st, struct str id,
				 struct error *err)
{
	struct ui_session *s = ui_sessions_find(x->server->sessions, id, ui_now_of(x));

	if (s && authn_check_binding(st, session_user(s), x->wall_ns, NULL) == 0) {
		ui_session_hold(s, &x->work);
		return s;
	}
	(void)error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
	if (s)
		ui_end_session(x, st, s);
	return NULL;
}

static void look_up(struct state *st, struct job *j, const struct error *err)
{
	struct exchange *x = exchange_of(j);
	struct call *c = x->data;

	if (err)
		c->err = *err;
	else
		c->session = ui_session_of(x, st, c->id, &c->err);
	if (c->session)
		c->ends_ns = ui_session_ends(c->session, ui_now_of(x));
	job_finish(j);
}

static void run_session(struct state *st, struct job *j)
{
	struct call *c = exchange_of(j)->data;

	/* Requests without a session must not cause requests to the store. */
	if (ui_sessions_find(exchange_of(j)->server->sessions, c->id, ui_now_of(exchange_of(j))))
		state_sync(st, j, 0, look_up);
	else
		look_up(st, j, NULL);
}

static void finish_session(struct exchange *x)
{
	struct call *c = x->data;

	if (c->err.code) {
		ui_fail(x, &c->err);
		return;
	}
	x->user = *session_user(c->session);
	reply_session(x, &x->user, c->ends_ns);
}

static void handle_session(struct exchange *x)
{
	struct call *c = ARENA_NEW(&x->work, struct call);
	struct error err;
	int r = ui_cookie_claim(&ui_cookie_host, &x->stream->in, &c->id, &err);

	x->data = c;
	if (r < 0)
		ui_fail(x, &err);
	else if (r == 0)
		ui_refuse(x, ERR_UNAUTHORIZED, "Unauthorized");
	else
		exchange_submit(x, run_session, finish_session);
}

/* --- logout ----------------------------------------------------------------------- */

static void run_logout(struct state *st, struct job *j)
{
	struct exchange *x = exchange_of(j);
	struct call *c = x->data;
	uint64_t ended = ui_sessions_ended(x->server->sessions);

	c->session = ui_sessions_find(x->server->sessions, c->id, ui_now_of(x));
	if (c->session)
		ui_session_hold(c->session, &x->work);
	(void)ui_sessions_close(x->server->sessions, c->id);
	end_watches(st, x, ended);
	job_finish(j);
}

static void finish_logout(struct exchange *x)
{
	struct call *c = x->data;

	if (c->session)
		x->user = *session_user(c->session);
	set_cookie(x, ui_cookie_text(x->arena, &ui_cookie_host, NULL));
	reply_body(x, 204, STR("application/json"), (struct slice){ 0 });
}

static void handle_logout(struct exchange *x)
{
	struct call *c = ARENA_NEW(&x->work, struct call);
	struct error err;

	x->data = c;
	if (ui_cookie_check_page(&ui_cookie_host, &x->stream->in, &err) < 0)
		ui_fail(x, &err);
	else if (ui_cookie_read(&ui_cookie_host, &x->stream->in.fields, &c->id) != UI_COOKIE_ONE)
		finish_logout(x);
	else
		exchange_submit(x, run_logout, finish_logout);
}

/* --- objects that sessions are bound to ------------------------------------------- */

void ui_end_session(struct exchange *x, struct state *st, struct ui_session *e)
{
	ui_sessions_end(x->server->sessions, e);
	watch_end_revoked(st);
}

static void on_object(void *arg, struct object *now, struct object *before)
{
	struct server *s = arg;
	uint64_t ended;

	if (!s->sessions || !before || (now && str_eq(now->uid, before->uid)))
		return;
	ended = ui_sessions_ended(s->sessions);
	session_user_unbind(s->sessions, before->uid);
	if (ui_sessions_ended(s->sessions) != ended)
		watch_end_revoked(s->state);
}

void ui_observe(struct server *s, struct state_observer ret_v[static UI_OBSERVERS])
{
	static const struct str resources[UI_OBSERVERS] = {
		STR("serviceaccounts"),
		STR("secrets"),
		STR("pods"),
		STR("nodes"),
	};

	for (size_t i = 0; i < UI_OBSERVERS; i++)
		ret_v[i] = (struct state_observer){
			.group = STR(""), .resource = resources[i], .changed = on_object, .arg = s
		};
}

/* --- routes ----------------------------------------------------------------------- */

static const struct {
	struct str name, method;
	void (*handle)(struct exchange *x);
} routes[] = {
	{ { "link", 4 }, { "POST", 4 }, handle_link },
	{ { "login", 5 }, { "POST", 4 }, handle_login },
	{ { "session", 7 }, { "GET", 3 }, handle_session },
	{ { "logout", 6 }, { "POST", 4 }, handle_logout },
	{ { "clusters", 8 }, { "GET", 3 }, ui_list_clusters },
	{ { "explain", 7 }, { "GET", 3 }, ui_explain },
};

static void redirect(struct exchange *x)
{
	x->location = STR("/ui/");
	reply_text(x, 308, STR("text/plain; charset=utf-8"), STR("the page is at /ui/\n"));
}

/* Returns false if it is not one of them. */
static bool route(struct exchange *x, struct str name)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(routes) && !str_eq(routes[i].name, name))
		i++;
	if (i == ARRAY_SIZE(routes))
		return false;
	if (!str_eq(routes[i].method, x->stream->in.method))
		ui_refuse(x, ERR_METHOD_NOT_ALLOWED, "this path has another method");
	else if (!atomic_load(&x->server->ready))
		ready_wait(x, ui_handle);
	else
		routes[i].handle(x);
	return true;
}

void ui_handle(struct exchange *x)
{
	struct str path = x->stream->in.path;

	if (!x->server->sessions)
		reply_no_page(x);
	else if (path.n <= 3) /* "/" or "/ui" */
		redirect(x);
	else if (!route(x, str_skip(path, 4)))
		handle_file(x, str_skip(path, 4));
}
