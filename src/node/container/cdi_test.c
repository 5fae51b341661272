/* CDI files and names, on folders made here. */
#include "node/container/cdi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"

struct world {
	char root[64];
	char low[96], high[96]; /* folders, by priority */
	const char *dirs[2];
	struct arena a;
	struct container_spec spec;
	struct error err;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	(void)snprintf(w->root, sizeof(w->root), "/tmp/cdi_test.XXXXXX");
	assert_non_null(mkdtemp(w->root));
	(void)snprintf(w->low, sizeof(w->low), "%s/low", w->root);
	(void)snprintf(w->high, sizeof(w->high), "%s/high", w->root);
	assert_int_equal(mkdir(w->low, 0700), 0);
	assert_int_equal(mkdir(w->high, 0700), 0);
	w->dirs[0] = w->low;
	w->dirs[1] = w->high;
	arena_init(&w->a, SIZE_MAX);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	folder_fixture_remove(w->root);
	arena_release(&w->a);
	free(w);
	return 0;
}

static void put(struct world *w, const char *dir, const char *name, const char *text)
{
	char *path = arena_printf(&w->a, "%s/%s", dir, name);

	assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static int apply(struct world *w, const char *a, const char *b)
{
	struct cdi_dirs dirs = { w->dirs, 2 };
	struct str ids[] = { str_from(a), str_from(b) };

	w->err = (struct error){ 0 };
	return cdi_apply(&dirs, ids, b ? 2 : 1, &w->a, &w->spec, &w->err);
}

static const char *env(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->spec.env.n; i++) {
		if (str_eqz(w->spec.env.v[i].key, name))
			return str_dup(w->spec.env.v[i].value);
	}
	return NULL;
}

static void assert_env(const struct world *w, const char *name, const char *value)
{
	char *have = (char *)env(w, name);

	assert_non_null(have);
	assert_string_equal(have, value);
	free(have);
}

static void assert_says(const struct world *w, const char *text)
{
	if (!strstr(w->err.msg, text))
		fail_msg("\"%s\" does not say \"%s\"", w->err.msg, text);
}

#define HEAD "{\"cdiVersion\":\"0.6.0\",\"kind\":\"v.com/gpu\","

static void edits_of_file_and_device_are_applied(void **state)
{
	struct world *w = *state;

	put(w, w->low, "a.json",
	    HEAD "\"containerEdits\":{\"env\":[\"ALL=1\"],\"additionalGids\":[44,0]},\"devices\":["
		 "{\"name\":\"0\",\"containerEdits\":{\"env\":[\"GPU0=a=b\"],"
		 "\"deviceNodes\":[{\"path\":\"/dev/gpu0\",\"hostPath\":\"/dev/null\"},"
		 "{\"path\":\"/dev/"
		 "zero\",\"type\":\"c\",\"major\":1,\"minor\":5,\"permissions\":\"r\"}],"
		 "\"mounts\":[{\"hostPath\":\"/lib/x\",\"containerPath\":\"/y\","
		 "\"options\":[\"ro\",\"nosuid\",\"bind\",\"rslave\"]}]}},"
		 "{\"name\":\"1\",\"containerEdits\":{\"env\":[\"GPU1=\"]}}]}");
	assert_int_equal(apply(w, "v.com/gpu=0", "v.com/gpu=1"), 0);
	assert_env(w, "ALL", "1");
	assert_env(w, "GPU0", "a=b");
	assert_env(w, "GPU1", "");
	assert_int_equal(w->spec.env.n, 3);
	assert_int_equal(w->spec.ndevices, 2);
	assert_true(str_eqz(w->spec.devices[0].container_path, "/dev/gpu0"));
	assert_true(str_eqz(w->spec.devices[0].host_path, "/dev/null"));
	assert_true(str_eqz(w->spec.devices[0].permissions, "rwm"));
	assert_true(str_eqz(w->spec.devices[1].host_path, "/dev/zero"));
	assert_true(str_eqz(w->spec.devices[1].permissions, "r"));
	assert_int_equal(w->spec.nmounts, 1);
	assert_true(w->spec.mounts[0].readonly);
	assert_int_equal(w->spec.mounts[0].propagation, RUNTIME_HOST_TO_CONTAINER);
	assert_int_equal(w->spec.security.ngroups, 1);
	assert_int_equal(w->spec.security.groups[0], 44);
}

static void yaml_means_the_same(void **state)
{
	struct world *w = *state;

	put(w, w->low, "a.yaml",
	    "cdiVersion: 0.5.0\nkind: v.com/gpu\ndevices:\n- name: x\n  containerEdits:\n"
	    "    env: [A=1]\n");
	put(w, w->low, "b.yml",
	    "cdiVersion: v1.0.0\nkind: v.com/nic\ndevices:\n- name: x\n  containerEdits:\n"
	    "    env: [B=2]\n");
	put(w, w->low, "c.txt", "not looked at");
	assert_int_equal(apply(w, "v.com/gpu=x", "v.com/nic=x"), 0);
	assert_env(w, "A", "1");
	assert_env(w, "B", "2");
}

static void existing_entries_are_replaced(void **state)
{
	struct world *w = *state;
	struct runtime_pair pair = { STR("A"), STR("old") };
	struct runtime_device device = { STR("/dev/d"), STR("/dev/old"), STR("r") };

	w->spec.env = (struct runtime_pairs){ &pair, 1 };
	w->spec.devices = &device;
	w->spec.ndevices = 1;
	put(w, w->low, "a.json",
	    HEAD "\"devices\":[{\"name\":\"0\",\"containerEdits\":{\"env\":[\"A=new\"],"
		 "\"deviceNodes\":[{\"path\":\"/dev/d\",\"hostPath\":\"/dev/null\"}]}}]}");
	assert_int_equal(apply(w, "v.com/gpu=0", "v.com/gpu=0"), 0);
	assert_int_equal(w->spec.env.n, 1);
	assert_env(w, "A", "new");
	assert_int_equal(w->spec.ndevices, 1);
	assert_true(str_eqz(w->spec.devices[0].host_path, "/dev/null"));
}

static void a_later_folder_wins(void **state)
{
	struct world *w = *state;

	put(w, w->low, "a.json",
	    HEAD "\"devices\":[{\"name\":\"0\",\"containerEdits\":{\"env\":[\"A=low\"]}}]}");
	put(w, w->high, "z.json",
	    HEAD "\"devices\":[{\"name\":\"0\",\"containerEdits\":{\"env\":[\"A=high\"]}}]}");
	assert_int_equal(apply(w, "v.com/gpu=0", NULL), 0);
	assert_env(w, "A", "high");
}

static void two_files_of_one_folder_conflict(void **state)
{
	struct world *w = *state;

	put(w, w->low, "a.json", HEAD "\"devices\":[{\"name\":\"0\"}]}");
	put(w, w->low, "b.json", HEAD "\"devices\":[{\"name\":\"0\"}]}");
	assert_int_equal(apply(w, "v.com/gpu=0", NULL), -ERR_CONFLICT);
	assert_says(w, "/a.json");
	assert_says(w, "/b.json");
}

static void a_missing_device_says_which_file_is_broken(void **state)
{
	struct world *w = *state;

	assert_int_equal(apply(w, "v.com/gpu=0", NULL), -ERR_NOT_FOUND);
	assert_says(w, "v.com/gpu=0");
	put(w, w->low, "bad.json", "{\"cdiVersion\":");
	assert_int_equal(apply(w, "v.com/gpu=0", NULL), -ERR_NOT_FOUND);
	assert_says(w, "bad.json");
	assert_int_equal(apply(w, "v.com/gpu", NULL), -ERR_INVALID);
}

static void refuse(struct world *w, const char *edits, const char *word)
{
	put(w, w->low, "a.json",
	    arena_printf(&w->a, HEAD "\"devices\":[{\"name\":\"0\",\"containerEdits\":{%s}}]}",
			 edits));
	assert_int_equal(apply(w, "v.com/gpu=0", NULL), -ERR_UNIMPLEMENTED);
	assert_says(w, word);
	assert_says(w, "v.com/gpu=0");
	assert_says(w, "a.json");
}

static void edits_that_cri_does_not_support_are_rejected_by_name(void **state)
{
	struct world *w = *state;

	refuse(w, "\"hooks\":[{\"hookName\":\"createContainer\",\"path\":\"/usr/bin/h\"}]",
	       "createContainer hook /usr/bin/h");
	refuse(w, "\"intelRdt\":{\"closID\":\"x\"}", "intelRdt");
	refuse(w, "\"netDevices\":[{\"hostInterfaceName\":\"e\"}]", "netDevices");
	refuse(w, "\"mounts\":[{\"hostPath\":\"t\",\"containerPath\":\"/t\",\"type\":\"tmpfs\"}]",
	       "tmpfs");
	refuse(w,
	       "\"mounts\":[{\"hostPath\":\"/t\",\"containerPath\":\"/"
	       "t\",\"options\":[\"noexec\"]}]",
	       "noexec");
	refuse(w, "\"deviceNodes\":[{\"path\":\"/dev/null\",\"major\":1,\"minor\":99}]",
	       "other numbers");
	refuse(w, "\"deviceNodes\":[{\"path\":\"/dev/none-such\",\"major\":1,\"minor\":9}]",
	       "the host does not have it");
	refuse(w, "\"deviceNodes\":[{\"path\":\"/dev/null\",\"uid\":77}]", "another owner");
}

static void a_broken_file_is_told_apart(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "{}", "no cdiVersion" },
		{ "{\"cdiVersion\":\"2.0.0\",\"kind\":\"v.com/gpu\"}", "\"2.0.0\" is not known" },
		{ "{\"cdiVersion\":\"0.6\",\"kind\":\"v.com/gpu\"}", "\"0.6\" is not known" },
		{ "{\"cdiVersion\":\"0.6.0\",\"kind\":\"gpu\"}", "is not VENDOR/CLASS" },
		{ HEAD "\"devices\":[{\"name\":\"a/b\"}]}", "is not a device name" },
		{ HEAD "\"devices\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "two devices" },
		{ HEAD "\"containerEdits\":{\"env\":[\"=x\"]}}", "is not NAME=VALUE" },
		{ HEAD "\"containerEdits\":{\"env\":{}}}", "env is not a list" },
		{ HEAD "\"containerEdits\":{\"deviceNodes\":[{\"path\":\"dev\"}]}}", "absolute" },
		{ HEAD
		  "\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/d\",\"permissions\":\"x\"}]}}",
		  "permissions" },
		{ HEAD "\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/d\",\"major\":\"1\"}]}}",
		  "major" },
		{ HEAD "\"containerEdits\":{\"mounts\":[{\"hostPath\":\"/a\"}]}}", "mount" },
		{ HEAD "\"containerEdits\":{\"hooks\":[{}]}}", "hook" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put(w, w->low, "a.json", cases[i].text);
		assert_int_equal(apply(w, "v.com/gpu=0", NULL), -ERR_NOT_FOUND);
		assert_says(w, cases[i].says);
	}
}

static void names_are_vendor_class_and_device(void **state)
{
	static const char *const good[] = { "v.com/gpu=0", "vendor/c-l.a_ss=a:b.c-d", "V1/c=X" };
	static const char *const bad[] = { "",         "v.com/gpu",  "v.com=0",   "/gpu=0",
					   "1v/gpu=0", "v.com/gpu=", "v.com/1=0", "v.com-/gpu=0",
					   "v/g=-a",   "v/g=a b",    "v/g=a/b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(cdi_valid_name(str_from(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(cdi_valid_name(str_from(bad[i])));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(edits_of_file_and_device_are_applied),
		CASE(yaml_means_the_same),
		CASE(existing_entries_are_replaced),
		CASE(a_later_folder_wins),
		CASE(two_files_of_one_folder_conflict),
		CASE(a_missing_device_says_which_file_is_broken),
		CASE(edits_that_cri_does_not_support_are_rejected_by_name),
		CASE(a_broken_file_is_told_apart),
		cmocka_unit_test(names_are_vendor_class_and_device),
	};

	return cmocka_run_group_tests_name("node/cdi", tests, NULL, NULL);
}
