/*
 * The fake API over HTTP: requests are collected and answered at once; watches stay open and get
 * events as they happen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "client/testing/fakeapi_world.h"
#include "net/loop/loop.h"

struct watch {
	struct list link;
	struct http_stream *stream;
	const struct fakeapi_kind *kind;
	char *ns, *query;
};

static void send_event(struct watch *w, const char *type, const char *text)
{
	struct buf line = BUF_INIT(OBJECT_MAX * 2);

	(void)buf_printf(&line, "{\"type\":\"%s\",\"object\":%s}\n", type, text);
	(void)http_stream_send_copy(w->stream, buf_str(&line));
	buf_release(&line);
}

static bool wants(const struct watch *w, const struct fakeapi_kind *kind, const char *key)
{
	return kind == w->kind &&
	       fakeapi_selects(w->kind, str_from(w->ns), str_from(w->query), key);
}

void fakeapi_tell(struct fakeapi *f, const struct fakeapi_event *e)
{
	if (f->late && strcmp(f->late, e->kind->resource) == 0)
		return;
	LIST_FOREACH (l, &f->watches) {
		struct watch *w = LIST_ENTRY(l, struct watch, link);

		if (wants(w, e->kind, e->key))
			send_event(w, e->type, e->text);
	}
}

void fakeapi_hold_back(struct fakeapi *f, const char *resource)
{
	f->late = resource;
	f->late_from = f->log.n;
}

void fakeapi_catch_up(struct fakeapi *f)
{
	const char *late = TAKE(f->late);

	for (size_t i = f->late_from; late && i < f->log.n; i++) {
		if (strcmp(f->log.v[i].kind->resource, late) == 0)
			fakeapi_tell(f, &f->log.v[i]);
	}
}

/* --- watches --------------------------------------------------------------------------------- */

static void on_watch_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct watch *w = s->data;

	list_remove(&w->link);
	free(w->ns);
	free(w->query);
	free(w);
}

static void fakeapi_http_world_on_close(struct http_stream *s UNUSED,
					const struct error *err UNUSED)
{
}

static void fakeapi_http_world_on_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static const struct http_stream_ops watch_ops = { .on_body = fakeapi_http_world_on_body,
						  .on_close = on_watch_close };
static const struct http_stream_ops stream_ops = { .on_body = fakeapi_http_world_on_body,
						   .on_close = fakeapi_http_world_on_close };

static void reply(struct http_stream *s, int status, struct str type, struct str text)
{
	struct http_field field = HTTP_FIELD("content-type", type);

	(void)http_stream_respond(s, status, &field, 1, (int64_t)text.n);
	if (text.n > 0) {
		(void)http_stream_send_copy(s, text);
		(void)http_stream_end(s, NULL, 0);
	}
}

static void send_state(struct fakeapi *f, struct watch *w)
{
	struct omap_cursor c;
	struct buf mark = BUF_INIT(KIB);

	for (bool ok = omap_first(&f->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		if (wants(w, o->kind, o->key))
			send_event(w, "ADDED", o->text);
	}
	(void)buf_printf(&mark,
			 "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{"
			 "\"resourceVersion\":\"%lld\",\"annotations\":{"
			 "\"k8s.io/initial-events-end\":\"true\"}}}",
			 w->kind->kind, (long long)f->rv);
	send_event(w, "BOOKMARK", mark.p);
	buf_release(&mark);
}

static void send_past(struct fakeapi *f, struct watch *w, int64_t from)
{
	for (size_t i = 0; i < f->log.n; i++) {
		const struct fakeapi_event *e = &f->log.v[i];

		if (e->rv > from && wants(w, e->kind, e->key))
			send_event(w, e->type, e->text);
	}
}

static void serve_watch(struct fakeapi *f, struct http_stream *s, const struct fakeapi_kind *kind,
			struct str ns)
{
	struct http_field field = HTTP_FIELD("content-type", STR("application/json"));
	int64_t from = 0, oldest = f->log.n > 0 ? f->log.v[0].rv - 1 : f->rv;
	struct watch *w;

	(void)str_to_i64(fakeapi_param(s->in.query, "resourceVersion"), &from);
	if (from > 0 && from < oldest) {
		reply(s, 410, STR("application/json"),
		      STR("{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410,"
			  "\"message\":\"too old\"}"));
		return;
	}
	w = XNEW(struct watch);
	w->stream = s;
	w->kind = kind;
	w->ns = str_dup(ns);
	w->query = str_dup(s->in.query);
	s->data = w;
	s->ops = &watch_ops;
	list_push_back(&f->watches, &w->link);
	(void)http_stream_respond(s, 200, &field, 1, -1);
	if (str_eq(fakeapi_param(s->in.query, "sendInitialEvents"), STR("true")))
		send_state(f, w);
	else
		send_past(f, w, from);
}

void fakeapi_forget_past(struct fakeapi *f)
{
	struct error why = { .code = ERR_UNAVAILABLE };

	LIST_FOREACH_SAFE (l, &f->watches)
		http_stream_reset(LIST_ENTRY(l, struct watch, link)->stream, &why);
	for (size_t i = 0; i < f->log.n; i++) {
		free(f->log.v[i].key);
		free(f->log.v[i].text);
	}
	f->log.n = 0;
	f->rv += 10;
}

/* --- requests -------------------------------------------------------------------------------- */

struct held {
	struct list link;
	struct http_stream *stream;
	char *body;
	bool done; /* the answer is known */
	int status;
	struct buf answer;
};

static struct fakeapi_query query_of(const struct http_stream *s, struct str body)
{
	return (struct fakeapi_query){ s->in.method, s->in.path, s->in.query, body,
				       http_fields_get(&s->in.fields, STR("content-type")) };
}

static void fakeapi_http_world_answer(struct fakeapi *f, struct http_stream *s, struct str body,
				      bool tell)
{
	struct fakeapi_query q = query_of(s, body);
	struct error why = { .code = ERR_UNAVAILABLE };
	struct str type = STR("application/json");
	struct buf out = BUF_INIT(64 * MIB);
	int status = fakeapi_answer(f, &q, &out);

	if (str_eq(q.path, STR("/api")) || str_eq(q.path, STR("/apis")))
		type = STR("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
	if (tell)
		reply(s, status, type, buf_str(&out));
	else
		http_stream_reset(s, &why);
	buf_release(&out);
}

static void held_free(struct held *h)
{
	list_remove(&h->link);
	buf_release(&h->answer);
	free(h->body);
	free(h);
}

static void on_held_close(struct http_stream *s, const struct error *err UNUSED)
{
	held_free(s->data);
}

static const struct http_stream_ops held_ops = { .on_body = fakeapi_http_world_on_body,
						 .on_close = on_held_close };

static void fakeapi_http_world_hold(struct fakeapi *f, struct http_stream *s, struct str body,
				    bool done)
{
	struct fakeapi_query q = query_of(s, body);
	struct held *h = XNEW(struct held);

	h->stream = s;
	h->body = str_dup(body);
	h->done = done;
	buf_init(&h->answer, 64 * MIB);
	if (done)
		h->status = fakeapi_answer(f, &q, &h->answer);
	s->data = h;
	s->ops = &held_ops;
	list_push_back(&f->held, &h->link);
}

void fakeapi_let_go(struct fakeapi *f)
{
	while (!list_empty(&f->held)) {
		struct held *h = LIST_ENTRY(f->held.next, struct held, link);
		struct http_stream *s = h->stream;

		s->ops = &stream_ops;
		s->data = f;
		if (h->done)
			reply(s, h->status, STR("application/json"), buf_str(&h->answer));
		else
			fakeapi_http_world_answer(f, s, str_from(h->body), true);
		held_free(h);
	}
}

static void fakeapi_http_world_refuse(const struct fakeapi *f, struct http_stream *s, int status)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "{\"kind\":\"Status\",\"message\":\"as told\",\"reason\":\"\",\"code\":%d}",
		       status);
	reply(s, status, STR("application/json"), str_from(f->refusal ? f->refusal : text));
}

static void on_request_body(struct http_stream *s, struct str body)
{
	struct fakeapi *f = s->data;
	struct fakeapi_query q = query_of(s, body);
	struct error why = { .code = ERR_UNAVAILABLE };
	int fault;

	f->requests++;
	f->writes += !str_eq(q.method, STR("GET"));
	fault = f->fault ? f->fault(f->fault_arg, &q) : FAKEAPI_WELL;
	if (prng_unit(&f->prng) < f->fail)
		fault = 500;
	if (fault >= 400)
		fakeapi_http_world_refuse(f, s, fault);
	else if (fault == FAKEAPI_CUT)
		http_stream_reset(s, &why);
	else if (fault == FAKEAPI_HOLD || fault == FAKEAPI_HOLD_ANSWER)
		fakeapi_http_world_hold(f, s, body, fault == FAKEAPI_HOLD_ANSWER);
	else
		fakeapi_http_world_answer(f, s, body, fault == FAKEAPI_WELL);
}

static void fakeapi_http_world_on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct fakeapi *f = arg;
	struct str ns, name, sub;
	const struct fakeapi_kind *kind = fakeapi_kind_of_path(s->in.path, &ns, &name, &sub);

	s->ops = &stream_ops;
	s->data = f;
	if (kind && (!kind->defined || fakeapi_serves(f, kind)) &&
	    str_find(s->in.query, STR("watch=")) >= 0 &&
	    (str_eq(fakeapi_param(s->in.query, "watch"), STR("true")) ||
	     str_eq(fakeapi_param(s->in.query, "watch"), STR("1"))))
		serve_watch(f, s, kind, ns);
	else
		http_stream_collect(s, on_request_body);
}

/* --- life ------------------------------------------------------------------------------------ */

struct fakeapi *fakeapi_new(struct sim *s, uint64_t seed)
{
	struct fakeapi *f = XNEW(struct fakeapi);
	struct http_server_opts o = { .nloops = 1,
				      .handler = fakeapi_http_world_on_request,
				      .arg = f };
	struct addr at;

	f->sim = s;
	f->loop = sim_loop_new(s, "api");
	prng_init(&f->prng, seed);
	omap_init(&f->objects);
	vec_init(&f->log, SIZE_MAX / 128);
	list_init(&f->watches);
	list_init(&f->held);
	o.loops = &f->loop;
	f->server = http_server_new(&o);
	assert_int_equal(addr_parse(&at, STR("0.0.0.0:80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(f->server, &at, NULL, 0, NULL, NULL), 0);
	return f;
}

static void fakeapi_http_world_on_drained(void *arg)
{
	((struct fakeapi *)arg)->drained = true;
}

static bool is_drained(void *arg)
{
	return ((struct fakeapi *)arg)->drained;
}

void fakeapi_free(struct fakeapi *f)
{
	struct omap_cursor c;

	http_server_drain(f->server, 1000, fakeapi_http_world_on_drained, f);
	assert_true(sim_run_until(f->sim, is_drained, f, 100000));
	http_server_free(f->server);
	sim_run_for(f->sim, 10);
	for (bool ok = omap_first(&f->objects, &c); ok; ok = omap_next(&c)) {
		struct fakeapi_object *o = omap_value(&c);

		free(o->key);
		free(o->text);
		free(o);
	}
	omap_release(&f->objects);
	fakeapi_forget_past(f);
	vec_release(&f->log);
	loop_free(f->loop);
	free(f);
}

struct client *fakeapi_client(struct fakeapi *f UNUSED, struct loop *l)
{
	static const struct str text = STR(
		"{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"http://api:80\"}}],"
		"\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],"
		"\"users\":[{\"name\":\"u\",\"user\":{}}],\"current-context\":\"x\"}");
	struct kubeconfig k;
	struct client *c = NULL;
	struct error err;

	if (kubeconfig_parse(&k, text, "test", "/", NULL, &err) < 0)
		fail_msg("%s", err.msg);
	if (client_new(l, &(struct client_opts){ .config = &k, .protocol = HTTP_PROTOCOL_2 }, &c,
		       &err) < 0)
		fail_msg("%s", err.msg);
	kubeconfig_release(&k);
	return c;
}
