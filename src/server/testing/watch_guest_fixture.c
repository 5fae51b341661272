/*
 * Parses bytes into lines, lines into events, and applies events to the model.
 */
#include "server/testing/watch_guest_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"

/* --- the model -------------------------------------------------------------------- */

static void model_clear(struct watch_guest *g)
{
	struct str key;
	size_t at = 0;
	void *item;

	while (map_next(&g->model, &at, &key, &item))
		free(item);
	map_clear(&g->model);
}

static void model_put(struct watch_guest *g, struct str key, int64_t revision)
{
	struct watch_guest_item *item = map_get(&g->model, key);

	if (!item) {
		item = xmalloc(sizeof(*item) + key.n);
		str_put(item + 1, key);
		item->key = str_of(item + 1, key.n);
		(void)map_put(&g->model, item->key, item);
	}
	item->revision = revision;
}

static struct str tree_label(const void *source, struct str key)
{
	const struct json *labels = json_getz(json_getz(source, "metadata"), "labels");
	const struct json *value = json_get(labels, key);

	return value ? json_str(value) : STR_NULL;
}

static struct str tree_field(const void *source, struct str path)
{
	struct str name;

	if (str_eqz(path, "spec.nodeName"))
		name = json_text_at(json_getz(source, "spec"), "nodeName");
	else
		name = json_str(json_get(json_getz(source, "metadata"),
					 str_skip(path, strlen("metadata."))));
	return name.p ? name : STR("");
}

static void check_shown(const struct watch_guest *g, const struct json *object)
{
	struct str ns = json_text_at(json_getz(object, "metadata"), "namespace");

	if (g->opts.ns)
		assert_true(str_eqz(ns, g->opts.ns));
	assert_true(selector_matches(&g->labels, tree_label, object));
	assert_true(selector_matches(&g->fields, tree_field, object));
}

static int64_t revision_of(const struct json *object)
{
	int64_t revision = 0;

	(void)str_to_i64(json_text_at(json_getz(object, "metadata"), "resourceVersion"), &revision);
	assert_true(revision > 0);
	return revision;
}

static struct str watch_guest_fixture_key_of(struct arena *a, const struct json *object)
{
	const struct json *meta = json_getz(object, "metadata");
	struct str ns = json_text_at(meta, "namespace");

	return str_from(arena_printf(a, "%.*s%s%.*s", STR_ARG(ns), ns.n ? "/" : "",
				     STR_ARG(json_text_at(meta, "name"))));
}

/* --- events ----------------------------------------------------------------------- */

static void take_change(struct watch_guest *g, struct str type, const struct json *object,
			struct str key)
{
	int64_t revision = revision_of(object);
	struct watch_guest_item *item = map_get(&g->model, key);
	bool added = str_eqz(type, "ADDED"), deleted = str_eqz(type, "DELETED");

	g->events++;
	g->added += added;
	g->deleted += deleted;
	g->modified += !added && !deleted;
	if (g->synced) {
		assert_true(revision > g->revision);
		g->revision = revision;
	} else {
		assert_true(added);
	}
	if (added)
		assert_null(item);
	else
		assert_true(item && item->revision < revision);
	if (deleted) {
		free(map_remove(&g->model, key));
		return;
	}
	check_shown(g, object);
	model_put(g, key, revision);
}

static void take_bookmark(struct watch_guest *g, const struct json *object)
{
	const struct json *notes = json_getz(json_getz(object, "metadata"), "annotations");
	int64_t revision = revision_of(object);

	assert_true(revision >= g->revision);
	g->revision = revision;
	g->marks++;
	if (str_eqz(json_text_at(notes, "k8s.io/initial-events-end"), "true")) {
		assert_false(g->synced);
		g->synced = true;
	} else {
		assert_true(g->synced && g->opts.bookmarks);
	}
}

static void take_error(struct watch_guest *g, const struct json *object)
{
	int64_t code = 0;

	assert_true(json_i64(json_getz(object, "code"), &code));
	assert_int_equal(code, 410);
	assert_true(str_eqz(json_text_at(object, "reason"), "Expired"));
	g->expired++;
	g->revision = 0;
}

static void take_line(struct watch_guest *g, struct str line)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	const struct json *object;
	struct json *event;
	struct str type;

	(void)snprintf(g->last, sizeof(g->last), "%.*s", STR_ARG(line));
	arena_init(&a, SIZE_MAX);
	if (json_parse(&a, line, NULL, &event, NULL) < 0)
		fail_msg("no event: %.*s", STR_ARG(line));
	object = json_getz(event, "object");
	type = json_text_at(event, "type");
	if (str_eqz(type, "BOOKMARK"))
		take_bookmark(g, object);
	else if (str_eqz(type, "ERROR"))
		take_error(g, object);
	else
		take_change(g, type, object, watch_guest_fixture_key_of(&a, object));
}

static void take_lines(struct watch_guest *g)
{
	struct str all = buf_str(&g->line);
	ptrdiff_t end;
	size_t at = 0;

	while ((end = str_chr(str_skip(all, at), '\n')) >= 0) {
		if (!g->opts.form)
			take_line(g, str_of(all.p + at, (size_t)end));
		else
			(void)snprintf(g->last, sizeof(g->last), "%.*s", (int)end, all.p + at);
		g->events += g->opts.form != NULL;
		at += (size_t)end + 1;
	}
	buf_consume(&g->line, at);
}

static void take_list(struct watch_guest *g)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	struct json *list;

	arena_init(&a, SIZE_MAX);
	if (json_parse(&a, buf_str(&g->line), NULL, &list, NULL) < 0)
		fail_msg("no list: %.*s", STR_ARG(buf_str(&g->line)));
	model_clear(g);
	assert_true(json_i64(json_getz(list, "revision"), &g->revision));
	JSON_FOREACH (object, json_getz(list, "items")) {
		assert_true(revision_of(object) <= g->revision);
		check_shown(g, object);
		assert_null(map_get(&g->model, watch_guest_fixture_key_of(&a, object)));
		model_put(g, watch_guest_fixture_key_of(&a, object), revision_of(object));
	}
}

/* --- connections ------------------------------------------------------------------ */

static void watch_guest_fixture_again(struct watch_guest *g)
{
	if (!g->stopped && !g->opts.once && !loop_timer_running(&g->next))
		loop_timer_start(&g->next, (int64_t)prng_below(&g->prng, 30));
}

static void be_patient(struct watch_guest *g)
{
	if (g->opts.patience_ms)
		loop_timer_start(&g->patience, g->opts.patience_ms);
}

static void on_patience(struct loop_timer *t)
{
	struct watch_guest *g = CONTAINER_OF(t, struct watch_guest, patience);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "silence");
	if (g->stream)
		http_stream_reset(g->stream, &err);
}

static void watch_guest_fixture_on_head(struct http_stream *s)
{
	struct watch_guest *g = s->data;

	g->status = s->in.status;
	g->opened += g->status == 200;
	if (g->status == 410)
		g->revision = 0;
}

static void on_consume(struct loop_timer *t)
{
	struct watch_guest *g = CONTAINER_OF(t, struct watch_guest, consume);
	size_t held = g->held;

	g->held = 0;
	if (g->stream)
		http_stream_consume(g->stream, held);
}

static void watch_guest_fixture_on_body(struct http_stream *s, struct str piece)
{
	struct watch_guest *g = s->data;

	be_patient(g);
	assert_int_equal(buf_add_str(&g->line, piece), 0);
	if (g->status == 200 && !g->listing)
		take_lines(g);
	if (!g->stalled && !g->opts.slow_ms) {
		http_stream_consume(s, piece.n);
		return;
	}
	g->held += piece.n;
	if (!g->stalled && !loop_timer_running(&g->consume))
		loop_timer_start(&g->consume,
				 (int64_t)prng_below(&g->prng, (uint64_t)g->opts.slow_ms));
}

static void watch_guest_fixture_on_end(struct http_stream *s)
{
	struct watch_guest *g = s->data;

	g->ends++;
	if (g->listing && g->status == 200)
		take_list(g);
}

static void watch_guest_fixture_on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct watch_guest *g = s->data;

	g->stream = NULL;
	loop_timer_stop(&g->patience);
	if (!g->listing && g->status == 200)
		assert_int_equal(g->stopped || err ? 0 : g->line.n, 0); /* no incomplete line */
	g->listing = false;
	watch_guest_fixture_again(g);
}

static const struct http_stream_ops guest_ops = {
	.on_head = watch_guest_fixture_on_head,
	.on_body = watch_guest_fixture_on_body,
	.on_end = watch_guest_fixture_on_end,
	.on_close = watch_guest_fixture_on_close,
};

static void add_param(struct buf *b, const char *name, const char *value)
{
	if (!value)
		return;
	(void)buf_printf(b, "&%s=", name);
	for (; *value; value++)
		(void)(*value == '=' || *value == '!' || *value == ',' || *value == ' '
			       ? buf_printf(b, "%%%02X", (unsigned)(unsigned char)*value)
			       : buf_addc(b, *value));
}

static void print_target(struct watch_guest *g, struct buf *b)
{
	(void)buf_printf(b, "/%s?kind=%s", g->listing ? "list" : "watch", g->opts.kind);
	add_param(b, "ns", g->opts.ns);
	add_param(b, "labels", g->opts.labels);
	add_param(b, "fields", g->opts.fields);
	add_param(b, "form", g->opts.form);
	if (g->listing)
		return;
	add_param(b, "bookmarks", g->opts.bookmarks ? "1" : NULL);
	if (g->opts.timeout_ms)
		(void)buf_printf(b, "&timeout=%lld", (long long)g->opts.timeout_ms);
	if (g->opts.head)
		(void)buf_printf(b, "&head=%d", g->opts.head);
	if (g->revision)
		(void)buf_printf(b, "&rv=%lld", (long long)g->revision);
	else
		(void)buf_addz(b, "&initial=1&end=1");
}

static void watch_guest_fixture_begin(struct watch_guest *g)
{
	__attribute__((cleanup(buf_release_cleanup))) struct buf target = BUF_INIT(4096);
	struct http_request r = { .method = STR("GET"),
				  .scheme = STR("http"),
				  .authority = STR("server"),
				  .end = true,
				  .ops = &guest_ops,
				  .data = g };

	if (!g->revision) {
		model_clear(g);
		g->listing = g->opts.list_first;
		g->synced = false;
	} else {
		g->synced = true;
	}
	print_target(g, &target);
	r.target = buf_str(&target);
	buf_clear(&g->line);
	g->held = 0;
	g->status = 0;
	be_patient(g);
	if (http_client_request(g->client, &r, &g->stream, NULL) < 0) {
		g->listing = false;
		watch_guest_fixture_again(g);
	}
}

static void watch_guest_fixture_on_client_close(void *arg, const struct error *err UNUSED)
{
	watch_guest_fixture_again(arg);
}

static void on_next(struct loop_timer *t)
{
	struct watch_guest *g = CONTAINER_OF(t, struct watch_guest, next);
	struct state_world *w = g->servers[prng_below(&g->prng, g->nservers)];
	struct http_client_opts opts = { .to = w->at,
					 .protocol = g->opts.protocol,
					 .connect_timeout_ms = 3000,
					 .ping_interval_ms = 5000,
					 .on_close = watch_guest_fixture_on_client_close,
					 .arg = g };

	if (g->stopped || g->stream)
		return;
	http_client_free(TAKE(g->client));
	loop_timer_stop(t); /* a stream that was cut off has started it again */
	assert_int_equal(http_client_new(g->loop, &opts, &g->client, NULL), 0);
	watch_guest_fixture_begin(g);
}

/* --- lifecycle -------------------------------------------------------------------- */

void watch_guest_init(struct watch_guest *g, struct loop *l, struct state_world **servers,
		      size_t nservers, const struct watch_guest_opts *opts)
{
	*g = (struct watch_guest){
		.opts = *opts, .loop = l, .servers = servers, .nservers = nservers
	};
	prng_init(&g->prng, opts->seed);
	arena_init(&g->arena, SIZE_MAX);
	buf_init(&g->line, 64 * MIB);
	map_init(&g->model);
	g->revision = opts->revision;
	g->stalled = opts->stalled;
	assert_int_equal(selector_parse_labels(&g->arena, str_from(opts->labels), &g->labels, NULL),
			 0);
	assert_int_equal(selector_parse_fields(&g->arena, str_from(opts->fields), &g->fields, NULL),
			 0);
	loop_timer_init(&g->next, l, on_next);
	loop_timer_init(&g->consume, l, on_consume);
	loop_timer_init(&g->patience, l, on_patience);
	loop_timer_start(&g->next, 0);
}

void watch_guest_stop(struct watch_guest *g)
{
	g->stopped = true;
	loop_timer_stop(&g->next);
	loop_timer_stop(&g->consume);
	loop_timer_stop(&g->patience);
	http_client_free(TAKE(g->client));
}

void watch_guest_read(struct watch_guest *g)
{
	g->stalled = false;
	loop_timer_start(&g->consume, 0);
}

void watch_guest_release(struct watch_guest *g)
{
	if (!g->stopped)
		watch_guest_stop(g);
	model_clear(g);
	map_release(&g->model);
	buf_release(&g->line);
	arena_release(&g->arena);
}

bool watch_guest_agrees(struct watch_guest *g, struct state_world *w)
{
	struct list_query q = { .ns = str_from(g->opts.ns),
				.labels = g->labels,
				.fields = g->fields };
	struct list_result list = state_world_list(w, g->opts.kind, &q);

	if (!g->stream || g->status != 200 || g->listing || list.n != g->model.n)
		return false;
	for (size_t i = 0; i < list.n; i++) {
		struct watch_guest_item *item = map_get(&g->model, list.items[i]->key);

		if (!item || item->revision != list.items[i]->revision)
			return false;
	}
	return true;
}
