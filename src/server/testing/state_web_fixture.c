/*
 * HTTP on a state: what the server's verbs do, without their rules. Every request is a job; a job
 * that waits for the state holds its stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/http/server.h"
#include "server/engine/sequencer.h"
#include "server/engine/watch.h"
#include "server/request/request.h"
#include "server/testing/state_world.h"

struct ask {
	struct job job;
	struct state_world *world;
	struct http_stream *stream; /* a reference */
	struct arena arena; /* for the job: the stream's arena belongs to its lane */
	const struct schema_kind *kind;
	struct str verb, body;
	struct str ns, name, after;
	struct selector labels, fields;
	int64_t rv, limit;
	struct json *tree;
	struct state_write write;
	int status;
	struct buf answer;
};

/* --- parameters ------------------------------------------------------------------- */

static struct str param(struct http_stream *s, struct arena *a, const char *name)
{
	struct str rest = s->in.query, key, value;

	while (request_param(&rest, a, &key, &value))
		if (str_eqz(key, name))
			return arena_str(a, value);
	return STR_NULL;
}

static int64_t state_web_fixture_number(struct str s, int64_t otherwise)
{
	int64_t v;

	return str_to_i64(s, &v) ? v : otherwise;
}

/* --- replies ---------------------------------------------------------------------- */

static void ask_free(struct ask *k)
{
	http_stream_unref(k->stream);
	buf_release(&k->answer);
	arena_release(&k->arena);
	free(k);
}

static void ask_home(struct job *j)
{
	struct ask *k = CONTAINER_OF(j, struct ask, job);
	struct bytes *b = bytes_copy(buf_str(&k->answer));

	(void)http_stream_reply(k->stream, k->status, STR("application/json"),
				(struct slice){ b->data, b->n, b });
	ask_free(k);
}

static void ask_error(struct ask *k, const struct error *err)
{
	k->status = error_http_status((int)err->code);
	(void)buf_addz(&k->answer, err->msg);
	job_finish(&k->job);
}

static void ask_object(struct ask *k, const struct object *o)
{
	struct error err;

	if (!o) {
		(void)error_set(&err, ERR_NOT_FOUND, "not found");
		ask_error(k, &err);
		return;
	}
	k->status = 200;
	(void)buf_add_str(&k->answer, bytes_str(o->json));
	job_finish(&k->job);
}

/* --- verbs, on the state's loop --------------------------------------------------- */

static void got_listed(void *arg, const struct list_result *list, const struct error *err)
{
	struct ask *k = arg;

	if (err) {
		ask_error(k, err);
		return;
	}
	k->status = 200;
	(void)buf_printf(&k->answer, "{\"revision\":%lld,\"last\":\"%.*s\",\"items\":[",
			 (long long)list->revision, STR_ARG(list->more ? list->last : STR_NULL));
	for (size_t i = 0; i < list->n; i++) {
		(void)buf_addz(&k->answer, i ? "," : "");
		(void)buf_add_str(&k->answer, bytes_str(list->items[i]->json));
	}
	(void)buf_addz(&k->answer, "]}");
	job_finish(&k->job);
}

static void read_synced(struct state *st, struct job *j, const struct error *err)
{
	struct ask *k = CONTAINER_OF(j, struct ask, job);
	struct resource *r = state_resource(st, k->kind);
	struct list_query q = { .ns = k->ns,
				.labels = k->labels,
				.fields = k->fields,
				.limit = (size_t)k->limit,
				.after = k->after,
				.revision = MAX(k->rv, (int64_t)0) };

	if (err)
		ask_error(k, err);
	else if (str_eqz(k->verb, "get"))
		ask_object(k, resource_get(r, k->ns, k->name));
	else
		resource_list(r, &q, &k->arena, got_listed, k);
}

static void got_written(struct state_write *w, struct object *o, const struct error *err)
{
	struct ask *k = CONTAINER_OF(w, struct ask, write);

	if (err)
		ask_error(k, err);
	else
		ask_object(k, o);
}

static void write_now(struct state *st, struct ask *k)
{
	struct resource *r = state_resource(st, k->kind);
	struct object *tip = resource_tip(r, k->ns, k->name);
	struct error err;
	int ret = 0;

	if (!tip && !k->tree)
		ret = error_set(&err, ERR_NOT_FOUND, "not found");
	else if (k->rv == 0 ? tip != NULL : k->rv > 0 && (!tip || tip->revision != k->rv))
		ret = error_set(&err, ERR_CONFLICT, "has been modified");
	if (ret == 0) {
		k->write.done = got_written;
		ret = state_write(&k->write, r, k->ns, k->name, tip, k->tree, &k->arena, &err);
	}
	if (ret < 0)
		ask_error(k, &err);
}

static void ask_run(struct state *st, struct job *j)
{
	struct ask *k = CONTAINER_OF(j, struct ask, job);

	if (str_eqz(k->verb, "put"))
		write_now(st, k);
	else
		state_sync(st, j, MAX(k->rv, (int64_t)0), read_synced);
}

/* --- the handler, on a lane ------------------------------------------------------- */

static void state_web_fixture_on_over(void *arg)
{
	((struct state_world *)arg)->overs++;
}

static const struct http_field *make_head(struct arena *a, size_t n)
{
	struct http_field *fields = ARENA_ARRAY(a, struct http_field, n);

	for (size_t i = 0; i < n; i++)
		fields[i] = (struct http_field){
			.name = str_from(arena_printf(a, "x-field-%zu", i)), .value = STR("x")
		};
	return fields;
}

static void start_watch(struct state_world *w, struct http_stream *s, size_t lane)
{
	struct arena *a = &s->arena;
	struct watch_opts opts = {
		.kind = state_world_kind(param(s, a, "kind")),
		.ns = param(s, a, "ns"),
		.revision = state_web_fixture_number(param(s, a, "rv"), 0),
		.initial = param(s, a, "initial").n > 0,
		.initial_end = param(s, a, "end").n > 0,
		.bookmarks = param(s, a, "bookmarks").n > 0,
		.timeout_ms = state_web_fixture_number(param(s, a, "timeout"), 3600 * 1000),
		.nhead = (size_t)state_web_fixture_number(param(s, a, "head"), 0),
		.on_over = state_web_fixture_on_over,
		.arg = w,
	};
	struct str form = param(s, a, "form");

	opts.head = make_head(a, opts.nhead);
	opts.form.kind = opts.kind;
	opts.form.table_version = STR("v1");
	opts.form.as = str_eqz(form, "table")     ? WATCH_TABLE
		       : str_eqz(form, "partial") ? WATCH_PARTIAL
						  : WATCH_JSON;
	(void)selector_parse_labels(a, param(s, a, "labels"), &opts.labels, NULL);
	(void)selector_parse_fields(a, param(s, a, "fields"), &opts.fields, NULL);
	watch_start(w->state, lane, s, &opts);
}

static void ask_parse(struct ask *k, struct http_stream *s)
{
	struct arena *a = &k->arena;

	k->kind = state_world_kind(param(s, a, "kind"));
	k->ns = param(s, a, "ns");
	k->name = param(s, a, "name");
	k->after = param(s, a, "after");
	k->rv = state_web_fixture_number(param(s, a, "rv"), -1);
	k->limit = state_web_fixture_number(param(s, a, "limit"), 0);
	(void)selector_parse_labels(a, param(s, a, "labels"), &k->labels, NULL);
	(void)selector_parse_fields(a, param(s, a, "fields"), &k->fields, NULL);
}

static void got_body(struct http_stream *s, struct str body)
{
	struct ask *k = XNEW(struct ask);
	struct state_world *w = s->data;

	k->world = w;
	k->stream = http_stream_ref(s);
	k->verb = str_skip(s->in.path, 1);
	arena_init(&k->arena, SIZE_MAX);
	buf_init(&k->answer, 64 * MIB);
	ask_parse(k, s);
	k->body = arena_str(&k->arena, body);
	if (body.n)
		assert_int_equal(json_parse(&k->arena, k->body, NULL, &k->tree, NULL), 0);
	k->job = (struct job){ .home = http_stream_loop(s), .run = ask_run, .done = ask_home };
	state_submit(w->state, &k->job);
}

static const struct http_stream_ops no_ops = { 0 };

static void state_web_fixture_handle(void *arg, struct http_stream *s, size_t lane)
{
	struct state_world *w = arg;

	if (!w->state || w->stopping) {
		struct error err;

		s->ops = &no_ops;
		(void)error_set(&err, ERR_UNAVAILABLE, "stopped");
		http_stream_fail(s, &err);
		return;
	}
	if (str_eqz(s->in.path, "/watch")) {
		start_watch(w, s, lane);
		return;
	}
	s->ops = &no_ops;
	s->data = w;
	http_stream_collect(s, got_body);
}

void state_world_serve(struct state_world *w, struct str at)
{
	struct http_server_opts opts = { .loops = w->lanes,
					 .nloops = w->nlanes,
					 .handler = state_web_fixture_handle,
					 .arg = w };
	struct addr addr;

	w->http = http_server_new(&opts);
	assert_int_equal(addr_parse(&addr, at, 0, NULL), 0);
	assert_int_equal(http_server_listen(w->http, &addr, NULL, 0, &w->at, NULL), 0);
}
