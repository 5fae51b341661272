/*
 * Kubeconfigs: their content, how files are merged, and that every error names its place.
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

#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "client/kubeconfig/kubeconfig.h"

struct test {
	char dir[32];
	struct kubeconfig_env env;
};

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/kubeconfig.XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	folder_fixture_remove(t->dir);
	free(t);
	return 0;
}

static const char *path_of(const struct test *t, const char *name)
{
	static char paths[8][64];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", t->dir, name);
	return path;
}

static void put(const struct test *t, const char *name, const char *text)
{
	assert_int_equal(file_write_atomic(path_of(t, name), str_from(text), 0600, NULL), 0);
}

/* One context over one cluster and one user; `cluster` and `user` are their YAML members. */
static void put_simple(const struct test *t, const char *name, const char *cluster,
		       const char *user)
{
	char text[4096];

	(void)snprintf(
		text, sizeof(text),
		"apiVersion: v1\nkind: Config\ncurrent-context: main\n"
		"contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: apps}\n"
		"clusters:\n- name: c\n  cluster: {%s}\n"
		"users:\n- name: u\n  user: {%s}\n",
		cluster, user);
	put(t, name, text);
}

static int load(const struct test *t, const char *path, const char *context, struct kubeconfig *k,
		struct error *err)
{
	struct kubeconfig_opts opts = { .path = path, .context = context, .env = &t->env };

	return kubeconfig_load(k, &opts, err);
}

/* Fails unless loading fails with this code and message. */
static void expect(const struct test *t, const char *path, const char *context, int code,
		   const char *words)
{
	struct kubeconfig k;
	struct error err = { 0 };

	assert_int_equal(load(t, path, context, &k, &err), -code);
	if (!strstr(err.msg, words))
		fail_msg("\"%s\" is not in \"%s\"", words, err.msg);
}

#define ASSERT_STR(s, z) assert_true(str_eqz(s, z))

static void all_members_are_read(void **state)
{
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	put(t, "ca.pem", "CA");
	put_simple(t, "config",
		   "server: 'https://host:6443', certificate-authority: ca.pem, tls-server-name: "
		   "other",
		   "token: abc, client-certificate-data: Q0VSVA==, client-key-data: S0VZ");
	assert_int_equal(load(t, path_of(t, "config"), NULL, &k, &err), 0);
	ASSERT_STR(k.server, "https://host:6443");
	ASSERT_STR(k.ca, "CA");
	ASSERT_STR(str_from(k.ca_file), path_of(t, "ca.pem"));
	ASSERT_STR(k.tls_server_name, "other");
	ASSERT_STR(k.token, "abc");
	ASSERT_STR(k.cert, "CERT");
	ASSERT_STR(k.key, "KEY");
	ASSERT_STR(k.ns, "apps");
	ASSERT_STR(k.context, "main");
	ASSERT_STR(k.user, "u");
	assert_false(k.insecure);
	kubeconfig_release(&k);
	kubeconfig_release(&k);
}

static void json_is_read_too(void **state UNUSED)
{
	struct kubeconfig k;
	struct error err;

	assert_int_equal(
		kubeconfig_parse(
			&k,
			STR("{\"current-context\":\"m\",\"contexts\":[{\"name\":\"m\",\"context\":"
			    "{\"cluster\":\"c\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":"
			    "{\"server\":\"http://h\",\"insecure-skip-tls-verify\":true}}]}"),
			"text", "/dir", NULL, &err),
		0);
	ASSERT_STR(k.server, "http://h");
	ASSERT_STR(k.ns, "default");
	assert_true(k.insecure);
	assert_int_equal(k.user.n, 0);
	kubeconfig_release(&k);
}

static void data_wins_over_files(void **state)
{
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	put_simple(t, "config",
		   "server: 'https://h', certificate-authority: missing, "
		   "certificate-authority-data: Q0E=",
		   "");
	assert_int_equal(load(t, path_of(t, "config"), NULL, &k, &err), 0);
	ASSERT_STR(k.ca, "CA");
	assert_null(k.ca_file);
	kubeconfig_release(&k);
}

static void a_token_file_is_the_truth(void **state)
{
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	put(t, "token", "fresh\n");
	put_simple(t, "config", "server: 'https://h'", "token: old, tokenFile: token");
	assert_int_equal(load(t, path_of(t, "config"), NULL, &k, &err), 0);
	ASSERT_STR(k.token, "fresh");
	ASSERT_STR(str_from(k.token_file), path_of(t, "token"));
	kubeconfig_release(&k);
	put_simple(t, "config", "server: 'https://h'", "token: old, tokenFile: missing");
	assert_int_equal(load(t, path_of(t, "config"), NULL, &k, &err), 0);
	ASSERT_STR(k.token, "old");
	kubeconfig_release(&k);
	put_simple(t, "config", "server: 'https://h'", "tokenFile: missing");
	expect(t, path_of(t, "config"), NULL, ERR_NOT_FOUND, "user \"u\": tokenFile: cannot read");
	put(t, "token", "\n");
	put_simple(t, "config", "server: 'https://h'", "tokenFile: token");
	expect(t, path_of(t, "config"), NULL, ERR_INVALID, "tokenFile is empty");
}

static void several_files_are_merged(void **state)
{
	struct test *t = *state;
	char list[256];
	struct kubeconfig k;
	struct error err;

	put(t, "first",
	    "current-context: b\ncontexts:\n- {name: a, context: {cluster: x}}\n"
	    "clusters:\n- {name: x, cluster: {server: 'https://first'}}\n");
	put(t, "second",
	    "current-context: a\ncontexts:\n- {name: b, context: {cluster: x, user: u}}\n"
	    "clusters:\n- {name: x, cluster: {server: 'https://second'}}\n"
	    "users:\n- {name: u, user: {username: me, password: pw}}\n");
	(void)snprintf(list, sizeof(list), "%s/missing:%s/first::%s/second", t->dir, t->dir,
		       t->dir);
	t->env.kubeconfig = list;
	assert_int_equal(load(t, NULL, NULL, &k, &err), 0);
	ASSERT_STR(k.context, "b");
	ASSERT_STR(k.server, "https://first");
	ASSERT_STR(k.username, "me");
	ASSERT_STR(k.password, "pw");
	assert_true(str_ends(k.source, STR("second")));
	kubeconfig_release(&k);
	assert_int_equal(load(t, NULL, "a", &k, &err), 0);
	ASSERT_STR(k.context, "a");
	assert_int_equal(k.user.n, 0);
	kubeconfig_release(&k);
}

static void the_home_folder_is_looked_into(void **state)
{
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	t->env.home = t->dir;
	expect(t, NULL, NULL, ERR_NOT_FOUND, "use --kubeconfig FILE, set KUBECONFIG");
	assert_int_equal(mkdir(path_of(t, ".kube"), 0700), 0);
	put_simple(t, ".kube/config", "server: 'https://home'", "");
	assert_int_equal(load(t, NULL, NULL, &k, &err), 0);
	ASSERT_STR(k.server, "https://home");
	kubeconfig_release(&k);
}

static void a_pod_uses_its_service_account(void **state)
{
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	t->env.service_host = "fd00::1";
	t->env.service_port = "443";
	t->env.account_dir = t->dir;
	expect(t, NULL, NULL, ERR_NOT_FOUND, "the pod's service account: cannot read");
	put(t, "token", "jwt\n");
	put(t, "ca.crt", "CA");
	put(t, "namespace", "kube-system");
	assert_int_equal(load(t, NULL, NULL, &k, &err), 0);
	ASSERT_STR(k.server, "https://[fd00::1]:443");
	ASSERT_STR(k.token, "jwt");
	ASSERT_STR(k.ca, "CA");
	ASSERT_STR(k.ns, "kube-system");
	ASSERT_STR(str_from(k.token_file), path_of(t, "token"));
	kubeconfig_release(&k);
}

static void unsupported_settings_are_rejected(void **state)
{
	struct test *t = *state;
	const char *path = path_of(t, "config");

	put_simple(t, "config", "server: 'https://h'", "auth-provider: {name: gcp}");
	expect(t, path, NULL, ERR_UNIMPLEMENTED, "auth-provider is not supported");
	put_simple(t, "config", "server: 'https://h', proxy-url: 'http://p'", "");
	expect(t, path, NULL, ERR_UNIMPLEMENTED, "cluster \"c\": proxy-url is not supported");
}

#define EXEC_V1 "apiVersion: client.authentication.k8s.io/v1"

static void a_program_may_say_who_we_are(void **state)
{
	struct test *t = *state;
	const char *path = path_of(t, "config");
	struct kubeconfig k;
	struct error err;

	put_simple(
		t, "config",
		"server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec, "
		"extension: {a: [1]}}]",
		"exec: {" EXEC_V1 ", command: bin/get, args: [a, 'b c'], installHint: do, "
		"env: [{name: A, value: b}], interactiveMode: Always, provideClusterInfo: true}");
	assert_int_equal(load(t, path, NULL, &k, &err), 0);
	assert_non_null(k.exec);
	assert_string_equal(k.exec->command, path_of(t, "bin/get"));
	assert_int_equal(k.exec->nargs, 2);
	assert_string_equal(k.exec->args[1], "b c");
	assert_int_equal(k.exec->nenv, 1);
	assert_string_equal(k.exec->env[0], "A=b");
	assert_string_equal(k.exec->install_hint, "do");
	assert_string_equal(k.exec->cluster_config, "{\"a\":[1]}");
	assert_int_equal(k.exec->interactive, KUBECONFIG_INTERACTIVE_ALWAYS);
	assert_true(k.exec->cluster_info);
	kubeconfig_release(&k);
	put_simple(t, "config", "server: 'https://h'",
		   "exec: {" EXEC_V1 "beta1, command: aws}"); /* has defaults */
	assert_int_equal(load(t, path, NULL, &k, &err), 0);
	assert_string_equal(k.exec->command, "aws");
	assert_string_equal(k.exec->cluster_config, "");
	assert_int_equal(k.exec->interactive, KUBECONFIG_INTERACTIVE_IF_AVAILABLE);
	kubeconfig_release(&k);
	put_simple(t, "config", "server: 'https://h'",
		   "token: t, exec: {" EXEC_V1 ", command: aws, interactiveMode: Never}");
	assert_int_equal(load(t, path, NULL, &k, &err), 0);
	assert_null(k.exec); /* the token takes precedence */
	kubeconfig_release(&k);
}

static void a_program_must_be_described_well(void **state)
{
	static const struct {
		const char *exec, *want;
	} v[] = {
		{ "exec: aws", "user \"u\": exec must name a command" },
		{ "exec: {" EXEC_V1 "}", "exec: command must be specified" },
		{ "exec: {command: aws}", "exec: invalid apiVersion \"\"" },
		{ "exec: {command: aws, apiVersion: client.authentication.k8s.io/v1alpha1}",
		  "v1alpha1\": client.authentication.k8s.io/v1 and" },
		{ "exec: {command: aws, " EXEC_V1 "}", "exec: interactiveMode must be Never" },
		{ "exec: {command: aws, " EXEC_V1 "beta1, interactiveMode: Maybe}",
		  "exec: interactiveMode must be Never" },
		{ "exec: {command: aws, " EXEC_V1 "beta1, args: a}", "exec: args must be a list" },
		{ "exec: {command: aws, " EXEC_V1 "beta1, args: [1]}", "exec: args must be texts" },
		{ "exec: {command: aws, " EXEC_V1 "beta1, env: [{value: x}]}",
		  "exec: env variable name must be specified" },
		{ "exec: {command: \"a\\0b\", " EXEC_V1 "}", "command must not contain a NUL" },
	};
	struct test *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		put_simple(t, "config", "server: 'https://h'", v[i].exec);
		expect(t, path_of(t, "config"), NULL, ERR_INVALID, v[i].want);
	}
}

static void a_user_may_act_as_another(void **state)
{
	struct test *t = *state;
	const char *path = path_of(t, "config");
	struct kubeconfig k;
	struct error err;

	put_simple(t, "config", "server: 'https://h'",
		   "as: bob, as-uid: '7', as-groups: [a, b], "
		   "as-user-extra: {scopes: [one, two], 'acme.com/k': [three]}");
	assert_int_equal(load(t, path, NULL, &k, &err), 0);
	ASSERT_STR(k.as, "bob");
	ASSERT_STR(k.as_uid, "7");
	assert_int_equal(k.nas_groups, 2);
	ASSERT_STR(k.as_groups[1], "b");
	assert_int_equal(k.nas_extra, 3);
	ASSERT_STR(k.as_extra[1].key, "scopes");
	ASSERT_STR(k.as_extra[1].value, "two");
	ASSERT_STR(k.as_extra[2].key, "acme.com/k");
	kubeconfig_release(&k);
	put_simple(t, "config", "server: 'https://h'", "as: bob, as-groups: a");
	expect(t, path, NULL, ERR_INVALID, "user \"u\": as-groups must be a list of texts");
	put_simple(t, "config", "server: 'https://h'", "as: bob, as-groups: [5]");
	expect(t, path, NULL, ERR_INVALID, "as-groups must be a list of texts");
}

static int load_with(struct test *t, struct kubeconfig_opts o, struct kubeconfig *ret_config,
		     struct error *err)
{
	o.env = &t->env;
	return kubeconfig_load(ret_config, &o, err);
}

static void entries_can_be_named_instead_of_the_contexts(void **state)
{
	struct test *t = *state;
	const char *path = path_of(t, "config");
	struct kubeconfig_opts o = { .path = path, .cluster = "d", .user = "v" };
	struct kubeconfig k;
	struct error err;

	put(t, "config",
	    "clusters:\n- {name: c, cluster: {server: 'https://c'}}\n"
	    "- {name: d, cluster: {server: 'https://d'}}\n"
	    "users:\n- {name: u, user: {token: t}}\n- {name: v, user: {token: w}}\n"
	    "contexts:\n- {name: m, context: {cluster: c, user: u, namespace: apps}}\n");
	assert_int_equal(load_with(t, o, &k, &err), 0); /* without any context */
	ASSERT_STR(k.server, "https://d");
	ASSERT_STR(k.token, "w");
	kubeconfig_release(&k);
	o = (struct kubeconfig_opts){ .path = path, .context = "m", .user = "v" };
	assert_int_equal(load_with(t, o, &k, &err), 0);
	ASSERT_STR(k.server, "https://c");
	ASSERT_STR(k.token, "w");
	ASSERT_STR(k.ns, "apps");
	kubeconfig_release(&k);
	o.user = "nobody";
	assert_int_equal(load_with(t, o, &k, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "there is no user \"nobody\""));
}

static void a_server_alone_is_a_configuration(void **state)
{
	struct test *t = *state;
	struct kubeconfig_opts o = { .server = "https://s" };
	struct kubeconfig k;
	struct error err;

	assert_int_equal(load_with(t, o, &k, &err), 0);
	ASSERT_STR(k.server, "https://s");
	ASSERT_STR(k.ns, "default");
	kubeconfig_release(&k);
	o.path = path_of(t, "config"); /* also with one that has no context */
	put(t, "config", "kind: Config\nusers:\n- {name: v, user: {token: w}}\n");
	o.user = "v";
	assert_int_equal(load_with(t, o, &k, &err), 0);
	ASSERT_STR(k.server, "https://s");
	ASSERT_STR(k.token, "w");
	kubeconfig_release(&k);
}

static void names_need_a_configuration(void **state)
{
	static const struct {
		struct kubeconfig_opts opts;
		const char *want;
	} v[] = {
		{ { .server = "https://s", .context = "x" }, "there is no context \"x\", as" },
		{ { .server = "https://s", .cluster = "x" }, "there is no cluster \"x\", as" },
		{ { .user = "x" }, "there is no user \"x\", as there is no kubeconfig" },
	};
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(load_with(t, v[i].opts, &k, &err), -ERR_NOT_FOUND);
		if (!strstr(err.msg, v[i].want))
			fail_msg("\"%s\" is not in \"%s\"", v[i].want, err.msg);
	}
}

static void mistakes_are_told_with_their_place(void **state)
{
	struct test *t = *state;
	const char *path = path_of(t, "config");

	expect(t, path, NULL, ERR_NOT_FOUND, "cannot read");
	put(t, "config", "");
	expect(t, path, NULL, ERR_INVALID, "it is empty");
	put(t, "config", "- a");
	expect(t, path, NULL, ERR_INVALID, "is not a kubeconfig");
	put(t, "config", "a: [");
	expect(t, path, NULL, ERR_INVALID, path);
	put(t, "config", "{\"a\":");
	expect(t, path, NULL, ERR_INVALID, path);
	put(t, "config", "kind: Config");
	expect(t, path, NULL, ERR_INVALID, "there is no current-context: add one or use --context");
	expect(t, path, "x", ERR_NOT_FOUND, "there is no context \"x\"");
	put(t, "config", "current-context: m\ncontexts:\n- {name: m, context: {user: u}}");
	expect(t, path, NULL, ERR_INVALID, "context \"m\" names no cluster");
	put(t, "config", "current-context: m\ncontexts:\n- {name: m, context: {cluster: c}}");
	expect(t, path, NULL, ERR_NOT_FOUND, "there is no cluster \"c\"");
	put_simple(t, "config", "", "");
	expect(t, path, NULL, ERR_INVALID, "it has no server");
	put_simple(t, "config", "server: 5", "");
	expect(t, path, NULL, ERR_INVALID, "cluster \"c\": server must be text");
	put_simple(t, "config", "server: 'https://h', insecure-skip-tls-verify: maybe", "");
	expect(t, path, NULL, ERR_INVALID, "insecure-skip-tls-verify must be true or false");
	put_simple(t, "config",
		   "server: 'https://h', insecure-skip-tls-verify: true, "
		   "certificate-authority-data: Q0E=",
		   "");
	expect(t, path, NULL, ERR_INVALID, "exclude each other");
	put_simple(t, "config", "server: 'https://h', certificate-authority-data: '?'", "");
	expect(t, path, NULL, ERR_INVALID, "certificate-authority-data: it is not base64");
	put_simple(t, "config", "server: 'https://h', certificate-authority: nowhere", "");
	expect(t, path, NULL, ERR_NOT_FOUND, "certificate-authority: cannot read");
	put_simple(t, "config", "server: 'https://h'", "client-certificate-data: Q0E=");
	expect(t, path, NULL, ERR_INVALID, "client-certificate needs its key");
	put_simple(t, "config", "server: 'https://h'", "client-key-data: Q0E=");
	expect(t, path, NULL, ERR_INVALID, "client-key needs its certificate");
	put_simple(t, "config", "server: 'https://h'", "token: a, username: b");
	expect(t, path, NULL, ERR_INVALID, "exclude each other");
}

static void a_broken_neighbour_does_no_harm(void **state)
{
	struct test *t = *state;
	struct kubeconfig k;
	struct error err;

	put(t, "config",
	    "current-context: m\ncontexts:\n- {name: m, context: {cluster: c}}\n- nonsense\n"
	    "clusters:\n- {name: other, cluster: {proxy-url: x}}\n- {name: c, cluster: {server: "
	    "'http://h'}}\n"
	    "users: 5\n");
	assert_int_equal(load(t, path_of(t, "config"), NULL, &k, &err), 0);
	ASSERT_STR(k.server, "http://h");
	kubeconfig_release(&k);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_members_are_read),
		TEST(json_is_read_too),
		TEST(data_wins_over_files),
		TEST(a_token_file_is_the_truth),
		TEST(several_files_are_merged),
		TEST(the_home_folder_is_looked_into),
		TEST(a_pod_uses_its_service_account),
		TEST(unsupported_settings_are_rejected),
		TEST(a_program_may_say_who_we_are),
		TEST(a_program_must_be_described_well),
		TEST(a_user_may_act_as_another),
		TEST(entries_can_be_named_instead_of_the_contexts),
		TEST(a_server_alone_is_a_configuration),
		TEST(names_need_a_configuration),
		TEST(mistakes_are_told_with_their_place),
		TEST(a_broken_neighbour_does_no_harm),
	};

	return cmocka_run_group_tests_name("client/kubeconfig", tests, NULL, NULL);
}
