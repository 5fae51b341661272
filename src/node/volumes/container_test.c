/*
 * Mounts of containers.
 */
#include "node/volumes/volumes_fixture.h"

#define CM "volumes/kubernetes.io~configmap/v/"

static void a_container_gets_its_mounts(void **state)
{
	static const struct str ips[] = { { "10.1.2.3", 8 } };
	struct world *w = *state;
	struct volumes_paths paths = { .pod_ips = ips, .npod_ips = 1, .attempt = 2 };

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\"}}");
	parse(w,
	      "\"subdomain\":\"sub\",\"hostAliases\":[{\"ip\":\"1.2.3.4\",\"hostnames\":[\"x\","
	      "\"y\"]}],\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\"}},{\"name\":"
	      "\"h\",\"hostPath\":{\"path\":\"/srv\"}}],\"containers\":[{\"name\":\"c\","
	      "\"terminationMessagePath\":\"/dev/termination-log\",\"volumeMounts\":[{\"name\":"
	      "\"v\",\"mountPath\":\"/v\"},{\"name\":\"h\",\"mountPath\":\"h\",\"readOnly\":true,"
	      "\"mountPropagation\":\"HostToContainer\"}]}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(container(w, &paths), 0);
	assert_int_equal(w->nmounts, 4);
	assert_true(str_eqz(w->mounts[0].container_path, "/v"));
	assert_true(str_eqz(w->mounts[0].host_path, path(w, "volumes/kubernetes.io~configmap/v")));
	assert_true(w->mounts[0].readonly);
	assert_true(str_eqz(w->mounts[1].container_path, "/h"));
	assert_true(str_eqz(w->mounts[1].host_path, "/srv"));
	assert_true(w->mounts[1].readonly);
	assert_int_equal(w->mounts[1].propagation, RUNTIME_HOST_TO_CONTAINER);
	assert_true(str_eqz(w->mounts[2].container_path, "/etc/hosts"));
	assert_false(w->mounts[2].readonly);
	assert_true(str_eqz(w->mounts[3].container_path, "/dev/termination-log"));
	assert_true(str_eqz(w->mounts[3].host_path, path(w, "containers/c/2")));
	assert_int_equal(mode_of(w, "containers/c/2"), 0666);
	assert_string_equal(content(w, "etc-hosts"), "# Kubernetes-managed hosts file.\n"
						     "127.0.0.1\tlocalhost\n"
						     "::1\tlocalhost ip6-localhost ip6-loopback\n"
						     "fe00::0\tip6-localnet\n"
						     "fe00::0\tip6-mcastprefix\n"
						     "fe00::1\tip6-allnodes\n"
						     "fe00::2\tip6-allrouters\n"
						     "10.1.2.3\tp.sub.ns.svc.cluster.local\tp\n"
						     "\n# Entries added by HostAliases.\n"
						     "1.2.3.4\tx\ty\n");
}

static void pods_on_the_hosts_network_get_its_hosts(void **state)
{
	struct world *w = *state;
	struct volumes_paths paths = { 0 };

	assert_int_equal(file_write_atomic(arena_printf(&w->arena, "%s/hosts", w->root),
					   STR("9.9.9.9\tnine\n"), 0644, NULL),
			 0);
	parse(w, "\"hostNetwork\":true,\"containers\":[{\"name\":\"c\"}]");
	assert_int_equal(container(w, &paths), 0);
	assert_int_equal(w->nmounts, 1);
	assert_string_equal(content(w, "etc-hosts"),
			    "# Kubernetes-managed hosts file (host network).\n9.9.9.9\tnine\n");
	/* There is also none without an address, or if the container has its own. */
	parse(w, "\"containers\":[{\"name\":\"c\"}]");
	assert_int_equal(container(w, &paths), 0);
	assert_int_equal(w->nmounts, 0);
	parse(w,
	      "\"hostNetwork\":true,\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"/x\"}}],"
	      "\"containers\":[{\"name\":\"c\",\"volumeMounts\":[{\"name\":\"h\",\"mountPath\":"
	      "\"/etc/hosts\"}]}]");
	assert_int_equal(container(w, &paths), 0);
	assert_int_equal(w->nmounts, 1);
}

static void mounts_that_cannot_be_are_refused(void **state)
{
	static const struct {
		const char *mount, *message;
	} cases[] = {
		{ "\"name\":\"no\",\"mountPath\":\"/x\"",
		  "cannot find volume \"no\" to mount into container \"c\"" },
		{ "\"name\":\"e\",\"mountPath\":\"/x\",\"subPath\":\"/abs\"",
		  "error SubPath `/abs` must not be an absolute path" },
		{ "\"name\":\"e\",\"mountPath\":\"/x\",\"subPath\":\"a/../../b\"",
		  "unable to provision SubPath `a/../../b`: must not contain '..'" },
		{ "\"name\":\"e\",\"mountPath\":\"/x\",\"subPathExpr\":\"$(NO)\"",
		  "missing value for NO" },
		{ "\"name\":\"e\",\"mountPath\":\"/x\",\"mountPropagation\":\"Odd\"",
		  "invalid MountPropagation mode: \"Odd\"" },
		{ "\"name\":\"e\",\"mountPath\":\"/x\",\"recursiveReadOnly\":\"Enabled\"",
		  "volumeMount \"e\": recursiveReadOnly Enabled is not supported by this node" },
	};
	struct world *w = *state;
	struct volumes_paths paths = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		parse(w,
		      arena_printf(&w->arena,
				   "\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}],\"containers\":"
				   "[{\"name\":\"c\",\"volumeMounts\":[{%s}]}]",
				   cases[i].mount));
		assert_int_equal(mount_all(w), 0);
		assert_true(container(w, &paths) < 0);
		assert_string_equal(w->err.msg, cases[i].message);
	}
}

static void a_subpath_is_bound_to_what_it_was(void **state)
{
	struct runtime_pair pair = { STR("POD"), STR("p") };
	struct runtime_pairs env = { &pair, 1 };
	struct world *w = *state;
	struct volumes_paths paths = { .env = &env };
	const char *file;

	parse(w, "\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}],\"containers\":[{\"name\":\"c\","
		 "\"volumeMounts\":[{\"name\":\"e\",\"mountPath\":\"/x\",\"subPathExpr\":"
		 "\"logs/$(POD)\"}]}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(container(w, &paths), 0);
	assert_int_equal(container(w, &paths), 0);
	assert_int_equal(mode_of(w, "volumes/kubernetes.io~empty-dir/e/logs/p"), 0777);
	file = arena_printf(&w->arena, "%.*s/f", STR_ARG(w->mounts[0].host_path));
	assert_int_equal(file_write_atomic(file, STR("x"), 0600, NULL), 0);
	assert_string_equal(content(w, "volumes/kubernetes.io~empty-dir/e/logs/p/f"), "x");
	if (may_mount(w))
		assert_true(str_eqz(w->mounts[0].host_path, path(w, "volume-subpaths/e/c/0")));
}

static void a_subpath_may_be_a_file_of_a_config_map(void **state)
{
	struct world *w = *state;
	struct volumes_paths paths = { 0 };

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\"}}");
	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\"}}],\"containers\":[{"
	      "\"name\":\"c\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/x\",\"subPath\":"
	      "\"a\"}]}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(container(w, &paths), 0);
	if (may_mount(w))
		assert_string_equal(content(w, "volume-subpaths/v/c/0"), "1");
}

static void a_subpath_does_not_lead_out(void **state)
{
	struct world *w = *state;
	const char *base = arena_printf(&w->arena, "%s/base", w->root);
	int fd = -1;

	assert_int_equal(volume_dir_make(base, 0755, NULL), 0);
	assert_int_equal(symlink("/etc", arena_printf(&w->arena, "%s/abs", base)), 0);
	assert_int_equal(symlink("..", arena_printf(&w->arena, "%s/up", base)), 0);
	assert_int_equal(symlink("loop", arena_printf(&w->arena, "%s/loop", base)), 0);
	assert_int_equal(symlink("d/../d", arena_printf(&w->arena, "%s/in", base)), 0);
	assert_int_equal(volume_subpath_open(base, STR("abs"), 0755, &fd, NULL), -ERR_FORBIDDEN);
	assert_int_equal(volume_subpath_open(base, STR("abs/passwd"), 0755, &fd, NULL),
			 -ERR_FORBIDDEN);
	assert_int_equal(volume_subpath_open(base, STR("up/x"), 0755, &fd, NULL), -ERR_FORBIDDEN);
	assert_int_equal(volume_subpath_open(base, STR("loop"), 0755, &fd, NULL), -ERR_FORBIDDEN);
	assert_int_equal(volume_subpath_open(base, STR("/etc"), 0755, &fd, NULL), -ERR_FORBIDDEN);
	assert_int_equal(access(arena_printf(&w->arena, "%s/x", w->root), F_OK), -1);
	assert_int_equal(volume_subpath_open(base, STR("in/new"), 0750, &fd, NULL), 0);
	(void)close(fd);
	assert_int_equal(access(arena_printf(&w->arena, "%s/d/new", base), F_OK), 0);
}

static void folders_for_nested_mounts_are_made(void **state)
{
	struct world *w = *state;

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\"}}");
	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\"}},{\"name\":\"e\","
	      "\"emptyDir\":{}}],\"containers\":[{\"name\":\"c\",\"volumeMounts\":[{\"name\":\"v\","
	      "\"mountPath\":\"/v\"},{\"name\":\"e\",\"mountPath\":\"/v/in/side\"}]}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(access(path(w, CM "in/side"), F_OK), 0);
	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"2\"}}");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(access(path(w, CM "in/side"), F_OK), 0);
	assert_string_equal(content(w, CM "a"), "2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_container_gets_its_mounts),
		TEST(pods_on_the_hosts_network_get_its_hosts),
		TEST(mounts_that_cannot_be_are_refused),
		TEST(a_subpath_is_bound_to_what_it_was),
		TEST(a_subpath_may_be_a_file_of_a_config_map),
		TEST(a_subpath_does_not_lead_out),
		TEST(folders_for_nested_mounts_are_made),
	};

	return cmocka_run_group_tests_name("node/volumes_container", tests, NULL, NULL);
}
