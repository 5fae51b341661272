/*
 * One request at a time; each reply leads to the next step.
 */
#include "server/testing/state_writer_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/core/limits.h"

enum { PATIENCE_MS = 10 * 1000 };

static size_t draw(struct state_writer *w, size_t n)
{
	return (size_t)prng_below(&w->prng, n);
}

static void state_writer_fixture_again(struct state_writer *w, int64_t ms)
{
	if (!w->stopped && !loop_timer_running(&w->next))
		loop_timer_start(&w->next, ms);
}

/* --- replies ---------------------------------------------------------------------- */

static int64_t tree_number(const struct json *v)
{
	int64_t n = -1;

	assert_true(str_to_i64(json_str(v), &n));
	return n;
}

static int64_t revision_of(const struct json *object)
{
	return tree_number(json_getz(json_getz(object, "metadata"), "resourceVersion"));
}

static void take_read(struct state_writer *w)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	struct json *object;

	arena_init(&a, SIZE_MAX);
	w->value = w->revision = 0;
	if (w->status == 404) {
		assert_int_equal(w->floor, 0);
		return;
	}
	assert_int_equal(json_parse(&a, buf_str(&w->body), NULL, &object, NULL), 0);
	w->revision = revision_of(object);
	assert_true(w->revision >= w->floor);
	w->value = tree_number(json_getz(json_getz(object, "data"), "count"));
}

static void take_acked(struct state_writer *w)
{
	__attribute__((cleanup(arena_release_cleanup))) struct arena a;
	int64_t *newest = &w->tally->newest[w->counter];
	struct json *object;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(json_parse(&a, buf_str(&w->body), NULL, &object, NULL), 0);
	*newest = MAX(*newest, revision_of(object));
	w->tally->acked[w->counter]++;
}

static void take_count(struct state_writer *w, bool answered)
{
	if (answered && w->status == 200)
		take_acked(w);
	else if (answered && w->status == 409)
		w->tally->conflicts++;
	else if (!answered || w->status != 503)
		w->tally->unknown[w->counter]++;
}

static void state_writer_fixture_on_head(struct http_stream *s)
{
	((struct state_writer *)s->data)->status = s->in.status;
}

static void state_writer_fixture_on_body(struct http_stream *s, struct str piece)
{
	struct state_writer *w = s->data;

	(void)buf_add_str(&w->body, piece);
	http_stream_consume(s, piece.n);
}

static void state_writer_fixture_on_close(struct http_stream *s, const struct error *err)
{
	struct state_writer *w = s->data;
	bool answered = !err;

	w->stream = NULL;
	loop_timer_stop(&w->patience);
	if (w->step == WRITER_COUNT)
		take_count(w, answered);
	if (w->step == WRITER_READ && answered && (w->status == 200 || w->status == 404))
		take_read(w);
	else
		w->step = WRITER_IDLE;
	state_writer_fixture_again(w, (int64_t)draw(w, answered ? 10 : 100));
}

static const struct http_stream_ops writer_ops = {
	.on_head = state_writer_fixture_on_head,
	.on_body = state_writer_fixture_on_body,
	.on_close = state_writer_fixture_on_close,
};

/* --- requests --------------------------------------------------------------------- */

static void request(struct state_writer *w, const char *method, const char *target,
		    const char *body)
{
	struct http_request r = { .method = str_from(method),
				  .scheme = STR("http"),
				  .authority = STR("server"),
				  .target = str_from(target),
				  .length = body ? (int64_t)strlen(body) : 0,
				  .end = !body,
				  .ops = &writer_ops,
				  .data = w };

	buf_clear(&w->body);
	w->status = 0;
	if (http_client_request(w->client, &r, &w->stream, NULL) < 0) {
		w->step = WRITER_IDLE;
		http_client_free(TAKE(w->client));
		state_writer_fixture_again(w, (int64_t)draw(w, 50));
		return;
	}
	loop_timer_start(&w->patience, PATIENCE_MS);
	if (body) {
		(void)http_stream_send_copy(w->stream, str_from(body));
		(void)http_stream_end(w->stream, NULL, 0);
	}
}

static void begin_read(struct state_writer *w)
{
	char target[128];

	w->counter = draw(w, STATE_COUNTERS);
	w->step = WRITER_READ;
	w->floor = w->tally->newest[w->counter];
	(void)snprintf(target, sizeof(target), "/get?kind=configmaps&ns=c&name=c%zu", w->counter);
	request(w, "GET", target, NULL);
}

static void begin_count(struct state_writer *w)
{
	char target[128], body[256];

	w->step = WRITER_COUNT;
	(void)snprintf(target, sizeof(target), "/put?kind=configmaps&ns=c&name=c%zu&rv=%lld",
		       w->counter, (long long)w->revision);
	(void)snprintf(
		body, sizeof(body),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%zu\","
		"\"namespace\":\"c\",\"uid\":\"u\"},\"data\":{\"count\":\"%lld\"}}",
		w->counter, (long long)w->value + 1);
	request(w, "PUT", target, body);
}

static void begin_churn(struct state_writer *w)
{
	static const char *const apps[] = { "web", "db", "mail" };
	static const char *const spaces[] = { "a", "a-b", "b" };
	char target[128], body[512];
	size_t pod = draw(w, STATE_PODS);
	const char *ns = spaces[pod % 3];

	w->step = WRITER_CHURN;
	(void)snprintf(target, sizeof(target), "/put?kind=pods&ns=%s&name=p%zu", ns, pod);
	if (draw(w, 4) == 0) {
		request(w, "DELETE", target, NULL);
		return;
	}
	(void)snprintf(body, sizeof(body),
		       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%zu\","
		       "\"namespace\":\"%s\",\"uid\":\"u\",\"labels\":{\"app\":\"%s\"}},"
		       "\"spec\":{\"nodeName\":\"n%zu\"}}",
		       pod, ns, apps[draw(w, 3)], draw(w, 3));
	request(w, "PUT", target, body);
}

static void state_writer_fixture_on_client_close(void *arg, const struct error *err UNUSED)
{
	state_writer_fixture_again(arg, 1);
}

static void on_next(struct loop_timer *t)
{
	struct state_writer *w = CONTAINER_OF(t, struct state_writer, next);
	struct http_client_opts opts = { .to = w->servers[draw(w, w->nservers)]->at,
					 .protocol = draw(w, 2) ? HTTP_PROTOCOL_1 : HTTP_PROTOCOL_2,
					 .connect_timeout_ms = 2000,
					 .ping_interval_ms = 2000,
					 .on_close = state_writer_fixture_on_client_close,
					 .arg = w };

	if (w->stopped || w->stream || (!w->left && w->step == WRITER_IDLE))
		return;
	if (w->client && draw(w, 10) == 0)
		http_client_free(TAKE(w->client));
	if (!w->client)
		assert_int_equal(http_client_new(w->loop, &opts, &w->client, NULL), 0);
	if (w->step == WRITER_READ) {
		begin_count(w);
		return;
	}
	w->left--;
	if (draw(w, 3) == 0)
		begin_read(w);
	else
		begin_churn(w);
}

static void on_patience(struct loop_timer *t)
{
	struct state_writer *w = CONTAINER_OF(t, struct state_writer, patience);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "no answer");
	http_stream_reset(w->stream, &err);
}

/* --- lifecycle -------------------------------------------------------------------- */

void state_writer_init(struct state_writer *w, struct loop *l, struct state_world **servers,
		       size_t nservers, struct state_tally *tally, size_t steps, uint64_t seed)
{
	*w = (struct state_writer){
		.loop = l, .servers = servers, .nservers = nservers, .tally = tally, .left = steps
	};
	prng_init(&w->prng, seed);
	buf_init(&w->body, 16 * MIB);
	loop_timer_init(&w->next, l, on_next);
	loop_timer_init(&w->patience, l, on_patience);
	loop_timer_start(&w->next, 0);
}

void state_writer_release(struct state_writer *w)
{
	w->stopped = true;
	loop_timer_stop(&w->next);
	loop_timer_stop(&w->patience);
	http_client_free(w->client);
	buf_release(&w->body);
}

void state_tally_check(const struct state_tally *t, struct state_world *w)
{
	for (size_t i = 0; i < STATE_COUNTERS; i++) {
		__attribute__((cleanup(arena_release_cleanup))) struct arena a;
		struct json *tree = NULL;
		struct object *o;
		char name[8];
		int64_t value;

		(void)snprintf(name, sizeof(name), "c%zu", i);
		o = resource_get(state_world_resource(w, "configmaps"), STR("c"), str_from(name));
		arena_init(&a, SIZE_MAX);
		if (o)
			assert_int_equal(object_tree(o, &a, &tree, NULL), 0);
		value = o ? tree_number(json_getz(json_getz(tree, "data"), "count")) : 0;
		assert_in_range(value, t->acked[i], t->acked[i] + t->unknown[i]);
	}
}
