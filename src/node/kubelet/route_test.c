/*
 * Paths, permissions and parameters of the kubelet's API.
 */
#include "node/kubelet/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"

#define NOW (INT64_C(1700000000) * CLOCK_SEC + 5)

struct world {
	struct arena a;
	struct kubelet_route route;
	struct kubelet_log_query log;
	struct runtime_stream stream;
	struct error err;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	arena_init(&w->a, SIZE_MAX);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	arena_release(&w->a);
	free(w);
	return 0;
}

static int find(struct world *w, const char *method, const char *path)
{
	return kubelet_route_find(str_from(method), str_from(path), &w->a, &w->route, &w->err);
}

static int log_query(struct world *w, const char *query)
{
	return kubelet_route_log_query(str_from(query), NOW, &w->a, &w->log, &w->err);
}

static void paths_name_a_pod_perhaps_its_uid_and_a_container(void **state)
{
	struct world *w = *state;

	assert_int_equal(find(w, "GET", "/containerLogs/ns/p%31/c"), 0);
	assert_int_equal(w->route.page, KUBELET_LOGS);
	assert_true(str_eqz(w->route.ns, "ns"));
	assert_true(str_eqz(w->route.pod, "p1"));
	assert_true(str_eqz(w->route.container, "c"));
	assert_int_equal(w->route.uid.n, 0);
	assert_int_equal(find(w, "POST", "/exec/ns/p/u/c"), 0);
	assert_int_equal(w->route.page, KUBELET_EXEC);
	assert_true(str_eqz(w->route.uid, "u"));
	assert_true(str_eqz(w->route.container, "c"));
	assert_int_equal(find(w, "GET", "/portForward/ns/p/u"), 0);
	assert_true(str_eqz(w->route.uid, "u"));
	assert_int_equal(w->route.container.n, 0);
	assert_int_equal(find(w, "GET", "/portForward/ns/p"), 0);
	assert_int_equal(w->route.uid.n, 0);
}

static void pages_may_end_with_a_slash(void **state)
{
	struct world *w = *state;

	assert_int_equal(find(w, "GET", "/runningpods/"), 0);
	assert_int_equal(w->route.page, KUBELET_RUNNING_PODS);
	assert_int_equal(find(w, "HEAD", "/healthz"), 0);
	assert_int_equal(w->route.page, KUBELET_HEALTHZ);
}

static void other_paths_and_methods_are_refused(void **state)
{
	static const char *const paths[] = { "",
					     "/",
					     "/podsx",
					     "/containerLogs/ns/p%00x/c",
					     "/containerLogs/ns/p/c%00",
					     "/pods/x",
					     "/exec",
					     "/exec/ns/p",
					     "/exec/ns//c",
					     "/exec/a/b/c/d/e",
					     "/exec/a/b/%zz",
					     "/portForward/ns",
					     "/containerLogs/a/b/c/d/e/f" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(find(w, "GET", paths[i]), -ERR_NOT_FOUND);
	assert_int_equal(find(w, "POST", "/pods"), -ERR_METHOD_NOT_ALLOWED);
	assert_int_equal(find(w, "GET", "/run/a/b/c"), -ERR_METHOD_NOT_ALLOWED);
	assert_int_equal(find(w, "DELETE", "/exec/a/b/c"), -ERR_METHOD_NOT_ALLOWED);
}

static void check_right(const char *path, const char *first, const char *second)
{
	const char *names[KUBELET_SUBRESOURCES_MAX];
	size_t n = kubelet_route_subresources(str_from(path), names);

	assert_string_equal(names[0], first);
	assert_int_equal(n, second ? 2 : 1);
	if (second)
		assert_string_equal(names[1], second);
}

static void rights_are_as_fine_as_kubelets(void **state)
{
	check_right("/pods", "pods", "proxy");
	check_right("/runningpods/", "pods", "proxy");
	check_right("/healthz/ping", "healthz", "proxy");
	check_right("/configz", "configz", "proxy");
	check_right("/metrics", "metrics", NULL);
	check_right("/metrics/resource", "metrics", NULL);
	check_right("/stats/summary", "stats", NULL);
	check_right("/logs/syslog", "log", NULL);
	check_right("/metricsx", "proxy", NULL);
	check_right("/containerLogs/a/b/c", "proxy", NULL);
	check_right("/exec/a/b/c", "proxy", NULL);
	assert_string_equal(kubelet_route_verb(STR("GET"), STR("/pods")), "get");
	assert_string_equal(kubelet_route_verb(STR("POST"), STR("/pods")), "create");
	assert_string_equal(kubelet_route_verb(STR("BREW"), STR("/pods")), "");
}

/* Permission to read a node's pages does not include running commands in its pods. */
static void entering_a_pod_is_create_by_any_method(void **state)
{
	static const char *const paths[] = { "/exec/a/b/c", "/attach/a/b/uid/c", "/portForward/a/b",
					     "/run/a/b/c", "/exec" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_string_equal(kubelet_route_verb(STR("GET"), str_from(paths[i])), "create");
		assert_string_equal(kubelet_route_verb(STR("POST"), str_from(paths[i])), "create");
	}
	assert_string_equal(kubelet_route_verb(STR("GET"), STR("/executed")), "get");
	assert_string_equal(kubelet_route_verb(STR("GET"), STR("/containerLogs/a/b/c")), "get");
}

static void a_log_is_all_of_it_unless_told(void **state)
{
	struct world *w = *state;

	assert_int_equal(log_query(w, ""), 0);
	assert_int_equal(w->log.tail, -1);
	assert_int_equal(w->log.reader.limit_bytes, 0);
	assert_false(w->log.follow || w->log.previous || w->log.reader.timestamps ||
		     w->log.reader.has_since || w->log.reader.no_stdout || w->log.reader.no_stderr);
}

static void options_of_a_log_are_read(void **state)
{
	struct world *w = *state;

	assert_int_equal(log_query(w, "follow=true&previous&timestamps=1&tailLines=0&limitBytes=9"),
			 0);
	assert_true(w->log.follow && w->log.previous && w->log.reader.timestamps);
	assert_int_equal(w->log.tail, 0);
	assert_int_equal(w->log.reader.limit_bytes, 9);
	assert_int_equal(log_query(w, "follow=False&previous=0&stream=Stderr&sinceSeconds=10"), 0);
	assert_false(w->log.follow || w->log.previous);
	assert_true(w->log.reader.no_stdout);
	assert_true(w->log.reader.has_since);
	assert_int_equal(w->log.reader.since.seconds, 1699999990);
	assert_int_equal(w->log.reader.since.ns, 5);
	assert_int_equal(log_query(w, "sinceTime=2023-11-14T22%3A13%3A20Z&stream=All"), 0);
	assert_int_equal(w->log.reader.since.seconds, 1700000000);
}

static void options_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *query;
		int want;
	} rows[] = {
		{ "tailLines=x", -ERR_BAD_REQUEST },
		{ "sinceTime=yesterday", -ERR_BAD_REQUEST },
		{ "limitBytes=1.5", -ERR_BAD_REQUEST },
		{ "tailLines=-1", -ERR_INVALID },
		{ "limitBytes=0", -ERR_INVALID },
		{ "sinceSeconds=0", -ERR_INVALID },
		{ "sinceSeconds=1&sinceTime=2023-11-14T22:13:20Z", -ERR_INVALID },
		{ "stream=stdout", -ERR_INVALID },
		{ "stream=Stdout&tailLines=1", -ERR_INVALID },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(log_query(w, rows[i].query), rows[i].want);
}

static void streams_and_words_of_a_command_are_read(void **state)
{
	struct world *w = *state;
	struct str query = STR("command=sh&command=-c&command=echo+a%26b&input=1&output=1&error=1");

	assert_int_equal(
		kubelet_route_stream_query(query, RUNTIME_STREAM_EXEC, &w->a, &w->stream, &w->err),
		0);
	assert_int_equal(w->stream.command.n, 3);
	assert_true(str_eqz(w->stream.command.v[2], "echo a&b"));
	assert_true(w->stream.with_in && w->stream.with_out && w->stream.with_err);
	assert_false(w->stream.tty);
	assert_int_equal(kubelet_route_stream_query(STR("output=1&error=1&tty=1"),
						    RUNTIME_STREAM_ATTACH, &w->a, &w->stream,
						    &w->err),
			 0);
	assert_true(w->stream.tty && w->stream.with_out);
	assert_false(w->stream.with_err);
	assert_int_equal(kubelet_route_stream_query(STR("command=a&output=true"),
						    RUNTIME_STREAM_EXEC, &w->a, &w->stream,
						    &w->err),
			 -ERR_BAD_REQUEST);
}

static void ports_may_be_several(void **state)
{
	struct world *w = *state;

	assert_int_equal(kubelet_route_stream_query(STR("port=80,443&port=8080"),
						    RUNTIME_STREAM_PORTS, &w->a, &w->stream,
						    &w->err),
			 0);
	assert_int_equal(w->stream.nports, 3);
	assert_int_equal(w->stream.ports[2], 8080);
	assert_int_equal(kubelet_route_stream_query(STR(""), RUNTIME_STREAM_PORTS, &w->a,
						    &w->stream, &w->err),
			 0);
	assert_int_equal(w->stream.nports, 0);
	assert_int_equal(kubelet_route_stream_query(STR("port=65536"), RUNTIME_STREAM_PORTS, &w->a,
						    &w->stream, &w->err),
			 -ERR_BAD_REQUEST);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(paths_name_a_pod_perhaps_its_uid_and_a_container),
		CASE(pages_may_end_with_a_slash),
		CASE(other_paths_and_methods_are_refused),
		CASE(rights_are_as_fine_as_kubelets),
		CASE(entering_a_pod_is_create_by_any_method),
		CASE(a_log_is_all_of_it_unless_told),
		CASE(options_of_a_log_are_read),
		CASE(options_that_cannot_be_are_refused),
		CASE(streams_and_words_of_a_command_are_read),
		CASE(ports_may_be_several),
	};

	return cmocka_run_group_tests_name("node/kubelet_route", tests, NULL, NULL);
}
