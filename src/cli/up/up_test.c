/*
 * The pure parts of `devplane up`: state file, command lines of roles, paths, log lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/system/folder.h"
#include "cli/output/log_line.h"
#include "cli/output/shell_word.h"
#include "cli/up/leftover.h"
#include "cli/up/log.h"
#include "cli/up/prometheus.h"
#include "cli/up/roles.h"
#include "cli/up/state.h"
#include "controller/run/controller.h"

static int setup(void **state)
{
	struct arena *a = calloc(1, sizeof(*a));

	arena_init(a, SIZE_MAX);
	*state = a;
	return 0;
}

static int teardown(void **state)
{
	arena_release(*state);
	free(*state);
	return 0;
}

/* --- state ------------------------------------------------------------------------------------ */

static void a_state_is_read_as_it_was_written(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	struct up_state_role roles[] = {
		{ .name = STR("server"), .state = STR("ready"), .pid = 12, .since_ns = 3000000000 },
		{ .name = STR("node"),
		  .state = STR("restarting"),
		  .restarts = 3,
		  .metrics = STR("127.0.0.1:1"),
		  .failure = STR("killed by \"9\"") },
	};
	struct up_state s = { .pid = 7,
			      .start_ns = 5000000000,
			      .version = STR("1.2"),
			      .server = STR("https://127.0.0.1:6443"),
			      .kubeconfig = STR("/d/admin.kubeconfig"),
			      .ready = true,
			      .roles = roles,
			      .n = 2 };
	struct up_state back;
	struct error err;

	up_state_print(&s, &text);
	assert_int_equal(up_state_parse(buf_str(&text), *state, &back, &err), 0);
	assert_int_equal(back.pid, 7);
	assert_int_equal(back.start_ns, 5000000000);
	assert_true(back.ready);
	assert_int_equal(back.n, 2);
	assert_int_equal(back.roles[0].pid, 12);
	assert_int_equal(back.roles[0].since_ns, 3000000000);
	assert_true(str_eq(back.roles[1].failure, roles[1].failure));
	assert_true(str_eq(back.roles[1].metrics, roles[1].metrics));
	assert_int_equal(back.roles[1].restarts, 3);
	assert_ptr_equal(up_state_find(&back, STR("node")), &back.roles[1]);
	assert_null(up_state_find(&back, STR("nobody")));
}

static void assert_text_at(const struct json *tree, const char *pointer, const char *expected)
{
	const struct json *v = json_pointer(tree, str_from(pointer));

	assert_non_null(v);
	assert_true(str_eqz(json_str(v), expected));
}

static void endpoints_are_printed_for_prometheus(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	const struct up_role roles[] = {
		{ .name = "server", .kind = UP_SERVER },
		{ .name = "scheduler", .kind = UP_SCHEDULER },
		{ .name = "driver-gpu-demo-0", .kind = UP_DRIVER, .node = "demo-0" },
	};
	const struct up_target targets[] = {
		{ .role = &roles[0], .url = STR("https://127.0.0.1:6443") },
		{ .role = &roles[1], .url = STR("") },
		{ .role = &roles[2], .url = STR("http://127.0.0.1:7") },
	};
	struct json *tree;

	up_prometheus_print(targets, ARRAY_SIZE(targets), &text);
	assert_int_equal(json_parse(*state, buf_str(&text), NULL, &tree, NULL), 0);
	assert_int_equal(json_count(tree), 2);
	assert_text_at(tree, "/0/targets/0", "127.0.0.1:6443");
	assert_text_at(tree, "/0/labels/role", "server");
	assert_null(json_pointer(tree, STR("/0/labels/node")));
	assert_text_at(tree, "/1/targets/0", "127.0.0.1:7");
	assert_text_at(tree, "/1/labels/role", "driver");
	assert_text_at(tree, "/1/labels/node", "demo-0");
	assert_text_at(tree, "/1/labels/instance", "driver-gpu-demo-0");
}

static bool up_test_has(const char *const *words, const char *text)
{
	for (size_t i = 0; words[i]; i++)
		if (strstr(words[i], text))
			return true;
	return false;
}

/* Each controller that both have is run by exactly one of the two. */
static void a_borrowed_controller_manager_shares_the_controllers(void **state)
{
	struct up_plan p = { .arena = *state, .controller_manager = "/k", .ports = { 7, 8 } };

	assert_int_equal(up_layout_init(&p.layout, *state, "/d", NULL), 0);
	for (int prefer = 0; prefer < 2; prefer++) {
		const char *const *ours, *const *theirs;

		p.n = 0;
		p.prefer_upstream = prefer;
		up_plan_roles(&p);
		assert_string_equal(p.roles[2].name, "controller-manager");
		assert_string_equal(up_role_health(&p, &p.roles[2]), "https://127.0.0.1:7");
		assert_null(up_role_health(&p, &p.roles[1]));
		ours = up_role_words(&p, &p.roles[1]);
		theirs = up_role_words(&p, &p.roles[2]);
		for (const struct controller_name *n = controller_names(); n->name; n++) {
			const char *minus = arena_printf(*state, ",-%s", n->name);

			assert_int_equal(up_test_has(ours, minus), n->upstream && prefer);
			assert_int_equal(up_test_has(theirs, minus), n->upstream && !prefer);
		}
		assert_true(up_test_has(theirs, "--secure-port=7"));
		assert_false(up_test_has(theirs, "--log-format"));
	}
}

static void a_state_of_a_newer_program_is_refused(void **state)
{
	struct up_state s;
	struct error err;

	assert_int_equal(up_state_parse(STR("{\"format\": 2}"), *state, &s, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "newer devplane"));
}

static void an_invalid_state_file_is_rejected(void **state)
{
	struct up_state s;
	struct error err;

	assert_int_equal(up_state_parse(STR("{}"), *state, &s, &err), -ERR_INVALID);
	assert_int_equal(up_state_parse(STR("hello"), *state, &s, &err), -ERR_INVALID);
	assert_int_equal(up_state_parse(STR(""), *state, &s, &err), -ERR_INVALID);
}

/* --- leftover processes ---------------------------------------------------------------------- */

static void a_process_is_read_whatever_its_name(void **state UNUSED)
{
	struct up_process p;

	assert_true(up_process_parse(STR("7 (a) Z (b)) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 "
					 "5 0 123456 1000 10"),
				     &p));
	assert_int_equal(p.state, 'S');
	assert_int_equal(p.threads, 5);
	assert_int_equal(p.start_ticks, 123456);
	assert_false(up_process_parse(STR("7 (a) S 1 7"), &p));
	assert_false(up_process_parse(STR(""), &p));
}

/* The parent's program is another one, and it started after 1970; this one runs the program. */
static void only_a_process_of_the_right_time_is_left_over(void **state UNUSED)
{
	int64_t now = clock_wall(clock_system()), hour = 3600 * CLOCK_SEC;
	struct up_state_role roles[] = { { .name = STR("gone") },
					 { .name = STR("server"), .since_ns = now } };
	struct up_state s = { .start_ns = now - hour, .roles = roles, .n = 2 };

	roles[1].pid = getppid();
	roles[1].since_ns = 0;
	assert_null(up_leftover_find(&s));
	roles[1].pid = getpid();
	assert_ptr_equal(up_leftover_find(&s), &roles[1]);
}

/* --- roles ------------------------------------------------------------------------------------ */

static struct up_plan *make_plan(struct arena *a)
{
	static const struct flag_list none = { 0 };
	struct up_plan *p = ARENA_NEW(a, struct up_plan);

	*p = (struct up_plan){ .arena = a,
			       .bind_address = "127.0.0.1",
			       .port = 6443,
			       .etcd_servers = &none,
			       .feature_gates = &none };
	assert_int_equal(up_layout_init(&p->layout, a, "/d", NULL), 0);
	return p;
}

static const struct up_role *find_role(const struct up_plan *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->roles[i].name, name) == 0)
			return &p->roles[i];
	fail_msg("there is no role %s", name);
	return NULL;
}

static bool has_word(const struct up_plan *p, const char *role, const char *word)
{
	const char *const *words = up_role_words(p, find_role(p, role));

	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

static void the_demo_has_two_nodes_and_four_drivers(void **state)
{
	struct up_plan *p = make_plan(*state);

	p->demo = true;
	up_plan_roles(p);
	assert_int_equal(p->n, 9);
	assert_int_equal(up_plan_nodes(p), 2);
	assert_true(has_word(p, "driver-nic-demo-1", "--root-dir=/d/nodes/demo-1"));
	assert_true(has_word(p, "driver-nic-demo-1", "--devices=2"));
	assert_true(has_word(p, "node-demo-0", "--runtime=hollow"));
}

static void a_demo_with_all_devices_has_three_drivers_more(void **state)
{
	struct up_plan *p = make_plan(*state);

	p->demo = p->varied = true;
	up_plan_roles(p);
	assert_int_equal(p->n, 12);
	assert_true(has_word(p, "driver-mig-demo-1", "--kind=gpu"));
	assert_true(has_word(p, "driver-mig-demo-1", "--name=mig.sim.devplane.dev"));
	assert_true(has_word(p, "driver-mig-demo-1", "--partitions"));
	assert_true(has_word(p, "driver-fpga-demo-1", "--shares"));
	assert_true(has_word(p, "driver-fpga-demo-1", "--fabric=2"));
	assert_true(has_word(p, "driver-fpga-demo-1", "--fabric-publisher=demo-0"));
	assert_false(has_word(p, "driver-gpu-demo-1", "--partitions"));
}

static void nobody_is_elected_unless_an_etcd_is_shared(void **state)
{
	const char *urls[] = { "http://e:2379" };
	struct flag_list etcd = { .v = urls, .n = 1 };
	struct up_plan *p = make_plan(*state);

	up_plan_roles(p);
	assert_true(has_word(p, "scheduler", "--leader-elect=false"));
	p->etcd_servers = &etcd;
	assert_false(has_word(p, "scheduler", "--leader-elect=false"));
	assert_true(has_word(p, "server", "--etcd-servers=http://e:2379"));
}

static void gates_reach_every_role_that_has_them(void **state)
{
	static const char *const roles[] = { "server", "controller", "scheduler", "node",
					     "hollow" };
	const char *words[] = { "ResourceHealthStatus=false" };
	struct flag_list gates = { .v = words, .n = 1 };
	struct up_plan *p = make_plan(*state);

	p->feature_gates = &gates;
	p->local_node = "me";
	p->hollow = 3;
	up_plan_roles(p);
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		assert_true(has_word(p, roles[i], "--feature-gates=ResourceHealthStatus=false"));
}

static void one_hollow_node_has_its_number_too(void **state)
{
	struct up_plan *p = make_plan(*state);

	p->hollow = 1;
	up_plan_roles(p);
	assert_true(has_word(p, "hollow", "--node-name=hollow-0"));
	assert_true(has_word(p, "hollow", "--root-dir=/d/nodes/hollow/0"));
	p->hollow = 5;
	assert_true(has_word(p, "hollow", "--node-name=hollow"));
	assert_true(has_word(p, "hollow", "--nodes=5"));
}

static void the_server_checks_that_nodes_have_certificates_of_the_cluster(void **state)
{
	struct up_plan *p = make_plan(*state);

	p->demo = true;
	p->hollow = 1;
	up_plan_roles(p);
	assert_true(has_word(p, "server", "--kubelet-certificate-authority=/d/pki/ca.crt"));
	assert_true(has_word(p, "server", "--kubelet-certificate-names"));
	assert_true(has_word(p, "node-demo-1", "--tls-cert-file=/d/kubeconfig/node-demo-1.pem"));
	assert_true(has_word(p, "hollow", "--tls-private-key-file=/d/kubeconfig/hollow.pem"));
	assert_string_equal(up_role_served_node(p, find_role(p, "hollow")), "hollow-0");
	assert_null(up_role_served_node(p, find_role(p, "scheduler")));
	p->hollow = 2; /* they serve no API */
	assert_null(up_role_served_node(p, find_role(p, "hollow")));
	p->any_kubelet = true;
	assert_false(has_word(p, "server", "--kubelet-certificate-names"));
}

static void only_who_runs_containers_keeps_powers(void **state)
{
	struct up_plan *p = make_plan(*state);

	p->local_node = "me";
	p->runtime_endpoint = "unix:///run/x.sock";
	p->demo = true;
	up_plan_roles(p);
	for (size_t i = 0; i < p->n; i++)
		assert_string_equal(up_role_capabilities(p, &p->roles[i]),
				    strcmp(p->roles[i].name, "node") == 0 ? "all" : "none");
	p->port = 443;
	assert_string_equal(up_role_capabilities(p, find_role(p, "server")), "bind");
}

static void identities_are_each_roles_own(void **state)
{
	struct up_plan *p = make_plan(*state);
	struct up_identity id;

	p->demo = true;
	up_plan_roles(p);
	id = up_role_identity(p, find_role(p, "node-demo-1"));
	assert_string_equal(id.user, "system:node:demo-1");
	assert_string_equal(id.group, "system:nodes");
	id = up_role_identity(p, find_role(p, "driver-gpu-demo-1"));
	assert_null(id.user);
	assert_string_equal(id.account, "devplane-sim-gpu");
	id = up_role_identity(p, find_role(p, "scheduler"));
	assert_string_equal(id.user, "system:kube-scheduler");
	assert_null(id.group);
}

static bool has_path(const char *const *paths, const char *path)
{
	for (; *paths; paths++)
		if (strcmp(*paths, path) == 0)
			return true;
	return false;
}

static void users_are_each_roles_own(void **state)
{
	struct up_plan *p = make_plan(*state);
	unsigned seen[16] = { 0 };
	size_t n = 0;

	p->demo = p->varied = true;
	p->uid_base = 5000;
	up_plan_roles(p);
	for (size_t i = 0; i < p->n; i++) {
		unsigned uid = up_role_user(p, &p->roles[i]).uid;

		assert_int_equal(uid == 0, p->roles[i].kind == UP_NODE);
		assert_true(uid == 0 || (uid > 5000 && uid < 5000 + UP_NUMBERS));
		for (size_t j = 0; j < n && uid; j++)
			assert_int_not_equal(seen[j], uid);
		seen[n++] = uid;
	}
	p->uid_base = 0;
	for (size_t i = 0; i < p->n; i++)
		assert_int_equal(up_role_user(p, &p->roles[i]).uid, 0);
}

static void roles_write_to_their_own_folders_only(void **state)
{
	static const char *const roles[] = { "controller", "scheduler", "node-demo-0",
					     "driver-gpu-demo-0" };
	struct up_plan *p = make_plan(*state);
	struct up_sandbox s;

	p->demo = true;
	p->sandbox = true;
	up_plan_roles(p);
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		s = up_role_sandbox(p, find_role(p, roles[i]));
		assert_true(s.landlock);
		assert_string_not_equal(s.syscalls, "all");
		for (size_t j = 0; s.read[j]; j++)
			assert_null(strstr(s.read[j], "/pki/ca.key"));
		assert_false(has_path(s.read, "/d/pki"));
		assert_false(has_path(s.read, "/d"));
		assert_false(has_path(s.write, "/d/pki"));
		assert_false(has_path(s.write, "/d/store"));
	}
	s = up_role_sandbox(p, find_role(p, "driver-gpu-demo-0"));
	assert_true(has_path(s.write, "/d/nodes/demo-0/plugins/gpu.sim.devplane.dev"));
	assert_false(has_path(s.write, "/d/nodes/demo-0"));
	s = up_role_sandbox(p, find_role(p, "server"));
	assert_true(has_path(s.write, "/d/pki"));
	p->sandbox = false;
	assert_false(up_role_sandbox(p, find_role(p, "server")).landlock);
}

static void an_explanation_may_use_nothing_of_the_cluster(void **state)
{
	struct up_plan *p = make_plan(*state);
	struct up_sandbox s;
	struct up_user u;

	p->demo = p->varied = p->sandbox = true;
	p->uid_base = 5000;
	up_plan_roles(p);
	u = up_role_user(p, &up_explain_role);
	s = up_role_sandbox(p, &up_explain_role);
	assert_int_equal(u.uid, 5000 + UP_EXPLAIN_USER);
	assert_int_equal(u.ngroups, 0);
	for (size_t i = 0; i < p->n; i++)
		assert_int_not_equal(up_role_user(p, &p->roles[i]).uid, u.uid);
	assert_string_equal(up_role_capabilities(p, &up_explain_role), "none");
	assert_string_equal(s.syscalls, "explain");
	assert_true(s.landlock);
	for (size_t i = 0; s.read[i]; i++)
		assert_false(str_starts(str_from(s.read[i]), STR("/d/")));
	assert_string_equal(s.write[0], "/dev/null");
	assert_null(s.write[1]);
}

static void only_who_runs_containers_is_not_limited(void **state)
{
	struct up_plan *p = make_plan(*state);

	p->local_node = "me";
	p->runtime_endpoint = "unix:///run/x.sock";
	p->sandbox = true;
	p->hollow = 1;
	up_plan_roles(p);
	for (size_t i = 0; i < p->n; i++)
		assert_int_equal(up_role_sandbox(p, &p->roles[i]).landlock,
				 strcmp(p->roles[i].name, "node") != 0);
}

/* --- paths ------------------------------------------------------------------------------------ */

static void a_path_that_sockets_do_not_fit_below_is_refused(void **state)
{
	struct up_layout l;
	struct error err;

	assert_int_equal(up_layout_init(&l, *state, "/0123456789/0123456789/0123456789/", &err), 0);
	assert_string_equal(l.dir, "/0123456789/0123456789/0123456789");
	assert_int_equal(up_layout_check_sockets(&l, "demo-0", true, &err), 0);
	assert_int_equal(up_layout_init(&l, *state,
					"/0123456789/0123456789/0123456789/0123456789/0123456789",
					&err),
			 0);
	assert_int_equal(up_layout_check_sockets(&l, "demo-0", true, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "too long"));
}

/* --- lines of logs ---------------------------------------------------------------------------- */

static void check_line(struct arena *a, const char *line, const struct log_line_style *style,
		       const char *expected)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	log_line_print(&out, str_from(line), style, a);
	assert_string_equal(out.p, expected);
}

static void a_line_is_made_readable(void **state)
{
	const struct log_line_style plain = { 0 };
	const struct log_line_style named = { .role = STR("node"), .role_width = 6 };
	const char *line = "{\"ts\":\"2026-11-16T09:25:36.270191Z\",\"level\":\"warn\",\"msg\":"
			   "\"a role ended\",\"role\":\"a b\",\"n\":3,\"x\":\"y\",\"empty\":\"\"}";

	check_line(*state, line, &plain,
		   "2026-11-16 09:25:36.270 WARN  a role ended role=\"a b\" n=3 x=y empty=\"\"\n");
	check_line(*state, line, &named,
		   "2026-11-16 09:25:36.270 node   WARN  a role ended role=\"a b\" n=3 x=y "
		   "empty=\"\"\n");
}

static void colours_are_used_when_wanted(void **state)
{
	const struct log_line_style style = { .colour = true };

	check_line(*state,
		   "{\"ts\":\"2026-11-16T09:25:36.270191Z\",\"level\":\"error\",\"msg\":\"m\"}",
		   &style, "\033[2m2026-11-16 09:25:36.270\033[0m \033[31mERROR\033[0m m\n");
}

static void text_of_others_does_nothing_to_a_terminal(void **state)
{
	const struct log_line_style plain = { 0 };

	check_line(*state, "not json \033[2J", &plain, "not json ^[[2J\n");
	check_line(*state,
		   "{\"ts\":\"2026-11-16T09:25:36.270191Z\",\"level\":\"info\",\"msg\":"
		   "\"a\\u001b[2Jb\\nc\"}",
		   &plain, "2026-11-16 09:25:36.270 INFO  a^[[2Jb c\n");
}

static void times_of_lines_sort(void **state UNUSED)
{
	assert_true(str_eqz(log_line_time(STR("{\"ts\":\"2026-11-16T09:25:36.270191Z\",\"l\":1}")),
			    "2026-11-16T09:25:36.270191Z"));
	assert_int_equal(log_line_time(STR("{\"ts\":\"x\"}")).n, 0);
	assert_int_equal(log_line_time(STR("text")).n, 0);
}

/* --- files of logs ---------------------------------------------------------------------------- */

static int64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void a_log_that_cannot_be_rotated_goes_on_until_it_can(void **state)
{
	char dir[] = "/tmp/up-log-XXXXXX";
	struct up_log l;
	const char *path, *old, *in_the_way;

	assert_non_null(mkdtemp(dir));
	path = arena_printf(*state, "%s/x.log", dir);
	old = arena_printf(*state, "%s.1", path);
	in_the_way = arena_printf(*state, "%s/d", old);
	assert_int_equal(folder_make(in_the_way, 0700, NULL), 0);
	assert_int_equal(up_log_open(&l, path, NULL), 0);
	l.size = UP_LOG_MAX;
	up_log_line(&l, STR("one"), clock_system());
	up_log_line(&l, STR("two"), clock_system());
	assert_true(size_of(path) > 100);
	assert_int_equal(rmdir(in_the_way), 0);
	assert_int_equal(rmdir(old), 0);
	up_log_line(&l, STR("three"), clock_system());
	assert_true(size_of(old) > 100);
	assert_in_range(size_of(path), 1, 100);
	assert_true(l.size == size_of(path));
	up_log_close(&l);
	(void)unlink(path);
	(void)unlink(old);
	assert_int_equal(rmdir(dir), 0);
}

/* --- words ------------------------------------------------------------------------------------ */

static void words_are_quoted_for_a_shell_where_they_must_be(void **state)
{
	assert_string_equal(shell_word(*state, "/var/lib/devplane"), "/var/lib/devplane");
	assert_string_equal(shell_word(*state, "/a b"), "'/a b'");
	assert_string_equal(shell_word(*state, "it's"), "'it'\\''s'");
	assert_string_equal(shell_word(*state, "$x"), "'$x'");
	assert_string_equal(shell_word(*state, ""), "''");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_state_is_read_as_it_was_written),
		TEST(endpoints_are_printed_for_prometheus),
		TEST(a_borrowed_controller_manager_shares_the_controllers),
		TEST(a_state_of_a_newer_program_is_refused),
		TEST(an_invalid_state_file_is_rejected),
		TEST(a_process_is_read_whatever_its_name),
		TEST(only_a_process_of_the_right_time_is_left_over),
		TEST(the_demo_has_two_nodes_and_four_drivers),
		TEST(a_demo_with_all_devices_has_three_drivers_more),
		TEST(nobody_is_elected_unless_an_etcd_is_shared),
		TEST(gates_reach_every_role_that_has_them),
		TEST(one_hollow_node_has_its_number_too),
		TEST(the_server_checks_that_nodes_have_certificates_of_the_cluster),
		TEST(only_who_runs_containers_keeps_powers),
		TEST(identities_are_each_roles_own),
		TEST(users_are_each_roles_own),
		TEST(roles_write_to_their_own_folders_only),
		TEST(an_explanation_may_use_nothing_of_the_cluster),
		TEST(only_who_runs_containers_is_not_limited),
		TEST(a_path_that_sockets_do_not_fit_below_is_refused),
		TEST(a_line_is_made_readable),
		TEST(colours_are_used_when_wanted),
		TEST(text_of_others_does_nothing_to_a_terminal),
		TEST(times_of_lines_sort),
		TEST(a_log_that_cannot_be_rotated_goes_on_until_it_can),
		TEST(words_are_quoted_for_a_shell_where_they_must_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
