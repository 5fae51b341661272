/*
 * A small but faithful API server. Requests are collected, then answered at once. Watches are
 * streams in a list, and every change is written to all of them.
 */
#include "client/testing/api_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"

const struct resource api_world_things = { .version = { "v1", 2 },
					   .resource = { "things", 6 },
					   .kind = { "Thing", 5 } };

/* --- answers ---------------------------------------------------------------------------- */

void api_world_reply(struct http_stream *s, int status, const char *content_type, const char *body)
{
	struct bytes *copy = bytes_copy(str_from(body));

	(void)http_stream_reply(s, status, str_from(content_type),
				(struct slice){ copy->data, copy->n, copy });
}

static void reply_status(struct http_stream *s, int code, const char *reason, const char *message,
			 int retry_after)
{
	char body[512], seconds[16];
	struct http_field fields[] = { HTTP_FIELD("content-type", STR("application/json")),
				       HTTP_FIELD("retry-after", STR_NULL) };

	(void)snprintf(body, sizeof(body),
		       "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
		       "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}",
		       message, reason, code);
	(void)snprintf(seconds, sizeof(seconds), "%d", retry_after);
	fields[1].value = str_from(seconds);
	(void)http_stream_respond(s, code, fields, retry_after >= 0 ? 2 : 1, (int64_t)strlen(body));
	(void)http_stream_send_copy(s, str_from(body));
	(void)http_stream_end(s, NULL, 0);
}

/* The value of a query parameter, as written; p NULL when absent. */
static struct str parameter(const struct http_stream *s, const char *name)
{
	struct str rest = s->in.query, pair;
	ptrdiff_t eq;

	while (str_split(&rest, '&', &pair)) {
		eq = str_chr(pair, '=');
		if (eq >= 0 && str_eqz(str_of(pair.p, (size_t)eq), name))
			return str_skip(pair, (size_t)eq + 1);
	}
	return STR_NULL;
}

static uint64_t api_world_number(struct str text)
{
	uint64_t n = 0;

	(void)str_to_u64(text, &n);
	return n;
}

/* --- lists -------------------------------------------------------------------------------- */

/* A continue token is the last name, and the version of the whole list. */
static void reply_list(struct api_world *w, struct http_stream *s)
{
	struct buf b = BUF_INIT(64 * MIB);
	struct str from = parameter(s, "continue"), last = STR_NULL;
	size_t limit = (size_t)api_world_number(parameter(s, "limit")), n = 0;
	uint64_t version = w->rv;
	struct omap_cursor at;
	bool ok;

	if (w->page_max)
		limit = w->page_max;
	if (from.p) {
		struct str rest = from, rv;

		(void)str_split(&rest, '.', &rv);
		version = api_world_number(rv);
		from = rest;
		if (version <= w->compacted && version != w->rv) {
			reply_status(s, 410, "Expired", "the continue token is too old", -1);
			return;
		}
	}
	if (api_world_number(parameter(s, "resourceVersion")) > w->rv) {
		reply_status(s, 504, "Timeout", "Too large resource version", -1);
		return;
	}
	(void)buf_addz(&b, "{\"kind\":\"ThingList\",\"apiVersion\":\"v1\",\"items\":[");
	ok = from.p ? omap_seek_after(&w->objects, &at, from) : omap_first(&w->objects, &at);
	for (; ok && (!limit || n < limit); ok = omap_next(&at), n++) {
		const struct api_object *o = omap_value(&at);

		/* As upstream prints items: without apiVersion and kind. */
		(void)buf_printf(&b, "%s%s", n ? "," : "", o->text);
		last = omap_key(&at);
	}
	(void)buf_printf(&b, "],\"metadata\":{\"resourceVersion\":\"%llu\"",
			 (unsigned long long)version);
	if (ok)
		(void)buf_printf(&b, ",\"continue\":\"%llu.%.*s\"", (unsigned long long)version,
				 STR_ARG(last));
	(void)buf_addz(&b, "}}");
	api_world_reply(s, 200, "application/json", b.p);
	buf_release(&b);
}

/* --- watches ---------------------------------------------------------------------------- */

static void watch_closed(struct http_stream *s, const struct error *err UNUSED)
{
	struct api_watch *h = s->data;

	list_remove(&h->link);
	free(h);
}

static const struct http_stream_ops watch_ops = { .on_close = watch_closed };

static void send_line(struct api_watch *h, const char *line)
{
	(void)http_stream_send_copy(h->stream, str_from(line));
}

static void send_bookmark(struct api_world *w, struct api_watch *h, bool initial_end)
{
	char line[256];

	(void)snprintf(
		line, sizeof(line),
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"v1\","
		"\"metadata\":{\"resourceVersion\":\"%llu\"%s}}}\n",
		(unsigned long long)w->rv,
		initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : "");
	send_line(h, line);
}

static char *event_line(const char *type, const char *object)
{
	char *line;

	/* Watched objects have their kind, listed ones do not. */
	assert_true(asprintf(&line,
			     "{\"type\":\"%s\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":"
			     "\"v1\",%s}\n",
			     type, object + 1) > 0);
	return line;
}

static void send_error(struct api_watch *h, const char *reason, int code)
{
	char line[256];

	(void)snprintf(line, sizeof(line),
		       "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\","
		       "\"reason\":\"%s\",\"message\":\"as told\",\"code\":%d}}\n",
		       reason, code);
	send_line(h, line);
}

static void send_initial(struct api_world *w, struct api_watch *h)
{
	struct omap_cursor at;

	for (bool ok = omap_first(&w->objects, &at); ok; ok = omap_next(&at)) {
		char *line = event_line("ADDED", ((struct api_object *)omap_value(&at))->text);

		send_line(h, line);
		free(line);
	}
	if (!w->slow_initial)
		send_bookmark(w, h, true);
}

static void begin_watch(struct api_world *w, struct http_stream *s)
{
	struct http_field field = HTTP_FIELD("content-type", STR("application/json"));
	bool initial = str_eq(parameter(s, "sendInitialEvents"), STR("true"));
	uint64_t from = api_world_number(parameter(s, "resourceVersion"));
	struct api_watch *h;

	if (initial && w->no_watch_list) {
		reply_status(s, 422, "Invalid", "sendInitialEvents is forbidden", -1);
		return;
	}
	if (from > w->rv) {
		reply_status(s, 504, "Timeout", "Too large resource version", -1);
		return;
	}
	if (!initial && from < w->compacted) {
		reply_status(s, 410, "Expired", "too old resource version", -1);
		return;
	}
	w->streams += initial;
	h = XNEW(struct api_watch);
	h->stream = s;
	h->bookmarks = str_eq(parameter(s, "allowWatchBookmarks"), STR("true"));
	list_push_back(&w->watches, &h->link);
	s->data = h;
	s->ops = &watch_ops;
	(void)http_stream_respond(s, 200, &field, 1, -1);
	if (initial && w->broken_watch_list) {
		send_error(h, "InternalError", 500);
		(void)http_stream_end(s, NULL, 0);
		return;
	}
	if (initial) {
		send_initial(w, h);
		return;
	}
	for (size_t i = 0; i < w->history.n; i++)
		if (w->history.v[i].rv > from)
			send_line(h, w->history.v[i].line);
}

/* --- requests --------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, struct str text)
{
	(void)snprintf(to, size, "%.*s", STR_ARG(text));
}

/* "name=value;" for each impersonation header. */
static void copy_acting(struct api_world *w, const struct http_fields *fields)
{
	size_t n = 0, room = sizeof(w->last_acting);

	w->last_acting[0] = '\0';
	for (size_t i = 0; i < fields->n; i++) {
		const struct http_field *f = &fields->v[i];

		if (str_starts(f->name, STR("impersonate-")) && n < room)
			n += (size_t)snprintf(w->last_acting + n, room - n, "%.*s=%.*s;",
					      STR_ARG(str_skip(f->name, 12)), STR_ARG(f->value));
	}
}

static void collected(struct http_stream *s, struct str body)
{
	struct api_world *w = s->data;
	bool things = str_eq(s->in.path, STR("/api/v1/things"));
	bool get = str_eq(s->in.method, STR("GET"));

	copy_text(w->last_query, sizeof(w->last_query), s->in.query);
	copy_text(w->last_authorization, sizeof(w->last_authorization),
		  http_fields_get(&s->in.fields, STR("authorization")));
	copy_text(w->last_agent, sizeof(w->last_agent),
		  http_fields_get(&s->in.fields, STR("user-agent")));
	copy_acting(w, &s->in.fields);
	if (w->fail_count) {
		w->fail_count--;
		reply_status(s, w->fail_status, "", "as told", w->fail_retry_after);
	} else if (things && get && parameter(s, "watch").p) {
		w->watch_requests++;
		begin_watch(w, s);
	} else if (things && get) {
		w->lists++;
		reply_list(w, s);
	} else if (w->handler) {
		w->other++;
		w->handler(w, s, body);
	} else {
		w->other++;
		reply_status(s, 404, "NotFound", "no such path", -1);
	}
}

static void api_world_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops none = { 0 };

	s->ops = &none;
	s->data = arg;
	http_stream_collect(s, collected);
}

/* --- changes ---------------------------------------------------------------------------- */

static void publish(struct api_world *w, const char *type, const char *object)
{
	struct api_event e = { w->rv, event_line(type, object) };

	LIST_FOREACH_SAFE (it, &w->watches) {
		struct api_watch *h = LIST_ENTRY(it, struct api_watch, link);

		send_line(h, e.line);
		if (w->repeats && prng_below(&w->prng, 4) == 0)
			send_line(h, e.line);
	}
	(void)vec_push(&w->history, e);
}

static void print_object(const struct api_world *w, struct api_object *o)
{
	free(o->text);
	o->rv = w->rv;
	assert_true(asprintf(&o->text,
			     "{\"metadata\":{\"name\":\"%s\",\"uid\":\"uid-%u\","
			     "\"resourceVersion\":\"%llu\",\"managedFields\":[{\"manager\":\"m\"}],"
			     "\"labels\":{\"odd\":\"%s\"}},\"spec\":{\"group\":\"g%llu\"}}",
			     o->name, o->uid, (unsigned long long)o->rv, o->rv % 2 ? "yes" : "no",
			     (unsigned long long)o->rv % 3) > 0);
}

uint64_t api_world_put(struct api_world *w, const char *name)
{
	struct api_object *o = omap_get(&w->objects, str_from(name));
	bool fresh = !o;

	w->rv++;
	if (fresh) {
		o = XNEW(struct api_object);
		o->uid = ++w->uids;
		(void)snprintf(o->name, sizeof(o->name), "%s", name);
		(void)omap_put(&w->objects, str_from(o->name), o);
	}
	print_object(w, o);
	publish(w, fresh ? "ADDED" : "MODIFIED", o->text);
	return w->rv;
}

void api_world_delete(struct api_world *w, const char *name)
{
	struct api_object *o = omap_remove(&w->objects, str_from(name));

	if (!o)
		return;
	w->rv++;
	print_object(w, o); /* the last state has the deletion's version */
	publish(w, "DELETED", o->text);
	free(o->text);
	free(o);
}

void api_world_replace(struct api_world *w, const char *name)
{
	api_world_delete(w, name);
	(void)api_world_put(w, name);
}

static void forget_history(struct api_world *w)
{
	for (size_t i = 0; i < w->history.n; i++)
		free(w->history.v[i].line);
	w->history.n = 0;
}

void api_world_compact(struct api_world *w)
{
	w->compacted = w->rv;
	forget_history(w);
}

void api_world_bookmark(struct api_world *w)
{
	LIST_FOREACH_SAFE (it, &w->watches) {
		struct api_watch *h = LIST_ENTRY(it, struct api_watch, link);

		if (h->bookmarks)
			send_bookmark(w, h, w->slow_initial);
	}
}

void api_world_end_watches(struct api_world *w, const char *reason, int code)
{
	LIST_FOREACH_SAFE (it, &w->watches) {
		struct api_watch *h = LIST_ENTRY(it, struct api_watch, link);

		if (reason)
			send_error(h, reason, code);
		(void)http_stream_end(h->stream, NULL, 0);
	}
}

void api_world_send_raw(struct api_world *w, const char *text)
{
	LIST_FOREACH_SAFE (it, &w->watches)
		send_line(LIST_ENTRY(it, struct api_watch, link), text);
}

/* --- life cycle ------------------------------------------------------------------------- */

void api_world_begin(struct api_world *w)
{
	struct http_server_opts opts = { .nloops = 1, .handler = api_world_handle, .arg = w };
	struct addr at;

	w->loop = sim_loop_new(w->sim, "server");
	opts.loops = &w->loop;
	w->server = http_server_new(&opts);
	assert_int_equal(addr_parse(&at, STR(":80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->server, &at, NULL, 0, NULL, NULL), 0);
}

void api_world_crash(struct api_world *w)
{
	sim_loop_crash(w->loop, SIM_CRASH_PROCESS);
	sim_loop_bury(w->loop);
	http_server_free(TAKE(w->server));
	loop_free(TAKE(w->loop));
}

void api_world_init(struct api_world *w, const struct sim_opts *opts, enum http_protocol protocol)
{
	struct kubeconfig config = { .source = STR("the test"),
				     .server = STR("http://server:80"),
				     .token = STR("secret"),
				     .ns = STR("default") };
	struct client_opts client_opts = { .config = &config,
					   .role = "test",
					   .protocol = protocol };

	*w = (struct api_world){ .sim = sim_new(opts), .rv = 100, .fail_retry_after = -1 };
	prng_init(&w->prng, opts->seed + 1);
	omap_init(&w->objects);
	vec_init(&w->history, 1000000);
	list_init(&w->watches);
	api_world_begin(w);
	w->outside = sim_loop_new(w->sim, "outside");
	assert_int_equal(client_new(w->outside, &client_opts, &w->client, NULL), 0);
}

void api_world_release(struct api_world *w)
{
	struct omap_cursor at;

	client_free(w->client);
	sim_run_for(w->sim, 1000);
	if (w->loop)
		api_world_crash(w);
	assert_true(list_empty(&w->watches));
	for (bool ok = omap_first(&w->objects, &at); ok; ok = omap_next(&at)) {
		free(((struct api_object *)omap_value(&at))->text);
		free(omap_value(&at));
	}
	omap_release(&w->objects);
	forget_history(w);
	vec_release(&w->history);
	loop_free(w->outside);
	sim_free(w->sim);
}
