/*
 * Exec plugins: real programs in a folder, and a client with their credentials, against a server
 * on the loopback. Tests the input of the programs and their failures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "client/api/client.h"
#include "client/kubeconfig/exec_credential.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/http/server.h"
#include "net/loop/loop.h"

#define V1 "client.authentication.k8s.io/v1"

struct test {
	char dir[40];
	struct loop *loop;
	struct http_server *server;
	bool drained;
	struct addr at;
	struct kubeconfig config;
	struct client *client;
	/* The last credentials that the server saw, and those that it rejects. */
	char authorization[256];
	const char *refused;
	/* The result of the last request, or program. */
	struct client_request request;
	struct error err;
	bool failed;
	struct exec_credential *run;
	int64_t expires;
};

static void handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops ops = { 0 };
	struct test *t = arg;
	struct str who = http_fields_get(&s->in.fields, STR("authorization"));
	int status;

	(void)snprintf(t->authorization, sizeof(t->authorization), "%.*s", STR_ARG(who));
	status = t->refused && str_eqz(who, t->refused) ? 401 : 200;
	s->ops = &ops;
	assert_int_equal(http_stream_respond(s, status, NULL, 0, 0), 0);
	(void)http_stream_end(s, NULL, 0);
}

static int setup(void **state)
{
	struct test *t = XNEW(struct test);
	struct http_server_opts o = { .nloops = 1, .handler = handle, .arg = t };
	struct addr at;

	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/exec_credential.XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	assert_int_equal(loop_new(&t->loop, NULL), 0);
	o.loops = &t->loop;
	t->server = http_server_new(&o);
	assert_int_equal(addr_parse(&at, STR("127.0.0.1:0"), 0, NULL), 0);
	assert_int_equal(http_server_listen(t->server, &at, NULL, 0, &t->at, NULL), 0);
	*state = t;
	return 0;
}

static void on_drained(void *arg)
{
	struct test *t = arg;

	t->drained = true;
	loop_stop(t->loop);
}

static int teardown(void **state)
{
	struct test *t = *state;

	exec_credential_free(t->run);
	client_free(t->client);
	http_server_drain(t->server, 0, on_drained, t);
	while (!t->drained) /* a completion while the loop did not run stops it once more */
		loop_run(t->loop);
	http_server_free(t->server);
	kubeconfig_release(&t->config);
	loop_free(t->loop);
	folder_fixture_remove(t->dir);
	free(t);
	return 0;
}

static const char *path_of(const struct test *t, const char *name)
{
	static char path[64];

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	return path;
}

/* A program that appends a line to "runs", in its folder, and then runs `script`. */
static void put_plugin(const struct test *t, const char *script)
{
	char text[2048];

	(void)snprintf(text, sizeof(text), "#!/bin/sh\ncd '%s' || exit\necho >>runs\n%s\n", t->dir,
		       script);
	assert_int_equal(file_write_atomic(path_of(t, "plugin"), str_from(text), 0700, NULL), 0);
}

#define PRINT_TOKEN(more)                                                   \
	"echo '{\"kind\": \"ExecCredential\", \"apiVersion\": \"" V1 "\", " \
	"\"status\": {\"token\": \"t'$(grep -c '' runs)'\"" more "}}'"

static size_t count_runs(const struct test *t)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	(void)file_read(path_of(t, "runs"), &b, NULL);
	return b.n;
}

/* A configuration whose user has these members of `exec`. */
static void load(struct test *t, const char *exec)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * KIB);
	struct kubeconfig_opts o = { .path = path_of(t, "config") };
	struct error err = { 0 };

	(void)buf_printf(&b,
			 "current-context: m\ncontexts:\n- {name: m, context: {cluster: c, user: "
			 "u}}\nclusters:\n- name: c\n  cluster:\n    server: http://%s\n    "
			 "extensions:\n    - {name: client.authentication.k8s.io/exec, extension: "
			 "{audience: x}}\nusers:\n- name: u\n  user:\n    exec: {apiVersion: " V1
			 ", interactiveMode: Never, %s}\n",
			 t->at.text, exec);
	assert_int_equal(file_write_atomic(o.path, buf_str(&b), 0600, NULL), 0);
	kubeconfig_release(&t->config);
	if (kubeconfig_load(&t->config, &o, &err) < 0)
		fail_msg("%s", err.msg);
}

static void begin(struct test *t, const char *exec)
{
	struct client_opts o = { .config = &t->config };

	load(t, exec);
	assert_int_equal(client_new(t->loop, &o, &t->client, NULL), 0);
	kubeconfig_release(&t->config); /* the client has its own */
}

static void on_done(struct client_request *r, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	struct test *t = r->arg;

	t->failed = err != NULL;
	if (err)
		t->err = *err;
	loop_stop(t->loop);
}

/* Whether the server replied. */
static bool ask(struct test *t)
{
	t->request = (struct client_request){ .path = STR("/x"), .on_done = on_done, .arg = t };
	t->authorization[0] = '\0';
	client_send(t->client, &t->request);
	loop_run(t->loop);
	return !t->failed;
}

static void expect_words(const struct test *t, const char *words)
{
	if (!strstr(t->err.msg, words))
		fail_msg("\"%s\" is not in \"%s\"", words, t->err.msg);
}

/* --- the client --------------------------------------------------------------------------- */

static void we_are_who_the_program_says(void **state)
{
	struct test *t = *state;

	put_plugin(t, PRINT_TOKEN());
	begin(t, "command: ./plugin");
	assert_int_equal(count_runs(t), 0); /* not before the first request */
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t1");
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t1");
	assert_int_equal(count_runs(t), 1);
}

static void an_expired_answer_is_asked_for_anew(void **state)
{
	struct test *t = *state;

	put_plugin(t, PRINT_TOKEN(", \"expirationTimestamp\": \"2001-02-03T04:05:06Z\""));
	begin(t, "command: ./plugin");
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t1");
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t2");
	put_plugin(t, PRINT_TOKEN(", \"expirationTimestamp\": \"9999-01-01T00:00:00Z\""));
	assert_true(ask(t));
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t3");
	assert_int_equal(count_runs(t), 3);
}

static void a_refused_answer_is_asked_for_anew(void **state)
{
	struct test *t = *state;

	t->refused = "Bearer t1";
	put_plugin(t, PRINT_TOKEN());
	begin(t, "command: ./plugin");
	assert_false(ask(t));
	assert_int_equal(t->err.code, ERR_UNAUTHORIZED);
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t2");
}

static void a_program_that_fails_fails_the_request(void **state)
{
	struct test *t = *state;

	put_plugin(t, "echo first >&2; printf 'log in\\033 first\\n\\n' >&2; exit 3");
	begin(t, "command: ./plugin");
	assert_false(ask(t));
	assert_int_equal(t->err.code, ERR_IO);
	expect_words(t, "getting credentials of user \"u\": exec: executable /tmp/");
	expect_words(t, "/plugin failed with exit code 3: log in  first");
	assert_string_equal(t->authorization, "");
	put_plugin(t, "kill -9 $$");
	assert_false(ask(t));
	expect_words(t, "was ended by signal 9");
	put_plugin(t, "echo hello");
	assert_false(ask(t));
	expect_words(t, "/plugin: decoding stdout");
	put_plugin(t, PRINT_TOKEN());
	assert_true(ask(t));
	assert_string_equal(t->authorization, "Bearer t4");
}

static void a_missing_program_is_told_with_its_hint(void **state)
{
	struct test *t = *state;

	begin(t, "command: no-such-plugin, installHint: get it at example.com");
	assert_false(ask(t));
	assert_int_equal(t->err.code, ERR_IO); /* not: the object is not found */
	expect_words(t, "exec: executable no-such-plugin not found: get it at example.com");
}

static void a_client_may_go_while_the_program_runs(void **state)
{
	struct test *t = *state;

	put_plugin(t, "exec sleep 1000");
	begin(t, "command: ./plugin");
	t->request = (struct client_request){ .path = STR("/x"), .on_done = on_done, .arg = t };
	client_send(t->client, &t->request);
	client_free(TAKE(t->client));
	assert_true(t->failed);
	assert_int_equal(t->err.code, ERR_CANCELED);
}

/* --- programs ----------------------------------------------------------------------------- */

static void on_answer(void *arg, const struct exec_answer *answer, const struct error *err)
{
	struct test *t = arg;

	t->failed = err != NULL;
	if (err)
		t->err = *err;
	if (answer)
		t->expires = answer->expires;
	loop_stop(t->loop);
}

static int run(struct test *t, int64_t timeout_ms)
{
	struct exec_credential_opts o = {
		.config = &t->config, .timeout_ms = timeout_ms, .on_done = on_answer, .arg = t
	};
	int r;

	exec_credential_free(TAKE(t->run));
	r = exec_credential_new(t->loop, &o, &t->run, &t->err);
	if (r == 0)
		loop_run(t->loop);
	return r;
}

static void expect_file(const struct test *t, const char *name, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	assert_int_equal(file_read(path_of(t, name), &b, NULL), 0);
	if (!strstr(b.p, want))
		fail_msg("\"%s\" is not in \"%s\"", want, b.p);
}

static void the_program_is_told_what_is_wanted(void **state)
{
	struct test *t = *state;

	put_plugin(t, "printf '%s' \"$KUBERNETES_EXEC_INFO\" >info; echo \"$A $B $# $1\" >said\n"
		      "cat >input && echo ended >>said\n" PRINT_TOKEN(
			      ", \"expirationTimestamp\": \"1970-01-01T00:00:05Z\""));
	assert_int_equal(setenv("A", "ours", 1), 0);
	load(t, "command: ./plugin, args: ['$B; x', z], env: [{name: A, value: theirs}, "
		"{name: B, value: 'b c'}], provideClusterInfo: true");
	assert_int_equal(run(t, 0), 0);
	assert_false(t->failed);
	assert_int_equal(t->expires, 5 * CLOCK_SEC);
	expect_file(t, "said", "theirs b c 2 $B; x\nended\n");
	expect_file(t, "info", "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",");
	expect_file(t, "info", "\"cluster\":{\"server\":\"http://127.0.0.1:");
	expect_file(t, "info", "\"config\":{\"audience\":\"x\"}},\"interactive\":false}}");
	load(t, "command: ./plugin");
	assert_int_equal(run(t, 0), 0);
	expect_file(t, "info", "\"spec\":{\"interactive\":false}}");
}

static void a_program_that_takes_too_long_is_killed(void **state)
{
	struct test *t = *state;

	put_plugin(t, "exec sleep 1000");
	load(t, "command: ./plugin");
	assert_int_equal(run(t, 1), 0);
	assert_true(t->failed);
	assert_int_equal(t->err.code, ERR_TIMEOUT);
	expect_words(t, "/plugin gave no answer within 1 ms and was killed");
}

static void a_program_that_must_ask_needs_somebody_to_ask(void **state)
{
	struct test *t = *state;

	put_plugin(t, PRINT_TOKEN());
	load(t, "command: ./plugin");
	t->config.exec->interactive = KUBECONFIG_INTERACTIVE_ALWAYS;
	assert_int_equal(run(t, 0), -ERR_IO);
	expect_words(t, "cannot support interactive mode: standard input is unavailable");
	t->config.exec->interactive = KUBECONFIG_INTERACTIVE_IF_AVAILABLE;
	assert_int_equal(run(t, 0), 0);
	assert_false(t->failed);
}

static void answers_that_say_nothing_are_refused(void **state UNUSED)
{
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\""
	static const struct {
		const char *text, *want;
	} v[] = {
		{ "", "decoding stdout" },
		{ "[]", "not an ExecCredential" },
		{ "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "beta1\"}",
		  "configured to use API version " V1 ", plugin returned version " V1 "beta1" },
		{ HEAD "}", "exec plugin didn't return a status field" },
		{ HEAD ",\"status\":{}}", "exec plugin didn't return a token or cert/key pair" },
		{ HEAD ",\"status\":{\"clientKeyData\":\"k\"}}",
		  "exec plugin returned only certificate or key, not both" },
		{ HEAD ",\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}}",
		  "expirationTimestamp" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		CLEANUP(arena_release) struct arena a;
		struct exec_answer answer;
		struct error err = { 0 };

		arena_init(&a, MIB);
		assert_true(exec_answer_read(&a, str_from(v[i].text), V1, &answer, &err) < 0);
		if (!strstr(err.msg, v[i].want))
			fail_msg("\"%s\" is not in \"%s\"", v[i].want, err.msg);
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(we_are_who_the_program_says),
		TEST(an_expired_answer_is_asked_for_anew),
		TEST(a_refused_answer_is_asked_for_anew),
		TEST(a_program_that_fails_fails_the_request),
		TEST(a_missing_program_is_told_with_its_hint),
		TEST(a_client_may_go_while_the_program_runs),
		TEST(the_program_is_told_what_is_wanted),
		TEST(a_program_that_takes_too_long_is_killed),
		TEST(a_program_that_must_ask_needs_somebody_to_ask),
		TEST(answers_that_say_nothing_are_refused),
	};

	return cmocka_run_group_tests_name("client/exec_credential", tests, NULL, NULL);
}
