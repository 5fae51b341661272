/*
 * API objects that pods use, from a server in a simulated world.
 */
#include "node/sources/sources.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "client/testing/api_world.h"

enum { OBJECTS = 16, HOUR_MS = 3600 * 1000 };

struct object {
	const char *path; /* of its collection */
	char *name, *text;
};

struct stream {
	struct list link;
	struct http_stream *stream;
	char *path, *name; /* of its watch; name "": all */
	struct world *world;
};

struct world {
	struct api_world api;
	struct sources *sources;
	struct object objects[OBJECTS];
	struct list streams;
	struct arena arena;
	struct pod *pod;
	bool forbid, refuse_tokens;
	unsigned watches; /* ever opened */
	unsigned tokens; /* number of tokens issued */
	char token_request[1024], token_path[256];
	/* Callbacks. */
	unsigned done, changes;
	struct error err;
	char token[64];
};

#define CONFIG_MAPS "/api/v1/namespaces/ns/configmaps"
#define SECRETS     "/api/v1/namespaces/ns/secrets"
#define SERVICES    "/api/v1/namespaces/ns/services"

/* --- the server ----------------------------------------------------------------------------- */

static void on_stream_close(struct http_stream *s, const struct error *err)
{
	struct stream *x = s->data;

	(void)err;
	list_remove(&x->link);
	free(x->path);
	free(x->name);
	free(x);
}

static void send_event(struct stream *x, const char *type, const char *object)
{
	char *line;

	assert_true(asprintf(&line, "{\"type\":\"%s\",\"object\":%s}\n", type, object) > 0);
	(void)http_stream_send_copy(x->stream, str_from(line));
	free(line);
}

static bool watches(const struct stream *x, const struct object *o)
{
	return o->path && strcmp(o->path, x->path) == 0 &&
	       (!x->name[0] || strcmp(x->name, o->name) == 0);
}

static void begin_watch(struct world *w, struct http_stream *s)
{
	static const struct http_stream_ops ops = { .on_close = on_stream_close };
	struct http_field field = HTTP_FIELD("content-type", STR("application/json"));
	struct stream *x = XNEW(struct stream);
	ptrdiff_t at = str_find(s->in.query, STR("metadata.name%3D"));
	struct str rest = str_skip(s->in.query, at < 0 ? SIZE_MAX : (size_t)at + 16);
	struct str name = rest;

	(void)str_split(&rest, '&', &name);
	x->path = str_dup(s->in.path);
	x->name = str_dup(name);
	x->stream = s;
	s->data = x;
	s->ops = &ops;
	list_push_back(&w->streams, &x->link);
	w->watches++;
	(void)http_stream_respond(s, 200, &field, 1, -1);
	for (size_t i = 0; i < OBJECTS; i++) {
		if (watches(x, &w->objects[i]))
			send_event(x, "ADDED", w->objects[i].text);
	}
	send_event(x, "BOOKMARK",
		   "{\"kind\":\"X\",\"metadata\":{\"resourceVersion\":\"100\",\"annotations\":{"
		   "\"k8s.io/initial-events-end\":\"true\"}}}");
}

static void give_token(struct world *w, struct http_stream *s, struct str body)
{
	int64_t now = clock_wall(loop_clock(w->api.loop));
	char time[TIMESTAMP_SIZE], text[256];

	(void)snprintf(w->token_request, sizeof(w->token_request), "%.*s", STR_ARG(body));
	(void)snprintf(w->token_path, sizeof(w->token_path), "%.*s", STR_ARG(s->in.path));
	if (w->refuse_tokens) {
		api_world_reply(
			s, 403, "application/json",
			"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no\"}");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "{\"spec\":{\"expirationSeconds\":3600},\"status\":{\"token\":\"t%u\","
		       "\"expirationTimestamp\":\"%s\"}}",
		       ++w->tokens,
		       timestamp_print(now + 3600 * CLOCK_SEC, TIMESTAMP_SECONDS, time).p);
	api_world_reply(s, 201, "application/json", text);
}

static void handle(struct api_world *api, struct http_stream *s, struct str body)
{
	struct world *w = api->data;

	if (str_ends(s->in.path, STR("/token")))
		give_token(w, s, body);
	else if (w->forbid)
		api_world_reply(
			s, 403, "application/json",
			"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"you may "
			"not\"}");
	else
		begin_watch(w, s);
}

static void put(struct world *w, const char *path, const char *name, const char *more)
{
	struct object *o = NULL;
	bool fresh;

	for (size_t i = 0; i < OBJECTS && !o; i++) {
		struct object *it = &w->objects[i];

		if (!it->path || (strcmp(it->path, path) == 0 && strcmp(it->name, name) == 0))
			o = it;
	}
	assert_non_null(o);
	fresh = !o->path;
	o->path = path;
	free(o->name);
	free(o->text);
	o->name = xstrdup(name);
	assert_true(asprintf(&o->text,
			     "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
			     "\"namespace\":\"%s\",\"uid\":\"x\",\"resourceVersion\":\"%llu\"}%s}",
			     name, strstr(path, "/default/") ? "default" : "ns",
			     (unsigned long long)(100 + ++w->api.rv), more) > 0);
	LIST_FOREACH (it, &w->streams) {
		struct stream *x = LIST_ENTRY(it, struct stream, link);

		if (watches(x, o))
			send_event(x, fresh ? "ADDED" : "MODIFIED", o->text);
	}
}

static size_t open_streams(struct world *w)
{
	size_t n = 0;

	LIST_FOREACH (it, &w->streams)
		n++;
	return n;
}

/* --- the world ------------------------------------------------------------------------------ */

static void on_change(void *arg, struct str uid)
{
	struct world *w = arg;

	assert_true(str_eqz(uid, "u"));
	w->changes++;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 7 };
	struct sources_opts opts = { .on_change = on_change, .arg = w };

	list_init(&w->streams);
	api_world_init(&w->api, &so, HTTP_PROTOCOL_2);
	w->api.handler = handle;
	w->api.data = w;
	opts.loop = w->api.outside;
	opts.client = w->api.client;
	w->sources = sources_new(&opts);
	arena_init(&w->arena, REQUEST_WORK_MAX);
	put(w, CONFIG_MAPS, "cm", ",\"data\":{\"a\":\"1\"}");
	put(w, CONFIG_MAPS, "other", ",\"data\":{\"a\":\"2\"}");
	put(w, SECRETS, "s", ",\"data\":{\"k\":\"eA==\"}");
	put(w, "/api/v1/namespaces/default/services", "kubernetes",
	    ",\"spec\":{\"clusterIP\":\"10.0.0.1\",\"ports\":[{\"port\":443}]}");
	put(w, SERVICES, "web", ",\"spec\":{\"clusterIP\":\"10.0.0.2\",\"ports\":[{\"port\":80}]}");
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	sources_free(w->sources);
	sim_run_for(w->api.sim, 100);
	api_world_release(&w->api);
	for (size_t i = 0; i < OBJECTS; i++) {
		free(w->objects[i].name);
		free(w->objects[i].text);
	}
	pod_unref(w->pod);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static void parse(struct world *w, const char *spec)
{
	const char *text = arena_printf(
		&w->arena,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\"},"
		"\"spec\":{%s}}",
		spec);

	pod_unref(w->pod);
	w->pod = NULL;
	assert_int_equal(pod_parse(str_from(text), &w->pod, &w->err), 0);
}

static void on_done(void *arg, const struct error *err)
{
	struct world *w = arg;

	w->done++;
	w->err = err ? *err : (struct error){ 0 };
}

static bool is_done(void *arg)
{
	return ((struct world *)arg)->done > 0;
}

static int want(struct world *w)
{
	w->done = 0;
	sources_want(w->sources, w->pod, on_done, w);
	assert_int_equal(w->done, 0);
	assert_true(sim_run_until(w->api.sim, is_done, w, 60000));
	assert_int_equal(w->done, 1);
	return -(int)w->err.code;
}

static const char *data_of(struct world *w, const char *name)
{
	struct json *tree = sources_config_map(w->sources, STR("ns"), str_from(name), &w->arena);

	return tree ? arena_strdup(&w->arena, json_text_at(json_getz(tree, "data"), "a")) : NULL;
}

static const char all[] =
	"\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[{\"configMap\":{\"name\":\"cm\"}}"
	"]}}],"
	"\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"x\",\"valueFrom\":{\"secretKeyRef\":{"
	"\"name\":\"s\",\"key\":\"k\"}}},{\"name\":\"y\",\"valueFrom\":{\"configMapKeyRef\":{"
	"\"name\":"
	"\"none\",\"key\":\"k\"}}}]}]";

/* --- objects -------------------------------------------------------------------------------- */

static void a_pods_objects_are_there_when_done_is_called(void **state)
{
	struct world *w = *state;
	struct json **services = NULL;

	parse(w, all);
	assert_int_equal(want(w), 0);
	assert_string_equal(data_of(w, "cm"), "1");
	assert_non_null(sources_secret(w->sources, STR("ns"), STR("s"), &w->arena));
	assert_null(data_of(w, "none"));
	/* No pod names it, so it is unknown. */
	assert_null(data_of(w, "other"));
	assert_int_equal(sources_services(w->sources, STR("ns"), true, &w->arena, &services), 2);
	assert_int_equal(sources_services(w->sources, STR("ns"), false, &w->arena, &services), 1);
	/* cm, none, s, default/kubernetes, services of ns: each has one watch, by name. */
	assert_int_equal(open_streams(w), 5);
}

static void changes_are_told_until_the_pod_is_dropped(void **state)
{
	struct world *w = *state;

	parse(w, all);
	assert_int_equal(want(w), 0);
	put(w, CONFIG_MAPS, "other", ",\"data\":{\"a\":\"3\"}");
	put(w, SERVICES, "web", ",\"spec\":{}");
	sim_run_for(w->api.sim, 100);
	assert_int_equal(w->changes, 0);
	put(w, CONFIG_MAPS, "cm", ",\"data\":{\"a\":\"4\"}");
	sim_run_for(w->api.sim, 100);
	assert_int_equal(w->changes, 1);
	assert_string_equal(data_of(w, "cm"), "4");
	/* A missing object is created. */
	put(w, CONFIG_MAPS, "none", ",\"data\":{\"a\":\"5\"}");
	sim_run_for(w->api.sim, 100);
	assert_int_equal(w->changes, 2);
	sources_drop(w->sources, STR("u"));
	sim_run_for(w->api.sim, 100);
	assert_int_equal(open_streams(w), 0);
	assert_null(data_of(w, "cm"));
}

static void a_changed_pod_keeps_what_it_still_uses(void **state)
{
	struct world *w = *state;
	unsigned opened;

	parse(w, all);
	assert_int_equal(want(w), 0);
	opened = w->watches;
	parse(w, "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\"}},{\"name\":\"o\","
		 "\"configMap\":{\"name\":\"other\"}}]");
	assert_int_equal(want(w), 0);
	sim_run_for(w->api.sim, 100);
	assert_int_equal(w->watches, opened + 1);
	assert_string_equal(data_of(w, "other"), "2");
	assert_int_equal(open_streams(w), 4);
}

static void immutable_objects_are_not_watched_for_long(void **state)
{
	struct world *w = *state;

	put(w, CONFIG_MAPS, "cm", ",\"immutable\":true,\"data\":{\"a\":\"for ever\"}");
	parse(w,
	      "\"enableServiceLinks\":false,\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":"
	      "\"cm\"}}]");
	assert_int_equal(want(w), 0);
	sim_run_for(w->api.sim, 100);
	assert_string_equal(data_of(w, "cm"), "for ever");
	assert_int_equal(open_streams(w), 1);
	assert_int_equal(want(w), 0);
	assert_int_equal(open_streams(w), 1);
}

static void a_forbidden_source_is_a_temporary_failure(void **state)
{
	struct world *w = *state;

	w->forbid = true;
	parse(w, all);
	assert_int_equal(want(w), -ERR_TIMEOUT);
	assert_non_null(strstr(w->err.msg, "failed to sync configmap cache: "));
	assert_non_null(strstr(w->err.msg, "you may not"));
	w->forbid = false;
	while (want(w) < 0)
		assert_true(sim_elapsed_ms(w->api.sim) < HOUR_MS);
	assert_string_equal(data_of(w, "cm"), "1");
}

/* --- tokens --------------------------------------------------------------------------------- */

static void on_token(void *arg, struct str token, const struct error *err)
{
	struct world *w = arg;

	w->done++;
	w->err = err ? *err : (struct error){ 0 };
	(void)snprintf(w->token, sizeof(w->token), "%.*s", STR_ARG(token));
}

static int ask(struct world *w)
{
	w->done = 0;
	sources_token(w->sources, w->pod, STR("me"), 3600, on_token, w);
	assert_int_equal(w->done, 0);
	assert_true(sim_run_until(w->api.sim, is_done, w, 60000));
	return -(int)w->err.code;
}

static void a_token_is_bound_to_its_pod_and_kept(void **state)
{
	struct world *w = *state;

	parse(w, "\"serviceAccountName\":\"sa\"");
	assert_int_equal(ask(w), 0);
	assert_string_equal(w->token, "t1");
	assert_string_equal(w->token_path, "/api/v1/namespaces/ns/serviceaccounts/sa/token");
	assert_non_null(
		strstr(w->token_request,
		       "\"spec\":{\"audiences\":[\"me\"],\"expirationSeconds\":3600,"
		       "\"boundObjectRef\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":"
		       "\"p\",\"uid\":\"u\"}}"));
	assert_int_equal(ask(w), 0);
	assert_string_equal(w->token, "t1");
	assert_int_equal(w->tokens, 1);
}

static void a_token_is_renewed_before_it_ends(void **state)
{
	struct world *w = *state;

	parse(w, "\"serviceAccountName\":\"sa\"");
	assert_int_equal(ask(w), 0);
	sim_run_for(w->api.sim, HOUR_MS / 5 * 4 - 20000);
	assert_int_equal(w->tokens, 1);
	sim_run_for(w->api.sim, 20000);
	assert_int_equal(w->tokens, 2);
	assert_int_equal(w->changes, 1);
	assert_int_equal(ask(w), 0);
	assert_string_equal(w->token, "t2");
}

static void an_old_token_serves_while_it_is_valid(void **state)
{
	struct world *w = *state;

	parse(w, "\"serviceAccountName\":\"sa\"");
	assert_int_equal(ask(w), 0);
	w->refuse_tokens = true;
	sim_run_for(w->api.sim, HOUR_MS / 10 * 9);
	assert_int_equal(ask(w), 0);
	assert_string_equal(w->token, "t1");
	sim_run_for(w->api.sim, HOUR_MS / 5);
	assert_int_equal(ask(w), -ERR_FORBIDDEN);
	assert_string_equal(w->err.msg, "token expired and refresh failed: no");
	w->refuse_tokens = false;
	sim_run_for(w->api.sim, 61000);
	assert_int_equal(w->changes, 1);
}

static void a_caller_waiting_for_a_dropped_pods_token_gets_an_error(void **state)
{
	struct world *w = *state;

	parse(w, "\"serviceAccountName\":\"sa\"");
	w->done = 0;
	sources_token(w->sources, w->pod, STR("me"), 3600, on_token, w);
	sources_drop(w->sources, STR("u"));
	assert_int_equal(w->done, 0);
	assert_true(sim_run_until(w->api.sim, is_done, w, 60000));
	assert_int_equal(w->err.code, ERR_CANCELED);
	w->done = 0;
	sources_token(w->sources, w->pod, STR("me"), 3600, on_token, w);
	sources_token_cancel(w->sources, w);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(w->done, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pods_objects_are_there_when_done_is_called),
		TEST(changes_are_told_until_the_pod_is_dropped),
		TEST(a_changed_pod_keeps_what_it_still_uses),
		TEST(immutable_objects_are_not_watched_for_long),
		TEST(a_forbidden_source_is_a_temporary_failure),
		TEST(a_token_is_bound_to_its_pod_and_kept),
		TEST(a_token_is_renewed_before_it_ends),
		TEST(an_old_token_serves_while_it_is_valid),
		TEST(a_caller_waiting_for_a_dropped_pods_token_gets_an_error),
	};

	return cmocka_run_group_tests_name("node/sources", tests, NULL, NULL);
}
