/*
 * Owners of the data folder's files: an older folder is taken over, and links are not followed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "cli/up/owners.h"

enum { BASE = 5000 };

struct fixture {
	struct arena arena;
	struct up_plan plan;
	char folder[32];
};

static const char *below(struct fixture *f, const char *name)
{
	return arena_printf(&f->arena, "%s/d/%s", f->folder, name);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	arena_init(&f->arena, SIZE_MAX);
	(void)snprintf(f->folder, sizeof(f->folder), "/tmp/owners-XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	f->plan = (struct up_plan){ .arena = &f->arena, .demo = true, .uid_base = BASE };
	if (up_layout_init(&f->plan.layout, &f->arena, below(f, ""), NULL) < 0)
		return -1;
	up_plan_roles(&f->plan);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)folder_fixture_try_remove(f->folder);
	arena_release(&f->arena);
	free(f);
	return 0;
}

static void write_one(struct fixture *f, const char *name)
{
	assert_int_equal(file_write_atomic(below(f, name), STR("x"), 0600, NULL), 0);
}

static void assert_owner(struct fixture *f, const char *name, unsigned uid, unsigned gid,
			 unsigned mode)
{
	struct stat st;

	assert_int_equal(lstat(below(f, name), &st), 0);
	assert_int_equal(st.st_uid, uid);
	assert_int_equal(st.st_gid, gid);
	if (mode)
		assert_int_equal(st.st_mode & 07777, mode);
}

static void an_older_folder_is_taken_over_and_given_back(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(folder_make(below(f, "pki"), 0700, NULL), 0);
	assert_int_equal(folder_make(below(f, "store"), 0700, NULL), 0);
	write_one(f, "pki/ca.key");
	write_one(f, "store/data.mdb");
	assert_int_equal(up_owners_set(&f->plan, NULL), 0);
	assert_owner(f, "", 0, BASE, 0710);
	assert_owner(f, "pki", BASE + 1, BASE + 1, 0711);
	assert_owner(f, "pki/ca.key", BASE + 1, BASE + 1, 0600);
	assert_owner(f, "store/data.mdb", BASE + 1, BASE + 1, 0600);
	assert_owner(f, "nodes/demo-0", 0, BASE + 9, 0710);
	assert_owner(f, "nodes/demo-0/plugins/gpu.sim.devplane.dev", BASE + 16, BASE + 8, 02710);
	f->plan.uid_base = 0;
	assert_int_equal(up_owners_set(&f->plan, NULL), 0);
	assert_owner(f, "", 0, 0, 0700);
	assert_owner(f, "pki/ca.key", 0, 0, 0600);
	assert_owner(f, "nodes/demo-0/plugins/gpu.sim.devplane.dev", 0, 0, 0750);
}

/* A role could create links in order to be given somebody else's file. */
static void links_do_not_lead_to_other_files(void **state)
{
	struct fixture *f = *state;
	const char *driver = "nodes/demo-0/plugins/gpu.sim.devplane.dev";

	if (geteuid() != 0)
		skip();
	assert_int_equal(up_owners_set(&f->plan, NULL), 0);
	write_one(f, "soft");
	write_one(f, "hard");
	write_one(f, "registered");
	assert_int_equal(
		symlink(below(f, "soft"), arena_printf(&f->arena, "%s/a", below(f, driver))), 0);
	assert_int_equal(link(below(f, "hard"), arena_printf(&f->arena, "%s/b", below(f, driver))),
			 0);
	assert_int_equal(
		symlink(below(f, "registered"),
			below(f, "nodes/demo-0/plugins_registry/gpu.sim.devplane.dev-reg.sock")),
		0);
	assert_int_equal(up_owners_set(&f->plan, NULL), 0);
	assert_owner(f, "soft", 0, 0, 0600);
	assert_owner(f, "hard", 0, 0, 0600);
	assert_owner(f, "registered", 0, 0, 0600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_older_folder_is_taken_over_and_given_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_do_not_lead_to_other_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
