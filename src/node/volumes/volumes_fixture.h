/*
 * volumes_fixture - for tests: volumes of one pod in a temporary folder, on a simulated loop.
 *
 * Tests that need the permission to mount call may_mount(). Failures are cmocka's.
 */
#ifndef NODE_VOLUMES_VOLUMES_FIXTURE_H
#define NODE_VOLUMES_VOLUMES_FIXTURE_H

#include "node/volumes/volumes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/system/file.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "node/sources/sources.h"
#include "node/volumes/dir.h"
#include "node/volumes/subpath.h"

enum { TMPFS = 0x01021994 };

struct world {
	struct sim *sim;
	struct loop *loop;
	struct sources *sources;
	struct volumes *volumes;
	struct pod *pod;
	struct arena arena;
	char root[64];
	bool done;
	struct error err; /* of the last mount; code OK: success */
	struct runtime_mount *mounts;
	size_t nmounts;
	unsigned changes;
};

static UNUSED void on_change(void *arg, struct str uid)
{
	struct world *w = arg;

	(void)uid;
	w->changes++;
}

static UNUSED int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };
	struct sources_opts sources = { .on_change = on_change, .arg = w };
	struct volumes_opts volumes = { .node_name = STR("n1"), .host_ip = STR("192.168.0.1") };

	(void)snprintf(w->root, sizeof(w->root), "/tmp/volumes_test.XXXXXX");
	assert_non_null(mkdtemp(w->root));
	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "node");
	sources.loop = volumes.loop = w->loop;
	w->sources = sources_new(&sources);
	volumes.sources = w->sources;
	volumes.root_dir = volumes.etc_dir = w->root;
	w->volumes = volumes_new(&volumes);
	volumes_set_allocatable(w->volumes, 2000, 1 << 20);
	arena_init(&w->arena, REQUEST_WORK_MAX);
	*state = w;
	return 0;
}

static UNUSED int tear_down(void **state)
{
	struct world *w = *state;

	assert_int_equal(volumes_unmount(w->volumes, STR("u"), &w->err), 0);
	volumes_free(w->volumes);
	sources_free(w->sources);
	pod_unref(w->pod);
	loop_free(w->loop);
	sim_free(w->sim);
	arena_release(&w->arena);
	assert_int_equal(volume_dir_remove(w->root, &w->err), 0);
	free(w);
	return 0;
}

static UNUSED void put(struct world *w, const char *resource, const char *text)
{
	assert_int_equal(sources_put(w->sources, resource, str_from(text), NULL), 0);
}

static UNUSED void parse(struct world *w, const char *spec)
{
	const char *text = arena_printf(
		&w->arena,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":"
		"\"u\",\"labels\":{\"a\":\"1\"}},\"spec\":{%s}}",
		spec);

	pod_unref(w->pod);
	w->pod = NULL;
	assert_int_equal(pod_parse(str_from(text), &w->pod, &w->err), 0);
}

static UNUSED void on_done(void *arg, const struct error *err)
{
	struct world *w = arg;

	w->done = true;
	if (err)
		w->err = *err;
}

static UNUSED int mount_all(struct world *w)
{
	w->done = false;
	w->err = (struct error){ 0 };
	volumes_mount(w->volumes, w->pod, on_done, w);
	assert_false(w->done);
	sim_run_for(w->sim, 10);
	assert_true(w->done);
	return -(int)w->err.code;
}

static UNUSED const char *path(struct world *w, const char *below)
{
	return arena_printf(&w->arena, "%s/pods/u/%s", w->root, below);
}

static UNUSED const char *content(struct world *w, const char *below)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	if (file_read(path(w, below), &b, NULL) < 0)
		return NULL;
	return arena_strdup(&w->arena, buf_str(&b));
}

static UNUSED mode_t mode_of(struct world *w, const char *below)
{
	struct stat st;

	assert_int_equal(stat(path(w, below), &st), 0);
	return st.st_mode & 07777;
}

static UNUSED struct stat stat_of(struct world *w, const char *below)
{
	struct stat st;

	assert_int_equal(lstat(path(w, below), &st), 0);
	return st;
}

static UNUSED int container(struct world *w, const struct volumes_paths *paths)
{
	w->nmounts = 0;
	return volumes_container(w->volumes, w->pod, pod_container(w->pod, STR("c"), NULL), paths,
				 &w->arena, &w->mounts, &w->nmounts, &w->err);
}

static UNUSED bool may_mount(struct world *w)
{
	const char *dir = arena_printf(&w->arena, "%s/try", w->root);

	assert_int_equal(volume_dir_make(dir, 0700, NULL), 0);
	if (volume_dir_mount_tmpfs(dir, 4096, NULL) < 0)
		return false;
	assert_true(volume_dir_is_mount(dir));
	assert_int_equal(volume_dir_unmount_below(dir, NULL), 0);
	return true;
}

#endif
