/*
 * Volumes of pods: set up, refreshed, removed.
 */
#include "base/core/limits.h"
#include "node/volumes/volumes_fixture.h"

#define CM "volumes/kubernetes.io~configmap/v/"

/* --- files from the API --------------------------------------------------------------------- */

static void a_config_map_becomes_files(void **state)
{
	struct world *w = *state;
	char link[64] = { 0 };

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"one\"},"
	    "\"binaryData\":{\"b\":\"AAE=\"}}");
	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\",\"defaultMode\":416}}]");
	assert_int_equal(mount_all(w), 0);
	assert_string_equal(content(w, CM "a"), "one");
	assert_int_equal(stat_of(w, CM "..data/b").st_size, 2);
	assert_int_equal(mode_of(w, CM "a"), 0640);
	assert_int_equal(mode_of(w, "volumes/kubernetes.io~configmap/v"), 0777);
	assert_true(readlink(path(w, CM "a"), link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "..data/a");
}

static void a_change_swaps_all_files_at_once(void **state)
{
	struct world *w = *state;
	struct stat before;

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\",\"b\":"
	    "\"2\"}}");
	parse(w, "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\"}}]");
	assert_int_equal(mount_all(w), 0);
	before = stat_of(w, CM "..data");
	/* Nothing has changed, so nothing is written. */
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(stat_of(w, CM "..data").st_ino, before.st_ino);
	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"3\",\"c\":"
	    "\"4\"}}");
	assert_int_equal(mount_all(w), 0);
	assert_true(stat_of(w, CM "..data").st_ino != before.st_ino);
	assert_string_equal(content(w, CM "a"), "3");
	assert_string_equal(content(w, CM "c"), "4");
	assert_int_equal(access(path(w, CM "b"), F_OK), -1);
}

static size_t entries(struct world *w, const char *below)
{
	DIR *d = opendir(path(w, below));
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2;
}

static void old_states_do_not_pile_up(void **state)
{
	struct world *w = *state;

	parse(w, "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"cm\"}}]");
	for (int i = 0; i < 5; i++) {
		put(w, "configmaps",
		    arena_printf(&w->arena,
				 "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{"
				 "\"a\":\"%d\"}}",
				 i));
		assert_int_equal(mount_all(w), 0);
		/* a, ..data and the state */
		assert_int_equal(entries(w, CM), 3);
	}
}

static void items_choose_keys_paths_and_modes(void **state)
{
	struct world *w = *state;

	put(w, "secrets",
	    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},\"data\":{\"k\":\"c2VjcmV0\","
	    "\"x\":\"eA==\"}}");
	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\",\"items\":[{\"key\":"
	      "\"k\",\"path\":\"deep/./er/k\",\"mode\":256}]}}]");
	assert_int_equal(mount_all(w), 0);
	assert_string_equal(content(w, "volumes/kubernetes.io~secret/v/deep/er/k"), "secret");
	assert_int_equal(mode_of(w, "volumes/kubernetes.io~secret/v/deep/er/k"), 0400);
	assert_int_equal(access(path(w, "volumes/kubernetes.io~secret/v/x"), F_OK), -1);
}

static void secrets_lie_in_memory(void **state)
{
	struct world *w = *state;
	struct statfs fs;

	if (!may_mount(w))
		skip();
	put(w, "secrets",
	    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},\"data\":{\"k\":\"eA==\"}}");
	parse(w, "\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(statfs(path(w, "volumes/kubernetes.io~secret/v"), &fs), 0);
	assert_int_equal(fs.f_type, TMPFS);
	assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	assert_int_equal(access(path(w, "."), F_OK), -1);
}

static void a_missing_source_has_upstreams_message(void **state)
{
	static const struct {
		const char *volume, *message;
		int code;
	} cases[] = {
		{ "\"configMap\":{\"name\":\"no\"}", "configmap \"no\" not found", -ERR_NOT_FOUND },
		{ "\"secret\":{\"secretName\":\"no\"}", "secret \"no\" not found", -ERR_NOT_FOUND },
		{ "\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"z\",\"path\":\"z\"}]}",
		  "configmap references non-existent config key: z", -ERR_NOT_FOUND },
		{ "\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"a\",\"path\":\"../z\"}]}",
		  "invalid path: must not contain '..': ../z", -ERR_INVALID },
		{ "\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"a\",\"path\":\"..data\"}]}",
		  "invalid path: must not start with '..': ..data", -ERR_INVALID },
		{ "\"configMap\":{\"name\":\"cm\",\"items\":[{\"key\":\"a\",\"path\":\"/z\"}]}",
		  "invalid path: must be relative path: /z", -ERR_INVALID },
		{ "\"nfs\":{\"server\":\"x\",\"path\":\"/\"}",
		  "volumes of type nfs are not supported by this node", -ERR_UNIMPLEMENTED },
		{ "\"persistentVolumeClaim\":{\"claimName\":\"x\"}",
		  "volumes of type persistentVolumeClaim are not supported by this node",
		  -ERR_UNIMPLEMENTED },
		{ "\"emptyDir\":{\"medium\":\"HugePages-2Mi\"}",
		  "emptyDir with medium HugePages-2Mi is not supported by this node",
		  -ERR_UNIMPLEMENTED },
		{ "\"projected\":{\"sources\":[{\"clusterTrustBundle\":{\"path\":\"x\"}}]}",
		  "projected sources of type clusterTrustBundle are not supported by this node",
		  -ERR_UNIMPLEMENTED },
	};
	struct world *w = *state;
	char whole[512];

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\"}}");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		parse(w, arena_printf(&w->arena, "\"volumes\":[{\"name\":\"v\",%s}]",
				      cases[i].volume));
		assert_int_equal(mount_all(w), cases[i].code);
		(void)snprintf(whole, sizeof(whole),
			       "MountVolume.SetUp failed for volume \"v\" : %s", cases[i].message);
		assert_string_equal(w->err.msg, whole);
	}
}

static void an_optional_source_may_be_missing(void **state)
{
	struct world *w = *state;

	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"no\",\"optional\":true}}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(entries(w, CM), 2);
	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"no\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\"}}");
	assert_int_equal(mount_all(w), 0);
	assert_string_equal(content(w, CM "a"), "1");
}

static void projected_sources_come_together(void **state)
{
	struct world *w = *state;

	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\",\"b\":"
	    "\"1\"}}");
	put(w, "secrets",
	    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},\"data\":{\"b\":\"Mg==\"}}");
	parse(w, "\"containers\":[{\"name\":\"c\"}],\"volumes\":[{\"name\":\"v\",\"projected\":{"
		 "\"sources\":[{\"configMap\":{\"name\":\"cm\"}},{\"secret\":{\"name\":\"s\"}},"
		 "{\"downwardAPI\":{\"items\":[{\"path\":\"labels\",\"fieldRef\":{\"fieldPath\":"
		 "\"metadata.labels\"}},{\"path\":\"cpu\",\"resourceFieldRef\":{\"containerName\":"
		 "\"c\",\"resource\":\"limits.cpu\",\"divisor\":\"1m\"}}]}}]}}]");
	assert_int_equal(mount_all(w), 0);
	assert_string_equal(content(w, "volumes/kubernetes.io~projected/v/a"), "1");
	assert_string_equal(content(w, "volumes/kubernetes.io~projected/v/b"), "2");
	assert_string_equal(content(w, "volumes/kubernetes.io~projected/v/labels"), "a=\"1\"");
	assert_string_equal(content(w, "volumes/kubernetes.io~projected/v/cpu"), "2000");
}

static void a_token_without_a_server_fails(void **state)
{
	struct world *w = *state;

	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[{\"serviceAccountToken\":"
	      "{\"path\":\"token\"}}]}}]");
	assert_int_equal(mount_all(w), -ERR_UNAVAILABLE);
}

static void a_group_may_read_what_fs_group_says(void **state)
{
	struct world *w = *state;
	struct stat st;

	if (geteuid() != 0)
		skip();
	put(w, "configmaps",
	    "{\"metadata\":{\"name\":\"cm\",\"namespace\":\"ns\"},\"data\":{\"a\":\"1\"}}");
	parse(w,
	      "\"securityContext\":{\"fsGroup\":4321},\"volumes\":[{\"name\":\"v\",\"configMap\":{"
	      "\"name\":\"cm\",\"defaultMode\":256}},{\"name\":\"e\",\"emptyDir\":{}}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(stat(path(w, CM "a"), &st), 0);
	assert_int_equal(st.st_gid, 4321);
	assert_int_equal(st.st_mode & 07777, 0440);
	st = stat_of(w, "volumes/kubernetes.io~empty-dir/e");
	assert_int_equal(st.st_gid, 4321);
	assert_int_equal(st.st_mode & 07777, 02777);
	/* Later changes by containers to an emptyDir stay. */
	assert_int_equal(chmod(path(w, "volumes/kubernetes.io~empty-dir/e"), 0700), 0);
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(mode_of(w, "volumes/kubernetes.io~empty-dir/e"), 0700);
}

/* --- emptyDir and hostPath ------------------------------------------------------------------ */

static void an_empty_dir_may_be_in_memory(void **state)
{
	struct world *w = *state;
	struct statfs fs;

	if (!may_mount(w))
		skip();
	parse(w, "\"volumes\":[{\"name\":\"m\",\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":"
		 "\"64Ki\"}}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(statfs(path(w, "volumes/kubernetes.io~empty-dir/m"), &fs), 0);
	assert_int_equal(fs.f_type, TMPFS);
	assert_int_equal((uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize, 64 * KIB);
}

#define LIMITED(n)    "{\"resources\":{\"limits\":{\"memory\":\"" n "\"}}}"
#define LIMITED_AS(n) "\"resources\":{\"limits\":{\"memory\":\"" n "\"}}"
#define SIDECAR(more) "{\"restartPolicy\":\"Always\"" more "}"

/* The pod's limit counts only if every container has one; else the node's 1 MiB is the limit. */
static void a_volume_in_memory_is_as_large_as_the_pod_may_become(void **state)
{
	static const struct {
		const char *spec;
		uint64_t kib;
	} rows[] = {
		{ "\"containers\":[{}]", 1024 },
		{ "\"containers\":[" LIMITED("64Ki") "," LIMITED("128Ki") "]", 192 },
		{ "\"containers\":[" LIMITED("64Ki") ",{}]", 1024 },
		{ "\"containers\":[" LIMITED("4Mi") "]", 1024 },
		{ "\"containers\":[" LIMITED("64Ki") "],\"overhead\":{\"memory\":\"16Ki\"}", 80 },
		{ "\"containers\":[" LIMITED("64Ki") "],\"ephemeralContainers\":[{}]", 64 },
		{ "\"containers\":[" LIMITED("64Ki") "],\"initContainers\":[{}]", 1024 },
		{ "\"containers\":[" LIMITED("64Ki") "],\"initContainers\":[" LIMITED("96Ki") "]",
		  96 },
		{ "\"containers\":[" LIMITED("64Ki") "],\"initContainers\":[" SIDECAR(
			  "," LIMITED_AS("32Ki")) "," LIMITED("80Ki") ",{}]",
		  112 },
		{ "\"containers\":[{}]," LIMITED_AS("128Ki"), 128 },
		{ "\"containers\":[" LIMITED("64Ki") "]," LIMITED_AS("128Ki"), 128 },
	};
	struct world *w = *state;
	struct statfs fs;

	if (!may_mount(w))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		parse(w, arena_printf(&w->arena,
				      "%s,\"volumes\":[{\"name\":\"m\",\"emptyDir\":"
				      "{\"medium\":\"Memory\"}}]",
				      rows[i].spec));
		assert_int_equal(mount_all(w), 0);
		assert_int_equal(statfs(path(w, "volumes/kubernetes.io~empty-dir/m"), &fs), 0);
		if ((uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize != rows[i].kib * KIB)
			fail_msg("%s: %ju blocks", rows[i].spec, (uintmax_t)fs.f_blocks);
		assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	}
}

static void host_paths_are_checked(void **state)
{
	struct world *w = *state;
	struct {
		const char *name, *type, *fault;
	} cases[] = {
		{ "none", "", NULL },
		{ "d/e/f", "DirectoryOrCreate", NULL },
		{ "d/e/f", "Directory", NULL },
		{ "d/file", "FileOrCreate", NULL },
		{ "d/file", "File", NULL },
		{ "d/file", "Directory", "is not a directory, it's a File" },
		{ "d", "FileOrCreate", "is not a file, it's a Directory" },
		{ "d", "Socket", "is not a socket file, it's a Directory" },
		{ "none", "BlockDevice",
		  "is not a block device, unable to determine its type: path" },
		{ "d/../d", "", "must not contain '..'" },
		{ "d", "Odd", "Odd is an invalid volume type" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		parse(w,
		      arena_printf(&w->arena,
				   "\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"%s/%s\","
				   "\"type\":\"%s\"}}]",
				   w->root, cases[i].name, cases[i].type));
		assert_int_equal(mount_all(w), cases[i].fault ? -ERR_INVALID : 0);
		if (cases[i].fault)
			assert_non_null(strstr(w->err.msg, cases[i].fault));
	}
	parse(w, "\"volumes\":[{\"name\":\"h\",\"hostPath\":{\"path\":\"/dev/null\",\"type\":"
		 "\"CharDevice\"}}]");
	assert_int_equal(mount_all(w), 0);
}

/* --- removal -------------------------------------------------------------------------------- */

static void removing_never_follows_links(void **state)
{
	struct world *w = *state;
	const char *kept = arena_printf(&w->arena, "%s/kept", w->root);
	const struct str *left = NULL;

	assert_int_equal(file_write_atomic(kept, STR("x"), 0600, NULL), 0);
	parse(w, "\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}]");
	assert_int_equal(mount_all(w), 0);
	assert_int_equal(symlink(w->root, path(w, "volumes/kubernetes.io~empty-dir/e/out")), 0);
	assert_int_equal(symlink(kept, path(w, "volumes/kubernetes.io~empty-dir/e/file")), 0);
	assert_int_equal(volumes_left(w->volumes, &w->arena, &left), 1);
	assert_true(str_eqz(left[0], "u"));
	assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	assert_int_equal(access(kept, F_OK), 0);
	assert_int_equal(volumes_left(w->volumes, &w->arena, &left), 0);
	assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	assert_int_equal(volumes_unmount(w->volumes, STR("../pods"), &w->err), -ERR_INVALID);
	assert_int_equal(volumes_unmount(w->volumes, STR(".."), &w->err), -ERR_INVALID);
}

static size_t names_in_root(struct world *w)
{
	DIR *d = opendir(arena_printf(&w->arena, "%s/pods", w->root));
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2;
}

static void trees_of_any_depth_are_removed(void **state)
{
	struct world *w = *state;
	int fd, next;

	parse(w, "\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}]");
	assert_int_equal(mount_all(w), 0);
	fd = open(path(w, "volumes/kubernetes.io~empty-dir/e"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 3000; i++) {
		assert_int_equal(mkdirat(fd, "a-rather-long-name", 0700), 0);
		assert_int_equal(mkdirat(fd, "b", 0700), 0);
		next = openat(fd, "a-rather-long-name", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	sim_run_for(w->sim, 60000);
	assert_int_equal(names_in_root(w), 0);
}

static void volumes_are_emptied_bit_by_bit_and_after_a_restart(void **state)
{
	struct world *w = *state;
	struct volumes_opts opts = { .loop = w->loop, .sources = w->sources, .root_dir = w->root };
	int fd;

	parse(w, "\"volumes\":[{\"name\":\"e\",\"emptyDir\":{}}]");
	assert_int_equal(mount_all(w), 0);
	for (int i = 0; i < 1000; i++) {
		fd = open(arena_printf(&w->arena, "%s/%d",
				       path(w, "volumes/kubernetes.io~empty-dir/e"), i),
			  O_CREAT | O_WRONLY, 0600);
		assert_true(fd >= 0);
		(void)close(fd);
	}
	assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	/* Its path is free at once, although not everything is removed yet. */
	assert_int_equal(access(path(w, "."), F_OK), -1);
	sim_run_for(w->sim, 5);
	assert_int_equal(names_in_root(w), 1);
	volumes_free(w->volumes);
	sim_run_for(w->sim, 1000);
	assert_int_equal(names_in_root(w), 1);
	w->volumes = volumes_new(&opts);
	sim_run_for(w->sim, 1000);
	assert_int_equal(names_in_root(w), 0);
}

static void a_full_disk_leaves_the_old_files(void **state)
{
	struct world *w = *state;
	char *big = arena_alloc(&w->arena, 800 * KIB + 1);

	if (!may_mount(w))
		skip();
	memset(big, 'A', 800 * KIB);
	big[800 * KIB] = '\0';
	put(w, "secrets",
	    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},\"data\":{\"k\":\"eA==\"}}");
	parse(w,
	      "\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"memory\":\"256Ki\"}}}]"
	      ",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}]");
	assert_int_equal(mount_all(w), 0);
	put(w, "secrets",
	    arena_printf(
		    &w->arena,
		    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"ns\"},\"data\":{\"k\":\"%s\"}}",
		    big));
	assert_int_equal(mount_all(w), -ERR_IO);
	assert_int_equal(w->err.sys_errno, ENOSPC);
	assert_string_equal(content(w, "volumes/kubernetes.io~secret/v/k"), "x");
	assert_int_equal(entries(w, "volumes/kubernetes.io~secret/v"), 3);
}

static void a_job_may_be_given_up(void **state)
{
	struct world *w = *state;
	struct volumes_opts opts = { .loop = w->loop, .sources = w->sources, .root_dir = w->root };

	parse(w,
	      "\"volumes\":[{\"name\":\"v\",\"projected\":{\"sources\":[{\"serviceAccountToken\":"
	      "{\"path\":\"token\"}}]}}]");
	w->done = false;
	volumes_mount(w->volumes, w->pod, on_done, w);
	volumes_free(w->volumes);
	sim_run_for(w->sim, 1000);
	assert_false(w->done);
	w->volumes = volumes_new(&opts);
}

static void a_mounted_folder_is_not_emptied(void **state)
{
	struct world *w = *state;
	const char *dir, *file;

	if (!may_mount(w))
		skip();
	dir = arena_printf(&w->arena, "%s/x/y", w->root);
	file = arena_printf(&w->arena, "%s/file", dir);
	assert_int_equal(volume_dir_make(dir, 0700, NULL), 0);
	assert_int_equal(volume_dir_mount_tmpfs(dir, 65536, NULL), 0);
	assert_int_equal(file_write_atomic(file, STR("x"), 0600, NULL), 0);
	assert_int_equal(volume_dir_remove(arena_printf(&w->arena, "%s/x", w->root), &w->err),
			 -ERR_IO);
	assert_int_equal(w->err.sys_errno, EBUSY);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(volume_dir_unmount_below(dir, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_config_map_becomes_files),
		TEST(a_change_swaps_all_files_at_once),
		TEST(old_states_do_not_pile_up),
		TEST(items_choose_keys_paths_and_modes),
		TEST(secrets_lie_in_memory),
		TEST(a_missing_source_has_upstreams_message),
		TEST(an_optional_source_may_be_missing),
		TEST(projected_sources_come_together),
		TEST(a_token_without_a_server_fails),
		TEST(a_group_may_read_what_fs_group_says),
		TEST(an_empty_dir_may_be_in_memory),
		TEST(a_volume_in_memory_is_as_large_as_the_pod_may_become),
		TEST(host_paths_are_checked),
		TEST(removing_never_follows_links),
		TEST(trees_of_any_depth_are_removed),
		TEST(volumes_are_emptied_bit_by_bit_and_after_a_restart),
		TEST(a_full_disk_leaves_the_old_files),
		TEST(a_job_may_be_given_up),
		TEST(a_mounted_folder_is_not_emptied),
	};

	return cmocka_run_group_tests_name("node/volumes", tests, NULL, NULL);
}
